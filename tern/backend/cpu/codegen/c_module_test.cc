// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/c_module.h"

#include <gtest/gtest.h>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/function.h"

namespace tern::backend::cpu {
namespace {

// B = 2 A
ffi::Module CompileScale(const char* target) {
  Initialize();
  ir::Var n("n"), i("i");
  ir::Buffer a = ir::BufferNode::Make("A", DataType::Float(32), {n}),
             b = ir::BufferNode::Make("B", DataType::Float(32), {n});
  ir::Expr twice = ir::BufferLoadNode::Make(a, {i}) * ir::MakeConst(DataType::Float(32), 2);
  tir::Stmt body =
      tir::ForNode::Make(i, 0, n, tir::ForKind::kSerial, tir::BufferStoreNode::Make(b, {i}, twice));
  tir::PrimFunc scale = tir::PrimFunc::Make("scale", {{a->data, a}, {b->data, b}}, body);
  return Compile(ir::IRModule::Make({scale}), target::Target::Parse(target));
}

TEST(CSourceModule, IsSourceThatCanBeLinkedAndNotRun) {
  ffi::Module module = CompileScale("c");
  EXPECT_EQ(module->kind(), "c");
  EXPECT_EQ(module->properties(), static_cast<uint32_t>(ffi::ModuleObj::kLinkable));
  EXPECT_EQ(module->FunctionNames(), std::vector<std::string>{"scale"});
  EXPECT_NE(module->InspectSource("").find("B[i] = A[i] * 2.0f;"), std::string::npos)
      << module->InspectSource("c");
  EXPECT_THROW(module->InspectSource("ll"), Error);
  EXPECT_FALSE(module->GetFunction("other"));
  try {
    module->GetFunction("scale");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "scale: c source is not runnable as it is: export it or use tern run");
  }
}

TEST(CSourceModule, RunsOnceItIsLoaded) {
  ffi::Module module = codegen::LoadLinkable(
      CompileScale(R"({"kind": "c", "cc": "cc -pedantic -Wall -Wextra -Werror"})"));
  auto in = runtime::Tensor::Empty({5}, DataType::Float(32)),
       out = runtime::Tensor::Empty({5}, DataType::Float(32));
  for (int64_t i = 0; i < 5; ++i) runtime::SetElement(in, i, static_cast<double>(i) + 0.5);
  ffi::Function scale = module->GetFunction("scale");
  scale(in, out);
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(runtime::GetElement(out, i), 2.0 * static_cast<double>(i) + 1);
  // A loaded module is runnable already.
  EXPECT_TRUE(codegen::LoadLinkable(module).same(module));
  try {
    scale(in, runtime::Tensor::Empty({4}, DataType::Float(32)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "ValueError");
    EXPECT_NE(error.message().find("argument 1 (B)"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace tern::backend::cpu
