// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/runtime/driver.h"

#include <dlfcn.h>

#include <cstring>
#include <vector>

namespace tern::backend::rocm {
namespace hip {
namespace {

void* Find(void* library, const char* symbol) {
  void* found = dlsym(library, symbol);
  if (!found) TERN_THROW(RuntimeError) << "libamdhip64.so has no function " << symbol;
  return found;
}

Functions FindFunctions(void* library) {
  Functions functions;
#define TERN_HIP_FIND(name, symbol, ...) \
  functions.name = reinterpret_cast<Result (*)(__VA_ARGS__)>(Find(library, symbol));
  TERN_HIP_FUNCTIONS(TERN_HIP_FIND)
#undef TERN_HIP_FIND
#define TERN_HIP_FIND(name, symbol, ...) \
  functions.name = reinterpret_cast<Result (*)(__VA_ARGS__)>(dlsym(library, symbol));
  TERN_HIP_OPTIONAL_FUNCTIONS(TERN_HIP_FIND)
#undef TERN_HIP_FIND
  functions.GetErrorString =
      reinterpret_cast<const char* (*)(Result)>(Find(library, "hipGetErrorString"));
  functions.GetDevicePropertiesR0600 =
      reinterpret_cast<Result (*)(void*, int)>(dlsym(library, kGetProperties));
  return functions;
}

}  // namespace
}  // namespace hip

namespace {

constexpr const char* kLibraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                      "libamdhip64.so"};

std::string Describe(const hip::Functions& functions, hip::Result result) {
  const char* text = functions.GetErrorString(result);
  return std::string(text ? text : "error") + " (" + std::to_string(result) + ")";
}

}  // namespace

void Check(hip::Result result, const char* call) {
  if (result != hip::kSuccess)
    TERN_THROW(RuntimeError) << call << " failed: " << Describe(Hip(), result);
}

Driver& Driver::Get() {
  // If the constructor throws, the next use tries again.
  static Driver* driver = new Driver;
  return *driver;
}

Driver::Driver() {
  void* library = nullptr;
  for (const char* name : kLibraries)
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    absence_ = std::string("libamdhip64.so cannot be opened: ") + dlerror();
    return;
  }
  functions_ = hip::FindFunctions(library);
  hip::Result result = functions_.Init(0);
  int count = 0;
  if (result == hip::kSuccess) result = functions_.GetDeviceCount(&count);
  if (result == hip::kSuccess) count_ = count;
  if (result != hip::kSuccess)
    absence_ = "libamdhip64.so finds no device: " + Describe(functions_, result);
  else if (count == 0)
    absence_ = "libamdhip64.so lists no device";
}

void Driver::CheckDevice(int32_t number) const {
  if (number >= 0 && number < count_) return;
  TERN_THROW(ValueError) << "no such device: rocm:" << number << "; "
                         << (absence_.empty() ? "there are " + std::to_string(count_) : absence_);
}

std::string Driver::version() const {
  int version = 0;
  Check(functions_.DriverGetVersion(&version), "hipDriverGetVersion");
  return std::to_string(version / 10000000) + "." + std::to_string(version % 10000000 / 100000);
}

std::string DeviceName(int32_t device) {
  char text[256] = {};
  Check(Hip().DeviceGetName(text, sizeof text, device), "hipDeviceGetName");
  return text;
}

std::string Architecture(int32_t device) {
  if (!Hip().GetDevicePropertiesR0600)
    TERN_THROW(RuntimeError) << "HIP " << Driver::Get().version()
                             << " does not say the architecture of a device; HIP 6 and later do. "
                                "Give the target's -arch";
  std::vector<char> properties(hip::kPropertiesRoom);
  Check(Hip().GetDevicePropertiesR0600(properties.data(), device), hip::kGetProperties);
  const char* field = properties.data() + hip::kArchitectureOffset;
  std::string name(field, strnlen(field, hip::kArchitectureBytes));
  name = name.substr(0, name.find(':'));
  if (!name.starts_with("gfx") ||
      name.find_first_not_of("0123456789abcdef", 3) != std::string::npos)
    TERN_THROW(RuntimeError) << "HIP " << Driver::Get().version() << " says that rocm:" << device
                             << " is no gfx architecture. Give the target's -arch";
  return name;
}

int Attribute(int32_t device, int attribute) {
  int value = 0;
  Check(Hip().DeviceGetAttribute(&value, attribute, device), "hipDeviceGetAttribute");
  return value;
}

Current::Current(int32_t device) {
  Driver::Get().CheckDevice(device);
  Check(Hip().GetDevice(&before_), "hipGetDevice");
  if (before_ == device) return;
  Check(Hip().SetDevice(device), "hipSetDevice");
  is_changed_ = true;
}
Current::~Current() {
  if (is_changed_) Hip().SetDevice(before_);
}

}  // namespace tern::backend::rocm
