// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/converters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tern/ffi/text.h"
#include "tern/frontend/onnx/converter_table.h"
#include "tern/graph/custom_op.h"

namespace tern::frontend::onnx {

ffi::Any IntsAttr(const std::vector<int64_t>& ints) {
  return ffi::Any(ffi::MakeArray({ints.begin(), ints.end()}));
}

Value Unpacked(graph::Builder* builder, const Value& value) {
  if (!value || !value->type.dtype.is_packed()) return value;
  DataType from = value->type.dtype;
  DataType to = from.is_float() ? DataType::Float(32)
                : from.is_int() ? DataType::Int(8)
                                : DataType::UInt(8);
  if (!value->constant) return builder->Add("cast", {value}, {{"to", ffi::Any(to.str())}});
  const ir::ConstantNode& constant = *value->constant.get();
  std::string bytes(static_cast<size_t>(constant.num_elements() * to.bytes()), '\0');
  for (int64_t i = 0; i < constant.num_elements(); ++i) {
    ir::Expr element = ir::LoadElement(from, constant.data(), constant.is_splat ? 0 : i);
    std::optional<int64_t> integer = ir::AsConstInt(element);
    const auto* number = element.As<ir::FloatImmNode>();
    double plain = number ? number->value : static_cast<double>(*integer);
    ir::StoreElement(to, ir::MakeConst(to, plain), bytes.data(), i);
  }
  return builder->Constant(ir::Constant::Owned(builder->UnusedName(constant.name), to,
                                               constant.shape, std::move(bytes)));
}
Value Unpacked(NodeContext& n, const Value& value) { return Unpacked(&n.builder(), value); }

std::string TypeName(int64_t number) {
  auto type = static_cast<ElemType>(number);
  std::optional<DataType> dtype = DataTypeOf(type);
  if (!dtype) TERN_THROW(ValueError) << NameOf(type) << " is no type of elements that is supported";
  return dtype->str();
}

namespace {

// ---- Operators that need more than their name

// A tensor, or strings.
Items Constant(NodeContext& n) {
  graph::Builder& builder = n.builder();
  std::string wish(n.node().outputs.at(0));
  TERN_CHECK(n.node().attributes.size() == 1) << "a constant has one attribute";
  const Attribute& attribute = n.node().attributes[0];
  if (attribute.name == "value")
    return {ItemOf(&builder, attribute.tensors.at(0), wish, n.file_name())};
  if (attribute.name == "value_int")
    return ItemsOf({builder.Scalar(DataType::Int(64), static_cast<double>(attribute.i), wish)});
  if (attribute.name == "value_float")
    return ItemsOf({builder.Scalar(DataType::Float(32), attribute.f, wish)});
  if (attribute.name == "value_ints") return ItemsOf({builder.Ints(attribute.ints, wish)});
  if (attribute.name == "value_floats") return ItemsOf({n.Floats(attribute.floats, wish)});
  TERN_THROW(ValueError) << "constants of the form " << attribute.name << " are not supported";
}

Values ConstantOfShape(NodeContext& n) {
  Value value;
  if (const Attribute* attribute = n.node().Find("value"))
    value = ConstantOf(&n.builder(), attribute->tensors.at(0), "fill", n.file_name());
  return n.Emit("constant_of_shape", {n.input(0), value});
}

// Types of less than a byte, and those that we have none of, are computed in wider ones.
bool IsNarrow(ElemType type) {
  std::optional<DataType> dtype = DataTypeOf(type);
  return (dtype && dtype->is_packed()) || DecodedTypeOf(type).has_value();
}

// The type that an input has in the model, where ours is a wider one, or one of 4 bits.
ElemType NarrowTypeOf(const NodeContext& n, size_t i) {
  if (!n.input(i)) return ElemType::kUndefined;
  DataType dtype = n.input(i)->type.dtype;
  if (dtype.is_packed())
    return dtype.is_float() ? ElemType::kFloat4E2M1
           : dtype.is_int() ? ElemType::kInt4
                            : ElemType::kUInt4;
  return n.item(i).elem;
}

Values NarrowedTo(NodeContext& n, const Value& x, ElemType type) {
  return n.Emit("narrow", {x},
                {{"to", ffi::Any(NameOf(type))},
                 {"saturate", ffi::Any(n.Int("saturate", 1))},
                 {"round_mode", ffi::Any(n.String("round_mode", "up"))}});
}

Values CastTo(NodeContext& n, const std::string& type) {
  return n.Emit("cast", {Unpacked(n, n.input(0))},
                {{"to", ffi::Any(type)}, {"saturate", ffi::Any(n.Int("saturate", 1))}});
}
Values Cast(NodeContext& n) {
  TERN_CHECK(n.Has("to")) << "attribute to is missing";
  auto type = static_cast<ElemType>(n.Int("to", 0));
  n.InputType(0);
  if (type == ElemType::kString) return {TextOf(n, Unpacked(n, n.input(0)))};
  if (IsNarrow(type)) return NarrowedTo(n, Unpacked(n, n.input(0)), type);
  return CastTo(n, TypeName(n.Int("to", 0)));
}
Values CastLike(NodeContext& n) {
  ElemType type = NarrowTypeOf(n, 1);
  n.InputType(0);
  if (IsNarrow(type)) return NarrowedTo(n, Unpacked(n, n.input(0)), type);
  return CastTo(n, n.InputType(1).dtype.str());
}

// The zero point says the type.
Values QuantizeLinear(NodeContext& n) {
  auto type = static_cast<ElemType>(n.Int("output_dtype", 0));
  if (n.input(2)) type = NarrowTypeOf(n, 2);
  if (!IsNarrow(type)) return n.EmitSame("quantize_linear");
  ir::Attrs attrs{{"axis", ffi::Any(n.Int("axis", 1))},
                  {"block_size", ffi::Any(n.Int("block_size", 0))},
                  {"saturate", ffi::Any(n.Int("saturate", 1))},
                  {"narrow", ffi::Any(NameOf(type))}};
  return n.Emit("quantize_linear", {n.input(0), n.input(1), Unpacked(n, n.input(2))}, attrs);
}

Values DequantizeLinear(NodeContext& n) {
  return n.Emit("dequantize_linear", {Unpacked(n, n.input(0)), n.input(1), Unpacked(n, n.input(2))},
                n.AttrsFor(graph::GetOp("dequantize_linear")));
}

Values Clip(NodeContext& n) {
  if (n.opset() >= 11) return n.Emit("clip", n.inputs());
  DataType dtype = n.InputType(0).dtype;
  constexpr double kMost = std::numeric_limits<float>::max();
  Value low, high;
  if (n.Has("min")) low = n.builder().Scalar(dtype, n.Float("min", -kMost), "low");
  if (n.Has("max")) high = n.builder().Scalar(dtype, n.Float("max", kMost), "high");
  return n.Emit("clip", {n.input(0), low, high});
}

// Before opset 13 the tensor is a matrix: the axes before `axis`, and the others.
Values SoftmaxLike(NodeContext& n, const char* op) {
  Value x = n.input(0);
  auto rank = static_cast<int64_t>(n.InputType(0).rank());
  int64_t axis = n.Int("axis", n.opset() >= 13 ? -1 : 1);
  if (axis < 0) axis += rank;
  if (n.opset() >= 13 || axis == rank - 1) return n.Emit(op, {x}, {{"axis", ffi::Any(axis)}});
  Value matrix = n.Part("flatten", {x}, {{"axis", ffi::Any(axis)}});
  Value rows = n.Part(op, {matrix}, {{"axis", ffi::Any(1)}});
  return n.Emit("reshape", {rows, n.Part("shape", {x})});
}
Values Softmax(NodeContext& n) { return SoftmaxLike(n, "softmax"); }
Values LogSoftmax(NodeContext& n) { return SoftmaxLike(n, "log_softmax"); }
Values Hardmax(NodeContext& n) { return SoftmaxLike(n, "hardmax"); }

// Axes are an attribute before `since`, and an input from then on.
Value AxesInput(NodeContext& n, int64_t since, const char* name = "axes") {
  if (n.opset() >= since) return n.input(1);
  auto axes = n.Ints(name);
  return axes ? n.builder().Ints(*axes, name) : Value();
}

Values Squeeze(NodeContext& n) { return n.Emit("squeeze", {n.input(0), AxesInput(n, 13)}); }
Values Unsqueeze(NodeContext& n) { return n.Emit("unsqueeze", {n.input(0), AxesInput(n, 13)}); }

template <int64_t Since>
Values Reduce(NodeContext& n, const char* op) {
  ir::Attrs attrs{{"keepdims", ffi::Any(n.Int("keepdims", 1))}};
  if (n.Int("noop_with_empty_axes", 0)) attrs["noop_with_empty_axes"] = ffi::Any(1);
  return n.Emit(op, {n.input(0), AxesInput(n, Since)}, attrs);
}
Values ReduceSum(NodeContext& n) { return Reduce<13>(n, "reduce_sum"); }
Values ReduceMean(NodeContext& n) { return Reduce<18>(n, "reduce_mean"); }
Values ReduceMax(NodeContext& n) { return Reduce<18>(n, "reduce_max"); }
Values ReduceMin(NodeContext& n) { return Reduce<18>(n, "reduce_min"); }
Values ReduceProd(NodeContext& n) { return Reduce<18>(n, "reduce_prod"); }
Values ReduceSumSquare(NodeContext& n) { return Reduce<18>(n, "reduce_sum_square"); }
Values ReduceL1(NodeContext& n) { return Reduce<18>(n, "reduce_l1"); }
Values ReduceL2(NodeContext& n) { return Reduce<18>(n, "reduce_l2"); }
Values ReduceLogSum(NodeContext& n) { return Reduce<18>(n, "reduce_log_sum"); }
Values ReduceLogSumExp(NodeContext& n) { return Reduce<18>(n, "reduce_log_sum_exp"); }

Values Slice(NodeContext& n) {
  if (n.opset() >= 10) return n.Emit("slice", n.inputs());
  auto input = [&](const char* name) {
    auto ints = n.Ints(name);
    return ints ? n.builder().Ints(*ints, name) : Value();
  };
  return n.Emit("slice", {n.input(0), input("starts"), input("ends"), input("axes")});
}

Values Split(NodeContext& n) {
  ir::Attrs attrs{{"axis", ffi::Any(n.Int("axis", 0))}};
  Value sizes = AxesInput(n, 13, "split");
  if (!sizes) attrs["num_outputs"] = ffi::Any(static_cast<int64_t>(n.node().outputs.size()));
  return n.Emit("split", {n.input(0), sizes}, attrs);
}

Values Pad(NodeContext& n) {
  ir::Attrs attrs{{"mode", ffi::Any(n.String("mode", "constant"))}};
  if (n.opset() >= 11) return n.Emit("pad", n.inputs(), attrs);
  auto pads = n.Ints("pads");
  TERN_CHECK(pads) << "attribute pads is missing";
  Value value = n.builder().Scalar(n.InputType(0).dtype, n.Float("value", 0), "value");
  return n.Emit("pad", {n.input(0), n.builder().Ints(*pads, "pads"), value}, attrs);
}

Values Pool(NodeContext& n, const char* op) {
  TERN_CHECK(n.Has("kernel_shape")) << "attribute kernel_shape is missing";
  return n.Emit(op, n.inputs(), n.AttrsFor(graph::GetOp(op)));
}
Values AveragePool(NodeContext& n) { return Pool(n, "average_pool"); }
Values LpPool(NodeContext& n) { return Pool(n, "lp_pool"); }
Values MaxUnpool(NodeContext& n) { return Pool(n, "max_unpool"); }

// The axis is an attribute before opset 20.
Values Dft(NodeContext& n) {
  ir::Attrs attrs{{"inverse", ffi::Any(n.Int("inverse", 0))},
                  {"onesided", ffi::Any(n.Int("onesided", 0))}};
  if (n.opset() >= 20) return n.Emit("dft", n.inputs(), attrs);
  Value axis = n.builder().Ints({n.Int("axis", 1)}, "axis");
  return n.Emit("dft", {n.input(0), n.input(1), axis}, attrs);
}

// Modes had other names before opset 20.
Values GridSample(NodeContext& n) {
  ir::Attrs attrs = n.AttrsFor(graph::GetOp("grid_sample"));
  std::string mode = n.String("mode", "linear");
  attrs["mode"] = ffi::Any(mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode);
  return n.Emit("grid_sample", n.inputs(), attrs);
}

Values RoiAlign(NodeContext& n) {
  ir::Attrs attrs = n.AttrsFor(graph::GetOp("roi_align"));
  if (n.opset() < 16)
    attrs["coordinate_transformation_mode"] = ffi::Any(std::string("output_half_pixel"));
  return n.Emit("roi_align", n.inputs(), attrs);
}

std::string Without(const std::string& labels, const std::string& others) {
  std::string rest;
  for (char label : labels)
    if (others.find(label) == std::string::npos) rest += label;
  return rest;
}

Value TransposedLabels(NodeContext& n, const Value& x, const std::string& from,
                       const std::string& to) {
  if (from == to) return x;
  std::vector<ffi::Any> perm;
  for (char label : to) perm.emplace_back(static_cast<int64_t>(from.find(label)));
  return n.Part("transpose", {x}, {{"perm", ffi::Any(ffi::MakeArray(std::move(perm)))}});
}

// A product of matrices for each of several batch axes (heads of a batch) has these first, and is
// then the product that rules take with the softmax behind it as attention. Other equations stay.
//
//   "aecd,abcd->acbe"  ->  "acbd,aced->acbe"             keys and queries, as Keras has them
//   "acbe,aecd->abcd"  ->  "acbe,aced->acbd", transposed
Values Einsum(NodeContext& n) {
  std::string equation = Without(n.String("equation", ""), " ");
  auto as_written = [&] {
    return n.Emit("einsum", n.inputs(), {{"equation", ffi::Any(equation)}});
  };
  size_t comma = equation.find(','), arrow = equation.find("->");
  if (n.inputs().size() != 2 || comma == std::string::npos || arrow == std::string::npos ||
      arrow < comma || equation.find('.') != std::string::npos)
    return as_written();
  std::string terms[] = {equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1)};
  std::string result = equation.substr(arrow + 2), single = Without(result, terms[0]);
  single += Without(result, terms[1]);  // axes of one operand
  std::string batch = Without(result, single);
  size_t rank = batch.size() + 2;
  auto has_rank = [&](size_t i) {
    std::string inner = Without(terms[i], result);
    return terms[i].size() == rank && n.input(i)->type.rank() == rank && inner.size() == 1 &&
           inner == Without(terms[1 - i], result);
  };
  if (batch.size() < 2 || single.size() != 2 || result.size() != rank || !has_rank(0) ||
      !has_rank(1))
    return as_written();
  // The operand whose axis comes first in the result.
  size_t first = terms[0].find(Without(result, batch)[0]) != std::string::npos ? 0 : 1;
  std::string ordered[2];
  Value operands[2];
  for (size_t i : {0, 1}) {
    const std::string& term = terms[first ^ i];
    ordered[i] = batch + Without(term, batch);
    operands[i] = TransposedLabels(n, n.input(first ^ i), term, ordered[i]);
  }
  std::string made = batch + Without(result, batch);
  ir::Attrs attrs{{"equation", ffi::Any(ordered[0] + "," + ordered[1] + "->" + made)}};
  if (made == result) return n.Emit("einsum", {operands[0], operands[1]}, attrs);
  return {TransposedLabels(n, n.Part("einsum", {operands[0], operands[1]}, attrs), made, result)};
}

Values Mean(NodeContext& n) {
  Value sum = n.Part("sum", n.inputs());
  Value count =
      n.builder().Scalar(sum->type.dtype, static_cast<double>(n.inputs().size()), "count");
  return n.Emit("div", {sum, count});
}

// Before opset 11 there are no sizes, and one way to count.
Values Resize(NodeContext& n) {
  ir::Attrs attrs = n.AttrsFor(graph::GetOp("resize"));
  if (n.opset() >= 11)
    return n.Emit("resize", {n.input(0), n.input(2), n.input(3), n.input(1)}, attrs);
  attrs["coordinate_transformation_mode"] = ffi::Any(std::string("asymmetric"));
  attrs["nearest_mode"] = ffi::Any(std::string("floor"));
  Value scales = n.input(1);
  if (const Attribute* given = n.node().Find("scales")) scales = n.Floats(given->floats, "scales");
  return n.Emit("resize", {n.input(0), scales}, attrs);
}

// A factor, and a summand for each channel.
Values ImageScaler(NodeContext& n) {
  Value x = n.input(0);
  Value factor = n.builder().Scalar(n.InputType(0).dtype, n.Float("scale", 1), "scale");
  Value scaled = n.Part("mul", {x, factor});
  const Attribute* bias = n.node().Find("bias");
  if (!bias) return n.Emit("identity", {scaled});
  Value summand =
      n.Part("unsqueeze", {n.Floats(bias->floats, "bias"), n.builder().Ints({1, 2}, "axes")});
  return n.Emit("add", {scaled, summand});
}

// LSTM, GRU, RNN: what we call alpha and beta are ONNX's activation_alpha and activation_beta.
Values Recurrent(NodeContext& n, const char* op) {
  ir::Attrs attrs{{"direction", ffi::Any(n.String("direction", "forward"))},
                  {"clip", ffi::Any(n.Float("clip", 0))},
                  {"layout", ffi::Any(n.Int("layout", 0))}};
  for (const char* name : {"input_forget", "linear_before_reset"})
    if (n.Has(name)) attrs[name] = ffi::Any(n.Int(name, 0));
  for (const char* name : {"alpha", "beta"})
    if (const Attribute* given = n.node().Find("activation_" + std::string(name)))
      attrs[name] = ffi::Any(ffi::MakeArray({given->floats.begin(), given->floats.end()}));
  if (const Attribute* given = n.node().Find("activations"))
    attrs["activations"] = ffi::Any(ffi::Join({given->strings.begin(), given->strings.end()}));
  return n.Emit(op, n.inputs(), attrs);
}
Values Lstm(NodeContext& n) { return Recurrent(n, "lstm"); }
Values Gru(NodeContext& n) { return Recurrent(n, "gru"); }
Values Rnn(NodeContext& n) { return Recurrent(n, "rnn"); }

// Floats that are not known cannot be read by the program; how many they make can.
Values Range(NodeContext& n) {
  bool known = true;
  for (size_t i = 0; i < 3; ++i) {
    n.InputType(i);
    known = known && n.input(i)->content;
  }
  if (known || !n.InputType(0).dtype.is_float()) return n.Emit("range", n.inputs());
  Value count = n.Part("range_count", n.inputs());
  return n.Emit("range_of", {n.input(0), n.input(2), count});
}

// Before opset 10 k is an attribute.
Values TopK(NodeContext& n) {
  Value k = n.opset() >= 10 ? n.input(1) : n.builder().Ints({n.Int("k", 1)}, "k");
  ir::Attrs attrs{{"axis", ffi::Any(n.Int("axis", -1))}};
  for (const char* name : {"largest", "sorted"}) attrs[name] = ffi::Any(n.Int(name, 1));
  return n.Emit("top_k", {n.input(0), k}, attrs);
}

// ---- The table

const ConverterTable& Table() {
  static const ConverterTable table = {
      {"Abs", {"abs"}},
      {"Acos", {"acos"}},
      {"Acosh", {"acosh"}},
      {"Add", {"add"}},
      {"AffineGrid", {"affine_grid"}},
      {"And", {"and"}},
      {"ArgMax", {"arg_max"}},
      {"ArgMin", {"arg_min"}},
      {"Asin", {"asin"}},
      {"Asinh", {"asinh"}},
      {"Atan", {"atan"}},
      {"Atanh", {"atanh"}},
      {"Attention", {.convert = Attention}},
      {"AveragePool", {.convert = AveragePool}},
      {"BatchNormalization", {.convert = BatchNorm}},
      {"Bernoulli", {.convert = RandomOp}},
      {"BitCast", {"bit_cast"}},
      {"BitShift", {"bit_shift"}},
      {"BitwiseAnd", {"bit_and"}},
      {"BitwiseNot", {"bit_not"}},
      {"BitwiseOr", {"bit_or"}},
      {"BitwiseXor", {"bit_xor"}},
      {"BlackmanWindow", {"blackman_window"}},
      {"Cast", {.convert = Cast, .convert_items = CastOfStrings}},
      {"CastLike", {.convert = CastLike, .convert_items = CastLikeOfStrings}},
      {"CausalConvWithState", {.convert = CausalConvWithState}},
      {"Ceil", {"ceil"}},
      {"Celu", {"celu"}},
      {"CenterCropPad", {"center_crop_pad"}},
      {"Clip", {.convert = Clip}},
      {"Compress", {"compress"}},
      {"Col2Im", {"col2im"}},
      {"Concat", {"concat"}},
      {"ConcatFromSequence", {.convert_items = ConcatFromSequence}},
      {"Constant", {.convert_items = Constant}},
      {"ConstantOfShape", {.convert = ConstantOfShape}},
      {"Conv", {"conv"}},
      {"ConvInteger", {"conv_integer"}},
      {"ConvTranspose", {"conv_transpose"}},
      {"Cos", {"cos"}},
      {"Cosh", {"cosh"}},
      {"CumProd", {"cum_prod"}},
      {"CumSum", {"cum_sum"}},
      {"DFT", {.convert = Dft}},
      {"DeformConv", {"deform_conv"}},
      {"DepthToSpace", {"depth_to_space"}},
      {"DequantizeLinear", {.convert = DequantizeLinear}},
      {"Det", {"det"}},
      {"Div", {"div"}},
      {"Dropout", {.convert = Dropout}},
      {"DynamicQuantizeLinear", {"dynamic_quantize_linear"}},
      {"Einsum", {.convert = Einsum}},
      {"Elu", {"elu"}},
      {"Equal", {.same = "equal", .convert_items = EqualStrings}},
      {"Erf", {"erf"}},
      {"Exp", {"exp"}},
      {"Expand", {"expand"}},
      {"EyeLike", {"eye_like"}},
      {"Flatten", {"flatten"}},
      {"Floor", {"floor"}},
      {"Gather", {"gather"}},
      {"GRU", {.convert = Gru}},
      {"GatherElements", {"gather_elements"}},
      {"GatherND", {"gather_nd"}},
      {"Gelu", {"gelu"}},
      {"Gemm", {"gemm"}},
      {"GlobalAveragePool", {"global_average_pool"}},
      {"GlobalLpPool", {"global_lp_pool"}},
      {"GlobalMaxPool", {"global_max_pool"}},
      {"Greater", {"greater"}},
      {"GreaterOrEqual", {"greater_or_equal"}},
      {"GridSample", {.convert = GridSample}},
      {"GroupNormalization", {"group_normalization"}},
      {"HammingWindow", {"hamming_window"}},
      {"HannWindow", {"hann_window"}},
      {"HardSigmoid", {"hard_sigmoid"}},
      {"HardSwish", {"hard_swish"}},
      {"Hardmax", {.convert = Hardmax}},
      {"Identity", {.same = "identity", .convert_items = PassThrough}},
      {"ImageScaler", {.convert = ImageScaler}},
      {"InstanceNormalization", {"instance_normalization"}},
      {"IsInf", {"isinf"}},
      {"IsNaN", {"isnan"}},
      {"LRN", {"lrn"}},
      {"LSTM", {.convert = Lstm}},
      {"LayerNormalization", {.convert = LayerNorm}},
      {"LeakyRelu", {"leaky_relu"}},
      {"Less", {"less"}},
      {"LessOrEqual", {"less_or_equal"}},
      {"LinearAttention", {.convert = LinearAttention}},
      {"Log", {"log"}},
      {"LogSoftmax", {.convert = LogSoftmax}},
      {"LpNormalization", {"lp_normalization"}},
      {"LpPool", {.convert = LpPool}},
      {"MatMul", {"matmul"}},
      {"MatMulInteger", {"matmul_integer"}},
      {"Max", {"max"}},
      {"MaxPool", {.convert = MaxPool}},
      {"MaxRoiPool", {"max_roi_pool"}},
      {"MaxUnpool", {.convert = MaxUnpool}},
      {"Mean", {.convert = Mean}},
      {"MeanVarianceNormalization", {"mean_variance_normalization"}},
      {"MelWeightMatrix", {"mel_weight_matrix"}},
      {"Min", {"min"}},
      {"Mish", {"mish"}},
      {"Mod", {"mod"}},
      {"Mul", {"mul"}},
      {"Multinomial", {.convert = RandomOp}},
      {"Neg", {"neg"}},
      {"NonMaxSuppression", {"non_max_suppression"}},
      {"NonZero", {"non_zero"}},
      {"NegativeLogLikelihoodLoss", {"negative_log_likelihood_loss"}},
      {"Not", {"not"}},
      {"OneHot", {"one_hot"}},
      {"Optional", {.convert_items = Optional}},
      {"OptionalGetElement", {.convert_items = OptionalGetElement}},
      {"OptionalHasElement", {.convert_items = OptionalHasElement}},
      {"Or", {"or"}},
      {"PRelu", {"prelu"}},
      {"Pad", {.convert = Pad}},
      {"Pow", {"pow"}},
      {"RNN", {.convert = Rnn}},
      {"Range", {.convert = Range}},
      {"QLinearConv", {"qlinear_conv"}},
      {"QLinearMatMul", {"qlinear_matmul"}},
      {"QuantizeLinear", {.convert = QuantizeLinear}},
      {"RMSNormalization", {"rms_normalization"}},
      {"RandomNormal", {.convert = RandomOp}},
      {"RandomNormalLike", {.convert = RandomOp}},
      {"RandomUniform", {.convert = RandomOp}},
      {"RandomUniformLike", {.convert = RandomOp}},
      {"Reciprocal", {"reciprocal"}},
      {"ReduceL1", {.convert = ReduceL1}},
      {"ReduceL2", {.convert = ReduceL2}},
      {"ReduceLogSum", {.convert = ReduceLogSum}},
      {"ReduceLogSumExp", {.convert = ReduceLogSumExp}},
      {"ReduceMax", {.convert = ReduceMax}},
      {"ReduceMean", {.convert = ReduceMean}},
      {"ReduceMin", {.convert = ReduceMin}},
      {"ReduceProd", {.convert = ReduceProd}},
      {"ReduceSum", {.convert = ReduceSum}},
      {"ReduceSumSquare", {.convert = ReduceSumSquare}},
      {"Relu", {"relu"}},
      {"Reshape", {"reshape"}},
      {"Resize", {.convert = Resize}},
      {"ReverseSequence", {"reverse_sequence"}},
      {"RoiAlign", {.convert = RoiAlign}},
      {"RotaryEmbedding", {"rotary_embedding"}},
      {"Round", {"round"}},
      {"STFT", {"stft"}},
      {"Scatter", {"scatter_elements"}},
      {"ScatterElements", {"scatter_elements"}},
      {"ScatterND", {"scatter_nd"}},
      {"Selu", {"selu"}},
      {"SequenceAt", {.convert_items = SequenceAt}},
      {"SequenceConstruct", {.convert_items = SequenceConstruct}},
      {"SequenceEmpty", {.convert_items = SequenceEmpty}},
      {"SequenceErase", {.convert_items = SequenceErase}},
      {"SequenceInsert", {.convert_items = SequenceInsert}},
      {"SequenceLength", {.convert_items = SequenceLength}},
      {"SequenceMap", {.convert_items = SequenceMap}},
      {"Shape", {"shape"}},
      {"Shrink", {"shrink"}},
      {"Sigmoid", {"sigmoid"}},
      {"Sign", {"sign"}},
      {"SimplifiedLayerNormalization", {.convert = SimplifiedLayerNorm}},
      {"Sin", {"sin"}},
      {"Sinh", {"sinh"}},
      {"Size", {"size"}},
      {"Slice", {.convert = Slice}},
      {"Softmax", {.convert = Softmax}},
      {"SoftmaxCrossEntropyLoss", {.convert = SoftmaxCrossEntropyLoss}},
      {"Softplus", {"softplus"}},
      {"Softsign", {"softsign"}},
      {"SpaceToDepth", {"space_to_depth"}},
      {"Split", {.convert = Split}},
      {"SplitToSequence", {.convert_items = SplitToSequence}},
      {"Sqrt", {"sqrt"}},
      {"Squeeze", {.convert = Squeeze}},
      {"Sub", {"sub"}},
      {"Sum", {"sum"}},
      {"SwiGLU", {.convert = SwiGlu}},
      {"Swish", {"swish"}},
      {"Tan", {"tan"}},
      {"Tanh", {"tanh"}},
      {"TensorScatter", {"tensor_scatter"}},
      {"TfIdfVectorizer", {.convert = TfIdfVectorizer}},
      {"ThresholdedRelu", {"thresholded_relu"}},
      {"Tile", {"tile"}},
      {"TopK", {.convert = TopK}},
      {"Transpose", {"transpose"}},
      {"Unique", {"unique"}},
      {"Trilu", {"trilu"}},
      {"Unsqueeze", {.convert = Unsqueeze}},
      {"Upsample", {.convert = Resize}},
      {"Where", {"where"}},
      {"Xor", {"xor"}},
  };
  return table;
}

// Said by exporters, and without a meaning for what is computed.
bool IsIgnored(std::string_view attribute) {
  static const std::set<std::string_view> ignored = {
      "broadcast", "consumed_inputs", "storage_order", "is_test", "spatial",  "momentum",  "ratio",
      "seed",      "training_mode",   "stash_type",    "axis_w",  "saturate", "round_mode"};
  return ignored.contains(attribute);
}

}  // namespace

