// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "tern/ffi/float16.h"
#include "tern/graph/builder.h"
#include "tern/graph/transform/passes.h"

namespace tern::graph {
namespace {

const DataType kWide = DataType::Float(32);

// Sums of products, of narrow operands in float32.
const std::set<std::string_view> kProducts = {"conv", "conv_transpose", "einsum", "gemm", "matmul"};

// Operators that have the precision of what they read. They move elements, or the result is of the
// size of the operands; sums in them are float32 whatever is summed.
const std::set<std::string_view> kFollowers = {"abs",
                                               "add",
                                               "attention_mask",
                                               "average_pool",
                                               "celu",
                                               "clip",
                                               "concat",
                                               "depth_to_space",
                                               "div",
                                               "elu",
                                               "erf",
                                               "expand",
                                               "first_n",
                                               "flatten",
                                               "gather",
                                               "gather_elements",
                                               "gather_nd",
                                               "gelu",
                                               "global_average_pool",
                                               "global_max_pool",
                                               "group_normalization",
                                               "hard_sigmoid",
                                               "hard_swish",
                                               "identity",
                                               "instance_normalization",
                                               "layer_normalization",
                                               "leaky_relu",
                                               "max",
                                               "max_pool",
                                               "min",
                                               "mish",
                                               "mul",
                                               "neg",
                                               "pad",
                                               "prelu",
                                               "relu",
                                               "reshape",
                                               "rms_normalization",
                                               "rotary_embedding",
                                               "scatter_elements",
                                               "scatter_nd",
                                               "selu",
                                               "sigmoid",
                                               "sign",
                                               "slice",
                                               "softmax",
                                               "softsign",
                                               "space_to_depth",
                                               "split",
                                               "squeeze",
                                               "sub",
                                               "sum",
                                               "take_rows",
                                               "tanh",
                                               "tile",
                                               "transpose",
                                               "trilu",
                                               "unsqueeze",
                                               "where"};

bool IsWide(const Value& value) { return value && value->type.dtype == kWide; }

bool SameShape(const Value& a, const Value& b) {
  const std::vector<Expr>&x = a->type.shape, &y = b->type.shape;
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), SameExtent);
}

class Lowerer : public Rewriter {
 public:
  explicit Lowerer(Precision precision)
      : narrow_(precision == Precision::kBf16 ? DataType::Bfloat16() : DataType::Float(16)),
        products_only_(precision == Precision::kMixed) {}

 protected:
  // Values keep their types, so that regions do; what is narrow has a cast behind it, which goes
  // where nobody reads it.
  std::vector<Value> Rewrite(Builder& builder, const Node& node,
                             const std::vector<Value>& inputs) override {
    if (IsNarrow(node, inputs)) return Narrowed(builder, node, inputs);
    std::vector<Value> outputs = builder.Copy(node, inputs);
    if (LosesRange(node, inputs))
      for (const Value& output : outputs) ranged_.insert(output.get());
    return outputs;
  }

 private:
  bool IsNarrow(const Node& node, const std::vector<Value>& inputs) {
    if (std::none_of(node->outputs.begin(), node->outputs.end(), IsWide)) return false;
    if (!std::all_of(inputs.begin(), inputs.end(), [&](const Value& v) { return Fits(v); }))
      return false;
    if (kProducts.contains(node->op->name))
      return std::all_of(inputs.begin(), inputs.end(),
                         [](const Value& input) { return !input || IsWide(input); });
    if (products_only_ || !kFollowers.contains(node->op->name)) return false;
    // Something narrow, or weights alone. Statistics of rows and the like stay float32, and what is
    // computed from them, until that meets a narrow tensor of the whole shape.
    bool has_narrow = false, has_wide = false, has_whole = false, has_ranged_part = false;
    for (const Value& input : inputs) {
      if (!IsWide(input) || input->constant) continue;
      bool is_narrow = lowered_.contains(input.get());
      bool is_whole = SameShape(input, node->outputs[0]);
      (is_narrow ? has_narrow : has_wide) = true;
      has_whole = has_whole || (is_narrow && is_whole);
      has_ranged_part = has_ranged_part || (ranged_.contains(input.get()) && !is_whole);
    }
    if (!has_wide) return true;
    return has_narrow && !has_ranged_part && (has_whole || !ReadsRanged(inputs));
  }

