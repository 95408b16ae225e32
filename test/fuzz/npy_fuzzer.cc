// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are a tensor or an error.
#include <cstdint>

#include "tern/ffi/error.h"
#include "tern/runtime/artifact/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    tern::runtime::ParseNpy(bytes);
  } catch (const tern::Error&) {
  }
  return 0;
}