const graph::TensorType& NodeContext::InputType(size_t i) const {
  TERN_CHECK(input(i)) << "input " << i << " is missing";
  return inputs_[i]->type;
}

const Graph& NodeContext::InnerGraph(std::string_view attribute) const {
  const Attribute* found = node_.Find(attribute);
  TERN_CHECK(found && found->graphs.size() == 1) << "attribute " << attribute << " is missing";
  return found->graphs[0];
}

int64_t NodeContext::Int(std::string_view name, int64_t otherwise) const {
  const Attribute* attribute = node_.Find(name);
  return attribute ? attribute->i : otherwise;
}

double NodeContext::Float(std::string_view name, double otherwise) const {
  const Attribute* attribute = node_.Find(name);
  return attribute ? attribute->f : otherwise;
}

std::string NodeContext::String(std::string_view name, std::string otherwise) const {
  const Attribute* attribute = node_.Find(name);
  return attribute ? std::string(attribute->s) : otherwise;
}

std::optional<std::vector<int64_t>> NodeContext::Ints(std::string_view name) const {
  const Attribute* attribute = node_.Find(name);
  return attribute ? std::optional(attribute->ints) : std::nullopt;
}

ir::Attrs NodeContext::AttrsFor(const graph::Op& op) const {
  ir::Attrs attrs;
  for (const Attribute& attribute : node_.attributes) {
    std::string name(attribute.name);
    auto spec = std::find_if(op.attrs.begin(), op.attrs.end(),
                             [&](const graph::AttrSpec& one) { return one.name == name; });
    if (spec == op.attrs.end()) {
      TERN_CHECK(IsIgnored(name)) << "attribute " << name << " is not supported";
      continue;
    }
    switch (attribute.kind) {
      case Attribute::Kind::kInt:
        // Types of elements are numbers there, and names here; 0 is none.
        if (spec->kind != graph::AttrKind::kString)
          attrs[name] = ffi::Any(attribute.i);
        else if (attribute.i != 0)
          attrs[name] = ffi::Any(TypeName(attribute.i));
        break;
      case Attribute::Kind::kFloat:
        attrs[name] = ffi::Any(static_cast<double>(attribute.f));
        break;
      case Attribute::Kind::kString:
        attrs[name] = ffi::Any(std::string(attribute.s));
        break;
      case Attribute::Kind::kInts:
        attrs[name] = IntsAttr(attribute.ints);
        break;
      case Attribute::Kind::kFloats:
        attrs[name] = ffi::Any(ffi::MakeArray({attribute.floats.begin(), attribute.floats.end()}));
        break;
      default:
        TERN_THROW(ValueError) << "attribute " << name << " is of kind " << NameOf(attribute.kind)
                               << ", which is not supported";
    }
  }
  return attrs;
}