  bool ReadsRanged(const std::vector<Value>& inputs) const {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Value& input) { return input && ranged_.contains(input.get()); });
  }

  // Whether float32 has to stay as far as it goes: exponentials, powers, reductions, what is
  // computed from them, and what is beside constants of no narrow value.
  bool LosesRange(const Node& node, const std::vector<Value>& inputs) {
    if (kProducts.contains(node->op->name)) return true;
    bool reads_floats = false, fits = true;
    for (const Value& input : inputs) {
      reads_floats = reads_floats || IsWide(input);
      fits = fits && Fits(input);
    }
    return reads_floats && (!fits || !kFollowers.contains(node->op->name) || ReadsRanged(inputs));
  }

  // Whether a constant's elements stay finite, and if it is small, whether none becomes 0: it may
  // be what keeps a divisor from being that.
  bool Fits(const Value& value) {
    if (!IsWide(value) || !value->constant) return true;
    auto [it, is_new] = fits_.try_emplace(value->constant.get(), true);
    if (!is_new) return it->second;
    const ir::Constant& constant = value->constant;
    int64_t count = constant->is_splat ? 1 : constant->num_elements();
    bool is_small = constant->num_elements() <= kMaxContent;
    for (int64_t i = 0; i < count && it->second; ++i) {
      float element;
      std::memcpy(&element, constant->data().data() + static_cast<size_t>(i) * sizeof(float),
                  sizeof(float));
      float kept = Rounded(element);
      it->second = std::isfinite(kept) || !std::isfinite(element);
      if (is_small && element != 0 && kept == 0) it->second = false;
    }
    return it->second;
  }

  float Rounded(float value) const {
    return narrow_ == DataType::Bfloat16() ? Bfloat16ToFloat(FloatToBfloat16(value))
                                           : HalfToFloat(FloatToHalf(value));
  }

  std::vector<Value> Narrowed(Builder& builder, const Node& node, std::vector<Value> inputs) {
    for (Value& input : inputs)
      if (IsWide(input)) input = Lowered(builder, input);
    ir::Attrs attrs = node->attrs;
    const std::vector<AttrSpec>& specs = node->op->attrs;
    if (products_only_ && std::any_of(specs.begin(), specs.end(),
                                      [](const AttrSpec& spec) { return spec.name == "dtype"; })) {
      attrs["dtype"] = ffi::Any(kWide.str());
    }
    Builder::Options options{node->label, {}, node->span};
    for (const Value& output : node->outputs)
      options.names.push_back(attrs.contains("dtype") ? output->name
                                                      : output->name + "_" + narrow_.str());
    for (const Var& dim : node->dims) options.dims.push_back(builder.Dim(dim.name()));
    std::vector<Value> outputs = builder.Add(*node->op, std::move(inputs), attrs, options);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i]->type.dtype != narrow_) continue;
      Value wide = builder.Add("cast", {outputs[i]}, {{"to", ffi::Any(kWide.str())}},
                               {node->label, {node->outputs[i]->name}, node->span});
      lowered_[wide.get()] = outputs[i];
      outputs[i] = wide;
    }
    return outputs;
  }

  // The value in the narrow type. Equal casts are for simplify_graph to merge.
  Value Lowered(Builder& builder, const Value& value) {
    auto known = lowered_.find(value.get());
    if (known != lowered_.end()) return known->second;
    return builder.Add("cast", {value}, {{"to", ffi::Any(narrow_.str())}},
                       {"", {value->name + "_" + narrow_.str()}, value->span});
  }

  DataType narrow_;
  bool products_only_;
  // In the new graph: what float32 values are casts of, and float32 values that have to stay so.
  std::map<const ValueNode*, Value> lowered_;
  std::set<const ValueNode*> ranged_;
  std::map<const ir::ConstantNode*, bool> fits_;
};

}  // namespace

Precision ParsePrecision(const std::string& text) {
  static const std::map<std::string, Precision> names = {
      {"fp16", Precision::kFp16}, {"bf16", Precision::kBf16}, {"mixed", Precision::kMixed}};
  auto it = names.find(text);
  TERN_CHECK(it != names.end()) << "precision " << text << ": expected fp16, bf16, mixed or tf32";
  return it->second;
}

Function LowerPrecision(const Function& function, Precision precision) {
  return RemoveDeadNodes(Lowerer(precision).Run(function));
}

}  // namespace tern::graph
