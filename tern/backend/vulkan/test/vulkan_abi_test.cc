// SPDX-License-Identifier: Apache-2.0
//
// Compares our declarations with the vendor's header.
#include "tern/backend/vulkan/runtime/vulkan_abi.h"

#include <vulkan/vulkan.h>

#include <type_traits>

namespace tern::backend::vulkan::vk {
namespace {

static_assert(kSuccess == VK_SUCCESS && kNotReady == VK_NOT_READY && kTimeout == VK_TIMEOUT);
static_assert(kIncompatibleDriver == VK_ERROR_INCOMPATIBLE_DRIVER);
static_assert(kApiVersion12 == VK_API_VERSION_1_2 && kTrue == VK_TRUE);
static_assert(kWholeSize == VK_WHOLE_SIZE);
static_assert(kDeviceTypeIntegrated == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU);
static_assert(kDeviceTypeDiscrete == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU);
static_assert(kDeviceTypeVirtual == VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU);
static_assert(kDeviceTypeCpu == VK_PHYSICAL_DEVICE_TYPE_CPU);
static_assert(kDriverMesaLlvmpipe == VK_DRIVER_ID_MESA_LLVMPIPE);
static_assert(kQueueCompute == VK_QUEUE_COMPUTE_BIT);
static_assert(kMemoryDeviceLocal == VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
static_assert(kMemoryHostVisible == VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
static_assert(kMemoryHostCoherent == VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
static_assert(kMemoryHostCached == VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
static_assert(kMemoryDeviceLocal == VK_MEMORY_HEAP_DEVICE_LOCAL_BIT);
static_assert(kBufferTransferSrc == VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
static_assert(kBufferTransferDst == VK_BUFFER_USAGE_TRANSFER_DST_BIT);
static_assert(kBufferStorage == VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
static_assert(kBufferAddress == VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
static_assert(kAllocateAddress == VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT);
static_assert(kStageCompute == VK_SHADER_STAGE_COMPUTE_BIT);
static_assert(kPipeBottom == VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
static_assert(kPipeHost == VK_PIPELINE_STAGE_HOST_BIT);
static_assert(kPipeAll == VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
static_assert(kAccessHostRead == VK_ACCESS_HOST_READ_BIT);
static_assert(kAccessRead == VK_ACCESS_MEMORY_READ_BIT);
static_assert(kAccessWrite == VK_ACCESS_MEMORY_WRITE_BIT);
static_assert(kResettableCommandBuffers == VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
static_assert(kOneTimeSubmit == VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
static_assert(kDescriptorStorageBuffer == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
static_assert(kBindCompute == VK_PIPELINE_BIND_POINT_COMPUTE);
static_assert(kQueryTimestamp == VK_QUERY_TYPE_TIMESTAMP);
static_assert(kTimelineSemaphore == VK_SEMAPHORE_TYPE_TIMELINE);
static_assert(kQueryResult64 == VK_QUERY_RESULT_64_BIT);
static_assert(kQueryResultWait == VK_QUERY_RESULT_WAIT_BIT);
static_assert(kSubgroupBasic == VK_SUBGROUP_FEATURE_BASIC_BIT);
static_assert(kSubgroupVote == VK_SUBGROUP_FEATURE_VOTE_BIT);
static_assert(kSubgroupBallot == VK_SUBGROUP_FEATURE_BALLOT_BIT);
static_assert(kSubgroupShuffle == VK_SUBGROUP_FEATURE_SHUFFLE_BIT);

// The number of a structure, its size, and where its last member that differs from the others in
// width begins.
#define TERN_VULKAN_SAME(ours, theirs, number)                                   \
  static_assert(sizeof(ours) == sizeof(::Vk##theirs), #theirs);                  \
  static_assert(alignof(ours) == alignof(::Vk##theirs), #theirs);                \
  static_assert(offsetof(ours, next) == offsetof(::Vk##theirs, pNext), #theirs); \
  static_assert(static_cast<uint32_t>(k##ours) == VK_STRUCTURE_TYPE_##number, #theirs);
TERN_VULKAN_SAME(ApplicationInfo, ApplicationInfo, APPLICATION_INFO)
TERN_VULKAN_SAME(InstanceCreateInfo, InstanceCreateInfo, INSTANCE_CREATE_INFO)
TERN_VULKAN_SAME(DeviceQueueCreateInfo, DeviceQueueCreateInfo, DEVICE_QUEUE_CREATE_INFO)
TERN_VULKAN_SAME(DeviceCreateInfo, DeviceCreateInfo, DEVICE_CREATE_INFO)
TERN_VULKAN_SAME(SubmitInfo, SubmitInfo, SUBMIT_INFO)
TERN_VULKAN_SAME(MemoryAllocateInfo, MemoryAllocateInfo, MEMORY_ALLOCATE_INFO)
TERN_VULKAN_SAME(SemaphoreCreateInfo, SemaphoreCreateInfo, SEMAPHORE_CREATE_INFO)
TERN_VULKAN_SAME(QueryPoolCreateInfo, QueryPoolCreateInfo, QUERY_POOL_CREATE_INFO)
TERN_VULKAN_SAME(BufferCreateInfo, BufferCreateInfo, BUFFER_CREATE_INFO)
TERN_VULKAN_SAME(ShaderModuleCreateInfo, ShaderModuleCreateInfo, SHADER_MODULE_CREATE_INFO)
TERN_VULKAN_SAME(PipelineShaderStageCreateInfo, PipelineShaderStageCreateInfo,
                 PIPELINE_SHADER_STAGE_CREATE_INFO)
TERN_VULKAN_SAME(ComputePipelineCreateInfo, ComputePipelineCreateInfo, COMPUTE_PIPELINE_CREATE_INFO)
TERN_VULKAN_SAME(PipelineLayoutCreateInfo, PipelineLayoutCreateInfo, PIPELINE_LAYOUT_CREATE_INFO)
TERN_VULKAN_SAME(DescriptorSetLayoutCreateInfo, DescriptorSetLayoutCreateInfo,
                 DESCRIPTOR_SET_LAYOUT_CREATE_INFO)
TERN_VULKAN_SAME(DescriptorPoolCreateInfo, DescriptorPoolCreateInfo, DESCRIPTOR_POOL_CREATE_INFO)
TERN_VULKAN_SAME(DescriptorSetAllocateInfo, DescriptorSetAllocateInfo, DESCRIPTOR_SET_ALLOCATE_INFO)
TERN_VULKAN_SAME(WriteDescriptorSet, WriteDescriptorSet, WRITE_DESCRIPTOR_SET)
TERN_VULKAN_SAME(CommandPoolCreateInfo, CommandPoolCreateInfo, COMMAND_POOL_CREATE_INFO)
TERN_VULKAN_SAME(CommandBufferAllocateInfo, CommandBufferAllocateInfo, COMMAND_BUFFER_ALLOCATE_INFO)
TERN_VULKAN_SAME(CommandBufferBeginInfo, CommandBufferBeginInfo, COMMAND_BUFFER_BEGIN_INFO)
TERN_VULKAN_SAME(MemoryBarrier, MemoryBarrier, MEMORY_BARRIER)
TERN_VULKAN_SAME(PhysicalDeviceFeatures2, PhysicalDeviceFeatures2, PHYSICAL_DEVICE_FEATURES_2)
TERN_VULKAN_SAME(PhysicalDeviceProperties2, PhysicalDeviceProperties2, PHYSICAL_DEVICE_PROPERTIES_2)
TERN_VULKAN_SAME(Float16Int8Features, PhysicalDeviceShaderFloat16Int8Features,
                 PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES)
TERN_VULKAN_SAME(Storage16BitFeatures, PhysicalDevice16BitStorageFeatures,
                 PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES)
TERN_VULKAN_SAME(Storage8BitFeatures, PhysicalDevice8BitStorageFeatures,
                 PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES)
TERN_VULKAN_SAME(SubgroupProperties, PhysicalDeviceSubgroupProperties,
                 PHYSICAL_DEVICE_SUBGROUP_PROPERTIES)
TERN_VULKAN_SAME(Maintenance3Properties, PhysicalDeviceMaintenance3Properties,
                 PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES)
TERN_VULKAN_SAME(DriverProperties, PhysicalDeviceDriverProperties,
                 PHYSICAL_DEVICE_DRIVER_PROPERTIES)
TERN_VULKAN_SAME(FloatControlsProperties, PhysicalDeviceFloatControlsProperties,
                 PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES)
TERN_VULKAN_SAME(TimelineSemaphoreFeatures, PhysicalDeviceTimelineSemaphoreFeatures,
                 PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES)
TERN_VULKAN_SAME(SemaphoreTypeCreateInfo, SemaphoreTypeCreateInfo, SEMAPHORE_TYPE_CREATE_INFO)
TERN_VULKAN_SAME(TimelineSemaphoreSubmitInfo, TimelineSemaphoreSubmitInfo,
                 TIMELINE_SEMAPHORE_SUBMIT_INFO)
TERN_VULKAN_SAME(SemaphoreWaitInfo, SemaphoreWaitInfo, SEMAPHORE_WAIT_INFO)

TERN_VULKAN_SAME(BufferDeviceAddressFeatures, PhysicalDeviceBufferDeviceAddressFeatures,
                 PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES)
TERN_VULKAN_SAME(BufferDeviceAddressInfo, BufferDeviceAddressInfo, BUFFER_DEVICE_ADDRESS_INFO)
TERN_VULKAN_SAME(MemoryAllocateFlagsInfo, MemoryAllocateFlagsInfo, MEMORY_ALLOCATE_FLAGS_INFO)

#define TERN_VULKAN_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(::Vk##theirs), #theirs);
TERN_VULKAN_SIZE(PhysicalDeviceLimits, PhysicalDeviceLimits)
TERN_VULKAN_SIZE(QueueFamilyProperties, QueueFamilyProperties)
TERN_VULKAN_SIZE(MemoryType, MemoryType)
TERN_VULKAN_SIZE(MemoryHeap, MemoryHeap)
TERN_VULKAN_SIZE(PhysicalDeviceMemoryProperties, PhysicalDeviceMemoryProperties)
TERN_VULKAN_SIZE(MemoryRequirements, MemoryRequirements)
TERN_VULKAN_SIZE(BufferCopy, BufferCopy)
TERN_VULKAN_SIZE(DescriptorSetLayoutBinding, DescriptorSetLayoutBinding)
TERN_VULKAN_SIZE(PushConstantRange, PushConstantRange)
TERN_VULKAN_SIZE(SpecializationMapEntry, SpecializationMapEntry)
TERN_VULKAN_SIZE(SpecializationInfo, SpecializationInfo)
TERN_VULKAN_SIZE(DescriptorPoolSize, DescriptorPoolSize)
TERN_VULKAN_SIZE(DescriptorBufferInfo, DescriptorBufferInfo)

// Members between others that nobody asks about.
#define TERN_VULKAN_AT(ours, member, theirs, name) \
  static_assert(offsetof(ours, member) == offsetof(::Vk##theirs, name), #name);
TERN_VULKAN_AT(PhysicalDeviceLimits, max_storage_buffer_range, PhysicalDeviceLimits,
               maxStorageBufferRange)
TERN_VULKAN_AT(PhysicalDeviceLimits, max_push_constants_size, PhysicalDeviceLimits,
               maxPushConstantsSize)
TERN_VULKAN_AT(PhysicalDeviceLimits, max_memory_allocation_count, PhysicalDeviceLimits,
               maxMemoryAllocationCount)
TERN_VULKAN_AT(PhysicalDeviceLimits, max_per_stage_descriptor_storage_buffers, PhysicalDeviceLimits,
               maxPerStageDescriptorStorageBuffers)
TERN_VULKAN_AT(PhysicalDeviceLimits, max_compute_shared_memory_size, PhysicalDeviceLimits,
               maxComputeSharedMemorySize)
TERN_VULKAN_AT(PhysicalDeviceLimits, max_compute_work_group_count, PhysicalDeviceLimits,
               maxComputeWorkGroupCount)
TERN_VULKAN_AT(PhysicalDeviceLimits, max_compute_work_group_invocations, PhysicalDeviceLimits,
               maxComputeWorkGroupInvocations)
TERN_VULKAN_AT(PhysicalDeviceLimits, max_compute_work_group_size, PhysicalDeviceLimits,
               maxComputeWorkGroupSize)
TERN_VULKAN_AT(PhysicalDeviceLimits, timestamp_period, PhysicalDeviceLimits, timestampPeriod)
TERN_VULKAN_AT(PhysicalDeviceProperties2, limits, PhysicalDeviceProperties2, properties.limits)
TERN_VULKAN_AT(PhysicalDeviceProperties2, device_name, PhysicalDeviceProperties2,
               properties.deviceName)
TERN_VULKAN_AT(PhysicalDeviceFeatures2, shader_float64, PhysicalDeviceFeatures2,
               features.shaderFloat64)
TERN_VULKAN_AT(PhysicalDeviceFeatures2, shader_int64, PhysicalDeviceFeatures2, features.shaderInt64)
TERN_VULKAN_AT(PhysicalDeviceFeatures2, shader_int16, PhysicalDeviceFeatures2, features.shaderInt16)
TERN_VULKAN_AT(FloatControlsProperties, signed_zero_inf_nan_preserve,
               PhysicalDeviceFloatControlsProperties, shaderSignedZeroInfNanPreserveFloat16)
TERN_VULKAN_AT(FloatControlsProperties, denorm_preserve, PhysicalDeviceFloatControlsProperties,
               shaderDenormPreserveFloat16)
TERN_VULKAN_AT(FloatControlsProperties, rounding_mode_rte, PhysicalDeviceFloatControlsProperties,
               shaderRoundingModeRTEFloat16)
TERN_VULKAN_AT(DriverProperties, driver_info, PhysicalDeviceDriverProperties, driverInfo)
TERN_VULKAN_AT(ComputePipelineCreateInfo, layout, ComputePipelineCreateInfo, layout)
TERN_VULKAN_AT(WriteDescriptorSet, buffer_info, WriteDescriptorSet, pBufferInfo)
TERN_VULKAN_AT(SubmitInfo, command_buffers, SubmitInfo, pCommandBuffers)
TERN_VULKAN_AT(SubmitInfo, signals, SubmitInfo, pSignalSemaphores)

// Two types that cross in the same way: pointers, or integers or enumerations of one size.
template <class A, class B>
constexpr bool Alike() {
  if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>)
    return std::is_pointer_v<A> && std::is_pointer_v<B> &&
           std::is_const_v<std::remove_pointer_t<A>> == std::is_const_v<std::remove_pointer_t<B>>;
  else if constexpr (std::is_void_v<A> || std::is_void_v<B>)
    return std::is_same_v<A, B>;
  else
    return sizeof(A) == sizeof(B) && !std::is_floating_point_v<A> && !std::is_floating_point_v<B>;
}

template <class A, class B>
struct SamePrototype : std::false_type {};
template <class R, class... P, class S, class... Q>
struct SamePrototype<R(P...), S(Q...)> {
  static constexpr bool Compare() {
    if constexpr (sizeof...(P) == sizeof...(Q))
      return Alike<R, S>() && (Alike<P, Q>() && ...);
    else
      return false;
  }
  static constexpr bool value = Compare();
};

// Handles that are numbers are pointers in the vendor's header for 64-bit machines.
static_assert(sizeof(Handle) == sizeof(::VkBuffer) && sizeof(Device) == sizeof(::VkDevice));
template <class T>
struct Crossing {
  using type = T;
};
#define TERN_VULKAN_HANDLE(name) \
  template <>                    \
  struct Crossing<::Vk##name> {  \
    using type = uint64_t;       \
  };
TERN_VULKAN_HANDLE(Buffer)
TERN_VULKAN_HANDLE(DeviceMemory)
TERN_VULKAN_HANDLE(ShaderModule)
TERN_VULKAN_HANDLE(DescriptorSetLayout)
TERN_VULKAN_HANDLE(PipelineLayout)
TERN_VULKAN_HANDLE(PipelineCache)
TERN_VULKAN_HANDLE(Pipeline)
TERN_VULKAN_HANDLE(DescriptorPool)
TERN_VULKAN_HANDLE(QueryPool)
TERN_VULKAN_HANDLE(Semaphore)
TERN_VULKAN_HANDLE(Fence)
template <class F>
struct CrossingPrototype;
template <class R, class... P>
struct CrossingPrototype<R(P...)> {
  using type = R(typename Crossing<P>::type...);
};

#define TERN_VULKAN_COMPARE(name, result, ...)                                                \
  static_assert(SamePrototype<result(__VA_ARGS__),                                            \
                              typename CrossingPrototype<decltype(::vk##name)>::type>::value, \
                "vk" #name);
TERN_VULKAN_GLOBAL_FUNCTIONS(TERN_VULKAN_COMPARE)
TERN_VULKAN_FUNCTIONS(TERN_VULKAN_COMPARE)
static_assert(!SamePrototype<Result(uint32_t), decltype(::vkQueueWaitIdle)>::value,
              "the comparison must tell them apart");

}  // namespace
}  // namespace tern::backend::vulkan::vk
