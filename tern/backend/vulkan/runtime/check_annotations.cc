// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/runtime/check_annotations.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tern::backend::vulkan {
namespace {

using spirv::Decoration;
using spirv::Op;
using spirv::StorageClass;

struct Annotations {
  std::map<Decoration, uint32_t> values;  // the first number, or 0
};

void CheckNumbers(const Instruction& it, Decoration decoration, size_t count, uint32_t value) {
  bool has_value = decoration == Decoration::kSpecId || decoration == Decoration::kArrayStride ||
                   decoration == Decoration::kBuiltIn || decoration == Decoration::kBinding ||
                   decoration == Decoration::kDescriptorSet || decoration == Decoration::kOffset;
  Require(count == (has_value ? 1 : 0), it, "it has another number of operands");
  Require(decoration != Decoration::kBuiltIn || IsKnown('B', value), it, "no such input");
  Require(decoration != Decoration::kDescriptorSet || value == 0, it, "there is set 0 alone");
}

bool IsWorkgroupSize(uint32_t built_in) {
  return built_in == static_cast<uint32_t>(spirv::BuiltIn::kWorkgroupSize);
}

void CheckTarget(const Instruction& it, Decoration decoration, const Instruction& target) {
  bool holds = true;
  switch (decoration) {
    case Decoration::kSpecId:
      holds = target.op == Op::kSpecConstant;
      break;
    case Decoration::kBlock:
      holds = target.op == Op::kTypeStruct;
      break;
    case Decoration::kArrayStride:
      holds = target.op == Op::kTypeRuntimeArray;
      break;
    case Decoration::kBuiltIn:
      holds = target.op ==
              (IsWorkgroupSize(it.numbers.back()) ? Op::kSpecConstantComposite : Op::kVariable);
      break;
    case Decoration::kBinding:
    case Decoration::kDescriptorSet:
    case Decoration::kAliased:
    case Decoration::kNonWritable:
      holds = target.op == Op::kVariable;
      break;
    case Decoration::kNoContraction:
      holds = IsFloatArithmetic(target.op);
      break;
    case Decoration::kOffset:
    case Decoration::kCoherent:
      holds = false;
      break;
  }
  Require(holds, it, "it is said of something else");
}

// That memory has a place and a layout.
void CheckMemory(const Module& module, const Instruction& it, std::map<uint32_t, Annotations>* of,
                 const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& offsets) {
  auto has = [&](uint32_t id, Decoration decoration) {
    return (*of)[id].values.contains(decoration);
  };
  if (it.op == Op::kTypeRuntimeArray) {
    const Instruction& element = module.Get(it, it.ids[0]);
    Require(has(it.result, Decoration::kArrayStride) &&
                (*of)[it.result].values[Decoration::kArrayStride] == Bits(element) / 8,
            it, "its stride is not the size of its elements");
  }
  if (it.op == Op::kTypeStruct) {
    Require(has(it.result, Decoration::kBlock), it, "it should be a block");
    uint64_t end = 0;
    for (uint32_t i = 0; i < it.ids.size(); ++i) {
      auto offset = offsets.find({it.result, i});
      Require(offset != offsets.end() && offset->second >= end && offset->second % 4 == 0, it,
              "a member has no place of its own");
      const Instruction& type = module.Get(it, it.ids[i]);
      bool is_number = IsInt(type) || IsFloat(type);
      end = offset->second + (is_number ? Bits(type) / 8 : sizeof(uint64_t));
    }
    constexpr uint64_t kMost = 1 << 16;
    Require(end <= kMost, it, "it is too large");
  }
  if (it.op != Op::kVariable) return;
  const Instruction& pointee = module.Get(it, module.Get(it, it.type).ids[0]);
  auto storage = static_cast<StorageClass>(it.numbers[0]);
  if (storage == StorageClass::kStorageBuffer)
    Require(has(it.result, Decoration::kBinding) && has(it.result, Decoration::kDescriptorSet), it,
            "it has no binding");
  if (storage == StorageClass::kStorageBuffer || storage == StorageClass::kPushConstant)
    Require(pointee.op == Op::kTypeStruct, it, "it should be a block");
  if (storage == StorageClass::kInput) {
    Require(has(it.result, Decoration::kBuiltIn), it, "it is no input of a kernel");
    bool is_lane = (*of)[it.result].values[Decoration::kBuiltIn] ==
                   static_cast<uint32_t>(spirv::BuiltIn::kSubgroupLocalInvocationId);
    bool is_vector = pointee.op == Op::kTypeVector && pointee.numbers[0] == 3;
    const Instruction& word = is_vector ? module.Get(it, pointee.ids[0]) : pointee;
    Require(is_vector != is_lane && IsInt(word) && Bits(word) == 32, it,
            "the input has another type");
  }
  if (storage == StorageClass::kFunction || storage == StorageClass::kWorkgroup)
    Require(IsScalar(pointee) || pointee.op == Op::kTypeArray, it, "no such memory");
}

}  // namespace

