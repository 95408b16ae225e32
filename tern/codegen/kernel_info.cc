// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/kernel_info.h"

#include <map>

#include "tern/ir/diagnostic.h"
#include "tern/tir/visitor.h"

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

int64_t BlockThreads(const tir::PrimFunc& kernel) {
  struct Scan : tir::StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::ForNode* node) override {
      if (node->for_kind == tir::ForKind::kThread && node->thread.starts_with("threadIdx.")) {
        std::optional<int64_t> extent = ir::AsConstInt(node->extent);
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

ir::Buffer DynamicShared(const tir::PrimFunc& kernel) {
  struct Scan : tir::StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::AllocateNode* node) override {
      if (node->buffer->scope == ir::StorageScope::kSharedDynamic) found = node->buffer;
      VisitChildren(node);
    }
    ir::Buffer found;
  } scan;
  scan.Visit(kernel->body);
  return scan.found;
}

static int64_t SharedBytes(const tir::PrimFunc& kernel, int64_t alignment) {
  struct Scan : tir::StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::AllocateNode* node) override {
      std::optional<int64_t> size = ir::AsConstInt(node->buffer->shape[0]);
      if (node->buffer->scope == ir::StorageScope::kShared && size)
        bytes += *size * node->buffer->dtype.bytes() + alignment;
      VisitChildren(node);
    }
    int64_t alignment = 0, bytes = 0;
  } scan;
  scan.alignment = alignment;
  scan.Visit(kernel->body);
  return scan.bytes;
}

bool SharedAtLaunch(const tir::PrimFunc& kernel, int64_t alignment, int64_t most) {
  int64_t bytes = SharedBytes(kernel, alignment);
  TERN_CHECK(bytes <= most || !DynamicShared(kernel))
      << ir::At(kernel->span) << "kernel " << kernel->name << " has " << bytes
      << " bytes of shared memory; beside memory of scope " << ir::StorageScope::kSharedDynamic
      << " " << most << " are allowed";
  return bytes > most;
}

}  // namespace tern::codegen
