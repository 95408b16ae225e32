// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/selection_update.h"

#include <algorithm>

#include "tern/ir/mutator.h"
#include "tern/ir/structural.h"
#include "tern/ir/visitor.h"
#include "tern/tir/analysis/conjuncts.h"

namespace tern::tir {
namespace {

using ir::ExprKind;

bool IsElement(const Expr& expr, const Buffer& buffer, const std::vector<Expr>& indices) {
  const auto* load = expr.As<ir::BufferLoadNode>();
  return load && load->buffer.same(buffer) &&
         std::equal(load->indices.begin(), load->indices.end(), indices.begin(), indices.end(),
                    [](const Expr& a, const Expr& b) { return ir::StructuralEqual(a, b); });
}

// The parts of a condition that are joined by "or".
void AddDisjuncts(const Expr& condition, std::vector<Expr>* parts) {
  const auto* either = condition.As<ir::OrNode>();
  if (!either) return parts->push_back(condition);
  AddDisjuncts(either->a, parts);
  AddDisjuncts(either->b, parts);
}

// A comparison, as one of < <= == with its operands in that order.
struct Comparison {
  ExprKind op;
  Expr a, b;
};
std::optional<Comparison> AsComparison(const Expr& expr) {
  if (const auto* node = expr.As<ir::LTNode>()) return Comparison{ExprKind::kLT, node->a, node->b};
  if (const auto* node = expr.As<ir::GTNode>()) return Comparison{ExprKind::kLT, node->b, node->a};
  if (const auto* node = expr.As<ir::LENode>()) return Comparison{ExprKind::kLE, node->a, node->b};
  if (const auto* node = expr.As<ir::GENode>()) return Comparison{ExprKind::kLE, node->b, node->a};
  if (const auto* node = expr.As<ir::EQNode>()) return Comparison{ExprKind::kEQ, node->a, node->b};
  return {};
}

// The values of a step and the results so far, as candidates.
class Candidates : public ir::ExprMutator {
 public:
  explicit Candidates(const SelectionUpdate& update) : update_(update) {}
  Expr Mutate(const Expr& expr) override {
    for (size_t i = 0; i < update_.values.size(); ++i) {
      if (ir::StructuralEqual(expr, update_.values[i])) return update_.next[i];
      if (IsElement(expr, update_.results[i], update_.indices[i])) return update_.so_far[i];
    }
    return ExprMutator::Mutate(expr);
  }

 private:
  const SelectionUpdate& update_;
};

class Matcher {
 public:
  std::optional<SelectionUpdate> Run(const Stmt& body) {
    if (!FindStores(body)) return {};
    for (const Expr& value : update_.values) {
      update_.so_far.emplace_back("so_far", value.dtype());
      update_.next.emplace_back("next", value.dtype());
    }
    update_.take = Candidates(update_).Mutate(condition_);
    bool known = IsOfCandidates() && FindOrder();
    return known ? std::optional(update_) : std::nullopt;
  }

 private:
  // The stores and the condition that all of them are under; the values read no results.
  bool FindStores(const Stmt& body) {
    ir::VarMap values;
    Stmt at = body;
    for (const auto* let = at.As<LetStmtNode>(); let; let = at.As<LetStmtNode>()) {
      values[let->var.node()] = ir::Substitute(let->value, values);
      at = let->body;
    }
    if (const auto* branch = at.As<IfThenElseNode>()) {
      if (branch->else_case) return false;
      condition_ = ir::Substitute(branch->condition, values);
      at = branch->then_case;
    }
    bool selects = !condition_;
    const auto* seq = at.As<SeqNode>();
    if (!seq || seq->stmts.size() < 2) return false;
    for (const Stmt& stmt : seq->stmts) {
      const auto* store = stmt.As<BufferStoreNode>();
      if (!store || !store->value.dtype().is_scalar()) return false;
      update_.results.push_back(store->buffer);
      auto& indices = update_.indices.emplace_back();
      for (const Expr& index : store->indices) indices.push_back(ir::Substitute(index, values));
      Expr value = ir::Substitute(store->value, values);
      if (selects && !TakeSelected(&value)) return false;
      if (value.As<ir::IntImmNode>() || value.As<ir::FloatImmNode>()) return false;
      update_.values.push_back(value);
    }
    return AreApart();
  }

  // select(condition, value, the result so far), of one condition for all results.
  bool TakeSelected(Expr* value) {
    const auto* select = value->As<ir::SelectNode>();
    if (!select || !IsElement(select->false_value, update_.results.back(), update_.indices.back()))
      return false;
    if (condition_.get() && !ir::StructuralEqual(condition_, select->condition)) return false;
    condition_ = select->condition;
    *value = Expr(select->true_value);
    return true;
  }

  // Results are different buffers, which neither values nor indices read.
  bool AreApart() const {
    std::vector<Expr> exprs = update_.values;
    for (const auto& indices : update_.indices)
      exprs.insert(exprs.end(), indices.begin(), indices.end());
    for (size_t i = 0; i < update_.results.size(); ++i) {
      const Var& data = update_.results[i]->data;
      for (size_t j = 0; j < i; ++j)
        if (update_.results[j]->data.same(data)) return false;
      for (const Expr& expr : exprs) {
        bool reads = false;
        ir::ForEachExpr(expr, [&](const Expr& e) {
          const auto* load = e.As<ir::BufferLoadNode>();
          reads |= load && load->buffer->data.same(data);
        });
        if (reads) return false;
      }
    }
    return true;
  }

