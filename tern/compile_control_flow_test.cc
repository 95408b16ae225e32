// SPDX-License-Identifier: Apache-2.0
//
// Control flow and shapes that depend on data (graph/control.h), compiled and run here.
#include <gtest/gtest.h>

#include <functional>

#include "tern/compile_model.h"
#include "tern/frontend/onnx/import.h"
#include "tern/frontend/onnx/reader.h"
#include "tern/runtime/artifact/npy.h"
#include "tern/runtime/runner.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/runtime/vm/session.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

namespace vm = runtime::vm;
using runtime::Tensor;

// For the host as it is, or for a target.
std::shared_ptr<const vm::Model> Compiled(const std::string& text, const std::string& target = "") {
  Initialize();
  return LoadModel(
      CompileModel(tir::ParseModule("t.tir", text),
                   target.empty() ? target::Target::DefaultHost() : target::Target::Parse(target)));
}

template <class T>
Tensor Make(std::vector<int64_t> shape, DataType dtype, const std::function<T(int64_t)>& f) {
  Tensor tensor = Tensor::Empty(shape, dtype);
  for (int64_t i = 0; i < static_cast<int64_t>(tensor->num_bytes() / sizeof(T)); ++i)
    tensor.as<T>()[i] = f(i);
  return tensor;
}
Tensor Numbers(std::vector<int64_t> shape) {
  return Make<float>(std::move(shape), DataType::Float(32),
                     [](int64_t i) { return static_cast<float>(i % 7) - 2; });
}
Tensor Integer(int64_t value) {
  return Make<int64_t>({}, DataType::Int(64), [&](int64_t) { return value; });
}
Tensor Flag(bool value) {
  return Make<bool>({}, DataType::Bool(), [&](int64_t) { return value; });
}

std::string ErrorOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Both branches, one after the other in one session: what they leave in memory is not seen.
TEST(ControlFlow, BranchesMayGiveDifferentExtents) {
  auto model = Compiled(R"(
constant from: int64[1] = [0]
constant to: int64[1] = [3]
graph main(c: bool[], x: float32[n, 4]) {
  y, z = if(c, x) then (a: float32[n, 4]) {
    b = slice(a, from, to)
    e = relu(b)
    return e, b
  } else (d: float32[n, 4]) {
    f = neg(d)
    return d, f
  }
  r = add(y, z)
  return r, y
}
)");
  vm::Session session(model, {.poison_memory = true});
  Tensor x = Numbers({5, 4});
  for (bool flag : {true, false, true}) {
    std::vector<Tensor> outputs = session.Run({Flag(flag), x});
    int64_t rows = flag ? 3 : 5;
    ASSERT_EQ(outputs[0]->shape(), (std::vector<int64_t>{rows, 4}));
    for (int64_t i = 0; i < rows * 4; ++i) {
      float given = x.as<float>()[i], positive = std::max(given, 0.0f);
      EXPECT_EQ(outputs[1].as<float>()[i], flag ? positive : given);
      EXPECT_EQ(outputs[0].as<float>()[i], flag ? positive + given : 0);
    }
  }
}

TEST(ControlFlow, LoopsRunAsOftenAsTheDataSay) {
  auto model = Compiled(R"(
constant zero: float32[4] = [0, 0, 0, 0]
graph main(x: float32[n, 4], trips: int64[]) {
  s, all = loop(trips, _, zero, x) {carried = 1} dims [i]
  body (t: int64[], go: bool[], sum: float32[4], a: float32[n, 4]) {
    row = gather(a, t)
    next = add(sum, row)
    return go, next, next
  }
  return s, all
}
)");
  vm::Session session(model, {.poison_memory = true});
  Tensor x = Numbers({20, 4});
  for (int64_t trips : {3, 0, 20, -1}) {
    std::vector<Tensor> outputs = session.Run({x, Integer(trips)});
    int64_t count = std::max<int64_t>(trips, 0);
    ASSERT_EQ(outputs[1]->shape(), (std::vector<int64_t>{count, 4}));
    for (int64_t j = 0; j < 4; ++j) {
      float sum = 0;
      for (int64_t i = 0; i < count; ++i) {
        sum += x.as<float>()[i * 4 + j];
        EXPECT_EQ(outputs[1].as<float>()[i * 4 + j], sum);
      }
      EXPECT_EQ(outputs[0].as<float>()[j], sum);
    }
  }
}

