// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/c/kernel_codegen.h"

namespace tern::codegen {

std::string KernelCodeGen::BeginKernel(const tir::PrimFunc& function, const char* language) {
  TERN_CHECK(names_.IsLegal(function->name))
      << "kernel " << function->name << " cannot be written in " << language
      << ", where the name means something else; rename it";
  kernel_ = &kernels_[function->name];
  if (auto it = function->attrs.find(tir::attr::kLaunchTags); it != function->attrs.end())
    for (const ffi::Any& tag : *it->second.As<ffi::Array>())
      kernel_->launch_tags.push_back(tag.As<std::string>());
  std::string params;
  for (const tir::Param& param : function->params) {
    kernel_->args.push_back(param.is_tensor() ? DataType::Handle() : param.var.dtype());
    params += (params.empty() ? "" : ", ") + PrintParam(param);
  }
  return params;
}

}  // namespace tern::codegen
