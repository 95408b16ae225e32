// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/test/fake_hip.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "tern/backend/rocm/test/execution.h"
#include "tern/compile.h"
#include "tern/ffi/error.h"
#include "tern/runtime/test_standin/thread_state.h"
#include "tern/tir/text.h"

#define TERN_FAKE extern "C" __attribute__((visibility("default"))) tern::backend::rocm::hip::Result

namespace tern::backend::rocm::test {
namespace {

struct LastFailure {
  std::string text;
};

double Milliseconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

}  // namespace

FakeHip& FakeHip::Get() {
  static auto* driver = new FakeHip;
  return *driver;
}

FakeHip::FakeHip() {
  const char *count = std::getenv("TERN_STANDIN_DEVICES"),
             *arch = std::getenv("TERN_STANDIN_ROCM_ARCH");
  if (count) devices_ = static_cast<int>(std::strtol(count, nullptr, 10));
  architecture_ = arch ? arch : "gfx90a";
}

uint64_t FakeHip::BytesAt(int device, const void* pointer) const {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin()) return 0;
  --it;
  uintptr_t end = it->first + it->second.bytes;
  return it->second.device == device && address < end ? end - address : 0;
}

int& CurrentDevice() {
  thread_local int device = 0;
  return device;
}

hip::Result Call(const char* name, const std::function<hip::Result(FakeHip&)>& body) {
  FakeHip& driver = FakeHip::Get();
  std::scoped_lock lock(driver.mutex);
  try {
    TERN_CHECK(driver.initialised) << "HIP is not initialised";
    if (driver.to_fail != name) return body(driver);
    driver.to_fail.clear();
    // A capture is over, whatever ending it returns.
    if (std::string(name) == "hipStreamEndCapture") body(driver);
    return hip::kUnknown;
  } catch (const std::exception& error) {
    tern::standin::ThreadState<LastFailure>().text = std::string(name) + ": " + error.what();
    return hip::kLaunchFailure;
  }
}

namespace {

void CheckStream(const FakeHip& driver, hip::Stream stream) {
  if (stream) Live(driver.streams, stream, "stream");
}

void CheckInside(const FakeHip& driver, int device, const void* pointer, uint64_t bytes) {
  TERN_CHECK(driver.BytesAt(device, pointer) >= bytes)
      << bytes << " bytes are not in memory of device " << device;
}

void CheckHost(const FakeHip& driver, const void* pointer) {
  for (int device = 0; device < driver.devices(); ++device)
    TERN_CHECK(driver.BytesAt(device, pointer) == 0) << "memory of the host is a device's";
}

}  // namespace
}  // namespace tern::backend::rocm::test

using namespace tern::backend::rocm;        // NOLINT
using namespace tern::backend::rocm::test;  // NOLINT

// ---- Devices.

TERN_FAKE hipInit(unsigned flags) {
  if (flags != 0) return hip::kInvalidValue;
  FakeHip& driver = FakeHip::Get();
  std::scoped_lock lock(driver.mutex);
  driver.initialised = true;
  return driver.devices() > 0 ? hip::kSuccess : hip::kNoDevice;
}

extern "C" __attribute__((visibility("default"))) const char* hipGetErrorString(
    hip::Result result) {
  switch (result) {
    case hip::kOutOfMemory:
      return "out of memory";
    case hip::kNoDevice:
      return "no ROCm-capable device is detected";
    case hip::kNoBinaryForGpu:
      return "no kernel image is available for execution on the device";
    case hip::kUnknown:
      return "unknown error";
    case hip::kGraphUpdateFailure:
      return "the graph update was not performed";
    case hip::kLaunchFailure:
      return tern::standin::ThreadState<LastFailure>().text.c_str();
    default:
      return "invalid argument";
  }
}

TERN_FAKE hipDriverGetVersion(int* version) {
  *version = 60300000;
  return hip::kSuccess;
}

TERN_FAKE hipGetDeviceCount(int* count) {
  return Call("hipGetDeviceCount", [&](FakeHip& driver) {
    *count = driver.devices();
    return hip::kSuccess;
  });
}

