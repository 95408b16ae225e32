// SPDX-License-Identifier: Apache-2.0
//
// Calls of CodeGenLLVM.
#include <map>

#include "tern/codegen/llvm/byte_dots.h"
#include "tern/codegen/llvm/codegen_llvm.h"
#include "tern/codegen/llvm/llvm_intrinsics.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/intrinsics.h"

namespace tern::codegen {

using llvm::Value;
namespace intrinsic = tir::intrinsic;

namespace {

// What is read that far ahead is there in time. Of 4, 8, 16 KB the fastest on Sapphire Rapids,
// where so much ahead of its use is better in L2 alone than in L1 as well. Where an iteration of
// the innermost loop goes farther, as that over tiles, it is what the next one reads.
constexpr uint64_t kPrefetchBytes = 8192;
constexpr uint32_t kPrefetchLocality = 2;  // L2

// By how much an integer grows from one iteration of a loop to the next, as far as it is sums and
// constant multiples of what the loop counts.
int64_t StepOf(const Value* value, const llvm::PHINode* counter) {
  if (value == counter) return 1;
  const auto* node = llvm::dyn_cast<llvm::Instruction>(value);
  if (!node) return 0;
  auto step = [&](unsigned i) { return StepOf(node->getOperand(i), counter); };
  const auto* factor = node->getNumOperands() == 2
                           ? llvm::dyn_cast<llvm::ConstantInt>(node->getOperand(1))
                           : nullptr;
  switch (node->getOpcode()) {
    case llvm::Instruction::SExt:
    case llvm::Instruction::ZExt:
      return step(0);
    case llvm::Instruction::Add:
      return step(0) + step(1);
    case llvm::Instruction::Sub:
      return step(0) - step(1);
    case llvm::Instruction::Mul:
      return factor ? step(0) * factor->getSExtValue() : 0;
    default:
      return 0;
  }
}

// Whether a block stands behind another one in their function.
bool IsBehind(const llvm::BasicBlock* block, const llvm::BasicBlock* other) {
  while (other && other != block) other = other->getNextNode();
  return other;
}

// The counter of the loop that was begun last, of those that a value is computed from; null: none.
const llvm::PHINode* InnermostCounter(const Value* value) {
  if (const auto* counter = llvm::dyn_cast<llvm::PHINode>(value)) return counter;
  const auto* node = llvm::dyn_cast<llvm::Instruction>(value);
  const llvm::PHINode* last = nullptr;
  for (unsigned i = 0; node && i < node->getNumOperands(); ++i) {
    const llvm::PHINode* other = InnermostCounter(node->getOperand(i));
    if (other && (!last || IsBehind(other->getParent(), last->getParent()))) last = other;
  }
  return last;
}

// How many bytes farther on the next iteration of the innermost loop reads; 0 where that is not
// known.
uint64_t BytesOfIteration(const llvm::LoadInst* load) {
  const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(load->getPointerOperand());
  if (!address || address->getNumIndices() != 1) return 0;
  const Value* index = address->getOperand(1);
  const llvm::PHINode* counter = InnermostCounter(index);
  llvm::TypeSize size = load->getDataLayout().getTypeAllocSize(address->getSourceElementType());
  if (!counter || size.isScalable()) return 0;
  int64_t bytes = StepOf(index, counter) * static_cast<int64_t>(size.getFixedValue());
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

// An element of a long array: what follows is asked for already. Cores look ahead by themselves,
// but not far enough where much is computed of each element.
Value* EmitStreamed(llvm::IRBuilder<>& builder, Value* value) {
  auto* load = llvm::dyn_cast<llvm::LoadInst>(value);
  if (!load) return value;
  Value* ahead =
      builder.CreatePtrAdd(load->getPointerOperand(),
                           builder.getInt64(std::max(BytesOfIteration(load), kPrefetchBytes)));
  // To be read, as data.
  builder.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {ahead->getType()},
      {ahead, builder.getInt32(0), builder.getInt32(kPrefetchLocality), builder.getInt32(1)});
  return value;
}

}  // namespace

Value* CodeGenLLVM::EmitNode(const ir::CallNode* node) {
  return node->name == ir::kIfThenElse ? EmitIfThenElse(node) : EmitCall(node);
}

Value* CodeGenLLVM::EmitCall(const ir::CallNode* node) {
  if (Value* value = EmitLaneWise(node)) return value;
  if (node->name == intrinsic::kPtrAdd)
    return builder_.CreatePtrAdd(Emit(node->args.at(0)), Emit(node->args.at(1)));
  if (node->name == intrinsic::kPtrLoad) {
    Value* pointer = Emit(node->args.at(0));
    return Load(node->dtype, builder_.CreatePtrAdd(pointer, Emit(node->args.at(1))));
  }
  if (node->name == intrinsic::kIsNull) return builder_.CreateIsNull(Emit(node->args.at(0)));
  if (node->name == intrinsic::kPtrLessEqual) {
    Value* first = Emit(node->args.at(0));
    return builder_.CreateICmpULE(first, Emit(node->args.at(1)));
  }
  if (node->name == intrinsic::kIsAligned) {
    Value* address = builder_.CreatePtrToInt(Emit(node->args.at(0)), builder_.getInt64Ty());
    int64_t bytes = *ir::AsConstInt(node->args.at(1));
    return builder_.CreateIsNull(builder_.CreateAnd(address, static_cast<uint64_t>(bytes - 1)));
  }
  if (node->name == intrinsic::kVscale) return builder_.CreateVScale(RegisterType(node->dtype));
  if (node->name == intrinsic::kAddressOf) {
    const auto* element = node->args.at(0).As<ir::BufferLoadNode>();
    return ElementPointer(EmitAccess(element->buffer, element->indices), element->buffer->dtype, 0);
  }
  if (node->name == intrinsic::kCallExtern) return EmitExternCall(node);
  if (tir::IsAtomic(node->name)) return EmitAtomic(tir::AtomicOf(node));
  if (node->name == kLLVMCall || node->name == kLLVMCallPure) return EmitLLVMCall(node);
  TERN_CHECK(false) << "no code for the call of " << node->name << " on " << target_.triple();
  return nullptr;
}

// A loop of compare-exchange: the instructions for it call fmin, which not every target has.
Value* CodeGenLLVM::EmitFloatOrder(const tir::Atomic& atomic, Value* place, Value* x) {
  DataType dtype = atomic.dtype();
  llvm::Type* bits = builder_.getIntNTy(static_cast<unsigned>(dtype.bits()));
  llvm::Align align(static_cast<uint64_t>(dtype.bytes()));
  auto order = atomic.seq_cst ? llvm::AtomicOrdering::SequentiallyConsistent
                              : llvm::AtomicOrdering::Monotonic;
  llvm::LoadInst* first = builder_.CreateAlignedLoad(bits, place, align);
  first->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* loop = llvm::BasicBlock::Create(builder_.getContext(), "atomic", function);
  auto* after = llvm::BasicBlock::Create(builder_.getContext(), "after_atomic", function);
  builder_.CreateBr(loop);
  builder_.SetInsertPoint(loop);
  llvm::PHINode* seen = builder_.CreatePHI(bits, 2);
  Value* old = builder_.CreateBitCast(seen, x->getType());
  Value* takes = atomic.kind == tir::AtomicKind::kMin ? builder_.CreateFCmpOLT(x, old)
                                                      : builder_.CreateFCmpOGT(x, old);
  Value* now = builder_.CreateBitCast(builder_.CreateSelect(takes, x, old), bits);
  Value* both = builder_.CreateAtomicCmpXchg(place, seen, now, align, order, order);
  seen->addIncoming(first, before);
  seen->addIncoming(builder_.CreateExtractValue(both, 0), builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateExtractValue(both, 1), after, loop);
  builder_.SetInsertPoint(after);
  return old;
}

Value* CodeGenLLVM::EmitAtomic(const tir::Atomic& atomic) {
  using enum tir::AtomicKind;
  using Op = llvm::AtomicRMWInst::BinOp;
  DataType dtype = atomic.dtype();
  auto pointer = [&](const ir::BufferLoadNode* element) {
    return ElementPointer(EmitAccess(element->buffer, element->indices), dtype, 0);
  };
  Value* place = pointer(atomic.element);
  llvm::MaybeAlign align(static_cast<uint64_t>(dtype.bytes()));
  auto order = atomic.seq_cst ? llvm::AtomicOrdering::SequentiallyConsistent
                              : llvm::AtomicOrdering::Monotonic;
  Value* operand = Emit(atomic.operands[0]);
  Value* old = nullptr;
  bool is_order = atomic.kind == kMin || atomic.kind == kMax;
  if (is_order && dtype.is_float()) {
    old = EmitFloatOrder(atomic, place, operand);
  } else if (atomic.kind == kCompareExchange) {
    Value* both =
        builder_.CreateAtomicCmpXchg(place, operand, Emit(atomic.operands[1]), align, order, order);
    old = builder_.CreateExtractValue(both, 0);
  } else {
    bool is_float = dtype.is_float(), is_int = dtype.is_int();
    Op op = atomic.kind == kAdd   ? (is_float ? Op::FAdd : Op::Add)
            : atomic.kind == kMin ? (is_int ? Op::Min : Op::UMin)
            : atomic.kind == kMax ? (is_int ? Op::Max : Op::UMax)
            : atomic.kind == kAnd ? Op::And
            : atomic.kind == kOr  ? Op::Or
            : atomic.kind == kXor ? Op::Xor
                                  : Op::Xchg;
    old = builder_.CreateAtomicRMW(op, place, operand, align, order);
  }
  if (atomic.old) builder_.CreateStore(old, pointer(atomic.old));
  return old;
}

Value* CodeGenLLVM::EmitLaneWise(const ir::CallNode* node) {
  // Those with one form for all their types.
  static const std::map<std::string, llvm::Intrinsic::ID> kSame = {
      {"sqrt", llvm::Intrinsic::sqrt},         {"floor", llvm::Intrinsic::floor},
      {"ceil", llvm::Intrinsic::ceil},         {"trunc", llvm::Intrinsic::trunc},
      {"fma", llvm::Intrinsic::fma},           {"round", llvm::Intrinsic::roundeven},
      {"copysign", llvm::Intrinsic::copysign}, {"popcount", llvm::Intrinsic::ctpop}};
  using Builder = llvm::IRBuilder<>;
  static const std::map<std::string, Value* (*)(Builder&, Value*, Value*)> kOperators = {
      {"shift_left", [](Builder& b, Value* x, Value* y) { return b.CreateShl(x, y); }},
      {"bit_and", [](Builder& b, Value* x, Value* y) { return b.CreateAnd(x, y); }},
      {"bit_or", [](Builder& b, Value* x, Value* y) { return b.CreateOr(x, y); }},
      {"bit_xor", [](Builder& b, Value* x, Value* y) { return b.CreateXor(x, y); }}};
  const std::string& name = node->name;
  auto arg = [&](size_t i) { return Emit(node->args.at(i)); };

  if (auto it = kSame.find(name); it != kSame.end()) {
    std::vector<Value*> args;
    for (size_t i = 0; i < node->args.size(); ++i) args.push_back(arg(i));
    return builder_.CreateIntrinsic(it->second, {RegisterType(node->dtype)}, args);
  }
  if (auto it = kOperators.find(name); it != kOperators.end()) {
    Value* first = arg(0);
    return it->second(builder_, first, arg(1));
  }
  if (name == intrinsic::kReinterpret)
    return builder_.CreateBitCast(arg(0), RegisterType(node->dtype));
  if (name == "shift_right") {
    Value* value = arg(0);
    return node->dtype.is_int() ? builder_.CreateAShr(value, arg(1))
                                : builder_.CreateLShr(value, arg(1));
  }
  if (name == "bit_not") return builder_.CreateNot(arg(0));
  if (name == "streamed") return EmitStreamed(builder_, arg(0));
  if (name == "dot4") {
    Value *a = arg(0), *b = arg(1);
    return EmitByteDots(builder_, target_, a, b, arg(2));
  }
  if (name == "clz" || name == "ctz")
    return builder_.CreateBinaryIntrinsic(
        name == "clz" ? llvm::Intrinsic::ctlz : llvm::Intrinsic::cttz, arg(0),
        builder_.getInt1(false));
  if (name == "abs") {
    if (node->dtype.is_uint()) return arg(0);
    return node->dtype.is_float() ? builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, arg(0))
                                  : builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, arg(0),
                                                                   builder_.getInt1(false));
  }
  return nullptr;
}

