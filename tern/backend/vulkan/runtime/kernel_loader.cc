// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "tern/backend/vulkan/common/spirv.h"
#include "tern/backend/vulkan/runtime/plugin.h"
#include "tern/backend/vulkan/runtime/shader.h"

namespace tern::backend::vulkan {
namespace {

using plugin::Guard;

constexpr int kDims = 3;
using BlockSize = std::array<uint32_t, kDims>;

// The scalars of a launch, as the module has them, and the buffers.
struct Arguments {
  std::vector<char> scalars;
  std::vector<std::pair<uint32_t, Buffer*>> buffers;  // by binding
};

void AppendScalar(std::vector<char>* bytes, const void* value, uint64_t size) {
  uint64_t room = std::max<uint64_t>(size, 4);
  size_t at = (bytes->size() + room - 1) / room * room;
  bytes->resize(at + room);
  std::memcpy(bytes->data() + at, value, size);
}

Arguments ReadArguments(const Shader& shader, const TernLaunch& launch) {
  Arguments arguments;
  for (int32_t i = 0; i < launch.num_args; ++i) {
    auto binding = static_cast<uint32_t>(i);
    bool is_bound = shader.bindings.contains(binding),
         has_address = shader.addresses.contains(binding);
    if (is_bound || has_address) {
      Buffer* buffer = nullptr;
      std::memcpy(&buffer, launch.args[i], sizeof(void*));
      if (!buffer) TERN_THROW(ValueError) << "argument " << i << " is a tensor without memory";
      if (is_bound)
        arguments.buffers.emplace_back(binding, buffer);
      else
        AppendScalar(&arguments.scalars, &buffer->address, sizeof buffer->address);
    } else {
      AppendScalar(&arguments.scalars, launch.args[i], launch.arg_sizes[i]);
    }
  }
  return arguments;
}

// A kernel on a device. Pipelines are made at the first launch with each size of a block.
class Kernel {
 public:
  Kernel(Device* device, const Shader* shader, vk::Handle module, const std::string& name)
      : device_(device), shader_(shader), module_(module), entry_(shader->EntryOf(name)) {
    const DeviceProperties& has = device->properties();
    if (has.loop_limit() > 0 && shader->loop_steps > has.loop_limit())
      TERN_THROW(RuntimeError) << "kernel " << name << " has loops of " << shader->loop_steps
                               << " iterations in total in a thread; the driver of "
                               << device->name() << ", " << has.driver.driver_name
                               << ", ends all loops of a thread after " << has.loop_limit()
                               << ": a schedule with more threads has fewer in each";
  }
  Kernel(const Kernel&) = delete;
  ~Kernel() {
    for (const auto& [block, pipeline] : pipelines_)
      Vk().DestroyPipeline(device_->handle(), pipeline, nullptr);
    Vk().DestroyPipelineLayout(device_->handle(), layout_, nullptr);
    Vk().DestroyDescriptorSetLayout(device_->handle(), set_layout_, nullptr);
    if (too_many_steps_) device_->Retire(too_many_steps_);
  }

  void Launch(const TernLaunch& launch) {
    CheckLimits(launch);
    if (!shader_->loop_limit_id) return Launch(launch, ReadArguments(*shader_, launch));
    Arguments arguments = ReadArguments(*shader_, launch);
    arguments.buffers.emplace_back(static_cast<uint32_t>(launch.num_args) + 1, TooManySteps());
    if (LoopLimit(launch) == 0) return Launch(launch, std::move(arguments));
    // One at a time, for they share what they write to.
    std::lock_guard lock(steps_mutex_);
    Launch(launch, std::move(arguments));
    device_->Wait(device_->last_submitted());
    auto* flag = static_cast<uint32_t*>(too_many_steps_->mapped);
    if (std::exchange(*flag, 0) != 0)
      TERN_THROW(RuntimeError) << "the results may be wrong: the loops of a thread have more than "
                               << LoopLimit(launch) << " iterations in total; the driver of "
                               << device_->name() << ", "
                               << device_->properties().driver.driver_name
                               << ", ends all loops of the threads that it runs at once after "
                               << device_->properties().loop_limit()
                               << ": a schedule with more threads has fewer in each";
  }

 private:
  void Launch(const TernLaunch& launch, Arguments arguments) {
    auto num_args = static_cast<uint32_t>(launch.num_args);
    // Beyond what push constants take, the scalars are in a buffer.
    Buffer* scalars = nullptr;
    if (shader_->bindings.contains(num_args)) {
      scalars = device_->Allocate(arguments.scalars.size(), /*host_visible=*/true);
      std::memcpy(scalars->mapped, arguments.scalars.data(), arguments.scalars.size());
      arguments.buffers.emplace_back(num_args, scalars);
      arguments.scalars.clear();
    }
    try {
      Enqueue(launch, arguments);
    } catch (...) {
      if (scalars) device_->Retire(scalars);
      throw;
    }
    if (scalars) device_->Retire(scalars);
  }

