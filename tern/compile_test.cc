// SPDX-License-Identifier: Apache-2.0
#include "tern/compile.h"

#include <gtest/gtest.h>

#include "tern/codegen/load_linkable.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/prepared_function.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/interpreter/interpreter.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

using runtime::Tensor;

// Through the packed ABI of the default host: what a caller sees.
class CompileTest : public ::testing::Test {
 protected:
  void SetUp() override { Initialize(); }

  ffi::Function Get(const std::string& text, const std::string& name = "f") {
    ffi::Module module = Compile(tir::ParseModule("t.tir", text), target::Target::DefaultHost());
    return codegen::LoadLinkable(module)->GetFunction(name);
  }
  template <class... T>
  static std::string ErrorOf(const ffi::Function& function, T&&... args) {
    try {
      function(std::forward<T>(args)...);
    } catch (const Error& error) {
      return error.kind() + ": " + error.message();
    }
    return "no error";
  }
  static Tensor Float(std::vector<int64_t> shape) {
    return Tensor::Empty(std::move(shape), DataType::Float(32));
  }
};

TEST_F(CompileTest, ChecksTensorArguments) {
  ffi::Function matmul = Get(
      R"(func f(A: float32[n, k], B: float32[k, m], C: float32[n, m]) {
        for i in 0..n, j in 0..m, l in 0..k {
          block mm(vi: spatial(n) = i, vj: spatial(m) = j, vk: reduce(k) = l) {
            init { C[vi, vj] = 0 }
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
          }
        }
      })");
  EXPECT_EQ(ErrorOf(matmul, Float({2, 3}), Float({3, 4}), Float({2, 4})), "no error");
  EXPECT_EQ(ErrorOf(matmul, Float({0, 3}), Float({3, 4}), Float({0, 4})), "no error");
  EXPECT_EQ(ErrorOf(matmul, Float({2, 3}), Float({3, 4})),
            "TypeError: f: expected 3 arguments, got 2");
  EXPECT_EQ(
      ErrorOf(matmul, Float({2, 3}), Tensor::Empty({3, 4, 5}, DataType::Int(64)), Float({2, 4})),
      "TypeError: f: argument 1 (B): expected float32 tensor of rank 2, got int64 tensor of shape "
      "(3, 4, 5) on cpu:0");
  EXPECT_EQ(ErrorOf(matmul, 1, Float({3, 4}), Float({2, 4})),
            "TypeError: f: argument 0 (A): expected float32 tensor of rank 2, got int 1");
  EXPECT_EQ(ErrorOf(matmul, Float({2, 3}), Float({4, 4}), Float({2, 4})),
            "ValueError: f: argument 1 (B): expected extent 0 to be k = 3, got float32 tensor of "
            "shape (4, 4) on cpu:0");
}

// A function of the registry gets the arguments, in compiled code and in the interpreter.
TEST_F(CompileTest, CallsFunctionsOfTheRegistry) {
  std::vector<std::string> calls;
  ffi::RegisterGlobal("test.note", ffi::Function::FromPacked([&](ffi::Args args) -> ffi::Any {
                        std::string text;
                        for (const ffi::AnyView& arg : args)
                          text += (text.empty() ? "" : ", ") + ffi::Describe(arg.raw());
                        calls.push_back(text);
                        *static_cast<float*>(args[0].TryAs<void*>().value()) = 5;
                        return {};
                      }));
  const char* text = R"(func f(A: float32[4], h: bfloat16) {
        call_packed("test.note", address_of(A[2]), 7, A[0] + 1, A[0] < 0, "text", h)
      })";
  Tensor a = Float({4});
  std::fill_n(a.as<float>(), 4, 1.5f);
  Get(text)(a, 0.5);
  EXPECT_EQ(a.as<float>()[2], 5);
  a.as<float>()[2] = 0;
  tir::Interpret(tir::ParseModule("t.tir", text), "f", {a, 0.5});
  EXPECT_EQ(a.as<float>()[2], 5);
  ffi::RemoveGlobal("test.note");
  ASSERT_EQ(calls.size(), 2u);
  for (const std::string& call : calls)
    EXPECT_EQ(call.substr(call.find(", ")),
              ", int 7, float 2.5, bool false, string \"text\", float 0.5");
}

