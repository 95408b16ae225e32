// SPDX-License-Identifier: Apache-2.0
//
// What a tensor of the builder knows about its elements. Readers of formulas (builder.cc,
// evaluate.cc) share it; users of the builder need none of it.
#ifndef TERN_TIR_COMPUTATION_H_
#define TERN_TIR_COMPUTATION_H_

#include <memory>
#include <string>
#include <vector>

#include "tern/tir/builder.h"

namespace tern::tir {

// How the tensors of one Compute come about, in expressions over `axes` and `reduce_axes`. It holds
// no reference to the tensors themselves.
struct Computation {
  std::vector<Var> axes;
  std::vector<ReduceAxis> reduce_axes;
  std::vector<Expr> values;      // per tensor
  std::vector<Expr> identities;  // of a reduction, per tensor
  // Of a reduction: `combined` is in terms of `so_far` and `next`, one of each per tensor.
  std::vector<Var> so_far, next;
  std::vector<Expr> combined;
  Expr condition, other;  // null where there is none
  std::string op;         // OpScope

  bool is_reduction() const { return !reduce_axes.empty(); }
};

// A buffer that knows how it is computed, so that a load of it leads to its tensor.
struct TensorNode : BufferNode {
  std::shared_ptr<const Computation> computation;  // null for an input
  std::vector<std::string> siblings;               // the names of all that is computed at once
  size_t index = 0;                                // among them

  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("tir.Tensor");
    return index;
  }
};

// The tensor that a buffer in a formula is.
inline const TensorNode* AsTensor(const Buffer& buffer) {
  return buffer->type_index() == TensorNode::TypeIndex()
             ? static_cast<const TensorNode*>(buffer.get())
             : nullptr;
}

}  // namespace tern::tir

#endif  // TERN_TIR_COMPUTATION_H_
