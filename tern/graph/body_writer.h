// SPDX-License-Identifier: Apache-2.0
//
// Writes the program of a graph and of its regions, which are all one function of the program.
#ifndef TERN_GRAPH_BODY_WRITER_H_
#define TERN_GRAPH_BODY_WRITER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tern/graph/lower.h"
#include "tern/graph/lower_group.h"
#include "tern/graph/op.h"
#include "tern/graph/vm_expr.h"

namespace tern::graph {

// Functions that are the same are one, named by what they do and a hash.
class KernelTable {
 public:
  // Its name: `prefix` and a hash.
  std::string Add(const tir::PrimFunc& function, const std::string& prefix);
  // A kernel that is given as code, by the name that it has; the same one may come again.
  void AddGiven(const ir::BaseFunc& kernel);
  const std::vector<ir::BaseFunc>& functions() const { return functions_; }

 private:
  std::multimap<uint64_t, std::pair<tir::PrimFunc, std::string>> by_hash_;
  std::set<std::string> names_;
  std::vector<ir::BaseFunc> functions_;
};

// What the graph and all of its regions share.
struct ProgramState {
  const LowerOptions& options;
  LoweredModel model;
  KernelTable kernels;
  runtime::vm::Function main;
  DimRegisters dims;  // of all extents that are known where the program is written now
  // Of constants, by the shapes under which they are read.
  std::map<const ir::ConstantNode*, std::vector<std::pair<std::vector<int64_t>, uint32_t>>>
      constants;
};

// Writes a graph or a region: instructions behind those that are there.
class BodyWriter {
 public:
  BodyWriter(ProgramState* state, const Function& function)
      : state_(*state), main_(state->main), function_(function) {}

  // The graph as the function main, which takes one of the versions where it can.
  void WriteMain(const std::vector<Function>& versions);

 private:
  using Instruction = runtime::vm::Instruction;
  using IntExpr = runtime::vm::IntExpr;

  // Where a result is to be.
  struct Target {
    std::optional<uint32_t> tensor = {};  // the register; otherwise a new one
    uint32_t output = 0;                  // k + 1: it is the model's output k
    bool has_memory = false;              // it is allocated already
    bool is_aligned = true;               // that memory, so that kernels can write there
  };
  using Targets = std::vector<std::optional<Target>>;  // nothing: the result is not needed
  // All instructions of the body. Returns the registers of the results.
  std::vector<std::optional<uint32_t>> Write(Targets targets);

  IntExpr ToVm(const Expr& expr) const { return graph::ToVm(state_.dims, expr); }
  std::vector<IntExpr> ToVm(const std::vector<Expr>& shape) const {
    return graph::ToVm(state_.dims, shape);
  }
  uint32_t Emit(Instruction instruction) {  // its number
    main_.code.push_back(std::move(instruction));
    return static_cast<uint32_t>(main_.code.size() - 1);
  }
  uint32_t NewTensor(const TensorType& type) {
    return main_.AddTensor(type.dtype, static_cast<uint32_t>(type.rank()));
  }

  // ---- The model
  void AddInputs();
  void AddOutputs(const std::vector<Function>& versions);
  void AddDefaults();
  void AddDefault(const Node& node);
  // As main reads the inputs of `outer`, under the shapes of this version.
  void WriteVersion(const BodyWriter& outer);
  void WriteModel();
  // An error where no version takes the extents of the inputs.
  void EmitRangeCheck(const std::vector<Function>& versions);
  // "tokens: 1, 64, 1..512; batch: any"
  std::string RangesText(const std::vector<Function>& versions) const;

  // ---- Extents that have names (NodeNode::dims), and conditions on extents
  void FindNamed();
  // Sets and checks those whose extents are all known here.
  void EmitExtents();
  void FindChecks(const FactsMap& facts);
  void EmitCheck(const Requirement& requirement);

  // ---- Views

  // Where the elements of a value are: in those of another one, from an offset on.
  struct Place {
    Value value;
    int64_t offset = 0;
    bool whole = true;  // all of them
  };
  void FindViews(const FactsMap& facts);
  // The value whose memory it is.
  Place PlaceOf(const Value& value) const;
  Value RootOf(const Value& value) const { return PlaceOf(value).value; }
  void PlaceConcat(const Node& node);
  bool MayBePlaced(const Place& part, const Value& result) const;
  void CopyOthers(const Node& node);

  // ---- Tensors

  // The memory of a value, as it was allocated or given.
  struct Base {
    uint32_t tensor;
    std::vector<Expr> shape;
    int64_t offset = 0;
  };
  const Base& BaseOf(const Value& root);
  uint32_t ConstantOf(const Value& root, const std::vector<Expr>& shape);
  uint32_t AddConstant(const ir::Constant& constant, std::vector<int64_t> shape);
  // The value under a shape that has as many elements.
  uint32_t TensorOf(const Value& value, const std::vector<Expr>& shape);
  uint32_t ViewOf(const Value& root, int64_t offset, const std::vector<Expr>& shape);
  // A parameter of which the content is known, and nothing else.
  void Materialize(const Value& param);
  void AllocateRoot(const Value& computed);
  bool IsParam(const Value& value) const;

  // ---- Groups
  GroupFunction Lower(const Group& group, const FactsMap& facts) const;
  void ChooseTargets(const std::vector<Group>& groups);
  void FindLastUses(const std::vector<GroupFunction>& functions);
  void Call(const Group& group, const GroupFunction& lowered);
  void Free(const GroupFunction& lowered, size_t position);
  std::vector<std::optional<uint32_t>> WriteResults();

  // ---- Control flow (lower_control.cc)
  void WriteControl(const Node& node);
  void WriteRead(const Node& node);
  void WriteIf(const Node& node);
  void WriteLoop(const Node& node);
  // The one element of a value.
  IntExpr ScalarOf(const Value& value);
  uint32_t NewInt(IntExpr value);
  void SetInt(uint32_t index, IntExpr value);
  // Values of this body as parameters of a region, from `first` on.
  std::vector<Base> BasesOf(const std::vector<Value>& values);
  void Bind(const std::vector<Value>& params, size_t first, const std::vector<Base>& bases);
  // The tensors of a list, `count` (a register) of that rank, along axis 0 of the output.
  void Stack(uint32_t list, uint32_t count, const Value& output, size_t rank);

  ProgramState& state_;
  runtime::vm::Function& main_;
  const Function function_;
  Targets targets_;
  std::vector<std::pair<Var, Expr>> named_;                         // not emitted yet
  std::vector<Requirement> checks_;                                 // the same
  std::set<const ValueNode*> computed_;                             // by kernels
  std::unordered_map<const ValueNode*, Place> viewed_;              // by a view, what it is of
  std::set<const NodeNode*> in_place_;                              // concats
  std::unordered_map<const NodeNode*, std::vector<Place>> copied_;  // by concat, in the result
  std::unordered_map<const ValueNode*, Base> bases_;                // by root
  std::unordered_map<const ValueNode*, std::vector<Base>> views_;
  std::unordered_map<const ValueNode*, size_t> target_of_, last_use_;
};

}  // namespace tern::graph

#endif  // TERN_GRAPH_BODY_WRITER_H_
