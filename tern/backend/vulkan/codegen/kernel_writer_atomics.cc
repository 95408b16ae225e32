// SPDX-License-Identifier: Apache-2.0
//
// Atomic operations of KernelWriter. Memory that has any is an array of words: floats are updated
// by a loop of compare-exchange.
#include "tern/backend/vulkan/codegen/kernel_writer.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/atomics.h"

namespace tern::backend::vulkan {

using spirv::Op;
using spirv::StorageClass;

namespace {

using tir::AtomicKind;

// Of integers.
Op OpFor(AtomicKind kind, bool is_signed) {
  switch (kind) {
    case AtomicKind::kAdd:
      return Op::kAtomicIAdd;
    case AtomicKind::kMin:
      return is_signed ? Op::kAtomicSMin : Op::kAtomicUMin;
    case AtomicKind::kMax:
      return is_signed ? Op::kAtomicSMax : Op::kAtomicUMax;
    case AtomicKind::kAnd:
      return Op::kAtomicAnd;
    case AtomicKind::kOr:
      return Op::kAtomicOr;
    case AtomicKind::kXor:
      return Op::kAtomicXor;
    case AtomicKind::kExchange:
      return Op::kAtomicExchange;
    case AtomicKind::kCompareExchange:
      return Op::kAtomicCompareExchange;
  }
  return Op::kAtomicIAdd;
}

ir::ExprKind BinaryFor(AtomicKind kind) {
  return kind == AtomicKind::kMin   ? ir::ExprKind::kMin
         : kind == AtomicKind::kMax ? ir::ExprKind::kMax
                                    : ir::ExprKind::kAdd;
}

}  // namespace

void KernelWriter::EmitAtomic(const ir::CallNode* call) {
  tir::Atomic atomic = tir::AtomicOf(call);
  DataType dtype = atomic.dtype(), bits = DataType::UInt(32);
  TERN_CHECK(dtype.bits() == 32) << ir::At(call->span) << call->name << " of " << dtype.str()
                                 << ": Vulkan 1.1 has atomic operations of 32 bits alone";
  TERN_CHECK(!atomic.seq_cst) << ir::At(call->span) << call->name
                              << ": atomic operations of Vulkan are relaxed";
  const Memory& memory = MemoryOf(atomic.element->buffer);
  Id word = builder_.Int(32), relaxed = builder_.Constant(32, 0);
  bool is_shared = memory.storage == StorageClass::kWorkgroup;
  Id scope = builder_.Constant(
      32, static_cast<uint64_t>(is_shared ? spirv::Scope::kWorkgroup : spirv::Scope::kDevice));
  std::vector<Id> operands;
  for (const ir::Expr& operand : atomic.operands) operands.push_back(Emit(operand));
  Id pointer = UnitPointer(memory, EmitIndex(atomic.element->indices[0])), old = 0;
  if (dtype.is_float() && atomic.kind != AtomicKind::kExchange) {
    Id seen = builder_.LocalVariable(word);
    Id first = builder_.Emit({Op::kAtomicLoad, word, {pointer, scope, relaxed}});
    builder_.EmitVoid(Op::kStore, {seen, first});
    Id header = builder_.NewId(), test = builder_.NewId(), body = builder_.NewId(),
       step = builder_.NewId(), after = builder_.NewId();
    FallInto(header);
    builder_.EmitVoid(Op::kLoopMerge, {after, step, kNoFlags});
    FallInto(test);
    old = builder_.Emit({Op::kLoad, word, {seen}});
    Id sum = FloatBinary(BinaryFor(atomic.kind), dtype, Reinterpret(old, bits, dtype), operands[0]);
    Id next = Reinterpret(sum, dtype, bits);
    Id found = builder_.Emit(
        {Op::kAtomicCompareExchange, word, {pointer, scope, relaxed, relaxed, next, old}});
    builder_.EmitVoid(Op::kStore, {seen, found});
    Id again = builder_.Emit({Op::kINotEqual, builder_.Bool(), {found, old}});
    builder_.EmitVoid(Op::kBranchConditional, {again, body, after});
    builder_.BeginBlock(body);
    FallInto(step);
    builder_.EmitVoid(Op::kBranch, {header});
    builder_.BeginBlock(after);
    old = builder_.Emit({Op::kLoad, word, {seen}});
  } else if (atomic.kind == AtomicKind::kCompareExchange) {
    old = builder_.Emit({OpFor(atomic.kind, false),
                         word,
                         {pointer, scope, relaxed, relaxed, operands[1], operands[0]}});
  } else {
    Id value = dtype.is_float() ? Reinterpret(operands[0], dtype, bits) : operands[0];
    old =
        builder_.Emit({OpFor(atomic.kind, dtype.is_int()), word, {pointer, scope, relaxed, value}});
  }
  if (!atomic.old) return;
  const Memory& kept = MemoryOf(atomic.old->buffer);
  Id value = dtype.is_float() ? Reinterpret(old, bits, dtype) : old;
  Store(kept, EmitIndex(atomic.old->indices[0]), dtype, value);
}

}  // namespace tern::backend::vulkan
