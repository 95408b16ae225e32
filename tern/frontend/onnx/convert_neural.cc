// SPDX-License-Identifier: Apache-2.0
//
// Converters of neural networks' operators that become several nodes.
#include <bit>
#include <cmath>

#include "tern/frontend/onnx/converter_table.h"
#include "tern/graph/control.h"
#include "tern/graph/op.h"

namespace tern::frontend::onnx {
namespace {

int64_t StaticExtentOf(const Value& value, size_t axis, const char* what) {
  std::optional<int64_t> extent = ir::AsConstInt(value->type.shape.at(axis));
  TERN_CHECK(extent) << what << " has to be known when compiling";
  return *extent;
}

Value Reshaped(NodeContext& n, const Value& x, const std::vector<int64_t>& shape) {
  return n.Part("reshape", {x, n.builder().Ints(shape, "shape")});
}

Value Scaled(NodeContext& n, const Value& x, double factor) {
  if (factor == 1) return x;
  return n.Part("mul", {x, n.builder().Scalar(x->type.dtype, factor, "factor")});
}

void CheckRank(const Value& value, size_t rank, const char* what) {
  TERN_CHECK(value && value->type.rank() == rank)
      << what << " has rank " << rank
      << (value ? ", not " + graph::ShapeText(value->type.shape) : "; it is missing");
}

}  // namespace

// ---- Attention

Value SplitHeads(NodeContext& n, const Value& x, int64_t heads) {
  CheckRank(x, 3, "a tensor of heads side by side");
  int64_t size = StaticExtentOf(x, 2, "the size of all heads");
  TERN_CHECK(heads > 0) << "the number of heads is positive, not " << heads;
  TERN_CHECK(size % heads == 0) << size << " elements are not " << heads << " equal heads";
  Value split = Reshaped(n, x, {0, 0, heads, size / heads});
  return n.Part("transpose", {split}, {{"perm", IntsAttr({0, 2, 1, 3})}});
}

Value JoinHeads(NodeContext& n, const Value& x) {
  int64_t size = StaticExtentOf(x, 1, "the number of heads") * StaticExtentOf(x, 3, "their size");
  Value back = n.Part("transpose", {x}, {{"perm", IntsAttr({0, 2, 1, 3})}});
  return Reshaped(n, back, {0, 0, size});
}

// A softmax with one more logit, which has a part of the sum and no value.
Value SoftmaxWithSink(NodeContext& n, const Value& logits, const Value& sink,
                      const ir::Attrs& attrs) {
  graph::Builder& b = n.builder();
  Value column = n.Part("cast", {sink}, {{"to", ffi::Any(logits->type.dtype.str())}});
  column = n.Part("reshape", {column, b.Ints({1, -1, 1, 1}, "shape")});
  Value shape =
      n.Part("concat", {n.Part("shape", {logits}, {{"end", ffi::Any(3)}}), b.Ints({1}, "one")},
             {{"axis", ffi::Any(0)}});
  column = n.Part("expand", {column, shape});
  Value all =
      n.Part("softmax", {n.Part("concat", {logits, column}, {{"axis", ffi::Any(-1)}})}, attrs);
  return n.Part("slice", {all, b.Ints({0}, "start"), b.Ints({-1}, "end"), b.Ints({-1}, "axes")});
}

AttentionResult ScaledAttention(NodeContext& n, const AttentionParts& parts) {
  for (const Value& value : {parts.q, parts.k, parts.v})
    CheckRank(value, 4, "a query, key or value");
  int64_t heads = StaticExtentOf(parts.q, 1, "the number of heads"),
          shared = StaticExtentOf(parts.k, 1, "the number of heads");
  TERN_CHECK(shared > 0 && heads % shared == 0)
      << heads << " heads of queries are no groups for " << shared << " of keys";
  bool grouped = heads != shared;
  // Half of the factor on either side, so that products do not overflow.
  double half = std::sqrt(parts.scale);
  Value q = Scaled(n, parts.q, half), k = Scaled(n, parts.k, half);
  if (grouped) {
    q = Reshaped(n, q, {0, shared, heads / shared, -1, StaticExtentOf(q, 3, "the size of heads")});
  }
  auto einsum = [&](const char* equation, const Value& a, const Value& b) {
    return n.Part("einsum", {a, b}, {{"equation", ffi::Any(std::string(equation))}});
  };
  AttentionResult result;
  result.scores = grouped ? einsum("bhgqd,bhkd->bhgqk", q, k) : einsum("bhqd,bhkd->bhqk", q, k);
  auto ungrouped = [&](const Value& x, const Value& like) {
    if (!grouped) return x;
    // Extents stay as they are, but for the two of the heads.
    Value tail = n.Part("shape", {like}, {{"start", ffi::Any(3)}});
    Value head = n.Part("shape", {like}, {{"end", ffi::Any(1)}});
    Value shape =
        n.Part("concat", {head, n.builder().Ints({heads}, "heads"), tail}, {{"axis", ffi::Any(0)}});
    return n.Part("reshape", {x, shape});
  };
  result.scores = ungrouped(result.scores, result.scores);
  result.capped = result.scores;
  if (parts.softcap > 0) {
    Value small = Scaled(n, result.scores, 1 / parts.softcap);
    result.capped = Scaled(n, n.Part("tanh", {small}), parts.softcap);
  }
  result.masked = n.Part("attention_mask", {result.capped, parts.mask, parts.seqlens, parts.past},
                         parts.mask_attrs);
  Value logits = result.masked;
  std::string type = logits->type.dtype.str();
  if (!parts.softmax_type.empty() && parts.softmax_type != type)
    logits = n.Part("cast", {logits}, {{"to", ffi::Any(parts.softmax_type)}});
  ir::Attrs along_keys{{"axis", ffi::Any(-1)}, {"masked", ffi::Any(1)}};
  result.weights = parts.sink ? SoftmaxWithSink(n, logits, parts.sink, along_keys)
                              : n.Part("softmax", {logits}, along_keys);
  if (result.weights->type.dtype.str() != type)
    result.weights = n.Part("cast", {result.weights}, {{"to", ffi::Any(type)}});
  if (grouped) {
    Value tail = n.Part("shape", {result.weights}, {{"start", ffi::Any(2)}});
    Value head = n.Part("shape", {result.weights}, {{"end", ffi::Any(1)}});
    Value shape =
        n.Part("concat", {head, n.builder().Ints({shared, heads / shared}, "heads"), tail},
               {{"axis", ffi::Any(0)}});
    Value split = n.Part("reshape", {result.weights, shape});
    Value product = einsum("bhgqk,bhkd->bhgqd", split, parts.v);
    result.output = ungrouped(product, product);
  } else {
    result.output = einsum("bhqk,bhkd->bhqd", result.weights, parts.v);
  }
  return result;
}

Values Attention(NodeContext& n) {
  Value q = n.input(0), k = n.input(1), v = n.input(2);
  auto rank = n.InputType(0).rank();
  TERN_CHECK(rank == 3 || rank == 4) << "queries are of rank 3 or 4, not " << rank;
  if (rank == 3) {
    int64_t heads = n.Int("q_num_heads", 0), shared = n.Int("kv_num_heads", 0);
    n.InputType(1);
    n.InputType(2);
    q = SplitHeads(n, q, heads);
    k = SplitHeads(n, k, shared);
    v = SplitHeads(n, v, shared);
  }
  CheckRank(k, 4, "the keys");
  CheckRank(v, 4, "the values");
  AttentionParts parts{q, k, v, n.input(3), {}, n.input(4)};
  TERN_CHECK(!n.input(4) == !n.input(5)) << "past keys and values are given together";
  if (n.input(4)) {
    parts.k = n.Part("concat", {n.input(4), k}, {{"axis", ffi::Any(2)}});
    parts.v = n.Part("concat", {n.input(5), v}, {{"axis", ffi::Any(2)}});
  }
  parts.seqlens = n.input(6);
  auto size = static_cast<double>(StaticExtentOf(q, 3, "the size of heads"));
  parts.scale = n.Float("scale", 1 / std::sqrt(size));
  TERN_CHECK(parts.scale >= 0) << "the scale is not negative";
  parts.softcap = n.Float("softcap", 0);
  parts.mask_attrs = {{"causal", ffi::Any(n.Int("is_causal", 0))},
                      {"left_window", ffi::Any(n.Int("left_window_size", -1))},
                      {"right_window", ffi::Any(n.Int("right_window_size", -1))}};
  if (int64_t type = n.Int("softmax_precision", 0)) parts.softmax_type = TypeName(type);
  AttentionResult result = ScaledAttention(n, parts);
  Value output = rank == 3 ? JoinHeads(n, result.output) : result.output;
  Values outputs = n.Emit("identity", {output});
  outputs.push_back(n.Part("identity", {parts.k}));
  outputs.push_back(n.Part("identity", {parts.v}));
  if (n.wants_output(3)) {
    const Value stages[] = {result.scores, result.capped, result.masked, result.weights};
    int64_t mode = n.Int("qk_matmul_output_mode", 0);
    TERN_CHECK(mode >= 0 && mode < 4) << "qk_matmul_output_mode is 0 to 3, not " << mode;
    outputs.push_back(n.Part("identity", {stages[mode]}));
  }
  return outputs;
}

// Attention whose scores and weights go through graphs of the model.
Values FlexAttention(NodeContext& n) {
  Value q = n.input(0), k = n.input(1), v = n.input(2);
  for (size_t i = 0; i < 3; ++i) {
    n.InputType(i);
    CheckRank(n.input(i), 4, "a query, key or value");
  }
  DataType result = q->type.dtype;
  DataType between = result.bits() == 64 ? result : DataType::Float(32);
  auto cast = [&](const Value& x, DataType to) {
    return x->type.dtype == to ? x : n.Part("cast", {x}, {{"to", ffi::Any(to.str())}});
  };
  int64_t heads = StaticExtentOf(q, 1, "the number of heads"),
          shared = StaticExtentOf(k, 1, "the number of heads"),
          size = StaticExtentOf(q, 3, "the size of heads");
  TERN_CHECK(shared > 0 && heads % shared == 0)
      << heads << " heads of queries are no groups for " << shared << " of keys";
  // [batch, heads of keys, group, length, size]
  q = Reshaped(n, cast(q, between), {0, shared, heads / shared, -1, size});
  auto einsum = [&](const char* equation, const Value& a, const Value& b) {
    return n.Part("einsum", {a, b}, {{"equation", ffi::Any(std::string(equation))}});
  };
  Value scores = einsum("bhgqd,bhkd->bhgqk", q, cast(k, between));
  scores = Scaled(n, scores, n.Float("scale", 1 / std::sqrt(static_cast<double>(size))));
  // With all heads along one axis, and back.
  Value grouped = n.Part("shape", {scores});
  Value shape =
      n.Part("concat",
             {n.Part("shape", {scores}, {{"end", ffi::Any(1)}}), n.builder().Ints({heads}, "heads"),
              n.Part("shape", {scores}, {{"start", ffi::Any(3)}})},
             {{"axis", ffi::Any(0)}});
  auto modified = [&](Value x, const char* attribute) {
    if (!n.Has(attribute)) return x;
    Items results = n.import_inner()(n.InnerGraph(attribute), nullptr, {Item(x)});
    TERN_CHECK(results.size() == 1 && results[0].tensor &&
               results[0].tensor->type.str() == x->type.str())
        << attribute << " gives one tensor of " << x->type.str();
    return results[0].tensor;
  };
  scores = modified(n.Part("reshape", {scores, shape}), "score_mod");
  Value weights = n.Part("softmax", {scores}, {{"axis", ffi::Any(-1)}});
  weights = n.Part("reshape", {modified(weights, "prob_mod"), grouped});
  Value output = einsum("bhgqk,bhkd->bhgqd", weights, cast(v, between));
  Value tail = n.Part("shape", {output}, {{"start", ffi::Any(3)}});
  Value head = n.Part("shape", {output}, {{"end", ffi::Any(1)}});
  Value joined =
      n.Part("concat", {head, n.builder().Ints({heads}, "heads"), tail}, {{"axis", ffi::Any(0)}});
  return n.Emit("identity", {cast(n.Part("reshape", {output, joined}), result)});
}

// ---- Normalization

Values BatchNorm(NodeContext& n) {
  ir::Attrs attrs{{"epsilon", ffi::Any(n.Float("epsilon", 1e-5))}};
  if (n.opset() < 14 || n.Int("training_mode", 0) == 0) {
    for (size_t i = 1; i < n.node().outputs.size(); ++i)
      TERN_CHECK(!n.wants_output(i)) << "statistics of the training are not supported";
    return n.Emit("batch_normalization", n.inputs(), attrs);
  }
  // By the statistics of the batch, of which a part is added to those that were given.
  Value x = n.input(0);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < n.InputType(0).rank(); ++i)
    if (i != 1) axes.push_back(static_cast<int64_t>(i));
  auto reduce = [&](const Value& value, int64_t keep) {
    return n.Part("reduce_mean", {value, n.builder().Ints(axes, "axes")},
                  {{"keepdims", ffi::Any(keep)}});
  };
  Value centered = n.Part("sub", {x, reduce(x, 1)});
  Value mean = reduce(x, 0), variance = reduce(n.Part("mul", {centered, centered}), 0);
  double momentum = n.Float("momentum", 0.9);
  auto running = [&](const Value& old, const Value& now) {
    return n.Part("add", {Scaled(n, old, momentum), Scaled(n, now, 1 - momentum)});
  };
  for (size_t i = 1; i < 5; ++i) n.InputType(i);
  Values outputs =
      n.Emit("batch_normalization", {x, n.input(1), n.input(2), mean, variance}, attrs);
  outputs.push_back(running(n.input(3), mean));
  outputs.push_back(running(n.input(4), variance));
  return outputs;
}

