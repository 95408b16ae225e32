// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/builder.h"

#include <gtest/gtest.h>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/runtime/runner.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/block_op.h"
#include "tern/tir/interpreter/interpreter.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

const DataType kFloat = DataType::Float(32);

class BuilderTest : public ::testing::Test {
 protected:
  void SetUp() override { Initialize(); }

  static ir::IRModule ModuleOf(const PrimFunc& function) { return ir::IRModule::Make({function}); }

  static void ExpectText(const PrimFunc& function, const std::string& text) {
    ir::IRModule module = ModuleOf(function), expected = ParseModule("expected.tir", text);
    Verify(module);
    EXPECT_TRUE(StructuralEqual(module, expected)) << PrintModule(module) << "instead of\n"
                                                   << PrintModule(expected);
    EXPECT_TRUE(StructuralEqual(module, ParseModule("printed.tir", PrintModule(module))));
  }

  // The arguments after the interpreter ran the function on random inputs.
  static std::vector<runtime::Tensor> Run(const PrimFunc& function,
                                          const std::map<std::string, int64_t>& dims) {
    std::vector<ffi::Any> args = Arguments(function, dims);
    Interpret(ModuleOf(function), function->name, args);
    return Tensors(args);
  }
  // Compiled code gives what the interpreter does.
  static void ExpectCompiles(const PrimFunc& function, const std::map<std::string, int64_t>& dims) {
    std::vector<runtime::Tensor> expected = Run(function, dims);
    std::vector<ffi::Any> args = Arguments(function, dims);
    ffi::Module module = Compile(ModuleOf(function), target::Target::DefaultHost());
    std::vector<ffi::AnyView> views(args.begin(), args.end());
    codegen::LoadLinkable(module)->GetFunction(function->name).CallPacked(views);
    std::vector<runtime::Tensor> actual = Tensors(args);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!expected[i]) continue;  // a scalar
      EXPECT_LE(runtime::CompareTensors(actual[i], expected[i]).scaled, 1e-5) << i;
    }
  }

  static std::vector<ffi::Any> Arguments(const PrimFunc& function,
                                         const std::map<std::string, int64_t>& dims) {
    runtime::RunOptions options;
    options.dims = dims;
    runtime::ArtifactMeta meta = DescribeModule(ModuleOf(function), target::Target::DefaultHost());
    std::map<std::string, int64_t> solved;
    return runtime::MakeArguments(meta.functions[0], options, &solved);
  }
  static std::vector<runtime::Tensor> Tensors(const std::vector<ffi::Any>& args) {
    std::vector<runtime::Tensor> tensors;
    for (const ffi::Any& arg : args)
      tensors.push_back(arg.TryAs<runtime::Tensor>().value_or(runtime::Tensor()));
    return tensors;
  }

  template <class F>
  static std::string ErrorOf(F&& f) {
    try {
      f();
    } catch (const Error& error) {
      return error.kind() + ": " + error.what();
    }
    return "no error";
  }
};

TEST_F(BuilderTest, BlocksAreOfTheOutermostOperator) {
  Tensor x = Input("X", kFloat, {8});
  Tensor y, z;
  {
    OpScope outer("gelu");
    OpScope inner("erf");
    y = Elementwise("Y", {x}, [](Expr a) { return Call("erf", {a}); });
  }
  z = Elementwise("Z", {y}, [](Expr a) { return a + a; });
  ExpectText(MakeFunction("f", {x, z}), R"(func f(X: float32[8], Z: float32[8]) {
    alloc Y: float32[8] in local
    for i in 0..8 {
      block Y(vi: spatial(8) = i) attrs {op = "gelu"} {
        Y[vi] = erf(X[vi])
      }
    }
    for i in 0..8 {
      block Z(vi: spatial(8) = i) {
        Z[vi] = Y[vi] + Y[vi]
      }
    }
  })");
}

