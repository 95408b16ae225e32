// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/lower.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <unordered_map>

#include "tern/graph/builder.h"
#include "tern/graph/lower_group.h"
#include "tern/graph/op.h"
#include "tern/ir/mutator.h"
#include "tern/ir/visitor.h"
#include "tern/tir/text.h"

namespace tern::graph {
namespace {

namespace vm = runtime::vm;

// ---- Kernels

// Functions that are the same are one, named by what they do and a hash.
class KernelTable {
 public:
  std::string Add(const tir::PrimFunc& function, const Group& group) {
    uint64_t hash = tir::StructuralHash(function);
    for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it)
      if (tir::StructuralEqual(it->second.first, function)) return it->second.second;
    std::string name;
    for (size_t i = 0; i < std::min<size_t>(group.nodes.size(), 3); ++i)
      name += (i ? "_" : "") + group.nodes[i]->op->name;
    char text[20];
    std::snprintf(text, sizeof(text), "_%08x", static_cast<unsigned>(hash ^ hash >> 32));
    name += text;
    while (!names_.insert(name).second) name += "_";
    by_hash_.emplace(hash, std::pair(function, name));
    functions_.push_back(tir::PrimFunc::Make(name, function->params, function->body,
                                             function->attrs, function->span));
    return name;
  }
  const std::vector<ir::BaseFunc>& functions() const { return functions_; }

 private:
  std::multimap<uint64_t, std::pair<tir::PrimFunc, std::string>> by_hash_;
  std::set<std::string> names_;
  std::vector<ir::BaseFunc> functions_;
};

// ---- The program

class ProgramWriter {
 public:
  ProgramWriter(const Function& function, const LowerOptions& options)
      : function_(function), options_(options) {}

  LoweredModel Run() {
    model_.num_nodes = static_cast<int64_t>(function_->nodes.size());
    FactsMap facts = FactsOfNodes(function_);
    FindViews(facts);
    AddInputs();
    AddChecks(facts);
    std::vector<Group> groups = FuseNodes(function_, facts, options_);
    for (const Group& group : groups)
      if (group.nodes.size() == 1 && group.nodes[0]->op->is_concat) PlaceConcat(group.nodes[0]);
    std::vector<GroupFunction> functions;
    for (const Group& group : groups) functions.push_back(LowerGroup(group.nodes, options_));
    ChooseOutputs(groups);
    FindLastUses(functions);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (in_place_.contains(groups[i].nodes[0].get()))
        CopyOthers(groups[i].nodes[0]);
      else
        Call(groups[i], functions[i]);
      Free(functions[i], i);
    }
    Return();
    model_.program.functions.push_back(std::move(main_));
    model_.kernels = ir::IRModule::Make(kernels_.functions());
    return std::move(model_);
  }

 private:
  // ---- Integers

  vm::IntExpr ToVm(const Expr& expr) const {
    vm::IntExpr result;
    Append(expr, &result);
    return result;
  }

  void Append(const Expr& expr, vm::IntExpr* out) const {
    if (std::optional<int64_t> constant = ir::AsConstInt(expr)) {
      out->tokens.push_back({vm::IntOp::kConst, *constant});
      return;
    }
    if (const auto* var = expr.As<ir::VarNode>()) {
      auto it = dims_.find(var);
      TERN_ICHECK(it != dims_.end()) << "extent " << var->name << " is told by no input";
      out->tokens.push_back({vm::IntOp::kRegister, it->second});
      return;
    }
    if (const auto* node = expr.As<ir::SelectNode>()) {
      Append(node->condition, out);
      Append(node->true_value, out);
      Append(node->false_value, out);
      out->tokens.push_back({vm::IntOp::kSelect, 0});
      return;
    }
    if (const auto* node = expr.As<ir::NotNode>()) {
      Append(node->a, out);
      out->tokens.push_back({vm::IntOp::kNot, 0});
      return;
    }
    if (const auto* node = expr.As<ir::CastNode>();
        node && node->value.dtype().is_integer() && expr.dtype().is_integer())
      return Append(node->value, out);
    AppendBinary(expr, out);
  }

