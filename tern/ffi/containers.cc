// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/containers.h"

namespace tern::ffi {

ArrayObj::ArrayObj(std::vector<Any> items) {
  static_assert(sizeof(Any) == sizeof(TernAny) && std::is_standard_layout_v<Any>);
  size_t size = items.size();
  if (size) cell_.data = static_cast<TernAny*>(std::malloc(size * sizeof(TernAny)));
  if (size && !cell_.data) throw std::bad_alloc();
  for (size_t i = 0; i < size; ++i) cell_.data[i] = items[i].Release();
  cell_.size = cell_.capacity = static_cast<int64_t>(size);
  cell_.data_deleter = std::free;
}

ArrayObj::~ArrayObj() {
  for (int64_t i = 0; i < cell_.size; ++i) Any::Adopt(cell_.data[i]);
  cell_.data_deleter(cell_.data);
}

}  // namespace tern::ffi
