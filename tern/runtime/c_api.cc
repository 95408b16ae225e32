// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/c_api.h"

#include "tern/ffi/text.h"
#include "tern/runtime/artifact.h"
#include "tern/runtime/device.h"

struct TernModule {
  tern::ffi::Module module;
};

namespace tern::runtime {
namespace {

thread_local std::string last_error;

// Runs `body`; what it throws, or what was raised below it, is this thread's last error.
template <class Body>
int Try(Body&& body) noexcept {
  if (ffi::Guard(body) == 0) return 0;
  try {
    Error error = ffi::TakeRaised();
    last_error = error.kind() + ": " + error.what();
  } catch (...) {
    last_error.clear();  // no memory for the message
  }
  return -1;
}

const DeviceKind& KindOf(TernDevice device) { return GetDeviceKind(device.type); }

// The device that does a copy: one side is the host, or both are the same.
TernDevice CopierOf(TernDevice to, TernDevice from) {
  if (from.type == kTernDeviceCpu) return to;
  TERN_CHECK(to.type == kTernDeviceCpu || (to.type == from.type && to.id == from.id))
      << "cannot copy from " << DeviceName(from) << " to " << DeviceName(to)
      << ": one of them must be the host";
  return from;
}

}  // namespace
}  // namespace tern::runtime

using tern::runtime::Try;

const char* tern_version() { return TERN_VERSION; }

const char* tern_last_error() { return tern::runtime::last_error.c_str(); }

int tern_module_load(const char* path, TernModule** module) {
  return Try([&] { *module = new TernModule{tern::runtime::LoadModule(path)}; });
}

void tern_module_free(TernModule* module) { delete module; }

int tern_module_get_function(TernModule* module, const char* name, TernObject** function) {
  return Try([&] {
    tern::ffi::Function found = module->module->GetFunction(name);
    TERN_CHECK(found) << "there is no function " << name << "; the functions are "
                      << tern::ffi::Join(module->module->FunctionNames());
    *function = found->header();
    tern::ffi::IncRef(*function);
  });
}

int tern_function_call(TernObject* function, const TernAny* args, int32_t num_args,
                       TernAny* result) {
  return Try([&] {
    TERN_CHECK(function && function->type_index == kTernFunction)
        << "tern_function_call: the object is no function";
    auto* callee = static_cast<tern::ffi::FunctionObj*>(tern::ffi::Object::FromHeader(function));
    TernAny value{};
    tern::ffi::CheckCall(callee->safe_call()(function, args, num_args, &value));
    tern::ffi::Any owned = tern::ffi::Any::Adopt(value);
    if (result) *result = owned.Release();
  });
}

void tern_object_release(TernObject* object) {
  if (object) tern::ffi::DecRef(object);
}

int tern_device_find(const char* kind, int32_t id, TernDevice* device) {
  return Try([&] {
    const tern::runtime::DeviceKind& found = tern::runtime::GetDeviceKind(kind);
    TERN_CHECK(id >= 0 && id < found.Count())
        << "there is no device " << kind << ":" << id << "; there are " << found.Count();
    *device = {found.device_type(), id};
  });
}

int tern_device_alloc(TernDevice device, uint64_t bytes, uint64_t alignment, void** memory) {
  return Try([&] { *memory = tern::runtime::KindOf(device).Alloc(device.id, bytes, alignment); });
}

int tern_device_free(TernDevice device, void* memory) {
  return Try([&] { tern::runtime::KindOf(device).Free(device.id, memory); });
}

int tern_device_copy(void* to, TernDevice to_device, const void* from, TernDevice from_device,
                     uint64_t bytes) {
  return Try([&] {
    TernDevice copier = tern::runtime::CopierOf(to_device, from_device);
    const tern::runtime::DeviceKind& kind = tern::runtime::KindOf(copier);
    kind.Copy({.src = from,
               .src_offset = 0,
               .src_device = from_device,
               .dst = to,
               .dst_offset = 0,
               .dst_device = to_device,
               .bytes = bytes,
               .stream = nullptr});
    kind.Synchronize(copier.id);
  });
}

int tern_device_synchronize(TernDevice device) {
  return Try([&] { tern::runtime::KindOf(device).Synchronize(device.id); });
}
