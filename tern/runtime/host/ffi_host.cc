// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host/ffi_host.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/host/host_module.h"
#include "tern/runtime/host/thread_pool.h"
#include "tern/runtime/host/workspace.h"

namespace tern::runtime {
namespace {

// The module of a shared object that another host has loaded. It stays: the host does not tell when
// it unloads one.
ffi::Module ModuleAround(const void* address) {
  Dl_info info{};
  TERN_CHECK(dladdr(address, &info) != 0 && info.dli_fname)
      << "the library of compiled code cannot be told from its address";
  static auto* modules = new std::map<std::string, ffi::Module>;
  static auto* mutex = new std::mutex;
  std::scoped_lock lock(*mutex);
  ffi::Module& module = (*modules)[info.dli_fname];
  if (!module) module = LoadModule(info.dli_fname);
  return module;
}

}  // namespace
}  // namespace tern::runtime

int tern_parallel_for(int64_t extent, int (*body)(void* context, int64_t begin, int64_t end),
                      void* context) {
  return tern::ffi::Guard([&] {
    tern::runtime::ParallelFor(extent, [&](int64_t begin, int64_t end) {
      if (body(context, begin, end) != 0) throw tern::Error("RuntimeError", "a piece failed");
    });
  });
}

void* tern_alloc_workspace(int32_t device_type, int32_t device_id, int64_t bytes,
                           int64_t alignment) {
  return tern::runtime::AllocWorkspace({device_type, device_id}, bytes, alignment);
}

void tern_free_workspace(int32_t device_type, int32_t device_id, void* memory) {
  tern::runtime::WorkspaceFrame frame;  // at its end, what is too much to keep goes
  tern::runtime::FreeWorkspace({device_type, device_id}, memory);
}

int tern_call_import(const void* in_library, const char* name, const TernAny* args,
                     int32_t num_args, TernAny* result, const char** kind, const char** message) {
  int code = tern::ffi::Guard([&] {
    tern::ffi::Module module = tern::runtime::ModuleAround(in_library);
    tern::runtime::CallFromModule(module.get(), name, args, num_args, result);
  });
  if (code == 0) return 0;
  static thread_local tern::Error error("", "");
  error = tern::ffi::TakeRaised();
  *kind = error.kind().c_str();
  *message = error.what();
  return -1;
}
