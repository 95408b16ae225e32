// SPDX-License-Identifier: Apache-2.0
//
// Operations on tiles that a machine has instructions for: what each one computes, as loops, and
// how it is done. `tensorize` puts the second in the place of the first.
#ifndef TERN_SCHEDULE_TENSOR_INTRINSIC_H_
#define TERN_SCHEDULE_TENSOR_INTRINSIC_H_

#include <string>
#include <vector>

#include "tern/tir/function.h"

namespace tern::schedule {

// Two functions of the same parameters: tensors of constant shape, whose strides may be variables.
// The description is loops around one statement; the implementation may be anything. Where it sums
// in another order it says `reassociate`, as must the functions that it is used in.
struct TensorIntrinsic {
  std::string name;
  tir::PrimFunc description, implementation;
};

// `text` has the functions `description` and `implementation`. Throws where the name is taken. The
// text is read when the intrinsic is first found: those of all backends would take most of the time
// that a program takes to start.
void RegisterTensorIntrinsic(const std::string& name, const std::string& text);
// Null where there is none. Throws where its text is not of two functions that fit one another.
const TensorIntrinsic* FindTensorIntrinsic(const std::string& name);
std::vector<std::string> TensorIntrinsicNames();

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_TENSOR_INTRINSIC_H_
