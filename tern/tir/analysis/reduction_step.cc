// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/reduction_step.h"

#include <algorithm>

namespace tern::tir {

ReductionStep::ReductionStep(const ReductionUpdate& update)
    : plain(update),
      results({update.store->buffer}),
      indices({update.store->indices}),
      values({update.value}) {}

ReductionStep::ReductionStep(const SelectionUpdate& update)
    : selection(update), results(update.results), indices(update.indices), values(update.values) {}

Stmt ReductionStep::Combine(const std::vector<Buffer>& targets,
                            const std::vector<std::vector<Expr>>& at,
                            const std::vector<Expr>& others) const {
  if (selection) return KeepBetter(*selection, targets, at, others);
  const Span& span = targets[0]->span;
  Expr so_far = ir::BufferLoadNode::Make(targets[0], at[0], span);
  return BufferStoreNode::Make(targets[0], at[0], CombineValues(plain->op, so_far, others[0]),
                               span);
}

std::vector<Expr> StoredValues(const Stmt& init, const std::vector<Buffer>& results) {
  if (!init) return {};
  std::vector<Stmt> stmts = {init};
  if (const auto* seq = init.As<SeqNode>()) stmts = seq->stmts;
  std::vector<Expr> values(results.size());
  if (stmts.size() != results.size()) return {};
  for (const Stmt& stmt : stmts) {
    const auto* store = stmt.As<BufferStoreNode>();
    auto result = std::find_if(results.begin(), results.end(), [&](const Buffer& buffer) {
      return store && store->buffer.same(buffer);
    });
    if (result == results.end()) return {};
    Expr& value = values[static_cast<size_t>(result - results.begin())];
    if (value) return {};
    value = store->value;
  }
  return values;
}

}  // namespace tern::tir
