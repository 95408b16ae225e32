// SPDX-License-Identifier: Apache-2.0
//
// The tables of the plugin boundary.
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "runtime/matrix_unit.h"
#include "runtime/plugin.h"
#include "tern/runtime/plugin_sdk.h"

namespace emu {
namespace {

using tern::plugin::Guard;
using tern::plugin::IntValue;
using tern::plugin::TextValue;

int Count(int32_t* count) {
  *count = 1;
  return 0;
}

void CheckDevice(int32_t id) {
  TERN_CHECK(id == 0) << "no such device: emu:" << id << "; there is one";
}

int Describe(int32_t id, void* sink, TernPropertySink emit) {
  return Guard([&] {
    CheckDevice(id);
    TernAny name = TextValue("emulated device"), driver = TextValue("1.0"),
            threads = IntValue(kMaxThreads), shared = IntValue(kMaxSharedMemory),
            memory = IntValue(static_cast<int64_t>(DeviceMemory().size()));
    emit(sink, "name", &name);
    emit(sink, "driver", &driver);
    emit(sink, "max_threads", &threads);
    emit(sink, "max_shared_memory", &shared);
    emit(sink, "memory", &memory);
  });
}

int Detect(int32_t, void* sink, TernPropertySink emit) {
  return Guard([&] {
    TernAny threads = IntValue(kMaxThreads);
    emit(sink, "max_threads", &threads);
  });
}

int Alloc(int32_t id, uint64_t bytes, uint64_t, void** out) {
  return Guard([&] {
    CheckDevice(id);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the device
    *out = reinterpret_cast<void*>(DeviceMemory().Allocate(bytes));
  });
}

int Free(int32_t, void* memory) {
  return Guard([&] { DeviceMemory().Free(reinterpret_cast<uint64_t>(memory)); });
}

int Copy(const TernCopy* copy) {
  return Guard([&] {
    auto address = [&](const void* memory, uint64_t offset, TernDevice device) {
      return device.type == kDeviceType
                 ? DeviceMemory().At(reinterpret_cast<uint64_t>(memory) + offset, copy->bytes)
                 : static_cast<char*>(const_cast<void*>(memory)) + offset;
    };
    if (copy->bytes == 0) return;
    std::memmove(address(copy->dst, copy->dst_offset, copy->dst_device),
                 address(copy->src, copy->src_offset, copy->src_device), copy->bytes);
  });
}

// Everything is done when it returns, so one stream is like another.
int CreateStream(int32_t, void** out) {
  *out = nullptr;
  return 0;
}
int IgnoreStream(int32_t, void*) { return 0; }

int MemoryInfo(int32_t, uint64_t* free_bytes, uint64_t* total_bytes) {
  *free_bytes = DeviceMemory().free();
  *total_bytes = DeviceMemory().size();
  return 0;
}

// And an event is the time at which it was recorded.
using Clock = std::chrono::steady_clock;
using Event = std::optional<Clock::time_point>;

int CreateEvent(int32_t, void** out) {
  return Guard([&] { *out = new Event; });
}
int DestroyEvent(int32_t, void* event) {
  delete static_cast<Event*>(event);
  return 0;
}
int RecordEvent(int32_t, void* event, void*) {
  *static_cast<Event*>(event) = Clock::now();
  return 0;
}
int WaitEvent(int32_t, void*, void*) { return 0; }
int Elapsed(int32_t, void* start, void* stop, double* seconds) {
  return Guard([&] {
    const Event &from = *static_cast<Event*>(start), &to = *static_cast<Event*>(stop);
    TERN_CHECK(from && to) << "an event that was never recorded has no time";
    *seconds = std::chrono::duration<double>(*to - *from).count();
  });
}

// What is launched: code of the machine's threads, or a program of the matrix unit.
struct Loaded {
  Kernel kernel;
  std::optional<MatrixProgram> matrix;
};
using Program = std::map<std::string, Loaded>;

int Load(int32_t id, const char* fmt, const TernBlob* blobs, int32_t num_blobs, void** out) {
  return Guard([&] {
    CheckDevice(id);
    std::string format = fmt;
    TERN_CHECK(format == "emu" || format == "emu_matrix")
        << "the emu runtime does not take programs in format " << fmt
        << ": emu and emu_matrix are legal";
    auto program = std::make_unique<Program>();
    for (int32_t i = 0; i < num_blobs; ++i) {
      std::string_view code(blobs[i].data, blobs[i].size);
      Loaded& loaded = (*program)[blobs[i].name];
      if (format == "emu")
        loaded.kernel = ReadKernel(blobs[i].name, code);
      else
        loaded.matrix = ReadMatrixProgram(code);
    }
    *out = program.release();
  });
}

void Unload(void* program) { delete static_cast<Program*>(program); }

int GetKernel(void* program, const char* name, void** out) {
  return Guard([&] {
    auto it = static_cast<Program*>(program)->find(name);
    // A text that several kernels share has no name.
    if (it == static_cast<Program*>(program)->end()) it = static_cast<Program*>(program)->find("");
    TERN_CHECK(it != static_cast<Program*>(program)->end()) << "the program has no kernel " << name;
    *out = &it->second;
  });
}

void LaunchMatrix(const MatrixProgram& program, const TernLaunch& launch) {
  TERN_CHECK(launch.num_args == 6)
      << "the matrix unit takes 6 arguments (a, b, y, m, n, k), got " << launch.num_args;
  uint64_t args[6];
  for (int32_t i = 0; i < 6; ++i) {
    TERN_CHECK(launch.arg_sizes[i] == sizeof args[i]) << "argument " << i << " is of another size";
    std::memcpy(&args[i], launch.args[i], sizeof args[i]);
  }
  Multiply(program, DeviceMemory(), args[0], args[1], args[2], static_cast<int64_t>(args[3]),
           static_cast<int64_t>(args[4]), static_cast<int64_t>(args[5]));
}

int Launch(void* raw, const TernLaunch* launch) {
  return Guard([&] {
    const auto& loaded = *static_cast<Loaded*>(raw);
    if (loaded.matrix) return LaunchMatrix(*loaded.matrix, *launch);
    const Kernel& kernel = loaded.kernel;
    uint64_t threads = uint64_t{launch->block[0]} * launch->block[1] * launch->block[2];
    TERN_CHECK(threads <= kMaxThreads) << "kernel " << kernel.name << " is launched with blocks of "
                                       << threads << " threads; emu has " << kMaxThreads;
    TERN_CHECK(static_cast<size_t>(launch->num_args) == kernel.params.size())
        << "kernel " << kernel.name << " takes " << kernel.params.size() << " arguments, got "
        << launch->num_args;
    std::vector<uint64_t> args;
    for (int32_t i = 0; i < launch->num_args; ++i)
      args.push_back(ReadArgument(kernel.params[static_cast<size_t>(i)], launch->args[i]));
    Run(kernel, DeviceMemory(), launch->grid, launch->block, args);
  });
}

}  // namespace

// Leaked: tensors may be freed while the process exits.
Memory& DeviceMemory() {
  static auto* memory = new Memory;
  return *memory;
}

const TernDeviceApi kDeviceApi = {.size = sizeof(TernDeviceApi),
                                  .version = TERN_PLUGIN_API_VERSION,
                                  .device_type = kDeviceType,
                                  .device_count = Count,
                                  .describe = Describe,
                                  .alloc = Alloc,
                                  .free = Free,
                                  .copy = Copy,
                                  .create_stream = CreateStream,
                                  .destroy_stream = IgnoreStream,
                                  .synchronize = IgnoreStream,
                                  .memory_info = MemoryInfo,
                                  .create_event = CreateEvent,
                                  .destroy_event = DestroyEvent,
                                  .record_event = RecordEvent,
                                  .wait_event = WaitEvent,
                                  .synchronize_event = IgnoreStream,
                                  .elapsed = Elapsed,
                                  .detect = Detect};

const TernKernelLoader kKernelLoader = {.size = sizeof(TernKernelLoader),
                                        .version = TERN_PLUGIN_API_VERSION,
                                        .load = Load,
                                        .unload = Unload,
                                        .get_kernel = GetKernel,
                                        .launch = Launch};

}  // namespace emu
