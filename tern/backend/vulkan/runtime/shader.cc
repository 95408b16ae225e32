// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/runtime/shader.h"

#include <algorithm>
#include <cstring>

#include "tern/backend/vulkan/common/spirv.h"
#include "tern/backend/vulkan/runtime/check_module.h"
#include "tern/backend/vulkan/runtime/spirv_tools.h"

namespace tern::backend::vulkan {

using spirv::Capability;
using spirv::ExecutionMode;
using spirv::Op;

namespace {

constexpr size_t kHeaderWords = 5;

// A text in words; its length in bytes is at most theirs.
std::string TextIn(const uint32_t* words, uint32_t count) {
  std::string text;
  for (uint32_t i = 0; i < count * 4; ++i) {
    char c = static_cast<char>(words[i / 4] >> i % 4 * 8 & 0xff);
    if (c == 0) break;
    text += c;
  }
  return text;
}

bool IsClass(uint32_t number, spirv::StorageClass storage) {
  return number == static_cast<uint32_t>(storage);
}

int FloatIndex(uint32_t bits) { return bits == 16 ? 0 : bits == 32 ? 1 : 2; }

}  // namespace

Shader::Shader(std::string_view bytes) : code(bytes.size() / 4) {
  if (bytes.size() % 4 != 0 || code.size() < kHeaderWords)
    TERN_THROW(ValueError) << "no SPIR-V module: " << bytes.size() << " bytes";
  std::memcpy(code.data(), bytes.data(), bytes.size());
  CheckModule(code);
  ValidateWithSpirvTools(code);
  for (size_t at = kHeaderWords; at < code.size(); at += code[at] >> 16)
    Read(code[at] & 0xffff, code.data() + at + 1, (code[at] >> 16) - 1);
}

void Shader::Read(uint32_t op, const uint32_t* operands, uint32_t count) {
  switch (static_cast<Op>(op)) {
    case Op::kCapability:
      if (count >= 1) capabilities_.insert(operands[0]);
      break;
    case Op::kEntryPoint:
      if (count >= 3) entries.push_back(TextIn(operands + 2, count - 2));
      break;
    case Op::kExecutionMode:
      if (count == 5 && operands[1] == static_cast<uint32_t>(ExecutionMode::kLocalSize))
        std::copy(operands + 2, operands + 5, block.begin());
      else if (count == 3)
        float_modes_.emplace(operands[1], operands[2]);
      break;
    case Op::kDecorate:
      if (count == 3 && operands[1] == static_cast<uint32_t>(spirv::Decoration::kBinding))
        bindings.insert(operands[2]);
      takes_rows |= count == 3 &&
                    operands[1] == static_cast<uint32_t>(spirv::Decoration::kBuiltIn) &&
                    operands[2] == static_cast<uint32_t>(spirv::BuiltIn::kNumWorkgroups);
      if (count == 3 && operands[1] == static_cast<uint32_t>(spirv::Decoration::kSpecId))
        spec_ids_[operands[0]] = operands[2];
      break;
    case Op::kSpecConstant:
      if (count >= 3 && spec_ids_.contains(operands[1]))
        ReadSpecConstant(spec_ids_[operands[1]], operands[2]);
      break;
    case Op::kMemberDecorate:
      if (count == 4 && operands[2] == static_cast<uint32_t>(spirv::Decoration::kOffset))
        offsets_[{operands[0], operands[1]}] = operands[3];
      break;
    case Op::kTypeStruct:
      for (uint32_t i = 1; i < count; ++i) {
        if (pointers_.contains(operands[i])) addresses.insert(i - 1);
        uint64_t end = uint64_t{offsets_[{operands[0], i - 1}]} + sizes_[operands[i]];
        sizes_[operands[0]] = std::max(sizes_[operands[0]], end);
      }
      break;
    case Op::kVariable:
      if (count < 3) break;
      if (IsClass(operands[2], spirv::StorageClass::kPushConstant)) {
        has_push_constants = true;
        push_constant_bytes = sizes_[pointees_[operands[0]]];
      }
      if (IsClass(operands[2], spirv::StorageClass::kWorkgroup))
        shared_bytes += sizes_[pointees_[operands[0]]];
      break;
    default:
      ReadType(static_cast<Op>(op), operands, count);
      break;
  }
}

void Shader::ReadSpecConstant(uint32_t spec_id, uint32_t value) {
  if (spec_id == spirv::kWarpSizeSpecId) warp_size = value;
  if (spec_id == spirv::kLoopStepsSpecId) loop_steps = value;
  if (spec_id == spirv::kLoopLimitSpecId || spec_id == spirv::kLaneLoopLimitSpecId)
    loop_limit_id = spec_id;
}

void Shader::ReadType(Op op, const uint32_t* operands, uint32_t count) {
  if (count < 2) return;
  switch (op) {
    case Op::kTypeInt:
    case Op::kTypeFloat:
      sizes_[operands[0]] = operands[1] / 8;
      break;
    case Op::kConstant:
      if (count == 3) constants_[operands[1]] = operands[2];
      break;
    case Op::kTypeVector:
      if (count == 3) sizes_[operands[0]] = sizes_[operands[1]] * operands[2];
      break;
    case Op::kTypeArray:
      if (count == 3) sizes_[operands[0]] = sizes_[operands[1]] * constants_[operands[2]];
      break;
    case Op::kTypePointer:
      if (count != 3) break;
      if (IsClass(operands[1], spirv::StorageClass::kPhysicalStorageBuffer)) {
        pointers_.insert(operands[0]);
        sizes_[operands[0]] = sizeof(uint64_t);
      }
      pointees_[operands[0]] = operands[2];
      break;
    default:
      break;
  }
}

const std::string& Shader::EntryOf(const std::string& kernel) const {
  auto it = std::find(entries.begin(), entries.end(), kernel);
  if (it != entries.end()) return *it;
  if (entries.size() != 1)
    TERN_THROW(RuntimeError) << "the module has " << entries.size()
                             << " entry points, none of them for kernel " << kernel;
  return entries[0];
}

void Shader::CheckDevice(const Device& device) const {
  const DeviceProperties& has = device.properties();
  struct Need {
    Capability capability;
    bool is_there;
    const char* feature;
    const char* attribute;
  };
  vk::Flags operations =
      has.subgroup.supported_stages & vk::kStageCompute ? has.subgroup.supported_operations : 0;
  const Need needs[] = {
      {Capability::kFloat16, has.arithmetic.shader_float16 != 0, "shaderFloat16", "-float16=0"},
      {Capability::kFloat64, has.features.shader_float64 != 0, "shaderFloat64", "-float64=0"},
      {Capability::kInt64, has.features.shader_int64 != 0, "shaderInt64", "-int64=0"},
      {Capability::kInt16, has.features.shader_int16 != 0, "shaderInt16", "-int16=0"},
      {Capability::kInt8, has.arithmetic.shader_int8 != 0, "shaderInt8", "-int8=0"},
      {Capability::kStorageBuffer16BitAccess, has.storage16.storage_buffer != 0,
       "storageBuffer16BitAccess", "-storage16=0"},
      {Capability::kStorageBuffer8BitAccess, has.storage8.storage_buffer != 0,
       "storageBuffer8BitAccess", "-storage8=0"},
      {Capability::kPhysicalStorageBufferAddresses, has.addresses.buffer_device_address != 0,
       "bufferDeviceAddress", "-addresses=0"},
      {Capability::kGroupNonUniformVote, (operations & vk::kSubgroupVote) != 0,
       "votes of subgroups", "no -warp_size"},
      {Capability::kGroupNonUniformBallot, (operations & vk::kSubgroupBallot) != 0,
       "ballots of subgroups", "no -warp_size"},
      {Capability::kGroupNonUniformShuffle, (operations & vk::kSubgroupShuffle) != 0,
       "shuffles of subgroups", "no -warp_size"},
  };
  auto refuse = [&](const std::string& what, const char* attribute) {
    TERN_THROW(RuntimeError) << device.name() << " (" << has.core.device_name << ") has no " << what
                             << ", which the module needs; compile it with " << attribute;
  };
  for (const Need& need : needs)
    if (!need.is_there && capabilities_.contains(static_cast<uint32_t>(need.capability)))
      refuse(need.feature, need.attribute);
  for (const auto& [mode, bits] : float_modes_) {
    int i = FloatIndex(bits);
    bool is_there = mode == static_cast<uint32_t>(ExecutionMode::kSignedZeroInfNanPreserve)
                        ? has.float_controls.signed_zero_inf_nan_preserve[i]
                    : mode == static_cast<uint32_t>(ExecutionMode::kRoundingModeRTE)
                        ? has.float_controls.rounding_mode_rte[i]
                    : mode == static_cast<uint32_t>(ExecutionMode::kDenormPreserve)
                        ? has.float_controls.denorm_preserve[i]
                        : true;
    if (!is_there) refuse("control of float" + std::to_string(bits), "-float_controls=0");
  }
  if (shared_bytes > has.limits().max_compute_shared_memory_size)
    TERN_THROW(RuntimeError) << device.name() << " (" << has.core.device_name << ") has "
                             << has.limits().max_compute_shared_memory_size
                             << " bytes of shared memory (maxComputeSharedMemorySize); the module "
                                "needs "
                             << shared_bytes;
  if (warp_size && warp_size != has.subgroup.subgroup_size)
    TERN_THROW(RuntimeError) << device.name() << " (" << has.core.device_name
                             << ") has subgroups of " << has.subgroup.subgroup_size
                             << "; the module was compiled for warp_size=" << warp_size;
}

}  // namespace tern::backend::vulkan