Value NodeContext::Floats(const std::vector<float>& elements, const std::string& wish) {
  std::string bytes(reinterpret_cast<const char*>(elements.data()),
                    elements.size() * sizeof(float));
  return builder_.Constant(ir::Constant::Owned(builder_.UnusedName(wish), DataType::Float(32),
                                               {static_cast<int64_t>(elements.size())},
                                               std::move(bytes)));
}

graph::Builder::Options NodeContext::Options() const {
  graph::Builder::Options options;
  options.label = node_.name.empty() && !node_.outputs.empty() ? std::string(node_.outputs[0])
                                                               : std::string(node_.name);
  for (std::string_view output : node_.outputs) options.names.emplace_back(output);
  return options;
}

Value NodeContext::AlignedBefore7(size_t i, int64_t axis) const {
  auto rank = static_cast<int64_t>(InputType(0).rank()),
       own = static_cast<int64_t>(InputType(i).rank());
  if (axis < 0) axis += rank;
  if (own == 0 || axis < 0 || axis + own >= rank) return input(i);
  std::vector<int64_t> behind;
  for (int64_t k = own; k < rank - axis; ++k) behind.push_back(k);
  return builder_.Add("unsqueeze", {input(i), builder_.Ints(behind, "axes")}, {}, Options());
}

