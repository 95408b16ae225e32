// SPDX-License-Identifier: Apache-2.0
//
// Defining operators in C++: a tensor is a formula for its elements, a function is made of the
// tensors it takes and gives. docs/builder.md shows more.
//
//   Var n("n"), k("k"), m("m");
//   Tensor a = Input("A", DataType::Float(32), {n, k});
//   Tensor b = Input("B", DataType::Float(32), {k, m});
//   ReduceAxis l("l", k);
//   Tensor c = Compute("C", {n, m}, [&](Var i, Var j) {
//     return Sum(a(i, l) * b(l, j), {l});
//   });
//   PrimFunc matmul = MakeFunction("matmul", {a, b, c});
//
// Every mistake throws where it is made: a wrong rank or type in the formula, a missing parameter
// in MakeFunction.
#ifndef TERN_TIR_BUILDER_H_
#define TERN_TIR_BUILDER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tern/tir/function.h"

namespace tern::tir {

// An array that is given (Input) or computed (Compute). Copies mean the same tensor.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Buffer buffer) : buffer_(std::move(buffer)) {}
  explicit operator bool() const { return static_cast<bool>(buffer_); }

  // The element there; the indices are Exprs of integer type, or ints.
  template <class... Index>
  Expr operator()(const Index&... indices) const {
    return At({Expr(indices)...});
  }
  Expr At(std::vector<Expr> indices) const;

  const std::string& name() const { return buffer_->name; }
  DataType dtype() const { return buffer_->dtype; }
  const std::vector<Expr>& shape() const { return buffer_->shape; }
  size_t rank() const { return shape().size(); }
  // What formulas load from. It knows how it is computed; MakeFunction puts a plain buffer in its
  // place.
  const Buffer& buffer() const { return buffer_; }

 private:
  Buffer buffer_;
};

// The index that a reduction runs over: 0 to extent - 1.
class ReduceAxis : public Var {
 public:
  ReduceAxis(std::string name, Expr extent);
  const Expr& extent() const { return extent_; }

 private:
  Expr extent_;
};

// ---- What an element is: an expression, or one of these.

// `value` where the condition holds, otherwise `other`; unlike Select, only the chosen one is
// evaluated, so `value` may read where the condition says that there is something.
struct Guarded {
  Expr condition, value, other;
};
Guarded Where(Expr condition, Expr value, Expr other);

// One or several results (ComputeAll), each the combination of its values along the axes, starting
// from the identity. Compilers may combine in any order where the type is an integer.
struct Reduction {
  using Combine = std::function<std::vector<Expr>(const std::vector<Expr>& so_far,
                                                  const std::vector<Expr>& next)>;
  std::vector<Expr> values, identities;
  Combine combine;
  std::vector<ReduceAxis> axes;
  Expr condition;  // null: always

  // The same without the steps at which the condition does not hold: nothing of them is evaluated.
  Reduction Where(Expr condition) const;
};
Reduction Sum(Expr value, std::vector<ReduceAxis> axes);
Reduction Prod(Expr value, std::vector<ReduceAxis> axes);
Reduction MaxOf(Expr value, std::vector<ReduceAxis> axes);
Reduction MinOf(Expr value, std::vector<ReduceAxis> axes);
Reduction Reduce(Expr value, Expr identity, const std::function<Expr(Expr so_far, Expr next)>& f,
                 std::vector<ReduceAxis> axes);
// Two results: the index (int64) of the first largest or smallest value, -1 where there is none,
// and that value. There must be no NaN.
Reduction ArgMax(Expr value, const ReduceAxis& axis);
Reduction ArgMin(Expr value, const ReduceAxis& axis);

using Element = std::variant<Expr, Guarded, Reduction>;

// ---- Tensors

Tensor Input(std::string name, DataType dtype, std::vector<Expr> shape,
             std::vector<Expr> strides = {});