Values LayerNorm(NodeContext& n) {
  ir::Attrs attrs{{"axis", ffi::Any(n.Int("axis", -1))},
                  {"epsilon", ffi::Any(n.Float("epsilon", 1e-5))}};
  Values outputs = n.Emit("layer_normalization", n.inputs(), attrs);
  if (!n.wants_output(1) && !n.wants_output(2)) return outputs;
  Values statistics =
      n.builder().Add(graph::GetOp("layer_normalization_statistics"), {n.input(0)}, attrs, {});
  outputs.insert(outputs.end(), statistics.begin(), statistics.end());
  return outputs;
}

// As ONNX Runtime's exporters write it, in either domain.
Values SimplifiedLayerNorm(NodeContext& n) {
  TERN_CHECK(!n.wants_output(1)) << "the reciprocal deviation is not supported as an output";
  return n.Emit(
      "rms_normalization", {n.input(0), n.input(1)},
      {{"axis", ffi::Any(n.Int("axis", -1))}, {"epsilon", ffi::Any(n.Float("epsilon", 1e-5))}});
}

// ---- Random

namespace {

// The bits of the number that the model gives, or else by the name of the output: two nodes of a
// model differ, and a model is the same in every run.
int64_t SeedOf(const NodeContext& n) {
  if (const Attribute* seed = n.node().Find("seed"))
    return seed->kind == Attribute::Kind::kInt ? seed->i : std::bit_cast<int32_t>(seed->f);
  uint32_t hash = 2166136261;  // FNV-1a
  for (char c : n.node().outputs.empty() ? std::string_view() : n.node().outputs[0])
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return hash;
}

}  // namespace

