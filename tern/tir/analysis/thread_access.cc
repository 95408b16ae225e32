// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/thread_access.h"

#include <algorithm>

#include "tern/ir/structural.h"

namespace tern::tir {

using arith::IntegerSystem;

ThreadTerms::ThreadTerms(const KernelShape& shape) {
  for (int axis = 0; axis < kNumThreadAxes; ++axis) {
    axes_[axis] = Var(ThreadAxisName(axis));
    ranges_[axes_[axis].node()] = {Expr(0), Expr(1)};
    if (axis < kNumThreadAxesOfBlock) private_.insert(axes_[axis].node());
  }
  for (const ForNode* loop : shape.loops)
    ranges_[Axis(loop->thread).node()] = {loop->min, loop->extent};
  for (int axis = 0; axis < kNumThreadAxesOfBlock; ++axis)
    has_one_thread_ &= ir::IsConst(ranges_[axes_[axis].node()].extent, 1);
}

Var ThreadTerms::NewVar(const std::string& name, DataType dtype, bool is_private,
                        std::optional<IntegerSystem::Range> range) {
  Var var(name, dtype);
  made_.emplace(var.node(), made_.size());
  kept_.push_back(var);
  if (is_private) private_.insert(var.node());
  if (range) ranges_[var.node()] = *range;
  return var;
}

bool ThreadTerms::IsPrivate(const Expr& expr) const {
  bool found = false;
  ir::ForEachExpr(expr, [&](const Expr& e) {
    if (const auto* var = e.As<VarNode>()) found |= private_.count(var) > 0;
  });
  return found;
}

void ThreadTerms::RenameSince(size_t mark, std::vector<ThreadAccess>* accesses,
                              ir::VarMap renamed) {
  struct Renamer : ir::ExprMutator {
    Renamer(ThreadTerms* terms, size_t mark, ir::VarMap renamed)
        : terms(terms), mark(mark), end(terms->Mark()), renamed(std::move(renamed)) {}
    using ExprMutator::MutateNode;
    Expr MutateNode(const VarNode* node, const Expr& self) override {
      if (auto it = renamed.find(node); it != renamed.end()) return it->second;
      auto made = terms->made_.find(node);
      if (made == terms->made_.end() || made->second < mark || made->second >= end) return self;
      std::optional<IntegerSystem::Range> range;
      if (auto it = terms->ranges_.find(node); it != terms->ranges_.end()) {
        IntegerSystem::Range known = it->second;
        range = {Mutate(known.min), Mutate(known.extent)};
      }
      bool is_private = terms->private_.count(node) > 0;
      return renamed[node] = terms->NewVar(node->name, node->dtype, is_private, range);
    }
    ThreadTerms* terms;
    size_t mark, end;
    ir::VarMap renamed;
  } renamer(this, mark, std::move(renamed));
  for (ThreadAccess& access : *accesses) {
    for (auto* exprs : {&access.indices, &access.guards})
      for (Expr& expr : *exprs) expr = renamer.Mutate(expr);
    if (access.first_byte) access.first_byte = renamer.Mutate(access.first_byte);
  }
}

namespace {

// Another thread's view of an expression: its private variables are others.
class OtherThread : public ir::ExprMutator {
 public:
  OtherThread(const std::unordered_set<const VarNode*>& is_private,
              const std::unordered_map<const VarNode*, IntegerSystem::Range>& ranges)
      : private_(is_private), ranges_(ranges) {}

  std::optional<IntegerSystem::Range> RangeOf(const VarNode* var) {
    auto other = origin_.find(var);
    auto it = ranges_.find(other == origin_.end() ? var : other->second);
    if (it == ranges_.end()) return {};
    if (other == origin_.end()) return it->second;
    return IntegerSystem::Range{Mutate(it->second.min), Mutate(it->second.extent)};
  }

 private:
  using ExprMutator::MutateNode;
  Expr MutateNode(const VarNode* node, const Expr& self) override {
    if (!private_.count(node)) return self;
    Var& other = others_[node];
    if (!other) {
      other = Var(node->name, node->dtype);
      origin_[other.node()] = node;
    }
    return other;
  }

  const std::unordered_set<const VarNode*>& private_;
  const std::unordered_map<const VarNode*, IntegerSystem::Range>& ranges_;
  std::unordered_map<const VarNode*, Var> others_;
  std::unordered_map<const VarNode*, const VarNode*> origin_;
};

}  // namespace

// Whether the threads that come to `a` come to `b` as well, where any does.
bool ThreadTerms::ComesToo(const ThreadAccess& a, const ThreadAccess& b) const {
  return std::all_of(b.guards.begin(), b.guards.end(), [&](const Expr& guard) {
    return !IsPrivate(guard) ||
           std::any_of(a.guards.begin(), a.guards.end(),
                       [&](const Expr& other) { return ir::StructuralEqual(guard, other); });
  });
}

bool ThreadTerms::IsOwnElement(const ThreadAccess& a, const ThreadAccess& b) const {
  bool guarded = (a.is_write && ComesToo(b, a)) || (b.is_write && ComesToo(a, b));
  if (!guarded || !a.first_byte || !b.first_byte) return false;
  return a.bytes == b.bytes && ir::StructuralEqual(a.first_byte, b.first_byte) &&
         IsPrivate(a.first_byte);
}

bool ThreadTerms::MayMeet(const ThreadAccess& a, const ThreadAccess& b) const {
  if (a.memory != b.memory || !(a.is_write || b.is_write)) return false;
  if (a.reduction && a.reduction == b.reduction) return false;
  if (has_one_thread_) return false;
  if (IsOwnElement(a, b)) return false;
  // Two threads differ in one of the axes.
  for (int axis = 0; axis < kNumThreadAxesOfBlock; ++axis) {
    if (ir::IsConst(ranges_.at(axes_[axis].node()).extent, 1)) continue;
    for (bool before : {true, false}) {
      OtherThread other(private_, ranges_);
      IntegerSystem system([&](const VarNode* var) { return other.RangeOf(var); });
      Expr here = axes_[axis], there = other.Mutate(axes_[axis]);
      before ? system.AddLess(here, there) : system.AddLess(there, here);
      for (const Expr& guard : a.guards) system.AddCondition(guard);
      for (const Expr& guard : b.guards) system.AddCondition(other.Mutate(guard));
      if (a.buffer && a.buffer == b.buffer) {
        for (size_t d = 0; d < a.indices.size(); ++d)
          system.AddEqual(a.indices[d], other.Mutate(b.indices[d]));
      } else if (a.first_byte.get() && b.first_byte.get()) {
        Expr first = a.first_byte, second = other.Mutate(b.first_byte);
        system.AddLess(first, second + Expr(b.bytes));
        system.AddLess(second, first + Expr(a.bytes));
      }
      if (!system.IsInfeasible()) return true;
    }
  }
  return false;
}

}  // namespace tern::tir