Values NodeContext::EmitSame(const char* op) {
  if (opset_ >= 7) return Emit(op, inputs_, AttrsFor(graph::GetOp(op)));
  if (std::string_view(op) == "prelu") return Emit(op, {input(0), AlignedBefore7(1, 1)});
  if (!Has("broadcast") || inputs_.size() != 2)
    return Emit(op, inputs_, AttrsFor(graph::GetOp(op)));
  Value second = Has("axis") ? AlignedBefore7(1, Int("axis", 0)) : input(1);
  return Emit(op, {input(0), second});
}

Values NodeContext::Emit(const char* op, Values inputs, ir::Attrs attrs) {
  return builder_.Add(graph::GetOp(op), std::move(inputs), std::move(attrs), Options());
}

Value NodeContext::Part(const char* op, Values inputs, ir::Attrs attrs) {
  graph::Builder::Options options = Options();
  options.names.clear();
  return builder_.Add(op, std::move(inputs), std::move(attrs), options);
}

Item ItemOf(graph::Builder* builder, const Tensor& tensor, std::string_view wish,
            const std::string& file_name) {
  if (tensor.type == ElemType::kString) return Item(&tensor);
  Item item(ConstantOf(builder, tensor, wish, file_name));
  item.elem = tensor.type;
  return item;
}

