// SPDX-License-Identifier: Apache-2.0
//
// LSTM, GRU and RNN, with the semantics of ONNX. One GEMM multiplies the inputs of all steps, with
// the bias as its epilogue; a loop over time then has one GEMM of the state and one kernel for the
// gates of a step:
//
//   xw = X W + b                               [T, batch, gates * hidden]
//   for each step:  hr = h R                   [batch, gates * hidden]
//                   h, c = cell(xw[step], hr, h, c)
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tern/ffi/text.h"
#include "tern/graph/builder.h"
#include "tern/graph/control.h"
#include "tern/graph/op.h"
#include "tern/op/register.h"

namespace tern::op {
namespace {

using graph::AttrKind;
using graph::Builder;
using graph::Call;
using graph::Node;
using graph::RegionBuilder;
using graph::RegisterOp;
using graph::Value;
using ir::Expr;
using ir::Var;
using tir::Compute;
using tir::Const;
using tir::Max;
using tir::Min;
using tir::Select;
using tir::Tensor;
using Exprs = std::vector<Expr>;
using Tensors = std::vector<Tensor>;
using Values = std::vector<Value>;

// ---- Activations

using Activation = std::function<Expr(const Expr& x)>;

Expr Intrinsic(const char* name, const Expr& x) { return tir::Call(name, {x}); }

struct ActivationKind {
  int params;  // of alpha and beta, the first so many
  double alpha, beta;
  Expr (*f)(const Expr& x, const Expr& alpha, const Expr& beta);
};

const std::map<std::string, ActivationKind>& Activations() {
  using E = const Expr&;
  static const std::map<std::string, ActivationKind> kinds = {
      {"affine", {2, 1, 0, [](E x, E a, E b) { return a * x + b; }}},
      {"elu",
       {1, 1, 0,
        [](E x, E a, E) {
          Expr zero = Const(x.dtype(), 0), one = Const(x.dtype(), 1);
          return Select(x < zero, a * (Intrinsic("exp", x) - one), x);
        }}},
      {"hardsigmoid",
       {2, 0.2, 0.5,
        [](E x, E a, E b) {
          return Min(Max(a * x + b, Const(x.dtype(), 0)), Const(x.dtype(), 1));
        }}},
      {"leakyrelu",
       {1, 0.01, 0, [](E x, E a, E) { return Select(x < Const(x.dtype(), 0), a * x, x); }}},
      {"relu", {0, 0, 0, [](E x, E, E) { return Max(x, Const(x.dtype(), 0)); }}},
      {"scaledtanh", {2, 1, 1, [](E x, E a, E b) { return a * Intrinsic("tanh", b * x); }}},
      {"sigmoid",
       {0, 0, 0,
        [](E x, E, E) {
          Expr one = Const(x.dtype(), 1), zero = Const(x.dtype(), 0);
          return one / (one + Intrinsic("exp", zero - x));
        }}},
      {"softplus",
       {0, 0, 0,
        [](E x, E, E) {
          // log(1 + e^x) without overflow.
          Expr zero = Const(x.dtype(), 0), one = Const(x.dtype(), 1);
          Expr small = Intrinsic("exp", zero - Max(x, zero - x));
          return Max(x, zero) + Intrinsic("log", one + small);
        }}},
      {"softsign",
       {0, 0, 0, [](E x, E, E) { return x / (Const(x.dtype(), 1) + Intrinsic("abs", x)); }}},
      {"tanh", {0, 0, 0, [](E x, E, E) { return Intrinsic("tanh", x); }}},
      {"thresholdedrelu",
       {1, 1, 0, [](E x, E a, E) { return Select(a < x, x, Const(x.dtype(), 0)); }}},
  };
  return kinds;
}

std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words(1);
  for (char c : text) {
    if (c == ',')
      words.emplace_back();
    else if (c != ' ')
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (words.size() == 1 && words[0].empty()) words.clear();
  return words;
}

// Those of one direction; the first `gates` of them with the clip in front. Alphas and betas are
// for those that take them, in their order.
std::vector<Activation> ActivationsOf(const Call& c, DataType dtype,
                                      size_t gates = std::numeric_limits<size_t>::max()) {
  std::vector<double> alphas = c.Floats("alpha"), betas = c.Floats("beta");
  size_t alpha_at = 0, beta_at = 0;
  std::vector<Activation> result;
  for (const std::string& word : Words(c.String("activations"))) {
    auto found = Activations().find(word);
    if (found == Activations().end()) {
      std::vector<std::string> names;
      for (const auto& [name, kind] : Activations()) names.push_back(name);
      TERN_THROW(ValueError) << "there is no activation " << word
                             << "; there are: " << ffi::Join(names);
    }
    const ActivationKind& kind = found->second;
    double alpha = kind.alpha, beta = kind.beta;
    double clip = result.size() < gates ? c.Float("clip") : 0;
    if (kind.params > 0 && alpha_at < alphas.size()) alpha = alphas[alpha_at++];
    if (kind.params > 1 && beta_at < betas.size()) beta = betas[beta_at++];
    result.push_back([=, &kind](const Expr& x) {
      Expr clipped = clip > 0 ? Max(Min(x, Const(dtype, clip)), Const(dtype, -clip)) : x;
      return kind.f(clipped, Const(dtype, alpha), Const(dtype, beta));
    });
  }
  return result;
}

void CheckActivations(const std::vector<Activation>& activations, size_t count) {
  TERN_CHECK(activations.size() == count)
      << count << " activations are expected, not " << activations.size();
}

// ---- Cells: one step, of x: [steps, batch, gates * hidden] at `step`

const std::vector<graph::AttrSpec> kCellAttrs = {
    {"activations", AttrKind::kString, {}, true},
    {"alpha", AttrKind::kFloats, ffi::Any(ffi::MakeArray({}))},
    {"beta", AttrKind::kFloats, ffi::Any(ffi::MakeArray({}))},
    {"clip", AttrKind::kFloat, ffi::Any(0.0)},
    {"input_forget", AttrKind::kInt, ffi::Any(0)}};

// Inputs of all cells: x, step, hr, h, lens?, then their own.
struct Cell {
  // `multiplied`: the gates that hr is of.
  Cell(const Call& c, int64_t gates, int64_t multiplied)
      : x(c.tensor(0)), hr(c.tensor(2)), h(c.tensor(3)), step(c.Scalar(1)) {
    TERN_CHECK(x.rank() == 3 && hr.rank() == 2 && h.rank() == 2)
        << "x has rank 3, hr and h have rank 2; here " << x.rank() << ", " << hr.rank() << " and "
        << h.rank();
    hidden = h.shape()[1];
    c.RequireEqual(x.shape()[2], hidden * Expr(gates), "the extent of all gates");
    c.RequireEqual(x.shape()[1], h.shape()[0], "the batch");
    c.RequireEqual(hr.shape()[0], h.shape()[0], "the batch");
    c.RequireEqual(hr.shape()[1], hidden * Expr(multiplied), "the extent of all gates");
    // What is read from memory is not trusted.
    if (!c.known(1)) step = Min(Max(step, Const(step.dtype(), 0)), Last(step.dtype()));
    if (c.has(4)) {
      lens = c.tensor(4);
      TERN_CHECK(lens.rank() == 1 && lens.dtype().is_integer())
          << "the lengths are a vector of integers";
      c.RequireEqual(lens.shape()[0], h.shape()[0], "the batch");
    }
  }
  Expr Last(DataType dtype) const {
    Expr last = x.shape()[0] - Expr(1);
    return last.dtype() == dtype ? last : tir::Cast(dtype, last);
  }
  Expr X(int64_t gate, const Var& b, const Var& j) const {
    return x(step, b, hidden * Expr(gate) + j);
  }
  Expr R(int64_t gate, const Var& b, const Var& j) const { return hr(b, hidden * Expr(gate) + j); }
  // Whether the sequence has the step.
  Expr Valid(const Var& b) const {
    Expr length = lens(b);
    Expr at = step.dtype() == length.dtype() ? step : tir::Cast(length.dtype(), step);
    return at < length;
  }
  Expr IsEmpty(const Var& b) const { return lens(b) < Const(lens.dtype(), 1); }
  // The next state; where the sequence is over it stays (that of an empty one is 0), and the output
  // is 0.
  Tensors Finish(const Call& c, const Tensor& next, Tensors more, const Tensors& states) const {
    Tensors made = {next};
    made.insert(made.end(), more.begin(), more.end());
    if (!lens) return made;
    Tensors result;
    for (size_t i = 0; i < made.size(); ++i)
      result.push_back(Compute(
          c.name() + "_next" + std::to_string(i), made[i].shape(), [&](const Var& b, const Var& j) {
            Expr kept = Select(IsEmpty(b), Const(made[i].dtype(), 0), states[i](b, j));
            return Select(Valid(b), made[i](b, j), kept);
          }));
    result.push_back(Compute(c.name() + "_y", next.shape(), [&](const Var& b, const Var& j) {
      return Select(Valid(b), next(b, j), Const(next.dtype(), 0));
    }));
    return result;
  }

