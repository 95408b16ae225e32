// SPDX-License-Identifier: Apache-2.0
//
// Values for a debugger to print, at Stop.
#include "tern/ffi/containers.h"
#include "tern/ir/expr.h"

extern "C" __attribute__((noinline)) void Stop(const void*) {}

int main() {
  using namespace tern;
  ir::Var n("n"), i("i", DataType::Int(64));
  ir::Buffer a = ir::BufferNode::Make("A", DataType::Float(32), {n});
  ir::Expr sum = ir::AddNode::Make(ir::MulNode::Make(i, ir::Expr(4)), n);
  ir::Expr load = ir::BufferLoadNode::Make(a, {sum});
  ir::Expr missing;
  ffi::Array array =
      ffi::MakeArray({ffi::Any(int64_t{7}), ffi::Any(0.5), ffi::Any("text"), ffi::Any()});
  DataType dtype = DataType::Float(16, 8);
  // What these are is known to a debugger of the compiler, and here by use.
  const ir::IntImmNode* four = nullptr;
  const ir::BufferLoadNode* loads = nullptr;
  const ir::VarNode* variable = nullptr;
  Stop(&array);
  Stop(&dtype);
  return missing.get() || !load.get() || four || loads || variable;
}