TEST_F(BuilderTest, Matmul) {
  Var n("n"), k("k"), m("m");
  Tensor a = Input("A", kFloat, {n, k}), b = Input("B", kFloat, {k, m});
  ReduceAxis l("l", k);
  Tensor c = Compute("C", {n, m}, [&](Var i, Var j) { return Sum(a(i, l) * b(l, j), {l}); });
  PrimFunc matmul = MakeFunction("matmul", {a, b, c});
  ExpectText(matmul, R"(func matmul(A: float32[n, k], B: float32[k, m], C: float32[n, m]) {
    for i in 0..n, j in 0..m, l in 0..k {
      block C(vi: spatial(n) = i, vj: spatial(m) = j, vk: reduce(k) = l) {
        init { C[vi, vj] = 0 }
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
      }
    }
  })");
  EXPECT_EQ(Print(matmul), R"(func matmul(A: float32[n, k], B: float32[k, m], C: float32[n, m]) {
  for i0 in 0..n {
    for i1 in 0..m {
      for l in 0..k {
        block C(vi0: spatial(n) = i0, vi1: spatial(m) = i1, vl: reduce(k) = l) {
          init {
            C[vi0, vi1] = 0.0
          }
          C[vi0, vi1] = C[vi0, vi1] + A[vi0, vl] * B[vl, vi1]
        }
      }
    }
  }
}
)");
  ExpectCompiles(matmul, {{"n", 5}, {"k", 7}, {"m", 3}});
}

TEST_F(BuilderTest, SeveralStages) {
  // A softmax whose weight is 1 / (1 + max - x).
  Var n("n");
  Tensor x = Input("X", kFloat, {n, 8});
  ReduceAxis l("l", 8);
  Expr one = Const(kFloat, 1);
  Tensor most = Compute("M", {n}, [&](Var i) { return MaxOf(x(i, l), {l}); });
  Tensor weight =
      Compute("W", {n, 8}, [&](Var i, Var j) { return one / (one + (most(i) - x(i, j))); });
  Tensor sum = Compute("S", {n}, [&](Var i) { return Sum(weight(i, l), {l}); });
  Tensor y = Compute("Y", {n, 8}, [&](Var i, Var j) { return weight(i, j) / sum(i); });
  ExpectText(MakeFunction("f", {x, y}), R"(func f(X: float32[n, 8], Y: float32[n, 8]) {
    alloc M: float32[n]
    for i in 0..n, l in 0..8 {
      block M(vi: spatial(n) = i, vl: reduce(8) = l) {
        init { M[vi] = -inf }
        M[vi] = max(M[vi], X[vi, vl])
      }
    }
    alloc W: float32[n, 8]
    for i in 0..n, j in 0..8 {
      block W(vi: spatial(n) = i, vj: spatial(8) = j) { W[vi, vj] = 1 / (1 + (M[vi] - X[vi, vj])) }
    }
    alloc S: float32[n]
    for i in 0..n, l in 0..8 {
      block S(vi: spatial(n) = i, vl: reduce(8) = l) {
        init { S[vi] = 0 }
        S[vi] = S[vi] + W[vi, vl]
      }
    }
    for i in 0..n, j in 0..8 {
      block Y(vi: spatial(n) = i, vj: spatial(8) = j) { Y[vi, vj] = W[vi, vj] / S[vi] }
    }
  })");
  // Every row adds up to 1.
  runtime::Tensor rows = Run(MakeFunction("f", {x, y}), {{"n", 3}})[1];
  for (int i = 0; i < 3; ++i) {
    double total = 0;
    for (int j = 0; j < 8; ++j) total += runtime::GetElement(rows, 8 * i + j);
    EXPECT_NEAR(total, 1, 1e-6);
  }
  // With the intermediate results as outputs there is nothing to allocate.
  ExpectCompiles(MakeFunction("g", {x, most, weight, sum, y}), {{"n", 3}});
}

TEST_F(BuilderTest, MemoryOfConstantSizeIsLocal) {
  Tensor a = Input("A", kFloat, {4});
  Tensor t = Compute("T", {4}, [&](Var i) { return a(i) + a(i); });
  Tensor c = Compute("C", {4}, [&](Var i) { return t(3 - i); });
  PrimFunc f = MakeFunction("f", {a, c});
  ExpectText(f, R"(func f(A: float32[4], C: float32[4]) {
    alloc T: float32[4] in local
    for i in 0..4 { block T(vi: spatial(4) = i) { T[vi] = A[vi] + A[vi] } }
    for i in 0..4 { block C(vi: spatial(4) = i) { C[vi] = T[3 - vi] } }
  })");
  ExpectCompiles(f, {});
}