  Tensor x, hr, h, lens;
  Expr step, hidden;
};

void CheckShape(const Call& c, size_t input, const Exprs& shape) {
  const std::string& name = c.op().inputs[input];
  TERN_CHECK(c.shape(input).size() == shape.size())
      << "input " << name << " has rank " << shape.size() << ", not " << c.shape(input).size();
  for (size_t i = 0; i < shape.size(); ++i)
    c.RequireEqual(c.shape(input)[i], shape[i], "extent " + std::to_string(i) + " of " + name);
}

Tensors LstmCell(Call& c) {
  Cell cell(c, 4, 4);
  const Tensor& state = c.tensor(5);
  // Sums of gates are clipped, the cell's state is not: what ONNX Runtime computes.
  std::vector<Activation> f = ActivationsOf(c, cell.h.dtype(), /*gates=*/2);
  CheckActivations(f, 3);
  CheckShape(c, 5, cell.h.shape());
  Tensor peephole = c.has(6) ? c.tensor(6) : Tensor();
  if (peephole) CheckShape(c, 6, {cell.hidden * Expr(3)});
  auto gate = [&](int64_t number, const Var& b, const Var& j) {
    return cell.X(number, b, j) + cell.R(number, b, j);
  };
  auto seen = [&](const Expr& sum, int64_t number, const Expr& memory, const Var& j) {
    return peephole ? sum + peephole(cell.hidden * Expr(number) + j) * memory : sum;
  };
  Tensor next_c = Compute(c.name("c"), cell.h.shape(), [&](const Var& b, const Var& j) {
    Expr memory = state(b, j);
    Expr input = f[0](seen(gate(0, b, j), 0, memory, j));
    Expr forget = c.Flag("input_forget") ? Const(memory.dtype(), 1) - input
                                         : f[0](seen(gate(2, b, j), 2, memory, j));
    return forget * memory + input * f[1](gate(3, b, j));
  });
  Tensor next_h = Compute(c.name("h"), cell.h.shape(), [&](const Var& b, const Var& j) {
    return f[0](seen(gate(1, b, j), 1, next_c(b, j), j)) * f[2](next_c(b, j));
  });
  return cell.Finish(c, next_h, {next_c}, {cell.h, state});
}

// hr is of all three gates where the reset is behind the GEMM; otherwise of two, and `reset` is
// (r * h) R of the third.
Tensors GruCell(Call& c) {
  Cell cell(c, 3, c.has(5) ? 2 : 3);
  std::vector<Activation> f = ActivationsOf(c, cell.h.dtype());
  CheckActivations(f, 2);
  Tensor reset = c.has(5) ? c.tensor(5) : Tensor(), bias = c.has(6) ? c.tensor(6) : Tensor();
  if (reset) CheckShape(c, 5, cell.h.shape());
  if (bias) CheckShape(c, 6, {cell.hidden});
  Tensor next = Compute(c.name("h"), cell.h.shape(), [&](const Var& b, const Var& j) {
    Expr update = f[0](cell.X(0, b, j) + cell.R(0, b, j));
    Expr candidate = cell.X(2, b, j);
    if (reset) {
      candidate = candidate + reset(b, j);
    } else {
      Expr r = f[0](cell.X(1, b, j) + cell.R(1, b, j)), inner = cell.R(2, b, j);
      candidate = candidate + r * (bias ? inner + bias(j) : inner);
    }
    Expr one = Const(update.dtype(), 1);
    return (one - update) * f[1](candidate) + update * cell.h(b, j);
  });
  return cell.Finish(c, next, {}, {cell.h});
}

// r * h, which the third gate of a GRU multiplies.
Tensors GruReset(Call& c) {
  Cell cell(c, 3, 2);
  std::vector<Activation> f = ActivationsOf(c, cell.h.dtype());
  CheckActivations(f, 2);
  return {Compute(c.name(), cell.h.shape(), [&](const Var& b, const Var& j) {
    return f[0](cell.X(1, b, j) + cell.R(1, b, j)) * cell.h(b, j);
  })};
}

Tensors RnnCell(Call& c) {
  Cell cell(c, 1, 1);
  std::vector<Activation> f = ActivationsOf(c, cell.h.dtype());
  CheckActivations(f, 1);
  Tensor next = Compute(c.name("h"), cell.h.shape(), [&](const Var& b, const Var& j) {
    return f[0](cell.X(0, b, j) + cell.R(0, b, j));
  });
  return cell.Finish(c, next, {}, {cell.h});
}

// ---- Layers

// The attributes of a node, or their defaults.
class Attrs {
 public:
  explicit Attrs(const Node& node) : node_(node) {}
  ffi::Any Get(const std::string& name) const {
    auto given = node_->attrs.find(name);
    if (given != node_->attrs.end()) return given->second;
    for (const graph::AttrSpec& spec : node_->op->attrs)
      if (spec.name == name) return spec.default_value;
    return {};
  }
  int64_t Int(const std::string& name) const { return Get(name).As<int64_t>(); }
  std::string String(const std::string& name) const { return Get(name).As<std::string>(); }

