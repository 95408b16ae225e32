// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "tern/graph/builder.h"
#include "tern/graph/node_facts.h"
#include "tern/graph/transform/links.h"
#include "tern/graph/transform/passes.h"

namespace tern::graph {
namespace {

const DataType kFloat = DataType::Float(32);
const DataType kInt = DataType::Int(32);

// Scales of biases are products of others, rounded.
constexpr double kScaleError = 1e-4;

// Behind names of values with channels last.
constexpr const char* kLast = "_last";

bool IsByte(const Value& value) {
  return value->type.dtype.is_integer() && value->type.dtype.bits() == 8;
}
bool IsOne(const Value& value) { return ir::IsConst(NumElements(value->type.shape), 1); }

// The one number of a tensor, where it is known.
std::optional<double> NumberOf(const Value& value) {
  if (!value->content || value->content->size() != 1) return {};
  const Expr& number = (*value->content)[0];
  if (const auto* integer = number.As<ir::IntImmNode>()) return static_cast<double>(integer->value);
  if (const auto* real = number.As<ir::FloatImmNode>()) return real->value;
  return {};
}

// Whether a constant has this number in all of its elements.
bool IsAll(const Value& value, int64_t number) {
  if (!value->constant) return false;
  std::string_view bytes = value->constant->data();
  DataType dtype = value->constant->dtype;
  auto count = static_cast<int64_t>(bytes.size()) / dtype.bytes();
  for (int64_t i = 0; i < count; ++i)
    if (ir::AsConstInt(ir::LoadElement(dtype, bytes, i)) != number) return false;
  return true;
}

Value InputOf(const Node& node, size_t i) {
  return i < node->inputs.size() ? node->inputs[i] : Value();
}

int64_t IntOr(const Node& node, const char* name, int64_t otherwise) {
  auto it = node->attrs.find(name);
  return it == node->attrs.end() ? otherwise : it->second.As<int64_t>();
}

// An axis as it is counted from the front.
int64_t AxisOf(const Node& node, int64_t otherwise, const Value& value) {
  int64_t axis = IntOr(node, "axis", otherwise);
  return axis < 0 ? axis + static_cast<int64_t>(value->type.rank()) : axis;
}

// A quantized tensor, with one scale and zero point for all, or for each index of an axis.
struct Quantized {
  Value value, scale, zero;  // no zero: 0
  int64_t axis = 0;          // where there are several scales

  explicit operator bool() const { return static_cast<bool>(value); }
  bool is_whole() const { return IsOne(scale) && (!zero || IsOne(zero)); }
};

// Arithmetic of quantized tensors, with all that happens up to where the result is quantized again:
// a product of a tensor and constant weights, a sum of two, or a mean. Values are those of the old
// graph.
struct Arithmetic {
  Node node;             // the convolution, matmul, add or pooling
  Node clamp;            // relu or clip behind it, or null
  Quantized x, weights;  // weights: the other summand of a sum
  Value bias;            // of float, or of int32 in steps of the sums; may be null
  Value scale, zero;     // of the result
  bool is_conv = true, transposed = false;  // weights are [outputs, channels], or the other way
  int64_t offset = 0;                       // that weights as uint8 are less to be int8
};

class Rewrites : public Rewriter {
 public:
  explicit Rewrites(const Function& function) : links_(function) {}

 protected:
  std::vector<Value> Rewrite(Builder& builder, const Node& node,
                             const std::vector<Value>& inputs) override {
    if (std::optional<Arithmetic> found = Match(node)) {
      const std::string& name = found->node->op->name;
      if (name == "add") return {Added(builder, node, *found)};
      if (name == "global_average_pool") return {Averaged(builder, node, *found)};
      return {Multiplied(builder, node, *found)};
    }
    if (Value moved = MovedLast(builder, node, inputs)) return {moved};
    return builder.Copy(node, inputs);
  }

 private:
  // ---- What is looked for

  // The value that it is, behind identities and casts to its own type.
  Value Source(Value value) const {
    for (auto it = links_.makers.end(); value; value = it->second->inputs[0]) {
      it = links_.makers.find(value.get());
      if (it == links_.makers.end()) break;
      const std::string& name = it->second->op->name;
      bool same = it->second->outputs[0]->type.dtype == it->second->inputs[0]->type.dtype;
      if (name != "identity" && !(name == "cast" && same)) break;
    }
    return value;
  }