TERN_FAKE hipDeviceGetName(char* text, int size, int device) {
  return Call("hipDeviceGetName", [&](FakeHip& driver) {
    if (device < 0 || device >= driver.devices()) return hip::kInvalidDevice;
    std::snprintf(text, static_cast<size_t>(size), "Tern's fake %s", driver.architecture().c_str());
    return hip::kSuccess;
  });
}

// As for HIP 6 and later; all of the layout is written.
TERN_FAKE hipGetDevicePropertiesR0600(void* properties, int device) {
  return Call("hipGetDevicePropertiesR0600", [&](FakeHip& driver) {
    if (device < 0 || device >= driver.devices()) return hip::kInvalidDevice;
    std::memset(properties, 0xff, hip::kPropertiesBytes);
    std::snprintf(static_cast<char*>(properties) + hip::kArchitectureOffset,
                  hip::kArchitectureBytes, "%s:sramecc+:xnack-", driver.architecture().c_str());
    return hip::kSuccess;
  });
}

TERN_FAKE hipDeviceGetAttribute(int* value, int attribute, int device) {
  return Call("hipDeviceGetAttribute", [&](FakeHip& driver) {
    bool is_grid = attribute >= hip::kMaxGridDimX && attribute < hip::kMaxGridDimX + 3;
    bool is_block = attribute >= hip::kMaxBlockDimX && attribute < hip::kMaxBlockDimX + 3;
    const std::map<int, int> others = {
        {hip::kMaxThreadsPerBlock, 1024},
        {hip::kMultiprocessorCount, 4},
        {hip::kMaxSharedMemoryPerBlock, 65536},
        {hip::kWarpSize, driver.architecture().size() == 6 ? 64 : 32}};
    if (device < 0 || device >= driver.devices()) return hip::kInvalidDevice;
    if (!is_grid && !is_block && !others.contains(attribute)) return hip::kInvalidValue;
    *value = is_grid ? INT32_MAX : is_block ? 1024 : others.at(attribute);
    return hip::kSuccess;
  });
}

TERN_FAKE hipDeviceTotalMem(size_t* bytes, int) {
  *bytes = size_t{1} << 30;
  return hip::kSuccess;
}

TERN_FAKE hipGetDevice(int* device) {
  *device = CurrentDevice();
  return hip::kSuccess;
}

TERN_FAKE hipSetDevice(int device) {
  return Call("hipSetDevice", [&](FakeHip& driver) {
    if (device < 0 || device >= driver.devices()) return hip::kInvalidDevice;
    CurrentDevice() = device;
    return hip::kSuccess;
  });
}

// ---- Memory.

TERN_FAKE hipMalloc(void** out, size_t bytes) {
  return Call("hipMalloc", [&](FakeHip& driver) {
    CheckNotCapturing(driver);
    if (bytes > size_t{1} << 30) return hip::kOutOfMemory;
    constexpr uintptr_t kAlignment = 256;
    auto memory = std::make_unique<char[]>(bytes + kAlignment);
    std::memset(memory.get(), 0xa5, bytes + kAlignment);
    uintptr_t address =
        (reinterpret_cast<uintptr_t>(memory.get()) + kAlignment - 1) & ~(kAlignment - 1);
    driver.allocations.emplace(address, Allocation{CurrentDevice(), bytes, std::move(memory)});
    *out = reinterpret_cast<void*>(address);  // NOLINT: counted above
    return hip::kSuccess;
  });
}

TERN_FAKE hipFree(void* memory) {
  return Call("hipFree", [&](FakeHip& driver) {
    CheckNotCapturing(driver);
    TERN_CHECK(driver.allocations.erase(reinterpret_cast<uintptr_t>(memory)))
        << "no memory starts there";
    return hip::kSuccess;
  });
}

TERN_FAKE hipMemGetInfo(size_t* unused, size_t* total) {
  return Call("hipMemGetInfo", [&](FakeHip& driver) {
    *total = size_t{1} << 30;
    *unused = *total;
    for (const auto& [address, allocation] : driver.allocations)
      if (allocation.device == CurrentDevice()) *unused -= allocation.bytes;
    return hip::kSuccess;
  });
}

