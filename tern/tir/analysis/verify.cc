// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/verify.h"

#include <algorithm>
#include <unordered_set>

#include "tern/ffi/containers.h"
#include "tern/ffi/text.h"
#include "tern/ir/deep_stack.h"
#include "tern/ir/depth.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/analysis/preparation.h"
#include "tern/tir/analysis/written_memory.h"
#include "tern/tir/attributes.h"
#include "tern/tir/extern_kernel.h"
#include "tern/tir/function_kind.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/text.h"
#include "tern/tir/transform/calls/split_preparation.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class Verifier : public StmtVisitor {
 public:
  Verifier(const ir::IRModule& module, ir::Diagnostics* diagnostics)
      : module_(module), diagnostics_(diagnostics) {}

  void Check(const PrimFunc& function) {
    for (const Param& param : function->params)
      if (!param.is_tensor()) {
        if (param.var.dtype().is_packed())
          Report(param.var.span(), "parameter " + param.name() + " is " + param.var.dtype().str() +
                                       "; only tensors can hold that");
        VisitDef(param.var);
      }
    for (const Param& param : function->params)
      if (param.is_tensor()) DefineExtents(param.buffer);
    for (const Param& param : function->params)
      if (param.is_tensor()) {
        VisitDef(param.var);
        VisitDef(param.buffer);
        if (param.buffer->offset)
          Report(param.buffer->span, "parameter " + param.buffer->name +
                                         " cannot have an offset: a tensor brings its own");
      }
    if (CheckAttrs(AttrPlace::kFunction, function->attrs, function->span)) CheckConstants(function);
    for (const ForNode* loop : FindReboundAxes(function->body))
      Report(loop->span, "axis " + loop->thread + " is bound by an enclosing loop already");
    Visit(function->body);
  }

 private:
  using StmtVisitor::Visit;
  using StmtVisitor::VisitNode;

  void Report(const Span& span, const std::string& message) { diagnostics_->Add(span, message); }

  // Text was checked when it was read; this is for what was built otherwise.
  bool CheckAttrs(AttrPlace place, const ir::Attrs& attrs, const Span& span) {
    bool right = true;
    for (const auto& [name, value] : attrs) {
      try {
        CheckAttr(place, name, value);
      } catch (const Error& error) {
        Report(span, error.message());
        right = false;
      }
    }
    return right;
  }

  void CheckConstants(const PrimFunc& function) {
    // Later, parameters are others.
    if (!function->attrs.count(attr::kConstants) ||
        CallingConventionOf(function) != CallingConvention::kAsWritten)
      return;
    WrittenMemory written = FindWrittenMemory(module_, function);
    for (const std::string& name : ConstantsOf(function)) CheckConstant(function, written, name);
    for (const std::string& part : {PrepareName(function->name), PreparedName(function->name)})
      if (auto other = module_->functions.find(part); other != module_->functions.end())
        Report(other->second->span, "the name " + part + " is needed for a part of " +
                                        function->name + ", which has constants");
  }
  void CheckConstant(const PrimFunc& function, const WrittenMemory& written,
                     const std::string& name) {
    std::vector<std::string> tensors;
    for (const Param& param : function->params) {
      if (!param.is_tensor()) continue;
      tensors.push_back(param.name());
      if (param.name() != name) continue;
      if (written.stored.count(param.var.node()) || written.given.count(param.var.node()))
        Report(param.buffer->span, "the constant " + name + " is written by " + function->name +
                                       ", or given to others, who may write");
      if (auto it = module_->constants.find(name); it != module_->constants.end())
        CheckBinding(function, *param.buffer, *it->second);
      return;
    }
    Report(function->span, "the constant " + name + " is no tensor among the parameters of " +
                               function->name + ffi::DidYouMean(name, tensors) + "; these are " +
                               (tensors.empty() ? "none" : ffi::Join(tensors)));
  }

  // Whether a parameter can be bound to the module's constant of its name.
  void CheckBinding(const PrimFunc& function, const BufferNode& param,
                    const ir::ConstantNode& constant) {
    std::vector<Expr> shape(constant.shape.begin(), constant.shape.end());
    auto held = ir::BufferNode::Make(constant.name, constant.dtype, shape);
    if (!param.strides.empty())
      Report(param.span, "parameter " + param.name + " of " + function->name +
                             " has strides; the constant of that name is compact");
    else if (!FitsParam(*held, param))
      Report(param.span, "parameter " + param.name + " of " + function->name + " is " +
                             BufferText(param) + ", but the constant of that name is " +
                             BufferText(*held));
  }

  // Extents and strides that are plain variables are defined by their tensor.
  void DefineExtents(const Buffer& buffer) {
    for (const auto* exprs : {&buffer->shape, &buffer->strides})
      for (const Expr& expr : *exprs)
        if (const auto* var = expr.As<VarNode>(); var && !vars_.count(var)) Enter(var);
  }

  void VisitDef(const Var& var) override {
    if (vars_.count(var.node()))
      Report(var.span(), "variable " + var.name() + " is defined twice");
    else
      Enter(var.node());
  }

  void VisitDef(const BufferDef& buffer) override {
    StmtVisitor::VisitDef(buffer);
    for (const Expr& extent : buffer->shape)
      if (extent.dtype() != DataType::Int(64))
        Report(buffer->span,
               "an extent of " + buffer->name + " is " + extent.dtype().str() + "; expected int64");
    if (buffer->offset.get() && buffer->offset.dtype() != DataType::Int(64))
      Report(buffer->span, "the offset of " + buffer->name + " is " + buffer->offset.dtype().str() +
                               "; expected int64");
    if (buffer->alignment < 0 || (buffer->alignment & (buffer->alignment - 1)) != 0)
      Report(buffer->span, "buffer " + buffer->name + " is aligned to " +
                               std::to_string(buffer->alignment) +
                               " bytes; expected a power of two");
    if (!buffers_.insert(buffer.get()).second)
      Report(buffer->span, "buffer " + buffer->name + " is defined twice");
    else
      entered_buffers_.push_back(buffer.get());
  }

  void CheckUse(const Buffer& buffer, const Span& span) {
    if (!buffers_.count(buffer.get())) Report(span, "buffer " + buffer->name + " is not in scope");
  }

  // Runs `visit`; what it defined is out of scope afterwards.
  template <class F>
  void Scoped(F&& visit) {
    size_t vars = entered_vars_.size(), buffers = entered_buffers_.size();
    visit();
    for (; entered_vars_.size() > vars; entered_vars_.pop_back()) vars_.erase(entered_vars_.back());
    for (; entered_buffers_.size() > buffers; entered_buffers_.pop_back())
      buffers_.erase(entered_buffers_.back());
  }
  void Enter(const VarNode* var) {
    vars_.insert(var);
    entered_vars_.push_back(var);
  }

  void VisitNode(const VarNode* node) override {
    if (!vars_.count(node))
      Report(use_span_ ? *use_span_ : node->span,
             "variable " + node->name + " is used where it is not defined");
  }
  void VisitNode(const ir::LetNode* node) override {
    Scoped([&] { VisitChildren(node); });
  }
  void VisitNode(const ir::BufferLoadNode* node) override {
    CheckUse(node->buffer, node->span);
    VisitChildren(node);
  }

  // Below the limit nothing is looked at.
  void Visit(const Expr& expr) override {
    if (expr_depth_ > ir::kMaxExprDepth) {
      if (!std::exchange(is_too_deep_, true)) Report(expr.span(), ir::TooDeepMessage());
      return;
    }
    ++expr_depth_;
    StmtVisitor::Visit(expr);
    --expr_depth_;
  }
  void Visit(const Stmt& stmt) override {
    const Span* saved = std::exchange(use_span_, &stmt->span);
    Scoped([&] { StmtVisitor::Visit(stmt); });
    use_span_ = saved;
  }

  void VisitNode(const BufferStoreNode* node) override {
    CheckUse(node->buffer, node->span);
    VisitChildren(node);
  }
  void VisitNode(const AllocateNode* node) override {
    if (node->buffer->offset)
      Report(node->span, "buffer " + node->buffer->name + " has memory of its own, and no offset");
    VisitDef(node->buffer->data);
    VisitChildren(node);
  }
  void VisitNode(const DeclBufferNode* node) override {
    if (!vars_.count(node->buffer->data.node()))
      Report(node->span, "buffer " + node->buffer->name + " is at " + node->buffer->data.name() +
                             ", which is not defined");
    VisitChildren(node);
  }
  void VisitNode(const EvaluateNode* node) override {
    VisitChildren(node);
    const auto* call = node->value.As<ir::CallNode>();
    if (call && call->name == intrinsic::kLaunchKernel) CheckLaunch(call);
    if (!IsBarrier(node->value)) return;
    if (real_threads_ == 0) Report(node->span, "a barrier outside of any thread loop");
    if (at_once_)
      Report(node->span, std::string("a barrier in a ") + ForKindName(at_once_->for_kind) +
                             " loop; only threads can wait for each other");
  }

  // launch_kernel("name", argument..., extent...) against what the kernel takes.
  void CheckLaunch(const ir::CallNode* call) {
    const std::string& name = call->args[0].As<ir::StringImmNode>()->value;
    if (threads_ > 0)
      Report(call->span, "kernel " + name + " is launched in a thread loop; the host launches");
    auto it = module_->functions.find(name);
    if (it == module_->functions.end()) {
      std::vector<std::string> names;
      for (const auto& [known, function] : module_->functions) names.push_back(known);
      Report(call->span, "the module has no kernel " + name + ffi::DidYouMean(name, names));
      return;
    }
    if (const ExternKernelNode* kernel = AsExternKernel(it->second)) CheckLaunch(call, *kernel);
  }
  void CheckLaunch(const ir::CallNode* call, const ExternKernelNode& kernel) {
    size_t num_params = kernel.params.size(), num_extents = kernel.launch_tags.size();
    if (call->args.size() != 1 + num_params + num_extents) {
      Report(call->span, "kernel " + kernel.name + " takes " + std::to_string(num_params) +
                             " arguments and " + std::to_string(num_extents) + " extents (" +
                             ffi::Join(kernel.launch_tags) + "), got " +
                             std::to_string(call->args.size() - 1) + " values");
      return;
    }
    for (size_t i = 0; i < num_params; ++i) CheckArgument(call, kernel, i);
    for (size_t i = 0; i < num_extents; ++i) {
      DataType dtype = call->args[1 + num_params + i].dtype();
      if (dtype != DataType::Int(64))
        Report(call->span, "kernel " + kernel.name + ": the extent of " + kernel.launch_tags[i] +
                               " is " + dtype.str() + "; expected int64");
    }
  }
  void CheckArgument(const ir::CallNode* call, const ExternKernelNode& kernel, size_t i) {
    const Param& param = kernel.params[i];
    const Expr& arg = call->args[1 + i];
    std::string expected, got = arg.dtype().str();
    if (!param.is_tensor()) {
      if (arg.dtype() == param.var.dtype()) return;
      expected = param.var.dtype().str();
    } else {
      // Several buffers may see the same memory; one of them is as the kernel says.
      for (const BufferNode* buffer : entered_buffers_) {
        if (!buffer->data.same(arg)) continue;
        if (FitsParam(*buffer, *param.buffer)) return;
        got = BufferText(*buffer);
      }
      expected = BufferText(*param.buffer);
    }
    Report(call->span, "kernel " + kernel.name + ": argument " + std::to_string(i) + " (" +
                           param.name() + "): expected " + expected + ", got " + got);
  }
  // Extents are compared where both are constants.
  static bool FitsParam(const BufferNode& buffer, const BufferNode& param) {
    auto agree = [](const Expr& a, const Expr& b) {
      std::optional<int64_t> x = ir::AsConstInt(a), y = ir::AsConstInt(b);
      return !x || !y || *x == *y;
    };
    return buffer.dtype == param.dtype && buffer.scope == StorageScope::kGlobal &&
           std::equal(buffer.shape.begin(), buffer.shape.end(), param.shape.begin(),
                      param.shape.end(), agree);
  }
  static std::string BufferText(const BufferNode& buffer) {
    std::vector<std::string> extents;
    for (const Expr& extent : buffer.shape) extents.push_back(Print(extent));
    return buffer.dtype.str() + "[" + ffi::Join(extents) + "]" +
           (buffer.scope == StorageScope::kGlobal
                ? ""
                : std::string(" in ") + StorageScopeName(buffer.scope));
  }

  void VisitNode(const ir::CallNode* node) override {
    VisitChildren(node);
    if (!IsWarpOperation(node) && node->name != intrinsic::kLaneIndex) return;
    if (real_threads_ == 0) Report(node->span, node->name + " outside of any thread loop");
    if (at_once_)
      Report(node->span, node->name + " in a " + ForKindName(at_once_->for_kind) +
                             " loop; only threads have lanes");
  }
  void VisitNode(const ForNode* node) override {
    bool bound = node->for_kind == ForKind::kThread, real = bound && !IsVirtualThread(node);
    CheckAttrs(AttrPlace::kLoop, node->annotations, node->span);
    threads_ += bound;
    real_threads_ += real;
    bool at_once = node->for_kind == ForKind::kParallel || node->for_kind == ForKind::kVectorized;
    const ForNode* saved = std::exchange(at_once_, at_once ? node : at_once_);
    VisitChildren(node);
    at_once_ = saved;
    threads_ -= bound;
    real_threads_ -= real;
  }
  void VisitNode(const BlockNode* node) override {
    CheckAttrs(AttrPlace::kBlock, node->annotations, node->span);
    if (in_block_) Report(node->span, "block " + node->name + " is inside another block");
    bool reduces = false;
    for (const BlockIter& iter : node->iters) {
      reduces |= iter.kind == IterKind::kReduce;
      // `for n in 0..n { block { v: spatial(n) = n` is another n than that of the shapes.
      if (const auto* hiding = iter.extent.As<VarNode>(); hiding && iter.binding.same(iter.extent))
        Report(node->span, "axis " + iter.var.name() + " of block " + node->name + " is bound to " +
                               hiding->name + ", which is its extent too: values are below the " +
                               "extent; does a loop variable hide another " + hiding->name + "?");
    }
    if (node->init && !reduces)
      Report(node->span, "block " + node->name + " has an init but no reduce axis");
    in_block_ = true;
    for (const auto* regions : {&node->reads, &node->writes})
      for (const BufferRegion& region : *regions) CheckUse(region.buffer, node->span);
    VisitChildren(node);
    in_block_ = false;
  }

  const ir::IRModule& module_;
  ir::Diagnostics* diagnostics_;
  std::unordered_set<const VarNode*> vars_;
  std::unordered_set<const BufferNode*> buffers_;
  std::vector<const VarNode*> entered_vars_;  // in the order of definition, to leave scopes again
  std::vector<const BufferNode*> entered_buffers_;
  int threads_ = 0, real_threads_ = 0;  // thread loops around, and those that are not virtual
  const ForNode* at_once_ = nullptr;    // the innermost parallel or vectorized loop around
  bool in_block_ = false;
  int expr_depth_ = 0;
  bool is_too_deep_ = false;  // as was reported
  const Span* use_span_ =
      nullptr;  // variables carry the span of their definition; a use is shown at its statement
};

}  // namespace

void VerifyFunction(const PrimFunc& function, const ir::IRModule& module,
                    ir::Diagnostics* diagnostics) {
  ir::OnDeepStack([&] { Verifier(module, diagnostics).Check(function); });
}

void Verify(const ir::IRModule& module) {
  ir::Diagnostics diagnostics;
  for (const auto& [name, function] : module->functions)
    FunctionKindOf(function).verify(function, module, &diagnostics);
  diagnostics.ThrowIfAny("VerifyError");
}

}  // namespace tern::tir