TEST_F(CompileTest, CallsCFunctions) {
  ffi::Function f = Get(R"(func f(A: int32[4]) {
        let p = call_extern<handle>("memset", address_of(A[1]), int32(1), 8)
        if is_null(p) { A[0] = 9 }
      })");
  Tensor a = Tensor::Empty({4}, DataType::Int(32));
  std::fill_n(a.as<int32_t>(), 4, 0);
  f(a);
  EXPECT_EQ(std::vector<int32_t>(a.as<int32_t>(), a.as<int32_t>() + 4),
            (std::vector<int32_t>{0, 0x01010101, 0x01010101, 0}));
}

TEST_F(CompileTest, ChecksStridesAndOffsets) {
  ffi::Function fill = Get("func f(A: int32[n, m]) { for i in 0..n, j in 0..m { A[i, j] = 7 } }");
  Tensor memory = Tensor::Empty({6}, DataType::Int(32));
  std::fill_n(memory.as<int32_t>(), 6, 0);
  int64_t shape[2] = {2, 2}, compact[2] = {2, 1}, strided[2] = {3, 1};
  TernTensorView view{
      memory->data(), {kTernDeviceCpu, 0}, 2, DataType::Int(32).raw(), shape, compact, 8};
  auto call = [&](const ffi::Function& function) {
    TernAny arg{kTernTensorView, 0, {.v_tensor = &view}};
    ffi::AnyView views[1] = {ffi::AnyView(arg)};
    function.CallPacked(views);
  };
  call(fill);
  EXPECT_EQ(std::vector<int32_t>(memory.as<int32_t>(), memory.as<int32_t>() + 6),
            (std::vector<int32_t>{0, 0, 7, 7, 7, 7}));
  view.strides = nullptr;  // compact
  call(fill);
  view.strides = strided;
  EXPECT_THROW(call(fill), Error);
  shape[0] = 1;  // the stride of an extent of 1 does not matter
  call(fill);

  ffi::Function strided_fill =
      Get("func f(A: int32[n, m] strides(s, 1)) { for i in 0..n, j in 0..m { A[i, j] = 9 } }");
  std::fill_n(memory.as<int32_t>(), 6, 0);
  shape[0] = 2;
  view.byte_offset = 0;
  call(strided_fill);
  EXPECT_EQ(std::vector<int32_t>(memory.as<int32_t>(), memory.as<int32_t>() + 6),
            (std::vector<int32_t>{9, 9, 0, 9, 9, 0}));
}

TEST_F(CompileTest, ConvertsScalarArguments) {
  ffi::Function f = Get(
      R"(func f(O: float64[4], i: int8, u: uint32, x: float32, b: bool) {
        O[0] = float64(i)  O[1] = float64(u)  O[2] = float64(x)  O[3] = select(b, float64(1), 2)
      })");
  Tensor out = Tensor::Empty({4}, DataType::Float(64));
  f(out, -128, 4294967295, 0.5, true);
  EXPECT_EQ(std::vector<double>(out.as<double>(), out.as<double>() + 4),
            (std::vector<double>{-128, 4294967295, 0.5, 1}));
  f(out, true, 0, 3, 0);
  EXPECT_EQ(out.as<double>()[0], 1);
  EXPECT_EQ(out.as<double>()[2], 3);
  EXPECT_EQ(ErrorOf(f, out, 128, 0, 0, 0),
            "ValueError: f: argument 1 (i): expected int8, which the value fits in, got int 128");
  EXPECT_EQ(ErrorOf(f, out, 0.5, 0, 0, 0),
            "TypeError: f: argument 1 (i): expected int8, got float 0.5");
}

