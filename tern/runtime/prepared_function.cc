// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/prepared_function.h"

#include <algorithm>

#include "tern/runtime/extent.h"
#include "tern/runtime/tensor.h"

namespace tern::runtime {
namespace {

std::optional<size_t> PlaceOf(const FunctionInfo& function, const std::string& param) {
  auto it = std::find_if(function.params.begin(), function.params.end(),
                         [&](const ParamInfo& one) { return one.name == param; });
  if (it == function.params.end()) return {};
  return static_cast<size_t>(it - function.params.begin());
}

void CheckCount(const FunctionInfo& info, ffi::Args args) {
  if (args.size() != info.params.size())
    TERN_THROW(TypeError) << info.name << ": expected " << info.params.size() << " arguments, got "
                          << args.size();
}

// What the parameters of the function that prepares are: tensors among the arguments, or made.
class Maker {
 public:
  Maker(const FunctionInfo& info, const FunctionInfo& prepare, ffi::Args args)
      : info_(info), prepare_(prepare) {
    CheckCount(info, args);
    for (const ParamInfo& param : prepare.params)
      if (std::optional<size_t> place = PlaceOf(info, param.name)) Take(param, args[*place]);
    for (const ParamInfo& param : prepare.params)
      if (!tensors_.count(param.name)) tensors_[param.name] = Make(param);
  }

  void Run(const ffi::Function& function) const {
    std::vector<ffi::Any> args;
    for (const ParamInfo& param : prepare_.params) args.emplace_back(tensors_.at(param.name));
    std::vector<ffi::AnyView> views(args.begin(), args.end());
    function.CallPacked(views);
  }
  const Tensor& Get(const std::string& name) const { return tensors_.at(name); }

 private:
  void Take(const ParamInfo& param, const ffi::AnyView& arg) {
    std::optional<Tensor> tensor = arg.TryAs<Tensor>();
    if (!tensor || (*tensor)->shape().size() != param.shape.size())
      TERN_THROW(TypeError) << info_.name << ": argument " << param.name << " is no tensor of "
                            << param.shape.size() << " axes";
    for (size_t d = 0; d < param.shape.size(); ++d)
      if (IsSymbol(param.shape[d])) dims_.emplace(param.shape[d], (*tensor)->shape()[d]);
    tensors_[param.name] = *tensor;
  }
  std::vector<int64_t> Evaluate(const std::vector<std::string>& texts) const {
    std::vector<int64_t> values;
    for (const std::string& text : texts) values.push_back(EvaluateExtent(text, dims_));
    return values;
  }
  Tensor Make(const ParamInfo& param) const {
    return WithContext("making " + param.name + " of " + prepare_.name, [&] {
      return Tensor::Empty(Evaluate(param.shape), param.dtype, {kTernDeviceCpu, 0},
                           {Evaluate(param.strides), 0});
    });
  }

  const FunctionInfo &info_, &prepare_;
  std::map<std::string, int64_t> dims_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace

ffi::Function Prepare(const ffi::Module& module, const ArtifactMeta& meta, const FunctionInfo& info,
                      ffi::Args args) {
  if (info.prepare.empty()) return module->GetFunction(info.name);
  const FunctionInfo &prepare = meta.Get(info.prepare), &prepared = meta.Get(info.prepared);
  Maker maker(info, prepare, args);
  maker.Run(module->GetFunction(info.prepare));
  // One for each parameter: the place of an argument, or a tensor that was made.
  std::vector<std::pair<size_t, Tensor>> sources;
  for (const ParamInfo& param : prepared.params) {
    std::optional<size_t> place = PlaceOf(info, param.name);
    sources.emplace_back(place.value_or(0), place ? Tensor() : maker.Get(param.name));
  }
  ffi::Function function = module->GetFunction(info.prepared);
  return ffi::Function::FromPacked([module, function, info, sources](ffi::Args given) -> ffi::Any {
    CheckCount(info, given);
    std::vector<ffi::AnyView> views;
    views.reserve(sources.size());
    for (const auto& [place, tensor] : sources)
      views.push_back(tensor ? ffi::CallArgument(tensor).view() : given[place]);
    return function.CallPacked(views);
  });
}

}  // namespace tern::runtime
