// SPDX-License-Identifier: Apache-2.0
//
// What the operator tree_ensemble and those who add it agree on.
#ifndef TERN_GRAPH_TREES_H_
#define TERN_GRAPH_TREES_H_

#include <cstdint>

namespace tern::graph {

// How a node of a decision tree compares a feature with its split; rows for which it holds go on
// with the first child.
enum class TreeMode : int64_t {
  kLeaf,
  kLessOrEqual,
  kLess,
  kGreaterOrEqual,
  kGreater,
  kEqual,
  kNotEqual,
};

inline constexpr int64_t kMostTreeDepth = 64;

}  // namespace tern::graph

#endif  // TERN_GRAPH_TREES_H_
