// SPDX-License-Identifier: Apache-2.0
//
// The Vulkan loader, opened at first use, and the devices that it lists.
#ifndef TERN_BACKEND_VULKAN_RUNTIME_DRIVER_H_
#define TERN_BACKEND_VULKAN_RUNTIME_DRIVER_H_

#include <string>
#include <vector>

#include "tern/backend/vulkan/runtime/vulkan_abi.h"
#include "tern/runtime/plugin_sdk.h"

namespace tern::backend::vulkan {

class Device;

// Throws with the call and the error's name where `code` is not success.
void Check(vk::Result code, const char* call);

class Driver {
 public:
  // Opens libvulkan.so.1 and lists the devices that compute: real GPUs first, programs that play
  // one last. Where there is no driver there are no functions and no devices. Leaked: drivers do
  // not outlive their own unloading.
  static Driver& Get();

  const vk::Functions& functions() const { return functions_; }
  int32_t count() const { return static_cast<int32_t>(devices_.size()); }
  // Throws with the number of devices there are.
  Device& device(int32_t number);

 private:
  Driver();
  void Open();
  void ListDevices();

  vk::Functions functions_;
  vk::Instance instance_ = nullptr;
  std::vector<Device*> devices_;
  std::string absence_;  // why there is no device
};

inline const vk::Functions& Vk() { return Driver::Get().functions(); }

}  // namespace tern::backend::vulkan

#endif  // TERN_BACKEND_VULKAN_RUNTIME_DRIVER_H_