// The number of trips is used as data, what is carried grows, and the condition ends it.
TEST(ControlFlow, LoopsMayEndEarlyAndGrow) {
  auto model = Compiled(R"(
constant axes: int64[1] = [0]
constant none: float32[0, 1] = splat(0)
graph main(limit: int64[]) {
  y, numbers = loop(_, _, none, limit) {carried = 1} dims [i, m]
  body (t: int64[], go: bool[], a: float32[m, 1], most: int64[]) {
    f = cast(t) {to = "float32"}
    g = unsqueeze(f, axes)
    h = unsqueeze(g, axes)
    d = concat(a, h) {axis = 0}
    more = less(t, most)
    return more, d, t
  }
  return y, numbers
}
)");
  vm::Session session(model, {.poison_memory = true});
  for (int64_t limit : {4, 0, 9}) {
    std::vector<Tensor> outputs = session.Run({Integer(limit)});
    ASSERT_EQ(outputs[0]->shape(), (std::vector<int64_t>{limit + 1, 1}));
    ASSERT_EQ(outputs[1]->shape(), (std::vector<int64_t>{limit + 1}));
    for (int64_t i = 0; i <= limit; ++i) {
      EXPECT_EQ(outputs[0].as<float>()[i], static_cast<float>(i));
      EXPECT_EQ(outputs[1].as<int64_t>()[i], i);
    }
  }
}

TEST(ControlFlow, BranchesInLoopsAndLoopsInBranches) {
  auto model = Compiled(R"(
constant one: int64[] = [1]
constant two: int64[] = [2]
constant zero: int64[] = [0]
constant unit: float32[3] = [1, 1, 1]
graph main(c: bool[], x: float32[3], trips: int64[]) {
  y = if(c, x, trips) then (a: float32[3], n: int64[]) {
    s = loop(n, _, a) {carried = 1} dims [i]
    body (t: int64[], go: bool[], sum: float32[3]) {
      r = mod(t, two)
      even = equal(r, zero)
      p = if(even, sum) then (q: float32[3]) {
        u = add(q, unit)
        return u
      } else (v: float32[3]) {
        w = mul(v, v)
        return w
      }
      return go, p
    }
    return s
  } else (b: float32[3], k: int64[]) {
    return b
  }
  return y
}
)");
  vm::Session session(model, {.poison_memory = true});
  Tensor x = Numbers({3});
  for (bool flag : {true, false})
    for (int64_t trips : {0, 1, 3}) {
      Tensor y = session.Run({Flag(flag), x, Integer(trips)})[0];
      for (int64_t j = 0; j < 3; ++j) {
        float value = x.as<float>()[j];
        for (int64_t i = 0; flag && i < trips; ++i) value = i % 2 == 0 ? value + 1 : value * value;
        EXPECT_EQ(y.as<float>()[j], value);
      }
    }
}

// Where nobody wants what a branch makes, it is not computed; the rest is.
TEST(ControlFlow, OutputsCanBeSelected) {
  auto model = Compiled(R"(
graph main(c: bool[], x: float32[4]) {
  y = if(c, x) then (a: float32[4]) {
    b = exp(a)
    return b
  } else (d: float32[4]) {
    return d
  }
  z = neg(x)
  return y, z
}
)");
  vm::Session session(model);
  session.SelectOutputs({"z"});
  std::vector<Tensor> outputs = session.Run({Flag(true), Numbers({4})});
  EXPECT_FALSE(outputs[0]);
  EXPECT_EQ(outputs[1].as<float>()[0], 2);
  session.SelectOutputs({"y"});
  EXPECT_EQ(session.Run({Flag(false), Numbers({4})})[0].as<float>()[0], -2);
}

// Prepacking adds and removes instructions: jumps follow.
TEST(ControlFlow, WeightsOfBranchesArePrepacked) {
  auto model = Compiled(R"(
constant V: float32[8, 5] = splat(0.5)
constant W: float32[8, 5] = splat(2)
graph main(c: bool[], x: float32[16, 8]) {
  y = if(c, x) then (a: float32[16, 8]) {
    b = matmul(a, V)
    return b
  } else (d: float32[16, 8]) {
    e = matmul(d, W)
    f = relu(e)
    return f
  }
  return y
}
)",
                        "c -vector_bytes=32 -vector_registers=16");
  EXPECT_FALSE(model->program().prepack.empty());
  vm::Session session(model);
  Tensor x = Numbers({16, 8});
  float sum = 0;
  for (int64_t i = 0; i < 8; ++i) sum += x.as<float>()[i];
  EXPECT_EQ(session.Run({Flag(true), x})[0].as<float>()[0], sum / 2);
  EXPECT_EQ(session.Run({Flag(false), x})[0].as<float>()[0], std::max(sum * 2, 0.0f));
}

