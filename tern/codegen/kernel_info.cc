// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/kernel_info.h"

namespace tern::codegen {

runtime::KernelInfo DescribeKernel(const tir::PrimFunc& function) {
  runtime::KernelInfo info;
  if (auto it = function->attrs.find(tir::attr::kLaunchTags); it != function->attrs.end())
    for (const ffi::Any& tag : *it->second.As<ffi::Array>())
      info.launch_tags.push_back(tag.As<std::string>());
  for (const tir::Param& param : function->params)
    info.args.push_back(param.is_tensor() ? DataType::Handle() : param.var.dtype());
  return info;
}

}  // namespace tern::codegen
