// SPDX-License-Identifier: Apache-2.0
//
// Host functions as C99 that needs no runtime, no library and no heap.
#ifndef TERN_BACKEND_CPU_CODEGEN_C_PLAIN_H_
#define TERN_BACKEND_CPU_CODEGEN_C_PLAIN_H_

#include "tern/backend/cpu/codegen/c_host.h"

namespace tern::backend::cpu {

// Takes functions of calling convention "plain": `int32_t f(const float* A, float* B, int64_t n)`
// returns 0, or -1 where an assert fails. Their static memory is one array of the file.
class CodeGenCPlain : public CodeGenCHost {
 public:
  CodeGenCPlain();
  bool has_workspace() const { return workspace_bytes_ > 0; }

 protected:
  std::string Preamble() const override;
  std::string FunctionHead(const tir::PrimFunc& function) override;
  void EmitFunctionStart(const tir::PrimFunc& function) override;
  void EmitAssert(const tir::AssertNode* node) override;
  void EmitAllocate(const tir::AllocateNode* node) override;
  std::string FunctionName(const ir::CallNode* node) override;

 private:
  std::string PrintParam(const tir::Param& param);

  int64_t workspace_bytes_ = 0, workspace_alignment_ = 0;
};

// The functions of a module, in order of name.
CSource WritePlainC(const ir::IRModule& module);

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_C_PLAIN_H_
