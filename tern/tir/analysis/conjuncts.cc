// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/conjuncts.h"

namespace tern::tir {
namespace {

void Collect(const ir::Expr& condition, std::vector<ir::Expr>* parts) {
  if (!condition) return;
  const auto* both = condition.As<ir::AndNode>();
  if (!both) return parts->push_back(condition);
  Collect(both->a, parts);
  Collect(both->b, parts);
}

}  // namespace

std::vector<ir::Expr> Conjuncts(const ir::Expr& condition) {
  std::vector<ir::Expr> parts;
  Collect(condition, &parts);
  return parts;
}

ir::Expr KeepConjuncts(const ir::Expr& condition,
                       const std::function<bool(const ir::Expr&)>& kept) {
  ir::Expr all;
  for (const ir::Expr& part : Conjuncts(condition))
    if (kept(part)) all = all ? all && part : part;
  return all;
}

}  // namespace tern::tir
