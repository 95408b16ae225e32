// SPDX-License-Identifier: Apache-2.0
//
// A whole backend in one page: a device whose memory is the host's, and a kernel loader whose
// programs are text. It is what the runtime's tests run on, and the skeleton to copy for a new
// backend.
//
// Format "toy", one line per kernel: "NAME OP". The ops: "fill" (buffer, int32 count, float32
// value), "fail" (anything).
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>

#include "tern/runtime/plugin_sdk.h"

namespace {

using tern::plugin::Guard;

constexpr int32_t kDeviceType = 99;
constexpr int32_t kDeviceCount = 2;

// Device memory is told from host memory by going through a box: a mistaken host access finds no
// data.
struct Memory {
  char* data;
};

std::atomic<int64_t> live_allocations{0}, loads{0}, live_programs{0}, loads_to_fail{0};

// The default stream, and the only one: whatever threads give to it is done one after another.
std::mutex stream;

void CheckDevice(int32_t id) {
  if (id < 0 || id >= kDeviceCount)
    TERN_THROW(ValueError) << "no such device: toy:" << id << "; there are " << kDeviceCount;
}

int Count(int32_t* count) {
  *count = kDeviceCount;
  return 0;
}

int Describe(int32_t id, void* sink, TernPropertySink emit) {
  return Guard([&] {
    CheckDevice(id);
    TernAny name = tern::plugin::TextValue("toy device");
    TernAny threads = tern::plugin::IntValue(64);
    emit(sink, "name", &name);
    emit(sink, "max_threads", &threads);
  });
}

int Alloc(int32_t id, uint64_t bytes, uint64_t, void** out) {
  return Guard([&] {
    CheckDevice(id);
    if (bytes > uint64_t{1} << 32)
      TERN_THROW(MemoryError) << "toy:" << id << " has no " << bytes << " bytes";
    *out = new Memory{static_cast<char*>(std::malloc(bytes + 1))};
    ++live_allocations;
  });
}

int Free(int32_t, void* memory) {
  auto* box = static_cast<Memory*>(memory);
  std::free(box->data);
  delete box;
  --live_allocations;
  return 0;
}

int Copy(const TernCopy* copy) {
  auto address = [](const void* memory, TernDevice device) {
    return device.type == kDeviceType ? static_cast<const Memory*>(memory)->data
                                      : static_cast<char*>(const_cast<void*>(memory));
  };
  std::lock_guard lock(stream);
  std::memmove(address(copy->dst, copy->dst_device) + copy->dst_offset,
               address(copy->src, copy->src_device) + copy->src_offset, copy->bytes);
  return 0;
}

int CreateStream(int32_t, void** out) {
  *out = nullptr;
  return 0;
}
int IgnoreStream(int32_t, void*) { return 0; }

int MemoryInfo(int32_t id, uint64_t* free_bytes, uint64_t* total_bytes) {
  return Guard([&] {
    CheckDevice(id);
    *free_bytes = *total_bytes = uint64_t{1} << 32;
  });
}

struct Kernel {
  std::string op;
};
struct Program {
  std::map<std::string, Kernel> kernels;
};

int Load(int32_t id, const char* fmt, const TernBlob* blobs, int32_t num_blobs, void** out) {
  return Guard([&] {
    ++loads;
    CheckDevice(id);
    if (std::string(fmt) != "toy") TERN_THROW(ValueError) << "format " << fmt << " is not toy";
    // So that a test can make attempts fail.
    if (std::getenv("TERN_TOY_FAIL_LOAD") || loads_to_fail-- > 0)
      TERN_THROW(RuntimeError) << "the toy driver is on strike";
    Program program;
    for (int32_t i = 0; i < num_blobs; ++i) {
      std::istringstream lines(std::string(blobs[i].data, blobs[i].size));
      for (std::string name, op; lines >> name >> op;) program.kernels[name] = {op};
    }
    *out = new Program(std::move(program));
    ++live_programs;
  });
}

void Unload(void* program) {
  delete static_cast<Program*>(program);
  --live_programs;
}

int GetKernel(void* program, const char* name, void** out) {
  return Guard([&] {
    auto& kernels = static_cast<Program*>(program)->kernels;
    auto it = kernels.find(name);
    if (it == kernels.end()) TERN_THROW(ValueError) << "the program has no kernel " << name;
    *out = &it->second;
  });
}

template <class T>
T Arg(const TernLaunch* launch, int i) {
  T value;
  TERN_ICHECK(launch->arg_sizes[i] == sizeof(T));
  TERN_ICHECK((launch->arg_is_memory[i] != 0) == std::is_pointer_v<T>);
  std::memcpy(&value, launch->args[i], sizeof(T));
  return value;
}

int Launch(void* raw, const TernLaunch* launch) {
  return Guard([&] {
    const auto* kernel = static_cast<Kernel*>(raw);
    if (kernel->op == "fail") TERN_THROW(RuntimeError) << "out of toys";
    auto* data = reinterpret_cast<float*>(Arg<Memory*>(launch, 0)->data);
    auto count = static_cast<uint32_t>(Arg<int32_t>(launch, 1));
    std::lock_guard lock(stream);
    for (uint32_t i = 0; i < launch->grid[0] * launch->block[0] && i < count; ++i)
      data[i] = Arg<float>(launch, 2);
  });
}

constexpr TernDeviceApi kDevice = {sizeof(TernDeviceApi),
                                   TERN_PLUGIN_API_VERSION,
                                   kDeviceType,
                                   Count,
                                   Describe,
                                   Alloc,
                                   Free,
                                   Copy,
                                   CreateStream,
                                   IgnoreStream,
                                   IgnoreStream,
                                   MemoryInfo};  // no events
constexpr TernKernelLoader kLoader = {
    sizeof(TernKernelLoader), TERN_PLUGIN_API_VERSION, Load, Unload, GetKernel, Launch};

// What the tests want to know: "toy.counter"("loads" | "live_programs" | "live_allocations").
int Counter(void*, const TernAny* args, int32_t num_args, TernAny* result) {
  return Guard([&] {
    if (num_args != 1 || args[0].type_index != kTernInt)
      TERN_THROW(TypeError)
          << "toy.counter: expected 0 (loads), 1 (live programs) or 2 (live allocations)";
    const std::atomic<int64_t>* counters[] = {&loads, &live_programs, &live_allocations};
    *result = tern::plugin::IntValue(*counters[args[0].v_int]);
  });
}

// "toy.fail_loads"(n): the next n loads fail.
int FailLoads(void*, const TernAny* args, int32_t num_args, TernAny*) {
  return Guard([&] {
    TERN_ICHECK(num_args == 1 && args[0].type_index == kTernInt);
    loads_to_fail = args[0].v_int;
  });
}

}  // namespace

TERN_PLUGIN(host, registrar) {
  tern::plugin::Check(registrar->add_device(registrar, "toy", &kDevice));
  tern::plugin::Check(registrar->add_kernel_loader(registrar, "toy", &kLoader));
  tern::plugin::Check(registrar->add_function(registrar, "toy.counter", Counter, nullptr));
  tern::plugin::Check(registrar->add_function(registrar, "toy.fail_loads", FailLoads, nullptr));
}
