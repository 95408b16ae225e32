// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/runtime/device.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tern::backend::vulkan {
namespace {

constexpr uint64_t kStagingBytes = 8 << 20;
// A kernel may see the memory behind a tensor as words.
constexpr uint64_t kBufferGranularity = 16;
constexpr uint32_t kMinDescriptors = 16;

}  // namespace

// ---- What there is ----

DeviceProperties::DeviceProperties(const vk::Functions& functions, vk::PhysicalDevice handle)
    : handle(handle) {
  core.next = &driver;
  driver.next = &subgroup;
  subgroup.next = &maintenance;
  maintenance.next = &float_controls;
  functions.GetPhysicalDeviceProperties2(handle, &core);
  features.next = &arithmetic;
  arithmetic.next = &storage16;
  storage16.next = &storage8;
  storage8.next = &timeline;
  timeline.next = &addresses;
  functions.GetPhysicalDeviceFeatures2(handle, &features);
  functions.GetPhysicalDeviceMemoryProperties(handle, &memory);
  uint32_t count = 0;
  functions.GetPhysicalDeviceQueueFamilyProperties(handle, &count, nullptr);
  std::vector<vk::QueueFamilyProperties> families(count);
  functions.GetPhysicalDeviceQueueFamilyProperties(handle, &count, families.data());
  for (uint32_t i = 0; i < count && queue_family < 0; ++i) {
    if (!(families[i].flags & vk::kQueueCompute)) continue;
    queue_family = static_cast<int32_t>(i);
    timestamp_bits = families[i].timestamp_valid_bits;
  }
}

std::string DeviceProperties::Missing() const {
  if (core.api_version < vk::kApiVersion12) return "Vulkan 1.2";
  if (!timeline.timeline_semaphore) return "timeline semaphores";
  return queue_family < 0 ? "queue for computing" : "";
}

vk::Device Device::handle() {
  std::call_once(created_, [this] { Create(); });
  return device_;
}

// With those features that kernels can make use of.
void Device::Create() {
  vk::PhysicalDeviceFeatures2 features;
  features.shader_float64 = properties_->features.shader_float64;
  features.shader_int64 = properties_->features.shader_int64;
  features.shader_int16 = properties_->features.shader_int16;
  vk::Float16Int8Features arithmetic = properties_->arithmetic;
  vk::Storage16BitFeatures storage16;
  storage16.storage_buffer = properties_->storage16.storage_buffer;
  vk::Storage8BitFeatures storage8;
  storage8.storage_buffer = properties_->storage8.storage_buffer;
  vk::TimelineSemaphoreFeatures timeline{.timeline_semaphore = vk::kTrue};
  features.next = &arithmetic;
  arithmetic.next = &storage16;
  storage16.next = &storage8;
  storage8.next = &timeline;
  vk::BufferDeviceAddressFeatures addresses;
  addresses.buffer_device_address = properties_->addresses.buffer_device_address;
  timeline.next = &addresses;

  float priority = 1;
  auto family = static_cast<uint32_t>(properties_->queue_family);
  vk::DeviceQueueCreateInfo queue{.family = family, .count = 1, .priorities = &priority};
  vk::DeviceCreateInfo info{.next = &features, .queue_count = 1, .queues = &queue};
  vk::Device device = nullptr;
  Check(Vk().CreateDevice(properties_->handle, &info, nullptr, &device), "vkCreateDevice");
  Vk().GetDeviceQueue(device, family, 0, &queue_);
  vk::CommandPoolCreateInfo pool{.flags = vk::kResettableCommandBuffers, .family = family};
  Check(Vk().CreateCommandPool(device, &pool, nullptr, &command_pool_), "vkCreateCommandPool");
  vk::SemaphoreTypeCreateInfo type{.semaphore_type = vk::kTimelineSemaphore};
  vk::SemaphoreCreateInfo semaphore{.next = &type};
  Check(Vk().CreateSemaphore(device, &semaphore, nullptr, &timeline_), "vkCreateSemaphore");
  device_ = device;
}

// ---- Memory ----

uint64_t Device::MaxBufferBytes() const {
  return std::min<uint64_t>(properties_->limits().max_storage_buffer_range,
                            properties_->maintenance.max_memory_allocation_size);
}

