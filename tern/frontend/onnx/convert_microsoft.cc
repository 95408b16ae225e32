// SPDX-License-Identifier: Apache-2.0
//
// com.microsoft: what ONNX Runtime's optimizer and its exporters write.
#include <algorithm>
#include <cmath>

#include "tern/frontend/onnx/converter_table.h"
#include "tern/graph/op.h"

namespace tern::frontend::onnx {
namespace {

Value Optional(NodeContext& n, const Value& x, const char* op, const Value& other) {
  return other ? n.Part(op, {x, other}) : x;
}

std::string TypeOf(const Value& value) { return value->type.dtype.str(); }

// ---- Activations

Values FastGelu(NodeContext& n) {
  n.InputType(0);
  Value x = Optional(n, n.input(0), "add", n.input(1));
  return n.Emit("gelu", {x}, {{"approximate", ffi::Any(std::string("tanh"))}});
}

Values BiasGelu(NodeContext& n) {
  return n.Emit("gelu", {n.Part("add", {n.input(0), n.input(1)})});
}

Values QuickGelu(NodeContext& n) {
  return n.Emit("swish", {n.input(0)}, {{"alpha", ffi::Any(n.Float("alpha", 1.702))}});
}

// ---- Matmul and convolution

// Rows of packed weights as rows of bytes, so that what runs along them runs along memory.
Values MatMulNBits(NodeContext& n) {
  std::vector<Value> inputs = n.inputs();
  int64_t columns = n.Int("N", 0);
  if (inputs.size() > 2 && inputs[1] && inputs[2] && inputs[1]->type.rank() == 3 &&
      ir::IsConst(inputs[1]->type.shape[0], columns)) {
    inputs[1] = n.Part("reshape", {inputs[1], n.builder().Ints({columns, -1}, "shape")});
    inputs[2] = n.Part("reshape", {inputs[2], n.builder().Ints({-1}, "shape")});
  }
  return n.Emit("matmul_nbits", inputs, n.AttrsFor(graph::GetOp("matmul_nbits")));
}

// The last two axes, or with `batch` the first one behind those of the batch, or both.
Value Transposed(NodeContext& n, const Value& x, bool rows = true, bool batch = false) {
  if (!rows && !batch) return x;
  size_t rank = x->type.rank();
  TERN_CHECK(rank >= 2) << "a vector has no transpose";
  std::vector<int64_t> perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (rows) std::swap(perm[rank - 1], perm[rank - 2]);
  return n.Part("transpose", {x}, {{"perm", IntsAttr(perm)}});
}

Values FusedMatMul(NodeContext& n) {
  n.InputType(0);
  n.InputType(1);
  Value a = Transposed(n, n.input(0), n.Int("transA", 0), n.Int("transBatchA", 0));
  Value b = Transposed(n, n.input(1), n.Int("transB", 0), n.Int("transBatchB", 0));
  double alpha = n.Float("alpha", 1);
  if (alpha == 1) return n.Emit("matmul", {a, b});
  Value product = n.Part("matmul", {a, b});
  return n.Emit("mul", {product, n.builder().Scalar(product->type.dtype, alpha, "alpha")});
}

Values FusedConv(NodeContext& n) {
  ir::Attrs attrs;
  for (const Attribute& attribute : n.node().attributes) {
    if (attribute.kind == Attribute::Kind::kInts && attribute.name != "activation_params")
      attrs[std::string(attribute.name)] = IntsAttr(attribute.ints);
    if (attribute.name == "group") attrs["group"] = ffi::Any(attribute.i);
    if (attribute.name == "auto_pad") attrs["auto_pad"] = ffi::Any(std::string(attribute.s));
  }
  Value y = n.Part("conv", {n.input(0), n.input(1), n.input(2)}, attrs);
  y = Optional(n, y, "add", n.input(3));
  std::string activation = n.String("activation", "");
  const Attribute* params = n.node().Find("activation_params");
  auto param = [&](size_t i, double otherwise) {
    return params && i < params->floats.size() ? static_cast<double>(params->floats[i]) : otherwise;
  };
  if (activation.empty()) return n.Emit("identity", {y});
  if (activation == "Relu") return n.Emit("relu", {y});
  if (activation == "Tanh") return n.Emit("tanh", {y});
  if (activation == "Sigmoid") return n.Emit("sigmoid", {y});
  if (activation == "LeakyRelu")
    return n.Emit("leaky_relu", {y}, {{"alpha", ffi::Any(param(0, 0.01))}});
  if (activation == "HardSigmoid")
    return n.Emit("hard_sigmoid", {y},
                  {{"alpha", ffi::Any(param(0, 0.2))}, {"beta", ffi::Any(param(1, 0.5))}});
  if (activation == "Clip") {
    auto scalar = [&](double value, const char* name) {
      return n.builder().Scalar(y->type.dtype, value, name);
    };
    return n.Emit("clip",
                  {y, scalar(param(0, -INFINITY), "low"), scalar(param(1, INFINITY), "high")});
  }
  TERN_THROW(ValueError) << "activation " << activation
                         << " is not supported; Relu, Tanh, Sigmoid, LeakyRelu, HardSigmoid and "
                            "Clip are";
}

// ---- Normalization

ir::Attrs LastAxis(const NodeContext& n, double epsilon) {
  return {{"axis", ffi::Any(-1)}, {"epsilon", ffi::Any(n.Float("epsilon", epsilon))}};
}

// input + skip, normalized; that sum is the last output.
Values SkipNorm(NodeContext& n, const char* op, Values parameters, const Value& bias) {
  Value sum = Optional(n, n.Part("add", {n.input(0), n.input(1)}), "add", bias);
  parameters.insert(parameters.begin(), sum);
  for (size_t i : {1, 2})
    TERN_CHECK(!n.wants_output(i)) << "statistics are not supported as outputs";
  Values outputs = n.Emit(op, std::move(parameters), LastAxis(n, 1e-12));
  outputs.resize(3, outputs[0]);
  outputs.push_back(sum);
  return outputs;
}

Values SkipLayerNorm(NodeContext& n) {
  return SkipNorm(n, "layer_normalization", {n.input(2), n.input(3)}, n.input(4));
}
Values SkipSimplifiedLayerNorm(NodeContext& n) {
  return SkipNorm(n, "rms_normalization", {n.input(2)}, n.input(3));
}

// Of each of the batch, how many words the mask has; 0 without one.
Value CountedMask(NodeContext& n) {
  graph::Builder& b = n.builder();
  if (!n.input(7))
    return n.Part("constant_of_shape", {n.Part("shape", {n.input(0)}, {{"end", ffi::Any(1)}}),
                                        b.Scalar(DataType::Int(32), 0, "none")});
  Value seen = n.Part("equal", {n.input(7), b.Scalar(n.InputType(7).dtype, 1, "one")});
  return n.Part(
      "reduce_sum",
      {n.Part("cast", {seen}, {{"to", ffi::Any(std::string("int32"))}}), b.Ints({1}, "axes")},
      {{"keepdims", ffi::Any(0)}});
}

// Words, positions and segments, added and normalized.
Values EmbedLayerNorm(NodeContext& n) {
  n.InputType(0);
  Value words = n.Part("gather", {n.input(2), n.input(0)}), positions;
  if (n.input(8)) {
    positions = n.Part("gather", {n.input(3), n.input(8)});
  } else {
    Value length = n.Part("shape", {n.input(0)}, {{"start", ffi::Any(1)}});
    positions = n.Part("slice", {n.input(3), n.builder().Ints({0}, "start"), length,
                                 n.builder().Ints({0}, "axes")});
  }
  Value sum = n.Part("add", {words, positions});
  if (n.input(1) && n.input(4))
    sum = n.Part("add", {sum, n.Part("gather", {n.input(4), n.input(1)})});
  Values outputs = n.Emit("layer_normalization", {sum, n.input(5), n.input(6)}, LastAxis(n, 1e-12));
  outputs.push_back(n.wants_output(1) ? CountedMask(n) : outputs[0]);
  outputs.push_back(sum);
  return outputs;
}

// ---- Attention

Values RotaryEmbedding(NodeContext& n) {
  TERN_CHECK(n.Int("is_packed_batching", 0) == 0) << "is_packed_batching is not supported";
  int64_t heads = n.Int("num_heads", 0);
  // Without a number of heads their size is that of the caches.
  if (heads == 0 && n.InputType(0).rank() == 3 && n.InputType(2).rank() == 2) {
    std::optional<int64_t> all = ir::AsConstInt(n.InputType(0).shape[2]),
                           half = ir::AsConstInt(n.InputType(2).shape[1]);
    if (all && half && *half > 0) heads = *all / (2 * *half);
  }
  return n.Emit("rotary_embedding", {n.input(0), n.input(2), n.input(3), n.input(1)},
                {{"interleaved", ffi::Any(n.Int("interleaved", 0))},
                 {"num_heads", ffi::Any(heads)},
                 {"rotary_embedding_dim", ffi::Any(n.Int("rotary_embedding_dim", 0))}});
}

int64_t HeadSize(const Value& x) {
  std::optional<int64_t> size = ir::AsConstInt(x->type.shape.at(3));
  TERN_CHECK(size) << "the size of heads has to be known when compiling";
  return *size;
}

// Twice the size of the caches of cosines and sines.
int64_t RotatedOf(const Value& cache) {
  TERN_CHECK(cache && cache->type.rank() == 2) << "cos_cache is [positions, half of a head]";
  std::optional<int64_t> half = ir::AsConstInt(cache->type.shape[1]);
  TERN_CHECK(half) << "the size of cos_cache has to be known when compiling";
  return 2 * *half;
}

double ScaleOf(const NodeContext& n, const Value& q) {
  double given = n.Float("scale", 0);
  return given ? given : 1 / std::sqrt(static_cast<double>(HeadSize(q)));
}

// What is added to scores: 0 at keys that are there, the filter at others. A mask is [batch, keys]
// or [batch, queries, keys] of 1 and 0, or [batch]: how many keys there are, or [2 * batch]: where
// they end, and then where they begin.
Value KeyMask(NodeContext& n, const Value& mask, const Value& keys) {
  if (!mask) return {};
  graph::Builder& b = n.builder();
  Value seen = mask;
  size_t rank = mask->type.rank();
  if (rank == 1) {
    const ir::Expr &count = mask->type.shape[0], &batch = keys->type.shape[0];
    std::optional<int64_t> static_batch = ir::AsConstInt(batch);
    bool has_begins = static_batch && ir::IsConst(count, 2 * *static_batch);
    TERN_CHECK(has_begins || graph::SameExtent(count, batch))
        << "a mask of rank 1 has the length of each of the batch, or where its keys end and begin";
    Value all = n.Part("shape", {keys}, {{"start", ffi::Any(2)}, {"end", ffi::Any(3)}});
    Value steps = n.Part("range", {b.Scalar(DataType::Int(64), 0, "from"),
                                   n.Part("reshape", {all, b.Ints({}, "scalar")}),
                                   b.Scalar(DataType::Int(64), 1, "by")});
    Value places = n.Part("cast", {mask}, {{"to", ffi::Any(std::string("int64"))}});
    auto column = [&](int64_t begin, int64_t end) {
      Value part = places;
      if (has_begins)
        part = n.Part("slice", {places, b.Ints({begin}, "start"), b.Ints({end}, "end")});
      return n.Part("unsqueeze", {part, b.Ints({1}, "axes")});
    };
    seen = n.Part("less", {steps, column(0, static_batch.value_or(0))});
    if (has_begins)
      seen = n.Part("and", {seen, n.Part("greater_or_equal",
                                         {steps, column(*static_batch, 2 * *static_batch)})});
  }
  TERN_CHECK(rank <= 3) << "a mask is of rank 1, 2 or 3, not " << rank;
  std::vector<int64_t> axes = rank == 3 ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 2};
  seen = n.Part("unsqueeze", {seen, b.Ints(axes, "axes")});
  DataType type = keys->type.dtype;
  Value number = n.Part("cast", {seen}, {{"to", ffi::Any(type.str())}});
  Value less = n.Part("sub", {number, b.Scalar(type, 1, "one")});
  return n.Part("mul", {less, b.Scalar(type, -n.Float("mask_filter_value", -10000), "filter")});
}

// Of queries, keys and values of heads: with those of a past ahead, a mask of keys and what else is
// added to scores. The keys and values that there are now are put into `present`.
Value AttentionOfHeads(NodeContext& n, Values qkv, const Value& past_k, const Value& past_v,
                       const Value& mask, const Value& bias, Values* present) {
  TERN_CHECK(!past_k == !past_v) << "past keys and values are given together";
  if (past_k) {
    qkv[1] = n.Part("concat", {past_k, qkv[1]}, {{"axis", ffi::Any(2)}});
    qkv[2] = n.Part("concat", {past_v, qkv[2]}, {{"axis", ffi::Any(2)}});
  }
  Value added = KeyMask(n, mask, qkv[1]);
  if (bias) added = added ? n.Part("add", {added, bias}) : bias;
  AttentionParts parts{qkv[0], qkv[1], qkv[2], added, {}, past_k};
  parts.scale = ScaleOf(n, qkv[0]);
  parts.mask_attrs = {{"causal", ffi::Any(n.Int("unidirectional", 0))}};
  *present = {qkv[1], qkv[2]};
  return JoinHeads(n, ScaledAttention(n, parts).output);
}

// Queries, keys and values as [batch, length, heads * size], of [batch, length, heads, 3, size], or
// of queries, and keys and values [batch, length, heads, 2, size]; or as they are given.
Values SeparateOperands(NodeContext& n) {
  Values qkv;
  for (size_t i = 0; i < 3 && qkv.size() < 3; ++i) {
    if (n.InputType(i).rank() != 5) {
      qkv.push_back(n.input(i));
      continue;
    }
    TERN_CHECK(ir::IsConst(n.InputType(i).shape[3], static_cast<int64_t>(3 - i)))
        << "extent 3 of packed operands is " << 3 - i;
    graph::Builder& b = n.builder();
    for (int64_t k = 0; qkv.size() < 3; ++k) {
      Value one =
          n.Part("gather", {n.input(i), b.Scalar(DataType::Int(64), static_cast<double>(k), "at")},
                 {{"axis", ffi::Any(3)}});
      qkv.push_back(n.Part("reshape", {one, b.Ints({0, 0, -1}, "shape")}));
    }
  }
  return qkv;
}

// Queries, keys and values, a bias of all three, and what is added to scores. Keys and values may
// be [batch, heads, length, size]; these have no bias.
Values MultiHeadAttention(NodeContext& n) {
  int64_t heads = n.Int("num_heads", 0);
  Values qkv = SeparateOperands(n), present;
  int64_t begin = 0;
  for (size_t i = 0; i < 3; ++i) {
    size_t rank = qkv[i]->type.rank();
    if (rank == 4 && i > 0) continue;
    TERN_CHECK(rank == 3) << "queries, keys and values are of rank 3, not " << rank;
    if (n.input(3)) {
      std::optional<int64_t> size = ir::AsConstInt(qkv[i]->type.shape[2]);
      TERN_CHECK(size) << "the size of heads has to be known when compiling";
      Value bias = n.Part("slice", {n.input(3), n.builder().Ints({begin}, "start"),
                                    n.builder().Ints({begin + *size}, "end")});
      qkv[i] = n.Part("add", {qkv[i], bias});
      begin += *size;
    }
    qkv[i] = SplitHeads(n, qkv[i], heads);
  }
  Value y = AttentionOfHeads(n, qkv, n.input(6), n.input(7), n.input(4), n.input(5), &present);
  return {n.Emit("identity", {y})[0], n.Part("identity", {present[0]}),
          n.Part("identity", {present[1]})};
}

// Of one product that is queries, keys and values. The past is [2, batch, heads, length, size].
Values AttentionOfProduct(NodeContext& n, const Value& product, const Value& mask,
                          const Value& past, const Value& bias) {
  graph::Builder& b = n.builder();
  int64_t heads = n.Int("num_heads", 0);
  ir::Attrs split{{"axis", ffi::Any(-1)}};
  Values operands{product};
  if (std::optional<std::vector<int64_t>> sizes = n.Ints("qkv_hidden_sizes")) {
    TERN_CHECK(sizes->size() == 3) << "qkv_hidden_sizes has 3 elements, not " << sizes->size();
    operands.push_back(b.Ints(*sizes, "sizes"));
  } else {
    split["num_outputs"] = ffi::Any(3);
  }
  Values qkv = b.Add(graph::GetOp("split"), operands, split, {}), pasts(2), present;
  for (Value& value : qkv) value = SplitHeads(n, value, heads);
  for (size_t i = 0; past && i < 2; ++i)
    pasts[i] = n.Part("gather", {past, b.Scalar(DataType::Int(64), static_cast<double>(i), "at")},
                      {{"axis", ffi::Any(0)}});
  Value y = AttentionOfHeads(n, qkv, pasts[0], pasts[1], mask, bias, &present);
  Values outputs = n.Emit("identity", {y});
  if (!n.wants_output(1)) return outputs;
  for (Value& value : present) value = n.Part("unsqueeze", {value, b.Ints({0}, "axes")});
  outputs.push_back(n.Part("concat", present, {{"axis", ffi::Any(0)}}));
  return outputs;
}

// One matmul makes queries, keys and values.
Values PackedAttention(NodeContext& n) {
  TERN_CHECK(!n.Int("do_rotary", 0)) << "do_rotary is not supported";
  TERN_CHECK(!n.input(6)) << "past_sequence_length is not supported";
  n.InputType(0);
  n.InputType(1);
  Value all = Optional(n, n.Part("matmul", {n.input(0), n.input(1)}), "add", n.input(2));
  return AttentionOfProduct(n, all, n.input(3), n.input(4), n.input(5));
}

// Keys and values of a cache, which has room for as many as it had or for all: those of now are
// written behind the ones that each of the batch has.
Value Appended(NodeContext& n, const Value& past, const Value& now, const Value& starts,
               const Value& total) {
  if (!past) return now;
  ir::Attrs axis{{"axis", ffi::Any(2)}};
  Value room = n.Part("concat", {past, now}, axis);
  Value all = n.Part("tensor_scatter", {room, now, starts}, axis);
  graph::Builder& b = n.builder();
  Value had = n.Part("shape", {past}, {{"start", ffi::Any(2)}, {"end", ffi::Any(3)}});
  Value wanted = n.Part(
      "reshape",
      {n.Part("cast", {total}, {{"to", ffi::Any(std::string("int64"))}}), b.Ints({1}, "shape")});
  return n.Part("slice",
                {all, b.Ints({0}, "start"), n.Part("max", {had, wanted}), b.Ints({2}, "axes")});
}

// Causal attention whose heads share keys and values, with a cache; positions may be rotations.
Values GroupQueryAttention(NodeContext& n) {
  graph::Builder& b = n.builder();
  TERN_CHECK(n.InputType(0).rank() == 3) << "queries are [batch, length, heads * size]";
  int64_t heads = n.Int("num_heads", 0), shared = n.Int("kv_num_heads", 0);
  TERN_CHECK(heads > 0 && shared > 0) << "num_heads and kv_num_heads are positive";
  Values qkv{n.input(0), n.input(1), n.input(2)};
  if (!qkv[1]) {
    std::optional<int64_t> all = ir::AsConstInt(n.InputType(0).shape[2]);
    TERN_CHECK(all && *all % (heads + 2 * shared) == 0)
        << "packed queries, keys and values are heads of one size";
    int64_t size = *all / (heads + 2 * shared);
    Value sizes = b.Ints({heads * size, shared * size, shared * size}, "sizes");
    qkv = b.Add(graph::GetOp("split"), {n.input(0), sizes}, {{"axis", ffi::Any(-1)}}, {});
  }
  TERN_CHECK(qkv[2]) << "input value is missing";
  for (size_t i = 0; i < 3; ++i) qkv[i] = SplitHeads(n, qkv[i], i ? shared : heads);
  // seqlens_k is one less than the keys that there are.
  n.InputType(5);
  n.InputType(6);
  Value last = n.Part("reshape", {n.input(5), b.Ints({-1}, "shape")});
  last = n.Part("cast", {last}, {{"to", ffi::Any(std::string("int64"))}});
  Value lengths = n.Part("add", {last, b.Ints({1}, "one")});
  Value now = n.Part("shape", {n.input(0)}, {{"start", ffi::Any(1)}, {"end", ffi::Any(2)}});
  Value starts = n.Part("sub", {lengths, now});
  if (n.Int("do_rotary", 0)) {
    Value positions = n.input(9);
    if (!positions) {
      Value count = n.Part("reshape", {now, b.Ints({}, "scalar")});
      Value steps = n.Part("range", {b.Scalar(DataType::Int(64), 0, "from"), count,
                                     b.Scalar(DataType::Int(64), 1, "by")});
      Value column = n.Part("unsqueeze", {starts, b.Ints({1}, "axes")});
      positions = n.Part("add", {column, steps});
    }
    for (size_t i = 0; i < 2; ++i)
      qkv[i] = n.Part("rotary_embedding", {qkv[i], n.input(7), n.input(8), positions},
                      {{"interleaved", ffi::Any(n.Int("rotary_interleaved", 0))},
                       {"rotary_embedding_dim", ffi::Any(RotatedOf(n.input(7)))}});
  }
  AttentionParts parts{qkv[0],
                       Appended(n, n.input(3), qkv[1], starts, n.input(6)),
                       Appended(n, n.input(4), qkv[2], starts, n.input(6)),
                       n.input(10),
                       lengths,
                       {}};
  parts.scale = ScaleOf(n, qkv[0]);
  parts.softcap = n.Float("softcap", 0);
  parts.mask_attrs = {{"causal", ffi::Any(1)}};
  parts.sink = n.input(11);
  if (!parts.sink && n.Int("smooth_softmax", 0) == 1)
    parts.sink = n.builder().Scalar(qkv[0]->type.dtype, 0, "sink");
  // A window of w keys ends with the query's own.
  if (int64_t window = n.Int("local_window_size", -1); window > 0)
    parts.mask_attrs["left_window"] = ffi::Any(window - 1);
  Values outputs = n.Emit("identity", {JoinHeads(n, ScaledAttention(n, parts).output)});
  outputs.push_back(n.Part("identity", {parts.k}));
  outputs.push_back(n.Part("identity", {parts.v}));
  return outputs;
}

// ---- Quantized

Value Dequantized(NodeContext& n, size_t x) {
  return n.Part("dequantize_linear", {n.input(x), n.input(x + 1), n.input(x + 2)});
}

// By floats in between.
Values QLinearBinary(NodeContext& n, const char* op) {
  Value result = n.Part(op, {Dequantized(n, 0), Dequantized(n, 3)});
  return n.Emit("quantize_linear", {result, n.input(6), n.input(7)});
}
Values QLinearAdd(NodeContext& n) { return QLinearBinary(n, "add"); }
Values QLinearMul(NodeContext& n) { return QLinearBinary(n, "mul"); }

Values QLinearUnary(NodeContext& n, const char* op, const ir::Attrs& attrs = {}) {
  Value result = n.Part(op, {Dequantized(n, 0)}, attrs);
  return n.Emit("quantize_linear", {result, n.input(3), n.input(4)});
}
Values QLinearSigmoid(NodeContext& n) { return QLinearUnary(n, "sigmoid"); }
Values QLinearLeakyRelu(NodeContext& n) {
  return QLinearUnary(n, "leaky_relu", {{"alpha", ffi::Any(n.Float("alpha", 0.01))}});
}
Values QLinearGlobalAveragePool(NodeContext& n) {
  if (!n.Int("channels_last", 0)) return QLinearUnary(n, "global_average_pool");
  size_t rank = n.InputType(0).rank();
  TERN_CHECK(rank > 2) << "an image has more axes than " << rank;
  std::vector<int64_t> first{0, static_cast<int64_t>(rank) - 1}, last{0};
  for (size_t i = 1; i + 1 < rank; ++i) first.push_back(static_cast<int64_t>(i));
  for (size_t i = 2; i < rank; ++i) last.push_back(static_cast<int64_t>(i));
  last.push_back(1);
  Value x = n.Part("transpose", {n.input(0)}, {{"perm", IntsAttr(first)}});
  x = n.Part("dequantize_linear", {x, n.input(1), n.input(2)});
  Value mean =
      n.Part("quantize_linear", {n.Part("global_average_pool", {x}), n.input(3), n.input(4)});
  return n.Emit("transpose", {mean}, {{"perm", IntsAttr(last)}});
}

Values QLinearConcat(NodeContext& n) {
  Values parts;
  for (size_t i = 2; i < n.inputs().size(); i += 3) parts.push_back(Dequantized(n, i));
  Value all = n.Part("concat", parts, {{"axis", ffi::Any(n.Int("axis", 0))}});
  return n.Emit("quantize_linear", {all, n.input(0), n.input(1)});
}

Value AsFloat(NodeContext& n, const Value& x, const std::string& type) {
  return n.Part("cast", {x}, {{"to", ffi::Any(type)}});
}

Values MatMulIntegerToFloat(NodeContext& n) {
  n.InputType(2);
  n.InputType(3);
  Value sums = n.Part("matmul_integer", {n.input(0), n.input(1), n.input(4), n.input(5)});
  Value scale = n.Part("mul", {n.input(2), n.input(3)});
  Value y = n.Part("mul", {AsFloat(n, sums, TypeOf(n.input(2))), scale});
  return n.Emit("identity", {Optional(n, y, "add", n.input(6))});
}

Values DynamicQuantizeMatMul(NodeContext& n) {
  n.InputType(2);
  Values a = n.builder().Add(graph::GetOp("dynamic_quantize_linear"), {n.input(0)}, {}, {});
  Value sums = n.Part("matmul_integer", {a[0], n.input(1), a[2], n.input(3)});
  Value scale = n.Part("mul", {a[1], n.input(2)});
  Value y = n.Part("mul", {AsFloat(n, sums, TypeOf(n.input(2))), scale});
  return n.Emit("identity", {Optional(n, y, "add", n.input(4))});
}

// Attention whose product is of quantized tensors.
Values QAttention(NodeContext& n) {
  TERN_CHECK(!n.Int("do_rotary", 0)) << "do_rotary is not supported";
  for (size_t i : {0, 1, 3, 4}) n.InputType(i);
  Value sums = n.Part("matmul_integer", {n.input(0), n.input(1), n.input(6), n.input(7)});
  Value scale = n.Part("mul", {n.input(3), n.input(4)});
  Value all = n.Part("mul", {AsFloat(n, sums, TypeOf(n.input(3))), scale});
  all = Optional(n, all, "add", n.input(2));
  return AttentionOfProduct(n, all, n.input(5), n.input(8), {});
}

// A bias of int32 has the scale of the product.
Values QGemm(NodeContext& n) {
  for (size_t i : {0, 1, 3, 4}) n.InputType(i);
  Value a = n.Int("transA", 0) ? Transposed(n, n.input(0)) : n.input(0);
  Value b = n.Int("transB", 0) ? Transposed(n, n.input(3)) : n.input(3);
  Value sums = n.Part("matmul_integer", {a, b, n.input(2), n.input(5)});
  sums = Optional(n, sums, "add", n.input(6));
  Value scale = n.Part("mul", {n.input(1), n.input(4)});
  if (double alpha = n.Float("alpha", 1); alpha != 1)
    scale = n.Part("mul", {scale, n.builder().Scalar(scale->type.dtype, alpha, "alpha")});
  Value y = n.Part("mul", {AsFloat(n, sums, TypeOf(n.input(1))), scale});
  if (!n.input(7)) return n.Emit("identity", {y});
  return n.Emit("quantize_linear", {y, n.input(7), n.input(8)});
}

// ---- Quantized tables

// Bytes of two codes of 4 bits each, the first one in the low bits, as codes: twice as many along
// the last axis.
Value Nibbles(NodeContext& n, const Value& bytes) {
  auto rank = static_cast<int64_t>(bytes->type.rank());
  graph::Builder& builder = n.builder();
  Value low = n.Part("bit_and", {bytes, builder.Scalar(DataType::UInt(8), 15, "mask")});
  Value high = n.Part("bit_shift", {bytes, builder.Scalar(DataType::UInt(8), 4, "shift")},
                      {{"direction", ffi::Any(std::string("RIGHT"))}});
  Values parts;
  for (const Value& part : {low, high})
    parts.push_back(n.Part("unsqueeze", {part, builder.Ints({rank}, "axes")}));
  Value pairs = n.Part("concat", parts, {{"axis", ffi::Any(rank)}});
  std::vector<int64_t> shape(static_cast<size_t>(rank - 1), 0);
  shape.push_back(-1);
  return n.Part("reshape", {pairs, builder.Ints(shape, "shape")});
}

// Rows are chosen as they lie, and only these are unpacked.
Values GatherBlockQuantized(NodeContext& n) {
  const graph::TensorType &type = n.InputType(0), &indices = n.InputType(1);
  n.InputType(2);
  auto rank = static_cast<int64_t>(type.rank());
  int64_t bits = n.Int("bits", 4), axis = n.Int("gather_axis", 0),
          blocks = n.Int("quantize_axis", 1), size = n.Int("block_size", 128);
  TERN_CHECK(bits == 4 || bits == 8) << "bits is 4 or 8, not " << bits;
  for (int64_t* one : {&axis, &blocks}) {
    TERN_CHECK(*one >= -rank && *one < rank) << "axis " << *one << " is none of rank " << rank;
    if (*one < 0) *one += rank;
  }
  TERN_CHECK(axis != blocks) << "gather_axis and quantize_axis are the same";
  bool is_bytes = type.dtype == DataType::UInt(8), is_packed = is_bytes && bits == 4;
  TERN_CHECK(!is_packed || blocks == rank - 1) << "quantize_axis is the last one of packed data";
  auto chosen = [&](size_t i) {
    Value rows =
        n.Part("gather", {Unpacked(n, n.input(i)), n.input(1)}, {{"axis", ffi::Any(axis)}});
    return is_packed && i != 2 ? Nibbles(n, rows) : rows;
  };
  Value x = chosen(0), scales = chosen(2), zero_points = n.input(3) ? chosen(3) : Value();
  if (zero_points && is_packed) {
    // Rows of zero points are whole bytes.
    Value last = n.Part("shape", {scales});
    zero_points = n.Part("slice", {zero_points, n.builder().Ints({0}, "start"),
                                   n.Part("slice", {last, n.builder().Ints({-1}, "from"),
                                                    n.builder().Ints({INT64_MAX}, "to")}),
                                   n.builder().Ints({-1}, "axes")});
  }
  if (!zero_points && is_bytes) {
    x = n.Part("sub", {n.Part("cast", {x}, {{"to", ffi::Any(std::string("int32"))}}),
                       n.builder().Scalar(DataType::Int(32), bits == 4 ? 8 : 128, "middle")});
  }
  if (blocks > axis) blocks += static_cast<int64_t>(indices.rank()) - 1;
  return n.Emit("dequantize_linear", {x, scales, zero_points},
                {{"axis", ffi::Any(blocks)}, {"block_size", ffi::Any(size)}});
}

}  // namespace