  // Whether the condition is on the candidates alone.
  bool IsOfCandidates() const {
    bool known = true;
    ir::ForEachExpr(update_.take, [&](const Expr& e) {
      known &= !e.As<ir::BufferLoadNode>() && !e.As<ir::CallNode>();
      if (!e.As<VarNode>()) return;
      known &= Find(update_.next, e) || Find(update_.so_far, e);
    });
    return known;
  }
  static std::optional<size_t> Find(const std::vector<Var>& vars, const Expr& expr) {
    for (size_t i = 0; i < vars.size(); ++i)
      if (vars[i].get() == expr.get()) return i;
    return {};
  }

  // A comparison of one result of both candidates.
  struct Better {
    size_t key = 0;
    ExprKind op = ExprKind::kLT;
    bool larger = false;  // the larger one is taken
  };
  std::optional<Better> AsBetter(const Expr& expr) const {
    std::optional<Comparison> comparison = AsComparison(expr);
    if (!comparison) return {};
    std::optional<size_t> a = Find(update_.next, comparison->a),
                          b = Find(update_.so_far, comparison->b);
    bool larger = !a || !b;
    if (larger) {
      a = Find(update_.so_far, comparison->a);
      b = Find(update_.next, comparison->b);
    }
    if (!a || !b || *a != *b) return {};
    return Better{*a, comparison->op, larger};
  }

  bool FindOrder() {
    if (std::optional<Better> better = AsBetter(update_.take);
        better && better->op != ExprKind::kEQ) {
      update_.keys = {better->key};
      update_.larger = better->larger;
      update_.order = better->op == ExprKind::kLT ? SelectionUpdate::Order::kFirst
                                                  : SelectionUpdate::Order::kLast;
      return true;
    }
    std::vector<Expr> either;
    AddDisjuncts(update_.take, &either);
    update_.order = SelectionUpdate::Order::kAny;
    if (IsLexicographic(either)) return true;
    if (!IsOptional()) return false;
    update_.order = SelectionUpdate::Order::kNotNaN;
    return true;
  }

  // better(k0) || (equal(k0) && (better(k1) || ...)), with every result a key.
  bool IsLexicographic(const std::vector<Expr>& either) {
    if (either.size() == 1) {
      std::optional<Better> last = AsBetter(either[0]);
      return last && last->op != ExprKind::kEQ && AddKey(*last) &&
             update_.keys.size() == update_.results.size();
    }
    if (either.size() != 2) return false;
    for (size_t first : {0, 1}) {
      std::optional<Better> better = AsBetter(either[first]);
      std::vector<Expr> both = Conjuncts(either[1 - first]);
      if (!better || better->op != ExprKind::kLT || both.size() != 2) continue;
      for (size_t second : {0, 1}) {
        std::optional<Better> equal = AsBetter(both[second]);
        if (!equal || equal->op != ExprKind::kEQ || equal->key != better->key) continue;
        std::vector<Expr> rest;
        AddDisjuncts(both[1 - second], &rest);
        return AddKey(*better) && IsLexicographic(rest);
      }
    }
    return false;
  }
  bool AddKey(const Better& better) {
    if (std::count(update_.keys.begin(), update_.keys.end(), better.key) > 0) return false;
    if (update_.keys.empty()) update_.larger = better.larger;
    update_.keys.push_back(better.key);
    return true;
  }

  // next[i] >= c && (so_far[i] < c || lexicographic): below c there is no candidate.
  bool IsOptional() {
    std::vector<Expr> both = Conjuncts(update_.take);
    if (both.size() != 2) return false;
    for (size_t at : {0, 1}) {
      std::optional<Comparison> there = AsComparison(both[at]);
      std::optional<size_t> which = there ? Find(update_.next, there->b) : std::nullopt;
      if (!which || there->op != ExprKind::kLE || !there->a.As<ir::IntImmNode>()) continue;
      std::vector<Expr> either, rest;
      AddDisjuncts(both[1 - at], &either);
      for (const Expr& part : either) {
        std::optional<Comparison> none = AsComparison(part);
        bool found = none && none->op == ExprKind::kLT && Find(update_.so_far, none->a) == which &&
                     ir::StructuralEqual(none->b, there->a);
        if (!found) rest.push_back(part);
      }
      if (rest.size() + 1 == either.size() && IsLexicographic(rest)) return true;
      update_.keys.clear();
    }
    return false;
  }

  SelectionUpdate update_;
  Expr condition_;
};

}  // namespace

Expr SelectionUpdate::Take(const std::vector<Expr>& old, const std::vector<Expr>& other) const {
  ir::VarMap map;
  for (size_t i = 0; i < results.size(); ++i) {
    map[so_far[i].node()] = old[i];
    map[next[i].node()] = other[i];
  }
  return ir::Substitute(take, map);
}

std::optional<SelectionUpdate> FindSelectionUpdate(const Stmt& body) { return Matcher().Run(body); }

Stmt KeepBetter(const SelectionUpdate& update, const std::vector<Buffer>& targets,
                const std::vector<std::vector<Expr>>& at, const std::vector<Expr>& next) {
  std::vector<Expr> old;
  std::vector<Stmt> stores;
  for (size_t i = 0; i < targets.size(); ++i) {
    old.push_back(ir::BufferLoadNode::Make(targets[i], at[i]));
    stores.push_back(BufferStoreNode::Make(targets[i], at[i], next[i]));
  }
  return IfThenElseNode::Make(update.Take(old, next), SeqNode::Make(std::move(stores)), {});
}

}  // namespace tern::tir
