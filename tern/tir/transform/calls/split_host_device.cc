// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/calls/split_host_device.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "tern/ir/diagnostic.h"
#include "tern/ir/structural.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/analysis/warp_size.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/module_calls.h"
#include "tern/tir/transform/calls/outline.h"

namespace tern::tir {
namespace {

// What a kernel uses but does not define, and the extents of its thread axes.
class KernelScan : public CaptureScan {
 public:
  // By axis: blockIdx before threadIdx, x before y before z; and the bytes of dynamic memory.
  std::map<std::string, Expr> extents;

 private:
  using CaptureScan::VisitNode;

  void VisitDef(const Var& var) override {
    CaptureScan::VisitDef(var);
    defined_in_kernel_.insert(var.get());
  }
  using CaptureScan::VisitDef;
  void VisitNode(const ir::CallNode* node) override {
    if (node->name == intrinsic::kCallPacked)
      TERN_THROW(ValueError) << ir::At(node->span)
                             << "call_packed in a thread loop: a device cannot call functions of "
                                "the host";
    VisitChildren(node);
  }
  void VisitNode(const AllocateNode* node) override {
    const Buffer& buffer = node->buffer;
    if (buffer->scope == StorageScope::kGlobal)
      TERN_THROW(ValueError) << ir::At(node->span) << "a kernel cannot allocate " << buffer->name
                             << " in scope global; allocate it outside of the thread loops";
    for (const Expr& extent : buffer->shape)
      if ((buffer->scope == StorageScope::kLocal || buffer->scope == StorageScope::kShared) &&
          !ir::AsConstInt(extent))
        TERN_THROW(ValueError) << ir::At(node->span) << "a kernel cannot allocate " << buffer->name
                               << ", whose size is not constant"
                               << (buffer->scope == StorageScope::kShared
                                       ? "; in scope shared.dynamic the launch gives the size"
                                       : "");
    if (buffer->scope == StorageScope::kSharedDynamic) NoteDynamic(node);
    CaptureScan::VisitNode(node);
  }
  void VisitNode(const ForNode* node) override {
    if (node->for_kind == ForKind::kThread && !IsVirtualThread(node)) {
      auto [it, added] = extents.emplace(node->thread, node->extent);
      if (!added && !ir::StructuralEqual(it->second, node->extent))
        TERN_THROW(ValueError) << ir::At(node->span) << "axis " << node->thread
                               << " has two extents in one kernel";
      TERN_CHECK(ir::IsConst(node->min, 0)) << ir::At(node->span) << "a thread loop starts at 0";
      CheckKnown(node->extent, "the extent of " + node->thread, node->span);
    }
    VisitChildren(node);
  }

  // The launch says how much there is.
  void NoteDynamic(const AllocateNode* node) {
    Expr bytes(static_cast<int64_t>(node->buffer->dtype.bytes()));
    for (const Expr& extent : node->buffer->shape) bytes = extent * bytes;
    CheckKnown(bytes, "the size of " + node->buffer->name, node->span);
    if (!extents.emplace(StorageScopeName(StorageScope::kSharedDynamic), bytes).second)
      TERN_THROW(ValueError) << ir::At(node->span) << node->buffer->name
                             << " is the second allocation in scope shared.dynamic of a kernel; "
                                "merge_shared_memory makes one of several";
  }

  // The host computes it, before the kernel runs.
  void CheckKnown(const Expr& value, const std::string& what, const Span& span) const {
    ir::ForEachExpr(value, [&](const Expr& expr) {
      if (expr.As<VarNode>() && defined_in_kernel_.count(expr.get()))
        TERN_THROW(ValueError) << ir::At(span) << what
                               << " depends on a value computed in the kernel";
    });
  }

  std::unordered_set<const void*> defined_in_kernel_;  // variables
};

class Splitter : public StmtMutator {
 public:
  Splitter(PrimFunc function, std::vector<ir::BaseFunc>* kernels)
      : function_(std::move(function)),
        kernels_(kernels),
        tensors_are_distinct_(TensorsAreDistinct(function_)) {}

  PrimFunc Run() { return function_.WithBody(Mutate(function_->body)); }

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread || IsVirtualThread(node))
      return MutateChildren(node, self);
    KernelScan scan;
    scan.Visit(self);
    SortLikeParameters(&scan.buffers);
    std::string name = function_->name + "_kernel" + (count_ ? "_" + std::to_string(count_) : "");
    ++count_;
    kernels_->push_back(MakeKernel(name, scan, self));