  Node Maker(const Value& value, std::initializer_list<const char*> ops) const {
    auto it = value ? links_.makers.find(Source(value).get()) : links_.makers.end();
    if (it == links_.makers.end()) return {};
    const std::string& name = it->second->op->name;
    return std::find(ops.begin(), ops.end(), name) == ops.end() ? Node() : it->second;
  }
  // The same, where nobody else reads the value.
  Node SoleMaker(const Value& value, std::initializer_list<const char*> ops) const {
    return links_.uses.at(value.get()) == 1 && links_.uses.at(Source(value).get()) == 1
               ? Maker(value, ops)
               : Node();
  }

  Quantized BehindDequantize(const Value& value) const {
    Node node = Maker(value, {"dequantize_linear"});
    if (!node || value->type.dtype != kFloat || IntOr(node, "block_size", 0) != 0) return {};
    return {Source(node->inputs[0]), Source(node->inputs[1]), Source(InputOf(node, 2)),
            AxisOf(node, 1, value)};
  }

  // What a node quantizes, or is.
  std::optional<Arithmetic> Match(const Node& node) const {
    if (node->outputs.size() != 1 || !IsByte(node->outputs[0])) return {};
    Arithmetic product;
    if (node->op->name == "quantize_linear") {
      if (node->attrs.contains("narrow") || node->attrs.contains("precision") ||
          IntOr(node, "block_size", 0) != 0 || !InputOf(node, 2))
        return {};
      product.scale = Source(node->inputs[1]);
      product.zero = Source(node->inputs[2]);
      Value value = node->inputs[0];
      if (product.clamp = SoleMaker(value, {"relu", "clip"}); product.clamp)
        value = product.clamp->inputs[0];
      product.node = SoleMaker(value, {"conv", "matmul", "gemm", "add", "global_average_pool"});
      if (!product.node || !HasKnownLimits(product.clamp)) return {};
      product.x = BehindDequantize(product.node->inputs[0]);
      if (Value other = InputOf(product.node, 1)) product.weights = BehindDequantize(other);
      product.bias = Source(InputOf(product.node, 2));
      product.is_conv = product.node->op->name == "conv";
    } else if (node->op->name == "qlinear_conv" || node->op->name == "qlinear_matmul") {
      product.node = node;
      product.bias = Source(InputOf(node, 8));
      product.is_conv = node->op->name == "qlinear_conv";
      product.x = {Source(node->inputs[0]), Source(node->inputs[1]), Source(node->inputs[2])};
      product.weights = {Source(node->inputs[3]), Source(node->inputs[4]), Source(node->inputs[5]),
                         product.is_conv ? 0 : 1};
      product.scale = Source(node->inputs[6]);
      product.zero = Source(node->inputs[7]);
    } else {
      return {};
    }
    const std::string& name = product.node->op->name;
    if (!IsKnown(product.x) || !NumberOf(product.zero) || NumberOf(product.scale).value_or(0) <= 0)
      return {};
    bool fits = true;
    if (name == "add")
      fits = IsKnown(product.weights);
    else if (name != "global_average_pool")
      fits = HasFactors(&product);
    return fits ? std::optional<Arithmetic>(product) : std::nullopt;
  }

  // With one known scale and zero point.
  static bool IsKnown(const Quantized& x) {
    return x && x.is_whole() && IsByte(x.value) && NumberOf(x.scale) &&
           (!x.zero || NumberOf(x.zero));
  }

  // Whether weights and bias are constants as products of integers need them.
  bool HasFactors(Arithmetic* product) const {
    const Quantized &x = product->x, &weights = product->weights;
    if (!weights) return false;
    const Node& node = product->node;
    size_t rank = x.value->type.rank(), own = weights.value->type.rank();
    if (product->is_conv) {
      product->transposed = true;
      if (rank < 3) return false;
    } else {
      product->transposed = node->op->name == "gemm" && IntOr(node, "transB", 0) != 0;
      if (rank < 2 || own != 2) return false;
      for (const char* factor : {"alpha", "beta"})
        if (auto it = node->attrs.find(factor);
            it != node->attrs.end() && it->second.As<double>() != 1)
          return false;
      if (IntOr(node, "transA", 0) != 0) return false;
    }
    if (!weights.value->constant || !IsByte(weights.value) || !weights.scale->constant)
      return false;
    int64_t outputs = product->transposed ? 0 : 1;
    if (!IsOne(weights.scale) && weights.axis != outputs) return false;
    // Integers from -128 on; of others there would be sums of x to subtract.
    product->offset = weights.value->type.dtype.is_uint() ? 128 : 0;
    if (weights.zero ? !IsAll(weights.zero, product->offset) : product->offset != 0) return false;
    return !product->bias || IsBias(product->bias, weights.value->type.shape[outputs]);
  }