const ConverterTable& MicrosoftTable() {
  static const ConverterTable table = {
      {"Attention", {.convert = PackedAttention}},
      {"BiasGelu", {.convert = BiasGelu}},
      {"DequantizeLinear", {"dequantize_linear"}},
      {"DynamicQuantizeMatMul", {.convert = DynamicQuantizeMatMul}},
      {"EmbedLayerNormalization", {.convert = EmbedLayerNorm}},
      {"FastGelu", {.convert = FastGelu}},
      {"FusedConv", {.convert = FusedConv}},
      {"FusedMatMul", {.convert = FusedMatMul}},
      {"GatherBlockQuantized", {.convert = GatherBlockQuantized}},
      {"Gelu", {"gelu"}},
      {"GroupQueryAttention", {.convert = GroupQueryAttention}},
      {"MatMulIntegerToFloat", {.convert = MatMulIntegerToFloat}},
      {"MatMulNBits", {.convert = MatMulNBits}},
      {"MultiHeadAttention", {.convert = MultiHeadAttention}},
      {"QAttention", {.convert = QAttention}},
      {"QGemm", {.convert = QGemm}},
      {"QLinearAdd", {.convert = QLinearAdd}},
      {"QLinearConcat", {.convert = QLinearConcat}},
      {"QLinearGlobalAveragePool", {.convert = QLinearGlobalAveragePool}},
      {"QLinearLeakyRelu", {.convert = QLinearLeakyRelu}},
      {"QLinearMul", {.convert = QLinearMul}},
      {"QLinearSigmoid", {.convert = QLinearSigmoid}},
      {"QuantizeLinear", {"quantize_linear"}},
      {"QuickGelu", {.convert = QuickGelu}},
      {"RotaryEmbedding", {.convert = RotaryEmbedding}},
      {"SimplifiedLayerNormalization", {.convert = SimplifiedLayerNorm}},
      {"SkipLayerNormalization", {.convert = SkipLayerNorm}},
      {"SkipSimplifiedLayerNormalization", {.convert = SkipSimplifiedLayerNorm}},
  };
  return table;
}

}  // namespace tern::frontend::onnx
