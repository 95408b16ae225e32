// SPDX-License-Identifier: Apache-2.0
//
// What a stand-in for a driver makes of a description of a tensor, for copies of its boxes.
#ifndef TERN_RUNTIME_TEST_STANDIN_TENSOR_MAP_H_
#define TERN_RUNTIME_TEST_STANDIN_TENSOR_MAP_H_

#include <cstdint>

namespace tern::standin {

// The innermost axis first.
struct TensorMap {
  static constexpr uint64_t kMagic = 0x70616d2d6e726574;  // "tern-map"
  static constexpr int kMostAxes = 5;

  uint64_t magic = 0;
  const char* memory = nullptr;
  uint64_t shape[kMostAxes] = {};
  uint64_t strides[kMostAxes - 1] = {};  // bytes, of all axes but the innermost
  uint16_t box[kMostAxes] = {};
  uint8_t axes = 0, element_bytes = 0, swizzle = 0;  // bytes, or 0

  uint64_t box_bytes() const {
    uint64_t bytes = element_bytes;
    for (int i = 0; i < axes; ++i) bytes *= box[i];
    return bytes;
  }
};
static_assert(sizeof(TensorMap) <= 128);

}  // namespace tern::standin

#endif  // TERN_RUNTIME_TEST_STANDIN_TENSOR_MAP_H_
