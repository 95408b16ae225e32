// SPDX-License-Identifier: Apache-2.0
//
// What the plugins of all devices do, through the runtime. A backend instantiates these tests with
// a description of itself:
//
//   struct Example {
//     static constexpr const char* kKind = "example";
//     static void Open();                 // once, before the plugin is asked for
//     static std::string WhyNot();        // why its tests cannot run here; "" where they can
//     static DeviceArtifact VectorAdd();  // a kernel vector_add, see Add
//   };
//   using ExampleTest = DevicePluginTest<Example>;  // for tests of its own
//   INSTANTIATE_TYPED_TEST_SUITE_P(Example, DevicePluginTest, Example);
#ifndef TERN_RUNTIME_TEST_DATA_DEVICE_PLUGIN_TEST_H_
#define TERN_RUNTIME_TEST_DATA_DEVICE_PLUGIN_TEST_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tern/runtime/device.h"
#include "tern/runtime/graph.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/runtime/plugin/plugin.h"
#include "tern/runtime/stream.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {

// The parameters of vector_add, where a code generator does not say them.
inline KernelInfo VectorAddInfo() {
  return {{DataType::Handle(), DataType::Handle(), DataType::Handle(), DataType::Int(32),
           DataType::Float(32)},
          {"blockIdx.x", "threadIdx.x"},
          0};
}

template <class Backend>
class DevicePluginTest : public testing::Test {
 protected:
  static constexpr int64_t kBlock = 64;  // threads

  static void SetUpTestSuite() { Backend::Open(); }
  void SetUp() override {
    std::string why = Backend::WhyNot();
    if (!why.empty()) GTEST_SKIP() << "SKIPPED: " << why;
  }

  static const DeviceKind& kind() { return GetDeviceKind(Backend::kKind); }
  static TernDevice DeviceAt(int32_t number) { return {kind().device_type(), number}; }
  // Of numbers that count up.
  static Tensor OnDevice(int64_t size, double first, int32_t device = 0) {
    Tensor host = Tensor::Empty({size}, DataType::Float(32));
    for (int64_t i = 0; i < size; ++i) SetElement(host, i, first + static_cast<double>(i));
    return host.CopyTo(DeviceAt(device));
  }
  static std::vector<double> ValuesOf(const Tensor& tensor) {
    Tensor host = tensor.CopyTo({kTernDeviceCpu, 0});
    std::vector<double> values;
    for (int64_t i = 0; i < host->num_elements(); ++i) values.push_back(GetElement(host, i));
    return values;
  }
  // c[i] = (a[i] + b[i]) * scale, for i below n.
  static void Add(const ffi::Function& add, const Tensor& a, const Tensor& b, const Tensor& c,
                  int64_t n, double scale) {
    add(a->device().id, a->data(), b->data(), c->data(), n, scale, (n + kBlock - 1) / kBlock,
        kBlock);
  }
  static ffi::Function VectorAdd() {
    return CreateDeviceModule(Backend::VectorAdd())->GetFunction("vector_add");
  }
  static void ExpectAdds(const ffi::Module& module, int32_t device = 0) {
    const int64_t n = 1000;
    Tensor a = OnDevice(n, 0, device), b = OnDevice(n, 5, device), c = OnDevice(n, -1, device);
    Add(module->GetFunction("vector_add"), a, b, c, n, 0.5);
    std::vector<double> values = ValuesOf(c);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(values[static_cast<size_t>(i)], (2.0 * static_cast<double>(i) + 5) / 2);
  }
  // What is said of a launch on tensors of one element.
  static std::string LaunchError(const DeviceArtifact& artifact, int64_t grid, int64_t block) {
    Tensor a = OnDevice(1, 0);
    return ErrorOf([&] {
      CreateDeviceModule(artifact)->GetFunction("vector_add")(0, a->data(), a->data(), a->data(), 1,
                                                              1.0, grid, block);
    });
  }
};

TYPED_TEST_SUITE_P(DevicePluginTest);

TYPED_TEST_P(DevicePluginTest, DescribesItsDevices) {
  ffi::Map properties = this->kind().Describe(0);
  EXPECT_FALSE(properties->Find("name")->template As<std::string>().empty());
  EXPECT_FALSE(properties->Find("driver")->template As<std::string>().empty());
  EXPECT_GE(properties->Find("max_threads")->template As<int64_t>(), 1);
  EXPECT_GE(properties->Find("max_shared_memory")->template As<int64_t>(), 1);
  EXPECT_GT(this->kind().Memory(0).total_bytes, 0u);
}

TYPED_TEST_P(DevicePluginTest, RunsAKernelSavesAndLoadsIt) {
  ffi::Module module = CreateDeviceModule(TypeParam::VectorAdd());
  this->ExpectAdds(module);
  this->ExpectAdds(LoadDeviceModule(TypeParam::kKind, module->SaveToBytes()));
}