  void AppendBinary(const Expr& expr, vm::IntExpr* out) const {
    auto append = [&](const auto* node, vm::IntOp op, bool swapped = false) {
      if (!node) return false;
      Append(swapped ? node->b : node->a, out);
      Append(swapped ? node->a : node->b, out);
      out->tokens.push_back({op, 0});
      return true;
    };
    using Op = vm::IntOp;
    bool known =
        append(expr.As<ir::AddNode>(), Op::kAdd) || append(expr.As<ir::SubNode>(), Op::kSub) ||
        append(expr.As<ir::MulNode>(), Op::kMul) ||
        append(expr.As<ir::FloorDivNode>(), Op::kFloorDiv) ||
        append(expr.As<ir::FloorModNode>(), Op::kFloorMod) ||
        append(expr.As<ir::TruncDivNode>(), Op::kTruncDiv) ||
        append(expr.As<ir::TruncModNode>(), Op::kTruncMod) ||
        append(expr.As<ir::MinNode>(), Op::kMin) || append(expr.As<ir::MaxNode>(), Op::kMax) ||
        append(expr.As<ir::EQNode>(), Op::kEq) || append(expr.As<ir::NENode>(), Op::kNe) ||
        append(expr.As<ir::LTNode>(), Op::kLt) || append(expr.As<ir::LENode>(), Op::kLe) ||
        append(expr.As<ir::GTNode>(), Op::kLt, true) ||
        append(expr.As<ir::GENode>(), Op::kLe, true) || append(expr.As<ir::AndNode>(), Op::kAnd) ||
        append(expr.As<ir::OrNode>(), Op::kOr);
    TERN_CHECK(known) << "the extent " << tir::Print(expr) << " cannot be computed by a program";
  }

  std::vector<vm::IntExpr> ToVm(const std::vector<Expr>& shape) const {
    std::vector<vm::IntExpr> result;
    for (const Expr& extent : shape) result.push_back(ToVm(extent));
    return result;
  }

  // ---- Tensors

  void AddInputs() {
    for (const Value& param : function_->params)
      for (const Expr& extent : param->type.shape)
        if (const auto* var = extent.As<ir::VarNode>(); var && !dims_.contains(var)) {
          dims_[var] = static_cast<uint32_t>(model_.program.dims.size());
          model_.program.dims.push_back(var->name);
        }
    main_.name = "main";
    main_.params.ints = main_.num_ints = static_cast<uint32_t>(model_.program.dims.size());
    main_.params.tensors = static_cast<uint32_t>(function_->params.size());
    for (size_t i = 0; i < function_->params.size(); ++i) {
      const TensorType& type = function_->params[i]->type;
      model_.program.inputs.push_back({function_.InputName(i), type.dtype, ToVm(type.shape)});
      bases_[function_->params[i].get()] = {NewTensor(type), type.shape};
    }
    for (const Node& node : function_->nodes)
      if (node->op->name == "with_default") AddDefault(node);
  }

  // A constant that has the name of an input is its default.
  void AddDefault(const Node& node) {
    const Value& value = node->inputs[1];
    auto param = std::find_if(function_->params.begin(), function_->params.end(),
                              [&](const Value& one) { return one.same(node->inputs[0]); });
    TERN_CHECK(param != function_->params.end() && value->constant)
        << node->str() << ": expected an input of the model and a constant";
    auto named = ffi::Make<ir::ConstantNode>(*value->constant);
    named->name = function_.InputName(static_cast<size_t>(param - function_->params.begin()));
    std::vector<int64_t> shape = named->shape;
    AddConstant(ir::Constant(named), std::move(shape));
  }

  // Of extents, which are all known from the inputs: before anything is computed.
  void AddChecks(const FactsMap& facts) {
    std::set<std::string> known;
    for (const Node& node : function_->nodes) {
      if (!facts.contains(node.get())) continue;
      for (const Requirement& requirement : RequirementsOf(node))
        if (known.insert(tir::Print(requirement.condition)).second) AddCheck(requirement);
    }
  }

  void AddCheck(const Requirement& requirement) {
    vm::Instruction check{
        .op = vm::Opcode::kCheck, .exprs = {ToVm(requirement.condition)}, .text = requirement.what};
    // "{}" stands for a value.
    for (size_t at = 0; (at = check.text.find("{}", at)) != std::string::npos;)
      check.text.insert(at + 1, " ");
    for (const Value& param : function_->params)
      for (const Expr& extent : param->type.shape) {
        const auto* var = extent.As<ir::VarNode>();
        if (!var || !ir::UsesVar(requirement.condition, var)) continue;
        vm::IntExpr dim = ToVm(extent);
        if (std::find(check.exprs.begin() + 1, check.exprs.end(), dim) != check.exprs.end())
          continue;
        check.text += (check.exprs.size() == 1 ? "; here " : ", ") + var->name + " = {}";
        check.exprs.push_back(std::move(dim));
      }
    Emit(std::move(check));
  }

