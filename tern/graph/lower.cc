// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/lower.h"

#include <algorithm>
#include <cstdio>

#include "tern/ffi/text.h"
#include "tern/graph/body_writer.h"
#include "tern/graph/builder.h"
#include "tern/graph/dim_ranges.h"
#include "tern/graph/versions.h"
#include "tern/ir/mutator.h"
#include "tern/ir/visitor.h"
#include "tern/tir/text.h"

namespace tern::graph {
namespace {

namespace vm = runtime::vm;

std::string PrefixOf(const Group& group) {
  std::string prefix;
  for (size_t i = 0; i < std::min<size_t>(group.nodes.size(), 3); ++i)
    prefix += (i ? "_" : "") + group.nodes[i]->op->name;
  return prefix;
}

// The function has collapsed dims, whose extents are known here.
tir::Work WorkOfCall(const Group& group, const GroupFunction& lowered) {
  // What a program does depends on the data.
  if (!group.nodes[0]->op->program.empty()) return {Expr(0), Expr(0)};
  tir::Work work = tir::WorkOf(lowered.function);
  ir::VarMap extents;
  for (size_t i = 0; i < lowered.shapes.size(); ++i)
    for (size_t d = 0; d < lowered.shapes[i].size(); ++d)
      if (const auto* var = lowered.function->params[i].buffer->shape[d].As<ir::VarNode>())
        extents[var] = lowered.shapes[i][d];
  return {tir::CombineTerms(ir::Substitute(work.flops, extents)),
          tir::CombineTerms(ir::Substitute(work.bytes, extents))};
}

int64_t NumNodes(const Function& function) {
  int64_t count = 0;
  ForEachNode(function, [&](const Node&) { ++count; });
  return count;
}

// What each dim of the program can be, by all versions.
std::vector<arith::ConstBounds> ProgramRanges(const ProgramState& state, const Function& function,
                                              const std::vector<Function>& versions) {
  std::vector<arith::ConstBounds> ranges(state.model.program.dims.size(),
                                         {arith::ConstBounds::kPosInf, 0});
  auto add = [&](const Function& one) {
    ScopedDimRanges scope(one);
    for (size_t i = 0; i < function->params.size(); ++i)
      for (size_t axis = 0; axis < function->params[i]->type.rank(); ++axis) {
        const auto* dim = function->params[i]->type.shape[axis].As<ir::VarNode>();
        if (!dim) continue;
        const Expr& extent = one->params[i]->type.shape[axis];
        std::optional<int64_t> constant = ir::AsConstInt(extent);
        arith::ConstBounds known = constant ? arith::ConstBounds{*constant, *constant}
                                            : RangeOf(Var(extent.As<ir::VarNode>()));
        arith::ConstBounds& range = ranges[state.dims.at(dim)];
        range = {std::min(range.lo, known.lo), std::max(range.hi, known.hi)};
      }
  };
  if (!IsVersionsOnly(function)) add(function);
  for (const Function& version : versions) add(version);
  return ranges;
}

}  // namespace

std::string KernelTable::Add(const tir::PrimFunc& function, const std::string& prefix) {
  uint64_t hash = tir::StructuralHash(function);
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it)
    if (tir::StructuralEqual(it->second.first, function)) return it->second.second;
  char text[20];
  std::snprintf(text, sizeof(text), "_%08x", static_cast<unsigned>(hash ^ hash >> 32));
  std::string name = prefix + text;
  while (!names_.insert(name).second) name += "_";
  by_hash_.emplace(hash, std::pair(function, name));
  functions_.push_back(
      tir::PrimFunc::Make(name, function->params, function->body, function->attrs, function->span));
  return name;
}

void KernelTable::AddGiven(const ir::BaseFunc& kernel) {
  if (names_.insert(kernel->name).second) functions_.push_back(kernel);
}

// ---- The model

