// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/op.h"

#include <map>
#include <mutex>
#include <shared_mutex>

#include "tern/arith/analyzer.h"
#include "tern/ffi/text.h"
#include "tern/graph/dim_ranges.h"
#include "tern/ir/structural.h"
#include "tern/ir/visitor.h"
#include "tern/tir/interpreter/evaluate.h"
#include "tern/tir/text.h"

namespace tern::graph {
namespace {

// Filled by Initialize and by plugins; entries are never removed.
struct Table {
  std::shared_mutex mutex;
  std::map<std::string, Op, std::less<>> ops;
};
Table& GetTable() {
  static Table* table = new Table;
  return *table;
}

bool IsOptional(const std::string& input) { return input.ends_with('?'); }
bool IsVariadic(const std::string& input) { return input.find("...") != std::string::npos; }

bool IsOne(const Expr& extent) { return ir::IsConst(extent, 1); }

}  // namespace

// ---- Operators

size_t Op::min_inputs() const {
  size_t count = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!IsOptional(inputs[i])) count = i + 1;
  return count;
}

size_t Op::max_inputs() const {
  return !inputs.empty() && IsVariadic(inputs.back()) ? SIZE_MAX : inputs.size();
}

void RegisterOp(Op op) {
  std::string name = op.name;
  TERN_ICHECK(!name.empty()) << "an operator has no name";
  TERN_ICHECK(op.compute || op.expand || !op.program.empty() || op.control != Control::kNone)
      << "operator " << name << " has no definition";
  TERN_ICHECK(!op.is_view || op.compute) << "operator " << name << ": a view has a formula";
  std::unique_lock lock(GetTable().mutex);
  bool added = GetTable().ops.emplace(name, std::move(op)).second;
  TERN_ICHECK(added) << "operator " << name << " is registered twice";
}

const Op* FindOp(std::string_view name) {
  std::shared_lock lock(GetTable().mutex);
  auto it = GetTable().ops.find(name);
  return it == GetTable().ops.end() ? nullptr : &it->second;
}

const Op& GetOp(std::string_view name) {
  if (const Op* op = FindOp(name)) return *op;
  std::vector<std::string> names;
  for (const Op* op : AllOps()) names.push_back(op->name);
  TERN_THROW(ValueError) << "unknown operator '" << name << "'" << ffi::DidYouMean(name, names)
                         << "; tern opt --list-ops lists them";
}

std::vector<const Op*> AllOps() {
  std::vector<const Op*> ops;
  std::shared_lock lock(GetTable().mutex);
  for (const auto& [name, op] : GetTable().ops) ops.push_back(&op);
  return ops;
}

// ---- Calls

const tir::Tensor& Call::tensor(size_t i) const {
  TERN_CHECK(has(i)) << "input " << (i < op_.inputs.size() ? op_.inputs[i] : std::to_string(i))
                     << " is absent";
  return inputs_[i].tensor;
}

std::vector<tir::Tensor> Call::tensors() const {
  std::vector<tir::Tensor> tensors;
  for (size_t i = 0; i < size(); ++i) tensors.push_back(tensor(i));
  return tensors;
}

const Content& Call::content(size_t i) const {
  tensor(i);
  if (!inputs_[i].content)
    throw UnknownContent(i, "input " + op_.inputs[std::min(i, op_.inputs.size() - 1)] +
                                " has to be known when compiling; it is computed from the data");
  return *inputs_[i].content;
}

Expr Call::Scalar(size_t i) const {
  TERN_CHECK(ir::IsConst(NumElements(shape(i)), 1))
      << "input " << op_.inputs[i] << " is a scalar, not " << ShapeText(shape(i));
  return known(i) ? content(i)[0] : tensor(i).At(std::vector<Expr>(tensor(i).rank(), Expr(0)));
}

std::vector<int64_t> Call::Ints(size_t i) const {
  std::vector<int64_t> ints;
  for (const Expr& element : content(i)) {
    std::optional<int64_t> constant = ir::AsConstInt(element);
    if (!constant)
      TERN_THROW(ValueError) << "element " << ints.size() << " of input "
                             << op_.inputs[std::min(i, op_.inputs.size() - 1)]
                             << " has to be a constant; it is " << tir::Print(element);
    ints.push_back(*constant);
  }
  return ints;
}

const ffi::Any& Call::Attr(std::string_view name) const {
  if (auto it = attrs_.find(name); it != attrs_.end()) return it->second;
  for (const AttrSpec& spec : op_.attrs)
    if (spec.name == name) return spec.default_value;
  TERN_ICHECK(false) << "operator " << op_.name << " declares no attribute " << name;
}

int64_t Call::Int(std::string_view name) const { return Attr(name).As<int64_t>(); }

double Call::Float(std::string_view name) const {
  const ffi::Any& value = Attr(name);
  if (auto integer = value.TryAs<int64_t>()) return static_cast<double>(*integer);
  return value.As<double>();
}

std::string Call::String(std::string_view name) const { return Attr(name).As<std::string>(); }

std::vector<int64_t> Call::Ints(std::string_view name) const {
  std::vector<int64_t> ints;
  for (const ffi::Any& item : *Attr(name).As<ffi::Array>()) ints.push_back(item.As<int64_t>());
  return ints;
}

std::vector<double> Call::Floats(std::string_view name) const {
  std::vector<double> floats;
  for (const ffi::Any& item : *Attr(name).As<ffi::Array>()) {
    auto integer = item.TryAs<int64_t>();
    floats.push_back(integer ? static_cast<double>(*integer) : item.As<double>());
  }
  return floats;
}

