// SPDX-License-Identifier: Apache-2.0
//
// Tensors to and from other frameworks, through DLPack, without copies.
#ifndef TERN_RUNTIME_DLPACK_H_
#define TERN_RUNTIME_DLPACK_H_

#include "tern/runtime/tensor.h"

namespace tern::runtime {

// Takes the tensor over: its deleter is called when the last view of its memory is gone. Where it
// throws (another major version, a negative stride, elements padded to bytes, a type or a device
// that is not known here) nothing was taken.
Tensor FromDLPack(TernManagedTensor* managed);
Tensor FromDLPack(TernManagedTensorVersioned* managed);

// For another framework, which calls the deleter. The unversioned form cannot say that memory is
// read-only, so that it refuses it.
TernManagedTensor* ToDLPack(const Tensor& tensor);
TernManagedTensorVersioned* ToDLPackVersioned(const Tensor& tensor);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_DLPACK_H_
