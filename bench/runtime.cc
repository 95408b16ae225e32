// SPDX-License-Identifier: Apache-2.0
//
// runtime: what a call, a run of a model, a parallel loop and a loaded file cost. Each figure is
// the least of many rounds, which is what it costs when nothing else runs; those with a limit fail
// beyond it.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tern/ffi/registry.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/host/thread_pool.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/vm/session.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kNoLimit = 0;
bool all_within = true;

// The least of `rounds` times of `calls` calls, in nanoseconds for each call.
template <class F>
double Least(int rounds, int calls, F&& f) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    auto start = Clock::now();
    for (int i = 0; i < calls; ++i) f();
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls);
  }
  return *std::min_element(times.begin(), times.end());
}

void Report(const char* what, double nanoseconds, double limit) {
  bool within = limit == kNoLimit || nanoseconds <= limit;
  all_within = all_within && within;
  std::printf("%-64s %12.1f ns", what, nanoseconds);
  if (limit != kNoLimit) std::printf("  (at most %.0f%s)", limit, within ? "" : ": MISSED");
  std::printf("\n");
}

void MeasureCalls() {
  constexpr const char* kName = "bench.two_tensors";
  ffi::RegisterGlobal(kName, ffi::Function::FromTyped(kName, [](const Tensor& a, const Tensor& b) {
                        return a->view().ndim == b->view().ndim;
                      }));
  Tensor a = Tensor::Empty({16}, DataType::Float(32)), b = Tensor::Empty({16}, DataType::Float(32));
  ffi::Function function = ffi::GetGlobal(kName);
  Report("call of two tensors, function from the registry",
         Least(1001, 1000, [&] { function(a, b); }), 60);
  Report("the same, looked up by name each time",
         Least(1001, 1000, [&] { ffi::GetGlobal(kName)(a, b); }), kNoLimit);
  ffi::RemoveGlobal(kName);
}

void MeasureLoops() {
  std::printf("threads: %d\n", NumThreads());
  std::function<void(int64_t, int64_t)> nothing = [](int64_t, int64_t) {};
  ParallelFor(NumThreads(), nothing);
  Report("parallel loop of no work, threads awake",
         Least(1001, 100, [&] { ParallelFor(NumThreads(), nothing); }), 1000);
  std::vector<double> asleep;
  for (int i = 0; i < 101; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    asleep.push_back(Least(1, 1, [&] { ParallelFor(NumThreads(), nothing); }));
  }
  Report("parallel loop of no work, threads asleep",
         *std::min_element(asleep.begin(), asleep.end()), kNoLimit);
}

// A kernel of four tensors that does nothing.
class NoKernels : public ffi::ModuleObj {
 public:
  std::string kind() const override { return "bench"; }
  uint32_t properties() const override { return kRunnable; }
  ffi::Function GetFunction(std::string_view) override {
    return ffi::Function::FromPacked([](ffi::Args) -> ffi::Any { return {}; });
  }
  std::vector<std::string> FunctionNames() const override { return {"nothing"}; }
};

// A run of a model of so many calls, each with memory of the plan.
double TimeOfRun(int calls) {
  std::string text =
      "model 1\ndim n\ninput x: float32[n]\noutput y: float32[n]\n"
      "func main(i0, t0: float32[:]) -> (tensor) {\nt1: float32[:]\nt2: float32[:]\n";
  for (int i = 0; i < calls; ++i) text += "t" + std::to_string(i + 3) + ": float32[:]\n";
  text += "t1 = alloc [i0] output 0\nt2 = alloc [i0]\n";
  for (int i = 0; i < calls; ++i) {
    std::string result = "t" + std::to_string(i + 3);
    text +=
        result + " = alloc [i0]\ncall nothing(t0, t1, t2, " + result + ")\nfree " + result + "\n";
  }
  ParamInfo in{"a", DataType::Float(32), true, {"n"}},
      out{"d", DataType::Float(32), true, {"n"}, true};
  auto model = std::make_shared<const vm::Model>(
      vm::ModelParts{vm::ParseProgram(text + "ret t1\n}\n", "bench"),
                     ffi::Module(ffi::Make<NoKernels>()),
                     {{"nothing", {in, in, in, out}}}});
  vm::Session session(model);
  std::vector<Tensor> inputs = {Tensor::Empty({16}, DataType::Float(32))};
  return Least(301, 3, [&] { session.Run(inputs); });
}

void MeasureModels() {
  constexpr int kCalls = 1000;
  double empty = TimeOfRun(0);
  Report("run of a model without calls", empty, kNoLimit);
  Report("call of four tensors in a model: alloc, call, free", (TimeOfRun(kCalls) - empty) / kCalls,
         150);
}

// A file of 100 MB, nearly all of it a section that loading does not need.
void MeasureLoading() {
  std::string path =
      std::filesystem::temp_directory_path() / ("tern_bench_" + std::to_string(getpid()) + ".tern");
  ContainerWriter writer;
  writer.Add("meta", WriteMeta({.tern_version = "0", .target = "c", .device = "cpu"}));
  writer.Add("source.0.c", std::string(100'000'000, 'x'));
  WriteFile(path, writer.Finish());
  Report("opening a file of 100 MB whose sections are not used",
         Least(11, 1, [&] { Artifact::Open(path); }), kNoLimit);
  Report("opening it, and reading all of it",
         Least(5, 1, [&] { Artifact::Open(path).container().Get("source.0.c"); }), kNoLimit);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tern::runtime

int main() {
  tern::runtime::MeasureCalls();
  tern::runtime::MeasureModels();
  tern::runtime::MeasureLoops();
  tern::runtime::MeasureLoading();
  return tern::runtime::all_within ? 0 : 1;
}
