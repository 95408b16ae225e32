// SPDX-License-Identifier: Apache-2.0
//
// For tests: expressions over loops, from text.
#ifndef TERN_ARITH_TEST_INDEX_TEXT_H_
#define TERN_ARITH_TEST_INDEX_TEXT_H_

#include <string>
#include <vector>

#include "tern/arith/iter_map.h"
#include "tern/tir/text.h"
#include "tern/tir/visitor.h"

namespace tern::arith {

// `loops` as in a for statement, perhaps with a condition: "i in 0..n, j in 0..4 where j < i". The
// names h, k, m, n and w are extents of tensors.
struct IndexText {
  std::vector<IterRange> loops;
  ir::Expr condition;  // null: none
  std::vector<ir::Expr> exprs;
  std::vector<ir::Var> extents;

  static IndexText Parse(const std::string& loops, const std::vector<std::string>& exprs);

  // Knows the extents, which are not negative, but not the loops.
  Analyzer Outside() const {
    Analyzer analyzer;
    for (const ir::Var& extent : extents) analyzer.Bind(extent, {0, ConstBounds::kPosInf});
    return analyzer;
  }
  Analyzer Inside() const {
    Analyzer analyzer = Outside();
    for (const IterRange& loop : loops)
      analyzer.BindRange(loop.var, loop.range.min, loop.range.extent);
    if (condition.get()) analyzer.Assume(condition);
    return analyzer;
  }

 private:
  // By its outermost operator.
  static bool IsCondition(const std::string& expr) {
    int depth = 0;
    for (char c : expr) {
      depth += (c == '(') - (c == ')');
      if (depth == 0 && (c == '<' || c == '>' || c == '=' || c == '&' || c == '|' || c == '!'))
        return true;
    }
    return expr == "true" || expr == "false";
  }

  struct Finder;
};

struct IndexText::Finder : tir::StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitNode(const tir::ForNode* node) override {
    text.loops.push_back({node->var, {node->min, node->extent}});
    VisitChildren(node);
  }
  void VisitNode(const tir::IfThenElseNode* node) override {
    text.condition = node->condition;
    VisitChildren(node);
  }
  void VisitNode(const tir::BufferStoreNode* node) override { text.exprs.push_back(node->value); }
  IndexText text;
};

inline IndexText IndexText::Parse(const std::string& loops, const std::vector<std::string>& exprs) {
  size_t where = loops.find("where ");
  std::string ranges = loops.substr(0, where), body;
  for (const std::string& expr : exprs)
    body += (IsCondition(expr) ? "P[0] = " : "O[0] = ") + expr + "\n";
  if (where != std::string::npos) body = "if " + loops.substr(where + 6) + " {\n" + body + "}\n";
  if (!ranges.empty()) body = "for " + ranges + " {\n" + body + "}\n";
  Finder finder;
  ir::IRModule module = tir::ParseModule(
      "index.tir", "func f(S: float32[h, k, m, n, w], O: int64[1], P: bool[1]) {\n" + body + "}");
  tir::PrimFunc function = tir::AsPrimFunc(module->functions.begin()->second);
  for (const ir::Expr& extent : function->params[0].buffer->shape)
    finder.text.extents.push_back(ir::Var(extent.As<ir::VarNode>()));
  finder.Visit(function->body);
  return finder.text;
}

}  // namespace tern::arith

#endif  // TERN_ARITH_TEST_INDEX_TEXT_H_
