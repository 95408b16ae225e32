// SPDX-License-Identifier: Apache-2.0
//
// run_artifact FILE FUNCTION: calls FUNCTION(A, B, C) of the file on three tensors of 4 float32,
// with A = 0 1 2 3 and B = 1 1 1 1 given, and prints C.
#include <cstdio>

#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/tensor.h"

int main(int argc, char** argv) {
  using tern::runtime::Tensor;
  if (argc != 3) return 2;
  try {
    tern::ffi::Module module = tern::runtime::Artifact::Open(argv[1]).Load();
    Tensor a = Tensor::Empty({4}, tern::DataType::Float(32)),
           b = Tensor::Empty({4}, tern::DataType::Float(32)),
           c = Tensor::Empty({4}, tern::DataType::Float(32));
    for (int i = 0; i < 4; ++i) {
      a.as<float>()[i] = static_cast<float>(i);
      b.as<float>()[i] = 1;
    }
    module->GetFunction(argv[2])(a, b, c);
    for (int i = 0; i < 4; ++i) std::printf("%g\n", c.as<float>()[i]);
  } catch (const tern::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