  uint32_t NewTensor(const TensorType& type) {
    return main_.AddTensor(type.dtype, static_cast<uint32_t>(type.rank()));
  }

  // ---- Views

  // Where the elements of a value are: in those of another one, from an offset on.
  struct Place {
    Value value;
    int64_t offset = 0;
    bool whole = true;  // all of them
  };

  void FindViews(const FactsMap& facts) {
    for (const Node& node : function_->nodes) {
      auto it = facts.find(node.get());
      if (it == facts.end()) continue;
      for (size_t i = 0; i < it->second.views.size(); ++i) {
        const NodeFacts::View& view = it->second.views[i];
        viewed_[node->outputs[i].get()] = {node->inputs[view.input], view.offset, view.whole};
      }
    }
  }

  // The value whose memory it is.
  Place PlaceOf(const Value& value) const {
    Place place{value};
    for (auto it = viewed_.find(value.get()); it != viewed_.end();
         it = viewed_.find(place.value.get())) {
      place.value = it->second.value;
      place.offset += it->second.offset;
      place.whole = place.whole && it->second.whole;
    }
    return place;
  }
  Value RootOf(const Value& value) const { return PlaceOf(value).value; }

  // A concat along the outermost axis that is not of extent 1: what computes an input can write it
  // to where the result has it. An input that is given, constant, a result of the model, part of
  // another concat, or would not be aligned there, is copied.
  void PlaceConcat(const Node& node) {
    const Value& result = node->outputs[0];
    const std::vector<Expr>& shape = result->type.shape;
    int64_t axis = node->attrs.at("axis").As<int64_t>();
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    for (int64_t i = 0; i < axis; ++i)
      if (!ir::IsConst(shape[static_cast<size_t>(i)], 1)) return;
    std::vector<Place> parts;
    int64_t offset = 0;
    bool places = false;
    for (const Value& input : node->inputs) {
      std::optional<int64_t> size = ir::AsConstInt(NumElements(input->type.shape));
      if (!size) return;
      parts.push_back({input, offset});
      places = places || MayBePlaced(parts.back(), result);
      offset += *size;
    }
    if (!places) return;
    in_place_.insert(node.get());
    for (const Place& part : parts)
      if (MayBePlaced(part, result))
        viewed_[RootOf(part.value).get()] = {result, part.offset, false};
      else
        copied_[node.get()].push_back(part);
  }

  bool MayBePlaced(const Place& part, const Value& result) const {
    Place root = PlaceOf(part.value);
    int64_t bytes = part.offset * part.value->type.dtype.bytes();
    return root.whole && !root.value->constant && !IsParam(root.value) &&
           bytes % kViewAlignment == 0 && !root.value.same(result) &&
           std::none_of(function_->results.begin(), function_->results.end(),
                        [&](const Value& output) { return RootOf(output).same(root.value); });
  }

  // The inputs of a concat that are not where the result has them.
  void CopyOthers(const Node& node) {
    const Value& result = node->outputs[0];
    AllocateRoot(result);
    for (const Place& part : copied_[node.get()]) {
      const std::vector<Expr>& shape = part.value->type.shape;
      uint32_t from = TensorOf(part.value, shape);
      Place to = PlaceOf(result);
      uint32_t view = ViewOf(to.value, to.offset + part.offset, shape);
      Emit({.op = vm::Opcode::kCopy,
            .args = {vm::Operand::Tensor(from), vm::Operand::Tensor(view)}});
    }
  }

  // The memory of a value, as it was allocated or given.
  struct Base {
    uint32_t tensor;
    std::vector<Expr> shape;
    int64_t offset = 0;
  };

  const Base& BaseOf(const Value& root) const {
    auto it = bases_.find(root.get());
    TERN_ICHECK(it != bases_.end()) << "value " << root->name << " is read before it is computed";
    return it->second;
  }

  // A constant has the shape in which it is read: what is prepacked must be whole. Few are read in
  // two, and these are two constants.
  uint32_t ConstantOf(const Value& root, const std::vector<Expr>& shape) {
    uint32_t tensor = NewTensor({root->type.dtype, shape});
    std::vector<int64_t> extents;
    for (const Expr& extent : shape) extents.push_back(*ir::AsConstInt(extent));
    ir::Constant constant = root->constant;
    if (size_t others = views_[root.get()].size()) {
      auto copy = ffi::Make<ir::ConstantNode>(*constant);
      copy->name += "_shape_" + std::to_string(others);
      constant = ir::Constant(copy);
    }
    Emit({.op = vm::Opcode::kConst,
          .index = AddConstant(constant, std::move(extents)),
          .results = {vm::Operand::Tensor(tensor)}});
    views_[root.get()].push_back({tensor, shape});
    return tensor;
  }

