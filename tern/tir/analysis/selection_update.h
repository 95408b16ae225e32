// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_SELECTION_UPDATE_H_
#define TERN_TIR_ANALYSIS_SELECTION_UPDATE_H_

#include <optional>
#include <vector>

#include "tern/tir/stmt.h"

namespace tern::tir {

// What a reduction of several results does at each step where it keeps the better of two, as argmax
// does with a value and its index:
//
//   if X[i, j] > best[i] { best[i] = X[i, j]   index[i] = j }
//
// or results that are selected by one condition: let take = ...  best[i] = select(take, ...,
// best[i])
struct SelectionUpdate {
  // Whether steps may run in any order, and parts be combined.
  enum class Order {
    kFirst,   // no: of equal values the first step counts
    kLast,    // no: of equal values the last step counts
    kAny,     // yes: a comparison of all results, one after the other, tells which is better
    kNotNaN,  // the same where no value is NaN: the first step is taken in any case
  };

  std::vector<Buffer> results;
  std::vector<std::vector<Expr>> indices;  // of each result; without definitions
  std::vector<Expr> values;                // of a step; without definitions
  std::vector<Var> so_far, next;           // two candidates
  Expr take;                               // over these: whether `next` replaces `so_far`
  Order order = Order::kFirst;
  std::vector<size_t> keys;  // results by which candidates are compared, the first one first
  bool larger = false;       // whether the larger first key is better

  // Whether the order of its steps counts.
  bool is_ordered() const { return order == Order::kFirst || order == Order::kLast; }
  // `take` of two candidates.
  Expr Take(const std::vector<Expr>& so_far, const std::vector<Expr>& next) const;
};
std::optional<SelectionUpdate> FindSelectionUpdate(const Stmt& body);

// target[at] = next, all of them, where that is better than what is there.
Stmt KeepBetter(const SelectionUpdate& update, const std::vector<Buffer>& targets,
                const std::vector<std::vector<Expr>>& at, const std::vector<Expr>& next);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_SELECTION_UPDATE_H_
