// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/scan_update.h"

#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/arith/linear.h"
#include "tern/ir/mutator.h"
#include "tern/ir/visitor.h"

namespace tern::tir {
namespace {

class Matcher {
 public:
  explicit Matcher(const BlockNode* block) : block_(block) {}

  std::optional<ScanUpdate> Run() {
    if (block_->init || !FindAxis()) return {};
    ir::VarMap values;
    Stmt at = block_->body;
    for (const auto* let = at.As<LetStmtNode>(); let; let = at.As<LetStmtNode>()) {
      values[let->var.node()] = ir::Substitute(let->value, values);
      at = let->body;
    }
    const auto* store = at.As<BufferStoreNode>();
    if (!store || !store->value.dtype().is_scalar()) return {};
    update_.result = store->buffer;
    for (const Expr& index : store->indices)
      update_.indices.push_back(ir::Substitute(index, values));
    Expr value = ir::Substitute(store->value, values);
    bool found = Take(value, value.As<ir::AddNode>()) || Take(value, value.As<ir::MulNode>()) ||
                 Take(value, value.As<ir::MinNode>()) || Take(value, value.As<ir::MaxNode>()) ||
                 Take(value, value.As<ir::AndNode>()) || Take(value, value.As<ir::OrNode>());
    return found ? std::optional(update_) : std::nullopt;
  }

 private:
  bool FindAxis() {
    int scans = 0;
    for (size_t i = 0; i < block_->iters.size(); ++i) {
      IterKind kind = block_->iters[i].kind;
      if (kind != IterKind::kScan && kind != IterKind::kSpatial) return false;
      if (kind != IterKind::kScan) continue;
      update_.axis = i;
      ++scans;
    }
    return scans == 1;
  }
  const Var& axis() const { return block_->iters[update_.axis].var; }

  template <class T>
  bool Take(const Expr& whole, const T* node) {
    if (!node) return false;
    for (const auto& [before, value] : {std::pair(node->a, node->b), std::pair(node->b, node->a)})
      if (TakeBefore(before) && !ReadsResult(value) && !ReadsResult(update_.start)) {
        update_.op = whole->kind;
        update_.value = value;
        return true;
      }
    return false;
  }

  // select(v > 0, the result of the step before, start)
  bool TakeBefore(const Expr& expr) {
    const auto* select = expr.As<ir::SelectNode>();
    if (!select) return false;
    bool goes_on = IsPositive(select->condition), begins = IsZero(select->condition);
    if (!goes_on && !begins) return false;
    Expr before = goes_on ? select->true_value : select->false_value;
    update_.start = goes_on ? select->false_value : select->true_value;
    const auto* load = before.As<ir::BufferLoadNode>();
    if (!load || !load->buffer.same(update_.result)) return false;
    Expr previous = Expr(axis()) - ir::MakeConst(axis().dtype(), 1);
    bool moves = false;
    for (size_t d = 0; d < load->indices.size(); ++d) {
      const Expr& index = update_.indices[d];
      if (!arith::IsIndexType(index.dtype())) return false;
      Expr wanted = ir::Substitute(index, {{axis().node(), previous}});
      if (!ir::IsConst(arith::Analyzer().Simplify(load->indices[d] - wanted), 0)) return false;
      moves |= ir::UsesVar(index, axis().node());
    }
    return moves;
  }
  // Whether a condition says that the axis is above 0, or that it is 0.
  bool IsPositive(const Expr& condition) const {
    if (const auto* node = condition.As<ir::GTNode>()) return Compares(node->a, node->b, 0);
    if (const auto* node = condition.As<ir::LTNode>()) return Compares(node->b, node->a, 0);
    if (const auto* node = condition.As<ir::GENode>()) return Compares(node->a, node->b, 1);
    if (const auto* node = condition.As<ir::LENode>()) return Compares(node->b, node->a, 1);
    if (const auto* node = condition.As<ir::NENode>()) return Compares(node->a, node->b, 0);
    return false;
  }
  bool IsZero(const Expr& condition) const {
    const auto* node = condition.As<ir::EQNode>();
    return node && Compares(node->a, node->b, 0);
  }
  bool Compares(const Expr& var, const Expr& number, int64_t value) const {
    return var.get() == axis().get() && ir::IsConst(number, value);
  }

  bool ReadsResult(const Expr& expr) const {
    bool reads = false;
    ir::ForEachExpr(expr, [&](const Expr& e) {
      const auto* load = e.As<ir::BufferLoadNode>();
      reads |= load && load->buffer->data.same(update_.result->data);
    });
    return reads;
  }

  const BlockNode* block_;
  ScanUpdate update_;
};

}  // namespace

std::optional<ScanUpdate> FindScanUpdate(const BlockNode* block) { return Matcher(block).Run(); }

}  // namespace tern::tir
