// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/hexagon/codegen/kind.h"

#include "tern/target/attr_checks.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/print_call.h"

namespace tern::backend::hexagon {
namespace {

// A vector register full of integers, or a bit for each of its elements.
bool FillsRegister(DataType dtype) {
  return dtype.is_integer() && !dtype.is_bool() && dtype.bits() <= 32 &&
         int64_t{dtype.lanes()} * dtype.bits() == kVectorBytes * 8;
}
bool IsMask(DataType dtype) {
  return dtype.is_bool() && (dtype.lanes() == 32 || dtype.lanes() == 64 || dtype.lanes() == 128);
}

bool TakesOperand(const ir::Expr& operand) { return FillsRegister(operand.dtype()); }

bool TakesVectorCall(const ir::CallNode* call) {
  return FillsRegister(call->dtype) &&
         (call->name.starts_with("bit_") || call->name.starts_with("shift_")) &&
         TakesOperand(call->args[0]);
}

// Where neighbours are next to each other.
bool TakesAccess(const ir::BufferLoadNode* load) {
  const auto* ramp = load->indices.back().As<ir::RampNode>();
  return ramp && ir::IsConst(ramp->stride, 1) && FillsRegister(load->dtype);
}

// Comparisons, whose operands are of one type.
template <ir::ExprKind... kKinds>
bool ComparesRegisters(const ir::Expr& expr) {
  auto takes = [&](const auto* node) { return node && TakesOperand(node->a); };
  return (takes(expr.As<ir::BinaryNode<kKinds>>()) || ...);
}

// What HVX has instructions for, on whole registers.
bool TakesVector(const ir::Expr& expr) {
  using ir::ExprKind;
  ExprKind kind = expr->kind;
  if (kind == ExprKind::kRamp) return true;  // an index
  if (kind == ExprKind::kBufferLoad) return TakesAccess(expr.As<ir::BufferLoadNode>());
  if (const auto* call = expr.As<ir::CallNode>()) return TakesVectorCall(call);
  if (const auto* select = expr.As<ir::SelectNode>())
    return FillsRegister(expr.dtype()) && IsMask(select->condition.dtype());
  if (const auto* cast = expr.As<ir::CastNode>())
    return FillsRegister(expr.dtype()) && TakesOperand(cast->value);
  if (IsMask(expr.dtype()))
    return ComparesRegisters<ExprKind::kEQ, ExprKind::kNE, ExprKind::kLT, ExprKind::kLE,
                             ExprKind::kGT, ExprKind::kGE>(expr);
  bool computes = kind == ExprKind::kAdd || kind == ExprKind::kSub || kind == ExprKind::kMul ||
                  kind == ExprKind::kMin || kind == ExprKind::kMax ||
                  kind == ExprKind::kBroadcast || kind == ExprKind::kVar;
  return computes && FillsRegister(expr.dtype());
}

}  // namespace

int64_t HvxBytes(const target::Target& target) { return std::stoll(target->GetString("hvx")); }

target::TargetKind HexagonKind() {
  target::TargetKind kind;
  kind.name = "hexagon";
  kind.role = target::Role::kDevice;
  kind.description = "Hexagon DSPs with HVX, through LLVM: a shared object, run by an executor";
  kind.module_kind = "hexagon";
  kind.device = "hexagon";
  kind.device_type = kDeviceTypeHexagon;
  kind.has_addresses = true;
  kind.takes_vector = TakesVector;
  kind.machine = [](const target::Target&) {
    return target::Machine{.vector_bytes = kVectorBytes};
  };
  kind.pointer_bytes = [](const target::Target&) { return int64_t{4}; };
  kind.final_passes = {"narrow_indices"};
  kind.takes_call = [](const ir::CallNode* call) { return call->name != tir::intrinsic::kPrint; };
  kind.attrs["mcpu"] =
      target::OneOf("mcpu", "v67", {"v65", "v66", "v67", "v68", "v69", "v71", "v73", "v75"},
                    "the version of the instruction set");
  kind.attrs["hvx"] =
      target::OneOf("hvx", "128", {"0", "64", "128"}, "bytes of a vector register; 0: no HVX");
  kind.attrs["max_threads"] = target::IntInRange(
      "max_threads", 128, 1, 4096, "iterations of a block of the generic schedule, run in turn");
  kind.tags = {{"qualcomm/hexagon-v65", "hexagon -mcpu=v65"},
               {"qualcomm/hexagon-v68", "hexagon -mcpu=v68"},
               {"qualcomm/hexagon-v73", "hexagon -mcpu=v73"},
               {"qualcomm/hexagon-v75", "hexagon -mcpu=v75"}};
  return kind;
}

}  // namespace tern::backend::hexagon
