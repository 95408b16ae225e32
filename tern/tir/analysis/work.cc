// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/work.h"

#include <numeric>

#include "tern/arith/analyzer.h"
#include "tern/arith/linear_sum.h"
#include "tern/tir/builder.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class Count : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  Expr flops = Expr(0);

 private:
  using StmtVisitor::VisitNode;

  void VisitNode(const ForNode* node) override {
    Expr around = steps_;
    steps_ = steps_ * Cast(DataType::Int(64), node->extent);
    Visit(node->body);
    steps_ = around;
  }
  // The init of a reduction stores constants.
  void VisitNode(const BlockNode* node) override { Visit(node->body); }
  void VisitNode(const BufferStoreNode* node) override { CountIn(node->value); }
  void VisitNode(const LetStmtNode* node) override {
    CountIn(node->value);
    Visit(node->body);
  }

  void CountIn(const Expr& value) {
    here_ = 0;
    Visit(value);
    flops = flops + steps_ * Expr(here_);
  }
  void Visit(const Expr& expr) override {
    if (expr.As<ir::BufferLoadNode>()) return;  // indices
    if (const auto* select = expr.As<ir::SelectNode>()) {
      Visit(select->true_value);
      Visit(select->false_value);
      return;
    }
    switch (expr->kind) {
#define TERN_CASE(name) case ExprKind::k##name:
      TERN_ARITHMETIC_NODES(TERN_CASE)
#undef TERN_CASE
      case ExprKind::kCall:
        ++here_;
        break;
      default:
        break;
    }
    StmtVisitor::Visit(expr);
  }

  Expr steps_ = Expr(1);
  int64_t here_ = 0;
};

}  // namespace

Work WorkOf(const PrimFunc& function) {
  Count count;
  count.Visit(function->body);
  Expr bytes = 0;
  for (const Param& param : function->params) {
    if (!param.is_tensor()) continue;
    Expr elements = 1;
    for (const Expr& extent : param.buffer->shape) elements = elements * extent;
    int64_t bits = param.buffer->dtype.bits() * param.buffer->dtype.lanes();
    bytes = bytes + ir::CeilDiv(elements * Expr(bits), Expr(8));
  }
  return {CombineTerms(count.flops), CombineTerms(bytes)};
}

Expr CombineTerms(const Expr& amount) {
  Expr simple = arith::Analyzer().Simplify(amount);
  std::optional<arith::LinearSum> sum = arith::LinearSum::Expanded(simple);
  Expr combined = sum ? sum->ToExpr() : Expr();
  return combined ? combined : simple;
}

Expr AddAmounts(const std::vector<Expr>& amounts) {
  arith::LinearSum total;
  for (const Expr& amount : amounts)
    if (std::optional<arith::LinearSum> sum = arith::LinearSum::Expanded(amount);
        !(sum ? total.Add(*sum) : total.AddTerm(amount, 1)))
      return std::accumulate(amounts.begin(), amounts.end(), Expr(0));
  Expr combined = total.ToExpr();
  return combined ? combined : std::accumulate(amounts.begin(), amounts.end(), Expr(0));
}

}  // namespace tern::tir