TEST_F(BuilderTest, Conv2dWithStrideAndPadding) {
  Var h("h"), w("w");
  Tensor x = Input("X", kFloat, {2, h, w}), k = Input("K", kFloat, {3, 2, 3, 3});
  ReduceAxis c("c", 2), r("r", 3), s("s", 3);
  auto out = [](const Var& extent) { return ir::FloorDiv(extent - 1, Expr(2)) + 1; };
  Tensor y = Compute("Y", {3, out(h), out(w)}, [&](Var o, Var i, Var j) {
    Expr row = i * 2 + r - 1, column = j * 2 + s - 1;
    Expr inside = row >= 0 && row < h && (column >= 0 && column < w);
    return Sum(x(c, row, column) * k(o, c, r, s), {c, r, s}).Where(inside);
  });
  PrimFunc conv = MakeFunction("conv", {x, k, y});
  ExpectText(conv, R"(
    func conv(X: float32[2, h, w], K: float32[3, 2, 3, 3], Y: float32[3, (h - 1) // 2 + 1, (w - 1) // 2 + 1]) {
      for o in 0..3, i in 0..(h - 1) // 2 + 1, j in 0..(w - 1) // 2 + 1, c in 0..2, r in 0..3, s in 0..3 {
        block Y(vo: spatial(3) = o, vi: spatial((h - 1) // 2 + 1) = i, vj: spatial((w - 1) // 2 + 1) = j,
                vc: reduce(2) = c, vr: reduce(3) = r, vs: reduce(3) = s) {
          init { Y[vo, vi, vj] = 0 }
          if vi * 2 + vr - 1 >= 0 && vi * 2 + vr - 1 < h && (vj * 2 + vs - 1 >= 0 && vj * 2 + vs - 1 < w) {
            Y[vo, vi, vj] = Y[vo, vi, vj] + X[vc, vi * 2 + vr - 1, vj * 2 + vs - 1] * K[vo, vc, vr, vs]
          }
        }
      }
    })");
  ExpectCompiles(conv, {{"h", 7}, {"w", 6}});
  // The same in two stages, padding first.
  Tensor padded = Compute("P", {2, h + 2, w + 2}, [&](Var c, Var i, Var j) {
    Expr inside = i >= 1 && i < h + 1 && (j >= 1 && j < w + 1);
    return Where(inside, x(c, i - 1, j - 1), Const(kFloat, 0));
  });
  Tensor z = Compute("Z", {3, out(h), out(w)}, [&](Var o, Var i, Var j) {
    return Sum(padded(c, i * 2 + r, j * 2 + s) * k(o, c, r, s), {c, r, s});
  });
  std::vector<runtime::Tensor> both = Run(MakeFunction("both", {x, k, y, z}), {{"h", 7}, {"w", 6}});
  EXPECT_EQ(runtime::CompareTensors(both[2], both[3]).absolute, 0);
}

TEST_F(BuilderTest, TransposedAddWithAScalar) {
  Var n("n"), m("m"), s("s", kFloat);
  Tensor a = Input("A", kFloat, {n, m}), b = Input("B", kFloat, {m, n});
  Tensor t = Compute("T", {n, m}, [&](Var i, Var j) { return b(j, i); });
  Tensor c = Elementwise("C", {a, t}, [&](Expr x, Expr y) { return x + s * y; });
  PrimFunc f = MakeFunction("f", {a, b, s, t, c});
  ExpectText(f, R"(
    func f(A: float32[n, m], B: float32[m, n], s: float32, T: float32[n, m], C: float32[n, m]) {
      for i in 0..n, j in 0..m { block T(vi: spatial(n) = i, vj: spatial(m) = j) { T[vi, vj] = B[vj, vi] } }
      for i in 0..n, j in 0..m {
        block C(vi: spatial(n) = i, vj: spatial(m) = j) { C[vi, vj] = A[vi, vj] + s * T[vi, vj] }
      }
    })");
  ExpectCompiles(f, {{"n", 4}, {"m", 9}});
}

TEST_F(BuilderTest, FunctionsOfAnyRank) {
  Tensor a = Input("A", kFloat, {2, 3, 2});
  auto reverse = [](const Tensor& x) {
    return Compute("R", x.shape(), [&](const std::vector<Var>& axes) {
      std::vector<Expr> indices;
      for (size_t d = 0; d < axes.size(); ++d) indices.push_back(x.shape()[d] - 1 - axes[d]);
      return x.At(indices);
    });
  };
  std::vector<runtime::Tensor> args = Run(MakeFunction("f", {a, reverse(a)}), {});
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(runtime::GetElement(args[0], i), runtime::GetElement(args[1], 11 - i));
  // Rank 0: a function without indices.
  ReduceAxis l("l", 2), r("r", 3), q("q", 2);
  Tensor sum = Compute("S", {}, [&] { return Sum(a(l, r, q), {l, r, q}); });
  Tensor least = Compute("L", {}, [&] { return MinOf(a(l, r, q), {l, r, q}); });
  Tensor six = Compute("six", {}, [&] { return Const(kFloat, 6); });
  args = Run(MakeFunction("f", {a, sum, least, six}), {});
  double total = 0, min = 2;
  for (int i = 0; i < 12; ++i) {
    total += runtime::GetElement(args[0], i);
    min = std::min(min, runtime::GetElement(args[0], i));
  }
  EXPECT_NEAR(runtime::GetElement(args[1], 0), total, 1e-5);
  EXPECT_EQ(runtime::GetElement(args[2], 0), min);
  EXPECT_EQ(runtime::GetElement(args[3], 0), 6);
}

TEST_F(BuilderTest, ReductionsOfEveryType) {
  for (const char* name : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                           "float16", "bfloat16", "float32", "float64"}) {
    SCOPED_TRACE(name);
    DataType dtype = *DataType::Parse(name);
    Tensor a = Input("A", dtype, {3});
    ReduceAxis l("l", 3);
    std::vector<Argument> params{a};
    auto scalar = [&](const char* name, const Reduction& reduction) {
      params.emplace_back(Compute(name, {1}, [&](Var) { return reduction; }));
    };
    scalar("Most", MaxOf(a(l), {l}));
    scalar("Least", MinOf(a(l), {l}));
    scalar("Product", Prod(a(l), {l}));
    PrimFunc f = MakeFunction("f", params);
    Verify(ModuleOf(f));
    std::vector<runtime::Tensor> args;
    for (int i = 0; i < 4; ++i) args.push_back(runtime::Tensor::Empty({i ? 1 : 3}, dtype));
    for (int i = 0; i < 3; ++i) runtime::SetElement(args[0], i, 3 + (i * 2) % 3);  // 3 5 4
    Interpret(ModuleOf(f), "f", {args[0], args[1], args[2], args[3]});
    EXPECT_EQ(runtime::GetElement(args[1], 0), 5);
    EXPECT_EQ(runtime::GetElement(args[2], 0), 3);
    EXPECT_EQ(runtime::GetElement(args[3], 0), 60);
  }
}