 private:
  const Node& node_;
};

enum class Kind { kLstm, kGru, kRnn };

class Layer {
 public:
  Layer(Builder* builder, const Node& node, Kind kind)
      : b_(*builder), node_(node), attrs_(node), kind_(kind) {
    gates_ = kind == Kind::kLstm ? 4 : kind == Kind::kGru ? 3 : 1;
    activations_ = kind == Kind::kLstm ? 3 : kind == Kind::kGru ? 2 : 1;
  }

  // Y: [steps, directions, batch, hidden], Y_h and, of an LSTM, Y_c: [directions, batch, hidden].
  Values Run() {
    Value x = Input(0);
    std::string direction = attrs_.String("direction");
    TERN_CHECK(direction == "forward" || direction == "reverse" || direction == "bidirectional")
        << "direction is forward, reverse or bidirectional, not " << direction;
    bool batch_first = attrs_.Int("layout") != 0;
    for (size_t i = 0; i < 3; ++i)
      TERN_CHECK(Input(i)->type.rank() == 3)
          << "input " << node_->op->inputs[i] << " has rank 3, not " << Input(i)->type.rank();
    if (batch_first) x = Transposed(x, {1, 0, 2});
    int64_t directions = direction == "bidirectional" ? 2 : 1;
    for (size_t i : {1, 2})
      if (!ir::IsConst(Input(i)->type.shape[0], directions))
        TERN_THROW(ValueError) << "input " << node_->op->inputs[i] << " is " << Input(i)->type.str()
                               << ", and there "
                               << (directions == 1 ? "is 1 direction" : "are 2 directions");
    std::vector<Values> parts;
    for (int64_t d = 0; d < directions; ++d)
      parts.push_back(RunDirection(x, d, direction == "reverse" || d == 1, batch_first));
    Values results;
    for (size_t i = 0; i < parts[0].size(); ++i) {
      // Y is stacked along axis 1, the states along axis 0.
      int64_t axis = i == 0 ? 1 : 0;
      Values stacked;
      for (const Values& part : parts)
        stacked.push_back(b_.Add("unsqueeze", {part[i], b_.Ints({axis}, "axes")}));
      Value y =
          stacked.size() == 1 ? stacked[0] : b_.Add("concat", stacked, {{"axis", ffi::Any(axis)}});
      if (batch_first) y = i == 0 ? Transposed(y, {2, 0, 1, 3}) : Transposed(y, {1, 0, 2});
      results.push_back(y);
    }
    return results;
  }

