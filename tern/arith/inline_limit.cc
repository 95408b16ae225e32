// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/inline_limit.h"

#include "tern/ir/visitor.h"

namespace tern::arith {

bool MayInline(const ir::Expr& value) {
  constexpr int kMaxNodes = 256;
  struct Counter : ir::ExprVisitor {
    void Visit(const ir::Expr& expr) override {
      if (++nodes <= kMaxNodes) ExprVisitor::Visit(expr);
    }
    int nodes = 0;
  } counter;
  counter.Visit(value);
  return counter.nodes <= kMaxNodes;
}

}  // namespace tern::arith
