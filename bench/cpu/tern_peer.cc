// SPDX-License-Identifier: Apache-2.0
//
// Tern: the case names a compiled file (file=x.so) with one function. Tensors are bound to
// parameters by name; what the function needs of constant ones is prepared before the time is
// taken.
#include "bench/cpu/worker.h"
#include "tern/runtime/host/thread_pool.h"
#include "tern/runtime/prepared_function.h"
#include "tern/runtime/tensor.h"

namespace tern::bench {
namespace {

// The one function of a file that is no part of another.
const runtime::FunctionInfo& FindFunction(const runtime::ArtifactMeta& meta) {
  const std::set<std::string> parts = meta.PartNames();
  const runtime::FunctionInfo* found = nullptr;
  for (const runtime::FunctionInfo& function : meta.functions) {
    if (parts.contains(function.name)) continue;
    if (found) throw std::runtime_error("more than one function");
    found = &function;
  }
  if (!found) throw std::runtime_error("no function to run");
  return *found;
}

// Borrowed: the buffers outlive what is called.
runtime::Tensor Bind(const Case& the_case, const Buffers& buffers, const std::string& name) {
  for (const TensorSpec& spec : the_case.tensors()) {
    if (spec.name != name) continue;
    runtime::TensorMemory memory{.data = {buffers.Get(name), [](void*) {}}, .bytes = spec.bytes()};
    return {ffi::Make<runtime::TensorObj>(spec.shape, *DataType::Parse(spec.dtype),
                                          TernDevice{kTernDeviceCpu, 0}, runtime::TensorLayout{},
                                          memory)};
  }
  throw std::runtime_error("the case has no tensor " + name);
}

std::vector<Variant> PrepareTern(const Case& the_case, const Buffers& buffers) {
  runtime::Artifact artifact = runtime::Artifact::Open(the_case.Text("file"));
  ffi::Module module = artifact.Load();
  const runtime::FunctionInfo& info = FindFunction(artifact.meta());
  std::vector<ffi::Any> args;
  for (const runtime::ParamInfo& param : info.params)
    args.emplace_back(Bind(the_case, buffers, param.name));
  std::vector<ffi::AnyView> views(args.begin(), args.end());
  ffi::Function function = runtime::Prepare(module, artifact.meta(), info, views);
  auto call = [module, function, args, views] { function.CallPacked(views); };
  return {{info.prepare.empty() ? "plain" : "prepared", call}};
}

}  // namespace
}  // namespace tern::bench

int main() {
  return tern::bench::WorkerMain(
      [] { return "threads: " + std::to_string(tern::runtime::NumThreads()); },
      tern::bench::PrepareTern);
}
