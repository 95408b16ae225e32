// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/verify_limits.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_set>

#include "tern/ffi/text.h"
#include "tern/ir/diagnostic.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/analysis/vector_move.h"
#include "tern/tir/atomics.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/print_call.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class LimitVerifier : public StmtVisitor {
 public:
  LimitVerifier(const PrimFunc& function, const target::Target& target,
                ir::Diagnostics* diagnostics)
      : function_(function), target_(target), kind_(*target->kind), diagnostics_(diagnostics) {
    is_kernel_ = CallingConventionOf(function) == CallingConvention::kKernel;
    what_ = (is_kernel_ ? "kernel " : "function ") + function->name;
  }

  void Check() {
    // Before make_packed_api a function with kernels of its own is not yet the host's.
    if (target_->is_device() && !is_kernel_) return;
    Visit(function_->body);
    if (!is_kernel_) return;
    CheckThreads();
    CheckLimit("max_shared_memory", shared_bytes_, function_->span, "bytes of shared memory");
  }

 private:
  using StmtVisitor::Visit;
  using StmtVisitor::VisitNode;

  void Report(const Span& span, const std::string& message) { diagnostics_->Add(span, message); }

  // An attribute of the target that says how much it has; false, and a report, where it is less.
  bool CheckLimit(const std::string& name, int64_t needed, const Span& span,
                  const std::string& unit) {
    auto it = target_->attrs.find(name);
    if (it == target_->attrs.end() || needed <= it->second.As<int64_t>()) return true;
    Report(span, what_ + " needs " + std::to_string(needed) + " " + unit + ", but " +
                     target_->str() + " has " + name + "=" +
                     std::to_string(it->second.As<int64_t>()));
    return false;
  }

  void CheckThreads() {
    int64_t threads = 1;
    for (int axis = 0; axis < kNumThreadAxesOfBlock; ++axis) {
      const ForNode* loop = loops_[axis];
      std::optional<int64_t> extent = loop ? ir::AsConstInt(loop->extent) : std::nullopt;
      if (!extent) continue;  // the launch knows
      std::string name = ThreadAxisName(axis);
      CheckLimit(std::string("max_threads_") + name.back(), *extent, loop->span,
                 "threads on axis " + name);
      if (__builtin_mul_overflow(threads, *extent, &threads))
        threads = std::numeric_limits<int64_t>::max();
    }
    CheckLimit("max_threads", threads, function_->span, "threads in a block");
  }

  void VisitNode(const ForNode* node) override {
    if (node->for_kind == ForKind::kThread && !IsVirtualThread(node))
      loops_[ThreadAxisNumber(node->thread)] = node;
    VisitChildren(node);
  }

  void VisitNode(const AllocateNode* node) override {
    const Buffer& buffer = node->buffer;
    if (std::find(kind_.scopes.begin(), kind_.scopes.end(), buffer->scope) == kind_.scopes.end())
      Report(node->span, what_ + " allocates " + buffer->name + " in " +
                             StorageScopeName(buffer->scope) + ", but " + kind_.name +
                             " has memory of scope " + ir::StorageScopeNames(kind_.scopes) +
                             " only");
    if (IsSharedScope(buffer->scope)) shared_bytes_ = Plus(shared_bytes_, BytesOf(buffer));
    // What a thread has at once; one report, at what is too much.
    int64_t outer = local_bytes_;
    if (is_kernel_ && OwnerOf(buffer->scope) == ScopeOwner::kThread) {
      local_bytes_ = Plus(local_bytes_, BytesOf(buffer));
      if (!local_reported_)
        local_reported_ = !CheckLimit("max_local_memory", local_bytes_, node->span,
                                      "bytes of local memory in a thread");
    }
    VisitChildren(node);
    local_bytes_ = outer;
  }
  static int64_t BytesOf(const Buffer& buffer) {
    int64_t bytes = buffer->dtype.bytes();
    for (const Expr& extent : buffer->shape)
      if (std::optional<int64_t> value = ir::AsConstInt(extent))
        if (__builtin_mul_overflow(bytes, *value, &bytes))
          return std::numeric_limits<int64_t>::max();
    return bytes;
  }
  static int64_t Plus(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
  }

  void VisitNode(const ir::CallNode* node) override {
    bool needs_warps = IsWarpOperation(node) || node->name == intrinsic::kLaneIndex;
    if (needs_warps && target::WarpSize(target_) == 0)
      Report(node->span,
             what_ + " calls " + node->name + ", but " + target_->str() + " has no warps");
    else if (!TakesNamespaceOf(node->name))
      Report(node->span, what_ + " calls " + node->name + ", an intrinsic that " + kind_.name +
                             " does not have");
    else if (node->name == intrinsic::kPrint && kind_.takes_call && !kind_.takes_call(node))
      Report(node->span, what_ + " prints, for which " + kind_.name +
                             " has nothing; run it with -t interp, or on a host");
    else if ((kind_.takes_call && !kind_.takes_call(node)) ||
             (IsWarpMatrixOperation(node) && !IsKept(node, target_)))
      Report(node->span, what_ + " calls " + node->name + WarpOf(node) + ", for which " +
                             target_->str() + " has no code");
    if (!IsWarpMatrixOperation(node)) VisitChildren(node);
  }

  // How many lanes an operation is for that comes for several; of an atomic one the type.
  static std::string WarpOf(const ir::CallNode* node) {
    if (IsAtomic(node->name)) return " of " + AtomicOf(node).dtype().str();
    if (node->name != intrinsic::kWarpMatrixMultiplyTile) return "";
    return " of " + node->dtype.str() + ", for warps of " +
           std::to_string(256 / node->dtype.lanes()) + " lanes";
  }

  bool TakesNamespaceOf(const std::string& intrinsic) const {
    size_t dot = intrinsic.find('.');
    const std::vector<std::string>& taken = kind_.intrinsic_namespaces;
    return dot == std::string::npos ||
           std::find(taken.begin(), taken.end(), intrinsic.substr(0, dot)) != taken.end();
  }

  void Visit(const Expr& expr) override {
    if (!CheckVector(expr, expr.span())) return;
    const auto* load = expr.As<ir::BufferLoadNode>();
    if (!load) return StmtVisitor::Visit(expr);
    VisitIndices(load->indices);
    if (load->predicate) Visit(load->predicate);
  }
  void VisitNode(const BufferStoreNode* node) override {
    if (IsVectorMove(node, kind_.move_bytes)) return;
    if (IsMatrixStore(node)) return VisitNode(node->value.As<ir::CallNode>());
    if (!node->value.dtype().is_scalar() &&
        !CheckVector(
            ir::BufferLoadNode::Make(node->buffer, node->indices, node->span, node->predicate),
            node->span))
      return;
    VisitIndices(node->indices);
    if (node->predicate) Visit(node->predicate);
    Visit(node->value);
  }
  // A ramp of neighbours is part of the access.
  void VisitIndices(const std::vector<Expr>& indices) {
    for (const Expr& index : indices) {
      const auto* ramp = index.As<ir::RampNode>();
      Visit(ramp && ir::IsConst(ramp->stride, 1) ? ramp->base : index);
    }
  }

  // False, and one report for a statement, where the target does not take the vector.
  bool CheckVector(const Expr& expr, const Span& span) {
    if (expr.dtype().is_scalar() || expr.dtype().is_void()) return true;
    if (target::TakesVector(kind_, expr)) return true;
    Report(span, what_ + " computes with " + expr.dtype().str() + ", but " + kind_.name +
                     (kind_.vectors ? " has no code for that here" : " has no vectors") +
                     "; write scalars, or a vectorized loop, which runs one element at a time "
                     "where there are no vectors");
    return false;
  }

  PrimFunc function_;
  target::Target target_;
  const target::TargetKind& kind_;
  ir::Diagnostics* diagnostics_;
  bool is_kernel_ = false;
  std::string what_;
  std::array<const ForNode*, kNumThreadAxes> loops_{};
  int64_t shared_bytes_ = 0, local_bytes_ = 0;
  bool local_reported_ = false;
};

}  // namespace

void VerifyLimits(const ir::IRModule& module) {
  ir::Diagnostics diagnostics;
  for (const auto& [name, base] : module->functions) {
    PrimFunc function = IfPrimFunc(base);
    if (!function) continue;
    if (auto it = function->attrs.find(attr::kTarget); it != function->attrs.end())
      LimitVerifier(function, it->second.As<target::Target>(), &diagnostics).Check();
  }
  diagnostics.ThrowIfAny("VerifyError");
}

}  // namespace tern::tir
