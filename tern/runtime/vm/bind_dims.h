// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_VM_BIND_DIMS_H_
#define TERN_RUNTIME_VM_BIND_DIMS_H_

#include "tern/runtime/tensor.h"
#include "tern/runtime/vm/program.h"

namespace tern::runtime::vm {

// The dims that inputs tell. Throws where their number, a dtype or a shape is not what the model
// wants, with the names of input and dim.
std::vector<int64_t> BindDims(const Program& program, const std::vector<Tensor>& inputs);

// Throws where a tensor that was given for an output has another dtype or shape than that.
void CheckOutput(const Program& program, size_t output, const Tensor& given,
                 const std::vector<int64_t>& shape);

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_BIND_DIMS_H_
