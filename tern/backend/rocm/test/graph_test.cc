// SPDX-License-Identifier: Apache-2.0
//
// Whole functions, recorded through the plugin on the fake driver.
#include "tern/runtime/graph.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/tir/text.h"

namespace tern::runtime {
namespace {

// Two kernels, with memory between them that only the function knows.
constexpr const char* kProgram = R"(
func twice(A: float32[64], B: float32[64]) {
  alloc T: float32[64]
  for i in 0..64 {
    block square(vi: spatial(64) = i) { T[vi] = A[vi] * A[vi] }
  }
  for i in 0..64 {
    block reverse(vi: spatial(64) = i) { B[vi] = T[63 - vi] + 1.0 }
  }
}
)";

class RocmGraph : public testing::Test {
 protected:
  void SetUp() override {
    void* library = dlopen(TERN_STANDIN_DIRECTORY "/libamdhip64.so", RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    fail_ = reinterpret_cast<void (*)(const char*)>(dlsym(library, "tern_standin_fail"));
    graphs_ = reinterpret_cast<int (*)()>(dlsym(library, "tern_standin_graphs"));
    Initialize();
    module_ =
        Compile(tir::ParseModule("test.tir", kProgram), target::Target::Parse("rocm -embed_tir=1"));
    function_ = module_->GetFunction("twice");
    device_ = {GetDeviceKind("rocm").device_type(), 0};
    for (Tensor* tensor : {&a_, &b_}) *tensor = Filled(2);
  }

  Tensor Filled(double value) const {
    Tensor host = Tensor::Empty({64}, DataType::Float(32));
    for (int64_t i = 0; i < 64; ++i) SetElement(host, i, value);
    return host.CopyTo(device_);
  }
  static double First(const Tensor& tensor) {
    return GetElement(tensor.CopyTo({kTernDeviceCpu, 0}), 0);
  }

  void (*fail_)(const char*) = nullptr;
  int (*graphs_)() = nullptr;
  ffi::Module module_;
  ffi::Function function_;
  TernDevice device_{};
  Tensor a_, b_;
};

TEST_F(RocmGraph, AFunctionIsRecordedAndUpdated) {
  LoadKernels(module_, device_);
  Stream stream(device_);
  Capture capture(stream);
  function_(a_, b_);
  Graph graph(capture);
  EXPECT_EQ(First(b_), 2);
  graph.Launch();
  EXPECT_EQ(First(b_), 5);
  Tensor c = Filled(7);
  Capture other(stream);
  function_(b_, c);
  graph.Update(other);
  graph.Launch();
  EXPECT_EQ(First(c), 26);
  Capture longer(stream);
  function_(a_, b_);
  function_(a_, b_);
  EXPECT_EQ(ErrorOf([&] { graph.Update(longer); }),
            "hipGraphExecUpdate: the graph has other nodes, or what an update cannot change "
            "(reason 2)");
  graph.Launch();
}

TEST_F(RocmGraph, WhatWaitsIsNotRecorded) {
  LoadKernels(module_, device_);
  Stream stream(device_);
  Capture capture(stream);
  EXPECT_NE(ErrorOf([&] { stream.Synchronize(); }).find("not allowed while a stream is captured"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { Graph{capture}; }).find("hipStreamEndCapture failed"), std::string::npos);
}

// Whichever call fails: an error that names it, nothing is left, and the next try works.
TEST_F(RocmGraph, SaysWhichCallFailed) {
  LoadKernels(module_, device_);
  Stream stream(device_);
  auto use = [&] {
    Capture capture(stream);
    function_(a_, b_);
    Graph graph(capture);
    Capture other(stream);
    function_(b_, a_);
    graph.Update(other);
    graph.Launch();
    graph.Destroy();
  };
  for (std::string function :
       {"hipStreamBeginCapture", "hipModuleLaunchKernel", "hipStreamEndCapture",
        "hipGraphInstantiateWithFlags", "hipGraphExecUpdate", "hipGraphLaunch", "hipGraphDestroy",
        "hipGraphExecDestroy"}) {
    SCOPED_TRACE(function);
    fail_(function.c_str());
    std::string error = ErrorOf(use);
    EXPECT_NE(error.find(function + " failed: unknown error (999)"), std::string::npos) << error;
    EXPECT_EQ(graphs_(), 0);
    EXPECT_EQ(ErrorOf(use), "no error");
    EXPECT_EQ(graphs_(), 0);
  }
}

}  // namespace
}  // namespace tern::runtime