uint32_t Device::MemoryType(uint32_t type_bits, bool host_visible) const {
  // The last ones are the best: reading what is not cached is slow for the host.
  constexpr vk::Flags kVisible = vk::kMemoryHostVisible | vk::kMemoryHostCoherent;
  const vk::Flags host[] = {kVisible, kVisible | vk::kMemoryHostCached};
  const vk::Flags local[] = {0, vk::kMemoryDeviceLocal};
  int found = -1;
  for (vk::Flags wanted : host_visible ? host : local)
    for (uint32_t i = properties_->memory.type_count; i-- > 0;)
      if ((type_bits >> i & 1) && (properties_->memory.types[i].flags & wanted) == wanted)
        found = static_cast<int>(i);
  if (found < 0) TERN_THROW(RuntimeError) << name() << " has no memory for buffers";
  return static_cast<uint32_t>(found);
}

Buffer* Device::Allocate(uint64_t bytes, bool host_visible) {
  vk::Device device = handle();
  {
    std::lock_guard lock(mutex_);
    FreeRetired();
  }
  auto buffer = std::make_unique<Buffer>();
  // No driver makes an empty buffer.
  buffer->bytes = std::max<uint64_t>(bytes, 1) + kBufferGranularity - 1;
  buffer->bytes -= buffer->bytes % kBufferGranularity;
  bool has_address = properties_->addresses.buffer_device_address;
  vk::BufferCreateInfo info{.size = buffer->bytes,
                            .usage = vk::kBufferStorage | vk::kBufferTransferSrc |
                                     vk::kBufferTransferDst |
                                     (has_address ? vk::kBufferAddress : 0)};
  auto fail = [&](vk::Result code, const char* call) {
    if (code == vk::kSuccess) return;
    Destroy(buffer.release());
    Check(code, call);
  };
  fail(Vk().CreateBuffer(device, &info, nullptr, &buffer->handle), "vkCreateBuffer");
  vk::MemoryRequirements needed;
  Vk().GetBufferMemoryRequirements(device, buffer->handle, &needed);
  vk::MemoryAllocateFlagsInfo flags{.flags = vk::kAllocateAddress};
  vk::MemoryAllocateInfo memory{.next = has_address ? &flags : nullptr,
                                .size = needed.size,
                                .memory_type = MemoryType(needed.type_bits, host_visible)};
  fail(Vk().AllocateMemory(device, &memory, nullptr, &buffer->memory), "vkAllocateMemory");
  fail(Vk().BindBufferMemory(device, buffer->handle, buffer->memory, 0), "vkBindBufferMemory");
  vk::BufferDeviceAddressInfo place{.buffer = buffer->handle};
  if (has_address) buffer->address = Vk().GetBufferDeviceAddress(device, &place);
  if (host_visible)
    fail(Vk().MapMemory(device, buffer->memory, 0, vk::kWholeSize, 0, &buffer->mapped),
         "vkMapMemory");
  return buffer.release();
}

void Device::Destroy(Buffer* buffer) {
  Vk().DestroyBuffer(device_, buffer->handle, nullptr);
  Vk().FreeMemory(device_, buffer->memory, nullptr);
  delete buffer;
}

void Device::Retire(Buffer* buffer) {
  std::lock_guard lock(mutex_);
  retired_.emplace_back(last_, buffer);
  FreeRetired();
}

void Device::FreeRetired() {
  if (retired_.empty()) return;
  uint64_t completed = Completed();
  auto done = std::stable_partition(retired_.begin(), retired_.end(),
                                    [&](const auto& entry) { return entry.first > completed; });
  for (auto it = done; it != retired_.end(); ++it) Destroy(it->second);
  retired_.erase(done, retired_.end());
}

// ---- The queue ----

uint64_t Device::Completed() {
  uint64_t value = 0;
  Check(Vk().GetSemaphoreCounterValue(device_, timeline_, &value), "vkGetSemaphoreCounterValue");
  return value;
}

uint64_t Device::last_submitted() {
  std::lock_guard lock(mutex_);
  return last_;
}