TEST_F(BuilderTest, LimitsStartExtremes) {
  auto limits = [](const char* name) {
    Tensor a = Input("A", *DataType::Parse(name), {3});
    ReduceAxis l("l", 3);
    return Print(MaxOf(a(l), {l}).identities[0]) + " " + Print(MinOf(a(l), {l}).identities[0]);
  };
  EXPECT_EQ(limits("int8"), "int8(-128) int8(127)");
  EXPECT_EQ(limits("uint8"), "uint8(0) uint8(255)");
  EXPECT_EQ(limits("int64"), "-9223372036854775808 9223372036854775807");
  EXPECT_EQ(limits("uint64"), "uint64(0) uint64(18446744073709551615)");
  EXPECT_EQ(limits("float16"), "float16(-inf) float16(inf)");
}

TEST_F(BuilderTest, SeveralResults) {
  Var n("n"), m("m");
  Tensor a = Input("A", kFloat, {n, m});
  ReduceAxis l("l", m);
  auto best = ComputeAll({"I", "V"}, {n}, [&](Var i) { return ArgMax(a(i, l), l); });
  PrimFunc both = MakeFunction("f", {a, best[0], best[1]});
  ExpectText(both, R"(func f(A: float32[n, m], I: int64[n], V: float32[n]) {
    for i in 0..n, l in 0..m {
      block I(vi: spatial(n) = i, vl: reduce(m) = l) {
        init { I[vi] = -1 V[vi] = -inf }
        let index = vl
        let value = A[vi, vl]
        let a = select(index >= 0 && (I[vi] < 0 || V[vi] < value || value == V[vi] && index < I[vi]), index, I[vi])
        let b = select(index >= 0 && (I[vi] < 0 || V[vi] < value || value == V[vi] && index < I[vi]), value, V[vi])
        I[vi] = a
        V[vi] = b
      }
    }
  })");
  ExpectCompiles(both, {{"n", 4}, {"m", 11}});
  std::vector<runtime::Tensor> args = Run(both, {{"n", 4}, {"m", 11}});
  for (int i = 0; i < 4; ++i) {
    int first = 0;
    for (int j = 1; j < 11; ++j)
      if (args[0].as<float>()[11 * i + j] > args[0].as<float>()[11 * i + first]) first = j;
    EXPECT_EQ(args[1].as<int64_t>()[i], first);
    EXPECT_EQ(args[2].as<float>()[i], args[0].as<float>()[11 * i + first]);
  }
  // One result alone: the other is memory of the function. A formula may read either.
  Tensor least = Compute("Least", {n}, [&](Var i) { return a(i, best[0](i)) - best[1](i); });
  args = Run(MakeFunction("g", {a, least}), {{"n", 4}, {"m", 11}});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(args[1].as<float>()[i], 0);
  args = Run(MakeFunction("h", {a, best[1]}), {{"n", 4}, {"m", 11}});
  auto smallest = ComputeAll({"I", "V"}, {n}, [&](Var i) { return ArgMin(a(i, l), l); });
  args = Run(MakeFunction("k", {a, smallest[0]}), {{"n", 2}, {"m", 0}});
  EXPECT_EQ(args[1].as<int64_t>()[0], -1);  // no step: the init
}

