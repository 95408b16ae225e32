// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tern/runtime/artifact/npy.h"
#include "tern/runtime/device.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

FunctionInfo Matmul() {
  auto tensor = [](const char* name, std::vector<std::string> shape, bool is_output = false) {
    return ParamInfo{name, DataType::Float(32), true, std::move(shape), is_output};
  };
  return {"matmul",
          {tensor("A", {"n", "k"}), tensor("B", {"k", "2 * n"}), tensor("C", {"n", "2 * n"}, true),
           ParamInfo{"steps", DataType::Int(32)}, ParamInfo{"alpha", DataType::Float(32)}}};
}

class RunnerTest : public testing::Test {
 protected:
  std::vector<ffi::Any> Make() { return MakeArguments(Matmul(), options_, &dims_); }
  std::string MakeError() {
    return ErrorOf([&] { Make(); });
  }
  std::string Npy(const std::string& name, std::vector<int64_t> shape,
                  DataType type = DataType::Float(32)) {
    Tensor tensor = Tensor::Empty(std::move(shape), type);
    for (int64_t i = 0; i < tensor->num_elements(); ++i)
      SetElement(tensor, i, static_cast<double>(i));
    WriteNpy(directory_.File(name), tensor);
    return directory_.File(name);
  }

  TempDirectory directory_;
  RunOptions options_;
  std::map<std::string, int64_t> dims_;
};