Value* CodeGenLLVM::EmitExternCall(const ir::CallNode* node) {
  const std::string& symbol = node->args.at(0).As<ir::StringImmNode>()->value;
  std::vector<DataType> types;
  std::vector<Value*> args;
  std::vector<llvm::Type*> llvm_types;
  for (size_t i = 1; i < node->args.size(); ++i) {
    types.push_back(node->args[i].dtype());
    args.push_back(Emit(node->args[i]));
    llvm_types.push_back(args.back()->getType());
  }
  llvm::Type* result = node->dtype.is_void() ? builder_.getVoidTy() : RegisterType(node->dtype);
  auto* type = llvm::FunctionType::get(result, llvm_types, false);
  llvm::Function* declared = module_->getFunction(symbol);
  if (!declared)
    declared = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, *module_);
  TERN_CHECK(declared->getFunctionType() == type)
      << ir::At(node->span) << symbol << " is called with arguments of other types elsewhere";
  llvm::CallInst* call = builder_.CreateCall(type, declared, args);
  call->setDoesNotThrow();
  // How C passes integers that are smaller than a register.
  auto extension = [&](DataType dtype) {
    bool is_small = dtype.is_bool() || (dtype.is_integer() && dtype.bits() < 32);
    if (dtype.is_integer() && dtype.bits() == 32 && target_.arch().sign_extends_int)
      return llvm::Attribute::SExt;
    if (!is_small) return llvm::Attribute::None;
    return dtype.is_int() ? llvm::Attribute::SExt : llvm::Attribute::ZExt;
  };
  for (size_t i = 0; i < types.size(); ++i)
    if (auto kind = extension(types[i]); kind != llvm::Attribute::None)
      call->addParamAttr(static_cast<unsigned>(i), kind);
  if (auto kind = extension(node->dtype); kind != llvm::Attribute::None) call->addRetAttr(kind);
  return call;
}

}  // namespace tern::codegen