 private:
  Value Input(size_t i) const { return i < node_->inputs.size() ? node_->inputs[i] : Value(); }
  Value Transposed(const Value& x, const std::vector<int64_t>& perm) {
    return b_.Add("transpose", {x},
                  {{"perm", ffi::Any(ffi::MakeArray({perm.begin(), perm.end()}))}});
  }
  Value Part(const Value& x, int64_t d) {  // of one direction
    return b_.Add("gather", {x, b_.Scalar(DataType::Int(64), static_cast<double>(d), "direction")});
  }
  Value Range(Builder& builder, const Value& x, const Expr& from, const Expr& to, int64_t axis) {
    return builder.Add("slice",
                       {x, builder.Ints({*ir::AsConstInt(from)}, "start"),
                        builder.Ints({*ir::AsConstInt(to)}, "end"), builder.Ints({axis}, "axes")});
  }

  Value InitialState(size_t input, int64_t d, bool batch_first, const Value& x) {
    if (Value given = Input(input)) {
      if (batch_first) given = Transposed(given, {1, 0, 2});
      return Part(given, d);
    }
    Value batch = b_.Add("shape", {x}, {{"start", ffi::Any(1)}, {"end", ffi::Any(2)}});
    Value shape = b_.Add("concat", {batch, b_.Ints({hidden_}, "hidden")}, {{"axis", ffi::Any(0)}});
    return b_.Add("constant_of_shape", {shape, b_.Scalar(x->type.dtype, 0, "zero")});
  }