TEST_F(CompileTest, RaisesAsserts) {
  ffi::Function f = Get(R"(func f(n: int64) { assert n % 2 == 0, ValueError, "n is odd: ", n })");
  EXPECT_EQ(ErrorOf(f, 4), "no error");
  EXPECT_EQ(ErrorOf(f, 5), "ValueError: n is odd: 5");
}

TEST_F(CompileTest, RefusesWhatCannotBeCompiled) {
  EXPECT_THROW(Compile(ir::IRModule::Make({}), target::Target::DefaultHost()), Error);
}

TEST_F(CompileTest, DescribesFunctions) {
  ir::IRModule module = tir::ParseModule(
      "t", "func f(A: float32[n, n * 2], s: int32, B: int8[3]) { B[0] = int8(s) }");
  runtime::ArtifactMeta meta = DescribeModule(module, target::Target::DefaultHost());
  runtime::FunctionInfo expected{"f",
                                 {{"A", DataType::Float(32), true, {"n", "n * 2"}, false},
                                  {"s", DataType::Int(32), false, {}, false},
                                  {"B", DataType::Int(8), true, {"3"}, true}}};
  ASSERT_EQ(meta.functions.size(), 1u);
  EXPECT_EQ(meta.functions[0], expected);
  EXPECT_EQ(meta.device, "cpu");
}

// What a caller does with constants, by hand and by Prepare.
class ConstantsTest : public CompileTest {
 protected:
  void SetUp() override {
    CompileTest::SetUp();
    program_ = tir::ParseModule("t.tir", R"(
      func f(A: float32[n], B: float32[n], s: float32, C: float32[n]) attrs {constants = ["B"]} {
        alloc T: float32[n, 2]
        for i in 0..n { T[i, 0] = B[i] * 10 }
        for i in 0..n { T[i, 1] = B[i] * 100 }
        for i in 0..n { C[i] = A[i] + T[i, 0] + T[i, 1] * s }
      }
      func plain(A: float32[n]) { A[0] = 7 })");
    target::Target target = target::Target::DefaultHost();
    meta_ = DescribeModule(program_, target);
    module_ = codegen::LoadLinkable(Compile(program_, target));
    std::fill_n(a_.as<float>(), 3, 1.0f);
    std::fill_n(b_.as<float>(), 3, 2.0f);
  }
  template <class... T>
  ffi::Function PrepareWith(const std::string& name, T&&... args) {
    std::vector<ffi::Any> all{ffi::Any(args)...};
    std::vector<ffi::AnyView> views(all.begin(), all.end());
    return Prepare(module_, meta_, meta_.Get(name), views);
  }

  ir::IRModule program_;
  runtime::ArtifactMeta meta_;
  ffi::Module module_;
  Tensor a_ = Float({3}), b_ = Float({3}), c_ = Float({3});
};

TEST_F(ConstantsTest, AreDescribed) {
  std::vector<std::string> texts;
  for (const runtime::FunctionInfo& info : meta_.functions)
    texts.push_back((meta_.PartNames().contains(info.name) ? "part " : "") + SignatureText(info));
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "f(A: float32[n], B: float32[n], s: float32, C: float32[n] (written)), or "
                       "f_prepare once, then f_prepared",
                       "part f_prepare(B: float32[n], T: float32[n, 2] (written))",
                       "part f_prepared(A: float32[n], T: float32[n, 2], s: float32, C: "
                       "float32[n] (written))",
                       "plain(A: float32[n] (written))"}));
}

