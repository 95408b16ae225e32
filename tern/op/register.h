// SPDX-License-Identifier: Apache-2.0
//
// The operators that are built in. Semantics are those of ONNX's newest opset, under lower-case
// names; older forms are an importer's to translate.
#ifndef TERN_OP_REGISTER_H_
#define TERN_OP_REGISTER_H_

namespace tern::op {

void RegisterOps();

void RegisterElementwiseOps();  // by RegisterOps, and so are the others
void RegisterShapeOps();
void RegisterReductionOps();
void RegisterNeuralOps();
void RegisterRecurrentOps();
void RegisterConvolutionOps();
void RegisterPoolingOps();
void RegisterIndexingOps();
void RegisterCumulativeOps();
void RegisterNormalizationOps();
void RegisterQuantizationOps();
void RegisterIntegerArithmetic();
void RegisterAlgebraOps();
void RegisterSignalOps();
void RegisterImageOps();
void RegisterAttentionOps();
void RegisterRandomOps();
void RegisterTableOps();
void RegisterTrainingOps();
void RegisterResizeOp();
void RegisterSelectOps();
void RegisterBlas();

}  // namespace tern::op

#endif  // TERN_OP_REGISTER_H_
