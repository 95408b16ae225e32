// SPDX-License-Identifier: Apache-2.0
//
// From lowered TIR (docs/lowered_tir.md) to LLVM IR: the base of the code generators that use LLVM.
// What differs from target to target (how parameters arrive, what a thread axis is, which calls
// there are) is virtual; the rest is here.
//
// Arithmetic is exact: integers wrap, floats are reassociated and contracted only where a function
// says `reassociate`. Of the floats of
// 8 and 16 bits there are float16 and bfloat16, where the target converts them (legalize_storage).
// Buffers at different addresses do not alias, unless the function says so
// (tir/analysis/distinct_tensors.h). Only files that use LLVM include this header.
#ifndef TERN_CODEGEN_LLVM_CODEGEN_LLVM_H_
#define TERN_CODEGEN_LLVM_CODEGEN_LLVM_H_

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <unordered_map>

#include "tern/codegen/llvm/debug_info.h"
#include "tern/codegen/llvm/llvm_target.h"
#include "tern/tir/atomics.h"
#include "tern/tir/function.h"

namespace tern::codegen {

class CodeGenLLVM {
 public:
  // Both outlive this.
  CodeGenLLVM(llvm::LLVMContext& context, const LLVMTarget& target);
  virtual ~CodeGenLLVM() = default;

  // The lines of the program come with the code of the functions that are added from here on.
  void EnableDebugInfo();
  void AddFunction(const tir::PrimFunc& function);
  // The module of all functions added, checked by LLVM's verifier.
  std::unique_ptr<llvm::Module> Finish();

 protected:
  // ---- What a target decides ----

  // Makes the LLVM function and binds the parameters' values.
  virtual llvm::Function* DeclareFunction(const tir::PrimFunc& function) = 0;
  // The first code of the body.
  virtual void EmitFunctionStart(const tir::PrimFunc&) {}
  // The return at the end of the body.
  virtual void EmitReturn() = 0;
  // A `for` of kind thread: by default the target has no such axes.
  virtual void EmitThreadLoop(const tir::ForNode* node);
  // Memory of another scope than local, or of a size that is not constant: by default there is
  // none.
  virtual llvm::Value* EmitScopedMemory(const tir::AllocateNode* node);
  virtual void EmitAssert(const tir::AssertNode* node) = 0;
  // Overrides fall back on this one, which knows what works on pointers and what LLVM has
  // instructions for, and throws on anything else.
  virtual llvm::Value* EmitCall(const ir::CallNode* node);
  // A store whose value is not computed but made where it goes; by default there is none. Whether
  // it was one.
  virtual bool EmitStoreInPlace(const tir::BufferStoreNode*) { return false; }
  // What the address of an access is surely a multiple of: by default, memory is aligned to
  // elements, never to vectors.
  virtual llvm::Align AccessAlignment(DataType dtype) const;
  // The least alignment of memory of scope local: by default a cache line, and the widest vector.
  virtual uint64_t frame_alignment() const { return 64; }

  // ---- For subclasses ----

  llvm::Value* Emit(const ir::Expr& expr);
  void Emit(const tir::Stmt& stmt);
  void Bind(const ir::Var& var, llvm::Value* value);
  // The node's body, for so many values of its variable.
  void EmitLoop(const tir::ForNode* node, llvm::Value* min, llvm::Value* extent);

  // How a value of the type stands in registers (bool: i1) and in memory (bool: i8).
  // Throws on a scalable vector where the target has none.
  llvm::Type* RegisterType(DataType dtype);
  llvm::Type* MemoryType(DataType dtype);
  // `tag` says which memory it is (TBAA); none: any.
  llvm::Value* Load(DataType dtype, llvm::Value* pointer, llvm::MDNode* tag = nullptr);
  void Store(DataType dtype, llvm::Value* value, llvm::Value* pointer, llvm::MDNode* tag = nullptr);
  // Converts as ir::CastNode says.
  llvm::Value* Convert(llvm::Value* value, DataType from, DataType to);

  // Memory in the function's frame, reserved once however often the place is passed.
  llvm::AllocaInst* FrameMemory(llvm::Type* type, const std::string& name);
  llvm::BasicBlock* NewBlock(const std::string& name);
  // A constant, NUL-terminated text.
  llvm::Value* Text(const std::string& text);

  const LLVMTarget& target() const { return target_; }
  llvm::Module& module() { return *module_; }
  llvm::IRBuilder<>& builder() { return builder_; }
  llvm::Function* function() { return builder_.GetInsertBlock()->getParent(); }