TYPED_TEST_P(DevicePluginTest, AModuleRunsOnEachDevice) {
  ffi::Module module = CreateDeviceModule(TypeParam::VectorAdd());
  const int32_t count = this->kind().Count();
  for (int32_t i = 0; i <= count; ++i) this->ExpectAdds(module, i % count);
  std::string error = ErrorOf([&] { this->OnDevice(1, 0, count); });
  EXPECT_NE(error.find("no such device: " + DeviceName(this->DeviceAt(count))), std::string::npos)
      << error;
}

TYPED_TEST_P(DevicePluginTest, ThreadsShareAModule) {
  ffi::Module module = CreateDeviceModule(TypeParam::VectorAdd());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) this->ExpectAdds(module, i % this->kind().Count());
    });
  for (std::thread& thread : threads) thread.join();
}

// Also for what another thread is waiting for already.
TYPED_TEST_P(DevicePluginTest, ThreadsWaitForTheSame) {
  const int64_t n = 20000;
  ffi::Function add = this->VectorAdd();
  Tensor a = this->OnDevice(n, 0), b = this->OnDevice(n, 5), before = this->OnDevice(n, -1),
         c = this->OnDevice(n, -1);
  for (int i = 0; i < 20; ++i) this->Add(add, a, b, before, n, 0.5);
  this->Add(add, a, b, c, n, 0.5);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_EQ(this->ValuesOf(c)[0], 2.5); });
  for (std::thread& thread : threads) thread.join();
}

TYPED_TEST_P(DevicePluginTest, CopiesWithOffsets) {
  Tensor a = this->OnDevice(8, 0), b = this->OnDevice(8, 100);
  this->kind().Copy({.src = a->data(),
                     .src_offset = 4,
                     .src_device = a->device(),
                     .dst = b->data(),
                     .dst_offset = 8,
                     .dst_device = b->device(),
                     .bytes = 12});
  this->kind().Synchronize(0);
  EXPECT_EQ(this->ValuesOf(b), (std::vector<double>{100, 101, 1, 2, 3, 105, 106, 107}));
}

TYPED_TEST_P(DevicePluginTest, CopiesBetweenDevices) {
  Tensor there = this->OnDevice(3, 3).CopyTo(this->DeviceAt(this->kind().Count() - 1));
  EXPECT_EQ(this->ValuesOf(there), (std::vector<double>{3, 4, 5}));
}

TYPED_TEST_P(DevicePluginTest, StreamsAndEvents) {
  const TernDevice device = this->DeviceAt(0);
  ffi::Function add = this->VectorAdd();
  const int64_t n = 1000;
  Tensor a = this->OnDevice(n, 0), b = this->OnDevice(n, 5), c = this->OnDevice(n, -1);
  Stream first(device), second(device);
  Event start(device), done(device);
  {
    StreamScope scope(first);
    start.Record();
    this->Add(add, a, b, c, n, 0.5);
    done.Record();
  }
  StreamScope scope(second);
  done.HoldCurrentStream();
  this->Add(add, c, c, a, n, 1.0);
  second.Synchronize();
  std::vector<double> values = this->ValuesOf(a);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], 2.0 * static_cast<double>(i) + 5);
  EXPECT_GE(Event::SecondsBetween(start, done), 0);
  EXPECT_EQ(ErrorOf([&] { Event::SecondsBetween(start, Event(device)); }),
            "an event that was never recorded has no time");
}

// Kernels and copies are recorded and done again; a device without graphs says so.
TYPED_TEST_P(DevicePluginTest, Graphs) {
  const TernDevice device = this->DeviceAt(this->kind().Count() - 1);
  Stream stream(device);
  if (!this->kind().HasGraphs()) {
    EXPECT_EQ(ErrorOf([&] { Capture{stream}; }),
              "graphs are not supported by the " + std::string(TypeParam::kKind) +
                  " runtime: what a stream is given cannot be recorded");
    return;
  }
  ffi::Module module = CreateDeviceModule(TypeParam::VectorAdd());
  LoadKernels(module, device);
  ffi::Function add = module->GetFunction("vector_add");
  Tensor a = this->OnDevice(3, 0, device.id), b = this->OnDevice(3, 1, device.id),
         c = this->OnDevice(3, 0, device.id);
  Capture capture(stream);
  this->Add(add, a, b, c, 3, 1.0);
  this->kind().Copy({.src = c->data(),
                     .src_offset = 0,
                     .src_device = device,
                     .dst = a->data(),
                     .dst_offset = 0,
                     .dst_device = device,
                     .bytes = 12,
                     .stream = stream.handle()});
  Graph graph(capture);
  EXPECT_EQ(this->ValuesOf(a), (std::vector<double>{0, 1, 2}));
  StreamScope scope(stream);
  for (int i = 0; i < 3; ++i) graph.Launch();
  stream.Synchronize();
  EXPECT_EQ(this->ValuesOf(a), (std::vector<double>{3, 7, 11}));

  // The same with other arguments, and what is another graph.
  Tensor d = this->OnDevice(3, 10, device.id);
  Capture other(stream);
  this->Add(add, a, d, c, 3, 2.0);
  this->kind().Copy({.src = c->data(),
                     .src_offset = 0,
                     .src_device = device,
                     .dst = d->data(),
                     .dst_offset = 0,
                     .dst_device = device,
                     .bytes = 12,
                     .stream = stream.handle()});
  graph.Update(other);
  graph.Launch();
  stream.Synchronize();
  EXPECT_EQ(this->ValuesOf(d), (std::vector<double>{26, 36, 46}));
  EXPECT_EQ(this->ValuesOf(a), (std::vector<double>{3, 7, 11}));
  Capture shorter(stream);
  this->Add(add, a, b, c, 3, 1.0);
  EXPECT_THROW(
      try { graph.Update(shorter); } catch (const Error& error) {
        EXPECT_EQ(error.kind(), "ValueError") << error.what();
        throw;
      },
      Error);
  graph.Launch();
  stream.Synchronize();
  EXPECT_EQ(this->ValuesOf(d), (std::vector<double>{58, 86, 114}));
}

