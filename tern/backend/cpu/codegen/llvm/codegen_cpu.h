// SPDX-License-Identifier: Apache-2.0
//
// Host functions: the packed convention over TernEnv.
#ifndef TERN_BACKEND_CPU_CODEGEN_LLVM_CODEGEN_CPU_H_
#define TERN_BACKEND_CPU_CODEGEN_LLVM_CODEGEN_CPU_H_

#include <functional>
#include <map>
#include <vector>

#include "tern/codegen/llvm/codegen_llvm.h"
#include "tern/ffi/abi_layout.h"

namespace tern::backend::cpu {

class CodeGenCPU : public codegen::CodeGenLLVM {
 public:
  using CodeGenLLVM::CodeGenLLVM;

 protected:
  llvm::Function* DeclareFunction(const tir::PrimFunc& function) override;
  void EmitReturn() override;
  void EmitAssert(const tir::AssertNode* node) override;
  llvm::Value* EmitCall(const ir::CallNode* node) override;

 private:
  ffi::AbiLayout layout() { return ffi::AbiLayout(target().pointer_bytes()); }
  // On where the condition holds, as it is expected to, else to `to`.
  void GoUnless(llvm::Value* expected, llvm::BasicBlock* to);
  // In `error`: what `report` emits, then return -1.
  void EmitFailure(llvm::BasicBlock* error, const std::function<void()>& report);
  // Returns -1 where a call did not return 0.
  void FailIfNonzero(llvm::Value* code);
  llvm::Function* DeclareEntry(const std::string& name);
  // The function of a parallel loop's iterations, whether its body has come already or not.
  llvm::Function* ParallelBody(const std::string& name);
  llvm::Value* EmitParallelFor(const ir::CallNode* node);
  llvm::Value* EmitImportCall(const ir::CallNode* node);
  // A call of another function of the module.
  llvm::Value* EmitEntryCall(const ir::CallNode* node);
  llvm::Value* EmitCheckArguments(const ir::CallNode* node);
  // What check_arguments reads, as a constant.
  llvm::Constant* ArgumentTable(const ir::CallNode* check_arguments);
  llvm::Value* EmitSymbolAddress(const ir::CallNode* node);
  // A call of the environment's entry at `offset` with the node's arguments, the first of which is
  // the environment.
  llvm::Value* EmitEnvCall(const ir::CallNode* node, int64_t offset, llvm::Type* result);
  // An array of TernAny in the frame that holds the values.
  llvm::Value* PackValues(const std::vector<ir::Expr>& values);
  void PackValue(const ir::Expr& value, llvm::Value* slot);
  // What a TernAny of the value holds: its kind and its payload.
  std::pair<int32_t, llvm::Value*> EmitValue(const ir::Expr& value);
  // raise(env, error kind, payloads...): packs a message whose values have these kinds, and calls
  // the environment. Functions have dozens of asserts, most of them of the same few kinds, and
  // would else spend more of LLVM's time on messages than on loops.
  llvm::Function* RaiseFunction(const std::vector<int32_t>& kinds,
                                llvm::ArrayRef<llvm::Value*> payloads);
  // A TernTensorView in the frame.
  llvm::Value* EmitTensorView(const ir::CallNode* node);
  // Memory of the frame that calls use in turn.
  llvm::AllocaInst* CallMemory(const std::string& what, uint64_t bytes);
  void FillValue(llvm::Value* slot, int32_t type_index, llvm::Value* payload);
  // The function pointer at a byte offset of the environment, called with (env, ...).
  llvm::Value* CallEnv(llvm::Value* env, int64_t offset, llvm::Type* result,
                       const std::vector<llvm::Value*>& arguments);

  // Of the function at hand.
  llvm::Value* env_ = nullptr;
  std::map<std::pair<std::string, uint64_t>, llvm::AllocaInst*> call_memory_;
  size_t views_ = 0;  // of the call at hand
};

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_LLVM_CODEGEN_CPU_H_