void BodyWriter::WriteMain(const std::vector<Function>& versions) {
  AddInputs();
  AddOutputs(versions);
  EmitRangeCheck(versions);
  std::vector<uint32_t> branches;
  for (const Function& version : versions)
    branches.push_back(
        Emit({.op = vm::Opcode::kBranch, .exprs = {ToVm(ConditionOf(version, function_))}}));
  // The last branch is always taken where there is nothing but versions.
  if (IsVersionsOnly(function_)) {
    main_.code.pop_back();
    branches.pop_back();
  } else {
    WriteModel();
  }
  for (size_t i = versions.size(); i-- > 0;) {
    if (i < branches.size())
      main_.code[branches[i]].index = static_cast<uint32_t>(main_.code.size());
    ScopedDimRanges ranges(versions[i]);
    BodyWriter(&state_, versions[i]).WriteVersion(*this);
  }
}

void BodyWriter::WriteVersion(const BodyWriter& outer) {
  for (size_t i = 0; i < function_->params.size(); ++i) {
    const Value &param = function_->params[i], &general = outer.function_->params[i];
    for (size_t axis = 0; axis < param->type.rank(); ++axis)
      if (const auto* var = param->type.shape[axis].As<ir::VarNode>())
        state_.dims[var] = state_.dims.at(general->type.shape[axis].As<ir::VarNode>());
    bases_[param.get()] = {outer.bases_.at(general.get()).tensor, param->type.shape};
  }
  AddDefaults();
  WriteModel();
}

void BodyWriter::WriteModel() {
  Targets targets;
  for (uint32_t i = 0; i < function_->results.size(); ++i)
    targets.push_back(Target{.output = i + 1});
  Instruction ret{.op = vm::Opcode::kRet};
  for (std::optional<uint32_t> tensor : Write(std::move(targets)))
    ret.args.push_back(vm::Operand::Tensor(*tensor));
  main_.results.tensors = static_cast<uint32_t>(ret.args.size());
  Emit(std::move(ret));
}

void BodyWriter::EmitRangeCheck(const std::vector<Function>& versions) {
  Expr condition;
  bool takes_all = false;
  auto add = [&](const Function& function) {
    Expr one = ConditionOf(function, function_);
    takes_all = takes_all || ir::IsConst(one, 1);
    condition = condition ? condition || one : one;
  };
  if (!IsVersionsOnly(function_)) add(function_);
  for (const Function& version : versions) add(version);
  if (takes_all) return;
  std::string why;
  if (auto reasons = function_->attrs.find(attr::kDimReasons); reasons != function_->attrs.end())
    for (const ffi::Any& reason : *reasons->second.As<ffi::Array>())
      why += (why.empty() ? ": " : "; ") + reason.As<std::string>();
  EmitCheck({condition,
             "the model was compiled for other shapes (" + RangesText(versions) + ")" +
                 (why.empty() ? "; compile it for these too, with --dim or --input-shape" : why)});
}

std::string BodyWriter::RangesText(const std::vector<Function>& versions) const {
  std::string text;
  std::vector<const ir::VarNode*> dims;  // in the order of the program's
  for (const Value& param : function_->params)
    for (const Expr& extent : param->type.shape)
      if (const auto* var = extent.As<ir::VarNode>();
          var && std::find(dims.begin(), dims.end(), var) == dims.end())
        dims.push_back(var);
  for (const ir::VarNode* var : dims) {
    std::vector<std::string> parts;
    auto add = [&](const std::string& part) {
      if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
    };
    auto add_of = [&](const Function& function) {
      DimRanges ranges = DimRangesOf(function->params, function->attrs);
      for (size_t i = 0; i < function->params.size(); ++i)
        for (size_t axis = 0; axis < function->params[i]->type.rank(); ++axis) {
          if (function_->params[i]->type.shape[axis].As<ir::VarNode>() != var) continue;
          const Expr& extent = function->params[i]->type.shape[axis];
          const auto* open = extent.As<ir::VarNode>();
          auto range = open ? ranges.find(open->name) : ranges.end();
          if (!open)
            add(tir::Print(extent));
          else if (range == ranges.end())
            add("any");
          else
            add(std::to_string(range->second.lo) + ".." + std::to_string(range->second.hi));
        }
    };
    for (const Function& version : versions) add_of(version);
    if (!IsVersionsOnly(function_)) add_of(function_);
    text += (text.empty() ? "" : "; ") + var->name + ": " + ffi::Join(parts);
  }
  return text;
}