  // One constant for each output.
  bool IsBias(const Value& bias, const Expr& outputs) const {
    if (!SameExtent(NumElements(bias->type.shape), outputs)) return false;
    if (bias->constant) return bias->type.dtype == kFloat || bias->type.dtype == kInt;
    Quantized quantized = BehindDequantize(bias);
    return quantized && quantized.value->constant && quantized.scale->constant;
  }

  static bool HasKnownLimits(const Node& clamp) {
    if (!clamp || clamp->op->name == "relu") return true;
    for (size_t i = 1; i < clamp->inputs.size(); ++i)
      if (clamp->inputs[i] && !NumberOf(clamp->inputs[i])) return false;
    return true;
  }

  // The bias as integers in steps of the sums, where it is of such, or dequantized from them; else
  // null.
  Value SumsBias(const Arithmetic& product) const {
    if (product.bias->constant) return product.bias->type.dtype == kInt ? product.bias : Value();
    Quantized bias = BehindDequantize(product.bias);
    if (bias.value->type.dtype != kInt || (bias.zero && !IsAll(bias.zero, 0))) return {};
    auto at = [](const Value& value, int64_t i) {
      const ir::Constant& constant = value->constant;
      bool one = constant->is_splat || constant->num_elements() == 1;
      Expr element = ir::LoadElement(constant->dtype, constant->data(), one ? 0 : i);
      return element.As<ir::FloatImmNode>()->value;
    };
    double x = *NumberOf(product.x.scale);
    const ir::Constant &scales = bias.scale->constant, &factors = product.weights.scale->constant;
    int64_t count = std::max(scales->num_elements(), factors->num_elements());
    for (int64_t i = 0; i < count; ++i) {
      double sums = x * at(product.weights.scale, i);
      if (std::abs(at(bias.scale, i) - sums) > kScaleError * sums) return {};
    }
    return bias.value;
  }

  // ---- What it becomes

  Value ZeroOf(Builder& builder, const Quantized& x) {
    return x.zero ? Map(x.zero) : builder.Scalar(x.value->type.dtype, 0, "zero");
  }
  // The result of the operator, within its limits, as the old graph has it: the last of these has
  // the name of what the node gives.
  Value Finish(Builder& builder, const Node& node, const Arithmetic& what, const char* op,
               const std::vector<Value>& inputs, bool last, const ir::Attrs& attrs = {}) {
    auto options = [&](bool is_end) {
      const std::string& name = node->outputs[0]->name;
      return Builder::Options{what.node->label, {is_end ? name : name + kLast}, node->span};
    };
    Limits limits = LimitsOf(builder, what);
    bool clamps = limits.low || limits.high;
    Value result = builder.Add(op, inputs, attrs, options(!last && !clamps));
    if (clamps) result = builder.Add("clip", {result, limits.low, limits.high}, {}, options(!last));
    return last ? ChannelsSecond(builder, node, result) : result;
  }

  // A scale over that of the result.
  Value Factor(Builder& builder, const Quantized& x, const Arithmetic& what) {
    return builder.Add("div", {Map(x.scale), Map(what.scale)});
  }

  Value Added(Builder& builder, const Node& node, const Arithmetic& sum) {
    Value a = Map(sum.x.value), b = Map(sum.weights.value);
    bool last = last_.contains(a.get()) && last_.contains(b.get());
    return Finish(builder, node, sum, "quantized_add",
                  {last ? last_.at(a.get()) : a, Factor(builder, sum.x, sum),
                   ZeroOf(builder, sum.x), last ? last_.at(b.get()) : b,
                   Factor(builder, sum.weights, sum), ZeroOf(builder, sum.weights), Map(sum.zero)},
                  last);
  }