Values RandomOp(NodeContext& n) {
  const char* op = n.node().op_type == "RandomNormal"        ? "random_normal"
                   : n.node().op_type == "RandomNormalLike"  ? "random_normal_like"
                   : n.node().op_type == "RandomUniform"     ? "random_uniform"
                   : n.node().op_type == "RandomUniformLike" ? "random_uniform_like"
                   : n.node().op_type == "Bernoulli"         ? "bernoulli"
                                                             : "multinomial";
  ir::Attrs attrs = n.AttrsFor(graph::GetOp(op));
  attrs["seed"] = ffi::Any(SeedOf(n));
  return n.Emit(op, n.inputs(), attrs);
}

// Only in training mode something is dropped.
Values Dropout(NodeContext& n) {
  n.InputType(0);
  bool training = false;
  if (n.opset() >= 12 && n.input(2)) {
    const Value& flag = n.input(2);
    TERN_CHECK(flag->content && flag->content->size() == 1)
        << "training_mode has to be known when compiling; it is computed from the data";
    training = !ir::IsConst((*flag->content)[0], 0);
  }
  if (training) {
    Value ratio = n.input(1) ? n.input(1) : n.builder().Scalar(DataType::Float(32), 0.5, "ratio");
    return n.Emit("dropout", {n.input(0), ratio}, {{"seed", ffi::Any(SeedOf(n))}});
  }
  Values outputs = n.Emit("identity", {n.input(0)});
  if (n.wants_output(1)) {
    // Nothing is dropped. The mask was of the input's type before.
    DataType type = n.opset() >= 10 ? DataType::Bool() : n.InputType(0).dtype;
    Value one = n.builder().Scalar(type, 1, "one");
    outputs.push_back(n.Part("constant_of_shape", {n.Part("shape", {n.input(0)}), one}));
  }
  return outputs;
}

