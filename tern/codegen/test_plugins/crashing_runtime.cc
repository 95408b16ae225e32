// SPDX-License-Identifier: Apache-2.0
//
// The runtime of pebble, for what `tern cts` does when a plugin crashes. Its kernels do nothing to
// memory, which is the host's; how many threads a block has says what happens at a launch.
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "tern/runtime/plugin_sdk.h"

namespace {

using tern::plugin::Guard;

int Count(int32_t* count) {
  *count = 1;
  return 0;
}

int Describe(int32_t, void*, TernPropertySink) { return 0; }

int Alloc(int32_t, uint64_t bytes, uint64_t, void** out) {
  *out = std::malloc(bytes + 1);
  return 0;
}

int Free(int32_t, void* memory) {
  std::free(memory);
  return 0;
}

int Copy(const TernCopy* copy) {
  std::memmove(static_cast<char*>(copy->dst) + copy->dst_offset,
               static_cast<const char*>(copy->src) + copy->src_offset, copy->bytes);
  return 0;
}

int CreateStream(int32_t, void** out) {
  *out = nullptr;
  return 0;
}
int IgnoreStream(int32_t, void*) { return 0; }

int Load(int32_t, const char*, const TernBlob*, int32_t, void** out) {
  static int program;
  *out = &program;
  return 0;
}
void Unload(void*) {}
int GetKernel(void* program, const char*, void** out) {
  *out = program;
  return 0;
}

int Launch(void*, const TernLaunch* launch) {
  return Guard([&] {
    switch (launch->block[0]) {
      case 2:
        std::raise(SIGSEGV);
        break;
      case 3:
        std::abort();
      case 4:
        std::exit(0);  // NOLINT(concurrency-mt-unsafe)
      case 5:
        while (true) pause();
      case 6:
        TERN_THROW(RuntimeError) << "two lines\nof an error";
      case 7:  // later
        std::atexit([] { _exit(9); });
        break;
      default:
        break;
    }
  });
}

constexpr TernDeviceApi kDevice = {.size = sizeof(TernDeviceApi),
                                   .version = TERN_PLUGIN_API_VERSION,
                                   .device_type = 98,
                                   .device_count = Count,
                                   .describe = Describe,
                                   .alloc = Alloc,
                                   .free = Free,
                                   .copy = Copy,
                                   .create_stream = CreateStream,
                                   .destroy_stream = IgnoreStream,
                                   .synchronize = IgnoreStream};
constexpr TernKernelLoader kLoader = {.size = sizeof(TernKernelLoader),
                                      .version = TERN_PLUGIN_API_VERSION,
                                      .load = Load,
                                      .unload = Unload,
                                      .get_kernel = GetKernel,
                                      .launch = Launch};

}  // namespace

TERN_PLUGIN(host, registrar) {
  if (std::getenv("TERN_PEBBLE_CRASHES_AT_LOAD")) std::abort();
  tern::plugin::Check(registrar->add_device(registrar, "pebble", &kDevice));
  tern::plugin::Check(registrar->add_kernel_loader(registrar, "pebble", &kLoader));
}