void BodyWriter::AddInputs() {
  vm::Program& program = state_.model.program;
  for (const Value& param : function_->params)
    for (const Expr& extent : param->type.shape)
      if (const auto* var = extent.As<ir::VarNode>(); var && !state_.dims.contains(var)) {
        state_.dims[var] = static_cast<uint32_t>(program.dims.size());
        program.dims.push_back(var->name);
      }
  main_.name = "main";
  main_.params.ints = main_.num_ints = static_cast<uint32_t>(program.dims.size());
  main_.params.tensors = static_cast<uint32_t>(function_->params.size());
  for (size_t i = 0; i < function_->params.size(); ++i) {
    const TensorType& type = function_->params[i]->type;
    program.inputs.push_back({function_.InputName(i), type.dtype, ToVm(type.shape)});
    bases_[function_->params[i].get()] = {NewTensor(type), type.shape};
  }
  AddDefaults();
}

void BodyWriter::AddOutputs(const std::vector<Function>& versions) {
  const Function& typical = IsVersionsOnly(function_) ? versions[0] : function_;
  for (size_t i = 0; i < typical->results.size(); ++i) {
    const TensorType& type = typical->results[i]->type;
    vm::Port port{typical.OutputName(i), type.dtype, {}};
    for (size_t axis = 0; axis < type.rank(); ++axis) {
      const Expr& extent = type.shape[axis];
      // Extents that depend on data are not known before the program has run.
      bool is_known = IsKnownIn(state_.dims, extent);
      for (const Function& version : versions) {
        const TensorType& other = version->results[i]->type;
        TERN_CHECK(other.dtype == type.dtype && other.rank() == type.rank())
            << "output " << port.name << " is " << type.str() << " in one version and "
            << other.str() << " in another: compile a file for each";
        if (IsVersionsOnly(function_)) is_known = is_known && SameExtent(extent, other.shape[axis]);
      }
      port.shape.push_back(is_known ? ToVm(extent) : IntExpr());
    }
    state_.model.program.outputs.push_back(std::move(port));
  }
}

void BodyWriter::AddDefaults() {
  for (const Node& node : function_->nodes)
    if (node->op->name == "with_default") AddDefault(node);
}

// A constant that has the name of an input is its default.
void BodyWriter::AddDefault(const Node& node) {
  const Value& value = node->inputs[1];
  auto param = std::find_if(function_->params.begin(), function_->params.end(),
                            [&](const Value& one) { return one.same(node->inputs[0]); });
  TERN_CHECK(param != function_->params.end() && value->constant)
      << node->str() << ": expected an input of the model and a constant";
  auto named = ffi::Make<ir::ConstantNode>(*value->constant);
  named->name = function_.InputName(static_cast<size_t>(param - function_->params.begin()));
  for (const vm::Constant& constant : state_.model.program.constants)
    if (constant.name == named->name) return;  // another version's
  std::vector<int64_t> shape = named->shape;
  AddConstant(ir::Constant(named), std::move(shape));
}

// ---- The body

std::vector<std::optional<uint32_t>> BodyWriter::Write(Targets targets) {
  targets_ = std::move(targets);
  FactsMap facts = FactsOfNodes(function_);
  FindViews(facts);
  FindNamed();
  FindChecks(facts);
  EmitExtents();
  std::vector<Group> groups = FuseNodes(function_, facts, state_.options);
  for (const Group& group : groups)
    if (group.nodes[0]->op->control == Control::kNone)
      for (const Value& output : group.nodes.back()->outputs) computed_.insert(output.get());
  for (const Group& group : groups)
    if (group.nodes.size() == 1 && group.nodes[0]->op->is_concat) PlaceConcat(group.nodes[0]);
  std::vector<GroupFunction> functions;
  for (const Group& group : groups) functions.push_back(Lower(group, facts));
  ChooseTargets(groups);
  FindLastUses(functions);
  for (size_t i = 0; i < groups.size(); ++i) {
    const Node& first = groups[i].nodes[0];
    if (in_place_.contains(first.get()))
      CopyOthers(first);
    else if (first->op->control != Control::kNone)
      WriteControl(first);
    else
      Call(groups[i], functions[i]);
    Free(functions[i], i);
  }
  return WriteResults();
}

