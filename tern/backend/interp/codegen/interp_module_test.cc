// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

TEST(InterpTarget, RunsFunctionsAsTheyWereWritten) {
  Initialize();
  ir::IRModule module =
      tir::ParseModule("t", "func twice(A: int32[n]) { for i in 0..n { A[i] = A[i] * 2 } }");
  ffi::Module compiled = Compile(module, target::Target::Parse("interp"));
  runtime::Tensor a = runtime::Tensor::Empty({2}, DataType::Int(32));
  a.as<int32_t>()[0] = 3;
  a.as<int32_t>()[1] = -4;
  compiled->GetFunction("twice")(a);
  EXPECT_EQ(a.as<int32_t>()[0], 6);
  EXPECT_EQ(a.as<int32_t>()[1], -8);
  EXPECT_FALSE(compiled->GetFunction("thrice"));
  EXPECT_NE(compiled->InspectSource("").find("func twice"), std::string::npos);
}

}  // namespace
}  // namespace tern
