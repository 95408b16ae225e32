// SPDX-License-Identifier: Apache-2.0
//
// Tern: the case names a compiled file (file=x.so). Tensors are bound to parameters by name. Where
// the file has a function `prepare`, it is called once, before the time is taken, on constant
// tensors; what it writes are parameters of the other function.
#include "bench/cpu/worker.h"
#include "tern/runtime/artifact.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/thread_pool.h"

namespace tern::bench {
namespace {

using runtime::Tensor;

class Bindings {
 public:
  Bindings(const Case& the_case, const Buffers& buffers) {
    for (const TensorSpec& spec : the_case.tensors()) {
      // Borrowed: the buffers outlive what is called.
      runtime::TensorMemory memory{.data = {buffers.Get(spec.name), [](void*) {}},
                                   .bytes = spec.bytes()};
      tensors_[spec.name] = Tensor(ffi::Make<runtime::TensorObj>(
          spec.shape, *DataType::Parse(spec.dtype), TernDevice{kTernDeviceCpu, 0},
          runtime::TensorLayout{}, memory));
    }
  }

  // The arguments of a call; tensors that nobody gave are made.
  std::vector<ffi::Any> Bind(const runtime::FunctionInfo& function) {
    std::vector<ffi::Any> args;
    for (const runtime::ParamInfo& param : function.params) {
      Tensor& tensor = tensors_[param.name];
      if (!tensor.get()) tensor = Make(function, param);
      args.emplace_back(tensor);
    }
    return args;
  }

 private:
  static Tensor Make(const runtime::FunctionInfo& function, const runtime::ParamInfo& param) {
    if (!param.is_output)
      throw std::runtime_error("the case has no tensor for " + param.name + " of " +
                               runtime::SignatureText(function));
    std::vector<int64_t> shape;
    for (const std::string& extent : param.shape) shape.push_back(std::stoll(extent));
    return Tensor::Empty(shape, param.dtype);
  }

  std::map<std::string, Tensor> tensors_;
};

void Call(const ffi::Function& function, const std::vector<ffi::Any>& args) {
  std::vector<ffi::AnyView> views(args.begin(), args.end());
  function.CallPacked(views);
}

std::vector<Variant> PrepareTern(const Case& the_case, const Buffers& buffers) {
  runtime::Artifact artifact = runtime::Artifact::Open(the_case.Text("file"));
  ffi::Module module = artifact.Load();
  Bindings bindings(the_case, buffers);
  const runtime::FunctionInfo* main = nullptr;
  bool is_prepared = false;
  for (const runtime::FunctionInfo& function : artifact.meta().functions) {
    if (function.name == "prepare") {
      Call(module->GetFunction("prepare"), bindings.Bind(function));
      is_prepared = true;
    } else {
      if (main) throw std::runtime_error("more than one function beside 'prepare'");
      main = &function;
    }
  }
  if (!main) throw std::runtime_error("no function to run");
  std::vector<ffi::Any> args = bindings.Bind(*main);
  ffi::Function function = module->GetFunction(main->name);
  std::vector<ffi::AnyView> views(args.begin(), args.end());
  auto call = [module, function, args, views] { function.CallPacked(views); };
  return {{is_prepared ? "prepared" : "plain", call}};
}

}  // namespace
}  // namespace tern::bench

int main() {
  return tern::bench::WorkerMain(
      [] { return "threads: " + std::to_string(tern::runtime::NumThreads()); },
      tern::bench::PrepareTern);
}