 private:
  // Expressions.
  llvm::Value* EmitNode(const ir::IntImmNode* node);
  llvm::Value* EmitNode(const ir::FloatImmNode* node);
  llvm::Value* EmitNode(const ir::StringImmNode* node);
  llvm::Value* EmitNode(const ir::VarNode* node);
  llvm::Value* EmitNode(const ir::AndNode* node);
  llvm::Value* EmitNode(const ir::OrNode* node);
  llvm::Value* EmitNode(const ir::NotNode* node);
  llvm::Value* EmitNode(const ir::SelectNode* node);
  llvm::Value* EmitNode(const ir::CastNode* node);
  llvm::Value* EmitNode(const ir::RampNode* node);
  llvm::Value* EmitNode(const ir::BroadcastNode* node);
  llvm::Value* EmitNode(const ir::ShuffleNode* node);
  llvm::Value* EmitNode(const ir::LetNode* node);
  llvm::Value* EmitNode(const ir::CallNode* node);
  llvm::Value* EmitNode(const ir::BufferLoadNode* node);
  template <ir::ExprKind K>
  llvm::Value* EmitNode(const ir::BinaryNode<K>* node) {
    return EmitBinary(K, node->a, node->b);
  }

  llvm::Value* EmitBinary(ir::ExprKind kind, const ir::Expr& a, const ir::Expr& b);
  llvm::Value* FloatBinary(ir::ExprKind kind, llvm::Value* a, llvm::Value* b);
  llvm::Value* IntBinary(ir::ExprKind kind, llvm::Value* a, llvm::Value* b, bool is_signed);
  llvm::Value* FloorDivMod(ir::ExprKind kind, llvm::Value* a, llvm::Value* b);
  llvm::Value* EmitIfThenElse(const ir::CallNode* node);
  llvm::Value* ShortCircuit(const ir::Expr& a, const ir::Expr& b, bool is_and);
  // 0, 1, 2, ...
  llvm::Value* LaneNumbers(llvm::VectorType* type);
  llvm::Value* EmitLaneWise(const ir::CallNode* node);  // null where LLVM has no such thing
  llvm::Value* EmitExternCall(const ir::CallNode* node);
  llvm::Value* EmitLLVMCall(const ir::CallNode* node);  // llvm_intrinsics.h

  // Statements.
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

  // Where an access begins: `contiguous` if one pointer serves all lanes.
  struct Access {
    bool contiguous;
    llvm::Value* base;   // of the buffer
    llvm::Value* index;  // a scalar if contiguous, else one per lane
    llvm::MDNode* tag;   // of the buffer's memory
  };
  // Whether all lanes of an access are memory of the function's frame, whatever the predicate.
  bool IsInFrame(const Access& access, DataType dtype) const;
  // Accesses with a predicate.
  llvm::Value* EmitMaskedLoad(const ir::BufferLoadNode* node);
  void EmitMaskedStore(const tir::BufferStoreNode* node);
  llvm::Value* LoadEveryOther(const ir::BufferLoadNode* node, llvm::Value* first);
  Access EmitAccess(const ir::Buffer& buffer, const std::vector<ir::Expr>& indices);
  llvm::Value* ElementPointer(const Access& access, DataType element, int lane);
  llvm::Value* EmitAtomic(const tir::Atomic& atomic);
  llvm::Value* EmitFloatOrder(const tir::Atomic& atomic, llvm::Value* place, llvm::Value* x);
  // Of all lanes of an access that is not contiguous, as a vector.
  llvm::Value* ElementPointers(const Access& access, DataType element);
  // The first lane's, or all lanes' as a vector; those that are off may be anywhere.
  llvm::Value* MaskedPointer(const Access& access, DataType dtype);

  // What no access to memory at another address has.
  llvm::MDNode* MemoryTag(const ir::Buffer& buffer);
  // Tells LLVM how the memory is aligned and how much there is, where that is known.
  void AssumeFacts(const ir::Buffer& buffer);

  const LLVMTarget& target_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> builder_;
  std::unique_ptr<DebugInfo> debug_info_;  // null: none
  // Of the function at hand.
  std::unordered_map<const ir::VarNode*, llvm::Value*> values_;
  bool distinct_ = false;
  std::unordered_map<const ir::VarNode*, llvm::MDNode*> memory_tags_;  // by address
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_CODEGEN_LLVM_H_
