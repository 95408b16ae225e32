// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <map>

#include "codegen/codegen_emu.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/visitor.h"
#include "tern/tir/intrinsics.h"

namespace emu {

using namespace tern;
using ir::ExprKind;

namespace {

const std::map<std::string, Op>& CallOps() {
  static const std::map<std::string, Op> ops = {{"shift_left", Op::kShiftLeft},
                                                {"shift_right", Op::kShiftRight},
                                                {"bit_and", Op::kBitAnd},
                                                {"bit_or", Op::kBitOr},
                                                {"bit_xor", Op::kBitXor},
                                                {"bit_not", Op::kBitNot},
                                                {"sqrt", Op::kSqrt},
                                                {"emu.mac", Op::kMac}};
  return ops;
}

struct BinaryOp {
  Op op;
  bool swapped = false;
};

constexpr BinaryOp OpOf(ExprKind kind) {
  switch (kind) {
    case ExprKind::kAdd:
      return {Op::kAdd};
    case ExprKind::kSub:
      return {Op::kSub};
    case ExprKind::kMul:
      return {Op::kMul};
    case ExprKind::kDiv:
    case ExprKind::kTruncDiv:
      return {Op::kDiv};
    case ExprKind::kTruncMod:
      return {Op::kMod};
    case ExprKind::kFloorDiv:
      return {Op::kFloorDiv};
    case ExprKind::kFloorMod:
      return {Op::kFloorMod};
    case ExprKind::kMin:
      return {Op::kMin};
    case ExprKind::kMax:
      return {Op::kMax};
    case ExprKind::kEQ:
      return {Op::kEq};
    case ExprKind::kNE:
      return {Op::kNe};
    case ExprKind::kLT:
      return {Op::kLt};
    case ExprKind::kLE:
      return {Op::kLe};
    case ExprKind::kGT:
      return {Op::kLt, true};
    default:
      return {Op::kLe, true};  // kGE
  }
}

}  // namespace

KernelWriter::Register KernelWriter::Value(const Expr& expr) {
  return ir::DispatchExpr(expr.get(), [&](auto* node) { return ValueOf(node); });
}

void KernelWriter::MoveTo(Register target, const Expr& value) {
  Scope scope(*this);
  Register a = Value(value);
  Emit({Op::kMove, {}, {}, 0, target, a});
}

template <class T>
KernelWriter::Register KernelWriter::ValueOf(const T* node) {
  throw Error("InternalError", node->span.str() + ": no such expression comes to kernels");
}

KernelWriter::Register KernelWriter::ValueOf(const ir::IntImmNode* node) {
  return EmitConst(static_cast<uint64_t>(node->value));
}

KernelWriter::Register KernelWriter::ValueOf(const ir::FloatImmNode* node) {
  if (node->dtype == DataType::Float(64)) return EmitConst(std::bit_cast<uint64_t>(node->value));
  return EmitConst(std::bit_cast<uint32_t>(static_cast<float>(node->value)));
}

KernelWriter::Register KernelWriter::ValueOf(const ir::VarNode* node) {
  return registers_.at(node);
}

template <ExprKind K>
KernelWriter::Register KernelWriter::ValueOf(const ir::BinaryNode<K>* node) {
  if constexpr (K == ExprKind::kAnd) return Choice(node->a, node->b, ir::MakeConst(node->dtype, 0));
  if constexpr (K == ExprKind::kOr) return Choice(node->a, ir::MakeConst(node->dtype, 1), node->b);
  Register d = NewRegister();
  Scope scope(*this);
  auto [op, swapped] = OpOf(K);
  Register a = Value(node->a), b = Value(node->b);
  if (swapped) std::swap(a, b);
  Emit({op, TypeOf(node->a.dtype()), {}, 0, d, a, b});
  return d;
}

KernelWriter::Register KernelWriter::ValueOf(const ir::NotNode* node) {
  Register d = NewRegister(), a = Value(node->a);
  Emit({Op::kNot, Type::kBool, {}, 0, d, a});
  return d;
}

KernelWriter::Register KernelWriter::ValueOf(const ir::SelectNode* node) {
  Register d = NewRegister();
  Scope scope(*this);
  Register a = Value(node->condition), b = Value(node->true_value), c = Value(node->false_value);
  Emit({Op::kSelect, TypeOf(node->dtype), {}, 0, d, a, b, c});
  return d;
}

KernelWriter::Register KernelWriter::ValueOf(const ir::CastNode* node) {
  Register d = NewRegister(), a = Value(node->value);
  Emit({Op::kCast, TypeOf(node->value.dtype()), TypeOf(node->dtype), 0, d, a});
  return d;
}

KernelWriter::Register KernelWriter::ValueOf(const ir::LetNode* node) {
  registers_[node->var.node()] = Value(node->value);
  return Value(node->body);
}

KernelWriter::Register KernelWriter::ValueOf(const ir::BufferLoadNode* node) {
  Register d = NewRegister();
  Scope scope(*this);
  Register a = Value(node->buffer->data), b = Value(node->indices[0]);
  Emit({Op::kLoad, TypeOf(node->dtype), {}, 0, d, a, b});
  return d;
}

KernelWriter::Register KernelWriter::Choice(const Expr& condition, const Expr& yes,
                                            const Expr& no) {
  Register d = NewRegister();
  size_t skip = Emit({Op::kJumpUnless, {}, {}, 0, 0, Value(condition)});
  MoveTo(d, yes);
  size_t leave = Emit({Op::kJump});
  Land(skip);
  MoveTo(d, no);
  Land(leave);
  return d;
}

KernelWriter::Register KernelWriter::ValueOf(const ir::CallNode* node) {
  if (node->name == ir::kIfThenElse) return Choice(node->args[0], node->args[1], node->args[2]);
  Register d = NewRegister();
  Scope scope(*this);
  Register operands[3] = {};
  TERN_CHECK(node->args.size() <= 3)
      << node->span.str() << ": no call of " << node->name << " on this device";
  for (size_t i = 0; i < node->args.size(); ++i) operands[i] = Value(node->args[i]);
  Type type = TypeOf(node->args[0].dtype());
  Instruction instruction = {{}, type, {}, 0, d, operands[0], operands[1], operands[2]};
  if (node->name == tir::intrinsic::kReinterpret) {
    instruction.op = Op::kReinterpret;
    instruction.to = TypeOf(node->dtype);
  } else {
    auto it = CallOps().find(node->name);
    TERN_CHECK(it != CallOps().end())
        << node->span.str() << ": no call of " << node->name << " on this device";
    instruction.op = it->second;
  }
  Emit(instruction);
  return d;
}

}  // namespace emu
