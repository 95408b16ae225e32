// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files, for host tensors.
#ifndef TERN_RUNTIME_ARTIFACT_NPY_H_
#define TERN_RUNTIME_ARTIFACT_NPY_H_

#include <string>
#include <string_view>

#include "tern/runtime/artifact/byte_stream.h"
#include "tern/runtime/tensor.h"

namespace tern::runtime {

// Little endian bool, integer and float types; throws on anything else, saying what it found. The
// tensor is row major, whatever the file is.
Tensor ReadNpy(const std::string& path);
Tensor ParseNpy(std::string_view bytes, const NeedBytes& need = nullptr);
// The type that values are written as: the own one, or where NumPy lacks that, one that holds them
// exactly.
inline DataType TypeInNpy(DataType dtype) {
  if (dtype.is_narrow_float() && dtype.code() != kTernTypeFloat) return DataType::Float(32);
  return dtype.is_packed() ? DataType(dtype.code(), 8) : dtype;
}
void WriteNpy(const std::string& path, const Tensor& tensor);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_ARTIFACT_NPY_H_
