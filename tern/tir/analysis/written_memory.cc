// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/written_memory.h"

#include "tern/tir/extern_kernel.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/module_calls.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class Scan : public StmtVisitor {
 public:
  explicit Scan(const ir::IRModule& module) : module_(module) {}

  WrittenMemory written;

 private:
  using StmtVisitor::VisitNode;

  void VisitNode(const BufferStoreNode* node) override {
    written.stored.insert(node->buffer->data.node());
    VisitChildren(node);
  }
  void VisitNode(const VarNode* node) override {
    if (node->dtype.is_handle()) written.given.insert(node);
  }
  void VisitNode(const ir::CallNode* node) override {
    if (node->name == intrinsic::kIsAligned) return;  // an address, and not what is there
    if (IsTensorArgument(node)) {
      // It is said whether it is written.
      if (const auto* address = node->args[1].As<ir::CallNode>();
          address && address->name == intrinsic::kAddressOf) {
        const VarNode* data = address->args[0].As<ir::BufferLoadNode>()->buffer->data.node();
        if (node->name == intrinsic::kTensorOut) written.stored.insert(data);
        return;
      }
    }
    if (node->name == intrinsic::kAddressOf) {
      // Of a tile it is said whether it is written.
      const VarNode* data = node->args[0].As<ir::BufferLoadNode>()->buffer->data.node();
      if (node->args.size() == 1) written.given.insert(data);
      if (node->args.back().As<ir::StringImmNode>()) written.stored.insert(data);
    }
    if (node->name != intrinsic::kLaunchKernel || !VisitLaunch(node)) VisitChildren(node);
  }

  // launch_kernel("name", argument..., extent...); says whether the kernel is known.
  bool VisitLaunch(const ir::CallNode* node) {
    auto it = module_->functions.find(node->args[0].As<ir::StringImmNode>()->value);
    if (it == module_->functions.end()) return false;
    const ExternKernelNode* code = AsExternKernel(it->second);
    PrimFunc function = IfPrimFunc(it->second);
    if (!code && !function) return false;
    const std::vector<Param>& params = code ? code->params : function->params;
    if (node->args.size() <= params.size()) return false;
    WrittenMemory inside;
    if (!code) inside = FindWrittenMemory(module_, function);
    for (size_t i = 0; i < params.size(); ++i) {
      const auto* address = node->args[i + 1].As<VarNode>();
      if (!params[i].is_tensor() || !address) continue;
      const VarNode* param = params[i].var.node();
      if (code ? code->writes[i] : inside.stored.count(param) > 0) written.stored.insert(address);
      if (inside.given.count(param)) written.given.insert(address);
    }
    return true;
  }

  const ir::IRModule& module_;
};

}  // namespace

WrittenMemory FindWrittenMemory(const ir::IRModule& module, const PrimFunc& function) {
  Scan scan(module);
  scan.Visit(function->body);
  return std::move(scan.written);
}

}  // namespace tern::tir
