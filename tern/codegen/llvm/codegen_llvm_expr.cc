// SPDX-License-Identifier: Apache-2.0
//
// Expressions of CodeGenLLVM.
#include <llvm/Analysis/VectorUtils.h>

#include <algorithm>

#include "tern/codegen/llvm/codegen_llvm.h"
#include "tern/ir/visitor.h"

namespace tern::codegen {
namespace {

using ir::ExprKind;
using llvm::Value;

// A positive power of two, in every lane alike.
const llvm::APInt* ConstantPowerOfTwo(Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* integer = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
  return integer && integer->getValue().isPowerOf2() && !integer->isNegative()
             ? &integer->getValue()
             : nullptr;
}

llvm::CmpInst::Predicate FloatPredicate(ExprKind kind) {
  switch (kind) {
    case ExprKind::kEQ:
      return llvm::CmpInst::FCMP_OEQ;
    case ExprKind::kNE:
      return llvm::CmpInst::FCMP_UNE;  // NaN differs from everything
    case ExprKind::kLT:
      return llvm::CmpInst::FCMP_OLT;
    case ExprKind::kLE:
      return llvm::CmpInst::FCMP_OLE;
    case ExprKind::kGT:
      return llvm::CmpInst::FCMP_OGT;
    case ExprKind::kGE:
      return llvm::CmpInst::FCMP_OGE;
    default:
      return llvm::CmpInst::BAD_FCMP_PREDICATE;
  }
}

llvm::CmpInst::Predicate IntPredicate(ExprKind kind, bool is_signed) {
  switch (kind) {
    case ExprKind::kEQ:
      return llvm::CmpInst::ICMP_EQ;
    case ExprKind::kNE:
      return llvm::CmpInst::ICMP_NE;
    case ExprKind::kLT:
      return is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;
    case ExprKind::kLE:
      return is_signed ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE;
    case ExprKind::kGT:
      return is_signed ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_UGT;
    case ExprKind::kGE:
      return is_signed ? llvm::CmpInst::ICMP_SGE : llvm::CmpInst::ICMP_UGE;
    default:
      return llvm::CmpInst::BAD_ICMP_PREDICATE;
  }
}

}  // namespace

Value* CodeGenLLVM::Emit(const ir::Expr& expr) {
  return ir::DispatchExpr(expr.get(), [this](auto* node) { return EmitNode(node); });
}

// ---- Leaves ----

Value* CodeGenLLVM::EmitNode(const ir::IntImmNode* node) {
  llvm::Type* type = RegisterType(node->dtype);
  return llvm::ConstantInt::get(
      type, llvm::APInt(type->getIntegerBitWidth(), static_cast<uint64_t>(node->value),
                        /*isSigned=*/true, /*implicitTrunc=*/true));
}

Value* CodeGenLLVM::EmitNode(const ir::FloatImmNode* node) {
  return llvm::ConstantFP::get(RegisterType(node->dtype), node->value);
}

Value* CodeGenLLVM::EmitNode(const ir::StringImmNode* node) { return Text(node->value); }

Value* CodeGenLLVM::EmitNode(const ir::VarNode* node) {
  auto it = values_.find(node);
  TERN_ICHECK(it != values_.end()) << "variable " << node->name << " is not defined";
  return it->second;
}

// ---- Operators ----

Value* CodeGenLLVM::EmitBinary(ExprKind kind, const ir::Expr& a, const ir::Expr& b) {
  DataType dtype = a.dtype();
  Value* x = Emit(a);
  Value* y = Emit(b);
  if (!dtype.is_float()) {
    // The least value divided by -1 wraps in types of 8 and 16 bits; LLVM leaves it undefined.
    bool divides = kind >= ExprKind::kTruncDiv && kind <= ExprKind::kFloorMod;
    const auto* divisor = llvm::dyn_cast<llvm::ConstantInt>(y);
    if (!divides || !dtype.is_int() || dtype.bits() >= 32 || (divisor && !divisor->isMinusOne()))
      return IntBinary(kind, x, y, dtype.is_int());
    DataType wide = DataType::Int(32, dtype.lanes());
    return Convert(IntBinary(kind, Convert(x, dtype, wide), Convert(y, dtype, wide), true), wide,
                   dtype);
  }
  TERN_ICHECK(!dtype.is_narrow_float()) << "arithmetic on " << dtype.str() << " was not lowered";
  return FloatBinary(kind, x, y);
}

Value* CodeGenLLVM::FloatBinary(ExprKind kind, Value* a, Value* b) {
  // Vectors are what a schedule made: their sums are as many, and in the order, that it chose.
  // Products in another order overflow elsewhere, of which the functions of tern/tir/math take
  // care.
  llvm::IRBuilderBase::FastMathFlagGuard guard(builder_);
  if (a->getType()->isVectorTy() || (kind != ExprKind::kAdd && kind != ExprKind::kSub)) {
    llvm::FastMathFlags flags = builder_.getFastMathFlags();
    flags.setAllowReassoc(false);
    builder_.setFastMathFlags(flags);
  }
  switch (kind) {
    case ExprKind::kAdd:
      return builder_.CreateFAdd(a, b);
    case ExprKind::kSub:
      return builder_.CreateFSub(a, b);
    case ExprKind::kMul:
      return builder_.CreateFMul(a, b);
    case ExprKind::kDiv:
      return builder_.CreateFDiv(a, b);
    case ExprKind::kMin:
      return builder_.CreateSelect(builder_.CreateFCmpOLT(a, b), a, b);
    case ExprKind::kMax:
      return builder_.CreateSelect(builder_.CreateFCmpOGT(a, b), a, b);
    default:
      TERN_ICHECK(FloatPredicate(kind) != llvm::CmpInst::BAD_FCMP_PREDICATE)
          << "operator " << static_cast<int>(kind) << " on floats";
      return builder_.CreateFCmp(FloatPredicate(kind), a, b);
  }
}

Value* CodeGenLLVM::IntBinary(ExprKind kind, Value* a, Value* b, bool is_signed) {
  switch (kind) {
    case ExprKind::kAdd:
      return builder_.CreateAdd(a, b);
    case ExprKind::kSub:
      return builder_.CreateSub(a, b);
    case ExprKind::kMul:
      return builder_.CreateMul(a, b);
    case ExprKind::kTruncDiv:
      return is_signed ? builder_.CreateSDiv(a, b) : builder_.CreateUDiv(a, b);
    case ExprKind::kTruncMod:
      return is_signed ? builder_.CreateSRem(a, b) : builder_.CreateURem(a, b);
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
      if (is_signed) return FloorDivMod(kind, a, b);
      return kind == ExprKind::kFloorDiv ? builder_.CreateUDiv(a, b) : builder_.CreateURem(a, b);
    case ExprKind::kMin:
      return builder_.CreateBinaryIntrinsic(
          is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case ExprKind::kMax:
      return builder_.CreateBinaryIntrinsic(
          is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    default:
      TERN_ICHECK(IntPredicate(kind, is_signed) != llvm::CmpInst::BAD_ICMP_PREDICATE)
          << "operator " << static_cast<int>(kind) << " on integers";
      return builder_.CreateICmp(IntPredicate(kind, is_signed), a, b);
  }
}

Value* CodeGenLLVM::FloorDivMod(ExprKind kind, Value* a, Value* b) {
  bool is_div = kind == ExprKind::kFloorDiv;
  if (const llvm::APInt* power = ConstantPowerOfTwo(b))
    return is_div ? builder_.CreateAShr(a, power->logBase2())
                  : builder_.CreateAnd(a, llvm::ConstantInt::get(a->getType(), *power - 1));
  // The truncated result is off by one step where there is a remainder, of another sign than the
  // divisor.
  Value* remainder = builder_.CreateSRem(a, b);
  Value* zero = llvm::Constant::getNullValue(a->getType());
  Value* adjust =
      builder_.CreateAnd(builder_.CreateICmpNE(remainder, zero),
                         builder_.CreateICmpSLT(builder_.CreateXor(remainder, b), zero));
  if (!is_div) return builder_.CreateAdd(remainder, builder_.CreateSelect(adjust, b, zero));
  return builder_.CreateAdd(builder_.CreateSDiv(a, b), builder_.CreateSExt(adjust, a->getType()));
}

Value* CodeGenLLVM::EmitNode(const ir::AndNode* node) {
  return ShortCircuit(node->a, node->b, true);
}
Value* CodeGenLLVM::EmitNode(const ir::OrNode* node) {
  return ShortCircuit(node->a, node->b, false);
}

// `b` is evaluated where `a` does not decide, or where evaluating it does no harm.
Value* CodeGenLLVM::ShortCircuit(const ir::Expr& a, const ir::Expr& b, bool is_and) {
  Value* first = Emit(a);
  if (!a.dtype().is_scalar() || !ir::MayFault(b)) {
    Value* second = Emit(b);
    // The logical forms: where `a` decides, an undefined `b` (a float out of the range of an
    // integer) does not count.
    return is_and ? builder_.CreateLogicalAnd(first, second)
                  : builder_.CreateLogicalOr(first, second);
  }
  llvm::BasicBlock* decided = builder_.GetInsertBlock();
  llvm::BasicBlock* more = NewBlock(is_and ? "and" : "or");
  llvm::BasicBlock* after = NewBlock(is_and ? "and.end" : "or.end");
  builder_.CreateCondBr(first, is_and ? more : after, is_and ? after : more);
  builder_.SetInsertPoint(more);
  Value* second = Emit(b);
  llvm::BasicBlock* evaluated = builder_.GetInsertBlock();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  llvm::PHINode* result = builder_.CreatePHI(builder_.getInt1Ty(), 2);
  result->addIncoming(builder_.getInt1(!is_and), decided);
  result->addIncoming(second, evaluated);
  return result;
}

Value* CodeGenLLVM::EmitNode(const ir::NotNode* node) { return builder_.CreateNot(Emit(node->a)); }

Value* CodeGenLLVM::EmitNode(const ir::SelectNode* node) {
  Value* condition = Emit(node->condition);
  Value* true_value = Emit(node->true_value);
  return builder_.CreateSelect(condition, true_value, Emit(node->false_value));
}

Value* CodeGenLLVM::EmitIfThenElse(const ir::CallNode* node) {
  llvm::BasicBlock *yes = NewBlock("choose"), *no = NewBlock("choose.else"),
                   *after = NewBlock("choose.end");
  builder_.CreateCondBr(Emit(node->args[0]), yes, no);
  std::vector<std::pair<Value*, llvm::BasicBlock*>> chosen;
  for (const auto& [block, value] : {std::pair(yes, node->args[1]), std::pair(no, node->args[2])}) {
    builder_.SetInsertPoint(block);
    Value* result = Emit(value);
    chosen.emplace_back(result, builder_.GetInsertBlock());
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(after);
  llvm::PHINode* result = builder_.CreatePHI(chosen[0].first->getType(), 2);
  for (auto [value, block] : chosen) result->addIncoming(value, block);
  return result;
}

Value* CodeGenLLVM::EmitNode(const ir::RampNode* node) {
  auto* type = llvm::cast<llvm::VectorType>(RegisterType(node->dtype));
  Value* base = builder_.CreateVectorSplat(type->getElementCount(), Emit(node->base));
  Value* stride = builder_.CreateVectorSplat(type->getElementCount(), Emit(node->stride));
  return builder_.CreateAdd(base, builder_.CreateMul(stride, LaneNumbers(type)));
}

Value* CodeGenLLVM::LaneNumbers(llvm::VectorType* type) {
  if (type->getElementCount().isScalable()) return builder_.CreateStepVector(type);
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < type->getElementCount().getFixedValue(); ++i)
    numbers.push_back(llvm::ConstantInt::get(
        type->getElementType(),
        llvm::APInt(type->getScalarSizeInBits(), i, false, /*implicitTrunc=*/true)));
  return llvm::ConstantVector::get(numbers);
}

Value* CodeGenLLVM::EmitNode(const ir::BroadcastNode* node) {
  auto* type = llvm::cast<llvm::VectorType>(RegisterType(node->dtype));
  return builder_.CreateVectorSplat(type->getElementCount(), Emit(node->value));
}

Value* CodeGenLLVM::EmitNode(const ir::ShuffleNode* node) {
  std::vector<Value*> vectors;
  for (const ir::Expr& vector : node->vectors) vectors.push_back(Emit(vector));
  // One vector, or two alike, are what an instruction takes; more of them are put in a row.
  bool alike = vectors[0]->getType()->isVectorTy() &&
               std::all_of(vectors.begin(), vectors.end(), [&](const Value* vector) {
                 return vector->getType() == vectors[0]->getType();
               });
  if (alike && !node->dtype.is_scalar()) {
    if (vectors.size() > 2) vectors = {llvm::concatenateVectors(builder_, vectors)};
    std::vector<int> mask(node->indices.begin(), node->indices.end());
    return builder_.CreateShuffleVector(vectors[0], vectors.back(), mask);
  }
  std::vector<std::pair<Value*, uint64_t>> lanes;  // where each lane comes from
  for (size_t i = 0; i < vectors.size(); ++i)
    for (int lane = 0; lane < node->vectors[i].dtype().lanes(); ++lane)
      lanes.emplace_back(vectors[i], lane);
  auto take = [&](int64_t index) -> Value* {
    auto [vector, lane] = lanes[index];
    return vector->getType()->isVectorTy() ? builder_.CreateExtractElement(vector, lane) : vector;
  };
  if (node->dtype.is_scalar()) return take(node->indices[0]);
  Value* result = llvm::PoisonValue::get(RegisterType(node->dtype));
  for (size_t i = 0; i < node->indices.size(); ++i)
    result = builder_.CreateInsertElement(result, take(node->indices[i]), i);
  return result;
}

Value* CodeGenLLVM::EmitNode(const ir::LetNode* node) {
  Bind(node->var, Emit(node->value));
  return Emit(node->body);
}

// ---- Conversions ----

Value* CodeGenLLVM::EmitNode(const ir::CastNode* node) {
  return Convert(Emit(node->value), node->value.dtype(), node->dtype);
}

Value* CodeGenLLVM::Convert(Value* value, DataType from, DataType to) {
  if (from == to) return value;
  llvm::Type* type = RegisterType(to);
  if (from.is_narrow_float() && to.is_narrow_float()) {
    DataType wide = DataType::Float(32, from.lanes());
    return Convert(Convert(value, from, wide), wide, to);
  }
  if (from.is_float() && to.is_float()) return builder_.CreateFPCast(value, type);
  if (to.is_bool()) {
    llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
    return from.is_float() ? builder_.CreateFCmpUNE(value, zero)
                           : builder_.CreateICmpNE(value, zero);
  }
  if (from.is_float())
    return to.is_int() ? builder_.CreateFPToSI(value, type) : builder_.CreateFPToUI(value, type);
  if (to.is_float())
    return from.is_int() ? builder_.CreateSIToFP(value, type) : builder_.CreateUIToFP(value, type);
  return builder_.CreateIntCast(value, type, from.is_int());
}

}  // namespace tern::codegen