  // Where invocations write that their loops have more iterations than the driver does.
  Buffer* TooManySteps() {
    std::lock_guard lock(mutex_);
    if (!too_many_steps_) {
      too_many_steps_ = device_->Allocate(sizeof(uint32_t), /*host_visible=*/true);
      std::memset(too_many_steps_->mapped, 0, sizeof(uint32_t));
    }
    return too_many_steps_;
  }

  // How many iterations an invocation may count, 0 for any number. The driver counts what any of
  // those that it runs at once, a subgroup, does: where they differ, that is at most as many times
  // what one does.
  uint32_t LoopLimit(const TernLaunch& launch) const {
    uint32_t limit = device_->properties().loop_limit();
    if (shader_->loop_limit_id != spirv::kLaneLoopLimitSpecId) return limit;
    uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    uint64_t lanes = std::min<uint64_t>(threads, device_->properties().subgroup.subgroup_size);
    return limit / static_cast<uint32_t>(std::max<uint64_t>(lanes, 1));
  }

  void Enqueue(const TernLaunch& launch, const Arguments& arguments) {
    vk::Handle pipeline = PipelineFor(launch, arguments);
    auto record = [&](vk::CommandBuffer commands, vk::Handle pool) {
      Vk().CmdBindPipeline(commands, vk::kBindCompute, pipeline);
      if (!arguments.buffers.empty()) {
        vk::Handle set = MakeSet(pool, arguments);
        Vk().CmdBindDescriptorSets(commands, vk::kBindCompute, layout_, 0, 1, &set, 0, nullptr);
      }
      if (!arguments.scalars.empty() && shader_->has_push_constants)
        Vk().CmdPushConstants(commands, layout_, vk::kStageCompute, 0,
                              static_cast<uint32_t>(arguments.scalars.size()),
                              arguments.scalars.data());
      auto [x, y, z] = Grid(launch);
      Vk().CmdDispatch(commands, x, y, z);
      vk::MemoryBarrier seen{.src_access = vk::kAccessWrite, .dst_access = vk::kAccessHostRead};
      if (shader_->loop_limit_id)
        Vk().CmdPipelineBarrier(commands, vk::kPipeAll, vk::kPipeHost, 0, 1, &seen, 0, nullptr, 0,
                                nullptr);
    };
    NoteSubmission(launch.stream,
                   device_->Submit(record, static_cast<uint32_t>(arguments.buffers.size())));
  }

  vk::Handle MakeSet(vk::Handle pool, const Arguments& arguments) {
    vk::DescriptorSetAllocateInfo info{.pool = pool, .set_count = 1, .layouts = &set_layout_};
    vk::Handle set = 0;
    Check(Vk().AllocateDescriptorSets(device_->handle(), &info, &set), "vkAllocateDescriptorSets");
    std::vector<vk::DescriptorBufferInfo> buffers;
    buffers.reserve(arguments.buffers.size());
    std::vector<vk::WriteDescriptorSet> writes;
    for (const auto& [binding, buffer] : arguments.buffers) {
      buffers.push_back({buffer->handle, 0, vk::kWholeSize});
      writes.push_back({.set = set,
                        .binding = binding,
                        .descriptor_count = 1,
                        .descriptor_type = vk::kDescriptorStorageBuffer,
                        .buffer_info = &buffers.back()});
    }
    Vk().UpdateDescriptorSets(device_->handle(), static_cast<uint32_t>(writes.size()),
                              writes.data(), 0, nullptr);
    return set;
  }

  vk::Handle PipelineFor(const TernLaunch& launch, const Arguments& arguments) {
    std::lock_guard lock(mutex_);
    BlockSize block{launch.block[0], launch.block[1], launch.block[2]};
    auto it = pipelines_.find(block);
    if (it != pipelines_.end()) return it->second;
    if (!layout_) MakeLayout(arguments);
    return pipelines_[block] = MakePipeline(block, LoopLimit(launch));
  }

