// SPDX-License-Identifier: Apache-2.0
//
// From a kernel in lowered TIR (docs/lowered_tir.md) to a SPIR-V module for Vulkan.
//
// Arguments are bound as common/spirv.h says. Integers have no sign and, in registers, 32 bits or
// 64: what is narrower is kept extended by its sign, or by zeros.
#ifndef TERN_BACKEND_VULKAN_CODEGEN_KERNEL_WRITER_H_
#define TERN_BACKEND_VULKAN_CODEGEN_KERNEL_WRITER_H_

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tern/backend/vulkan/codegen/loop_steps.h"
#include "tern/backend/vulkan/codegen/spirv_builder.h"
#include "tern/runtime/kernel/device_artifact.h"
#include "tern/target/target.h"
#include "tern/tir/function.h"

namespace tern::backend::vulkan {

class KernelWriter {
 public:
  KernelWriter(const tir::PrimFunc& function, const target::Target& target);

  // The bytes of the module; its entry point has the kernel's name. Throws where the kernel needs
  // what the target does not have.
  std::string Write();
  // Of the kernel that was written.
  const runtime::KernelInfo& info() const { return info_; }

 private:
  using Words = SpirvBuilder::Words;
  static constexpr uint32_t kNoFlags = 0;

  // Memory is an array of units. A unit is an element, where all accesses are of one type that the
  // target has in memory; else an integer, of which elements are parts, or which are parts of
  // elements.
  struct Memory {
    Id variable = 0;  // or the address
    spirv::StorageClass storage = spirv::StorageClass::kFunction;
    DataType unit;
  };

  // ---- The function ----

  bool Has(const char* attribute) const;
  // Throws unless the target has the attribute; `what` is "computes with int64".
  void Need(const char* attribute, const std::string& what) const;
  void FindThreads();
  void DeclareParams();
  void DeclareTensor(const tir::Param& param, uint32_t binding);
  // The block of the scalars; where `has_addresses`, of all arguments.
  void DeclareScalars(bool has_addresses);
  // What the argument is in that block.
  Id MemberType(const tir::Param& param);
  void SetFloatControls();
  // What the module says of the iterations of its loops, and what it counts of them.
  void DeclareLoopSteps();
  void CountSteps(const tir::StmtNode* loop);
  void CompareSteps();
  void Bind(const ir::Var& var, Id value) { values_[var.node()] = value; }

  // ---- Statements ----

  void Emit(const tir::Stmt& stmt);
  void EmitNode(const tir::BufferStoreNode* node);
  void EmitNode(const tir::LetStmtNode* node);
  void EmitNode(const tir::AllocateNode* node);
  void EmitNode(const tir::DeclBufferNode* node);
  void EmitNode(const tir::ForNode* node);
  void EmitNode(const tir::WhileNode* node);
  void EmitNode(const tir::IfThenElseNode* node);
  void EmitNode(const tir::SeqNode* node);
  void EmitNode(const tir::AssertNode* node);
  void EmitNode(const tir::EvaluateNode* node);
  void EmitNode(const tir::BlockNode* node);
  // The iterations of a loop, `step` at a time, each by `body`, which gets the index.
  struct Iterations {
    Id min, end;
    uint64_t step;
  };
  template <class Body>
  void EmitLoop(const tir::ForNode* node, const Iterations& iterations, Body&& body);
  // A body that stands there several times.
  void EmitCopies(const tir::ForNode* node, int64_t copies);
  void EmitThreadLoop(const tir::ForNode* node);
  // The element of a vector that the machine gives.
  Id ThreadInput(spirv::BuiltIn built_in, const char* name, uint32_t axis);
  // The loop over blocks, where its blocks may lie in rows.
  bool LiesInRows(const tir::ForNode* node) const;
  void EmitBarrier(const ir::CallNode* node);
  void EmitAtomic(const ir::CallNode* call);  // kernel_writer_atomics.cc

  // Branches to the block that follows, and begins it.
  void FallInto(Id label);
  // if (condition) then() else otherwise(), and the block where both meet.
  template <class Then, class Else>
  void Branch(Id condition, Then&& then, Else&& otherwise) {
    Id yes = builder_.NewId(), no = builder_.NewId(), after = builder_.NewId();
    builder_.EmitVoid(spirv::Op::kSelectionMerge, {after, kNoFlags});
    builder_.EmitVoid(spirv::Op::kBranchConditional, {condition, yes, no});
    builder_.BeginBlock(yes);
    then();
    builder_.EmitVoid(spirv::Op::kBranch, {after});
    builder_.BeginBlock(no);
    otherwise();
    FallInto(after);
  }
  // The value of one of two computations.
  template <class Then, class Else>
  Id Choose(Id condition, Id type, Then&& then, Else&& otherwise);

  // ---- Memory (kernel_writer_memory.cc) ----