TERN_FAKE hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, hip::Stream stream) {
  return Call("hipMemcpyAsync", [&](FakeHip& driver) {
    CheckStream(driver, stream);
    TERN_CHECK(kind >= hip::kHostToDevice && kind <= hip::kDeviceToDevice) << "kind " << kind;
    int device = CurrentDevice();
    kind == hip::kDeviceToHost ? CheckHost(driver, to) : CheckInside(driver, device, to, bytes);
    kind == hip::kHostToDevice ? CheckHost(driver, from) : CheckInside(driver, device, from, bytes);
    Give(driver, stream, NodeKind::kCopy, [=] { std::memmove(to, from, bytes); });
    return hip::kSuccess;
  });
}

TERN_FAKE hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                             size_t bytes, hip::Stream stream) {
  return Call("hipMemcpyPeerAsync", [&](FakeHip& driver) {
    CheckStream(driver, stream);
    CheckInside(driver, to_device, to, bytes);
    CheckInside(driver, from_device, from, bytes);
    Give(driver, stream, NodeKind::kCopy, [=] { std::memmove(to, from, bytes); });
    return hip::kSuccess;
  });
}

// ---- Streams and events: everything is done when a call returns.

TERN_FAKE hipStreamCreateWithFlags(hip::Stream* out, unsigned flags) {
  return Call("hipStreamCreateWithFlags", [&](FakeHip& driver) {
    if (flags > hip::kStreamNonBlocking) return hip::kInvalidValue;
    Keep(&driver.streams, LiveStream{.device = CurrentDevice()}, out);
    return hip::kSuccess;
  });
}

TERN_FAKE hipStreamDestroy(hip::Stream stream) {
  return Call("hipStreamDestroy", [&](FakeHip& driver) {
    TERN_CHECK(!Live(driver.streams, stream, "stream").capture) << "the stream is captured";
    driver.streams.erase(stream);
    return hip::kSuccess;
  });
}

TERN_FAKE hipStreamSynchronize(hip::Stream stream) {
  return Call("hipStreamSynchronize", [&](FakeHip& driver) {
    CheckNotCapturing(driver);
    CheckStream(driver, stream);
    return hip::kSuccess;
  });
}

TERN_FAKE hipStreamWaitEvent(hip::Stream stream, hip::Event event, unsigned flags) {
  return Call("hipStreamWaitEvent", [&](FakeHip& driver) {
    CheckStream(driver, stream);
    TERN_CHECK(driver.events.contains(event)) << "no such event";
    return flags == 0 ? hip::kSuccess : hip::kInvalidValue;
  });
}

TERN_FAKE hipEventCreate(hip::Event* out) {
  return Call("hipEventCreate", [&](FakeHip& driver) {
    Keep(&driver.events, LiveEvent{CurrentDevice()}, out);
    return hip::kSuccess;
  });
}

TERN_FAKE hipEventDestroy(hip::Event event) {
  return Call("hipEventDestroy", [&](FakeHip& driver) {
    Live(driver.events, event, "event");
    driver.events.erase(event);
    return hip::kSuccess;
  });
}

TERN_FAKE hipEventRecord(hip::Event event, hip::Stream stream) {
  return Call("hipEventRecord", [&](FakeHip& driver) {
    CheckStream(driver, stream);
    Live(driver.events, event, "event").recorded = Milliseconds();
    return hip::kSuccess;
  });
}

TERN_FAKE hipEventSynchronize(hip::Event event) {
  return Call("hipEventSynchronize", [&](FakeHip& driver) {
    CheckNotCapturing(driver);
    Live(driver.events, event, "event");
    return hip::kSuccess;
  });
}

TERN_FAKE hipEventElapsedTime(float* out, hip::Event start, hip::Event stop) {
  return Call("hipEventElapsedTime", [&](FakeHip& driver) {
    double from = Live(driver.events, start, "event").recorded,
           to = Live(driver.events, stop, "event").recorded;
    if (from < 0 || to < 0) return hip::kInvalidHandle;
    *out = static_cast<float>(to - from);
    return hip::kSuccess;
  });
}