  void MakeLayout(const Arguments& arguments) {
    std::vector<vk::DescriptorSetLayoutBinding> bindings;
    for (const auto& [binding, buffer] : arguments.buffers)
      bindings.push_back({binding, vk::kDescriptorStorageBuffer, 1, vk::kStageCompute, nullptr});
    vk::DescriptorSetLayoutCreateInfo set{.binding_count = static_cast<uint32_t>(bindings.size()),
                                          .bindings = bindings.data()};
    if (!set_layout_)
      Check(Vk().CreateDescriptorSetLayout(device_->handle(), &set, nullptr, &set_layout_),
            "vkCreateDescriptorSetLayout");
    vk::PushConstantRange range{vk::kStageCompute, 0,
                                static_cast<uint32_t>(arguments.scalars.size())};
    vk::PipelineLayoutCreateInfo info{
        .set_layout_count = 1,
        .set_layouts = &set_layout_,
        .push_constant_range_count = range.size > 0 && shader_->has_push_constants,
        .push_constant_ranges = &range};
    Check(Vk().CreatePipelineLayout(device_->handle(), &info, nullptr, &layout_),
          "vkCreatePipelineLayout");
  }

  vk::Handle MakePipeline(const BlockSize& block, uint32_t loop_limit) {
    // Constants that the module does not have are ignored: the size, where it says that itself.
    uint32_t values[kDims + 1] = {block[0], block[1], block[2], loop_limit};
    vk::SpecializationMapEntry entries[kDims + 1];
    for (uint32_t i = 0; i < kDims; ++i) entries[i] = {spirv::kBlockSpecIds[i], i * 4, 4};
    entries[kDims] = {shader_->loop_limit_id, kDims * 4, 4};
    uint32_t num_entries = shader_->loop_limit_id ? kDims + 1 : kDims;
    vk::SpecializationInfo specialization{num_entries, entries, sizeof values, values};
    vk::ComputePipelineCreateInfo info{.stage = {.stage = vk::kStageCompute,
                                                 .module = module_,
                                                 .name = entry_.c_str(),
                                                 .specialization = &specialization},
                                       .layout = layout_};
    vk::Handle pipeline = 0;
    Check(Vk().CreateComputePipelines(device_->handle(), 0, 1, &info, nullptr, &pipeline),
          "vkCreateComputePipelines");
    return pipeline;
  }

  // More blocks than axis x has lie in rows, where the module takes them so.
  std::array<uint32_t, kDims> Grid(const TernLaunch& launch) const {
    uint32_t most = device_->properties().limits().max_compute_work_group_count[0];
    uint32_t x = launch.grid[0], y = launch.grid[1];
    if (shader_->takes_rows && x > most && y == 1) {
      y = (x - 1) / most + 1;
      x = (x - 1) / y + 1;
    }
    return {x, y, launch.grid[2]};
  }

  // Drivers need not check; what is said here is which limit it was.
  void CheckLimits(const TernLaunch& launch) const {
    const vk::PhysicalDeviceLimits& limits = device_->properties().limits();
    uint64_t threads = 1;
    for (int i = 0; i < kDims; ++i) {
      Require("block axis", i, launch.block[i], limits.max_compute_work_group_size[i],
              "maxComputeWorkGroupSize");
      Require("grid axis", i, Grid(launch)[i], limits.max_compute_work_group_count[i],
              "maxComputeWorkGroupCount");
      threads *= launch.block[i];
      if (shader_->block[0] && shader_->block[i] != launch.block[i])
        TERN_THROW(ValueError) << "the module is for blocks of (" << shader_->block[0] << ", "
                               << shader_->block[1] << ", " << shader_->block[2] << ") threads";
    }
    if (threads > limits.max_compute_work_group_invocations)
      TERN_THROW(ValueError) << "the block has " << threads << " threads; " << device_->name()
                             << " allows " << limits.max_compute_work_group_invocations
                             << " (maxComputeWorkGroupInvocations)";
    if (launch.dynamic_shared_bytes > 0)
      TERN_THROW(ValueError) << "Vulkan has no shared memory of a size given at the launch";
    CheckArguments(launch, limits);
  }

  void CheckArguments(const TernLaunch& launch, const vk::PhysicalDeviceLimits& limits) const {
    CheckBindings(launch);
    uint64_t scalars = 0;
    for (int32_t i = 0; i < launch.num_args; ++i) {
      if (shader_->bindings.contains(static_cast<uint32_t>(i))) continue;
      uint64_t room = std::max<uint64_t>(launch.arg_sizes[i], 4);
      scalars = (scalars + room - 1) / room * room + room;
    }
    bool in_buffer = shader_->bindings.contains(static_cast<uint32_t>(launch.num_args));
    if (!in_buffer && scalars > limits.max_push_constants_size)
      TERN_THROW(ValueError) << "the scalars have " << scalars << " bytes; " << device_->name()
                             << " allows " << limits.max_push_constants_size
                             << " (maxPushConstantsSize): compile with -max_push_constants="
                             << limits.max_push_constants_size;
    if (!in_buffer && shader_->push_constant_bytes > scalars)
      TERN_THROW(ValueError) << "the module reads " << shader_->push_constant_bytes
                             << " bytes of scalars; the launch has " << scalars;
    if (shader_->bindings.size() > limits.max_per_stage_descriptor_storage_buffers)
      TERN_THROW(ValueError) << "the kernel has " << shader_->bindings.size() << " buffers; "
                             << device_->name() << " allows "
                             << limits.max_per_stage_descriptor_storage_buffers
                             << " (maxPerStageDescriptorStorageBuffers)";
  }

