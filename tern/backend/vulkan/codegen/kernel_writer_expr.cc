// SPDX-License-Identifier: Apache-2.0
//
// Expressions of KernelWriter.
#include <cmath>
#include <cstring>
#include <limits>

#include "tern/backend/vulkan/codegen/kernel_writer.h"
#include "tern/ir/visitor.h"

namespace tern::backend::vulkan {

using ir::ExprKind;
using spirv::Op;

namespace {

Op FloatComparison(ExprKind kind) {
  switch (kind) {
    case ExprKind::kEQ:
      return Op::kFOrdEqual;
    case ExprKind::kNE:
      return Op::kFUnordNotEqual;  // NaN differs from everything
    case ExprKind::kLT:
      return Op::kFOrdLessThan;
    case ExprKind::kLE:
      return Op::kFOrdLessThanEqual;
    case ExprKind::kGT:
      return Op::kFOrdGreaterThan;
    default:
      return Op::kFOrdGreaterThanEqual;
  }
}

Op IntComparison(ExprKind kind, bool is_signed) {
  switch (kind) {
    case ExprKind::kEQ:
      return Op::kIEqual;
    case ExprKind::kNE:
      return Op::kINotEqual;
    case ExprKind::kLT:
      return is_signed ? Op::kSLessThan : Op::kULessThan;
    case ExprKind::kLE:
      return is_signed ? Op::kSLessThanEqual : Op::kULessThanEqual;
    case ExprKind::kGT:
      return is_signed ? Op::kSGreaterThan : Op::kUGreaterThan;
    default:
      return is_signed ? Op::kSGreaterThanEqual : Op::kUGreaterThanEqual;
  }
}

bool IsComparison(ExprKind kind) { return kind >= ExprKind::kEQ && kind <= ExprKind::kGE; }

}  // namespace

// ---- Types and constants ----

Id KernelWriter::RegisterType(DataType dtype) {
  TERN_ICHECK(dtype.is_scalar()) << dtype.str() << " was not lowered: vectors are made of scalars";
  if (dtype.is_bool()) return builder_.Bool();
  if (dtype.is_integer()) {
    if (dtype.bits() == 64) Need("int64", "computes with " + dtype.str());
    return builder_.Int(RegisterBits(dtype));
  }
  TERN_ICHECK(dtype.code() == kTernTypeFloat) << dtype.str() << " as a value in a kernel";
  if (dtype.bits() == 64) Need("float64", "computes with " + dtype.str());
  return builder_.Float(dtype.bits());
}

Id KernelWriter::ConstantOf(DataType dtype, int64_t value) {
  if (dtype.is_bool()) return builder_.ConstantBool(value != 0);
  RegisterType(dtype);
  auto bits = static_cast<uint64_t>(value);
  return builder_.Constant(RegisterBits(dtype), dtype.bits() == 64 ? bits : bits & 0xffffffff);
}

Id KernelWriter::EmitNode(const ir::IntImmNode* node) {
  return ConstantOf(node->dtype, node->value);
}

Id KernelWriter::EmitNode(const ir::FloatImmNode* node) {
  RegisterType(node->dtype);
  if (node->dtype.bits() == 16)
    return builder_.ConstantFloat(16, NarrowFloat(node->dtype, static_cast<float>(node->value)));
  if (node->dtype.bits() == 64) {
    uint64_t bits = 0;
    std::memcpy(&bits, &node->value, sizeof bits);
    return builder_.ConstantFloat(64, bits);
  }
  auto value = static_cast<float>(node->value);
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return builder_.ConstantFloat(32, bits);
}

Id KernelWriter::EmitNode(const ir::StringImmNode* node) {
  TERN_ICHECK(false) << "the text \"" << node->value << "\" in a kernel";
  return 0;
}

Id KernelWriter::EmitNode(const ir::VarNode* node) {
  auto it = values_.find(node);
  TERN_ICHECK(it != values_.end()) << "variable " << node->name << " has no value";
  return it->second;
}

Id KernelWriter::Emit(const ir::Expr& expr) {
  return ir::DispatchExpr(expr.get(), [this](auto* node) { return EmitNode(node); });
}

Id KernelWriter::EmitNode(const ir::LetNode* node) {
  Bind(node->var, Emit(node->value));
  return Emit(node->body);
}

Id KernelWriter::EmitNode(const ir::BufferLoadNode* node) {
  TERN_ICHECK(node->indices.size() == 1) << node->buffer->name << " is not flat";
  Id index = EmitIndex(node->indices[0]);
  return Load(MemoryOf(node->buffer), index, node->dtype);
}

Id KernelWriter::EmitNode(const ir::RampNode* node) { return RegisterType(node->dtype); }
Id KernelWriter::EmitNode(const ir::BroadcastNode* node) { return RegisterType(node->dtype); }

// Of scalars one of them is taken.
Id KernelWriter::EmitNode(const ir::ShuffleNode* node) {
  RegisterType(node->dtype);
  return Emit(node->vectors.at(static_cast<size_t>(node->indices.at(0))));
}

// ---- Operators ----

Id KernelWriter::EmitBinary(ExprKind kind, const ir::Expr& a, const ir::Expr& b) {
  if (Id value = EmitWithZero(kind, a, b)) return value;
  Id first = Emit(a), second = Emit(b);
  DataType dtype = a.dtype();
  if (IsComparison(kind)) return Compare(kind, dtype, first, second);
  return dtype.is_float() ? FloatBinary(kind, dtype, first, second)
                          : IntBinary(kind, dtype, first, second);
}

// Products with a constant zero, and quotients by one, are what lavapipe takes to be 0, whatever
// the other operand is. Here they are the same in every bit.
Id KernelWriter::EmitWithZero(ExprKind kind, const ir::Expr& a, const ir::Expr& b) {
  const auto *first = a.As<ir::FloatImmNode>(), *second = b.As<ir::FloatImmNode>();
  DataType dtype = b.dtype();
  if (kind == ExprKind::kDiv && second && second->value == 0)
    return EmitBinary(ExprKind::kMul, a, ir::FloatImmNode::Make(dtype, 1 / second->value));
  if (kind != ExprKind::kMul || dtype.bits() < 32) return 0;
  if (first && first->value == 0) std::swap(first, second);
  if (!second || second->value != 0) return 0;
  // NaN where the other one is not finite, else a zero with the product of the signs.
  DataType bits = DataType::UInt(dtype.bits());
  auto number = [&](uint64_t value) { return ConstantOf(bits, static_cast<int64_t>(value)); };
  uint64_t sign = uint64_t{1} << (bits.bits() - 1);
  uint64_t infinity = bits.bits() == 64 ? 0x7ff0000000000000 : 0x7f800000;
  uint64_t nan = bits.bits() == 64 ? 0x7ff8000000000000 : 0x7fc00000;
  Id type = RegisterType(bits);
  Id value = Reinterpret(Emit(second == b.get() ? a : b), dtype, bits);
  Id zero = builder_.Emit({Op::kBitwiseAnd, type, {value, number(sign)}});
  if (std::signbit(second->value))
    zero = builder_.Emit({Op::kBitwiseXor, type, {zero, number(sign)}});
  Id exponent = builder_.Emit({Op::kBitwiseAnd, type, {value, number(infinity)}});
  Id is_huge = Compare(ExprKind::kEQ, bits, exponent, number(infinity));
  Id result = builder_.Emit({Op::kSelect, type, {is_huge, number(nan), zero}});
  return Reinterpret(result, bits, dtype);
}

Id KernelWriter::Compare(ExprKind kind, DataType dtype, Id a, Id b) {
  if (dtype.is_bool() && (kind == ExprKind::kEQ || kind == ExprKind::kNE))
    return builder_.Emit({kind == ExprKind::kEQ ? Op::kLogicalEqual : Op::kLogicalNotEqual,
                          builder_.Bool(),
                          {a, b}});
  if (dtype.is_bool()) {
    a = BoolToInt(a, 32);
    b = BoolToInt(b, 32);
  }
  Op op = dtype.is_float() ? FloatComparison(kind) : IntComparison(kind, dtype.is_int());
  return builder_.Emit({op, builder_.Bool(), {a, b}});
}

// A product and a sum are two operations, each rounded (docs/numerics.md).
Id KernelWriter::FloatBinary(ExprKind kind, DataType dtype, Id a, Id b) {
  Id type = RegisterType(dtype);
  auto exact = [&](Op op) {
    Id value = builder_.Emit({op, type, {a, b}});
    builder_.Decorate(value, spirv::Decoration::kNoContraction);
    return value;
  };
  switch (kind) {
    case ExprKind::kAdd:
      return exact(Op::kFAdd);
    case ExprKind::kSub:
      return exact(Op::kFSub);
    case ExprKind::kMul:
      return exact(Op::kFMul);
    case ExprKind::kDiv:
      return exact(Op::kFDiv);
    default: {
      TERN_ICHECK(kind == ExprKind::kMin || kind == ExprKind::kMax)
          << "operator " << static_cast<int>(kind) << " on floats";
      Op op = kind == ExprKind::kMin ? Op::kFOrdLessThan : Op::kFOrdGreaterThan;
      Id first = builder_.Emit({op, builder_.Bool(), {a, b}});
      return builder_.Emit({Op::kSelect, type, {first, a, b}});
    }
  }
}

Id KernelWriter::IntBinary(ExprKind kind, DataType dtype, Id a, Id b) {
  Id type = RegisterType(dtype);
  bool is_signed = dtype.is_int();
  switch (kind) {
    case ExprKind::kAdd:
      return Wrap(builder_.Emit({Op::kIAdd, type, {a, b}}), dtype);
    case ExprKind::kSub:
      return Wrap(builder_.Emit({Op::kISub, type, {a, b}}), dtype);
    case ExprKind::kMul:
      return Wrap(builder_.Emit({Op::kIMul, type, {a, b}}), dtype);
    case ExprKind::kMin:
    case ExprKind::kMax: {
      ExprKind order = kind == ExprKind::kMin ? ExprKind::kLT : ExprKind::kGT;
      Id first = builder_.Emit({IntComparison(order, is_signed), builder_.Bool(), {a, b}});
      return builder_.Emit({Op::kSelect, type, {first, a, b}});
    }
    default:
      if (is_signed) return Divide(kind, dtype, a, b);
      bool is_div = kind == ExprKind::kTruncDiv || kind == ExprKind::kFloorDiv;
      return builder_.Emit({is_div ? Op::kUDiv : Op::kUMod, type, {a, b}});
  }
}

// Of signed numbers. Vulkan leaves the remainder of negative ones undefined, so it is computed from
// the quotient.
Id KernelWriter::Divide(ExprKind kind, DataType dtype, Id a, Id b) {
  Id type = RegisterType(dtype), truth = builder_.Bool();
  Id quotient = builder_.Emit({Op::kSDiv, type, {a, b}});
  if (kind == ExprKind::kTruncDiv) return Wrap(quotient, dtype);
  Id whole = builder_.Emit({Op::kIMul, type, {quotient, b}});
  Id remainder = builder_.Emit({Op::kISub, type, {a, whole}});
  if (kind == ExprKind::kTruncMod) return remainder;
  // Rounded down: one less where there is a remainder, of another sign than the divisor.
  Id zero = ConstantOf(dtype, 0);
  Id signs = builder_.Emit({Op::kBitwiseXor, type, {remainder, b}});
  Id differ = builder_.Emit({Op::kSLessThan, truth, {signs, zero}});
  Id some = builder_.Emit({Op::kINotEqual, truth, {remainder, zero}});
  Id adjust = builder_.Emit({Op::kLogicalAnd, truth, {some, differ}});
  bool is_div = kind == ExprKind::kFloorDiv;
  Id step = is_div ? ConstantOf(dtype, -1) : b;
  Id change = builder_.Emit({Op::kSelect, type, {adjust, step, zero}});
  return Wrap(builder_.Emit({Op::kIAdd, type, {is_div ? quotient : remainder, change}}), dtype);
}

Id KernelWriter::EmitNode(const ir::AndNode* node) { return ShortCircuit(node->a, node->b, true); }
Id KernelWriter::EmitNode(const ir::OrNode* node) { return ShortCircuit(node->a, node->b, false); }

// `b` is evaluated where `a` does not decide, or where evaluating it does no harm.
Id KernelWriter::ShortCircuit(const ir::Expr& a, const ir::Expr& b, bool is_and) {
  Id first = Emit(a), truth = builder_.Bool();
  if (!ir::MayFault(b)) {
    Id second = Emit(b);
    return builder_.Emit({is_and ? Op::kLogicalAnd : Op::kLogicalOr, truth, {first, second}});
  }
  auto more = [&] { return Emit(b); };
  auto decided = [&] { return builder_.ConstantBool(!is_and); };
  return is_and ? Choose(first, truth, more, decided) : Choose(first, truth, decided, more);
}

template <class Then, class Else>
Id KernelWriter::Choose(Id condition, Id type, Then&& then, Else&& otherwise) {
  Id values[2] = {}, blocks[2] = {};
  Branch(
      condition,
      [&] {
        values[0] = then();
        blocks[0] = builder_.block();
      },
      [&] {
        values[1] = otherwise();
        blocks[1] = builder_.block();
      });
  return builder_.Emit({Op::kPhi, type, {values[0], blocks[0], values[1], blocks[1]}});
}

Id KernelWriter::EmitIfThenElse(const ir::CallNode* node) {
  Id condition = Emit(node->args[0]), type = RegisterType(node->dtype);
  return Choose(
      condition, type, [&] { return Emit(node->args[1]); }, [&] { return Emit(node->args[2]); });
}

Id KernelWriter::EmitNode(const ir::NotNode* node) {
  Id value = Emit(node->a);
  return builder_.Emit({Op::kLogicalNot, builder_.Bool(), {value}});
}

Id KernelWriter::EmitNode(const ir::SelectNode* node) {
  Id condition = Emit(node->condition);
  Id first = Emit(node->true_value), second = Emit(node->false_value);
  return builder_.Emit({Op::kSelect, RegisterType(node->dtype), {condition, first, second}});
}

// ---- Conversions ----

Id KernelWriter::EmitNode(const ir::CastNode* node) {
  return Convert(Emit(node->value), node->value.dtype(), node->dtype);
}

Id KernelWriter::Resize(Id value, int from, int to, bool is_signed) {
  if (from == to) return value;
  return builder_.Emit({is_signed ? Op::kSConvert : Op::kUConvert, builder_.Int(to), {value}});
}

Id KernelWriter::Wrap(Id value, DataType dtype) {
  if (dtype.bits() >= 32) return value;
  auto bits = static_cast<uint64_t>(dtype.bits());
  Id type = builder_.Int(32), zero = builder_.Constant(32, 0);
  if (dtype.is_int())
    return builder_.Emit({Op::kBitFieldSExtract, type, {value, zero, builder_.Constant(32, bits)}});
  return builder_.Emit(
      {Op::kBitwiseAnd, type, {value, builder_.Constant(32, (uint64_t{1} << bits) - 1)}});
}

Id KernelWriter::BoolToInt(Id value, int bits) {
  Id one = builder_.Constant(bits, 1), zero = builder_.Constant(bits, 0);
  return builder_.Emit({Op::kSelect, builder_.Int(bits), {value, one, zero}});
}

Id KernelWriter::Convert(Id value, DataType from, DataType to) {
  if (from == to) return value;
  Id type = RegisterType(to);
  if (to.is_bool()) {
    Id zero = from.is_float() ? builder_.ConstantFloat(from.bits(), 0) : ConstantOf(from, 0);
    return Compare(ExprKind::kNE, from, value, zero);
  }
  if (from.is_float() && to.is_float()) return builder_.Emit({Op::kFConvert, type, {value}});
  if (from.is_bool()) {
    value = BoolToInt(value, 32);
    from = DataType::UInt(32);
    if (from == to) return value;
  }
  if (from.is_float())
    return Wrap(builder_.Emit({to.is_int() ? Op::kConvertFToS : Op::kConvertFToU, type, {value}}),
                to);
  if (to.is_float())
    return builder_.Emit({from.is_int() ? Op::kConvertSToF : Op::kConvertUToF, type, {value}});
  Id resized = Resize(value, RegisterBits(from), RegisterBits(to), from.is_int());
  // A value that was extended as it should be needs nothing more.
  bool kept = to.bits() > from.bits() && (from.is_uint() || to.is_int());
  return kept ? resized : Wrap(resized, to);
}

Id KernelWriter::Reinterpret(Id value, DataType from, DataType to) {
  if (from == to) return value;
  if (from.is_float() == to.is_float()) return to.bits() < 32 ? Wrap(value, to) : value;
  if (from.bits() >= 32) return builder_.Emit({Op::kBitcast, RegisterType(to), {value}});
  // A half, and 16 bits of a word.
  builder_.Require(spirv::Capability::kInt16);
  Id narrow = builder_.Int(16);
  if (to.is_float()) {
    Id bits = builder_.Emit({Op::kUConvert, narrow, {value}});
    return builder_.Emit({Op::kBitcast, RegisterType(to), {bits}});
  }
  Id bits = builder_.Emit({Op::kBitcast, narrow, {value}});
  return Wrap(builder_.Emit({Op::kUConvert, builder_.Int(32), {bits}}), to);
}

}  // namespace tern::backend::vulkan