int64_t Call::AxisOf(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    TERN_THROW(ValueError) << "axis " << axis << " is none of a tensor of rank " << rank;
  return axis < 0 ? axis + rank : axis;
}

tir::Tensor Call::BroadcastCompute(
    const std::function<tir::Element(const std::vector<Expr>&)>& f) const {
  std::vector<tir::Tensor> inputs = tensors();
  std::vector<std::vector<Expr>> shapes;
  for (const tir::Tensor& input : inputs) shapes.push_back(input.shape());
  std::vector<Expr> shape = BroadcastShapes(shapes);
  return tir::Compute(name_, shape, [&](const std::vector<Var>& axes) {
    std::vector<Expr> indices(axes.begin(), axes.end()), elements;
    for (size_t i = 0; i < inputs.size(); ++i)
      elements.push_back(known(i) && content(i).size() == 1
                             ? content(i)[0]
                             : BroadcastLoad(inputs[i], indices, shape));
    return f(elements);
  });
}

// ---- Shapes

Expr Simplified(const Expr& expr) {
  Expr folded = tir::FoldConstants(expr);
  if (ir::AsConstInt(folded)) return folded;
  arith::Analyzer analyzer;
  ir::ForEachExpr(folded, [&](const Expr& part) {
    if (const auto* var = part.As<ir::VarNode>()) analyzer.Bind(Var(var), RangeOf(Var(var)));
  });
  return analyzer.Simplify(folded);
}

bool SameExtent(const Expr& a, const Expr& b) {
  return ir::StructuralEqual(a, b) || ir::IsConst(Simplified(a - b), 0);
}

std::string ShapeText(const std::vector<Expr>& shape) {
  std::vector<std::string> extents;
  for (const Expr& extent : shape) extents.push_back(tir::Print(extent));
  return extents.empty() ? "[]" : "[" + ffi::Join(extents) + "]";
}

Expr NumElements(const std::vector<Expr>& shape, size_t from, size_t to) {
  Expr product = 1;
  for (size_t i = from; i < std::min(to, shape.size()); ++i) product = product * shape[i];
  return Simplified(product);
}

namespace {

// The extent of two that are broadcast to each other.
Expr BroadcastExtent(const Expr& a, const Expr& b) {
  if (IsOne(a)) return b;
  if (IsOne(b) || SameExtent(a, b)) return a;
  // A constant beside a dynamic extent: that is 1, or the same.
  if (ir::AsConstInt(a)) return a;
  if (ir::AsConstInt(b)) return b;
  return tir::Max(a, b);
}

}  // namespace

void Call::Require(const Expr& condition, const std::string& what) const {
  Expr simple = Simplified(condition);
  if (ir::IsConst(simple, 1)) return;
  if (ir::IsConst(simple, 0)) TERN_THROW(ValueError) << what;
  requirements_.push_back({simple, what});
}

void Call::RequireEqual(const Expr& a, const Expr& b, const std::string& what) const {
  if (SameExtent(a, b)) return;
  Require(a == b, what + " has to be the same: " + tir::Print(a) + " and " + tir::Print(b));
}

std::vector<Expr> Call::BroadcastShapes(const std::vector<std::vector<Expr>>& shapes) const {
  std::vector<Expr> result;
  for (const std::vector<Expr>& shape : shapes) {
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), Expr(1));
    size_t ahead = result.size() - shape.size();
    for (size_t i = 0; i < shape.size(); ++i)
      result[ahead + i] = BroadcastExtent(result[ahead + i], shape[i]);
  }
  auto all_shapes = [&] {
    std::vector<std::string> texts;
    for (const std::vector<Expr>& one : shapes) texts.push_back(ShapeText(one));
    return ffi::Join(texts);
  };
  for (const std::vector<Expr>& shape : shapes)
    for (size_t i = 0; i < shape.size(); ++i) {
      const Expr& extent = result[result.size() - shape.size() + i];
      if (!IsOne(shape[i]) && !SameExtent(shape[i], extent))
        Require(shape[i] == Expr(1) || shape[i] == extent,
                "shapes cannot be broadcast to one: " + all_shapes());
    }
  return result;
}

Expr BroadcastLoad(const tir::Tensor& tensor, const std::vector<Expr>& indices,
                   const std::vector<Expr>& shape) {
  bool fits = tensor.rank() <= shape.size();
  size_t ahead = fits ? shape.size() - tensor.rank() : 0;
  for (size_t i = 0; fits && i < tensor.rank(); ++i) {
    std::optional<int64_t> extent = ir::AsConstInt(tensor.shape()[i]);
    std::optional<int64_t> wanted = ir::AsConstInt(shape[ahead + i]);
    fits = !extent || *extent == 1 || !wanted || *extent == *wanted;
  }
  TERN_CHECK(fits) << "a tensor of shape " << ShapeText(tensor.shape())
                   << " cannot be broadcast to " << ShapeText(shape);
  std::vector<Expr> at;
  for (size_t i = 0; i < tensor.rank(); ++i) {
    const Expr &extent = tensor.shape()[i], &index = indices[ahead + i];
    if (IsOne(extent))
      at.push_back(0);
    else if (SameExtent(extent, shape[ahead + i]))
      at.push_back(index);
    else
      at.push_back(tir::Select(extent == Expr(1), Expr(0), index));
  }
  return tensor.At(std::move(at));
}

}  // namespace tern::graph