  Value Averaged(Builder& builder, const Node& node, const Arithmetic& mean) {
    Value x = ChannelsLast(builder, Map(mean.x.value));
    return Finish(builder, node, mean, "quantized_mean",
                  {x, Factor(builder, mean.x, mean), ZeroOf(builder, mean.x), Map(mean.zero)},
                  /*last=*/true);
  }

  Value Cast(Builder& builder, const Value& value, DataType dtype) {
    return builder.Add("cast", {value}, {{"to", ffi::Any(dtype.str())}});
  }

  Value Multiplied(Builder& builder, const Node& node, const Arithmetic& product) {
    size_t rank = product.x.value->type.rank();
    Value x = Map(product.x.value), weights = Weights(builder, product, rank);
    if (product.is_conv) x = ChannelsLast(builder, x);
    Value step = Map(product.scale);
    Value sums = builder.Add("mul", {Map(product.x.scale), Map(product.weights.scale)});
    Value scale = builder.Add("div", {sums, step});
    ir::Attrs attrs;
    if (product.is_conv)
      for (const auto& [name, value] : product.node->attrs)
        if (name != "dtype") attrs[name] = value;
    Value offset = product.bias ? SumsBias(product) : Value(), shift;
    if (offset) offset = Flat(builder, Map(offset));
    if (product.bias && !offset)
      shift = builder.Add("div", {Flat(builder, Map(product.bias)), step});
    if (Value more = BorderSums(builder, product, weights))
      offset = offset ? builder.Add("sub", {offset, more}) : builder.Add("neg", {more});
    Value border = product.x.zero ? Map(product.x.zero) : Value();
    return Finish(builder, node, product, "quantized_conv",
                  {x, weights, scale, offset, shift, Map(product.zero), border}, product.is_conv,
                  attrs);
  }

  // As [kernel..., channels, outputs] of int8.
  Value Weights(Builder& builder, const Arithmetic& product, size_t rank) {
    Value weights = Map(product.weights.value);
    if (product.offset != 0) {
      Value offset = builder.Scalar(kInt, static_cast<double>(product.offset), "offset");
      Value less = builder.Add("sub", {Cast(builder, weights, kInt), offset});
      weights = Cast(builder, less, DataType::Int(8));
    }
    if (product.transposed) {
      std::vector<ffi::Any> perm;
      size_t own = weights->type.rank();
      for (size_t i = 2; i < own; ++i) perm.emplace_back(static_cast<int64_t>(i));
      perm.emplace_back(1);
      perm.emplace_back(0);
      weights = builder.Add("transpose", {weights},
                            {{"perm", ffi::Any(ffi::MakeArray(std::move(perm)))}});
    }
    if (weights->type.rank() == rank) return weights;
    std::vector<int64_t> ahead(rank - weights->type.rank());
    std::iota(ahead.begin(), ahead.end(), 0);
    return builder.Add("unsqueeze", {weights, builder.Ints(ahead, "axes")});
  }

  static Value Flat(Builder& builder, const Value& value) {
    return builder.Add("reshape", {value, builder.Ints({-1}, "shape")});
  }

  // What the zero point of x adds to the sums; null for nothing.
  Value BorderSums(Builder& builder, const Arithmetic& product, const Value& weights) {
    if (!product.x.zero || NumberOf(product.x.zero) == 0.0) return {};
    std::vector<int64_t> axes(weights->type.rank() - 1);
    std::iota(axes.begin(), axes.end(), 0);
    Value sums =
        builder.Add("reduce_sum", {Cast(builder, weights, kInt), builder.Ints(axes, "axes")},
                    {{"keepdims", ffi::Any(0)}});
    return builder.Add("mul", {sums, Cast(builder, Map(product.x.zero), kInt)});
  }

  struct Limits {
    Value low, high;
  };
  // Rounding keeps the order, so limits are limits of what is rounded too. Those that the type has
  // anyway are none.
  Limits LimitsOf(Builder& builder, const Arithmetic& what) {
    if (!what.clamp) return {};
    bool is_relu = what.clamp->op->name == "relu";
    Limits limits;
    limits.low = is_relu ? builder.Scalar(kFloat, 0, "zero") : Limit(what.clamp, 1);
    if (!is_relu) limits.high = Limit(what.clamp, 2);
    double scale = *NumberOf(what.scale), zero = *NumberOf(what.zero);
    double least = what.zero->type.dtype.is_int() ? -128 : 0, most = least + 255;
    if (limits.low && *NumberOf(limits.low) / scale + zero < least + 0.5) limits.low = {};
    if (limits.high && *NumberOf(limits.high) / scale + zero > most - 0.5) limits.high = {};
    for (Value* limit : {&limits.low, &limits.high})
      if (*limit)
        *limit = builder.Add("quantize_linear", {*limit, Map(what.scale), Map(what.zero)});
    return limits;
  }
  Value Limit(const Node& clamp, size_t i) {
    Value limit = InputOf(clamp, i);
    return limit ? Map(limit) : limit;
  }