Value ConstantOf(graph::Builder* builder, const Tensor& tensor, std::string_view wish,
                 const std::string& file_name) {
  if (std::optional<DataType> decoded = DecodedTypeOf(tensor.type))
    return builder->Constant(ir::Constant::Owned(builder->UnusedName(std::string(wish)), *decoded,
                                                 tensor.dims, tensor.Decoded()));
  std::optional<DataType> dtype = DataTypeOf(tensor.type);
  if (!dtype)
    TERN_THROW(ValueError) << "tensor " << tensor.name << " has elements of type "
                           << NameOf(tensor.type) << ", which is not supported";
  std::string name = builder->UnusedName(std::string(wish));
  TensorData data = tensor.Data();
  if (!data.file || data.bytes.empty())
    return builder->Constant(
        ir::Constant::Owned(name, *dtype, tensor.dims, std::string(data.bytes)));
  auto offset = static_cast<uint64_t>(data.bytes.data() - data.file->bytes().data());
  return builder->Constant(
      ir::Constant::InFile(name, *dtype, tensor.dims, data.file, file_name, offset));
}

namespace {

using Domain = std::pair<std::string_view, const ConverterTable& (*)()>;
constexpr Domain kDomains[] = {{"", Table},
                               {"ai.onnx.ml", MlTable},
                               {"ai.onnx.preview", PreviewTable},
                               {"ai.onnx.preview.training", TrainingTable},
                               {"com.microsoft", MicrosoftTable}};

const ConverterTable* FindTable(std::string_view domain) {
  for (const auto& [name, table] : kDomains)
    if (name == domain) return &table();
  return nullptr;
}

}  // namespace

ConverterEntry FindConverter(std::string_view domain, std::string_view op_type) {
  const ConverterTable* table = FindTable(domain);
  if (!table) {
    const graph::Op* op = graph::FindCustomOp(domain, op_type);
    return op ? ConverterEntry{.same = op->name.c_str()} : ConverterEntry();
  }
  auto it = table->find(op_type);
  return it == table->end() ? ConverterEntry() : it->second;
}

std::vector<std::string_view> SupportedDomains() {
  std::vector<std::string_view> names;
  for (const auto& [name, table] : kDomains) names.push_back(name);
  return names;
}

std::vector<std::string_view> SupportedOperators(std::string_view domain) {
  std::vector<std::string_view> names;
  if (const ConverterTable* table = FindTable(domain))
    for (const auto& [name, entry] : *table) names.push_back(name);
  return names;
}

}  // namespace tern::frontend::onnx
