// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/control.h"

#include <algorithm>
#include <set>

#include "tern/ffi/text.h"
#include "tern/ir/visitor.h"
#include "tern/tir/text.h"

namespace tern::graph {
namespace {

constexpr int64_t kMaxReads = 64;  // elements of one node

Value InputOf(const std::vector<Value>& values, size_t i) {
  return i < values.size() ? values[i] : Value();
}

bool IsKnownTrue(const Value& value) { return KnownScalar(value).value_or(0) != 0; }

// The extents that a node defines, in order: those that it has already, then new ones.
class DimSource {
 public:
  DimSource(Builder* builder, NodeNode* node) : builder_(*builder), node_(*node) {}
  Var Next(const std::string& wish) {
    if (next_ == node_.dims.size()) node_.dims.push_back(builder_.Dim(wish));
    return node_.dims[next_++];
  }
  void Skip(const Var& dim) {
    if (next_ < node_.dims.size() && node_.dims[next_].node() == dim.node()) ++next_;
  }

 private:
  Builder& builder_;
  NodeNode& node_;
  size_t next_ = 0;
};

bool UsesAny(const Expr& expr, const std::unordered_set<const ir::VarNode*>& vars) {
  return std::any_of(vars.begin(), vars.end(),
                     [&](const ir::VarNode* var) { return ir::UsesVar(expr, var); });
}

void AddOutput(Builder& builder, NodeNode* node, const std::vector<std::string>& names,
               TensorType type, std::optional<Content> content = {}) {
  auto value = ffi::Make<ValueNode>();
  size_t i = node->outputs.size();
  value->name =
      builder.FreshName(i < names.size() && !names[i].empty() ? names[i] : node->op->name);
  value->type = std::move(type);
  value->content = std::move(content);
  value->span = node->span;
  node->outputs.emplace_back(value);
}

void CheckScalar(const Value& value, DataType dtype, const char* what) {
  if (value->type.dtype != dtype || !ir::IsConst(NumElements(value->type.shape), 1))
    TERN_THROW(TypeError) << what << " is one " << dtype.str() << ", not " << value->type.str();
}

// Parameters from `first` on are these values.
void CheckCaptures(const Function& region, size_t first, const std::vector<Value>& captures) {
  TERN_CHECK(region->params.size() == first + captures.size())
      << "region " << region->name << " has " << region->params.size() << " parameters; "
      << first + captures.size() << " are given";
  for (size_t i = 0; i < captures.size(); ++i) {
    const Value& param = region->params[first + i];
    bool same = captures[i] && param->type.dtype == captures[i]->type.dtype &&
                param->type.rank() == captures[i]->type.rank();
    for (size_t d = 0; same && d < param->type.rank(); ++d)
      same = SameExtent(param->type.shape[d], captures[i]->type.shape[d]);
    if (!same)
      TERN_THROW(TypeError) << "parameter " << param->name << " of region " << region->name
                            << " is " << param->type.str() << "; "
                            << (captures[i] ? captures[i]->type.str() : "nothing") << " is given";
  }
}

// ---- read, checked

void InferRead(Builder& builder, NodeNode* node, const std::vector<std::string>& names) {
  const Value& x = node->inputs[0];
  DataType dtype = x->type.dtype;
  std::optional<int64_t> count = ir::AsConstInt(NumElements(x->type.shape));
  TERN_CHECK((dtype.is_integer() || dtype.is_bool()) && dtype.bits() >= 8 && count &&
             *count <= kMaxReads)
      << "up to " << kMaxReads << " integers or bools can be read, not " << x->type.str();
  if (x->content) return AddOutput(builder, node, names, x->type, x->content);
  DimSource dims(&builder, node);
  Content content;
  for (int64_t i = 0; i < *count; ++i) {
    Expr element = dims.Next(x->name);
    // No extent is negative, but what is read may be.
    if (!IsCount(*node)) element = element - dims.Next(x->name + "_below");
    if (dtype.is_bool())
      element = element != Expr(0);
    else if (dtype != DataType::Int(64))
      element = tir::Cast(dtype, element);
    content.push_back(element);
  }
  AddOutput(builder, node, names, x->type, std::move(content));
}

void InferChecked(Builder& builder, NodeNode* node, const std::vector<std::string>& names) {
  CheckScalar(node->inputs[1], DataType::Bool(), "the condition");
  const Value& x = node->inputs[0];
  AddOutput(builder, node, names, x->type, x->content);
}

// ---- if

void InferIf(Builder& builder, NodeNode* node, const std::vector<std::string>& names) {
  TERN_CHECK(node->regions.size() == 2) << "two regions are expected, then and else";
  const Value& condition = node->inputs[0];
  CheckScalar(condition, DataType::Bool(), "the condition");
  Function then_branch = AsGraph(node->regions[0]), else_branch = AsGraph(node->regions[1]);
  std::vector<Value> captures(node->inputs.begin() + 1, node->inputs.end());
  for (const Function& region : {then_branch, else_branch}) CheckCaptures(region, 0, captures);
  size_t count = then_branch->results.size();
  TERN_CHECK(count == else_branch->results.size())
      << "its branches give " << count << " and " << else_branch->results.size() << " results";
  std::unordered_set<const ir::VarNode*> inner = DimsDefinedIn(then_branch);
  inner.merge(DimsDefinedIn(else_branch));
  DimSource dims(&builder, node);
  for (size_t i = 0; i < count; ++i) {
    const TensorType &a = then_branch->results[i]->type, &b = else_branch->results[i]->type;
    if (a.dtype != b.dtype)
      TERN_THROW(TypeError) << "its branches give " << a.str() << " and " << b.str()
                            << " as result " << i;
    if (a.rank() != b.rank())
      TERN_THROW(ValueError) << "its branches give tensors of ranks " << a.rank() << " and "
                             << b.rank() << " (" << a.str() << " and " << b.str()
                             << "), so that its condition has to be known when compiling; "
                             << HowToKnow(condition);
    TensorType type{a.dtype, {}};
    std::string wish = i < names.size() && !names[i].empty() ? names[i] : "if";
    for (size_t d = 0; d < a.rank(); ++d)
      type.shape.push_back(SameExtent(a.shape[d], b.shape[d]) && !UsesAny(a.shape[d], inner)
                               ? a.shape[d]
                               : Expr(dims.Next(wish + "_" + std::to_string(d))));
    AddOutput(builder, node, names, std::move(type));
  }
}

// ---- loop

void InferLoop(Builder& builder, NodeNode* node, const std::vector<std::string>& names) {
  TERN_CHECK(node->regions.size() == 1) << "one region is expected, the body";
  LoopParts parts(*node);
  if (parts.trips) {
    CheckScalar(parts.trips, DataType::Int(64), "the number of trips");
    if (!parts.trips->content) throw UnknownContent(0, "the number of trips is not known");
  }
  if (parts.condition) CheckScalar(parts.condition, DataType::Bool(), "the condition");
  TERN_CHECK(parts.trips || parts.may_stop) << "it never ends: there is neither a number of trips "
                                            << "nor a condition";
  const Function& body = parts.body;
  CheckCaptures(body, 2 + parts.carried, parts.captures);
  CheckScalar(body->params[0], DataType::Int(64), "the number of the trip");
  CheckScalar(body->params[1], DataType::Bool(), "the condition");
  CheckScalar(body->results[0], DataType::Bool(), "the condition");
  DimSource dims(&builder, node);
  if (node->dims.empty()) node->dims.push_back(parts.trip);
  dims.Skip(parts.trip);
  std::unordered_set<const ir::VarNode*> inner = DimsDefinedIn(body);
  inner.insert(parts.trip.node());
  for (size_t i = 0; i < parts.carried; ++i) {
    const Value &initial = parts.initial[i], &param = body->params[2 + i],
                &next = body->results[1 + i];
    for (const Value& value : {initial, next})
      if (value->type.dtype != param->type.dtype || value->type.rank() != param->type.rank())
        TERN_THROW(TypeError) << "what it carries is " << param->type.str() << " in the body; it "
                              << (value.same(initial) ? "begins as " : "is then ")
                              << value->type.str();
    for (size_t d = 0; d < param->type.rank(); ++d) {
      const Expr& extent = param->type.shape[d];
      const auto* var = extent.As<ir::VarNode>();
      auto is_dim = [&](const Var& dim) { return dim.node() == var; };
      if (var && std::any_of(node->dims.begin(), node->dims.end(), is_dim)) {
        dims.Skip(Var(var));
        inner.insert(var);
      } else {
        TERN_CHECK(SameExtent(extent, initial->type.shape[d]) &&
                   SameExtent(extent, next->type.shape[d]))
            << "extent " << d << " of what it carries is " << tir::Print(extent)
            << " in the body; it begins as " << tir::Print(initial->type.shape[d])
            << " and is then " << tir::Print(next->type.shape[d]);
      }
    }
    AddOutput(builder, node, names, param->type);
  }
  for (size_t i = 0; i < parts.stacked; ++i) {
    const TensorType& element = body->results[1 + parts.carried + i]->type;
    TensorType type{element.dtype, {}};
    size_t output = node->outputs.size();
    std::string wish = output < names.size() && !names[output].empty() ? names[output] : "loop";
    type.shape.push_back(parts.may_stop
                             ? Expr(dims.Next(wish + "_0"))
                             : Simplified(tir::Max((*parts.trips->content)[0], Expr(0))));
    for (size_t d = 0; d < element.rank(); ++d)
      type.shape.push_back(UsesAny(element.shape[d], inner)
                               ? Expr(dims.Next(wish + "_" + std::to_string(d + 1)))
                               : element.shape[d]);
    AddOutput(builder, node, names, std::move(type));
  }
}

}  // namespace

bool IsCount(const NodeNode& node) {
  auto count = node.attrs.find("count");
  return count != node.attrs.end() && count->second.As<int64_t>() != 0;
}

LoopParts::LoopParts(const NodeNode& node) : body(AsGraph(node.regions[0])) {
  auto attr = node.attrs.find("carried");
  int64_t count = attr == node.attrs.end() ? 0 : attr->second.As<int64_t>();
  TERN_CHECK(count >= 0 && static_cast<size_t>(count) + 2 <= body->params.size() &&
             static_cast<size_t>(count) + 1 <= body->results.size())
      << count << " values cannot be carried: the body has " << body->params.size()
      << " parameters and " << body->results.size() << " results";
  carried = static_cast<size_t>(count);
  stacked = body->results.size() - 1 - carried;
  trips = InputOf(node.inputs, 0);
  condition = InputOf(node.inputs, 1);
  for (size_t i = 2; i < node.inputs.size(); ++i)
    (i < 2 + carried ? initial : captures).push_back(node.inputs[i]);
  TERN_CHECK(initial.size() == carried &&
             std::all_of(initial.begin(), initial.end(), [](const Value& value) { return value; }))
      << "what is carried has no value to begin with";
  const std::optional<Content>& number = body->params[0]->content;
  const auto* var = number && number->size() == 1 ? (*number)[0].As<ir::VarNode>() : nullptr;
  TERN_CHECK(var) << "the first parameter of the body is the number of the trip";
  trip = Var(var);
  may_stop = (condition && !IsKnownTrue(condition)) || !IsKnownTrue(body->results[0]);
}

std::optional<int64_t> KnownScalar(const Value& value) {
  if (!value || !value->content || value->content->size() != 1) return {};
  return ir::AsConstInt((*value->content)[0]);
}

std::string HowToKnow(const Value& value) {
  if (!value || !value->content)
    return "it is computed from the data; --bind makes an input of one element a constant";
  const Expr& expr = (*value->content)[0];
  std::set<std::string> names;
  ir::ForEachExpr(expr, [&](const Expr& part) {
    if (const auto* var = part.As<ir::VarNode>()) names.insert(var->name);
  });
  std::string list = ffi::Join(std::vector<std::string>(names.begin(), names.end()));
  return "it is " + tir::Print(expr) + "; fix " + list + ", as with --input-shape or --dim";
}

std::optional<int64_t> KnownTrips(const Value& trips, const Value& condition) {
  if (condition && !IsKnownTrue(condition)) return {};
  return KnownScalar(trips);
}

std::unordered_set<const ir::VarNode*> DimsDefinedIn(const Function& region) {
  std::unordered_set<const ir::VarNode*> dims;
  ForEachNode(region, [&](const Node& node) {
    for (const Var& dim : node->dims) dims.insert(dim.node());
  });
  return dims;
}

Value RegionBuilder::Capture(const Value& outer) {
  if (!outer || outer->constant) return outer;
  auto [it, added] = inside_.try_emplace(outer.get());
  if (added) {
    it->second = builder_.Param(outer->name, outer->type, outer->span, outer->content);
    captured_.push_back(outer);
  }
  return it->second;
}

Function RegionBuilder::Finish(std::vector<Value> params, const std::vector<Value>& captures,
                               std::vector<Value> results) {
  for (const Value& outer : captures) params.push_back(Capture(outer));
  return builder_.FinishRegion(std::move(params), std::move(results));
}

std::vector<Value> AddIf(Builder& builder, const Value& condition, const MakeRegion& then_branch,
                         const MakeRegion& else_branch, const Builder::Options& options) {
  RegionBuilder regions[] = {{builder, "then"}, {builder, "else"}};
  std::vector<Value> results[] = {then_branch(regions[0], {}), else_branch(regions[1], {})};
  return AddIf(builder, condition, regions, results, options);
}

std::vector<Value> AddIf(Builder& builder, const Value& condition, RegionBuilder (&regions)[2],
                         std::vector<Value> (&results)[2], const Builder::Options& options) {
  std::vector<Value> captures = regions[0].captured();
  for (const Value& outer : regions[1].captured())
    if (std::none_of(captures.begin(), captures.end(),
                     [&](const Value& known) { return known.same(outer); }))
      captures.push_back(outer);
  Builder::Options with = options;
  for (size_t i = 0; i < 2; ++i)
    with.regions.emplace_back(regions[i].Finish({}, captures, std::move(results[i])));
  std::vector<Value> inputs = {condition};
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  return builder.Add(GetOp("if"), std::move(inputs), {}, with);
}

std::vector<Value> AddLoop(Builder& builder, const Value& trips, const Value& condition,
                           const std::vector<Value>& carried, const MakeRegion& body,
                           const Builder::Options& options) {
  Var trip = builder.Dim("trip");
  std::vector<TensorType> types;
  size_t most = 1;  // rounds: each one widens an extent
  for (const Value& value : carried) {
    types.push_back(value->type);
    most += value->type.rank();
  }
  for (size_t round = 0; round < most; ++round) {
    RegionBuilder region(builder, "body");
    std::vector<Value> params = {
        region.builder().Param("trip", {DataType::Int(64), {}}, {}, Content{trip}),
        region.builder().Param("condition", {DataType::Bool(), {}}, {},
                               Content{ir::MakeConst(DataType::Bool(), 1)})};
    for (size_t i = 0; i < carried.size(); ++i)
      params.push_back(region.builder().Param(carried[i]->name, types[i]));
    std::vector<Value> results = body(region, params);
    bool widened = false;
    for (size_t i = 0; i < carried.size() && i + 1 < results.size(); ++i) {
      const TensorType& next = results[i + 1]->type;
      if (next.rank() != types[i].rank()) continue;  // an error, later
      for (size_t d = 0; d < next.rank(); ++d) {
        Expr& extent = types[i].shape[d];
        if (SameExtent(extent, next.shape[d])) continue;
        bool is_wide = !SameExtent(extent, carried[i]->type.shape[d]);
        if (is_wide) continue;
        extent = builder.Dim(carried[i]->name + "_" + std::to_string(d));
        widened = true;
      }
    }
    if (widened) continue;
    Builder::Options with = options;
    with.dims.push_back(trip);
    for (size_t i = 0; i < carried.size(); ++i)
      for (size_t d = 0; d < types[i].rank(); ++d)
        if (!SameExtent(types[i].shape[d], carried[i]->type.shape[d]))
          with.dims.emplace_back(types[i].shape[d].As<ir::VarNode>());
    std::vector<Value> captures = region.captured();
    with.regions.emplace_back(region.Finish(std::move(params), captures, std::move(results)));
    std::vector<Value> inputs = {trips, condition};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    inputs.insert(inputs.end(), captures.begin(), captures.end());
    return builder.Add(GetOp("loop"), std::move(inputs),
                       {{"carried", ffi::Any(static_cast<int64_t>(carried.size()))}}, with);
  }
  TERN_THROW(ValueError) << "the ranks of what the loop carries change";
}

void InferControl(Builder& builder, NodeNode* node, const std::vector<std::string>& names) {
  switch (node->op->control) {
    case Control::kRead:
      return InferRead(builder, node, names);
    case Control::kChecked:
      return InferChecked(builder, node, names);
    case Control::kIf:
      return InferIf(builder, node, names);
    case Control::kLoop:
      return InferLoop(builder, node, names);
    case Control::kNone:
      break;
  }
}

void RegisterControlOps() {
  RegisterOp({.name = "read",
              .summary = "x, whose elements can be extents from here on; with `count` none is "
                         "negative, and otherwise each is a difference of two",
              .inputs = {"x"},
              .attrs = {{"count", AttrKind::kInt, ffi::Any(0)}},
              .control = Control::kRead});
  RegisterOp({.name = "checked",
              .summary = "x; an error with this message where the condition does not hold",
              .inputs = {"x", "condition"},
              .attrs = {{"message", AttrKind::kString, {}, true}},
              .control = Control::kChecked});
  RegisterOp({.name = "if",
              .summary = "the results of one of two regions",
              .inputs = {"condition", "capture...?"},
              .control = Control::kIf});
  RegisterOp({.name = "loop",
              .summary = "the last of what each trip through a region carries on, and all that it "
                         "stacks",
              .inputs = {"trips?", "condition?", "value...?"},
              .attrs = {{"carried", AttrKind::kInt, ffi::Any(0)}},
              .control = Control::kLoop});
}

}  // namespace tern::graph