  uint32_t AddConstant(const ir::Constant& constant, std::vector<int64_t> shape) {
    vm::Constant entry{.name = constant->name, .dtype = constant->dtype, .shape = std::move(shape)};
    if (constant->is_splat) {
      entry.source = vm::ConstantSource::kSplat;
      entry.data = std::string(constant->data());
    } else if (!constant->dtype.is_float() && constant->num_elements() <= kMaxContent) {
      // May be an index: sealed with the program.
      entry.source = vm::ConstantSource::kInline;
      entry.data = std::string(constant->data());
    } else {
      model_.weights.push_back(constant);
    }
    model_.program.constants.push_back(std::move(entry));
    return static_cast<uint32_t>(model_.program.constants.size() - 1);
  }

  // The value under a shape that has as many elements.
  uint32_t TensorOf(const Value& value, const std::vector<Expr>& shape) {
    Place place = PlaceOf(value);
    return ViewOf(place.value, place.offset, shape);
  }

  uint32_t ViewOf(const Value& root, int64_t offset, const std::vector<Expr>& shape) {
    auto same = [&](const Base& other) {
      return offset == other.offset && shape.size() == other.shape.size() &&
             std::equal(shape.begin(), shape.end(), other.shape.begin(), SameExtent);
    };
    for (const Base& view : views_[root.get()])
      if (same(view)) return view.tensor;
    if (root->constant) return ConstantOf(root, shape);
    Base base = BaseOf(root);
    if (same(base)) return base.tensor;
    uint32_t tensor = NewTensor({root->type.dtype, shape});
    vm::Instruction view{.op = vm::Opcode::kView,
                         .results = {vm::Operand::Tensor(tensor)},
                         .args = {vm::Operand::Tensor(base.tensor)},
                         .exprs = ToVm(shape)};
    view.exprs.insert(view.exprs.begin(), vm::IntExpr::Const(offset));
    Emit(std::move(view));
    views_[root.get()].push_back({tensor, shape, offset});
    return tensor;
  }

  // ---- Instructions

  void Emit(vm::Instruction instruction) { main_.code.push_back(std::move(instruction)); }

  // A result that a kernel computes is written where the caller wants it; others are copied.
  void ChooseOutputs(const std::vector<Group>& groups) {
    std::set<const ValueNode*> computed;
    for (const Group& group : groups)
      for (const Value& output : group.nodes.back()->outputs) computed.insert(output.get());
    for (size_t i = 0; i < function_->results.size(); ++i) {
      const Value& result = function_->results[i];
      model_.program.outputs.push_back(
          {function_.OutputName(i), result->type.dtype, ToVm(result->type.shape)});
      Place root = PlaceOf(result);
      if (root.whole && computed.contains(root.value.get()))
        output_of_.try_emplace(root.value.get(), i);
    }
  }

  void FindLastUses(const std::vector<GroupFunction>& functions) {
    for (size_t i = 0; i < functions.size(); ++i) {
      for (const Value& input : functions[i].inputs) last_use_[RootOf(input).get()] = i;
      // What nobody reads is freed where it is made.
      for (const Value& output : functions[i].outputs) last_use_[RootOf(output).get()] = i;
    }
    for (const Value& result : function_->results)
      last_use_[RootOf(result).get()] = functions.size();
  }

  // The memory that a value is computed to, where it is not there yet.
  void AllocateRoot(const Value& computed) {
    Value value = RootOf(computed);
    if (bases_.contains(value.get())) return;
    auto output = output_of_.find(value.get());
    const Value& like = output == output_of_.end() ? value : function_->results[output->second];
    uint32_t tensor = NewTensor(like->type);
    Emit({.op = vm::Opcode::kAlloc,
          .index = output == output_of_.end() ? 0 : static_cast<uint32_t>(output->second + 1),
          .results = {vm::Operand::Tensor(tensor)},
          .exprs = ToVm(like->type.shape)});
    bases_[value.get()] = {tensor, like->type.shape};
  }