TEST_F(ConstantsTest, PartsCanBeCompiledAlone) {
  CompileOptions options;
  options.prepack = CompileOptions::Prepack::kOnly;
  PrepackedModule prepacked = Prepack(program_, target::Target::DefaultHost(), options);
  std::vector<std::string> names;
  for (const runtime::FunctionInfo& info : prepacked.meta.functions) names.push_back(info.name);
  EXPECT_EQ(names, (std::vector<std::string>{"f_prepare", "f_prepared", "plain"}));
  ASSERT_EQ(prepacked.split.size(), 1u);
  EXPECT_EQ(prepacked.split[0], meta_.Get("f"));
  ffi::Module module = codegen::LoadLinkable(Compile(prepacked, options));
  EXPECT_FALSE(module->GetFunction("f"));
  Tensor packed = Float({3, 2});
  module->GetFunction("f_prepare")(b_, packed);
  module->GetFunction("f_prepared")(a_, packed, 0.5, c_);
  EXPECT_EQ(c_.as<float>()[2], 1 + 20 + 100);
}

TEST_F(CompileTest, PhasesAreInOrder) {
  target::Target host = target::Target::Parse("c"), device = target::Target::Parse("opencl");
  auto passes_of = [](const target::Target& target, const std::string& name,
                      const CompileOptions& options = {}) {
    for (const Phase& phase : LoweringPhases(target, options))
      if (phase.name == name) return phase.passes;
    return std::vector<std::string>{"no such phase"};
  };
  EXPECT_EQ(passes_of(host, "target"), std::vector<std::string>{});
  EXPECT_EQ(passes_of(device, "target"), device->kind->final_passes);
  CompileOptions options;
  options.bounds_checks = true;
  options.default_schedules = false;
  EXPECT_EQ(passes_of(host, "loops", options)[0], "inject_bounds_checks");
  EXPECT_EQ(passes_of(host, "loops")[0], "lower_packed_elements");
  EXPECT_EQ(passes_of(host, "schedule", options)[0], "apply_schedules");
  EXPECT_EQ(passes_of(target::Target::Parse("c -api=plain"), "calls").back(), "make_plain_api");
  EXPECT_EQ(LoweringPasses(target::Target::Parse("interp")), std::vector<std::string>{"verify"});
}

TEST_F(ConstantsTest, ArePreparedOnce) {
  ffi::Function f = PrepareWith("f", a_, b_, 0.5, c_);
  std::fill_n(b_.as<float>(), 3, 77.0f);  // nobody looks at it any more
  f(a_, b_, 0.5, c_);
  EXPECT_EQ(c_.as<float>()[2], 1 + 20 + 100);
  f(a_, b_, 2.0, c_);
  EXPECT_EQ(c_.as<float>()[2], 1 + 20 + 400);
  PrepareWith("plain", a_)(a_);
  EXPECT_EQ(a_.as<float>()[0], 7);
}

TEST_F(ConstantsTest, AreChecked) {
  auto error_of = [](auto&& body) -> std::string {
    try {
      body();
    } catch (const Error& error) {
      return error.kind() + ": " + error.message();
    }
    return "no error";
  };
  EXPECT_EQ(error_of([&] { PrepareWith("f", a_, b_); }),
            "TypeError: f: expected 4 arguments, got 2");
  EXPECT_EQ(error_of([&] { PrepareWith("f", a_, 1, 0.5, c_); }),
            "TypeError: f: argument B is no tensor of 1 axes");
  EXPECT_EQ(error_of([&] { PrepareWith("f", a_, Tensor::Empty({3}, DataType::Int(8)), 0.5, c_); }),
            "TypeError: f_prepare: argument 0 (B): expected float32 tensor of rank 1, got int8 "
            "tensor of shape (3,) on cpu:0");
  ffi::Function f = PrepareWith("f", a_, b_, 0.5, c_);
  EXPECT_EQ(ErrorOf(f, a_, b_, 0.5), "TypeError: f: expected 4 arguments, got 3");
  EXPECT_EQ(ErrorOf(f, Float({4}), Float({4}), 0.5, Float({4})),
            "ValueError: f_prepared: argument 1 (T): expected extent 0 to be n = 4, got float32 "
            "tensor of shape (3, 2) on cpu:0");
}

}  // namespace
}  // namespace tern
