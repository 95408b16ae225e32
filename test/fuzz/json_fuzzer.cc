// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are JSON or an error; what was read, written and read again is the same.
#include <cstdint>
#include <cstdlib>

#include "tern/ffi/error.h"
#include "tern/ffi/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::string text;
  try {
    text = tern::ffi::WriteJson(tern::ffi::ParseJson(bytes));
  } catch (const tern::Error&) {
    return 0;
  }
  if (tern::ffi::WriteJson(tern::ffi::ParseJson(text)) != text) std::abort();
  return 0;
}
