// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/c/kernel_codegen.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "tern/codegen/kernel_info.h"
#include "tern/tir/storage_scope.h"
#include "tern/tir/visitor.h"

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

int64_t ThreadsOf(const tir::PrimFunc& kernel) {
  struct Scan : tir::StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::ForNode* node) override {
      if (node->for_kind == tir::ForKind::kThread && node->thread.starts_with("threadIdx.")) {
        const int64_t* extent = ir::AsConstInt(node->extent);
        extents[node->thread] = extent ? *extent : 0;
      }
      VisitChildren(node);
    }
    std::map<std::string, int64_t> extents;
  } scan;
  scan.Visit(kernel->body);
  int64_t threads = 1;
  for (const auto& [axis, extent] : scan.extents) threads *= extent;
  return threads;
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

ir::Buffer DynamicShared(const tir::PrimFunc& kernel) {
  struct Scan : tir::StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::AllocateNode* node) override {
      if (node->buffer->scope == tir::kDynamicShared) found = node->buffer;
      VisitChildren(node);
    }
    ir::Buffer found;
  } scan;
  scan.Visit(kernel->body);
  return scan.found;
}

}  // namespace tern::codegen
