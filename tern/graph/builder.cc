// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/builder.h"

#include <algorithm>
#include <cctype>

#include "tern/ffi/json.h"
#include "tern/ffi/text.h"
#include "tern/graph/control.h"
#include "tern/graph/program_op.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/structural.h"
#include "tern/ir/visitor.h"
#include "tern/tir/block_op.h"
#include "tern/tir/interpreter/evaluate.h"

namespace tern::graph {
namespace {

Value MakeValue(std::string name, TensorType type, Span span = {},
                std::optional<Content> content = {}) {
  auto node = ffi::Make<ValueNode>();
  node->content = std::move(content);
  node->name = std::move(name);
  node->type = std::move(type);
  node->span = std::move(span);
  return node;
}

// As many as a tensor of static shape has; nothing beyond kMaxContent.
std::optional<int64_t> SmallCount(const std::vector<Expr>& shape) {
  int64_t count = 1;
  for (const Expr& extent : shape) {
    std::optional<int64_t> constant = ir::AsConstInt(extent);
    if (!constant || __builtin_mul_overflow(count, *constant, &count)) return {};
  }
  return count <= kMaxContent ? std::optional(count) : std::nullopt;
}

const char* NameOf(AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt:
      return "an integer";
    case AttrKind::kFloat:
      return "a number";
    case AttrKind::kString:
      return "a string";
    case AttrKind::kInts:
      return "a list of integers";
    case AttrKind::kFloats:
      return "a list of numbers";
  }
  return "";
}

bool IsNumber(const ffi::Any& value) {
  return value.TryAs<int64_t>().has_value() || value.TryAs<double>().has_value();
}

template <class F>
bool AllItems(const ffi::Any& value, const F& holds) {
  auto array = value.TryAs<ffi::Array>();
  return array && std::all_of((*array)->begin(), (*array)->end(), holds);
}

bool Fits(AttrKind kind, const ffi::Any& value) {
  auto is_int = [](const ffi::Any& item) { return item.TryAs<int64_t>().has_value(); };
  switch (kind) {
    case AttrKind::kInt:
      return is_int(value);
    case AttrKind::kFloat:
      return IsNumber(value);
    case AttrKind::kString:
      return value.TryAs<std::string>().has_value();
    case AttrKind::kInts:
      return AllItems(value, is_int);
    case AttrKind::kFloats:
      return AllItems(value, IsNumber);
  }
  return false;
}

void CheckAttrs(const Op& op, const ir::Attrs& attrs) {
  std::vector<std::string> names;
  for (const AttrSpec& spec : op.attrs) {
    names.push_back(spec.name);
    auto it = attrs.find(spec.name);
    if (it == attrs.end())
      TERN_CHECK(!spec.required) << "attribute " << spec.name << " is missing";
    else if (!Fits(spec.kind, it->second))
      TERN_THROW(TypeError) << "attribute " << spec.name << " is " << NameOf(spec.kind) << ", not "
                            << ffi::WriteJson(it->second);
  }
  for (const auto& [name, value] : attrs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      TERN_THROW(ValueError) << "there is no attribute " << name << ffi::DidYouMean(name, names)
                             << "; it has: " << (names.empty() ? "none" : ffi::Join(names));
}

void CheckInputs(const Op& op, const std::vector<Value>& inputs) {
  size_t given = inputs.size();
  if (given < op.min_inputs() || given > op.max_inputs())
    TERN_THROW(ValueError) << "inputs " << ffi::Join(op.inputs) << " are expected; " << given
                           << (given == 1 ? " is" : " are") << " given";
  for (size_t i = 0; i < given; ++i)
    if (!inputs[i] && !(i < op.inputs.size() && op.inputs[i].ends_with('?')))
      TERN_THROW(ValueError) << "input " << op.inputs[std::min(i, op.inputs.size() - 1)]
                             << " is absent, and not optional";
}

// Results of floats with more elements have no content: scales of a resize have an element for each
// axis; one for each channel takes long to compute, and no shape depends on it.
constexpr int64_t kMostFloats = 32;

// What `read` takes, where its elements are to be extents.
bool CanRead(const Value& value) {
  constexpr int64_t kMost = 32;
  std::optional<int64_t> count = SmallCount(value->type.shape);
  DataType dtype = value->type.dtype;
  return (dtype.is_integer() || dtype.is_bool()) && dtype.bits() >= 8 && count && *count <= kMost;
}

std::vector<tir::Tensor> Compute(const Op& op, const std::string& name, const ir::Attrs& attrs,
                                 const std::vector<Value>& values, std::vector<tir::Tensor> tensors,
                                 std::vector<Requirement>* requirements = nullptr) {
  std::vector<Call::Input> inputs;
  for (size_t i = 0; i < values.size(); ++i)
    inputs.push_back(
        {std::move(tensors[i]), values[i] && values[i]->content ? &*values[i]->content : nullptr});
  Call call(op, name, std::move(inputs), attrs);
  tir::OpScope scope(op.name);
  std::vector<tir::Tensor> results = op.compute(call);
  if (requirements) *requirements = call.requirements();
  return results;
}

// The elements of results, where those of all inputs are known or do not matter.
class ContentInference {
 public:
  ContentInference(const std::vector<Value>& values, const std::vector<tir::Tensor>& tensors) {
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] && values[i]->content) known_[tensors[i].buffer().get()] = &*values[i]->content;
  }