  void Call(const Group& group, const GroupFunction& lowered) {
    std::string name = kernels_.Add(lowered.function, group);
    for (const Value& output : lowered.outputs) AllocateRoot(output);
    vm::Instruction call{.op = vm::Opcode::kCall, .index = model_.program.Kernel(name)};
    size_t param = 0;
    for (const auto* values : {&lowered.inputs, &lowered.outputs})
      for (const Value& value : *values)
        call.args.push_back(vm::Operand::Tensor(TensorOf(value, lowered.shapes[param++])));
    for (const Var& scalar : lowered.scalars)
      call.args.push_back(vm::Operand::Int(dims_.at(scalar.node())));
    Emit(std::move(call));
    Kernel kernel{name, {}, {}, group.apart, {}, WorkOfCall(lowered)};
    for (const Node& node : group.nodes) {
      kernel.ops.push_back(node->op->name);
      kernel.labels.push_back(node->label);
    }
    for (const Value& output : lowered.outputs) kernel.results.push_back(output->name);
    model_.calls.push_back(std::move(kernel));
  }

  // The function has collapsed dims, whose extents are known here.
  static tir::Work WorkOfCall(const GroupFunction& lowered) {
    tir::Work work = tir::WorkOf(lowered.function);
    ir::VarMap extents;
    for (size_t i = 0; i < lowered.shapes.size(); ++i)
      for (size_t d = 0; d < lowered.shapes[i].size(); ++d)
        if (const auto* var = lowered.function->params[i].buffer->shape[d].As<ir::VarNode>())
          extents[var] = lowered.shapes[i][d];
    return {tir::CombineTerms(ir::Substitute(work.flops, extents)),
            tir::CombineTerms(ir::Substitute(work.bytes, extents))};
  }

  void Free(const GroupFunction& lowered, size_t position) {
    vm::Instruction free{.op = vm::Opcode::kFree};
    std::set<const ValueNode*> done;
    for (const auto* values : {&lowered.inputs, &lowered.outputs})
      for (const Value& value : *values) {
        Value root = RootOf(value);
        if (root->constant || last_use_.at(root.get()) != position ||
            output_of_.contains(root.get()) || IsParam(root) || !done.insert(root.get()).second)
          continue;
        free.args.push_back(vm::Operand::Tensor(bases_.at(root.get()).tensor));
      }
    if (!free.args.empty()) Emit(std::move(free));
  }

  bool IsParam(const Value& value) const {
    return std::any_of(function_->params.begin(), function_->params.end(),
                       [&](const Value& param) { return param.same(value); });
  }

  void Return() {
    vm::Instruction ret{.op = vm::Opcode::kRet};
    for (size_t i = 0; i < function_->results.size(); ++i) {
      const Value& result = function_->results[i];
      Value root = RootOf(result);
      auto output = output_of_.find(root.get());
      if (output != output_of_.end() && output->second == i) {
        ret.args.push_back(vm::Operand::Tensor(bases_.at(root.get()).tensor));
        continue;
      }
      uint32_t tensor = NewTensor(result->type);
      Emit({.op = vm::Opcode::kAlloc,
            .index = static_cast<uint32_t>(i + 1),
            .results = {vm::Operand::Tensor(tensor)},
            .exprs = ToVm(result->type.shape)});
      uint32_t from = TensorOf(result, result->type.shape);
      Emit({.op = vm::Opcode::kCopy,
            .args = {vm::Operand::Tensor(from), vm::Operand::Tensor(tensor)}});
      ret.args.push_back(vm::Operand::Tensor(tensor));
    }
    main_.results.tensors = static_cast<uint32_t>(ret.args.size());
    Emit(std::move(ret));
  }

  const Function& function_;
  const LowerOptions& options_;
  LoweredModel model_;
  KernelTable kernels_;
  vm::Function main_;
  std::unordered_map<const ir::VarNode*, uint32_t> dims_;
  std::unordered_map<const ValueNode*, Place> viewed_;              // by a view, what it is of
  std::set<const NodeNode*> in_place_;                              // concats
  std::unordered_map<const NodeNode*, std::vector<Place>> copied_;  // by concat, in the result
  std::unordered_map<const ValueNode*, Base> bases_;                // by root
  std::unordered_map<const ValueNode*, std::vector<Base>> views_;
  std::unordered_map<const ValueNode*, size_t> output_of_, last_use_;
};

}  // namespace

LoweredModel LowerGraph(const Function& function, const LowerOptions& options) {
  return ProgramWriter(function, options).Run();
}

}  // namespace tern::graph
