// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/runtime/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <memory>

#include "tern/backend/vulkan/runtime/device.h"

namespace tern::backend::vulkan {
namespace {

constexpr const char* kLibrary = "libvulkan.so.1";

const char* ErrorName(vk::Result code) {
  switch (code) {
    case 1:
      return "VK_NOT_READY";
    case 2:
      return "VK_TIMEOUT";
    case -1:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case -2:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case -3:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case -4:
      return "VK_ERROR_DEVICE_LOST";
    case -5:
      return "VK_ERROR_MEMORY_MAP_FAILED";
    case -6:
      return "VK_ERROR_LAYER_NOT_PRESENT";
    case -7:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case -8:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
    case -9:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case -10:
      return "VK_ERROR_TOO_MANY_OBJECTS";
    case -12:
      return "VK_ERROR_FRAGMENTED_POOL";
    case -1000069000:
      return "VK_ERROR_OUT_OF_POOL_MEMORY";
    case -1000012000:
      return "VK_ERROR_INVALID_SHADER_NV";
    default:
      return "error";
  }
}

// GPUs by how fast they are likely to be.
int Rank(uint32_t device_type) {
  switch (device_type) {
    case vk::kDeviceTypeDiscrete:
      return 0;
    case vk::kDeviceTypeIntegrated:
      return 1;
    case vk::kDeviceTypeVirtual:
      return 2;
    case vk::kDeviceTypeCpu:
      return 4;
    default:
      return 3;
  }
}

}  // namespace

void Check(vk::Result code, const char* call) {
  if (code != vk::kSuccess)
    TERN_THROW(RuntimeError) << call << " failed: " << ErrorName(code) << " (" << code << ")";
}

Driver& Driver::Get() {
  // If the constructor throws, the next use tries again.
  static Driver* driver = new Driver;
  return *driver;
}

Driver::Driver() {
  Open();
  if (instance_) ListDevices();
}

void Driver::Open() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    absence_ = std::string(kLibrary) + " cannot be opened: " + dlerror();
    return;
  }
  auto get = reinterpret_cast<vk::GetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (!get) TERN_THROW(RuntimeError) << kLibrary << " has no function vkGetInstanceProcAddr";
#define TERN_VULKAN_FIND(name, ...)                                                          \
  functions_.name = reinterpret_cast<decltype(functions_.name)>(get(instance_, "vk" #name)); \
  if (!functions_.name) TERN_THROW(RuntimeError) << kLibrary << " has no function vk" #name;
  TERN_VULKAN_GLOBAL_FUNCTIONS(TERN_VULKAN_FIND)
  vk::ApplicationInfo application{.engine_name = "tern", .api_version = vk::kApiVersion12};
  vk::InstanceCreateInfo info{.application_info = &application};
  vk::Result code = functions_.CreateInstance(&info, nullptr, &instance_);
  if (code == vk::kIncompatibleDriver) {
    instance_ = nullptr;
    absence_ = std::string(kLibrary) + " finds no driver";
    return;
  }
  Check(code, "vkCreateInstance");
  TERN_VULKAN_FUNCTIONS(TERN_VULKAN_FIND)
#undef TERN_VULKAN_FIND
}

void Driver::ListDevices() {
  uint32_t count = 0;
  Check(functions_.EnumeratePhysicalDevices(instance_, &count, nullptr),
        "vkEnumeratePhysicalDevices");
  std::vector<vk::PhysicalDevice> physical(count);
  Check(functions_.EnumeratePhysicalDevices(instance_, &count, physical.data()),
        "vkEnumeratePhysicalDevices");
  std::vector<std::unique_ptr<DeviceProperties>> found;
  std::string refused;
  for (vk::PhysicalDevice device : physical) {
    auto properties = std::make_unique<DeviceProperties>(functions_, device);
    std::string missing = properties->Missing();
    if (missing.empty())
      found.push_back(std::move(properties));
    else
      refused += std::string("; ") + properties->core.device_name + " has no " + missing;
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return Rank(a->core.device_type) < Rank(b->core.device_type);
  });
  for (auto& properties : found)
    devices_.push_back(new Device(std::move(properties), this->count()));
  if (devices_.empty())
    absence_ = std::string(kLibrary) + " lists no device that computes" + refused;
}

Device& Driver::device(int32_t number) {
  if (number < 0 || number >= count())
    TERN_THROW(ValueError) << "no such device: vulkan:" << number << "; "
                           << (absence_.empty() ? "there are " + std::to_string(count())
                                                : absence_);
  return *devices_[static_cast<size_t>(number)];
}

}  // namespace tern::backend::vulkan