  std::optional<Content> Of(const tir::Tensor& tensor, int64_t count) const {
    std::vector<int64_t> shape, at(tensor.rank(), 0);
    for (const Expr& extent : tensor.shape()) shape.push_back(*ir::AsConstInt(extent));
    auto element = [&](const tir::Tensor& input, const std::vector<int64_t>& indices) {
      return Element(input, indices);
    };
    Content content;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) at[d] = rest % shape[d];
      Expr value = tir::Evaluate(tensor, at, element);
      if (!value) return {};
      content.push_back(std::move(value));
    }
    return content;
  }

 private:
  Expr Element(const tir::Tensor& input, const std::vector<int64_t>& indices) const {
    auto it = known_.find(input.buffer().get());
    if (it == known_.end()) return {};
    int64_t offset = 0;
    for (size_t d = 0; d < indices.size(); ++d)
      offset = offset * *ir::AsConstInt(input.shape()[d]) + indices[d];
    return (*it->second)[static_cast<size_t>(offset)];
  }

  std::map<const ir::BufferNode*, const Content*> known_;
};

}  // namespace

std::string Builder::FreshName(const std::string& wish) {
  std::string base;
  for (char c : wish) base += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0]))) base = "v" + base;
  int& number = names_->numbers[base];
  for (;; ++number) {
    std::string name = number == 0 ? base : base + "_" + std::to_string(number);
    if (names_->taken.insert(name).second) return name;
  }
}

std::string Builder::UnusedName(const std::string& wish) {
  std::string name = FreshName(wish);
  names_->taken.erase(name);
  return name;
}

Value Builder::Param(const std::string& wish, TensorType type, Span span,
                     std::optional<Content> content) {
  // No value has the name of an extent, so that the text form can tell them apart.
  for (const Expr& extent : type.shape)
    if (const auto* var = extent.As<ir::VarNode>()) names_->taken.insert(var->name);
  params_.push_back(
      MakeValue(FreshName(wish), std::move(type), std::move(span), std::move(content)));
  return params_.back();
}

Value Builder::Constant(const ir::Constant& constant) {
  TERN_CHECK(names_->taken.insert(constant->name).second)
      << "two values have the name " << constant->name;
  TensorType type{constant->dtype, {}};
  for (int64_t extent : constant->shape) type.shape.emplace_back(extent);
  auto node = ffi::Make<ValueNode>();
  node->name = constant->name;
  node->type = std::move(type);
  node->constant = constant;
  node->span = constant->span;
  // Packed types have no elements that could stand in an expression.
  if (constant->num_elements() <= kMaxContent && constant->dtype.bits() >= 8 &&
      (constant->dtype.is_integer() || constant->dtype.is_float() ||
       constant->dtype == DataType::Bool())) {
    Content content;
    for (int64_t i = 0; i < constant->num_elements(); ++i)
      content.push_back(
          ir::LoadElement(constant->dtype, constant->data(), constant->is_splat ? 0 : i));
    node->content = std::move(content);
  }
  return node;
}

Value Builder::Ints(const std::vector<int64_t>& elements, const std::string& wish) {
  std::string bytes(reinterpret_cast<const char*>(elements.data()),
                    elements.size() * sizeof(int64_t));
  return Constant(ir::Constant::Owned(UnusedName(wish), DataType::Int(64),
                                      {static_cast<int64_t>(elements.size())}, std::move(bytes)));
}

Value Builder::Scalar(DataType dtype, double value, const std::string& wish) {
  return Constant(ir::Constant::Splat(UnusedName(wish), dtype, {}, ir::MakeConst(dtype, value)));
}

std::vector<Value> Builder::Add(const Op& op, std::vector<Value> inputs, ir::Attrs attrs,
                                const Options& options) {
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  auto named = ffi::Make<NodeNode>();  // for the message
  named->op = &op;
  named->label = options.label;
  return WithContext(ir::At(options.span) + "in " + named->str(), [&] {
    CheckInputs(op, inputs);
    CheckAttrs(op, attrs);
    for (;;) try {
        return AddOnce(op, inputs, attrs, options);
      } catch (const UnknownContent& unknown) {
        Value& input = inputs[unknown.input()];
        if (!CanRead(input)) throw;
        input = Add("read", {input});
      }
  });
}