  ir::Attrs CellAttrs(int64_t d) const {
    std::vector<std::string> words = Words(attrs_.String("activations"));
    const char* defaults[] = {"sigmoid", "tanh", "tanh"};
    std::string text;
    for (size_t i = 0; i < activations_; ++i) {
      size_t at = static_cast<size_t>(d) * activations_ + i;
      TERN_CHECK(words.empty() || at < words.size())
          << "there are " << words.size() << " activations; " << activations_
          << " for each direction are expected";
      std::string word = !words.empty() ? words[at] : kind_ == Kind::kRnn ? "tanh" : defaults[i];
      text += (text.empty() ? "" : ",") + word;
    }
    ir::Attrs result{{"activations", ffi::Any(text)}, {"clip", attrs_.Get("clip")}};
    for (const char* name : {"alpha", "beta"})
      result[name] = AttrsOfDirection(*attrs_.Get(name).As<ffi::Array>(), words, d,
                                      std::string(name) == "beta");
    if (kind_ == Kind::kLstm) result["input_forget"] = attrs_.Get("input_forget");
    return result;
  }

  // The alphas or betas that activations of directions before do not take.
  ffi::Any AttrsOfDirection(const ffi::ArrayObj& all, const std::vector<std::string>& words,
                            int64_t d, bool is_beta) const {
    size_t skipped = 0;
    for (size_t i = 0; i < std::min(words.size(), static_cast<size_t>(d) * activations_); ++i) {
      auto found = Activations().find(words[i]);
      if (found != Activations().end() && found->second.params > (is_beta ? 1 : 0)) ++skipped;
    }
    std::vector<ffi::Any> rest;
    for (size_t i = skipped; i < all.size(); ++i) rest.push_back(all[i]);
    return ffi::Any(ffi::MakeArray(std::move(rest)));
  }