TEST(ControlFlow, ShapesFromData) {
  auto model = Compiled(R"(
constant unit: float32[] = [1]
graph main(x: float32[n], shape: int64[2], k: int64[]) {
  y = reshape(x, shape)
  z = expand(unit, shape)
  f = first_n(x, k)
  return y, z, f
}
)");
  vm::Session session(model);
  auto shape = [](int64_t a, int64_t b) {
    return Make<int64_t>({2}, DataType::Int(64), [=](int64_t i) { return i == 0 ? a : b; });
  };
  std::vector<Tensor> outputs = session.Run({Numbers({12}), shape(3, 4), Integer(5)});
  EXPECT_EQ(outputs[0]->shape(), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(outputs[1]->shape(), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(outputs[2]->shape(), (std::vector<int64_t>{5}));
  EXPECT_NE(ErrorOf([&] { session.Run({Numbers({12}), shape(3, 5), Integer(5)}); }).find("reshape"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { session.Run({Numbers({12}), shape(3, 4), Integer(13)}); }).find("along"),
            std::string::npos);
  EXPECT_NE(
      ErrorOf([&] { session.Run({Numbers({12}), shape(3, 4), Integer(-1)}); }).find("first_n"),
      std::string::npos);
}

// Extents that no rule simplifies would grow with every layer: they get names.
TEST(ControlFlow, LongExtentsHaveNames) {
  std::string text =
      "constant five: int64[1] = [5]\nconstant from: int64[1] = [0]\n"
      "graph main(x0: float32[n], y0: float32[m]) {\n";
  for (int i = 0; i < 40; ++i) {
    std::string k = std::to_string(i), next = std::to_string(i + 1);
    text += "  s" + k + " = shape(y" + k + ")\n  a" + k + " = slice(x" + k + ", from, s" + k +
            ")\n  x" + next + " = concat(a" + k + ", x0) {axis = 0}\n  y" + next + " = concat(y" +
            k + ", a" + k + ") {axis = 0}\n";
  }
  auto model = Compiled(text + "  return x40\n}\n");
  int64_t x = 3, y = 2;
  for (int i = 0; i < 40; ++i) {
    int64_t a = std::min(x, y);
    x = a + 3;
    y += a;
  }
  EXPECT_EQ(vm::Session(model).Run({Numbers({3}), Numbers({2})})[0]->shape()[0], x);
}

TEST(ControlFlow, RanksThatDifferAreAnError) {
  Initialize();
  std::string error = ErrorOf([] {
    tir::ParseModule("t.tir", R"(
constant axes: int64[1] = [0]
constant one: int64[1] = [1]
graph main(x: float32[n]) {
  s = shape(x)
  c = equal(s, one)
  y = if(c, x) then (a: float32[n]) {
    return a
  } else (d: float32[n]) {
    e = unsqueeze(d, axes)
    return e
  }
  return y
}
)");
  });
  EXPECT_NE(error.find("ranks 1 and 2"), std::string::npos) << error;
  EXPECT_NE(error.find("it is n == 1; fix n, as with --input-shape or --dim"), std::string::npos)
      << error;
}

TEST(ControlFlow, RegionsThatDoNotFitAreErrors) {
  Initialize();
  auto error_of = [](const std::string& node) {
    return ErrorOf([&] {
      tir::ParseModule(
          "t.tir", "graph main(c: bool[], x: float32[4]) {\n  y = " + node + "\n  return y\n}\n");
    });
  };
  EXPECT_NE(error_of("if(c, x)").find("two regions"), std::string::npos);
  EXPECT_NE(error_of("relu(x) then (a: float32[4]) { return a }").find("expected"),
            std::string::npos);
  EXPECT_NE(error_of("if(c, x) then (a: float32[5]) { return a } else (b: float32[4]) { return b }")
                .find("parameter a of region then is float32[5]"),
            std::string::npos);
  EXPECT_NE(error_of("if(c, x) then (a: float32[4]) { return x } else (b: float32[4]) { return b }")
                .find("unknown value 'x'"),
            std::string::npos);
  EXPECT_NE(error_of("loop(_, _, x) {carried = 1} dims [i] body (t: int64[], g: bool[], a: "
                     "float32[4]) { return g, a }")
                .find("it never ends"),
            std::string::npos);
}

// test/models/control_flow, whose outputs ONNX Runtime recorded.
class ControlFlowModel : public testing::TestWithParam<const char*> {};

TEST_P(ControlFlowModel, GivesTheRecordedOutputs) {
  Initialize();
  std::string base = std::string(TERN_TEST_MODELS) + "/control_flow/" + GetParam();
  ir::IRModule module = frontend::onnx::Import(frontend::onnx::ReadModel(base + ".onnx"));
  auto model = LoadModel(CompileModel(module, target::Target::DefaultHost()));
  std::vector<Tensor> inputs;
  for (const vm::Port& input : model->program().inputs)
    inputs.push_back(runtime::ReadNpy(base + "." + input.name + ".npy"));
  vm::Session session(model, {.poison_memory = true});
  for (int run = 0; run < 2; ++run) {
    std::vector<Tensor> outputs = session.Run(inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = model->program().outputs[i].name;
      Tensor expected = runtime::ReadNpy(base + "." + name + ".npy");
      ASSERT_EQ(outputs[i]->shape(), expected->shape()) << name;
      EXPECT_LT(runtime::CompareTensors(outputs[i], expected).scaled, 1e-5) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ControlFlowModel,
                         testing::Values("control", "recurrent", "selection"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tern