TEST_F(BuilderTest, CustomCombination) {
  Tensor a = Input("A", DataType::Int(32), {5});
  ReduceAxis l("l", 5);
  Expr zero = Const(DataType::Int(32), 0);
  Tensor odd = Compute("Odd", {1}, [&](Var) {
    return Reduce(ir::FloorMod(a(l), Const(DataType::Int(32), 2)), zero,
                  [](Expr x, Expr y) { return Max(x, y); }, {l})
        .Where(a(l) >= zero)
        .Where(l < 3);
  });
  PrimFunc f = MakeFunction("f", {a, odd});
  ExpectText(f, R"(func f(A: int32[5], Odd: int32[1]) {
    for i in 0..1, l in 0..5 {
      block Odd(vi: spatial(1) = i, vl: reduce(5) = l) {
        init { Odd[vi] = 0 }
        if A[vl] >= 0 && vl < 3 { Odd[vi] = max(Odd[vi], A[vl] % 2) }
      }
    }
  })");
  ExpectCompiles(f, {});
}

// One tensor can be part of several functions, and stand twice in one formula.
TEST_F(BuilderTest, TensorsAreReusable) {
  Var n("n");
  Tensor a = Input("A", kFloat, {n});
  ReduceAxis l("l", n);
  Tensor s = Compute("S", {1}, [&](Var) { return Sum(a(l), {l}); });
  Tensor q = Compute("Q", {1}, [&](Var) { return Sum(a(l) * s(0) * s(0), {l}); });
  Tensor d = Elementwise("D", {s, q}, [](Expr x, Expr y) { return x * y; });
  ExpectCompiles(MakeFunction("f", {a, s, q, d}), {{"n", 6}});
  ExpectCompiles(MakeFunction("g", {d, a}), {{"n", 6}});
  EXPECT_TRUE(StructuralEqual(MakeFunction("h", {a, d}), MakeFunction("h", {a, d})));
}