Device::Submission Device::TakeSubmission(uint32_t num_descriptors) {
  Submission submission;
  if (!submissions_.empty() && submissions_.front().value <= Completed()) {
    submission = submissions_.front();
    submissions_.pop_front();
  } else {
    vk::CommandBufferAllocateInfo info{.pool = command_pool_, .count = 1};
    Check(Vk().AllocateCommandBuffers(device_, &info, &submission.commands),
          "vkAllocateCommandBuffers");
  }
  if (submission.num_descriptors >= num_descriptors) {
    if (submission.descriptor_pool)
      Check(Vk().ResetDescriptorPool(device_, submission.descriptor_pool, 0),
            "vkResetDescriptorPool");
    return submission;
  }
  if (submission.descriptor_pool)
    Vk().DestroyDescriptorPool(device_, submission.descriptor_pool, nullptr);
  submission.num_descriptors = std::max(num_descriptors, kMinDescriptors);
  vk::DescriptorPoolSize size{vk::kDescriptorStorageBuffer, submission.num_descriptors};
  vk::DescriptorPoolCreateInfo info{.max_sets = 1, .pool_size_count = 1, .pool_sizes = &size};
  Check(Vk().CreateDescriptorPool(device_, &info, nullptr, &submission.descriptor_pool),
        "vkCreateDescriptorPool");
  return submission;
}

uint64_t Device::Submit(const Record& record, uint32_t num_descriptors) {
  handle();
  std::lock_guard lock(mutex_);
  Submission submission = TakeSubmission(num_descriptors);
  // Whatever happens now, the commands can be used again.
  submission.value = 0;
  try {
    vk::CommandBufferBeginInfo begin{.flags = vk::kOneTimeSubmit};
    Check(Vk().BeginCommandBuffer(submission.commands, &begin), "vkBeginCommandBuffer");
    vk::MemoryBarrier all{.src_access = vk::kAccessWrite,
                          .dst_access = vk::kAccessRead | vk::kAccessWrite};
    Vk().CmdPipelineBarrier(submission.commands, vk::kPipeAll, vk::kPipeAll, 0, 1, &all, 0, nullptr,
                            0, nullptr);
    record(submission.commands, submission.descriptor_pool);
    Check(Vk().EndCommandBuffer(submission.commands), "vkEndCommandBuffer");
    uint64_t value = last_ + 1;
    vk::TimelineSemaphoreSubmitInfo timeline{.signal_value_count = 1, .signal_values = &value};
    vk::SubmitInfo submit{.next = &timeline,
                          .command_buffer_count = 1,
                          .command_buffers = &submission.commands,
                          .signal_count = 1,
                          .signals = &timeline_};
    Check(Vk().QueueSubmit(queue_, 1, &submit, 0), "vkQueueSubmit");
    last_ = submission.value = value;
  } catch (...) {
    submissions_.push_front(submission);
    throw;
  }
  submissions_.push_back(submission);
  return last_;
}

void Device::Wait(uint64_t value) {
  if (value == 0) return;
  vk::SemaphoreWaitInfo info{.count = 1, .semaphores = &timeline_, .values = &value};
  Check(Vk().WaitSemaphores(handle(), &info, std::numeric_limits<uint64_t>::max()),
        "vkWaitSemaphores");
}

// ---- Copies ----

Buffer& Device::Staging() {
  if (!staging_) staging_ = Allocate(kStagingBytes, /*host_visible=*/true);
  return *staging_;
}

void Device::CopyFromHost(const Buffer& target, uint64_t offset, const void* source,
                          uint64_t bytes) {
  std::lock_guard lock(staging_mutex_);
  Buffer& staging = Staging();
  for (uint64_t done = 0; done < bytes;) {
    uint64_t size = std::min(bytes - done, kStagingBytes);
    std::memcpy(staging.mapped, static_cast<const char*>(source) + done, size);
    Wait(Submit([&](vk::CommandBuffer commands, vk::Handle) {
      vk::BufferCopy region{0, offset + done, size};
      Vk().CmdCopyBuffer(commands, staging.handle, target.handle, 1, &region);
    }));
    done += size;
  }
}

void Device::CopyToHost(void* target, const Buffer& source, uint64_t offset, uint64_t bytes) {
  std::lock_guard lock(staging_mutex_);
  Buffer& staging = Staging();
  for (uint64_t done = 0; done < bytes;) {
    uint64_t size = std::min(bytes - done, kStagingBytes);
    Wait(Submit([&](vk::CommandBuffer commands, vk::Handle) {
      vk::BufferCopy region{offset + done, 0, size};
      Vk().CmdCopyBuffer(commands, source.handle, staging.handle, 1, &region);
      vk::MemoryBarrier seen{.src_access = vk::kAccessWrite, .dst_access = vk::kAccessHostRead};
      Vk().CmdPipelineBarrier(commands, vk::kPipeAll, vk::kPipeHost, 0, 1, &seen, 0, nullptr, 0,
                              nullptr);
    }));
    std::memcpy(static_cast<char*>(target) + done, staging.mapped, size);
    done += size;
  }
}

}  // namespace tern::backend::vulkan