// Memory lives as long as work that uses it.
TYPED_TEST_P(DevicePluginTest, FreedWhileInUse) {
  ffi::Function add = this->VectorAdd();
  Tensor c = this->OnDevice(3, 0);
  for (int round = 0; round < 100; ++round) {
    Tensor a = this->OnDevice(3, round), b = this->OnDevice(3, 1);
    this->Add(add, a, b, c, 3, 1.0);
  }
  EXPECT_EQ(this->ValuesOf(c), (std::vector<double>{100, 102, 104}));
}

// More than a queue may have place for, before anybody waits.
TYPED_TEST_P(DevicePluginTest, ManyLaunches) {
  ffi::Function add = this->VectorAdd();
  Tensor a = this->OnDevice(3, 0), b = this->OnDevice(3, 1), c = this->OnDevice(3, 0);
  for (int i = 0; i < 200; ++i) {
    this->Add(add, a, b, c, 3, 1.0);
    std::swap(a, c);
  }
  EXPECT_EQ(this->ValuesOf(a), (std::vector<double>{200, 401, 602}));
}

TYPED_TEST_P(DevicePluginTest, EmptyLaunchesDoNothing) {
  EXPECT_EQ(this->LaunchError(TypeParam::VectorAdd(), 0, this->kBlock), "no error");
}

TYPED_TEST_P(DevicePluginTest, WhatTheProgramIsNotIsSaid) {
  DeviceArtifact artifact = TypeParam::VectorAdd();
  artifact.fmap["other"] = {};
  std::string error = ErrorOf([&] { CreateDeviceModule(artifact)->GetFunction("other")(0); });
  EXPECT_NE(error.find("the program has no "), std::string::npos) << error;
  artifact.fmt = "nonsense";
  error = this->LaunchError(artifact, 1, this->kBlock);
  EXPECT_EQ(error.find("the " + std::string(TypeParam::kKind) +
                       " runtime does not take programs in format nonsense: "),
            0u)
      << error;
}

// Not that it waits for threads that only the parent has, nor that the parent's work is disturbed.
TYPED_TEST_P(DevicePluginTest, AForkedChildIsToldAtOnce) {
  ffi::Module module = CreateDeviceModule(TypeParam::VectorAdd());
  ffi::Function add = module->GetFunction("vector_add");
  this->ExpectAdds(module);
  const TernDevice device = this->DeviceAt(0);
  Tensor a = this->OnDevice(3, 0);
  auto stream = std::make_unique<Stream>(device);
  std::string told = ForkedDeviceError(TypeParam::kKind);
  EXPECT_EQ(InForkedChild([&] {
              std::string errors;
              for (const std::function<void()>& use : std::vector<std::function<void()>>{
                       [&] { this->kind().Count(); }, [&] { this->kind().Describe(0); },
                       [&] { this->OnDevice(3, 0); }, [&] { this->ValuesOf(a); },
                       [&] { stream->Synchronize(); }, [&] { this->Add(add, a, a, a, 3, 1.0); }})
                if (std::string error = ErrorOf(use); error != told) errors += error + "\n";
              // They are the parent's, and not given back.
              a = {};
              stream.reset();
              add = {};
              module = {};
              return errors;
            }),
            "");
  EXPECT_EQ(this->ValuesOf(a), (std::vector<double>{0, 1, 2}));
  this->ExpectAdds(module);
}

REGISTER_TYPED_TEST_SUITE_P(DevicePluginTest, DescribesItsDevices, RunsAKernelSavesAndLoadsIt,
                            AModuleRunsOnEachDevice, ThreadsShareAModule, ThreadsWaitForTheSame,
                            CopiesWithOffsets, CopiesBetweenDevices, StreamsAndEvents, Graphs,
                            FreedWhileInUse, ManyLaunches, EmptyLaunchesDoNothing,
                            WhatTheProgramIsNotIsSaid, AForkedChildIsToldAtOnce);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_TEST_DATA_DEVICE_PLUGIN_TEST_H_