// ---- Programs.

TERN_FAKE hipModuleLoadData(hip::Module* out, const void* image) {
  return Call("hipModuleLoadData", [&](FakeHip& driver) {
    CheckNotCapturing(driver);
    CodeObject object = ReadCodeObject(FileAt(image));
    if (object.architecture != driver.architecture()) return hip::kNoBinaryForGpu;
    TERN_CHECK(object.version == 5) << "a code object of version " << object.version;
    TERN_CHECK(!object.tir.empty())
        << "the code object has no text to interpret; compile it with -embed_tir=1";
    tern::Initialize();
    auto text = tern::tir::ParseModule("kernels.tir", object.tir);
    for (const auto& [name, kernel] : object.kernels)
      TERN_CHECK(text->functions.contains(name)) << "kernel " << name << " has no text";
    Keep(&driver.modules, LoadedModule{CurrentDevice(), std::move(object), std::move(text)}, out);
    return hip::kSuccess;
  });
}

TERN_FAKE hipModuleUnload(hip::Module module) {
  return Call("hipModuleUnload", [&](FakeHip& driver) {
    CheckNotCapturing(driver);
    const LoadedModule* loaded = &Live(driver.modules, module, "module");
    std::erase_if(driver.functions, [&](const auto& f) { return f.second->module == loaded; });
    driver.modules.erase(module);
    return hip::kSuccess;
  });
}

TERN_FAKE hipModuleGetFunction(hip::Function* out, hip::Module module, const char* name) {
  return Call("hipModuleGetFunction", [&](FakeHip& driver) {
    const LoadedModule& loaded = Live(driver.modules, module, "module");
    if (!loaded.object.kernels.contains(name)) return hip::kNotFound;
    Keep(&driver.functions, LoadedFunction{&loaded, name}, out);
    return hip::kSuccess;
  });
}

TERN_FAKE hipFuncGetAttribute(int* value, int attribute, hip::Function function) {
  return Call("hipFuncGetAttribute", [&](FakeHip& driver) {
    const LoadedFunction& found = Live(driver.functions, function, "function");
    if (attribute != hip::kFunctionMaxThreadsPerBlock) return hip::kInvalidValue;
    *value = static_cast<int>(found.module->object.kernels.at(found.name).max_threads);
    return hip::kSuccess;
  });
}

TERN_FAKE hipModuleLaunchKernel(hip::Function function, unsigned grid_x, unsigned grid_y,
                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                unsigned block_z, unsigned shared, hip::Stream stream, void** args,
                                void** extra) {
  return Call("hipModuleLaunchKernel", [&](FakeHip& driver) {
    const LoadedFunction& found = Live(driver.functions, function, "function");
    int device = found.module->device;
    TERN_CHECK(device == CurrentDevice()) << "the kernel is of device " << device;
    CheckStream(driver, stream);
    TERN_CHECK(!extra) << "arguments are given twice";
    Launch launch{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, nullptr};
    const KernelMetadata& metadata = found.module->object.kernels.at(found.name);
    // The caller's arguments may go away.
    auto values = std::make_shared<std::vector<std::vector<char>>>();
    for (size_t i = 0; i < metadata.args.size(); ++i) {
      const auto* value = static_cast<const char*>(args[i]);
      values->emplace_back(value, value + metadata.args[i].size);
    }
    Give(driver, stream, NodeKind::kKernel, [&driver, function, device, launch, values] {
      const LoadedFunction& kernel = Live(driver.functions, function, "function");
      std::vector<void*> pointers;
      for (std::vector<char>& value : *values) pointers.push_back(value.data());
      Launch now = launch;
      now.args = pointers.data();
      Execute(kernel.module->text, kernel.name, kernel.module->object.kernels.at(kernel.name), now,
              [&](const void* pointer) { return driver.BytesAt(device, pointer); });
    });
    return hip::kSuccess;
  });
}
