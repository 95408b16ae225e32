// SPDX-License-Identifier: Apache-2.0
//
// Host code of C++ functions, for tests of programs: what a compiler would make.
#ifndef TERN_RUNTIME_TEST_DATA_TEST_KERNELS_H_
#define TERN_RUNTIME_TEST_DATA_TEST_KERNELS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tern/ffi/module.h"
#include "tern/runtime/artifact/artifact.h"

namespace tern::runtime {

class TestKernels : public ffi::ModuleObj {
 public:
  // add(a, b, c): c = a + b; scale(a, s, c): c = a * s; twice(w, p): p = 2 * w. Tensors of
  // float32[n].
  TestKernels() {
    functions_["add"] = Checked(
        [](ffi::Args args, float* out, int64_t i) { out[i] = At(args[0], i) + At(args[1], i); });
    functions_["scale"] = Checked([](ffi::Args args, float* out, int64_t i) {
      out[i] = At(args[0], i) * static_cast<float>(args[1].As<double>());
    });
    functions_["twice"] =
        Checked([](ffi::Args args, float* out, int64_t i) { out[i] = 2 * At(args[0], i); });
  }
  std::string kind() const override { return "test"; }
  uint32_t properties() const override { return kRunnable; }
  ffi::Function GetFunction(std::string_view name) override {
    ++lookups;
    auto found = functions_.find(std::string(name));
    return found == functions_.end() ? ffi::Function() : found->second;
  }
  std::vector<std::string> FunctionNames() const override { return {"add", "scale", "twice"}; }

  static std::vector<FunctionInfo> Infos() {
    DataType f32 = DataType::Float(32);
    ParamInfo in{"a", f32, true, {"n"}}, b = in, out = in, s{"s", f32};
    b.name = "b";
    out.name = "c";
    out.is_output = true;
    return {{"add", {in, b, out}}, {"scale", {in, s, out}}, {"twice", {in, out}}};
  }

  int lookups = 0;

 private:
  static bool IsTensor(const ffi::AnyView& arg) {
    return arg.type_index() == kTernTensorView || arg.type_index() == kTernTensor;
  }
  static const TernTensorView& ViewOf(const ffi::AnyView& arg) {
    if (arg.type_index() == kTernTensorView) return *arg.raw().v_tensor;
    return *reinterpret_cast<const TernTensorView*>(arg.raw().v_obj + 1);
  }
  static float At(const ffi::AnyView& arg, int64_t i) {
    const TernTensorView& view = ViewOf(arg);
    int64_t stride = view.strides ? view.strides[0] : 1;
    auto* first = reinterpret_cast<float*>(static_cast<char*>(view.data) + view.byte_offset);
    return first[i * stride];
  }
  template <class Body>
  static ffi::Function Checked(Body body) {
    return ffi::Function::FromPacked([body](ffi::Args args) -> ffi::Any {
      const TernTensorView& out = ViewOf(args.back());
      for (const ffi::AnyView& arg : args)
        TERN_CHECK(!IsTensor(arg) || ViewOf(arg).shape[0] == out.shape[0])
            << "expected extent " << out.shape[0] << ", got " << ViewOf(arg).shape[0];
      auto* data = reinterpret_cast<float*>(static_cast<char*>(out.data) + out.byte_offset);
      for (int64_t i = 0; i < out.shape[0]; ++i) body(args, data, i);
      return {};
    });
  }

  std::map<std::string, ffi::Function> functions_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_TEST_DATA_TEST_KERNELS_H_
