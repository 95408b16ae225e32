// SPDX-License-Identifier: Apache-2.0
//
// On the plugin of test_plugins/boundary_plugin.cc; tern/runtime/test_data/device_plugin_test.h has
// what real drivers do.
#include "tern/runtime/graph.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tern/ffi/registry.h"
#include "tern/runtime/c_api.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/runtime/plugin/plugin.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

class GraphTest : public testing::Test {
 protected:
  void SetUp() override {
    LoadPlugin("boundary5");
    device_ = {GetDeviceKind("boundary5").device_type(), 0};
    DeviceArtifact artifact{.kind = "boundary5", .fmt = "any"};
    artifact.fmap["fill"] = {{DataType::Handle(), DataType::Int(32), DataType::Float(32)},
                             {"blockIdx.x", "threadIdx.x"},
                             0};
    artifact.payload[""] = "code";
    module_ = CreateDeviceModule(artifact);
    fill_ = module_->GetFunction("fill");
    data_ = Tensor::Empty({4}, DataType::Float(32), device_);
    Fill(4, 0);
  }

  void Fill(int count, double value) { fill_(0, data_->data(), count, value, 1, 4); }
  std::vector<double> Values() {
    Tensor host = data_.CopyTo({kTernDeviceCpu, 0});
    return {GetElement(host, 0), GetElement(host, 1), GetElement(host, 2), GetElement(host, 3)};
  }
  using List = std::vector<double>;

  ScopedVariable path_{"TERN_BACKEND_PATH", TERN_TEST_PLUGINS};
  TernDevice device_{};
  ffi::Module module_;
  ffi::Function fill_;
  Tensor data_;
};

TEST_F(GraphTest, RecordsAndRepeats) {
  Stream stream(device_);
  Capture capture(stream);
  EXPECT_EQ(CurrentStream(device_), stream.handle());
  Fill(4, 1);
  Fill(2, 2);
  EXPECT_EQ(Values(), (List{0, 0, 0, 0}));
  Graph graph(capture);
  EXPECT_EQ(CurrentStream(device_), nullptr);
  graph.Launch();
  EXPECT_EQ(Values(), (List{2, 2, 1, 1}));
  Fill(4, 0);
  graph.Launch();
  EXPECT_EQ(Values(), (List{2, 2, 1, 1}));
}

TEST_F(GraphTest, IsUpdatedWithOtherArguments) {
  Stream stream(device_);
  Capture capture(stream);
  Fill(4, 1);
  Graph graph(capture);
  {
    Capture other(stream);
    Fill(3, 5);
    graph.Update(other);
  }
  graph.Launch();
  EXPECT_EQ(Values(), (List{5, 5, 5, 0}));
  {
    Capture other(stream);
    Fill(1, 6);
    Fill(1, 7);
    EXPECT_EQ(ErrorOf([&] { graph.Update(other); }), "the graph has other launches");
  }
  Fill(4, 0);
  graph.Launch();
  EXPECT_EQ(Values(), (List{5, 5, 5, 0}));
}

TEST_F(GraphTest, ARecordingEndsInAnyCase) {
  Stream stream(device_);
  {
    Capture dropped(stream);
    Fill(4, 1);
  }
  EXPECT_EQ(CurrentStream(device_), nullptr);
  EXPECT_EQ(Values(), (List{0, 0, 0, 0}));
  Capture capture(stream);
  EXPECT_EQ(ErrorOf([&] { Capture(stream.device(), stream.handle()); }),
            "this thread records a stream already; end that first");
  std::string elsewhere;
  std::thread([&] { elsewhere = ErrorOf([&] { Graph{capture}; }); }).join();
  EXPECT_EQ(elsewhere, "a recording is ended by the thread that began it");
  Graph graph(capture);
  EXPECT_EQ(ErrorOf([&] { Graph{capture}; }), "the recording has ended already");
  graph.Destroy();
  EXPECT_EQ(ErrorOf([&] { graph.Launch(); }), "the graph has been destroyed");
  EXPECT_EQ(ErrorOf([&] { Capture(device_, nullptr); }),
            "the default stream of boundary5:0 cannot be recorded; record another one");
}

// What compiled functions took while they were recorded is used by every launch.
TEST_F(GraphTest, TemporaryMemoryIsTheGraphs) {
  Stream stream(device_);
  void* temporary = nullptr;
  Capture capture(stream);
  {
    WorkspaceFrame call;
    temporary = AllocWorkspace(device_, 16, 64);
    fill_(0, temporary, 4, 3.0, 1, 4);
  }
  {
    WorkspaceFrame call;  // in the order of the stream: the same piece
    EXPECT_EQ(AllocWorkspace(device_, 16, 64), temporary);
  }
  Graph graph(capture);
  StreamScope scope(stream);
  WorkspaceFrame call;
  EXPECT_NE(AllocWorkspace(device_, 16, 64), temporary);
  graph.Launch();
}

TEST_F(GraphTest, FromC) {
  Stream stream(device_);
  TernCapture* capture = nullptr;
  TernGraph* graph = nullptr;
  ASSERT_EQ(tern_capture_begin(device_, stream.handle(), &capture), 0) << tern_last_error();
  Fill(4, 1);
  ASSERT_EQ(tern_capture_end(capture, &graph), 0) << tern_last_error();
  EXPECT_EQ(tern_graph_launch(graph), 0);
  EXPECT_EQ(Values(), (List{1, 1, 1, 1}));
  ASSERT_EQ(tern_capture_begin(device_, stream.handle(), &capture), 0);
  Fill(2, 8);
  EXPECT_EQ(tern_graph_update(graph, capture), 0);
  EXPECT_EQ(tern_graph_launch(graph), 0);
  EXPECT_EQ(Values(), (List{8, 8, 1, 1}));
  ASSERT_EQ(tern_capture_begin(device_, stream.handle(), &capture), 0);
  EXPECT_EQ(tern_graph_update(graph, capture), -1);
  EXPECT_STREQ(tern_last_error(), "ValueError: the graph has other launches");
  ASSERT_EQ(tern_capture_begin(device_, stream.handle(), &capture), 0);
  EXPECT_EQ(tern_capture_end(capture, nullptr), 0);
  EXPECT_EQ(tern_graph_free(graph), 0);
}

TEST_F(GraphTest, KernelsAreLoadedAhead) {
  LoadPlugin("toy");
  const TernDevice toy = {GetDeviceKind("toy").device_type(), 1};
  auto loads = [] { return ffi::GetGlobal("toy.counter")(0).As<int>(); };
  DeviceArtifact artifact{.kind = "toy", .fmt = "toy"};
  artifact.fmap["f"] = {{DataType::Handle(), DataType::Int(32), DataType::Float(32)}, {}, 0};
  artifact.payload[""] = "f fill";
  ffi::Module kernels = CreateDeviceModule(artifact);
  module_->Import(kernels);
  int before = loads();
  LoadKernels(module_, toy);
  EXPECT_EQ(loads(), before + 1);
  Tensor data = Tensor::Empty({4}, DataType::Float(32), toy);
  kernels->GetFunction("f")(1, data->data(), 4, 1.0);
  LoadKernels(module_, toy);
  EXPECT_EQ(loads(), before + 1);
  LoadKernels(module_, {toy.type, 0});
  EXPECT_EQ(loads(), before + 2);
}

}  // namespace
}  // namespace tern::runtime
