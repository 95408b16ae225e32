// SPDX-License-Identifier: Apache-2.0
//
// The part of Vulkan 1.2 that the plugin uses, declared from its specification, so that no SDK is
// needed to build it. vulkan_abi_test.cc compares it with the vendor's header where that is
// installed. Members have the specification's names without their Hungarian prefixes.
#ifndef TERN_BACKEND_VULKAN_RUNTIME_VULKAN_ABI_H_
#define TERN_BACKEND_VULKAN_RUNTIME_VULKAN_ABI_H_

#include <cstddef>
#include <cstdint>

namespace tern::backend::vulkan::vk {

// Handles: pointers where calls are dispatched by them, numbers elsewhere.
using Instance = struct InstanceHandle*;
using PhysicalDevice = struct PhysicalDeviceHandle*;
using Device = struct DeviceHandle*;
using Queue = struct QueueHandle*;
using CommandBuffer = struct CommandBufferHandle*;
using Handle = uint64_t;  // every other one

using Result = int32_t;
using Bool = uint32_t;
using Flags = uint32_t;
using Size = uint64_t;
using VoidFunction = void (*)();

inline constexpr Result kSuccess = 0, kNotReady = 1, kTimeout = 2, kIncompatibleDriver = -9;
inline constexpr uint32_t kApiVersion12 = 1u << 22 | 2u << 12;
inline constexpr Bool kTrue = 1;
inline constexpr Size kWholeSize = ~Size{0};
inline constexpr uint32_t kDeviceTypeIntegrated = 1, kDeviceTypeDiscrete = 2,
                          kDeviceTypeVirtual = 3, kDeviceTypeCpu = 4;
inline constexpr uint32_t kDriverMesaLlvmpipe = 13;
inline constexpr Flags kQueueCompute = 2;
inline constexpr Flags kMemoryDeviceLocal = 1, kMemoryHostVisible = 2, kMemoryHostCoherent = 4,
                       kMemoryHostCached = 8;
inline constexpr Flags kBufferTransferSrc = 1, kBufferTransferDst = 2, kBufferStorage = 0x20,
                       kBufferAddress = 0x20000, kAllocateAddress = 2;
inline constexpr Flags kStageCompute = 0x20;  // of shaders
inline constexpr Flags kPipeBottom = 0x2000, kPipeHost = 0x4000, kPipeAll = 0x10000;
inline constexpr Flags kAccessHostRead = 0x2000, kAccessRead = 0x8000, kAccessWrite = 0x10000;
inline constexpr Flags kResettableCommandBuffers = 2, kOneTimeSubmit = 1;
inline constexpr uint32_t kDescriptorStorageBuffer = 7, kBindCompute = 1, kQueryTimestamp = 2,
                          kTimelineSemaphore = 1;
inline constexpr Flags kQueryResult64 = 1, kQueryResultWait = 2;
inline constexpr Flags kSubgroupVote = 2, kSubgroupBallot = 8, kSubgroupShuffle = 16,
                       kSubgroupBasic = 1;

enum StructureType : uint32_t {
  kApplicationInfo = 0,
  kInstanceCreateInfo = 1,
  kDeviceQueueCreateInfo = 2,
  kDeviceCreateInfo = 3,
  kSubmitInfo = 4,
  kMemoryAllocateInfo = 5,
  kSemaphoreCreateInfo = 9,
  kQueryPoolCreateInfo = 11,
  kBufferCreateInfo = 12,
  kShaderModuleCreateInfo = 16,
  kPipelineShaderStageCreateInfo = 18,
  kComputePipelineCreateInfo = 29,
  kPipelineLayoutCreateInfo = 30,
  kDescriptorSetLayoutCreateInfo = 32,
  kDescriptorPoolCreateInfo = 33,
  kDescriptorSetAllocateInfo = 34,
  kWriteDescriptorSet = 35,
  kCommandPoolCreateInfo = 39,
  kCommandBufferAllocateInfo = 40,
  kCommandBufferBeginInfo = 42,
  kMemoryBarrier = 46,
  kPhysicalDeviceFeatures2 = 1000059000,
  kPhysicalDeviceProperties2 = 1000059001,
  kMemoryAllocateFlagsInfo = 1000060000,
  kFloat16Int8Features = 1000082000,
  kStorage16BitFeatures = 1000083000,
  kSubgroupProperties = 1000094000,
  kMaintenance3Properties = 1000168000,
  kStorage8BitFeatures = 1000177000,
  kDriverProperties = 1000196000,
  kFloatControlsProperties = 1000197000,
  kTimelineSemaphoreFeatures = 1000207000,
  kSemaphoreTypeCreateInfo = 1000207002,
  kTimelineSemaphoreSubmitInfo = 1000207003,
  kSemaphoreWaitInfo = 1000207004,
  kBufferDeviceAddressInfo = 1000244001,
  kBufferDeviceAddressFeatures = 1000257000,
};

// ---- Instances and devices ----

struct ApplicationInfo {
  StructureType type = kApplicationInfo;
  const void* next = nullptr;
  const char* application_name = nullptr;
  uint32_t application_version = 0;
  const char* engine_name = nullptr;
  uint32_t engine_version = 0;
  uint32_t api_version = 0;
};

struct InstanceCreateInfo {
  StructureType type = kInstanceCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  const ApplicationInfo* application_info = nullptr;
  uint32_t enabled_layer_count = 0;
  const char* const* enabled_layers = nullptr;
  uint32_t enabled_extension_count = 0;
  const char* const* enabled_extensions = nullptr;
};

// Those that nobody asks about are `unused`.
struct PhysicalDeviceLimits {
  uint32_t unused0[7];
  uint32_t max_storage_buffer_range;
  uint32_t max_push_constants_size;
  uint32_t max_memory_allocation_count;
  uint32_t unused1[9];
  uint32_t max_per_stage_descriptor_storage_buffers;
  uint32_t unused2[34];
  uint32_t max_compute_shared_memory_size;
  uint32_t max_compute_work_group_count[3];
  uint32_t max_compute_work_group_invocations;
  uint32_t max_compute_work_group_size[3];
  uint64_t unused3[22];
  float timestamp_period;
  uint32_t unused4[19];
};

struct PhysicalDeviceProperties2 {
  StructureType type = kPhysicalDeviceProperties2;
  void* next = nullptr;
  uint32_t api_version = 0;
  uint32_t driver_version = 0;
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  uint32_t device_type = 0;
  char device_name[256] = {};
  uint8_t pipeline_cache_uuid[16] = {};
  PhysicalDeviceLimits limits = {};
  Bool sparse_properties[5] = {};
};

struct DriverProperties {
  StructureType type = kDriverProperties;
  void* next = nullptr;
  uint32_t driver_id = 0;
  char driver_name[256] = {};
  char driver_info[256] = {};
  uint8_t conformance_version[4] = {};
};

struct SubgroupProperties {
  StructureType type = kSubgroupProperties;
  void* next = nullptr;
  uint32_t subgroup_size = 0;
  Flags supported_stages = 0;
  Flags supported_operations = 0;
  Bool quad_operations_in_all_stages = 0;
};

struct Maintenance3Properties {
  StructureType type = kMaintenance3Properties;
  void* next = nullptr;
  uint32_t max_per_set_descriptors = 0;
  Size max_memory_allocation_size = 0;
};

// Three of each, for float16, float32 and float64.
struct FloatControlsProperties {
  StructureType type = kFloatControlsProperties;
  void* next = nullptr;
  uint32_t denorm_behavior_independence = 0;
  uint32_t rounding_mode_independence = 0;
  Bool signed_zero_inf_nan_preserve[3] = {};
  Bool denorm_preserve[3] = {};
  Bool denorm_flush_to_zero[3] = {};
  Bool rounding_mode_rte[3] = {};
  Bool rounding_mode_rtz[3] = {};
};

struct PhysicalDeviceFeatures2 {
  StructureType type = kPhysicalDeviceFeatures2;
  void* next = nullptr;
  Bool unused0[39] = {};
  Bool shader_float64 = 0;
  Bool shader_int64 = 0;
  Bool shader_int16 = 0;
  Bool unused1[13] = {};
};

struct Float16Int8Features {
  StructureType type = kFloat16Int8Features;
  void* next = nullptr;
  Bool shader_float16 = 0;
  Bool shader_int8 = 0;
};

struct Storage16BitFeatures {
  StructureType type = kStorage16BitFeatures;
  void* next = nullptr;
  Bool storage_buffer = 0;
  Bool uniform_and_storage_buffer = 0;
  Bool push_constant = 0;
  Bool input_output = 0;
};

struct Storage8BitFeatures {
  StructureType type = kStorage8BitFeatures;
  void* next = nullptr;
  Bool storage_buffer = 0;
  Bool uniform_and_storage_buffer = 0;
  Bool push_constant = 0;
};

struct TimelineSemaphoreFeatures {
  StructureType type = kTimelineSemaphoreFeatures;
  void* next = nullptr;
  Bool timeline_semaphore = 0;
};

struct BufferDeviceAddressFeatures {
  StructureType type = kBufferDeviceAddressFeatures;
  void* next = nullptr;
  Bool buffer_device_address = 0;
  Bool capture_replay = 0;
  Bool multi_device = 0;
};

struct QueueFamilyProperties {
  Flags flags = 0;
  uint32_t count = 0;
  uint32_t timestamp_valid_bits = 0;
  uint32_t min_image_transfer_granularity[3] = {};
};

struct MemoryType {
  Flags flags;
  uint32_t heap;
};

struct MemoryHeap {
  Size size;
  Flags flags;
};

struct PhysicalDeviceMemoryProperties {
  uint32_t type_count = 0;
  MemoryType types[32] = {};
  uint32_t heap_count = 0;
  MemoryHeap heaps[16] = {};
};

struct DeviceQueueCreateInfo {
  StructureType type = kDeviceQueueCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  uint32_t family = 0;
  uint32_t count = 0;
  const float* priorities = nullptr;
};

struct DeviceCreateInfo {
  StructureType type = kDeviceCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  uint32_t queue_count = 0;
  const DeviceQueueCreateInfo* queues = nullptr;
  uint32_t enabled_layer_count = 0;
  const char* const* enabled_layers = nullptr;
  uint32_t enabled_extension_count = 0;
  const char* const* enabled_extensions = nullptr;
  const void* enabled_features = nullptr;
};

// ---- Memory ----

struct BufferCreateInfo {
  StructureType type = kBufferCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  Size size = 0;
  Flags usage = 0;
  uint32_t sharing_mode = 0;  // exclusive
  uint32_t family_count = 0;
  const uint32_t* families = nullptr;
};

struct MemoryRequirements {
  Size size = 0;
  Size alignment = 0;
  uint32_t type_bits = 0;
};

struct MemoryAllocateInfo {
  StructureType type = kMemoryAllocateInfo;
  const void* next = nullptr;
  Size size = 0;
  uint32_t memory_type = 0;
};

struct MemoryAllocateFlagsInfo {
  StructureType type = kMemoryAllocateFlagsInfo;
  const void* next = nullptr;
  Flags flags = 0;
  uint32_t device_mask = 0;
};

struct BufferDeviceAddressInfo {
  StructureType type = kBufferDeviceAddressInfo;
  const void* next = nullptr;
  Handle buffer = 0;
};

struct BufferCopy {
  Size src_offset;
  Size dst_offset;
  Size size;
};

// ---- Pipelines ----

struct ShaderModuleCreateInfo {
  StructureType type = kShaderModuleCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  size_t code_size = 0;
  const uint32_t* code = nullptr;
};

struct DescriptorSetLayoutBinding {
  uint32_t binding;
  uint32_t descriptor_type;
  uint32_t descriptor_count;
  Flags stages;
  const Handle* immutable_samplers;
};

struct DescriptorSetLayoutCreateInfo {
  StructureType type = kDescriptorSetLayoutCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  uint32_t binding_count = 0;
  const DescriptorSetLayoutBinding* bindings = nullptr;
};

struct PushConstantRange {
  Flags stages;
  uint32_t offset;
  uint32_t size;
};

struct PipelineLayoutCreateInfo {
  StructureType type = kPipelineLayoutCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  uint32_t set_layout_count = 0;
  const Handle* set_layouts = nullptr;
  uint32_t push_constant_range_count = 0;
  const PushConstantRange* push_constant_ranges = nullptr;
};

struct SpecializationMapEntry {
  uint32_t constant_id;
  uint32_t offset;
  size_t size;
};

struct SpecializationInfo {
  uint32_t entry_count = 0;
  const SpecializationMapEntry* entries = nullptr;
  size_t data_size = 0;
  const void* data = nullptr;
};

struct PipelineShaderStageCreateInfo {
  StructureType type = kPipelineShaderStageCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  Flags stage = 0;
  Handle module = 0;
  const char* name = nullptr;
  const SpecializationInfo* specialization = nullptr;
};

struct ComputePipelineCreateInfo {
  StructureType type = kComputePipelineCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  PipelineShaderStageCreateInfo stage;
  Handle layout = 0;
  Handle base_pipeline = 0;
  int32_t base_pipeline_index = 0;
};

struct DescriptorPoolSize {
  uint32_t type;
  uint32_t count;
};

struct DescriptorPoolCreateInfo {
  StructureType type = kDescriptorPoolCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  uint32_t max_sets = 0;
  uint32_t pool_size_count = 0;
  const DescriptorPoolSize* pool_sizes = nullptr;
};

struct DescriptorSetAllocateInfo {
  StructureType type = kDescriptorSetAllocateInfo;
  const void* next = nullptr;
  Handle pool = 0;
  uint32_t set_count = 0;
  const Handle* layouts = nullptr;
};

struct DescriptorBufferInfo {
  Handle buffer;
  Size offset;
  Size range;
};

struct WriteDescriptorSet {
  StructureType type = kWriteDescriptorSet;
  const void* next = nullptr;
  Handle set = 0;
  uint32_t binding = 0;
  uint32_t array_element = 0;
  uint32_t descriptor_count = 0;
  uint32_t descriptor_type = 0;
  const void* image_info = nullptr;
  const DescriptorBufferInfo* buffer_info = nullptr;
  const Handle* texel_buffer_view = nullptr;
};

// ---- Commands ----

struct CommandPoolCreateInfo {
  StructureType type = kCommandPoolCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  uint32_t family = 0;
};

struct CommandBufferAllocateInfo {
  StructureType type = kCommandBufferAllocateInfo;
  const void* next = nullptr;
  Handle pool = 0;
  uint32_t level = 0;  // primary
  uint32_t count = 0;
};

struct CommandBufferBeginInfo {
  StructureType type = kCommandBufferBeginInfo;
  const void* next = nullptr;
  Flags flags = 0;
  const void* inheritance = nullptr;
};

struct MemoryBarrier {
  StructureType type = kMemoryBarrier;
  const void* next = nullptr;
  Flags src_access = 0;
  Flags dst_access = 0;
};

struct SemaphoreTypeCreateInfo {
  StructureType type = kSemaphoreTypeCreateInfo;
  const void* next = nullptr;
  uint32_t semaphore_type = 0;
  uint64_t initial_value = 0;
};

struct SemaphoreCreateInfo {
  StructureType type = kSemaphoreCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
};

struct TimelineSemaphoreSubmitInfo {
  StructureType type = kTimelineSemaphoreSubmitInfo;
  const void* next = nullptr;
  uint32_t wait_value_count = 0;
  const uint64_t* wait_values = nullptr;
  uint32_t signal_value_count = 0;
  const uint64_t* signal_values = nullptr;
};

struct SubmitInfo {
  StructureType type = kSubmitInfo;
  const void* next = nullptr;
  uint32_t wait_count = 0;
  const Handle* waits = nullptr;
  const Flags* wait_stages = nullptr;
  uint32_t command_buffer_count = 0;
  const CommandBuffer* command_buffers = nullptr;
  uint32_t signal_count = 0;
  const Handle* signals = nullptr;
};

struct SemaphoreWaitInfo {
  StructureType type = kSemaphoreWaitInfo;
  const void* next = nullptr;
  Flags flags = 0;
  uint32_t count = 0;
  const Handle* semaphores = nullptr;
  const uint64_t* values = nullptr;
};

struct QueryPoolCreateInfo {
  StructureType type = kQueryPoolCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  uint32_t query_type = 0;
  uint32_t query_count = 0;
  Flags statistics = 0;
};

// ---- Functions ----

using Allocator = const void*;  // always null

// X(name, result, parameters...). Those that there are without an instance:
#define TERN_VULKAN_GLOBAL_FUNCTIONS(X) \
  X(CreateInstance, Result, const InstanceCreateInfo*, Allocator, Instance*)

#define TERN_VULKAN_FUNCTIONS(X)                                                                  \
  X(EnumeratePhysicalDevices, Result, Instance, uint32_t*, PhysicalDevice*)                       \
  X(GetPhysicalDeviceProperties2, void, PhysicalDevice, PhysicalDeviceProperties2*)               \
  X(GetPhysicalDeviceFeatures2, void, PhysicalDevice, PhysicalDeviceFeatures2*)                   \
  X(GetPhysicalDeviceQueueFamilyProperties, void, PhysicalDevice, uint32_t*,                      \
    QueueFamilyProperties*)                                                                       \
  X(GetPhysicalDeviceMemoryProperties, void, PhysicalDevice, PhysicalDeviceMemoryProperties*)     \
  X(CreateDevice, Result, PhysicalDevice, const DeviceCreateInfo*, Allocator, Device*)            \
  X(GetDeviceQueue, void, Device, uint32_t, uint32_t, Queue*)                                     \
  X(CreateBuffer, Result, Device, const BufferCreateInfo*, Allocator, Handle*)                    \
  X(DestroyBuffer, void, Device, Handle, Allocator)                                               \
  X(GetBufferMemoryRequirements, void, Device, Handle, MemoryRequirements*)                       \
  X(AllocateMemory, Result, Device, const MemoryAllocateInfo*, Allocator, Handle*)                \
  X(FreeMemory, void, Device, Handle, Allocator)                                                  \
  X(BindBufferMemory, Result, Device, Handle, Handle, Size)                                       \
  X(GetBufferDeviceAddress, uint64_t, Device, const BufferDeviceAddressInfo*)                     \
  X(MapMemory, Result, Device, Handle, Size, Size, Flags, void**)                                 \
  X(CreateShaderModule, Result, Device, const ShaderModuleCreateInfo*, Allocator, Handle*)        \
  X(DestroyShaderModule, void, Device, Handle, Allocator)                                         \
  X(CreateDescriptorSetLayout, Result, Device, const DescriptorSetLayoutCreateInfo*, Allocator,   \
    Handle*)                                                                                      \
  X(DestroyDescriptorSetLayout, void, Device, Handle, Allocator)                                  \
  X(CreatePipelineLayout, Result, Device, const PipelineLayoutCreateInfo*, Allocator, Handle*)    \
  X(DestroyPipelineLayout, void, Device, Handle, Allocator)                                       \
  X(CreateComputePipelines, Result, Device, Handle, uint32_t, const ComputePipelineCreateInfo*,   \
    Allocator, Handle*)                                                                           \
  X(DestroyPipeline, void, Device, Handle, Allocator)                                             \
  X(CreateDescriptorPool, Result, Device, const DescriptorPoolCreateInfo*, Allocator, Handle*)    \
  X(DestroyDescriptorPool, void, Device, Handle, Allocator)                                       \
  X(ResetDescriptorPool, Result, Device, Handle, Flags)                                           \
  X(AllocateDescriptorSets, Result, Device, const DescriptorSetAllocateInfo*, Handle*)            \
  X(UpdateDescriptorSets, void, Device, uint32_t, const WriteDescriptorSet*, uint32_t,            \
    const void*)                                                                                  \
  X(CreateCommandPool, Result, Device, const CommandPoolCreateInfo*, Allocator, Handle*)          \
  X(AllocateCommandBuffers, Result, Device, const CommandBufferAllocateInfo*, CommandBuffer*)     \
  X(BeginCommandBuffer, Result, CommandBuffer, const CommandBufferBeginInfo*)                     \
  X(EndCommandBuffer, Result, CommandBuffer)                                                      \
  X(CmdPipelineBarrier, void, CommandBuffer, Flags, Flags, Flags, uint32_t, const MemoryBarrier*, \
    uint32_t, const void*, uint32_t, const void*)                                                 \
  X(CmdBindPipeline, void, CommandBuffer, uint32_t, Handle)                                       \
  X(CmdBindDescriptorSets, void, CommandBuffer, uint32_t, Handle, uint32_t, uint32_t,             \
    const Handle*, uint32_t, const uint32_t*)                                                     \
  X(CmdPushConstants, void, CommandBuffer, Handle, Flags, uint32_t, uint32_t, const void*)        \
  X(CmdDispatch, void, CommandBuffer, uint32_t, uint32_t, uint32_t)                               \
  X(CmdCopyBuffer, void, CommandBuffer, Handle, Handle, uint32_t, const BufferCopy*)              \
  X(CmdResetQueryPool, void, CommandBuffer, Handle, uint32_t, uint32_t)                           \
  X(CmdWriteTimestamp, void, CommandBuffer, Flags, Handle, uint32_t)                              \
  X(QueueSubmit, Result, Queue, uint32_t, const SubmitInfo*, Handle)                              \
  X(CreateSemaphore, Result, Device, const SemaphoreCreateInfo*, Allocator, Handle*)              \
  X(WaitSemaphores, Result, Device, const SemaphoreWaitInfo*, uint64_t)                           \
  X(GetSemaphoreCounterValue, Result, Device, Handle, uint64_t*)                                  \
  X(CreateQueryPool, Result, Device, const QueryPoolCreateInfo*, Allocator, Handle*)              \
  X(DestroyQueryPool, void, Device, Handle, Allocator)                                            \
  X(GetQueryPoolResults, Result, Device, Handle, uint32_t, uint32_t, size_t, void*, Size, Flags)

using GetInstanceProcAddr = VoidFunction (*)(Instance, const char*);

// The driver's functions, without their prefix "vk".
struct Functions {
#define TERN_VULKAN_DECLARE(name, result, ...) result (*name)(__VA_ARGS__) = nullptr;
  TERN_VULKAN_GLOBAL_FUNCTIONS(TERN_VULKAN_DECLARE)
  TERN_VULKAN_FUNCTIONS(TERN_VULKAN_DECLARE)
#undef TERN_VULKAN_DECLARE
};

}  // namespace tern::backend::vulkan::vk

#endif  // TERN_BACKEND_VULKAN_RUNTIME_VULKAN_ABI_H_