namespace builder_detail {

inline constexpr size_t kMaxArity = 8;

template <class T, size_t>
using Repeat = T;
template <class F, class T, size_t... I>
constexpr bool Takes(std::index_sequence<I...>) {
  return std::is_invocable_v<F&, Repeat<const T&, I>...>;
}
// How many Ts `F` takes; beyond kMaxArity where it takes a vector of them.
template <class F, class T, size_t N = 0>
constexpr size_t Arity() {
  if constexpr (N > kMaxArity || Takes<F, T>(std::make_index_sequence<N>{}))
    return N;
  else
    return Arity<F, T, N + 1>();
}

void CheckArity(const std::string& name, size_t given, size_t taken, const char* what);

// f(args[0], args[1], ...), or f(args).
template <class F, class T>
decltype(auto) Apply(const std::string& name, F& f, const std::vector<T>& args, const char* what) {
  constexpr size_t kArity = Arity<F, T>();
  if constexpr (kArity <= kMaxArity) {
    CheckArity(name, args.size(), kArity, what);
    return [&]<size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
      return f(args[I]...);
    }(std::make_index_sequence<kArity>{});
  } else {
    static_assert(std::is_invocable_v<F&, const std::vector<T>&>,
                  "the function takes up to 8 indices, or a vector of them");
    return f(args);
  }
}

std::vector<Tensor> ComputeTensors(std::vector<std::string> names, std::vector<Expr> shape,
                                   const std::function<Element(const std::vector<Var>&)>& f);
void CheckSameShape(const std::string& name, const std::vector<Tensor>& inputs);

}  // namespace builder_detail

// Tensors of one shape, the results of one reduction. `f` is as in Compute.
template <class F>
std::vector<Tensor> ComputeAll(std::vector<std::string> names, std::vector<Expr> shape, F f) {
  std::string name = names.empty() ? "" : names[0];
  return builder_detail::ComputeTensors(std::move(names), std::move(shape),
                                        [&](const std::vector<Var>& axes) -> Element {
                                          return builder_detail::Apply(name, f, axes, "axes");
                                        });
}

// The tensor whose element at (i, j, ...) is f(i, j, ...). `f` takes as many Vars as the shape has
// extents, or a std::vector<Var>, and returns an Element.
template <class F>
Tensor Compute(std::string name, std::vector<Expr> shape, F f) {
  return ComputeAll({std::move(name)}, std::move(shape), std::move(f))[0];
}

// The tensor of the inputs' one shape whose elements are f(a's element, b's element, ...).
template <class F>
Tensor Elementwise(std::string name, const std::vector<Tensor>& inputs, F f) {
  builder_detail::CheckSameShape(name, inputs);
  std::vector<Expr> shape = inputs[0].shape();
  return Compute(name, std::move(shape), [&](const std::vector<Var>& axes) -> Element {
    std::vector<Expr> elements, indices(axes.begin(), axes.end());
    for (const Tensor& input : inputs) elements.push_back(input.At(indices));
    return builder_detail::Apply(name, f, elements, "inputs");
  });
}

// Whether one of the tensors is computed from `input`, directly or through others.
bool IsReadBy(const Tensor& input, const std::vector<Tensor>& tensors);

// ---- Functions

// A tensor, or a variable that is a scalar parameter.
class Argument {
 public:
  Argument(Tensor tensor) : tensor_(std::move(tensor)) {}
  Argument(Var var) : var_(std::move(var)) {}
  const Tensor& tensor() const { return tensor_; }
  const Var& var() const { return var_; }

 private:
  Tensor tensor_;
  Var var_;
};

// The function of these parameters: inputs are read, computed tensors are written. What they need
// besides is computed on the way, into memory of the function: `local` where the size is constant
// and at most kMaxLocalBytes, `global` otherwise. Every Compute becomes loops around one block,
// after those that it reads.
inline constexpr int64_t kMaxLocalBytes = 1 << 16;
PrimFunc MakeFunction(std::string name, const std::vector<Argument>& params, ir::Attrs attrs = {});
// The variables that such a function would need besides: no extent of a parameter is one of them
// alone. They can be given as scalar parameters.
std::vector<Var> MissingScalars(const std::vector<Argument>& params);

// ---- Expressions that have no operator in C++

Expr Const(DataType dtype, double value);
Expr Max(Expr a, Expr b);
Expr Min(Expr a, Expr b);
// Evaluates both; see Where.
Expr Select(Expr condition, Expr a, Expr b);
Expr Cast(DataType dtype, Expr value);
Expr Call(std::string intrinsic, std::vector<Expr> args);

}  // namespace tern::tir

#endif  // TERN_TIR_BUILDER_H_