  // That what the module takes for tensors is memory: a number is no address.
  void CheckBindings(const TernLaunch& launch) const {
    auto num_args = static_cast<uint32_t>(launch.num_args);
    for (uint32_t binding : shader_->bindings) {
      bool is_extra = binding == num_args || (binding == num_args + 1 && shader_->loop_limit_id);
      if (!is_extra && (binding >= num_args || !launch.arg_is_memory[binding]))
        TERN_THROW(ValueError) << "the module has a buffer at binding " << binding
                               << ", but argument " << binding << " is no tensor";
    }
    for (uint32_t address : shader_->addresses)
      if (address >= num_args || !launch.arg_is_memory[address])
        TERN_THROW(ValueError) << "the module takes argument " << address
                               << " for an address, but it is no tensor";
  }

  void Require(const char* what, int axis, uint32_t size, uint32_t limit, const char* name) const {
    if (size > limit)
      TERN_THROW(ValueError) << what << " " << "xyz"[axis] << " has " << size << "; "
                             << device_->name() << " allows " << limit << " (" << name << ")";
  }

  Device* device_;
  const Shader* shader_;
  vk::Handle module_;
  std::string entry_;
  std::mutex mutex_;
  vk::Handle set_layout_ = 0, layout_ = 0;
  std::map<BlockSize, vk::Handle> pipelines_;
  std::mutex steps_mutex_;
  Buffer* too_many_steps_ = nullptr;
};

// One module per blob: a whole program, or one kernel's code.
class Program {
 public:
  explicit Program(Device* device) : device_(device) {}
  Program(const Program&) = delete;
  ~Program() {
    device_->Wait(device_->last_submitted());  // pipelines may be in use
    kernels_.clear();
    for (const auto& [name, part] : parts_)
      Vk().DestroyShaderModule(device_->handle(), part.module, nullptr);
  }

  void Add(const TernBlob& blob) {
    auto shader = std::make_unique<Shader>(std::string_view(blob.data, blob.size));
    shader->CheckDevice(*device_);
    vk::ShaderModuleCreateInfo info{.code_size = shader->code.size() * 4,
                                    .code = shader->code.data()};
    vk::Handle module = 0;
    Check(Vk().CreateShaderModule(device_->handle(), &info, nullptr, &module),
          "vkCreateShaderModule");
    parts_[blob.name] = {std::move(shader), module};
  }

  Kernel* Get(const std::string& name) {
    auto it = kernels_.find(name);
    if (it != kernels_.end()) return it->second.get();
    auto part = parts_.find(name);
    if (part == parts_.end()) part = parts_.find("");
    if (part == parts_.end())
      TERN_THROW(ValueError) << "the program has no code for kernel " << name;
    auto kernel =
        std::make_unique<Kernel>(device_, part->second.shader.get(), part->second.module, name);
    return kernels_.emplace(name, std::move(kernel)).first->second.get();
  }

 private:
  struct Part {
    std::unique_ptr<Shader> shader;
    vk::Handle module = 0;
  };
  Device* device_;
  std::map<std::string, Part> parts_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

int Load(int32_t device_id, const char* fmt, const TernBlob* blobs, int32_t num_blobs, void** out) {
  return Guard([&] {
    if (std::strcmp(fmt, "spv") != 0)
      TERN_THROW(ValueError) << "the vulkan runtime does not take programs in format " << fmt
                             << ": spv is legal";
    auto program = std::make_unique<Program>(&Driver::Get().device(device_id));
    for (int32_t i = 0; i < num_blobs; ++i) program->Add(blobs[i]);
    *out = program.release();
  });
}

void Unload(void* program) {
  Guard([&] { delete static_cast<Program*>(program); });
}

int GetKernel(void* program, const char* name, void** out) {
  return Guard([&] { *out = static_cast<Program*>(program)->Get(name); });
}

int Launch(void* kernel, const TernLaunch* launch) {
  return Guard([&] { static_cast<Kernel*>(kernel)->Launch(*launch); });
}

}  // namespace

const TernKernelLoader kKernelLoader = {
    .size = sizeof(TernKernelLoader),
    .version = TERN_PLUGIN_API_VERSION,
    .load = Load,
    .unload = Unload,
    .get_kernel = GetKernel,
    .launch = Launch,
};

}  // namespace tern::backend::vulkan
