// SPDX-License-Identifier: Apache-2.0
//
// Converters by domain, and those functions of them that are not beside their table.
#ifndef TERN_FRONTEND_ONNX_CONVERTER_TABLE_H_
#define TERN_FRONTEND_ONNX_CONVERTER_TABLE_H_

#include <map>

#include "tern/frontend/onnx/converters.h"

namespace tern::frontend::onnx {

using graph::Value;
using Values = std::vector<Value>;
using ConverterTable = std::map<std::string_view, ConverterEntry>;

const ConverterTable& MicrosoftTable();  // com.microsoft
const ConverterTable& MlTable();         // ai.onnx.ml
const ConverterTable& PreviewTable();    // ai.onnx.preview
const ConverterTable& TrainingTable();   // ai.onnx.preview.training

// "float32" of TensorProto.FLOAT. Throws where we have no such type.
std::string TypeName(int64_t number);
ffi::Any IntsAttr(const std::vector<int64_t>& ints);

// Elements of 4 bits (int4, uint4, float4_e2m1fn) as int8, uint8 or float32; other types stay.
Value Unpacked(graph::Builder* builder, const Value& value);
Value Unpacked(NodeContext& n, const Value& value);

// ---- Neural networks (convert_neural.cc)
Values Attention(NodeContext& n);
Values BatchNorm(NodeContext& n);
Values CausalConvWithState(NodeContext& n);
Values Dropout(NodeContext& n);
Values FlexAttention(NodeContext& n);
Values LayerNorm(NodeContext& n);
Values LinearAttention(NodeContext& n);
Values MaxPool(NodeContext& n);
Values RandomOp(NodeContext& n);
Values SimplifiedLayerNorm(NodeContext& n);
Values SoftmaxCrossEntropyLoss(NodeContext& n);
Values SwiGlu(NodeContext& n);

// ---- Sequences and optionals (convert_lists.cc)
Items ConcatFromSequence(NodeContext& n);
Items PassThrough(NodeContext& n);  // Identity
Items Optional(NodeContext& n);
Items OptionalGetElement(NodeContext& n);
Items OptionalHasElement(NodeContext& n);
Items SequenceAt(NodeContext& n);
Items SequenceConstruct(NodeContext& n);
Items SequenceEmpty(NodeContext& n);
Items SequenceErase(NodeContext& n);
Items SequenceInsert(NodeContext& n);
Items SequenceLength(NodeContext& n);
Items SequenceMap(NodeContext& n);
Items SplitToSequence(NodeContext& n);
// Strings as bytes of UTF-8, a row each that ends with zeros: uint8 of these dims and one more.
Value StringBytes(graph::Builder* builder, const std::vector<std::string_view>& strings,
                  std::vector<int64_t> dims, const std::string& wish);
// Numbers as such strings, by the shortest text that is read back as the number. Throws where they
// are not known when compiling.
Value TextOf(NodeContext& n, const Value& x);
// Of strings that are constants.
Items ExtractStrings(NodeContext& n);  // ArrayFeatureExtractor
Items CastLikeOfStrings(NodeContext& n);
Items CastOfStrings(NodeContext& n);
Items EqualStrings(NodeContext& n);
Items LabelEncoderOfStrings(NodeContext& n);

// ---- Tables (convert_ml.cc)
Values TfIdfVectorizer(NodeContext& n);
// LabelEncoder of x, with these keys.
Values EncodedLabels(NodeContext& n, const Value& x, const Value& keys);

// Scaled dot products of queries, keys and values [batch, heads, length, size], of which keys and
// values may have fewer heads: groups of query heads share them.
struct AttentionParts {
  Value q, k, v;
  Value mask, seqlens, past;  // of the operator attention_mask; may be null
  double scale = 1, softcap = 0;
  ir::Attrs mask_attrs = {};
  std::string softmax_type = {};  // or ""
  Value sink = {};                // one more logit of each head, [heads] or []; may be null
};
struct AttentionResult {
  Value output;                           // [batch, heads, length, size]
  Value scores, capped, masked, weights;  // after each step
};
AttentionResult ScaledAttention(NodeContext& n, const AttentionParts& parts);
// [batch, length, heads * size] -> [batch, heads, length, size], and back.
Value SplitHeads(NodeContext& n, const Value& x, int64_t heads);
Value JoinHeads(NodeContext& n, const Value& x);

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_CONVERTER_TABLE_H_
