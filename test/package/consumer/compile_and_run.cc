// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "tern/compile.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/text.h"

int main() {
  using tern::runtime::Tensor;
  tern::Initialize();
  tern::ir::IRModule module = tern::tir::ParseModule("twice.tir",
                                                     "func twice(A: float32[4]) {\n"
                                                     "  for i in 0..4 {\n"
                                                     "    A[i] = A[i] + A[i]\n"
                                                     "  }\n"
                                                     "}\n");
  tern::ffi::Module compiled = tern::Compile(module, tern::target::Target::DefaultHost());
  Tensor a = Tensor::Empty({4}, tern::DataType::Float(32));
  for (int i = 0; i < 4; ++i) a.as<float>()[i] = static_cast<float>(i);
  compiled->GetFunction("twice")(a);
  std::printf("%g\n", a.as<float>()[3]);
  return a.as<float>()[3] == 6 ? 0 : 1;
}
