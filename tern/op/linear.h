// SPDX-License-Identifier: Apache-2.0
//
// Sums of products, of operands that are read as they are or converted on the way.
#ifndef TERN_OP_LINEAR_H_
#define TERN_OP_LINEAR_H_

#include "tern/op/formulas.h"

namespace tern::op {

struct Operand {
  Tensor tensor;
  Load load;
};
// In the type of sums: narrow floats as float32.
Operand Widened(const Tensor& tensor);
// Sums as the type of the result, which are the result themselves where they are of that type.
Tensor Narrowed(const Call& c, const Tensor& sums, DataType dtype);
// The name of such sums.
std::string SumName(const Call& c, DataType dtype);
// The type of the result: what the attribute `dtype` says, which may be that of the sums, or that
// of the operands.
DataType ResultType(const Call& c);
inline const graph::AttrSpec kResultTypeAttr{"dtype", graph::AttrKind::kString};

// Matrices are the last two axes; the axes before are broadcast. A vector is one row of A, or one
// column of B, and is no axis of the result.
Tensor MatMulOf(const Call& c, const std::string& name, const Operand& a, const Operand& b);

// The convolution of input 0 of the call, by its attributes, without a bias. The input outside of
// its extents is `border`, of its type; null: 0.
Tensor ConvOf(const Call& c, const std::string& name, const Operand& x, const Operand& weights,
              const Expr& border = {});

}  // namespace tern::op

#endif  // TERN_OP_LINEAR_H_
