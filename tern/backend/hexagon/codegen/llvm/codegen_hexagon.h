// SPDX-License-Identifier: Apache-2.0
//
// Kernels for Hexagon. A kernel is int name(const Slot* arguments): one slot of 8 bytes for each
// parameter, then one for the number of blocks on each of the axes x, y and z. It runs all of them,
// one after another.
#ifndef TERN_BACKEND_HEXAGON_CODEGEN_LLVM_CODEGEN_HEXAGON_H_
#define TERN_BACKEND_HEXAGON_CODEGEN_LLVM_CODEGEN_HEXAGON_H_

#include <map>
#include <string>

#include "tern/codegen/llvm/codegen_llvm.h"
#include "tern/runtime/kernel/device_artifact.h"

namespace tern::backend::hexagon {

class CodeGenHexagon : public codegen::CodeGenLLVM {
 public:
  using CodeGenLLVM::CodeGenLLVM;
  // Of the kernels added so far.
  const runtime::KernelMap& kernels() const { return kernels_; }

 protected:
  llvm::Function* DeclareFunction(const tir::PrimFunc& function) override;
  void EmitFunctionStart(const tir::PrimFunc& function) override;
  void EmitReturn() override;
  void EmitThreadLoop(const tir::ForNode* node) override;
  void EmitAssert(const tir::AssertNode* node) override;

 private:
  llvm::Value* LoadSlot(size_t number, DataType dtype);

  runtime::KernelMap kernels_;
  std::map<std::string, llvm::Value*> extents_;  // of the launch at hand, by axis
};

}  // namespace tern::backend::hexagon

#endif  // TERN_BACKEND_HEXAGON_CODEGEN_LLVM_CODEGEN_HEXAGON_H_
