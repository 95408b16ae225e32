// SPDX-License-Identifier: Apache-2.0
//
// From a graph to kernels and a program that calls them.
#ifndef TERN_GRAPH_LOWER_H_
#define TERN_GRAPH_LOWER_H_

#include <string>
#include <vector>

#include "tern/arith/analyzer.h"
#include "tern/graph/node_facts.h"
#include "tern/runtime/vm/program.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/work.h"
#include "tern/tir/function.h"

namespace tern::graph {

struct LowerOptions {
  bool fuse = true;         // several nodes may be one kernel
  bool reassociate = true;  // sums in any order (--strict-math: no)
  // Whose schedule rules decide what is fused; null: they are not asked.
  target::Target target = {};
  bool allow_tf32 = false;  // products of float32 by tensor cores (--precision tf32)
};

// Nodes that are one kernel: the first is what it is about, the others are its epilogue.
struct Group {
  std::vector<Node> nodes;
  // Why the first node, which could be an epilogue by itself, is none; "" for all others.
  std::string apart = {};
  Value result() const { return nodes.back()->outputs[0]; }
};
// In an order in which they can be computed. Views are in none, nor is what nobody reads when the
// program runs, as the computation of shapes.
std::vector<Group> FuseNodes(const Function& function, const FactsMap& facts,
                             const LowerOptions& options);

struct Kernel {
  std::string name;              // of the function in `kernels`
  std::vector<std::string> ops;  // "conv", "relu"
  std::vector<std::string> labels;
  std::string apart;                 // Group::apart
  std::vector<std::string> results;  // names of the values that it computes
  tir::Work work;                    // over the graph's dims

  // Of the first node: what the model calls it, or else its result.
  const std::string& label() const { return labels[0].empty() ? results[0] : labels[0]; }
};

struct LoweredModel {
  ir::IRModule kernels;  // loop functions, each of them once
  runtime::vm::Program program;
  // Of the program's constants of source kWeights, which say under which shape they are read.
  std::vector<ir::Constant> weights;
  std::vector<Kernel> calls;  // in the order of the program
  int64_t num_nodes = 0;      // of the graph that was lowered
  // By dim of the program, what it can be.
  std::vector<arith::ConstBounds> dim_ranges;
};
LoweredModel LowerGraph(const Function& function, const LowerOptions& options = {});
// The same, with versions of the graph (versions.h) and a switch before them.
LoweredModel LowerGraph(const Function& function, const std::vector<Function>& versions,
                        const LowerOptions& options);

}  // namespace tern::graph

#endif  // TERN_GRAPH_LOWER_H_
