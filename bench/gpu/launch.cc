// SPDX-License-Identifier: Apache-2.0
//
// launch FILE: what the launch of a kernel costs its caller, through a compiled file whose function
// takes tensors alone, and how long a graph of 64 of them takes, where the device has graphs;
// beside them what a bare cuLaunchKernel and a bare graph of the driver take, where FILE is for
// CUDA.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/device.h"
#include "tern/runtime/graph.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/runtime/runner.h"

namespace tern::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// Launches that a queue takes without making its caller wait.
constexpr int kCalls = 200, kRounds = 101;
// Of a graph, and how often it is launched in a round.
constexpr int kNodes = 64, kGraphCalls = 20;

// One way to launch; the device is idle after `wait`.
struct Way {
  std::function<void()> launch, wait;
  int calls = kCalls;
  bool is_until_done = false;  // the time is that of the device, not of the caller
  std::vector<double> times;   // of rounds, in microseconds for each launch

  void Round() {
    wait();
    auto start = Clock::now();
    for (int i = 0; i < calls; ++i) launch();
    if (is_until_done) wait();
    std::chrono::duration<double, std::micro> time = Clock::now() - start;
    times.push_back(time.count() / calls);
  }
  double Median() {
    std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
    return times[kRounds / 2];
  }
};

// In turn, so that all have the same machine; the first of a round is another each time.
void Measure(const std::vector<Way*>& ways) {
  for (size_t round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < ways.size(); ++i) ways[(round + i) % ways.size()]->Round();
  for (Way* way : ways) way->wait();
}

// The first function of a file, on arguments that live as long as the process, and a graph of it
// where there are graphs.
struct Ours {
  Way launch;
  std::optional<Way> graph;
};
Ours ThroughTern(const Artifact& artifact) {
  auto module = std::make_shared<ffi::Module>(artifact.Load());
  const FunctionInfo& info = artifact.meta().functions.at(0);
  ffi::Function function = (*module)->GetFunction(info.name);
  const DeviceKind& kind = GetDeviceKind(artifact.meta().device);
  auto args = std::make_shared<std::vector<ffi::Any>>(MakeArguments(info, {}, nullptr));
  for (ffi::Any& arg : *args) arg = arg.As<Tensor>().CopyTo({kind.device_type(), 0});
  std::vector<ffi::AnyView> views(args->begin(), args->end());
  const TernDevice device = {kind.device_type(), 0};
  LoadKernels(*module, device);
  Ours ours{.launch = {[function, views, module, args] { function.CallPacked(views); },
                       [&kind] { kind.Synchronize(0); }},
            .graph = std::nullopt};
  ours.launch.launch();
  if (!kind.HasGraphs()) return ours;
  auto stream = std::make_shared<Stream>(device);
  Capture capture(*stream);
  for (int i = 0; i < kNodes; ++i) ours.launch.launch();
  auto graph = std::make_shared<Graph>(capture);
  ours.graph = Way{.launch =
                       [graph, stream] {
                         StreamScope scope(*stream);
                         graph->Launch();
                       },
                   .wait = [stream] { stream->Synchronize(); },
                   .calls = kGraphCalls,
                   .is_until_done = true};
  return ours;
}

// As small as the kernel that it stands beside: two pointers, one block of 32 threads.
constexpr const char* kPtx = R"(.version 7.0
.target sm_50
.address_size 64
.visible .entry trivial(.param .u64 a, .param .u64 b) {
  .reg .b32 %r<2>;
  .reg .f32 %f<2>;
  .reg .b64 %d<6>;
  ld.param.u64 %d0, [a];
  ld.param.u64 %d1, [b];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d2, %r0, 4;
  add.s64 %d3, %d0, %d2;
  add.s64 %d4, %d1, %d2;
  ld.global.f32 %f0, [%d3];
  st.global.f32 [%d4], %f0;
  ret;
}
)";