GroupFunction BodyWriter::Lower(const Group& group, const FactsMap& facts) const {
  if (group.nodes[0]->op->control == Control::kNone) return LowerGroup(group.nodes, state_.options);
  GroupFunction none;
  const std::vector<bool>& read = facts.at(group.nodes[0].get()).read;
  for (size_t i = 0; i < read.size(); ++i)
    if (read[i]) none.inputs.push_back(group.nodes[0]->inputs[i]);
  none.outputs = group.nodes[0]->outputs;
  return none;
}

// ---- Conditions on extents

void BodyWriter::FindChecks(const FactsMap& facts) {
  std::set<std::string> known;
  for (const Node& node : function_->nodes) {
    if (!facts.contains(node.get())) continue;
    for (Requirement& requirement : RequirementsOf(node))
      if (known.insert(tir::Print(requirement.condition)).second)
        checks_.push_back(std::move(requirement));
  }
}

void BodyWriter::FindNamed() {
  for (const Node& node : function_->nodes) {
    if (node->op->control != Control::kNone || node->dims.empty()) continue;
    std::vector<tir::Tensor> results = ComputeNode(node, "y", InputTensors(node));
    for (size_t i = 0; i < results.size(); ++i)
      for (size_t d = 0; d < results[i].rank(); ++d) {
        const auto* var = node->outputs[i]->type.shape[d].As<ir::VarNode>();
        for (const Var& dim : node->dims)
          if (dim.node() == var) named_.emplace_back(dim, Simplified(results[i].shape()[d]));
      }
  }
}

void BodyWriter::EmitExtents() {
  std::erase_if(named_, [&](const std::pair<Var, Expr>& one) {
    if (state_.dims.contains(one.first.node())) return true;
    if (!IsKnownIn(state_.dims, one.second)) return false;
    uint32_t index = NewInt(ToVm(one.second));
    state_.dims[one.first.node()] = index;
    return true;
  });
  std::erase_if(checks_, [&](const Requirement& requirement) {
    bool known = IsKnownIn(state_.dims, requirement.condition);
    if (known) EmitCheck(requirement);
    return known;
  });
}

void BodyWriter::EmitCheck(const Requirement& requirement) {
  Instruction check{
      .op = vm::Opcode::kCheck, .exprs = {ToVm(requirement.condition)}, .text = requirement.what};
  // "{}" stands for a value.
  for (size_t at = 0; (at = check.text.find("{}", at)) != std::string::npos;)
    check.text.insert(at + 1, " ");
  std::set<const ir::VarNode*> named;
  ir::ForEachExpr(requirement.condition, [&](const Expr& part) {
    const auto* var = part.As<ir::VarNode>();
    if (!var || !named.insert(var).second) return;
    check.text += (check.exprs.size() == 1 ? "; here " : ", ") + var->name + " = {}";
    check.exprs.push_back(ToVm(part));
  });
  Emit(std::move(check));
}

// ---- Views

void BodyWriter::FindViews(const FactsMap& facts) {
  for (const Node& node : function_->nodes) {
    auto it = facts.find(node.get());
    if (it == facts.end()) continue;
    for (size_t i = 0; i < it->second.views.size(); ++i) {
      const NodeFacts::View& view = it->second.views[i];
      viewed_[node->outputs[i].get()] = {node->inputs[view.input], view.offset, view.whole};
    }
  }
}

BodyWriter::Place BodyWriter::PlaceOf(const Value& value) const {
  Place place{value};
  for (auto it = viewed_.find(value.get()); it != viewed_.end();
       it = viewed_.find(place.value.get())) {
    place.value = it->second.value;
    place.offset += it->second.offset;
    place.whole = place.whole && it->second.whole;
  }
  return place;
}