void CheckAnnotations(const Module& module) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> offsets;  // by structure and member
  std::map<uint32_t, Annotations> of;
  size_t entries = 0, models = 0, sizes = 0, functions = 0;
  for (const Instruction& it : module.code()) {
    switch (it.op) {
      case Op::kEntryPoint:
        ++entries;
        Require(module.Get(it, it.ids[0]).op == Op::kFunction, it, "it names no function");
        for (size_t i = 1; i < it.ids.size(); ++i) {
          const Instruction& input = module.Get(it, it.ids[i]);
          Require(input.op == Op::kVariable && input.numbers[0] == Number(StorageClass::kInput), it,
                  "its interface should be inputs");
        }
        break;
      case Op::kFunction:
        ++functions;
        break;
      case Op::kMemoryModel:
        ++models;
        break;
      case Op::kExecutionMode: {
        Require(module.Get(it, it.ids[0]).op == Op::kFunction, it, "it names no function");
        bool is_size = it.numbers[0] == static_cast<uint32_t>(spirv::ExecutionMode::kLocalSize);
        Require(it.numbers.size() == (is_size ? 4 : 2), it, "it has another number of operands");
        sizes += is_size;
        Require(!is_size || std::count(it.numbers.begin(), it.numbers.end(), 0u) == 0, it,
                "a block without threads");
        Require(is_size || it.numbers[1] == 16 || it.numbers[1] == 32 || it.numbers[1] == 64, it,
                "there is no such float");
        break;
      }
      case Op::kName:
        module.Get(it, it.ids[0]);
        break;
      case Op::kDecorate: {
        auto decoration = static_cast<Decoration>(it.numbers[0]);
        CheckNumbers(it, decoration, it.numbers.size() - 1, it.numbers.back());
        CheckTarget(it, decoration, module.Get(it, it.ids[0]));
        of[it.ids[0]].values[decoration] = it.numbers.back();
        sizes += decoration == Decoration::kBuiltIn && IsWorkgroupSize(it.numbers.back());
        break;
      }
      case Op::kMemberDecorate: {
        auto decoration = static_cast<Decoration>(it.numbers[1]);
        CheckNumbers(it, decoration, it.numbers.size() - 2, it.numbers.back());
        const Instruction& type = module.Get(it, it.ids[0]);
        Require(type.op == Op::kTypeStruct && it.numbers[0] < type.ids.size(), it,
                "there is no such member");
        if (decoration == Decoration::kOffset) offsets[{it.ids[0], it.numbers[0]}] = it.numbers[2];
        break;
      }
      default:
        break;
    }
  }
  if (entries != 1 || models != 1 || functions != 1 || sizes != 1)
    Fail("expected one memory model, entry point, size of blocks and function");
  for (const Instruction& it : module.code()) CheckMemory(module, it, &of, offsets);
}

}  // namespace tern::backend::vulkan