  // ---- Layouts

  static Value Permuted(Builder& builder, const Value& value, bool last, const std::string& name) {
    auto rank = static_cast<int64_t>(value->type.rank());
    std::vector<ffi::Any> perm;
    perm.emplace_back(0);
    if (!last) perm.emplace_back(rank - 1);
    for (int64_t i = last ? 2 : 1; i < (last ? rank : rank - 1); ++i) perm.emplace_back(i);
    if (last) perm.emplace_back(1);
    return builder.Add("transpose", {value}, {{"perm", ffi::Any(ffi::MakeArray(std::move(perm)))}},
                       {"", {name}, value->span});
  }

  // A value of the new graph with channels last.
  Value ChannelsLast(Builder& builder, const Value& value) {
    auto known = last_.find(value.get());
    return known != last_.end() ? known->second
                                : Permuted(builder, value, true, value->name + kLast);
  }
  // The value as the old graph has it, for those that read it so; otherwise it goes.
  Value ChannelsSecond(Builder& builder, const Node& node, const Value& value) {
    Value second = Permuted(builder, value, false, node->outputs[0]->name);
    last_[second.get()] = value;
    return second;
  }

  // The node with channels last, where what it reads is so already.
  Value MovedLast(Builder& builder, const Node& node, const std::vector<Value>& inputs) {
    if (node->outputs.size() != 1) return {};
    std::vector<Value> moved;
    bool any = false;
    for (const Value& input : inputs) {
      auto known = input ? last_.find(input.get()) : last_.end();
      any |= known != last_.end();
      moved.push_back(known != last_.end() ? known->second : input);
    }
    if (!any) return {};
    ir::Attrs attrs = node->attrs;
    const Op* op = node->op;
    const std::string& name = op->name;
    size_t rank = node->outputs[0]->type.rank();
    auto all_last = [&] {
      return std::all_of(inputs.begin(), inputs.end(),
                         [&](const Value& input) { return last_.contains(input.get()); });
    };
    if (name == "concat" && all_last()) {
      int64_t axis = AxisOf(node, 0, node->outputs[0]);
      attrs["axis"] =
          ffi::Any(axis == 0 ? 0 : (axis == 1 ? static_cast<int64_t>(rank) - 1 : axis - 1));
    } else if (name == "global_average_pool") {
      op = &GetOp("reduce_mean");
      std::vector<int64_t> axes(rank - 2);
      std::iota(axes.begin(), axes.end(), 1);
      moved.push_back(builder.Ints(axes, "axes"));
    } else if (!IsElementwise(node, inputs)) {
      return {};
    }
    std::vector<Value> outputs =
        builder.Add(*op, moved, attrs, {node->label, {node->outputs[0]->name + kLast}, node->span});
    return ChannelsSecond(builder, node, outputs[0]);
  }

  // Element by element, of tensors with channels last, which may be broadcast, and of scalars.
  bool IsElementwise(const Node& node, const std::vector<Value>& inputs) const {
    for (const Value& input : inputs) {
      if (!input || IsOne(input)) continue;
      const TensorType &a = input->type, &b = node->outputs[0]->type;
      if (!last_.contains(input.get()) || a.rank() != b.rank()) return false;
      for (size_t i = 0; i < a.rank(); ++i)
        if (!ir::IsConst(a.shape[i], 1) && !SameExtent(a.shape[i], b.shape[i])) return false;
    }
    NodeFacts facts = FactsOf(node);
    return facts.elementwise && facts.views.empty();
  }

  Links links_;
  // In the new graph: the same values with channels last.
  std::unordered_map<const ValueNode*, Value> last_;
};

}  // namespace

Function IntegerArithmetic(const Function& function) {
  return RemoveDeadNodes(Rewrites(function).Run(function));
}

}  // namespace tern::graph
