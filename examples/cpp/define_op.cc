// SPDX-License-Identifier: Apache-2.0
//
// Defines an operator in C++ (a fully connected layer: Y = relu(X * W + b)), prints it as text,
// compiles it for this machine, runs it, and compares the result with a plain loop.
#include <cmath>
#include <cstdio>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/builder.h"
#include "tern/tir/text.h"

namespace {

using tern::DataType;
using tern::ir::Var;

tern::tir::PrimFunc DefineDense() {
  using namespace tern::tir;
  const DataType f32 = DataType::Float(32);
  Var n("n"), k("k"), m("m");
  Tensor x = Input("X", f32, {n, k}), w = Input("W", f32, {k, m}), b = Input("B", f32, {m});
  ReduceAxis l("l", k);
  Tensor product = Compute("P", {n, m}, [&](Var i, Var j) { return Sum(x(i, l) * w(l, j), {l}); });
  Tensor y =
      Compute("Y", {n, m}, [&](Var i, Var j) { return Max(product(i, j) + b(j), Const(f32, 0)); });
  // The product is an output too, so the function needs no memory of its own.
  return MakeFunction("dense", {x, w, b, product, y});
}

// A tensor of small numbers that are exact in float32, so that sums are too.
tern::runtime::Tensor MakeTensor(std::vector<int64_t> shape) {
  auto tensor = tern::runtime::Tensor::Empty(std::move(shape), DataType::Float(32));
  for (int64_t i = 0; i < tensor->num_elements(); ++i)
    tensor.as<float>()[i] = static_cast<float>(i * 7 % 13) - 6;
  return tensor;
}

int Run() {
  tern::Initialize();
  tern::ir::IRModule module = tern::ir::IRModule::Make({DefineDense()});
  std::printf("%s\n", tern::tir::PrintModule(module).c_str());

  tern::ffi::Module compiled =
      tern::codegen::LoadLinkable(tern::Compile(module, tern::target::Target::DefaultHost()));
  tern::ffi::Function dense = compiled->GetFunction("dense");

  const int64_t n = 5, k = 6, m = 7;
  auto x = MakeTensor({n, k}), w = MakeTensor({k, m}), b = MakeTensor({m});
  auto p = MakeTensor({n, m}), y = MakeTensor({n, m});
  dense(x, w, b, p, y);

  float worst = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += x.as<float>()[i * k + l] * w.as<float>()[l * m + j];
      float expected = std::fmax(sum + b.as<float>()[j], 0.0F);
      worst = std::fmax(worst, std::fabs(y.as<float>()[i * m + j] - expected));
    }
  }
  std::printf("largest error: %g\n", worst);
  return worst == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return Run();
  } catch (const tern::Error& error) {
    std::fprintf(stderr, "define_op: error: %s\n", error.what());
    return 1;
  }
}