  Values RunDirection(const Value& x, int64_t d, bool is_reverse, bool batch_first) {
    Value w = Part(Input(1), d), r = Part(Input(2), d);
    std::optional<int64_t> hidden = ir::AsConstInt(r->type.shape[1]);
    TERN_CHECK(hidden && ir::IsConst(r->type.shape[0], *hidden * gates_) &&
               ir::IsConst(w->type.shape[0], *hidden * gates_))
        << "W and R of " << w->type.str() << " and " << r->type.str() << " are not of " << gates_
        << " gates";
    hidden_ = *hidden;
    Value xw = b_.Add("matmul", {x, Transposed(w, {1, 0})});
    Value rt = Transposed(r, {1, 0}), candidate_bias;
    bool behind = kind_ == Kind::kGru && attrs_.Int("linear_before_reset") != 0;
    if (Value bias = Input(3)) {
      bias = Part(bias, d);
      int64_t all = hidden_ * gates_;
      Value wb = Range(b_, bias, 0, all, 0), rb = Range(b_, bias, all, 2 * all, 0);
      if (behind) {
        candidate_bias = Range(b_, rb, 2 * hidden_, 3 * hidden_, 0);
        Value zeros = b_.Add("constant_of_shape",
                             {b_.Ints({hidden_}, "hidden"), b_.Scalar(x->type.dtype, 0, "zero")});
        rb = b_.Add("concat", {Range(b_, rb, 0, 2 * hidden_, 0), zeros}, {{"axis", ffi::Any(0)}});
      }
      xw = b_.Add("add", {xw, b_.Add("add", {wb, rb})});
    }
    Value candidate_r;
    if (kind_ == Kind::kGru && !behind) {
      candidate_r = Range(b_, rt, 2 * hidden_, 3 * hidden_, 1);
      rt = Range(b_, rt, 0, 2 * hidden_, 1);
    }
    Value peephole = kind_ == Kind::kLstm && Input(7) ? Part(Input(7), d) : Value();
    Values carried = {InitialState(5, d, batch_first, x)};
    if (kind_ == Kind::kLstm) carried.push_back(InitialState(6, d, batch_first, x));
    Value zero = b_.Scalar(DataType::Int(64), 0, "zero"), one = b_.Scalar(DataType::Int(64), 1);
    Value steps = b_.Add("gather", {b_.Add("shape", {x}), zero});
    Value last = is_reverse ? b_.Add("sub", {steps, one}) : Value();
    ir::Attrs attrs = CellAttrs(d);
    Values results = graph::AddLoop(
        b_, steps, {}, carried,
        [&](RegionBuilder& region, const Values& params) {
          Builder& builder = region.builder();
          Value step = last ? builder.Add("sub", {region.Capture(last), params[0]}) : params[0];
          Value h = params[2];
          Value hr = builder.Add("matmul", {h, region.Capture(rt)});
          Values inputs = {region.Capture(xw), step, hr, h, region.Capture(Input(4))};
          if (kind_ == Kind::kLstm) {
            inputs.push_back(params[3]);
            inputs.push_back(region.Capture(peephole));
          } else if (candidate_r) {
            Values reset = {inputs.begin(), inputs.begin() + 4};
            Value rh = builder.Add("gru_reset", reset, attrs);
            inputs.push_back(builder.Add("matmul", {rh, region.Capture(candidate_r)}));
          } else if (kind_ == Kind::kGru) {
            inputs.emplace_back();
            inputs.push_back(region.Capture(candidate_bias));
          }
          const char* op = kind_ == Kind::kLstm  ? "lstm_cell"
                           : kind_ == Kind::kGru ? "gru_cell"
                                                 : "rnn_cell";
          Values made = builder.Add(graph::GetOp(op), inputs, attrs, {.label = node_->label});
          Values next = {params[1]};
          next.insert(next.end(), made.begin(),
                      made.begin() + static_cast<std::ptrdiff_t>(carried.size()));
          next.push_back(Input(4) ? made.back() : made[0]);
          return next;
        },
        {.label = node_->label});
    Value y = results.back();
    if (is_reverse)
      y = b_.Add("slice", {y, b_.Ints({-1}, "start"), b_.Ints({INT64_MIN}, "end"),
                           b_.Ints({0}, "axes"), b_.Ints({-1}, "step")});
    results.pop_back();
    results.insert(results.begin(), y);
    return results;
  }