// A concat along the outermost axis that is not of extent 1: what computes an input can write it
// to where the result has it. An input that is given, constant, a result of the model, part of
// another concat, or would not be aligned there, is copied.
void BodyWriter::PlaceConcat(const Node& node) {
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

bool BodyWriter::MayBePlaced(const Place& part, const Value& result) const {
  Place root = PlaceOf(part.value);
  int64_t bytes = part.offset * part.value->type.dtype.bytes();
  return root.whole && computed_.contains(root.value.get()) && bytes % kViewAlignment == 0 &&
         !root.value.same(result) &&
         std::none_of(function_->results.begin(), function_->results.end(),
                      [&](const Value& output) { return RootOf(output).same(root.value); });
}

// The inputs of a concat that are not where the result has them.
void BodyWriter::CopyOthers(const Node& node) {
  const Value& result = node->outputs[0];
  AllocateRoot(result);
  for (const Place& part : copied_[node.get()]) {
    const std::vector<Expr>& shape = part.value->type.shape;
    uint32_t from = TensorOf(part.value, shape);
    Place to = PlaceOf(result);
    uint32_t view = ViewOf(to.value, to.offset + part.offset, shape);
    Emit({.op = vm::Opcode::kCopy, .args = {vm::Operand::Tensor(from), vm::Operand::Tensor(view)}});
  }
}

// ---- Tensors

const BodyWriter::Base& BodyWriter::BaseOf(const Value& root) {
  if (!bases_.contains(root.get()) && IsParam(root) && root->content) Materialize(root);
  auto it = bases_.find(root.get());
  TERN_ICHECK(it != bases_.end()) << "value " << root->name << " is read before it is computed";
  return it->second;
}

void BodyWriter::Materialize(const Value& param) {
  const TensorType& type = param->type;
  const Expr& element = (*param->content)[0];
  tir::Tensor tensor =
      tir::Compute("scalar", type.shape, [&](const std::vector<Var>&) { return element; });
  std::vector<tir::Argument> params = {tensor};
  std::vector<Var> scalars = tir::MissingScalars(params);
  params.insert(params.end(), scalars.begin(), scalars.end());
  tir::PrimFunc function = tir::MakeFunction("kernel", params);
  std::string name = state_.kernels.Add(function, "scalar");
  uint32_t index = NewTensor(type);
  Emit({.op = vm::Opcode::kAlloc,
        .results = {vm::Operand::Tensor(index)},
        .exprs = ToVm(type.shape)});
  Instruction call{.op = vm::Opcode::kCall,
                   .index = state_.model.program.Kernel(name),
                   .args = {vm::Operand::Tensor(index)}};
  for (const Var& scalar : scalars)
    call.args.push_back(vm::Operand::Int(state_.dims.at(scalar.node())));
  Emit(std::move(call));
  bases_[param.get()] = {index, type.shape};
  state_.model.calls.push_back({name, {"scalar"}, {""}, "", {param->name}, tir::WorkOf(function)});
}

// A constant has the shape in which it is read: what is prepacked must be whole. Few are read in
// two, and these are two constants.
uint32_t BodyWriter::ConstantOf(const Value& root, const std::vector<Expr>& shape) {
  uint32_t tensor = NewTensor({root->type.dtype, shape});
  std::vector<int64_t> extents;
  for (const Expr& extent : shape) extents.push_back(*ir::AsConstInt(extent));
  auto& known = state_.constants[root->constant.get()];
  auto it = std::find_if(known.begin(), known.end(),
                         [&](const auto& one) { return one.first == extents; });
  if (it == known.end()) {
    ir::Constant constant = root->constant;
    if (!known.empty()) {
      auto copy = ffi::Make<ir::ConstantNode>(*constant);
      copy->name += "_shape_" + std::to_string(known.size());
      constant = ir::Constant(copy);
    }
    uint32_t index = AddConstant(constant, extents);
    it = known.insert(known.end(), {extents, index});
  }
  Emit({.op = vm::Opcode::kConst, .index = it->second, .results = {vm::Operand::Tensor(tensor)}});
  views_[root.get()].push_back({tensor, shape});
  return tensor;
}

uint32_t BodyWriter::AddConstant(const ir::Constant& constant, std::vector<int64_t> shape) {
  vm::Program& program = state_.model.program;
  vm::Constant entry{.name = constant->name, .dtype = constant->dtype, .shape = std::move(shape)};
  if (constant->is_splat) {
    entry.source = vm::ConstantSource::kSplat;
    entry.data = std::string(constant->data());
  } else if (!constant->dtype.is_float() && constant->num_elements() <= kMaxContent) {
    // May be an index: sealed with the program.
    entry.source = vm::ConstantSource::kInline;
    entry.data = std::string(constant->data());
  } else {
    state_.model.weights.push_back(constant);
  }
  program.constants.push_back(std::move(entry));
  return static_cast<uint32_t>(program.constants.size() - 1);
}

uint32_t BodyWriter::TensorOf(const Value& value, const std::vector<Expr>& shape) {
  Place place = PlaceOf(value);
  return ViewOf(place.value, place.offset, shape);
}

uint32_t BodyWriter::ViewOf(const Value& root, int64_t offset, const std::vector<Expr>& shape) {
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
  Instruction view{.op = vm::Opcode::kView,
                   .results = {vm::Operand::Tensor(tensor)},
                   .args = {vm::Operand::Tensor(base.tensor)},
                   .exprs = ToVm(shape)};
  view.exprs.insert(view.exprs.begin(), IntExpr::Const(offset));
  Emit(std::move(view));
  views_[root.get()].push_back({tensor, shape, offset});
  return tensor;
}

// The memory that a value is computed to, where it is not there yet.
void BodyWriter::AllocateRoot(const Value& computed) {
  Value value = RootOf(computed);
  if (bases_.contains(value.get())) return;
  auto result = target_of_.find(value.get());
  bool is_result = result != target_of_.end();
  const Value& like = is_result ? function_->results[result->second] : value;
  Target target = is_result ? *targets_[result->second] : Target();
  uint32_t tensor = target.tensor ? *target.tensor : NewTensor(like->type);
  if (!target.has_memory)
    Emit({.op = vm::Opcode::kAlloc,
          .index = target.output,
          .results = {vm::Operand::Tensor(tensor)},
          .exprs = ToVm(like->type.shape)});
  bases_[value.get()] = {tensor, like->type.shape};
}

bool BodyWriter::IsParam(const Value& value) const {
  return std::any_of(function_->params.begin(), function_->params.end(),
                     [&](const Value& param) { return param.same(value); });
}

// ---- Groups

// A result that is computed here is written where it is wanted; others are copied.
void BodyWriter::ChooseTargets(const std::vector<Group>& groups) {
  std::set<const ValueNode*> branched;  // by `if`, whose regions allocate it
  for (const Group& group : groups)
    if (group.nodes[0]->op->control == Control::kIf)
      for (const Value& output : group.nodes[0]->outputs) branched.insert(output.get());
  for (size_t i = 0; i < function_->results.size(); ++i) {
    if (!targets_[i]) continue;
    const Value& result = function_->results[i];
    Place root = PlaceOf(result);
    bool fits = root.whole && computed_.contains(root.value.get()) && targets_[i]->is_aligned;
    if (fits || (branched.contains(result.get()) && !targets_[i]->has_memory))
      target_of_.try_emplace(root.value.get(), i);
  }
}

void BodyWriter::FindLastUses(const std::vector<GroupFunction>& functions) {
  for (size_t i = 0; i < functions.size(); ++i) {
    for (const Value& input : functions[i].inputs) last_use_[RootOf(input).get()] = i;
    // What nobody reads is freed where it is made.
    for (const Value& output : functions[i].outputs) last_use_[RootOf(output).get()] = i;
  }
  for (const Value& result : function_->results) last_use_[RootOf(result).get()] = functions.size();
}

void BodyWriter::Call(const Group& group, const GroupFunction& lowered) {
  std::string name = state_.kernels.Add(lowered.function, PrefixOf(group));
  for (const ir::BaseFunc& kernel : lowered.kernels) state_.kernels.AddGiven(kernel);
  for (const Value& output : lowered.outputs) AllocateRoot(output);
  Instruction call{.op = vm::Opcode::kCall, .index = state_.model.program.Kernel(name)};
  size_t param = 0;
  for (const auto* values : {&lowered.inputs, &lowered.outputs})
    for (const Value& value : *values)
      call.args.push_back(vm::Operand::Tensor(TensorOf(value, lowered.shapes[param++])));
  for (const Var& scalar : lowered.scalars)
    call.args.push_back(vm::Operand::Int(state_.dims.at(scalar.node())));
  Emit(std::move(call));
  Kernel kernel{name, {}, {}, group.apart, {}, WorkOfCall(group, lowered)};
  for (const Node& node : group.nodes) {
    kernel.ops.push_back(node->op->name);
    kernel.labels.push_back(node->label);
  }
  for (const Value& output : lowered.outputs) kernel.results.push_back(output->name);
  state_.model.calls.push_back(std::move(kernel));
}

void BodyWriter::Free(const GroupFunction& lowered, size_t position) {
  Instruction free{.op = vm::Opcode::kFree};
  std::set<const ValueNode*> done;
  for (const auto* values : {&lowered.inputs, &lowered.outputs})
    for (const Value& value : *values) {
      Value root = RootOf(value);
      if (root->constant || last_use_.at(root.get()) != position ||
          target_of_.contains(root.get()) || IsParam(root) || !done.insert(root.get()).second)
        continue;
      free.args.push_back(vm::Operand::Tensor(bases_.at(root.get()).tensor));
    }
  if (!free.args.empty()) Emit(std::move(free));
}

std::vector<std::optional<uint32_t>> BodyWriter::WriteResults() {
  TERN_ICHECK(checks_.empty()) << "an extent of " << checks_[0].what << " is never known";
  std::vector<std::optional<uint32_t>> results;
  for (size_t i = 0; i < function_->results.size(); ++i) {
    const Value& result = function_->results[i];
    Value root = RootOf(result);
    auto target = target_of_.find(root.get());
    if (!targets_[i]) {
      results.emplace_back();
      continue;
    }
    if (target != target_of_.end() && target->second == i) {
      results.emplace_back(bases_.at(root.get()).tensor);
      continue;
    }
    uint32_t tensor = targets_[i]->tensor ? *targets_[i]->tensor : NewTensor(result->type);
    if (!targets_[i]->has_memory)
      Emit({.op = vm::Opcode::kAlloc,
            .index = targets_[i]->output,
            .results = {vm::Operand::Tensor(tensor)},
            .exprs = ToVm(result->type.shape)});
    uint32_t from = TensorOf(result, result->type.shape);
    Emit({.op = vm::Opcode::kCopy,
          .args = {vm::Operand::Tensor(from), vm::Operand::Tensor(tensor)}});
    results.emplace_back(tensor);
  }
  return results;
}

LoweredModel LowerGraph(const Function& function, const LowerOptions& options) {
  return LowerGraph(function, {}, options);
}

LoweredModel LowerGraph(const Function& function, const std::vector<Function>& versions,
                        const LowerOptions& options) {
  ScopedDimRanges ranges(function);
  ProgramState state{options, {}, {}, {}, {}, {}};
  for (const Function& version : versions.empty() ? std::vector{function} : versions)
    state.model.num_nodes = std::max(state.model.num_nodes, NumNodes(version));
  BodyWriter(&state, function).WriteMain(versions);
  state.model.dim_ranges = ProgramRanges(state, function, versions);
  state.model.program.functions.push_back(std::move(state.main));
  state.model.kernels = ir::IRModule::Make(state.kernels.functions());
  return std::move(state.model);
}

}  // namespace tern::graph
