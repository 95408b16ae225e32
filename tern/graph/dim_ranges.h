// SPDX-License-Identifier: Apache-2.0
//
// What is known of dynamic extents of a graph's parameters beyond that they are not negative, as
// `--dim tokens=1..512` says. A graph has it as an attribute:
//
//   graph main(x: float32[tokens, 4]) attrs {dim_ranges = [["tokens", 1, 512]]} { ... }
//
// The program checks it before anything else, so that whatever is compiled may count on it.
#ifndef TERN_GRAPH_DIM_RANGES_H_
#define TERN_GRAPH_DIM_RANGES_H_

#include <map>
#include <string>
#include <vector>

#include "tern/arith/analyzer.h"
#include "tern/graph/function.h"

namespace tern::graph {

namespace attr {
inline constexpr const char* kDimRanges = "dim_ranges";
// Strings: why nodes cannot be computed outside of ranges that were inferred (infer_dim_ranges).
inline constexpr const char* kDimReasons = "dim_reasons";
}  // namespace attr

using DimRanges = std::map<std::string, arith::ConstBounds>;  // by name

// Throws where the attribute is of another form, and where it names what is no extent.
DimRanges DimRangesOf(const std::vector<Value>& params, const ir::Attrs& attrs);
// The value of the attribute.
ffi::Any DimRangesAttr(const DimRanges& ranges);

// While it lives, Simplified, and all that is built on it, knows the ranges of a graph's extents;
// of this thread.
class ScopedDimRanges {
 public:
  explicit ScopedDimRanges(const Function& function)
      : ScopedDimRanges(function->params, function->attrs) {}
  ScopedDimRanges(const std::vector<Value>& params, const ir::Attrs& attrs);
  ScopedDimRanges();  // none yet
  ~ScopedDimRanges();
  ScopedDimRanges(const ScopedDimRanges&) = delete;
  void Add(const Var& dim, arith::ConstBounds range);

 private:
  std::map<const ir::VarNode*, arith::ConstBounds> outer_;
};

// At least 0, and as the scopes of this thread say.
arith::ConstBounds RangeOf(const Var& dim);

}  // namespace tern::graph

#endif  // TERN_GRAPH_DIM_RANGES_H_
