// SPDX-License-Identifier: Apache-2.0
//
// Control flow in graphs: nodes that the program of a model carries out itself, by reading elements
// of tensors and by jumps. Their regions are graphs whose parameters are inputs of the node.
//
//   n: int64[1] = read(c) {count = 1} dims [k]  # k is an extent from here on: that element
//   y: float32[4] = checked(x, c) {message = "x is odd"}     # x; an error where c does not hold
//   y: float32[m] = if(c, x) dims [m] then (a: float32[8]) {
//     b: float32[3] = slice(a, from, to)
//     return b
//   } else (d: float32[8]) {
//     return d
//   }
//   s: float32[4], all: float32[n, 4] = loop(trips, _, zero, x) {carried = 1} dims [i]
//   body (t: int64[], go: bool[], sum: float32[4], a: float32[n, 4]) {
//     row: float32[4] = gather(a, t)
//     next: float32[4] = add(sum, row)
//     return go, next, next
//   }
//
// Inputs, and regions:
//   read      a few integers
//   checked   a tensor, a condition
//   if        condition, captures; two regions, from the captures to the results
//   loop      trips?, condition?, carried, captures; a region, from (trip, condition, carried,
//             captures) to (condition, carried, stacked)
//
// The results of a loop are the last carried values, and what each trip stacks, along a new axis 0.
// An extent in which branches differ, or that changes from trip to trip, is a new one (`dims`).
#ifndef TERN_GRAPH_CONTROL_H_
#define TERN_GRAPH_CONTROL_H_

#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "tern/graph/builder.h"

namespace tern::graph {

// Loops of so many trips, where that is known, become straight code.
inline constexpr int64_t kMaxUnrolledTrips = 8;

// A region while it is made. Values of the graph around it become parameters when they are used.
class RegionBuilder {
 public:
  RegionBuilder(const Builder& outer, const std::string& name) : builder_(name, outer) {}
  Builder& builder() { return builder_; }
  // The value inside; constants are the same everywhere.
  Value Capture(const Value& outer);
  const std::vector<Value>& captured() const { return captured_; }
  // With these parameters, then one for each of `captures`.
  Function Finish(std::vector<Value> params, const std::vector<Value>& captures,
                  std::vector<Value> results);

 private:
  Builder builder_;
  std::vector<Value> captured_;
  std::map<const ValueNode*, Value> inside_;
};

// Makes the results of a region. For loops it is called with (trip, condition, carried), and more
// than once: until the extents of what is carried are general enough.
using MakeRegion =
    std::function<std::vector<Value>(RegionBuilder& region, const std::vector<Value>& params)>;

// The condition is a scalar whose value is not known.
std::vector<Value> AddIf(Builder& builder, const Value& condition, const MakeRegion& then_branch,
                         const MakeRegion& else_branch, const Builder::Options& options);
// The same, of two regions that are made already, with their results.
std::vector<Value> AddIf(Builder& builder, const Value& condition, RegionBuilder (&regions)[2],
                         std::vector<Value> (&results)[2], const Builder::Options& options);
// `trips` and `condition` may be null.
std::vector<Value> AddLoop(Builder& builder, const Value& trips, const Value& condition,
                           const std::vector<Value>& carried, const MakeRegion& body,
                           const Builder::Options& options);
// How often a loop runs, where that is known when compiling and nothing ends it before.
std::optional<int64_t> KnownTrips(const Value& trips, const Value& condition);

// The constant that the one element of a value is; nothing where it is not known.
std::optional<int64_t> KnownScalar(const Value& value);
// Why it is not, and what a user can do: the end of a message that says what has to be known.
std::string HowToKnow(const Value& value);

// Sets the outputs and the dims of a node of control flow; throws where inputs and regions do not
// fit. `names` are wishes for the outputs.
void InferControl(Builder& builder, NodeNode* node, const std::vector<std::string>& names);

// Whether a `read` is of numbers that are not negative.
bool IsCount(const NodeNode& node);

// How the parts of a loop lie in its node.
struct LoopParts {
  explicit LoopParts(const NodeNode& node);
  Function body;
  size_t carried = 0, stacked = 0;
  Value trips, condition;      // null where they are absent
  std::vector<Value> initial;  // of what is carried
  std::vector<Value> captures;
  Var trip;               // the number of the trip, from 0 on
  bool may_stop = false;  // by the condition, before all trips are done
};

// All extents that nodes of the region define.
std::unordered_set<const ir::VarNode*> DimsDefinedIn(const Function& region);

void RegisterControlOps();

}  // namespace tern::graph

#endif  // TERN_GRAPH_CONTROL_H_
