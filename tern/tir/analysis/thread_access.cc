// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/thread_access.h"

#include <algorithm>
#include <numeric>

#include "tern/arith/linear_sum.h"
#include "tern/ir/structural.h"

namespace tern::tir {

using arith::IntegerSystem;

namespace {

bool AreEqual(const Expr& a, const Expr& b) { return ir::StructuralEqual(a, b); }
bool AreEqual(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return AreEqual(x, y); });
}

// Whether they differ in nothing but indices and the place.
bool AreAlike(const ThreadAccess& a, const ThreadAccess& b) {
  return a.memory == b.memory && a.buffer == b.buffer && a.bytes == b.bytes &&
         a.is_write == b.is_write && a.is_atomic == b.is_atomic && a.reduction == b.reduction &&
         a.diverges == b.diverges && AreEqual(a.guards, b.guards);
}

void Mix(uint64_t* hash, uint64_t value) { *hash = (*hash ^ value) * 0x9e3779b97f4a7c15 + 1; }
void Mix(uint64_t* hash, const void* pointer) { Mix(hash, reinterpret_cast<uintptr_t>(pointer)); }
void Mix(uint64_t* hash, const Expr& expr) { Mix(hash, expr ? ir::StructuralHash(expr) : 0); }

uint64_t HashWithoutIndices(const ThreadAccess& access) {
  uint64_t hash = access.is_write + 2 * access.is_atomic;
  Mix(&hash, access.memory);
  Mix(&hash, access.buffer);
  Mix(&hash, access.reduction);
  for (const Expr& guard : access.guards) Mix(&hash, guard);
  return hash;
}

// An index as a constant and the rest.
AccessSet::Group::Constants WithoutConstant(const Expr& index) {
  auto sum = arith::LinearSum::Of(index);
  int64_t constant = sum ? std::exchange(sum->constant, 0) : 0;
  Expr rest = sum ? sum->ToExpr() : Expr();
  if (!rest) return {index, 0, 0};
  return {rest, constant, constant};
}

// Takes in a constant; false where their distance does not fit.
bool Extend(AccessSet::Group::Constants* constants, int64_t constant) {
  int64_t distance;
  int64_t least = std::min(constants->least, constant);
  int64_t greatest = std::max(constants->greatest, constant);
  if (__builtin_sub_overflow(greatest, least, &distance)) return false;
  constants->step = std::gcd(constants->step, constant - constants->least);
  constants->least = least;
  constants->greatest = greatest;
  return true;
}

}  // namespace

void AccessSet::Add(const ThreadAccess& access) {
  uint64_t alike = HashWithoutIndices(access), hash = alike;
  for (const Expr& index : access.indices) Mix(&hash, index);
  Mix(&hash, access.first_byte);
  for (auto [it, end] = known_.equal_range(hash); it != end; ++it) {
    const ThreadAccess& other = all_[it->second];
    if (AreAlike(access, other) && AreEqual(access.indices, other.indices) &&
        AreEqual(access.first_byte, other.first_byte))
      return;
  }
  size_t place = all_.size();
  known_.emplace(hash, place);
  all_.push_back(access);

  Group own;
  own.members = {place};
  for (const Expr& index : access.indices) own.indices.push_back(WithoutConstant(index));
  if (access.first_byte) own.first_byte = WithoutConstant(access.first_byte);
  for (const auto& index : own.indices) Mix(&alike, index.rest);
  if (own.first_byte) Mix(&alike, own.first_byte->rest);
  std::vector<Group>& groups = groups_[access.memory];
  for (auto [it, end] = group_of_.equal_range(alike); it != end; ++it) {
    if (it->second >= groups.size()) continue;
    Group& group = groups[it->second];
    auto same_rest = [](const auto& a, const auto& b) { return AreEqual(a.rest, b.rest); };
    if (!AreAlike(access, all_[group.members[0]]) ||
        group.first_byte.has_value() != own.first_byte.has_value() ||
        !std::equal(group.indices.begin(), group.indices.end(), own.indices.begin(),
                    own.indices.end(), same_rest) ||
        (own.first_byte && !same_rest(*group.first_byte, *own.first_byte)))
      continue;
    group.members.push_back(place);
    for (size_t d = 0; d < own.indices.size(); ++d)
      group.has_bounds &= Extend(&group.indices[d], own.indices[d].least);
    if (own.first_byte) group.has_bounds &= Extend(&*group.first_byte, own.first_byte->least);
    return;
  }
  group_of_.emplace(alike, groups.size());
  groups.push_back(std::move(own));
}

const std::vector<AccessSet::Group>& AccessSet::GroupsOf(const VarNode* memory) const {
  static const std::vector<Group> kNone;
  auto it = groups_.find(memory);
  return it == groups_.end() ? kNone : it->second;
}

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

AccessSet ThreadTerms::RenameSince(size_t mark, const AccessSet& accesses, ir::VarMap renamed,
                                   const Expr& guard) {
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
  AccessSet result;
  for (ThreadAccess access : accesses.all()) {
    for (auto* exprs : {&access.indices, &access.guards})
      for (Expr& expr : *exprs) expr = renamer.Mutate(expr);
    if (access.first_byte) access.first_byte = renamer.Mutate(access.first_byte);
    if (guard) access.guards.push_back(guard);
    result.Add(access);
  }
  return result;
}

ThreadAccess ThreadTerms::HullOf(const AccessSet& accesses, const AccessSet::Group& group) {
  ThreadAccess hull = accesses[group.members[0]];
  auto any = [&](const AccessSet::Group::Constants& constants) -> Expr {
    int64_t count = (constants.greatest - constants.least) / constants.step + 1;
    IntegerSystem::Range range{Expr(0), Expr(count)};
    Var which = NewVar("which", DataType::Int(64), false, range);
    return constants.rest + (Expr(constants.least) + which * Expr(constants.step));
  };
  for (size_t d = 0; d < hull.indices.size(); ++d)
    if (group.indices[d].step != 0) hull.indices[d] = any(group.indices[d]);
  if (group.first_byte && group.first_byte->step != 0) hull.first_byte = any(*group.first_byte);
  return hull;
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
