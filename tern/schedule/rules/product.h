// SPDX-License-Identifier: Apache-2.0
//
// A matrix product, as the rules that tile it see it, and what they do alike with the blocks before
// and behind it.
#ifndef TERN_SCHEDULE_RULES_PRODUCT_H_
#define TERN_SCHEDULE_RULES_PRODUCT_H_

#include <optional>
#include <string>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// One of the two factors.
struct Factor {
  std::string name;
  DataType dtype;
  size_t rank = 0;
  size_t own_dim = 0, sum_dim = 0;  // dimensions of the rows or columns, and of the sum
  bool is_left = false;

  // Neighbours in memory are those along the sum.
  bool sum_is_last() const { return sum_dim + 1 == rank; }
  int64_t bytes() const { return dtype.bytes(); }
};

struct Product {
  std::string row, column, sum;  // loops
  Schedule::Names batch;
  int64_t rows = 0, columns = 0, steps = 0;
  bool dynamic_rows = false;  // M is known when the function is called; `rows` is a guess then
  Factor left, right;
  tir::Buffer result;
  size_t result_row_dim = 0;  // its columns are the last dimension
};

// Which extents a rule has to know. Those of the batch are never needed.
enum class Sizes { kAll, kAllButRows };

// Nothing where sizes are not known, or an operand is written in a way that is not looked for.
std::optional<Product> ProductOf(const Schedule& schedule, const BlockInfo& block,
                                 Sizes known = Sizes::kAll);
// Refuses there.
Product RequireProduct(const Schedule& schedule, const BlockInfo& block, Sizes known = Sizes::kAll);

// Whether a tensor or buffer holds the same at every call (tern/tir/analysis/preparation.h): what
// is made of it by a block in no loop of others is made ahead, once.
bool IsConstant(const Schedule& schedule, const std::string& buffer);

// The loops of a block's nest, one for each axis; "" where it has a single value there. Of a copy
// the axes are the dimensions.
Schedule::Names LoopsOfAxes(const Schedule& schedule, const std::string& block);

// A block that computes element by element with the result of another, which nothing else reads: it
// can be done to a tile while that is in registers. "" for none.
std::string SoleReader(const Schedule& schedule, const std::string& block,
                       const tir::Buffer& result);

// What is computed element by element only to be read by a block is computed where it is read.
void InlineMakers(Schedule* schedule, const std::string& block);

// The axes of a product are extended to multiples of the factors, one for each, with zeros. What
// reads the result reads the extended one; a parameter has to be copied to.
void PadProduct(Schedule* schedule, const BlockInfo& block, const std::vector<int64_t>& factors);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_PRODUCT_H_
