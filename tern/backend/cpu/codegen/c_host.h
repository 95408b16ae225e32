// SPDX-License-Identifier: Apache-2.0
//
// Host functions as C99, and what their two conventions share.
#ifndef TERN_BACKEND_CPU_CODEGEN_C_HOST_H_
#define TERN_BACKEND_CPU_CODEGEN_C_HOST_H_

#include <map>
#include <string>

#include "tern/codegen/c/codegen_c.h"

namespace tern::backend::cpu {

struct AnyMaker;

// Writes one self-contained file: it includes nothing but headers that every C99 compiler has, and
// declares the part of Tern's ABI (tern/ffi/c_abi.h) that it uses. Takes functions of calling
// convention "packed".
class CodeGenCHost : public codegen::CodeGenC {
 public:
  CodeGenCHost();
  // The declarations of the functions so far, "int32_t f(...);", by name.
  const std::map<std::string, std::string>& prototypes() const { return prototypes_; }

 protected:
  std::string ValueType(DataType dtype) override;
  std::string StorageType(DataType dtype) override;
  std::string NonFiniteLiteral(DataType dtype, double value) override;
  std::string Preamble() const override;
  std::string FunctionHead(const tir::PrimFunc& function) override;
  void EmitFunctionStart(const tir::PrimFunc& function) override;
  void EmitFunctionEnd(const tir::PrimFunc& function) override;
  void EmitAssert(const tir::AssertNode* node) override;
  codegen::Code PrintCall(const ir::CallNode* node) override;
  std::string FunctionName(const ir::CallNode* node) override;
  void EmitCall(const ir::CallNode* node) override;
  std::string UseAtomic(const tir::Atomic& atomic) override;

  // What every file starts with: the standard's headers.
  std::string Includes() const;
  // The declarations, as part of the file.
  std::string PrototypeLines() const;
  // `symbol(params)` as the head of a function that is declared like that.
  std::string AddPrototype(const std::string& function, const std::string& declarator);
  // Makes the function one of the file alone; its head then.
  std::string MakeInternal(const std::string& function);
  static void CheckSymbol(const std::string& function);

  bool uses_math_ = false;

 private:
  // The head of the function of a parallel loop's iterations.
  std::string ParallelHead(const std::string& name, const std::string (&params)[4]) const;
  void EmitParallelFor(const ir::CallNode* node);
  void EmitCheckArguments(const ir::CallNode* node);
  // TERN_AT of a slot that is no int64_t.
  std::string PrintSlot(const std::string& type, const ir::Expr& offset);
  codegen::Code PrintExternCall(const ir::CallNode* node);
  // Calls of functions through the environment, and of those of the module.
  void EmitPackedCall(const ir::CallNode* node);
  std::string PrintWorkspaceCall(const ir::CallNode* node);
  // An expression as a TernAny, for messages and calls.
  std::string PrintAny(const ir::Expr& expr);
  std::string PrintMade(const AnyMaker& maker, const std::string& value);
  // The object of a C type that lies `offset` bytes behind an address.
  std::string PrintAt(const std::string& type, ir::Expr address, ir::Expr offset);
  // Declares a TernTensorView and returns its name.
  std::string EmitTensorView(const ir::CallNode* node);
  // Declares an array of them and returns its name; "NULL" for none.
  std::string EmitAnyArray(const char* wanted, const ir::Expr* begin, const ir::Expr* end);

  std::map<std::string, std::string> externs_;     // declarations by symbol
  std::map<std::string, std::string> prototypes_;  // by function
  const ir::VarNode* slots_ = nullptr;             // of check_arguments, in the function at hand
  std::string env_;                                // the name of the function's environment
};

struct CSource {
  std::string text;
  std::map<std::string, std::string> prototypes;  // by function
  int64_t static_bytes = 0;                       // of memory that the functions share
};
// The functions of a module, in order of name.
CSource WriteC(const ir::IRModule& module);

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_C_HOST_H_