TEST_F(BuilderTest, MistakesInFormulas) {
  Var n("n"), m("m");
  Tensor a = Input("A", kFloat, {n, m}), b = Input("B", DataType::Int(32), {n, m});
  ReduceAxis l("l", m);
  EXPECT_EQ(ErrorOf([&] { Compute("C", {n}, [&](Var i) { return a(i); }); }),
            "TypeError: A has rank 2, but is accessed with 1 indices\n  while defining C");
  EXPECT_EQ(ErrorOf([&] { Compute("C", {n}, [&](Var i) { return a(i, i) * b(i, i); }); }),
            "TypeError: operands of Mul have different types: float32 and int32\n"
            "  while defining C");
  EXPECT_EQ(ErrorOf([&] { Compute("C", {n, m}, [&](Var i) { return a(i, i); }); }),
            "ValueError: C has 2 axes, but its function takes 1\n  while defining C");
  EXPECT_EQ(ErrorOf([&] { Elementwise("C", {a}, [&](Expr x, Expr y) { return x + y; }); }),
            "ValueError: C has 1 inputs, but its function takes 2\n  while defining C");
  EXPECT_EQ(
      ErrorOf([&] {
        Tensor t = Input("T", kFloat, {m, n});
        Elementwise("C", {a, t}, [&](Expr x, Expr y) { return x + y; });
      }),
      "ValueError: Elementwise C takes tensors of one shape, but A is [n, m] and T is [m, n]");
  EXPECT_EQ(ErrorOf([&] { Compute("C", {n}, [&](Var i) { return Sum(a(i, l), {}); }); }),
            "ValueError: a reduction needs an axis to run over, as in Sum(x, {l})\n"
            "  while defining C");
  EXPECT_EQ(ErrorOf([&] { Compute("C", {n}, [&](Var i) { return Sum(a(i, l), {l, l}); }); }),
            "ValueError: axis l is given twice to one reduction\n  while defining C");
  EXPECT_EQ(ErrorOf([&] { Compute("C", {n}, [&](Var i) { return Sum(a(i, l) < a(i, 0), {l}); }); }),
            "TypeError: Sum takes numbers, got bool\n  while defining C");
  EXPECT_EQ(ErrorOf([&] {
              auto f = [](Expr x, Expr y) { return x + y; };
              Compute("C", {n}, [&](Var i) { return Reduce(a(i, l), 0, f, {l}); });
            }),
            "TypeError: a reduction of float32 has an identity of int64\n  while defining C");
  EXPECT_EQ(ErrorOf([&] {
              auto f = [](Expr x, Expr y) { return x < y; };
              Compute("C", {n}, [&](Var i) { return Reduce(a(i, l), Const(kFloat, 0), f, {l}); });
            }),
            "TypeError: a reduction combines values of float32 into bool\n  while defining C");
  EXPECT_EQ(ErrorOf([&] { Compute("C", {n}, [&](Var i) { return ArgMax(a(i, l), l); }); }),
            "ValueError: 1 tensors are defined by 2 values\n  while defining C");
  EXPECT_EQ(ErrorOf([&] { Compute("C", {n}, [&](Var i) { return Where(i, a(i, 0), a(0, 0)); }); }),
            "TypeError: the condition of Where is int64; expected bool\n  while defining C");
  EXPECT_EQ(ErrorOf([&] { Compute("C", {n}, [&](Var i) { return Where(i < 1, a(i, 0), i); }); }),
            "TypeError: Where chooses between different types: float32 and int64\n"
            "  while defining C");
  EXPECT_EQ(ErrorOf([&] { Input("2nd", kFloat, {n}); }),
            "ValueError: tensor '2nd': a name is letters, digits and _, and starts with no digit");
  EXPECT_EQ(ErrorOf([&] { Input("A", kFloat, {Var("n", DataType::Int(32))}); }),
            "TypeError: extent 0 of A is int32; expected int64");
  EXPECT_EQ(ErrorOf([&] { Input("A", kFloat, {n, m}, {m}); }),
            "ValueError: A has rank 2, but 1 strides");
  EXPECT_EQ(ErrorOf([&] { Tensor()(n); }), "ValueError: a tensor is read that was never defined");
}

TEST_F(BuilderTest, MistakesInFunctions) {
  Var n("n"), m("m");
  Tensor a = Input("A", kFloat, {n}), b = Input("B", kFloat, {n});
  ReduceAxis l("l", n);
  Tensor c = Elementwise("C", {a, b}, [](Expr x, Expr y) { return x + y; });
  EXPECT_EQ(ErrorOf([&] { MakeFunction("f", {a, c}); }),
            "ValueError: C reads B, an input that is no parameter of f; add it to the list");
  EXPECT_EQ(ErrorOf([&] { MakeFunction("f", {a, b}); }),
            "ValueError: function f computes nothing: none of its parameters is computed");
  EXPECT_EQ(ErrorOf([&] { MakeFunction("f", {a, b, a, c}); }),
            "ValueError: function f has two parameters of the name A");
  EXPECT_EQ(
      ErrorOf([&] { MakeFunction("a b", {a, b, c}); }),
      "ValueError: function 'a b': a name is letters, digits and _, and starts with no digit");
  std::string undefined =
      ", is not defined: it is no parameter of f, no extent that stands alone in a parameter's "
      "shape, and no axis there (a reduction names its axes, as in Sum(x, {l}))";
  Tensor free = Compute("F", {n}, [&](Var i) { return a(i) + a(l); });
  EXPECT_EQ(ErrorOf([&] { MakeFunction("f", {a, free}); }),
            "ValueError: variable l, used in the definition of F" + undefined);
  Tensor wide = Compute("W", {n + m}, [&](Var i) { return a(i); });
  EXPECT_EQ(ErrorOf([&] { MakeFunction("f", {a, wide}); }),
            "ValueError: variable m, used in the shape of W" + undefined);
  EXPECT_EQ(ErrorOf([&] { MakeFunction("f", {a, m, wide}); }), "no error");
}

}  // namespace
}  // namespace tern::tir
