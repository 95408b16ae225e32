// SPDX-License-Identifier: Apache-2.0
//
// launch FILE...: what the launch of a kernel costs its caller, through a compiled file whose
// function takes tensors alone, and how long a graph of 64 of them takes, where the device has
// graphs; beside them what a bare cuLaunchKernel and a bare graph of the driver take, where FILE is
// for CUDA. Of the launch also what its parts take: the kernel as host code calls it, and the
// plugin.
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
  Way launch, kernel, plugin;
  size_t num_args = 0;  // of the kernel
  std::optional<Way> graph;
};

// What the plugin launches: one block of 32 threads, on `memory`.
struct PluginLaunch {
  PluginLaunch(const DeviceArtifact& artifact, const KernelInfo& info, std::vector<void*> memory)
      : loader(FindKernelLoader(artifact.kind)), memory(std::move(memory)) {
    for (size_t i = 0; i < info.args.size(); ++i) {
      args.push_back(&this->memory[i]);
      sizes.push_back(static_cast<uint64_t>(info.args[i].bytes()));
      kinds.push_back(info.args[i].is_handle());
    }
    launch = {.grid = {1, 1, 1},
              .block = {32, 1, 1},
              .num_args = static_cast<int32_t>(args.size()),
              .args = args.data(),
              .arg_sizes = sizes.data(),
              .arg_is_memory = kinds.data(),
              .size = sizeof launch,
              .version = TERN_PLUGIN_API_VERSION,
              .arg_kinds = kinds.data(),
              .cluster = {1, 1, 1}};
    kernel = loader->GetKernel(loader->Load(0, artifact.fmt, artifact.payload),
                               artifact.fmap.begin()->first);
  }
  PluginLaunch(const PluginLaunch&) = delete;

  const KernelLoader* loader;
  void* kernel;
  std::vector<void*> memory;
  std::vector<const void*> args;
  std::vector<uint64_t> sizes;
  std::vector<uint8_t> kinds;
  TernLaunch launch{};
};

// The parts of a call of the module's only kernel, whose tensors are those of the call.
void AddParts(Ours& ours, const ffi::Module& module, const std::vector<ffi::Any>& tensors) {
  const ffi::Module& kernels = module->imports().at(0);
  DeviceArtifact artifact = LoadDeviceArtifact(kernels->kind(), kernels->SaveToBytes());
  const auto& [name, info] = *artifact.fmap.begin();
  ours.num_args = info.args.size();
  std::vector<void*> memory;
  for (const ffi::Any& tensor : tensors) memory.push_back(tensor.As<Tensor>()->view().data);
  memory.resize(ours.num_args);
  auto values = std::make_shared<std::vector<ffi::Any>>(1, ffi::Any(0));
  for (size_t i = 0; i < ours.num_args; ++i)
    values->push_back(info.args[i].is_handle() ? ffi::Any(memory[i]) : ffi::Any(32));
  for (const std::string& tag : info.launch_tags)
    values->emplace_back(tag == "threadIdx.x" ? 32 : 1);
  std::vector<ffi::AnyView> views(values->begin(), values->end());
  ffi::Function kernel = kernels->GetFunction(name);
  ours.kernel = {[kernel, views, values] { kernel.CallPacked(views); }, ours.launch.wait};
  auto plugin = std::make_shared<PluginLaunch>(artifact, info, memory);
  ours.plugin = {[plugin] { plugin->loader->Launch(plugin->kernel, plugin->launch); },
                 ours.launch.wait};
}
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
  Ours ours;
  ours.launch = {[function, views, module, args] { function.CallPacked(views); },
                 [&kind] { kind.Synchronize(0); }};
  ours.launch.launch();
  AddParts(ours, *module, *args);
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

// As small as the kernel that it stands beside: as many arguments, one block of 32 threads.
std::string PtxOf(size_t num_args) {
  std::string params = ".param .u64 a, .param .u64 b";
  for (size_t i = 2; i < num_args; ++i) params += ", .param .u64 a" + std::to_string(i);
  return R"(.version 7.0
.target sm_50
.address_size 64
.visible .entry trivial()" +
         params + R"() {
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
}

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
Bare ThroughDriver(size_t num_args) {
  BareDriver driver;
  int device = 0;
  void *context = nullptr, *module = nullptr, *kernel = nullptr;
  static unsigned long long a = 0, b = 0;
  driver.Call("cuInit", 0U);
  driver.Call("cuDeviceGet", &device, 0);
  driver.Call("cuDevicePrimaryCtxRetain", &context, device);
  driver.Call("cuCtxSetCurrent", context);
  driver.Call("cuModuleLoadData", &module, PtxOf(num_args).c_str());
  driver.Call("cuModuleGetFunction", &kernel, module, "trivial");
  driver.Call("cuMemAlloc_v2", &a, size_t{128});
  driver.Call("cuMemAlloc_v2", &b, size_t{128});
  num_args = std::max<size_t>(num_args, 2);  // the kernel takes no fewer
  auto* args = new void*[num_args];
  for (size_t i = 0; i < num_args; ++i) args[i] = i % 2 ? &b : &a;
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
  if (device == "cuda") bare = ThroughDriver(ours.num_args);
  std::vector<Way*> launches{&ours.launch, &ours.kernel, &ours.plugin}, graphs;
  if (bare) launches.push_back(&bare->launch);
  Measure(launches);
  double time = ours.launch.Median();
  std::printf(
      "%s through Tern: %.3f us for a launch of %zu arguments, of the kernel %.3f, by the plugin "
      "%.3f\n",
      device.c_str(), time, ours.num_args, ours.kernel.Median(), ours.plugin.Median());
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
    int status = argc > 1 ? 0 : 2;
    for (int i = 1; i < argc && status == 0; ++i) status = tern::runtime::Main(argv[i]);
    if (status == 2) std::fprintf(stderr, "usage: tern_bench_launch FILE...\n");
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern_bench_launch: error: %s\n", error.what());
  }
  return 2;
}