// ---- Others

Values MaxPool(NodeContext& n) {
  TERN_CHECK(n.Has("kernel_shape")) << "attribute kernel_shape is missing";
  const char* op = n.wants_output(1) ? "max_pool_indices" : "max_pool";
  return n.Emit(op, {n.input(0)}, n.AttrsFor(graph::GetOp(op)));
}

Values SoftmaxCrossEntropyLoss(NodeContext& n) {
  n.InputType(0);
  Value logarithms = n.Part("log_softmax", {n.input(0)}, {{"axis", ffi::Any(1)}});
  Values outputs = n.Emit("negative_log_likelihood_loss", {logarithms, n.input(1), n.input(2)},
                          n.AttrsFor(graph::GetOp("negative_log_likelihood_loss")));
  outputs.push_back(logarithms);
  return outputs;
}

Values SwiGlu(NodeContext& n) {
  Value gate = n.Part("swish", {n.input(0)}, {{"alpha", ffi::Any(n.Float("alpha", 1))}});
  return n.Emit("mul", {gate, n.input(1)});
}

// A depthwise convolution of [batch, channels, length] that looks back, and what the next call
// needs: the last elements.
Values CausalConvWithState(NodeContext& n) {
  CheckRank(n.input(0), 3, "the input");
  CheckRank(n.input(1), 3, "the weights");
  int64_t kernel = StaticExtentOf(n.input(1), 2, "the kernel's extent"),
          channels = StaticExtentOf(n.input(1), 0, "the number of channels");
  graph::Builder& b = n.builder();
  Value padded;
  if (n.input(3))
    padded = n.Part("concat", {n.input(3), n.input(0)}, {{"axis", ffi::Any(2)}});
  else
    padded = n.Part("pad", {n.input(0), b.Ints({0, 0, kernel - 1, 0, 0, 0}, "pads")});
  std::string activation = n.String("activation", "none");
  TERN_CHECK(activation == "none" || activation == "silu" || activation == "swish")
      << "activation is none, silu or swish, not " << activation;
  ir::Attrs attrs{{"group", ffi::Any(channels)}};
  Values outputs;
  if (activation == "none") {
    outputs = n.Emit("conv", {padded, n.input(1), n.input(2)}, attrs);
  } else {
    Value sums = n.Part("conv", {padded, n.input(1), n.input(2)}, attrs);
    outputs = n.Emit("swish", {sums});
  }
  if (n.wants_output(1)) {
    Value end = n.Part("shape", {padded}, {{"start", ffi::Any(2)}});
    Value start = n.Part("sub", {end, b.Ints({kernel - 1}, "kept")});
    outputs.push_back(n.Part("slice", {padded, start, end, b.Ints({2}, "axes")}));
  }
  return outputs;
}