TEST_F(RunnerTest, DimensionsComeFromOptionsThenFilesThenTheDefault) {
  options_.dims = {{"steps", 3}};
  options_.inputs = {{"A", Npy("a.npy", {2, 5})}};
  options_.default_dim = 9;
  std::vector<ffi::Any> args = Make();
  EXPECT_EQ(dims_, (std::map<std::string, int64_t>{{"n", 2}, {"k", 5}, {"steps", 3}}));
  EXPECT_EQ(args[0].As<Tensor>()->shape(), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(GetElement(args[0].As<Tensor>(), 9), 9);
  EXPECT_EQ(args[1].As<Tensor>()->shape(), (std::vector<int64_t>{5, 4}));
  EXPECT_EQ(args[3].As<int>(), 3);
  EXPECT_EQ(args[4].As<double>(), 1.0);
  options_.inputs.clear();
  Make();
  EXPECT_EQ(dims_["n"], 9);
  options_.default_dims = {{"n", 1}, {"steps", 1}};
  Make();
  EXPECT_EQ(dims_, (std::map<std::string, int64_t>{{"n", 1}, {"k", 9}, {"steps", 3}}));
}

TEST_F(RunnerTest, FillsAsAsked) {
  options_.default_dim = 4;
  options_.inputs = {{"A", "ones"}, {"alpha", "0.25"}};
  std::vector<ffi::Any> args = Make();
  EXPECT_EQ(GetElement(args[0].As<Tensor>(), 3), 1);
  EXPECT_EQ(GetElement(args[2].As<Tensor>(), 3), 0) << "outputs start as zeros";
  EXPECT_EQ(args[4].As<double>(), 0.25);
  double least = 1, most = -1;
  for (int64_t i = 0; i < 16; ++i) {
    least = std::min(least, GetElement(args[1].As<Tensor>(), i));
    most = std::max(most, GetElement(args[1].As<Tensor>(), i));
  }
  EXPECT_LT(least, 0);
  EXPECT_GT(most, 0);
  EXPECT_GE(least, -1);
  EXPECT_LT(most, 1);
}

// The values themselves, so that no machine, compiler or version gives others.
TEST_F(RunnerTest, RandomValuesAreTheSameEverywhere) {
  options_.default_dim = 2;
  Tensor first = Make()[0].As<Tensor>();
  EXPECT_FLOAT_EQ(first.as<float>()[0], 0.7666215896606445f);
  Tensor again = Make()[0].As<Tensor>();
  EXPECT_EQ(CompareTensors(first, again).absolute, 0);
  options_.seed = 1;
  EXPECT_NE(CompareTensors(first, Make()[0].As<Tensor>()).absolute, 0);
}

TEST_F(RunnerTest, RandomIntegersAreSmall) {
  for (const char* name : {"int8", "uint8", "bool"}) {
    FunctionInfo function{"f", {ParamInfo{"x", *DataType::Parse(name), true, {"1000"}, false}}};
    Tensor tensor = MakeArguments(function, {}, nullptr)[0].As<Tensor>();
    double least = 99, most = -99;
    for (int64_t i = 0; i < 1000; ++i) {
      least = std::min(least, GetElement(tensor, i));
      most = std::max(most, GetElement(tensor, i));
    }
    std::string range = std::to_string(int(least)) + ".." + std::to_string(int(most));
    EXPECT_EQ(range, std::string(name) == "int8"    ? "-8..7"
                     : std::string(name) == "uint8" ? "0..15"
                                                    : "0..1");
  }
}

TEST_F(RunnerTest, UnknownNamesListTheLegalOnes) {
  options_.inputs = {{"a", "ones"}};
  EXPECT_EQ(MakeError(), "matmul has no input a (did you mean A?); it has A, B, C, steps, alpha");
  options_.inputs.clear();
  options_.dims = {{"stesp", 1}};
  EXPECT_EQ(MakeError(), "matmul has no dimension stesp (did you mean steps?); it has n, k, steps");
  options_.dims = {{"alpha", 1}};
  EXPECT_EQ(MakeError(), "alpha is no dimension of matmul but an input: a float32");
}

TEST_F(RunnerTest, ConflictsNameBothSides) {
  std::string a = Npy("a.npy", {2, 5}), b = Npy("b.npy", {6, 4});
  options_.inputs = {{"A", a}, {"B", b}};
  EXPECT_EQ(MakeError(), "dimension k is 5 by axis 1 of " + a + ", but 6 by axis 0 of " + b);
  options_.inputs = {{"B", b}};
  options_.dims = {{"n", 3}};
  EXPECT_EQ(MakeError(), "input B: expected shape (6, 6), " + b + " has (6, 4)");
  options_.inputs = {{"A", Npy("c.npy", {2})}};
  EXPECT_EQ(MakeError(),
            "input A: expected 2 axes (n, k), " + directory_.File("c.npy") + " has shape (2)");
  options_.inputs = {{"A", Npy("d.npy", {3, 5}, DataType::Int(32))}};
  EXPECT_EQ(MakeError(), "input A: expected float32, " + directory_.File("d.npy") + " has int32");
  options_.inputs = {{"A", "data.bin"}};
  EXPECT_EQ(MakeError(), "input A: expected a .npy file, random, ones or zeros, got data.bin");
  options_.inputs = {{"alpha", "big"}};
  EXPECT_EQ(MakeError(), "input alpha: expected a number, got big");
}

TEST_F(RunnerTest, RunsOnADeviceAndReportsTheFirstCall) {
  ScopedVariable path("TERN_BACKEND_PATH", TERN_TEST_PLUGINS);
  FunctionInfo info{"bump", {ParamInfo{"x", DataType::Float(32), true, {"n"}, true}}};
  int calls = 0;
  // Adds one where the tensor lies: a second call would be seen in the result.
  auto bump = ffi::Function::FromTyped("bump", [&](Tensor x) {
    ++calls;
    EXPECT_EQ(DeviceName(x->device()), "toy:0");
    Tensor host = x.CopyTo({kTernDeviceCpu, 0});
    SetElement(host, 0, GetElement(host, 0) + 1);
    GetDeviceKind("toy").Copy({.src = host->data(),
                               .src_device = host->device(),
                               .dst = x->data(),
                               .dst_device = x->device(),
                               .bytes = host->num_bytes()});
  });
  options_.repeat = 3;
  options_.dims = {{"n", 1}};
  RunResult result = RunFunction(bump, info, "toy", options_);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(GetElement(result.args[0], 0), 1);
  EXPECT_GT(result.best_seconds, 0);
  EXPECT_GE(result.mean_seconds, result.best_seconds);
  options_.repeat = 0;
  EXPECT_EQ(ErrorOf([&] { RunFunction(bump, info, "toy", options_); }),
            "repeat must be 1 or more, got 0");
}

TEST_F(RunnerTest, TensorsHaveTheirStridesAndTheOffsetThatIsAskedFor) {
  ParamInfo strided{"x", DataType::Float(32), true, {"n", "2"}, false, {"s", "1"}};
  FunctionInfo info{"f", {strided}};
  options_.dims = {{"n", 3}, {"s", 5}};
  options_.offset = 2;
  auto made = MakeArguments(info, options_, &dims_)[0].As<Tensor>();
  EXPECT_EQ(made->layout().strides, (std::vector<int64_t>{5, 1}));
  EXPECT_EQ(made->layout().offset, 2);
  EXPECT_EQ(dims_["s"], 5);
  options_.inputs = {{"x", Npy("x.npy", {3, 2})}};
  auto read = MakeArguments(info, options_, &dims_)[0].As<Tensor>();
  EXPECT_EQ(read->layout().strides, (std::vector<int64_t>{5, 1}));
  EXPECT_EQ(GetElement(read, 3), 3);
  // The values do not depend on the layout, and a file has none.
  WriteNpy(directory_.File("again.npy"), read);
  EXPECT_EQ(GetElement(ReadNpy(directory_.File("again.npy")), 5), 5);
}

TEST_F(RunnerTest, MemoryBetweenElementsMustStay) {
  ParamInfo strided{"x", DataType::Float(32), true, {"3"}, true, {"2"}};
  int64_t place = 0;
  auto write = ffi::Function::FromTyped("f", [&](Tensor x) { x.as<float>()[place] = 1; });
  auto run = [&] {
    return ErrorOf([&] { RunFunction(write, {"f", {strided}}, "cpu", options_); });
  };
  EXPECT_EQ(run(), "no error");
  place = 3;
  EXPECT_EQ(run(), "f wrote to memory of x that holds none of its elements");
  options_.offset = 1;
  EXPECT_EQ(run(), "no error");
  place = 0;
  EXPECT_NE(run(), "no error");
}

TEST(CompareTensors, LargestErrors) {
  auto tensor = [](std::vector<double> values) {
    Tensor result = Tensor::Empty({static_cast<int64_t>(values.size())}, DataType::Float(64));
    for (size_t i = 0; i < values.size(); ++i)
      SetElement(result, static_cast<int64_t>(i), values[i]);
    return result;
  };
  double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  MaxError error = CompareTensors(tensor({1, 102, 0.2}), tensor({1, 100, 0.1}));
  EXPECT_DOUBLE_EQ(error.absolute, 2);
  EXPECT_DOUBLE_EQ(error.relative, 1);
  EXPECT_DOUBLE_EQ(error.scaled, 0.1);
  EXPECT_EQ(CompareTensors(tensor({nan, inf, -inf}), tensor({nan, inf, -inf})).scaled, 0);
  EXPECT_EQ(CompareTensors(tensor({nan}), tensor({1})).scaled, inf);
  EXPECT_EQ(CompareTensors(tensor({1}), tensor({nan})).scaled, inf);
  EXPECT_EQ(CompareTensors(tensor({inf}), tensor({-inf})).scaled, inf);
  EXPECT_EQ(ErrorOf([&] { CompareTensors(tensor({1}), tensor({1, 2})); }),
            "shapes differ: (1) and (2)");
}

}  // namespace
}  // namespace tern::runtime
