// SPDX-License-Identifier: Apache-2.0
//
// Packed functions (docs/lowered_tir.md) written by hand, for tests of code generators: arguments
// are read without any check.
#ifndef TERN_CODEGEN_PACKED_TEST_FUNCTION_H_
#define TERN_CODEGEN_PACKED_TEST_FUNCTION_H_

#include <functional>
#include <string>
#include <vector>

#include "tern/ffi/module.h"
#include "tern/ffi/registry.h"
#include "tern/ir/expr.h"
#include "tern/target/target.h"
#include "tern/tir/function.h"
#include "tern/tir/transform/legalize/legalize_storage.h"
#include "tern/tir/transform/legalize/lower_intrinsics.h"

namespace tern::codegen {

class PackedTestFunction {
 public:
  explicit PackedTestFunction(std::string name) : name_(std::move(name)) {}

  // The next argument, a tensor object seen as flat.
  ir::Buffer Tensor(const std::string& name, DataType dtype, ir::Expr size = ir::Var("size")) {
    ir::Buffer buffer = ir::BufferNode::Make(name, dtype, {size});
    ir::Expr view = Move(Payload(DataType::Handle()), sizeof(TernObject));
    ir::Expr data = Load(DataType::Handle(), view, offsetof(TernTensorView, data));
    wrappers_.push_back([=](tir::Stmt body) {
      return tir::LetStmtNode::Make(buffer->data, data, tir::DeclBufferNode::Make(buffer, body));
    });
    ++num_args_;
    return buffer;
  }
  // The next argument, an int.
  ir::Var Int(const std::string& name) {
    ir::Var var(name, DataType::Int(64));
    ir::Expr value = Payload(DataType::Int(64));
    wrappers_.push_back([=](tir::Stmt body) { return tir::LetStmtNode::Make(var, value, body); });
    ++num_args_;
    return var;
  }

  const ir::Var& env() const { return env_; }
  const ir::Var& args() const { return args_; }

  tir::PrimFunc Make(tir::Stmt body) const {
    for (auto it = wrappers_.rbegin(); it != wrappers_.rend(); ++it) body = (*it)(body);
    std::vector<tir::Param> params = {{env_, {}}, {args_, {}}, {num_args_var_, {}}, {result_, {}}};
    return tir::PrimFunc::Make(name_, params, body,
                               {{tir::attr::kCallingConvention,
                                 tir::CallingConventionName(tir::CallingConvention::kPacked)}});
  }

  static ir::Expr Call(const std::string& name, std::vector<ir::Expr> args,
                       DataType dtype = DataType::Void()) {
    return ir::CallNode::Make(name, std::move(args), dtype);
  }
  static ir::Expr Load(DataType dtype, ir::Expr pointer, int64_t offset) {
    return Call("ptr_load", {std::move(pointer), offset}, dtype);
  }
  static ir::Expr Move(ir::Expr pointer, int64_t offset) {
    return Call("ptr_add", {std::move(pointer), offset});
  }

 private:
  ir::Expr Payload(DataType dtype) const {
    auto offset = static_cast<int64_t>(num_args_ * sizeof(TernAny) + offsetof(TernAny, v_int));
    return Load(dtype, args_, offset);
  }

  std::string name_;
  ir::Var env_{"env", DataType::Handle()}, args_{"args", DataType::Handle()},
      num_args_var_{"num_args", DataType::Int(32)}, result_{"result", DataType::Handle()};
  size_t num_args_ = 0;
  std::vector<std::function<tir::Stmt(tir::Stmt)>> wrappers_;
};

// What code generators expect to be lowered in any expression.
inline tir::PrimFunc LowerForTest(const tir::PrimFunc& function, const target::Target& target) {
  return tir::LegalizeStorage(tir::LowerIntrinsics(function.WithAttr(tir::attr::kTarget, target)));
}

// Generates code as Compile would, without other lowering.
inline ffi::Module BuildForTest(const std::vector<tir::PrimFunc>& functions,
                                const target::Target& target) {
  std::vector<ir::BaseFunc> base;
  for (const tir::PrimFunc& function : functions) base.push_back(LowerForTest(function, target));
  return ffi::GetGlobal("target.build." + target->kind->name)(ir::IRModule::Make(base), target)
      .As<ffi::Module>();
}

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_PACKED_TEST_FUNCTION_H_
