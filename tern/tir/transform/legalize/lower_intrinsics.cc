// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/legalize/lower_intrinsics.h"

#include <optional>

#include "tern/target/target.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

bool IsSimple(const Expr& expr) {
  const auto* broadcast = expr.As<ir::BroadcastNode>();
  const Expr& scalar = broadcast ? broadcast->value : expr;
  return scalar.As<VarNode>() || scalar.As<ir::IntImmNode>() || scalar.As<ir::FloatImmNode>() ||
         scalar.As<ir::StringImmNode>();
}

class IntrinsicLowerer : public StmtMutator {
 public:
  explicit IntrinsicLowerer(std::string kind) : kind_(std::move(kind)) {}

 private:
  using StmtMutator::MutateNode;

  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    Expr call = MutateChildren(node, self);
    if (!HasLoweringRule(node->name, kind_)) return call;

    // A rule may use its arguments often: what takes work is computed once.
    std::vector<Expr> args = call.As<ir::CallNode>()->args;
    std::vector<std::pair<Var, Expr>> bound;
    for (Expr& arg : args)
      if (!IsSimple(arg)) {
        bound.emplace_back(Var("x", arg.dtype(), arg.span()), arg);
        arg = bound.back().first;
      }
    Expr simple = ir::CallNode::Make(node->name, args, node->dtype, node->span);
    Expr result = ApplyLoweringRules(simple.As<ir::CallNode>(), kind_);
    if (!result || result.same(simple)) return call;
    result = Mutate(result);
    for (size_t i = bound.size(); i-- > 0;)
      result = ir::LetNode::Make(bound[i].first, bound[i].second, result, node->span);
    return result;
  }

  std::string kind_;
};

}  // namespace

PrimFunc LowerIntrinsics(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  if (it == function->attrs.end()) return IntrinsicLowerer("").MutateFunction(function);
  auto target = it->second.As<target::Target>();
  target::TargetScope scope(target);
  return IntrinsicLowerer(target->kind->name).MutateFunction(function);
}

}  // namespace tern::tir