  Builder& b_;
  const Node& node_;
  Attrs attrs_;
  Kind kind_;
  int64_t gates_ = 1, hidden_ = 0;
  size_t activations_ = 1;
};

std::vector<graph::AttrSpec> LayerAttrs() {
  return {{"direction", AttrKind::kString, ffi::Any(std::string("forward"))},
          {"activations", AttrKind::kString, ffi::Any(std::string())},
          {"alpha", AttrKind::kFloats, ffi::Any(ffi::MakeArray({}))},
          {"beta", AttrKind::kFloats, ffi::Any(ffi::MakeArray({}))},
          {"clip", AttrKind::kFloat, ffi::Any(0.0)},
          {"layout", AttrKind::kInt, ffi::Any(0)}};
}

}  // namespace

void RegisterRecurrentOps() {
  RegisterOp({.name = "lstm_cell",
              .summary = "one step of an LSTM: the next h and c; with lengths also the output",
              .inputs = {"x", "step", "hr", "h", "lens?", "c", "peephole?"},
              .attrs = kCellAttrs,
              .compute = LstmCell});
  RegisterOp({.name = "gru_cell",
              .summary = "one step of a GRU: the next h; with lengths also the output",
              .inputs = {"x", "step", "hr", "h", "lens?", "reset?", "bias?"},
              .attrs = kCellAttrs,
              .compute = GruCell});
  RegisterOp({.name = "gru_reset",
              .summary = "what the third gate of a GRU multiplies",
              .inputs = {"x", "step", "hr", "h"},
              .attrs = kCellAttrs,
              .compute = GruReset});
  RegisterOp({.name = "rnn_cell",
              .summary = "one step of a recurrent layer: the next h; with lengths also the output",
              .inputs = {"x", "step", "hr", "h", "lens?"},
              .attrs = kCellAttrs,
              .compute = RnnCell});
  std::vector<graph::AttrSpec> lstm = LayerAttrs(), gru = LayerAttrs();
  lstm.push_back({"input_forget", AttrKind::kInt, ffi::Any(0)});
  gru.push_back({"linear_before_reset", AttrKind::kInt, ffi::Any(0)});
  RegisterOp({.name = "lstm",
              .summary = "an LSTM layer, of one direction or two: all h, the last h and the last c",
              .inputs = {"x", "w", "r", "bias?", "lens?", "h?", "c?", "peephole?"},
              .attrs = lstm,
              .expand = [](Builder& builder, const Node& node) {
                return Layer(&builder, node, Kind::kLstm).Run();
              }});
  RegisterOp({.name = "gru",
              .summary = "a GRU layer, of one direction or two: all h, and the last h",
              .inputs = {"x", "w", "r", "bias?", "lens?", "h?"},
              .attrs = gru,
              .expand = [](Builder& builder, const Node& node) {
                return Layer(&builder, node, Kind::kGru).Run();
              }});
  RegisterOp({.name = "rnn",
              .summary = "a recurrent layer, of one direction or two: all h, and the last h",
              .inputs = {"x", "w", "r", "bias?", "lens?", "h?"},
              .attrs = LayerAttrs(),
              .expand = [](Builder& builder, const Node& node) {
                return Layer(&builder, node, Kind::kRnn).Run();
              }});
}

}  // namespace tern::op
