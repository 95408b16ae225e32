// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/c/kernel_codegen.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "tern/codegen/kernel_info.h"

namespace tern::codegen {

namespace {

const std::map<std::string, std::string> kOtherNames = {{"abs", "fabs"}, {"round", "rint"}};
constexpr const char* kSameNames[] = {
    "exp",  "exp2", "expm1", "log",   "log2", "log10", "log1p", "sqrt",    "rsqrt",
    "pow",  "sin",  "cos",   "tan",   "asin", "acos",  "atan",  "atan2",   "sinh",
    "cosh", "tanh", "erf",   "floor", "ceil", "trunc", "fma",   "copysign"};

}  // namespace

std::string MathFunction(const std::string& intrinsic) {
  if (auto it = kOtherNames.find(intrinsic); it != kOtherNames.end()) return it->second;
  bool same =
      std::find(std::begin(kSameNames), std::end(kSameNames), intrinsic) != std::end(kSameNames);
  return same ? intrinsic : "";
}

std::vector<std::string> MathIntrinsics() {
  std::vector<std::string> names(std::begin(kSameNames), std::end(kSameNames));
  for (const auto& [intrinsic, function] : kOtherNames) names.push_back(intrinsic);
  return names;
}

std::string KernelCodeGen::BeginKernel(const tir::PrimFunc& function, const char* language) {
  TERN_CHECK(names_.IsLegal(function->name))
      << "kernel " << function->name << " cannot be written in " << language
      << ", where the name means something else; rename it";
  kernel_ = &kernels_[function->name];
  *kernel_ = DescribeKernel(function);
  std::string params;
  for (const tir::Param& param : function->params) {
    std::string text = PrintParam(param);
    if (!text.empty()) params += (params.empty() ? "" : ", ") + text;
  }
  return params;
}

}  // namespace tern::codegen
