// SPDX-License-Identifier: Apache-2.0
//
// Host functions: the packed convention over TernEnv.
#ifndef TERN_BACKEND_CPU_CODEGEN_LLVM_CODEGEN_CPU_H_
#define TERN_BACKEND_CPU_CODEGEN_LLVM_CODEGEN_CPU_H_

#include <functional>
#include <vector>

#include "tern/codegen/llvm/codegen_llvm.h"

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
  // Where `failed`: what `report` emits, then return -1. Else go on.
  void FailIf(llvm::Value* failed, const std::function<void()>& report);
  llvm::Function* DeclareEntry(const std::string& name);
  // The function of a parallel loop's iterations, whether its body has come already or not.
  llvm::Function* ParallelBody(const std::string& name);
  llvm::Value* EmitParallelFor(const ir::CallNode* node);
  llvm::Value* EmitImportCall(const ir::CallNode* node);
  // A call of the environment's entry at `offset` with the node's arguments, the first of which is
  // the environment.
  llvm::Value* EmitEnvCall(const ir::CallNode* node, size_t offset, llvm::Type* result);
  // An array of TernAny in the frame that holds the values.
  llvm::Value* PackValues(const std::vector<ir::Expr>& values);
  void PackValue(const ir::Expr& value, llvm::Value* slot);
  void FillValue(llvm::Value* slot, int32_t type_index, llvm::Value* payload);
  // The function pointer at a byte offset of the environment, called with (env, ...).
  llvm::Value* CallEnv(llvm::Value* env, size_t offset, llvm::Type* result,
                       const std::vector<llvm::Value*>& arguments);

  llvm::Value* env_ = nullptr;  // of the function at hand
};

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_LLVM_CODEGEN_CPU_H_
