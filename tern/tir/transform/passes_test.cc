// SPDX-License-Identifier: Apache-2.0
//
// Every program that shows what a pass does (test/ir/<pass>.tir) computes the same before and after
// it, to the bit.
#include "tern/tir/transform/passes.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tern/compile.h"
#include "tern/runtime/prepared_function.h"
#include "tern/runtime/runner.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/interpreter/interpreter.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

using runtime::Tensor;

class KeepsResults : public ::testing::TestWithParam<const char*> {};

// The tensors after a call of `function`. What it writes is not zero before the call, so that a
// store too many or too few shows.
std::vector<Tensor> Outcome(const ir::IRModule& module, const runtime::FunctionInfo& function,
                            int64_t dim) {
  runtime::RunOptions options{.default_dim = dim, .seed = 1};
  for (const runtime::ParamInfo& param : function.params)
    if (param.is_tensor) options.inputs[param.name] = "random";
  std::map<std::string, int64_t> dims;
  std::vector<ffi::Any> args = MakeArguments(function, options, &dims);
  Interpret(module, function.name, args);
  std::vector<Tensor> tensors;
  for (const ffi::Any& arg : args)
    if (auto tensor = arg.TryAs<Tensor>()) tensors.push_back(*tensor);
  return tensors;
}

TEST_P(KeepsResults, OnEveryProgramOfItsTest) {
  Initialize();
  ir::IRModule before = ParseFile(TERN_IR_TESTS "/" + std::string(GetParam()) + ".tir");
  ir::PassOptions verified;
  verified.verify = [](const ir::IRModule& module, const std::string&) { Verify(module); };
  ir::IRModule after = ir::RunPasses(before, {GetParam()}, verified);
  ASSERT_FALSE(StructuralEqual(before, after));
  for (const runtime::FunctionInfo& function :
       DescribeModule(before, target::Target::Parse("interp")).functions) {
    for (int64_t dim : {0, 1, 7}) {
      std::vector<Tensor> expected = Outcome(before, function, dim);
      std::vector<Tensor> actual = Outcome(after, function, dim);
      ASSERT_EQ(expected.size(), actual.size());
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(std::memcmp(expected[i]->data(), actual[i]->data(), expected[i]->num_bytes()), 0)
            << "tensor " << i << " of " << function.name << ", extents " << dim;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, KeepsResults,
                         ::testing::Values("canonicalize_loops", "decompose_reductions",
                                           "eliminate_common_subexpressions", "hoist_allocations",
                                           "hoist_invariants", "lower_blocks", "narrow_indices",
                                           "partition_loops", "remove_dead_code",
                                           "rewrite_unsafe_selects", "scalarize_vectors",
                                           "trim_loops", "unroll_loops", "vectorize_loops"),
                         [](const auto& info) { return std::string(info.param); });

// What is prepared once, and the rest, are the whole.
TEST(SplitPreparation, PartsAreTheWhole) {
  Initialize();
  ir::IRModule before = ParseFile(TERN_IR_TESTS "/split_preparation.tir");
  target::Target interpreter = target::Target::Parse("interp");
  ir::IRModule split = ir::RunPasses(before, {"split_preparation"}, {});
  runtime::ArtifactMeta meta = DescribeModule(split, interpreter);
  ffi::Module module = Compile(split, interpreter);
  int count = 0;
  for (const runtime::FunctionInfo& function : meta.functions) {
    if (function.prepare.empty()) continue;
    ++count;
    for (int64_t dim : {1, 7}) {
      std::vector<Tensor> expected = Outcome(before, function, dim);
      std::map<std::string, int64_t> dims;
      std::vector<ffi::Any> args = MakeArguments(function, {.default_dim = dim, .seed = 1}, &dims);
      std::vector<ffi::AnyView> views(args.begin(), args.end());
      Prepare(module, meta, function, views).CallPacked(views);
      for (size_t i = 0; i < args.size(); ++i)
        EXPECT_EQ(std::memcmp(expected[i]->data(), args[i].As<Tensor>()->data(),
                              expected[i]->num_bytes()),
                  0)
            << "tensor " << i << " of " << function.name << ", extents " << dim;
    }
  }
  EXPECT_EQ(count, 5);
}

}  // namespace
}  // namespace tern::tir
