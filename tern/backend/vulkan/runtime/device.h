// SPDX-License-Identifier: Apache-2.0
//
// A device: what it has, its memory, and its one queue.
#ifndef TERN_BACKEND_VULKAN_RUNTIME_DEVICE_H_
#define TERN_BACKEND_VULKAN_RUNTIME_DEVICE_H_

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "tern/backend/vulkan/common/spirv.h"
#include "tern/backend/vulkan/runtime/driver.h"

namespace tern::backend::vulkan {

// What the driver says of a device. Structures that the driver filled point at each other.
struct DeviceProperties {
  DeviceProperties(const vk::Functions& functions, vk::PhysicalDevice handle);
  DeviceProperties(const DeviceProperties&) = delete;

  // What a device must have and this one has not; "" where it has all.
  std::string Missing() const;
  const vk::PhysicalDeviceLimits& limits() const { return core.limits; }
  bool is_cpu() const { return core.device_type == vk::kDeviceTypeCpu; }
  // After how many iterations the driver ends all loops of an invocation, without a word; 0: never.
  // Mesa's llvmpipe does so in every version there is.
  uint32_t loop_limit() const {
    return driver.driver_id == vk::kDriverMesaLlvmpipe ? spirv::kLoopLimit : 0;
  }

  vk::PhysicalDevice handle;
  vk::PhysicalDeviceProperties2 core;
  vk::DriverProperties driver;
  vk::SubgroupProperties subgroup;
  vk::Maintenance3Properties maintenance;
  vk::FloatControlsProperties float_controls;
  vk::PhysicalDeviceFeatures2 features;
  vk::Float16Int8Features arithmetic;
  vk::Storage16BitFeatures storage16;
  vk::Storage8BitFeatures storage8;
  vk::TimelineSemaphoreFeatures timeline;
  vk::BufferDeviceAddressFeatures addresses;
  vk::PhysicalDeviceMemoryProperties memory;
  int32_t queue_family = -1;
  uint32_t timestamp_bits = 0;
};

// Device memory as Tern sees it is a pointer to one of these.
struct Buffer {
  vk::Handle handle = 0, memory = 0;
  uint64_t bytes = 0;
  uint64_t address = 0;    // 0: the device has none
  void* mapped = nullptr;  // where the host sees it
};

class Device {
 public:
  Device(std::unique_ptr<DeviceProperties> properties, int32_t number)
      : properties_(std::move(properties)), number_(number) {}

  const DeviceProperties& properties() const { return *properties_; }
  int32_t number() const { return number_; }
  std::string name() const { return "vulkan:" + std::to_string(number_); }
  // Made at first use, and kept.
  vk::Device handle();

  // How many bytes one buffer can have.
  uint64_t MaxBufferBytes() const;
  // Of memory that is the device's own, or that the host sees.
  Buffer* Allocate(uint64_t bytes, bool host_visible);
  // Frees it when what was submitted until now is done.
  void Retire(Buffer* buffer);

  // Has `record` write commands, and submits them behind all that was submitted before, whose
  // results they see. Returns the value that the timeline has when they are done.
  using Record = std::function<void(vk::CommandBuffer commands, vk::Handle descriptor_pool)>;
  uint64_t Submit(const Record& record, uint32_t num_descriptors = 0);
  void Wait(uint64_t value);
  uint64_t last_submitted();

  // Through memory that both see, piece by piece; done when it returns.
  void CopyFromHost(const Buffer& target, uint64_t offset, const void* source, uint64_t bytes);
  void CopyToHost(void* target, const Buffer& source, uint64_t offset, uint64_t bytes);

 private:
  // Commands that were submitted, or can be used again.
  struct Submission {
    vk::CommandBuffer commands = nullptr;
    vk::Handle descriptor_pool = 0;
    uint32_t num_descriptors = 0;
    uint64_t value = 0;
  };

  void Create();
  uint32_t MemoryType(uint32_t type_bits, bool host_visible) const;
  Submission TakeSubmission(uint32_t num_descriptors);
  void Destroy(Buffer* buffer);
  void FreeRetired();
  uint64_t Completed();
  Buffer& Staging();

  const std::unique_ptr<DeviceProperties> properties_;
  const int32_t number_;
  std::once_flag created_;
  vk::Device device_ = nullptr;
  vk::Queue queue_ = nullptr;
  vk::Handle command_pool_ = 0, timeline_ = 0;

  std::mutex mutex_;  // of the queue, the command pool and what follows
  uint64_t last_ = 0;
  std::deque<Submission> submissions_;  // in order
  std::vector<std::pair<uint64_t, Buffer*>> retired_;

  std::mutex staging_mutex_;
  Buffer* staging_ = nullptr;
};

}  // namespace tern::backend::vulkan

#endif  // TERN_BACKEND_VULKAN_RUNTIME_DEVICE_H_