// The driver's functions by name; what they return is 0, or the error.
class BareDriver {
 public:
  BareDriver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) { TERN_CHECK(library_) << dlerror(); }
  template <class... T>
  void Call(const char* name, T... args) {
    int error = Find<T...>(name)(args...);
    TERN_CHECK(error == 0) << name << ": error " << error;
  }
  template <class... T>
  int (*Find(const char* name))(T...) {
    void* symbol = dlsym(library_, name);
    TERN_CHECK(symbol) << "libcuda.so.1 has no " << name;
    return reinterpret_cast<int (*)(T...)>(symbol);
  }

 private:
  void* library_;
};

struct Bare {
  Way launch, graph;
};
Bare ThroughDriver() {
  BareDriver driver;
  int device = 0;
  void *context = nullptr, *module = nullptr, *kernel = nullptr;
  static unsigned long long a = 0, b = 0;
  driver.Call("cuInit", 0U);
  driver.Call("cuDeviceGet", &device, 0);
  driver.Call("cuDevicePrimaryCtxRetain", &context, device);
  driver.Call("cuCtxSetCurrent", context);
  driver.Call("cuModuleLoadData", &module, kPtx);
  driver.Call("cuModuleGetFunction", &kernel, module, "trivial");
  driver.Call("cuMemAlloc_v2", &a, size_t{128});
  driver.Call("cuMemAlloc_v2", &b, size_t{128});
  static void* args[] = {&a, &b};
  auto* launch = driver.Find<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             unsigned, void*, void**, void**>("cuLaunchKernel");
  auto* wait = driver.Find<>("cuCtxSynchronize");
  void *stream = nullptr, *graph = nullptr, *executable = nullptr;
  driver.Call("cuStreamCreate", &stream, 1U);
  driver.Call("cuStreamBeginCapture_v2", stream, 1);
  for (int i = 0; i < kNodes; ++i) launch(kernel, 1, 1, 1, 32, 1, 1, 0, stream, args, nullptr);
  driver.Call("cuStreamEndCapture", stream, &graph);
  driver.Call("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
  auto* launch_graph = driver.Find<void*, void*>("cuGraphLaunch");
  auto* wait_stream = driver.Find<void*>("cuStreamSynchronize");
  return {
      .launch = {.launch = [=] { launch(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, args, nullptr); },
                 .wait = [=] { wait(); }},
      .graph = {.launch = [=] { launch_graph(executable, stream); },
                .wait = [=] { wait_stream(stream); },
                .calls = kGraphCalls,
                .is_until_done = true}};
}

int Main(const std::string& path) {
  Artifact artifact = Artifact::Open(path);
  const std::string& device = artifact.meta().device;
  Ours ours = ThroughTern(artifact);
  std::optional<Bare> bare;
  if (device == "cuda") bare = ThroughDriver();
  std::vector<Way*> launches{&ours.launch}, graphs;
  if (bare) launches.push_back(&bare->launch);
  Measure(launches);
  double time = ours.launch.Median();
  std::printf("%s through Tern: %.3f us for a launch\n", device.c_str(), time);
  if (bare)
    std::printf("cuLaunchKernel: %.3f us for a launch, ratio %.3f\n", bare->launch.Median(),
                time / bare->launch.Median());
  if (!ours.graph) return 0;
  graphs.push_back(&*ours.graph);
  if (bare) graphs.push_back(&bare->graph);
  Measure(graphs);
  time = ours.graph->Median();
  std::printf("%s through Tern: %.3f us for a graph of %d launches\n", device.c_str(), time,
              kNodes);
  if (bare)
    std::printf("cuGraphLaunch: %.3f us for a graph of %d launches, ratio %.3f\n",
                bare->graph.Median(), kNodes, time / bare->graph.Median());
  return 0;
}

}  // namespace
}  // namespace tern::runtime

int main(int argc, char** argv) {
  try {
    if (argc == 2) return tern::runtime::Main(argv[1]);
    std::fprintf(stderr, "usage: tern_bench_launch FILE\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern_bench_launch: error: %s\n", error.what());
  }
  return 2;
}