  // Which unit serves all accesses to this address.
  DataType UnitOf(const ir::VarNode* address, spirv::StorageClass storage);
  // The type of a unit in memory.
  Id UnitType(const Memory& memory);
  const Memory& MemoryOf(const ir::Buffer& buffer) const;
  Id UnitPointer(const Memory& memory, Id index);
  static void AppendAlignment(const Memory& memory, Words* operands);
  // A unit's bits, as an integer in a register, or the unit itself where it is a float.
  Id LoadUnit(const Memory& memory, Id index);
  void StoreUnit(const Memory& memory, Id index, Id value);
  // An element's bits as an integer in a register (64 bits: of 64), whatever the units are.
  Id LoadBits(const Memory& memory, Id index, int bits);
  void StoreBits(const Memory& memory, Id index, int bits, Id value);
  void StorePart(const Memory& memory, Id index, int bits, Id value);
  Id EmitIndex(const ir::Expr& index);
  Id Load(const Memory& memory, Id index, DataType dtype);
  void Store(const Memory& memory, Id index, DataType dtype, Id value);

  // ---- Expressions (kernel_writer_expr.cc) ----

  Id Emit(const ir::Expr& expr);
  Id EmitNode(const ir::IntImmNode* node);
  Id EmitNode(const ir::FloatImmNode* node);
  Id EmitNode(const ir::StringImmNode* node);
  Id EmitNode(const ir::VarNode* node);
  Id EmitNode(const ir::AndNode* node);
  Id EmitNode(const ir::OrNode* node);
  Id EmitNode(const ir::NotNode* node);
  Id EmitNode(const ir::SelectNode* node);
  Id EmitNode(const ir::CastNode* node);
  Id EmitNode(const ir::RampNode* node);
  Id EmitNode(const ir::BroadcastNode* node);
  Id EmitNode(const ir::ShuffleNode* node);
  Id EmitNode(const ir::LetNode* node);
  Id EmitNode(const ir::CallNode* node);
  Id EmitNode(const ir::BufferLoadNode* node);
  template <ir::ExprKind K>
  Id EmitNode(const ir::BinaryNode<K>* node) {
    return EmitBinary(K, node->a, node->b);
  }
  Id EmitBinary(ir::ExprKind kind, const ir::Expr& a, const ir::Expr& b);
  Id EmitWithZero(ir::ExprKind kind, const ir::Expr& a, const ir::Expr& b);  // 0: no such case
  Id FloatBinary(ir::ExprKind kind, DataType dtype, Id a, Id b);
  Id IntBinary(ir::ExprKind kind, DataType dtype, Id a, Id b);
  Id Compare(ir::ExprKind kind, DataType dtype, Id a, Id b);
  Id Divide(ir::ExprKind kind, DataType dtype, Id a, Id b);
  Id ShortCircuit(const ir::Expr& a, const ir::Expr& b, bool is_and);
  Id EmitIfThenElse(const ir::CallNode* node);
  Id Reinterpret(Id value, DataType from, DataType to);

  // ---- Calls (kernel_writer_call.cc); 0 where there is no code for it ----

  Id EmitBitOperator(const ir::CallNode* node);
  Id EmitMath(const ir::CallNode* node);
  Id EmitWarpOperation(const ir::CallNode* node);
  void NoteWarps();
  Id LaneIndex();
  Id SourceLane(const std::string& name, Id own, Id number);
  Id ShuffleWord(Id value, Id lane);
  Id Shuffle(Id value, DataType dtype, Id lane);

  // ---- Types and conversions (kernel_writer_expr.cc) ----

  // The type of a value in a register. Throws where the target does not compute with it.
  Id RegisterType(DataType dtype);
  static int RegisterBits(DataType dtype) { return dtype.bits() == 64 ? 64 : 32; }
  Id ConstantOf(DataType dtype, int64_t value);
  // Between integers of 32 and 64 bits.
  Id Resize(Id value, int from, int to, bool is_signed);
  // What 8 or 16 bits keep of a value in a register.
  Id Wrap(Id value, DataType dtype);
  Id Convert(Id value, DataType from, DataType to);
  Id BoolToInt(Id value, int bits);

  tir::PrimFunc function_;
  target::Target target_;
  runtime::KernelInfo info_;
  SpirvBuilder builder_;
  std::unordered_map<const ir::VarNode*, Id> values_;
  std::unordered_map<const ir::VarNode*, Memory> memory_;  // by address
  std::unordered_set<const ir::VarNode*> written_;         // addresses
  bool distinct_ = false;                                  // whether tensors are
  // Types by which the memory at an address is accessed.
  std::unordered_map<const ir::VarNode*, std::vector<DataType>> accesses_;
  std::map<spirv::BuiltIn, Id> thread_inputs_;
  Id lane_input_ = 0;
  int64_t threads_ = 0;  // in a block; 0: the launch knows
  bool has_warps_ = false;
  LoopSteps loop_steps_;
  Id steps_counter_ = 0, steps_limit_ = 0;  // a variable and a constant; 0: not counted
};

}  // namespace tern::backend::vulkan

#endif  // TERN_BACKEND_VULKAN_CODEGEN_KERNEL_WRITER_H_