Expr Builder::Named(const Expr& extent, const std::string& wish, std::vector<Var>* given,
                    NodeNode* node) {
  constexpr int kLong = 24;  // parts
  int size = 0;
  ir::ForEachExpr(extent, [&](const Expr&) { ++size; });
  if (size <= kLong) return extent;
  auto known = std::find_if(named_.begin(), named_.end(), [&](const auto& one) {
    return ir::StructuralEqual(one.first, extent);
  });
  if (known == named_.end()) {
    Var name = given->empty() ? Dim(wish) : given->back();
    known = named_.insert(named_.end(), {extent, name});
  }
  if (!given->empty()) given->pop_back();
  node->dims.push_back(known->second);
  return known->second;
}

std::vector<Value> Builder::AddOnce(const Op& op, const std::vector<Value>& inputs,
                                    const ir::Attrs& attrs, const Options& options) {
  auto node = ffi::Make<NodeNode>();
  node->op = &op;
  node->label = options.label;
  node->inputs = inputs;
  node->attrs = attrs;
  node->span = options.span;
  node->regions = options.regions;
  TERN_CHECK(op.control != Control::kNone || node->regions.empty())
      << "only control flow has regions";
  if (op.control != Control::kNone) node->dims = options.dims;
  if (op.expand) return op.expand(*this, node);
  if (op.control != Control::kNone) {
    InferControl(*this, node.get(), options.names);
    nodes_.push_back(node);
    return node->outputs;
  }
  std::vector<tir::Tensor> tensors, results;
  for (const Value& input : inputs)
    tensors.push_back(input ? tir::Input(input->name, input->type.dtype, input->type.shape)
                            : tir::Tensor());
  results = op.program.empty() ? Compute(op, "y", attrs, inputs, tensors)
                               : ProgramResults(MakeProgram(node));
  ContentInference contents(inputs, tensors);
  std::vector<Var> given(options.dims.rbegin(), options.dims.rend());
  for (size_t i = 0; i < results.size(); ++i) {
    auto value = ffi::Make<ValueNode>();
    value->name = FreshName(i < options.names.size() && !options.names[i].empty() ? options.names[i]
                                                                                  : op.name);
    TensorType type{results[i].dtype(), {}};
    for (const Expr& extent : results[i].shape())
      type.shape.push_back(Named(Simplified(extent),
                                 value->name + "_" + std::to_string(type.shape.size()), &given,
                                 node.get()));
    value->type = std::move(type);
    value->span = options.span;
    std::optional<int64_t> count = SmallCount(value->type.shape);
    bool may_matter = count && (!results[i].dtype().is_float() || *count <= kMostFloats);
    if (may_matter && op.compute) value->content = contents.Of(results[i], *count);
    node->outputs.push_back(value);
  }
  nodes_.push_back(node);
  return node->outputs;
}

Value Builder::Add(const char* op, std::vector<Value> inputs, ir::Attrs attrs,
                   const Options& options) {
  return Add(GetOp(op), std::move(inputs), std::move(attrs), options)[0];
}

std::vector<Value> Builder::Copy(const Node& node, std::vector<Value> inputs) {
  Options options{node->label, {}, node->span};
  for (const Value& output : node->outputs) options.names.push_back(output->name);
  TERN_ICHECK(node->regions.empty()) << node->str() << " has regions, which are of another graph";
  for (const Var& dim : node->dims) options.dims.push_back(Dim(dim.name()));
  return Add(*node->op, std::move(inputs), node->attrs, options);
}

Function Builder::Finish(std::vector<Value> results, ir::Attrs attrs, Span span) {
  return Function::Make(name_, std::move(params_), std::move(nodes_), std::move(results),
                        std::move(attrs), std::move(span));
}

Function Builder::FinishRegion(std::vector<Value> params, std::vector<Value> results) {
  return Function::Make(name_, std::move(params), std::move(nodes_), std::move(results));
}

std::vector<tir::Tensor> ComputeNode(const Node& node, const std::string& name,
                                     std::vector<tir::Tensor> inputs) {
  return WithContext("in " + node->str(), [&] {
    return Compute(*node->op, name, node->attrs, node->inputs, std::move(inputs));
  });
}

std::vector<tir::Tensor> InputTensors(const Node& node) {
  std::vector<tir::Tensor> tensors;
  for (const Value& input : node->inputs)
    tensors.push_back(input ? tir::Input("x" + std::to_string(tensors.size()), input->type.dtype,
                                         input->type.shape)
                            : tir::Tensor());
  return tensors;
}

std::vector<Requirement> RequirementsOf(const Node& node) {
  std::vector<Requirement> requirements;
  if (!node->op->compute) return requirements;
  Compute(*node->op, "y", node->attrs, node->inputs, InputTensors(node), &requirements);
  for (Requirement& requirement : requirements)
    requirement.what = node->str() + ": " + requirement.what;
  return requirements;
}

}  // namespace tern::graph
