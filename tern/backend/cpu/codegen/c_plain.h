// SPDX-License-Identifier: Apache-2.0
//
// Host functions as C99 that needs no runtime, no library and no heap.
#ifndef TERN_BACKEND_CPU_CODEGEN_C_PLAIN_H_
#define TERN_BACKEND_CPU_CODEGEN_C_PLAIN_H_

#include <set>
#include <string>

#include "tern/backend/cpu/codegen/c_host.h"

namespace tern::backend::cpu {

// Takes functions of calling convention "plain": `int32_t f(const float* A, float* B, int64_t n)`
// returns 0, or -1 where an assert fails. Their static memory is one array of the file; functions
// that call others have another one, which is not used by those.
class CodeGenCPlain : public CodeGenCHost {
 public:
  // `called` are those that others of the module call, and nobody else does.
  explicit CodeGenCPlain(std::set<std::string> called);
  // Of the file.
  int64_t static_bytes() const { return workspace_bytes_ + arena_bytes_; }

 protected:
  std::string Preamble() const override;
  std::string FunctionHead(const tir::PrimFunc& function) override;
  void EmitCall(const ir::CallNode* node) override;
  void EmitFunctionStart(const tir::PrimFunc& function) override;
  void EmitAssert(const tir::AssertNode* node) override;
  void EmitAllocate(const tir::AllocateNode* node) override;
  std::string FunctionName(const ir::CallNode* node) override;

 private:
  std::string PrintParam(const tir::Param& param);

  std::set<std::string> called_;
  bool is_caller_ = false;  // of the function at hand
  int64_t workspace_bytes_ = 0, arena_bytes_ = 0, static_alignment_ = 1;
};

// The functions of a module, in order of name.
CSource WritePlainC(const ir::IRModule& module);

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_C_PLAIN_H_
