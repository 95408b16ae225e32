// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files, for host tensors.
#ifndef TERN_RUNTIME_NPY_H_
#define TERN_RUNTIME_NPY_H_

#include <string>
#include <string_view>

#include "tern/runtime/tensor.h"

namespace tern::runtime {

// Little endian, row major, bool, integer and float types; throws on anything else, saying what it
// found.
Tensor ReadNpy(const std::string& path);
Tensor ParseNpy(std::string_view bytes);
// Whether NumPy lacks the type: its values are written as float32, which holds them exactly.
inline bool HeldAsFloat32InNpy(DataType dtype) {
  return dtype.is_narrow_float() && dtype.code() != kTernTypeFloat;
}
void WriteNpy(const std::string& path, const Tensor& tensor);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_NPY_H_
