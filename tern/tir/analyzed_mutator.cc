// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analyzed_mutator.h"

namespace tern::tir {

void BindExtents(const Buffer& buffer, arith::Analyzer* analyzer) {
  for (const Expr& extent : buffer->shape) {
    const auto* product = extent.As<ir::MulNode>();
    std::optional<int64_t> factor = product ? ir::AsConstInt(product->b) : std::nullopt;
    const auto* var = (factor && *factor > 0 ? product->a : extent).As<VarNode>();
    if (var && analyzer->Bounds(Var(var)).lo < 0)
      analyzer->Bind(Var(var), {0, arith::ConstBounds::kPosInf});
  }
}

Buffer AnalyzedMutator::MutateDef(const BufferDef& buffer) {
  BindExtents(buffer, &analyzer_);
  return StmtMutator::MutateDef(buffer);
}

Stmt AnalyzedMutator::MutateNode(const LetStmtNode* node, const Stmt& self) {
  Expr value = Mutate(node->value);
  arith::Analyzer::Mark mark = analyzer_.Enter();
  if (value.dtype().is_integer()) analyzer_.Bind(node->var, analyzer_.Bounds(value));
  Stmt body = Mutate(node->body);
  analyzer_.Leave(mark);
  if (value.same(node->value) && body.same(node->body)) return self;
  return LetStmtNode::Make(node->var, value, body, node->span);
}

Stmt AnalyzedMutator::MutateNode(const ForNode* node, const Stmt& self) {
  Expr min = Mutate(node->min), extent = Mutate(node->extent);
  arith::Analyzer::Mark mark = analyzer_.Enter();
  analyzer_.BindRange(node->var, min, extent);
  Stmt body = Mutate(node->body);
  analyzer_.Leave(mark);
  if (min.same(node->min) && extent.same(node->extent) && body.same(node->body)) return self;
  return node->With(min, extent, body);
}

}  // namespace tern::tir
