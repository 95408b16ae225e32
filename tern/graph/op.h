// SPDX-License-Identifier: Apache-2.0
//
// Operators of graphs. One definition gives all that is known of one: `compute` makes tensors of
// tensors (tern/tir/builder.h), and shapes, types, known contents, code, kinds for fusion and costs
// are read off the result. docs/adding_an_operator.md shows how to add one.
//
//   RegisterOp({.name = "relu",
//               .summary = "max(x, 0)",
//               .inputs = {"x"},
//               .compute = [](Call& c) {
//                 return c.Elementwise([](Expr x) { return Max(x, Const(x.dtype(), 0)); });
//               }});
#ifndef TERN_GRAPH_OP_H_
#define TERN_GRAPH_OP_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tern/graph/function.h"
#include "tern/tir/builder.h"

namespace tern::graph {

class Builder;

enum class AttrKind { kInt, kFloat, kString, kInts, kFloats };

struct AttrSpec {
  std::string name;
  AttrKind kind = AttrKind::kInt;
  ffi::Any default_value = {};  // none: see `required`
  bool required = false;
};

// What the program of a model does itself, without a kernel (control.h).
enum class Control { kNone, kRead, kChecked, kIf, kLoop };

// A condition on dynamic extents without which a node reads what is not there.
struct Requirement {
  Expr condition;
  std::string what;  // "extents tokens and 64 are equal, or one of them is 1"
};

// The elements of an input are needed, and not known when compiling. Builder then has the program
// read them, where they are few integers.
class UnknownContent : public Error {
 public:
  UnknownContent(size_t input, std::string message)
      : Error("ValueError", std::move(message)), input_(input) {}
  size_t input() const { return input_; }

 private:
  size_t input_;
};

// One use of an operator, as its definition sees it.
class Call {
 public:
  struct Input {
    tir::Tensor tensor;                // null where it is absent
    const Content* content = nullptr;  // null where it is not known
  };
  Call(const Op& op, std::string name, std::vector<Input> inputs, const ir::Attrs& attrs)
      : op_(op), name_(std::move(name)), inputs_(std::move(inputs)), attrs_(attrs) {}

  // For the results, and as a prefix of what is computed on the way.
  const std::string& name() const { return name_; }
  std::string name(const char* part) const { return name_ + "_" + part; }
  const Op& op() const { return op_; }

  // ---- Inputs
  size_t size() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].tensor; }
  // Throws where it is absent.
  const tir::Tensor& tensor(size_t i) const;
  std::vector<tir::Tensor> tensors() const;
  const std::vector<Expr>& shape(size_t i) const { return tensor(i).shape(); }
  int64_t rank(size_t i) const { return static_cast<int64_t>(tensor(i).rank()); }
  DataType dtype(size_t i) const { return tensor(i).dtype(); }
  bool known(size_t i) const { return has(i) && inputs_[i].content; }
  // The elements; throws UnknownContent where they are not known when compiling.
  const Content& content(size_t i) const;
  // The one element of a tensor that has one: a constant where it is known.
  Expr Scalar(size_t i) const;
  // The elements, of which all are constant integers.
  std::vector<int64_t> Ints(size_t i) const;

  // ---- Attributes: as given, or the default. Throw where there is neither.
  bool HasAttr(std::string_view name) const { return attrs_.find(name) != attrs_.end(); }
  int64_t Int(std::string_view name) const;
  bool Flag(std::string_view name) const { return Int(name) != 0; }
  double Float(std::string_view name) const;
  std::string String(std::string_view name) const;
  std::vector<int64_t> Ints(std::string_view name) const;
  std::vector<double> Floats(std::string_view name) const;
  // An axis of that rank: -1 is the last. Throws where there is none such.
  int64_t Axis(std::string_view name, int64_t rank) const { return AxisOf(Int(name), rank); }
  int64_t AxisOf(int64_t axis, int64_t rank) const;

  // ---- What must hold of extents. What is known to be wrong is an error at once; what is not
  // known when compiling is checked when the model runs.
  void Require(const Expr& condition, const std::string& what) const;
  // `what` says of what they are extents: "K of both operands".
  void RequireEqual(const Expr& a, const Expr& b, const std::string& what) const;
  // One shape to which all can be broadcast, from the last axis on. Extents of which nothing is
  // known may be 1: the result is their maximum.
  std::vector<Expr> BroadcastShapes(const std::vector<std::vector<Expr>>& shapes) const;
  const std::vector<Requirement>& requirements() const { return requirements_; }

  // ---- Results
  // Element by element, of inputs that are broadcast to one shape as numpy does.
  template <class F>
  std::vector<tir::Tensor> Elementwise(F f) const {
    return {BroadcastCompute([&](const std::vector<Expr>& x) {
      return tir::builder_detail::Apply(name_, f, x, "inputs");
    })};
  }
  tir::Tensor BroadcastCompute(
      const std::function<tir::Element(const std::vector<Expr>& elements)>& f) const;

 private:
  const ffi::Any& Attr(std::string_view name) const;

  const Op& op_;
  std::string name_;
  std::vector<Input> inputs_;
  const ir::Attrs& attrs_;
  mutable std::vector<Requirement> requirements_;
};

struct Op {
  std::string name;     // "lower_case"
  std::string summary;  // one line
  // Names of the inputs, for messages; "name?" is optional, "name..." any number of them, the last,
  // and "name...?" any number or none.
  std::vector<std::string> inputs;
  std::vector<AttrSpec> attrs;
  // The results as tensors. Null for composites.
  std::function<std::vector<tir::Tensor>(Call&)> compute;
  // The results as a graph of other operators.
  std::function<std::vector<Value>(Builder&, const Node&)> expand;
  // For what is no formula: a loop function as text. Its parameters are the inputs, whose extents
  // are names, and behind them the results. "$0" is the type of the first input.
  std::string program = {};
  // Part of the program, and nothing of the above.
  Control control = Control::kNone;
  // The result is the first input's elements in the same order: only the shape is another.
  bool is_view = false;
  // Its last digit matters, as results are rounded to integers: a kernel that starts with it is
  // computed in the order that is written, whatever LowerOptions::reassociate says.
  bool is_exact = false;
  // The result is the inputs one behind another along the axis that the attribute `axis` says.
  bool is_concat = false;

  size_t min_inputs() const;
  size_t max_inputs() const;
};

// Throws where the name is taken, or something is missing. Operators live as long as the process.
void RegisterOp(Op op);
// Throws with near names.
const Op& GetOp(std::string_view name);
const Op* FindOp(std::string_view name);
std::vector<const Op*> AllOps();

// ---- Shapes, for definitions

// The element of a tensor at indices of a shape that it is broadcast to.
Expr BroadcastLoad(const tir::Tensor& tensor, const std::vector<Expr>& indices,
                   const std::vector<Expr>& shape);
// Whether extents are surely equal.
bool SameExtent(const Expr& a, const Expr& b);
// Simplified, with all variables at least 0; so are all that Builder gives to values.
Expr Simplified(const Expr& expr);
// The product of extents from..to.
Expr NumElements(const std::vector<Expr>& shape, size_t from = 0, size_t to = SIZE_MAX);
std::string ShapeText(const std::vector<Expr>& shape);

}  // namespace tern::graph

#endif  // TERN_GRAPH_OP_H_
