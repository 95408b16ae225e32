// SPDX-License-Identifier: Apache-2.0
//
// What the converters of ai.onnx.ml share.
#ifndef TERN_FRONTEND_ONNX_CONVERT_ML_H_
#define TERN_FRONTEND_ONNX_CONVERT_ML_H_

#include "tern/frontend/onnx/converter_table.h"

namespace tern::frontend::onnx {

inline const DataType kFloat = DataType::Float(32);

Value AsType(NodeContext& n, const Value& x, DataType type);
// Features of any number type are computed with as floats.
Value Features(NodeContext& n);
Value Number(NodeContext& n, double value, const char* name);

// Attributes; empty where they are not there.
std::vector<float> FloatList(const NodeContext& n, std::string_view name);
std::vector<int64_t> IntList(const NodeContext& n, std::string_view name);

void CheckTargets(int64_t targets);
// How many labels the attributes of a classifier have.
size_t NumLabels(const NodeContext& n);
Values WithTransform(NodeContext& n, const Value& scores, const std::string& transform);
// Labels of the largest scores, and the scores.
Values Classified(NodeContext& n, const Value& scores, const std::string& transform);
// [-s, s] of one score, or [1 - p, p] where it is made a probability.
Value TwoScores(NodeContext& n, const Value& score, bool probability);

// ---- Trees (convert_trees.cc)
Values TreeEnsemble(NodeContext& n);
Values TreeEnsembleClassifier(NodeContext& n);
Values TreeEnsembleRegressor(NodeContext& n);

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_CONVERT_ML_H_