// ---- Linear attention

// Of each token, with a state [batch, heads, key size, value size] that is carried on:
//   state = exp(decay) * state + key (x) beta * (value - state . key),  output = query . state
// where update rules other than gated_delta have no decay, or neither beta nor the difference.
Values LinearAttention(NodeContext& n) {
  std::string rule = n.String("update_rule", "gated_delta");
  bool gated = rule == "gated" || rule == "gated_delta",
       delta = rule == "delta" || rule == "gated_delta";
  TERN_CHECK(gated || delta || rule == "linear")
      << "update_rule is linear, gated, delta or gated_delta, not " << rule;
  int64_t heads = n.Int("q_num_heads", 0), shared = n.Int("kv_num_heads", 0);
  TERN_CHECK(shared > 0 && heads > 0 && heads % shared == 0)
      << heads << " heads of queries are no groups for " << shared << " of keys";
  DataType result = n.InputType(0).dtype;
  graph::Builder& builder = n.builder();
  auto wide = [&](const Value& x) {
    return x->type.dtype == DataType::Float(32)
               ? x
               : n.Part("cast", {x}, {{"to", ffi::Any(std::string("float32"))}});
  };
  // [batch, tokens, heads * size] -> [batch, tokens, heads, rows, size]
  auto split = [&](size_t input, int64_t count, int64_t rows, bool as_column) {
    n.InputType(input);
    CheckRank(n.input(input), 3, "a tensor of heads side by side");
    int64_t all = StaticExtentOf(n.input(input), 2, "the size of all heads");
    TERN_CHECK(all % (count * rows) == 0)
        << all << " elements are not " << count * rows << " equal heads";
    int64_t size = all / (count * rows);
    std::vector<int64_t> shape = {0, 0, count, rows, size};
    if (as_column) std::swap(shape[3], shape[4]);
    return Reshaped(n, wide(n.input(input)), shape);
  };
  Value q = split(0, shared, heads / shared, false), k = split(1, shared, 1, true),
        v = split(2, shared, 1, false), decay, beta;
  int64_t key_size = StaticExtentOf(q, 4, "the size of a head"),
          value_size = StaticExtentOf(v, 4, "the size of a head");
  TERN_CHECK(StaticExtentOf(k, 3, "the size of a head") == key_size)
      << "heads of queries and keys differ in size";
  if (gated) decay = n.Part("exp", {split(4, shared, 1, true)});
  if (delta) {
    n.InputType(5);
    beta = split(5, StaticExtentOf(n.input(5), 2, "the number of rates"), 1, false);
  }
  Value state = n.input(3) ? wide(n.input(3)) : Value();
  if (!state) {
    Value batch = n.Part(
        "slice", {n.Part("shape", {q}), builder.Ints({0}, "start"), builder.Ints({1}, "end")});
    Value shape = n.Part("concat", {batch, builder.Ints({shared, key_size, value_size}, "state")},
                         {{"axis", ffi::Any(0)}});
    state = n.Part("constant_of_shape", {shape});
  }
  Value tokens =
      n.Part("gather", {n.Part("shape", {q}), builder.Scalar(DataType::Int(64), 1, "axis")});
  Values outputs = graph::AddLoop(
      builder, tokens, {}, {state},
      [&](graph::RegionBuilder& region, const Values& params) {
        graph::Builder& inner = region.builder();
        auto at = [&](const Value& x) {
          return inner.Add("gather", {region.Capture(x), params[0]}, {{"axis", ffi::Any(1)}});
        };
        Value s = params[2], key = at(k), value = at(v);
        if (gated) s = inner.Add("mul", {s, at(decay)});
        if (delta) {
          Value row = inner.Add("transpose", {key}, {{"perm", IntsAttr({0, 1, 3, 2})}});
          value = inner.Add("sub", {value, inner.Add("matmul", {row, s})});
          value = inner.Add("mul", {value, at(beta)});
        }
        s = inner.Add("add", {s, inner.Add("mul", {key, value})});
        return Values{params[1], s, inner.Add("matmul", {at(q), s})};
      },
      n.Options());
  double scale = n.Float("scale", 0);
  Value output = Scaled(n, outputs[1], scale != 0 ? scale : 1 / std::sqrt(key_size));
  output = n.Part("transpose", {output}, {{"perm", IntsAttr({1, 0, 2, 3, 4})}});
  output = Reshaped(n, output, {0, 0, heads * value_size});
  auto narrow = [&](const Value& x, DataType dtype) {
    return dtype == x->type.dtype ? x : n.Part("cast", {x}, {{"to", ffi::Any(dtype.str())}});
  };
  return {narrow(output, result), narrow(outputs[0], n.input(3) ? n.InputType(3).dtype : result)};
}

const ConverterTable& PreviewTable() {
  static const ConverterTable table = {{"FlexAttention", {.convert = FlexAttention}}};
  return table;
}

}  // namespace tern::frontend::onnx
