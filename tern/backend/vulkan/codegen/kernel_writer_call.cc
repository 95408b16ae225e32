// SPDX-License-Identifier: Apache-2.0
//
// Calls of KernelWriter.
#include <map>

#include "tern/backend/vulkan/codegen/kernel_writer.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/analysis/warp_size.h"
#include "tern/tir/intrinsics.h"

namespace tern::backend::vulkan {

using spirv::Capability;
using spirv::Op;
namespace intrinsic = tir::intrinsic;

Id KernelWriter::EmitNode(const ir::CallNode* node) {
  if (node->name == ir::kIfThenElse) return EmitIfThenElse(node);
  if (node->name == intrinsic::kReinterpret) {
    Id value = Emit(node->args[0]);
    return Reinterpret(value, node->args[0].dtype(), node->dtype);
  }
  if (Id value = EmitBitOperator(node)) return value;
  if (Id value = EmitMath(node)) return value;
  if (Id value = EmitWarpOperation(node)) return value;
  TERN_CHECK(false) << "kernel " << function_->name << " calls " << node->name << ", for which "
                    << target_->kind->name << " has no code";
  return 0;
}

Id KernelWriter::EmitBitOperator(const ir::CallNode* node) {
  static const std::map<std::string, Op> kOperators = {
      {"bit_and", Op::kBitwiseAnd},          {"bit_or", Op::kBitwiseOr},
      {"bit_xor", Op::kBitwiseXor},          {"bit_not", Op::kNot},
      {"shift_left", Op::kShiftLeftLogical}, {"shift_right", Op::kShiftRightLogical}};
  auto it = kOperators.find(node->name);
  if (it == kOperators.end()) return 0;
  Words operands;
  for (const ir::Expr& arg : node->args) operands.push_back(Emit(arg));
  DataType dtype = node->dtype;
  Op op = it->second;
  if (op == Op::kShiftRightLogical && dtype.is_int()) op = Op::kShiftRightArithmetic;
  return Wrap(builder_.Emit({op, RegisterType(dtype), operands}), dtype);
}

// What is exact, or as exact as the arithmetic itself.
Id KernelWriter::EmitMath(const ir::CallNode* node) {
  using spirv::Glsl;
  static const std::map<std::string, Glsl> kFunctions = {
      {"sqrt", Glsl::kSqrt}, {"floor", Glsl::kFloor},     {"ceil", Glsl::kCeil},
      {"abs", Glsl::kFAbs},  {"round", Glsl::kRoundEven}, {"trunc", Glsl::kTrunc}};
  DataType dtype = node->dtype;
  if (auto it = kFunctions.find(node->name); it != kFunctions.end() && dtype.is_float()) {
    Id value = Emit(node->args[0]);
    return builder_.EmitGlsl(it->second, RegisterType(dtype), {value});
  }
  if (node->name == "copysign") {
    Id value = Emit(node->args[0]), sign = Emit(node->args[1]), type = RegisterType(dtype);
    Id positive = builder_.EmitGlsl(Glsl::kFAbs, type, {value});
    Id negative = builder_.Emit({Op::kFNegate, type, {positive}});
    DataType integer = DataType::Int(dtype.bits());
    Id bits = Reinterpret(sign, dtype, integer), zero = ConstantOf(integer, 0);
    Id is_negative = Compare(ir::ExprKind::kLT, integer, bits, zero);
    return builder_.Emit({Op::kSelect, type, {is_negative, negative, positive}});
  }
  if (node->name != "popcount" && node->name != "clz") return 0;
  TERN_ICHECK(dtype.bits() == 32) << node->name << " of " << dtype.str();
  Id value = Emit(node->args[0]), type = RegisterType(dtype);
  if (node->name == "popcount") return builder_.Emit({Op::kBitCount, type, {value}});
  Id highest = builder_.EmitGlsl(Glsl::kFindUMsb, type, {value});  // -1 where no bit is set
  return builder_.Emit({Op::kISub, type, {builder_.Constant(32, 31), highest}});
}

// ---- Warps are subgroups ----

Id KernelWriter::LaneIndex() {
  builder_.Require(Capability::kGroupNonUniform);
  Id word = builder_.Int(32);
  if (!lane_input_) {
    lane_input_ = builder_.InputVariable(spirv::BuiltIn::kSubgroupLocalInvocationId, word);
    builder_.Name(lane_input_, "lane");
  }
  return builder_.Emit({Op::kLoad, word, {lane_input_}});
}

// The lane that a value comes from: the own one where the warp has no such lane.
Id KernelWriter::SourceLane(const std::string& name, Id own, Id number) {
  Id word = builder_.Int(32);
  Op op = name == intrinsic::kWarpShuffleXor  ? Op::kBitwiseXor
          : name == intrinsic::kWarpShuffleUp ? Op::kISub
                                              : Op::kIAdd;
  Id other = builder_.Emit({op, word, {own, number}});
  // What is below the first lane is a large number.
  Id size = builder_.Constant(32, static_cast<uint64_t>(tir::WarpSizeOf(function_)));
  Id exists = builder_.Emit({Op::kULessThan, builder_.Bool(), {other, size}});
  return builder_.Emit({Op::kSelect, word, {exists, other, own}});
}

// Words are exchanged; what is wider goes in two of them.
Id KernelWriter::ShuffleWord(Id value, Id lane) {
  builder_.Require(Capability::kGroupNonUniformShuffle);
  Id scope = builder_.Constant(32, static_cast<uint64_t>(spirv::Scope::kSubgroup));
  return builder_.Emit({Op::kGroupNonUniformShuffle, builder_.Int(32), {scope, value, lane}});
}

Id KernelWriter::Shuffle(Id value, DataType dtype, Id lane) {
  if (dtype.is_bool()) {
    Id number = ShuffleWord(BoolToInt(value, 32), lane);
    return builder_.Emit({Op::kINotEqual, builder_.Bool(), {number, builder_.Constant(32, 0)}});
  }
  DataType bits = DataType::UInt(dtype.bits());
  if (dtype.is_float()) value = Reinterpret(value, dtype, bits);
  if (dtype.bits() == 64) {
    Id wide = builder_.Int(64), shift = builder_.Constant(32, 32);
    Id high = builder_.Emit({Op::kShiftRightLogical, wide, {value, shift}});
    Id low = Resize(ShuffleWord(Resize(value, 64, 32, false), lane), 32, 64, false);
    high = Resize(ShuffleWord(Resize(high, 64, 32, false), lane), 32, 64, false);
    high = builder_.Emit({Op::kShiftLeftLogical, wide, {high, shift}});
    value = builder_.Emit({Op::kBitwiseOr, wide, {low, high}});
  } else {
    value = ShuffleWord(value, lane);
  }
  return dtype.is_float() ? Reinterpret(value, bits, dtype) : value;
}

Id KernelWriter::EmitWarpOperation(const ir::CallNode* node) {
  bool is_index = node->name == intrinsic::kLaneIndex;
  if (!is_index && !tir::IsWarpOperation(node)) return 0;
  NoteWarps();
  if (is_index) return Resize(LaneIndex(), 32, RegisterBits(node->dtype), false);
  Id value = Emit(node->args[0]);
  Id scope = builder_.Constant(32, static_cast<uint64_t>(spirv::Scope::kSubgroup));
  if (node->name == intrinsic::kWarpAny || node->name == intrinsic::kWarpAll) {
    builder_.Require(Capability::kGroupNonUniformVote);
    Op op = node->name == intrinsic::kWarpAny ? Op::kGroupNonUniformAny : Op::kGroupNonUniformAll;
    return builder_.Emit({op, builder_.Bool(), {scope, value}});
  }
  if (node->name == intrinsic::kWarpBallot) {
    builder_.Require(Capability::kGroupNonUniformBallot);
    Id word = builder_.Int(32), wide = RegisterType(node->dtype);
    Id words =
        builder_.Emit({Op::kGroupNonUniformBallot, builder_.Vector(word, 4), {scope, value}});
    Id low = Resize(builder_.Emit({Op::kCompositeExtract, word, {words, 0}}), 32, 64, false);
    Id high = Resize(builder_.Emit({Op::kCompositeExtract, word, {words, 1}}), 32, 64, false);
    high = builder_.Emit({Op::kShiftLeftLogical, wide, {high, builder_.Constant(32, 32)}});
    return builder_.Emit({Op::kBitwiseOr, wide, {low, high}});
  }
  Id number = Resize(Emit(node->args[1]), RegisterBits(node->args[1].dtype()), 32, false);
  Id lane =
      node->name == intrinsic::kWarpShuffle ? number : SourceLane(node->name, LaneIndex(), number);
  return Shuffle(value, node->dtype, lane);
}

// The module says how many lanes it counts on, for the runtime to see that the device has them.
void KernelWriter::NoteWarps() {
  if (has_warps_) return;
  has_warps_ = true;
  int64_t warp = tir::WarpSizeOf(function_);
  TERN_CHECK(threads_ > 0 && threads_ % warp == 0)
      << "kernel " << function_->name << " exchanges values between the threads of a warp; "
      << target_->kind->name << " needs a constant number of threads for that, a multiple of "
      << warp << " in a block";
  Id size = builder_.SpecConstant(spirv::kWarpSizeSpecId, static_cast<uint32_t>(warp));
  builder_.Name(size, "warp_size");
}

}  // namespace tern::backend::vulkan
