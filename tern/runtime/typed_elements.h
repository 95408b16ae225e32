// SPDX-License-Identifier: Apache-2.0
//
// Elements of a tensor on the host as an array, for loops over many of them.
#ifndef TERN_RUNTIME_TYPED_ELEMENTS_H_
#define TERN_RUNTIME_TYPED_ELEMENTS_H_

#include <cstdint>

#include "tern/runtime/tensor.h"

namespace tern::runtime {

// Calls `f` with a pointer to the first element, of its C++ type. Returns false, and calls nothing,
// where the elements do not follow each other in memory or C++ has no such type.
template <class F>
bool WithTypedElements(const Tensor& tensor, F&& f) {
  if (!tensor->is_row_major() || tensor->num_elements() == 0) return false;
  DataType dtype = tensor->dtype();
  auto call = [&]<class T>(T* data) {
    f(data + tensor->PlaceOf(0));
    return true;
  };
  if (dtype == DataType::Float(32)) return call(tensor.as<float>());
  if (dtype == DataType::Float(64)) return call(tensor.as<double>());
  if (dtype == DataType::Int(8)) return call(tensor.as<int8_t>());
  if (dtype == DataType::Int(16)) return call(tensor.as<int16_t>());
  if (dtype == DataType::Int(32)) return call(tensor.as<int32_t>());
  if (dtype == DataType::Int(64)) return call(tensor.as<int64_t>());
  if (dtype == DataType::UInt(8)) return call(tensor.as<uint8_t>());
  if (dtype == DataType::UInt(16)) return call(tensor.as<uint16_t>());
  if (dtype == DataType::UInt(32)) return call(tensor.as<uint32_t>());
  if (dtype == DataType::UInt(64)) return call(tensor.as<uint64_t>());
  return false;
}

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_TYPED_ELEMENTS_H_