    std::vector<Expr> args{ir::StringImmNode::Make(name)};
    for (const Buffer& buffer : scan.buffers) args.push_back(buffer->data);
    for (const Var& scalar : scan.scalars)
      args.push_back(scalar.dtype().is_narrow_float() ? Reinterpret(BitsType(scalar), scalar)
                                                      : Expr(scalar));
    for (const auto& [tag, extent] : scan.extents) args.push_back(extent);
    return EvaluateNode::Make(
        ir::CallNode::Make(intrinsic::kLaunchKernel, args, DataType::Void(), node->span),
        node->span);
  }

  // The function's parameters in their order, then the rest.
  void SortLikeParameters(std::vector<Buffer>* buffers) const {
    auto position = [&](const Buffer& buffer) {
      const std::vector<Param>& params = function_->params;
      return std::find_if(params.begin(), params.end(),
                          [&](const Param& param) { return param.var.same(buffer->data); }) -
             params.begin();
    };
    std::stable_sort(buffers->begin(), buffers->end(),
                     [&](const Buffer& a, const Buffer& b) { return position(a) < position(b); });
  }

  // Floats of 8 and 16 bits are passed as integers: what they are to the kernel's code is decided
  // later, and apart from what they are to the host's.
  static DataType BitsType(const Var& var) { return DataType::UInt(var.dtype().bits()); }
  static Expr Reinterpret(DataType dtype, const Expr& value) {
    return ir::CallNode::Make(intrinsic::kReinterpret, {value}, dtype);
  }

  // The kernel owns its variables: nothing of it is shared with the host function.
  PrimFunc MakeKernel(const std::string& name, const KernelScan& scan, const Stmt& body) {
    CaptureRenamer renamer;
    std::vector<Param> scalars, params;
    std::vector<std::pair<Var, Expr>> narrow;
    for (const Var& var : scan.scalars) {
      Var copy = renamer.Rename(var, var.name());
      if (!var.dtype().is_narrow_float()) {
        scalars.push_back({copy, {}});
        continue;
      }
      Var bits(var.name() + "_bits", BitsType(var), var.span());
      scalars.push_back({bits, {}});
      narrow.emplace_back(copy, Reinterpret(var.dtype(), bits));
    }
    for (const Buffer& buffer : scan.buffers) {
      renamer.Rename(buffer->data, buffer->name);
      Buffer copy = renamer.Rename(buffer);
      params.push_back({copy->data, copy});
    }
    params.insert(params.end(), scalars.begin(), scalars.end());
    std::vector<ffi::Any> tags;
    for (const auto& [tag, extent] : scan.extents) tags.emplace_back(tag);
    ir::Attrs attrs{{attr::kTarget, function_->attrs.at(attr::kTarget)},
                    {attr::kCallingConvention, CallingConventionName(CallingConvention::kKernel)},
                    {attr::kLaunchTags, ffi::MakeArray(std::move(tags))}};
    for (const char* kept : {attr::kReassociate, attr::kWarpSize})
      if (auto it = function_->attrs.find(kept); it != function_->attrs.end()) attrs.insert(*it);
    if (!tensors_are_distinct_) attrs[attr::kMayAlias] = true;
    Stmt renamed = renamer.Mutate(body);
    for (const auto& [var, value] : narrow)
      renamed = LetStmtNode::Make(var, value, renamed, var.span());
    return PrimFunc::Make(name, std::move(params), renamed, std::move(attrs), function_->span);
  }

  [[noreturn]] void RefuseMemory(const Buffer& buffer, const Span& span) {
    TERN_THROW(ValueError)
        << ir::At(span) << buffer->name
        << " lives on the device, but this access is outside of any thread loop; "
           "one thread does it in for i in 0..1 bind(threadIdx.x)";
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr&) override {
    RefuseMemory(node->buffer, node->span);
  }
  // An address that the host passes on is no access.
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    return IsTensorArgument(node) ? self : MutateChildren(node, self);
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt&) override {
    RefuseMemory(node->buffer, node->span);
  }
  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    if (node->buffer->scope != StorageScope::kGlobal)
      TERN_THROW(ValueError) << ir::At(node->span) << node->buffer->name
                             << " is allocated in scope " << node->buffer->scope
                             << " outside of any thread loop; what kernels share is in scope "
                                "global";
    return MutateChildren(node, self);
  }

  PrimFunc function_;
  std::vector<ir::BaseFunc>* kernels_;
  bool tensors_are_distinct_;
  int count_ = 0;
};

// A kernel is split already.
bool MaySplit(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  bool on_device = it != function->attrs.end() && it->second.As<target::Target>()->is_device();
  return on_device && !function->attrs.count(attr::kCallingConvention);
}

}  // namespace

ir::IRModule SplitHostDevice(const ir::IRModule& module) {
  return OutlineFunctions(module, [](const PrimFunc& function, std::vector<ir::BaseFunc>* kernels) {
    return MaySplit(function) ? Splitter(function, kernels).Run() : function;
  });
}

}  // namespace tern::tir
