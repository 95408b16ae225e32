// SPDX-License-Identifier: Apache-2.0
//
// JSON to and from values: null, bool, int (64 bits), float, string, Array, Map. The reader is
// strict (RFC 8259, UTF-8 passed through), bounded in depth, and safe on any input; the writer is
// deterministic.
#ifndef TERN_FFI_JSON_H_
#define TERN_FFI_JSON_H_

#include <string>
#include <string_view>

#include "tern/ffi/containers.h"

namespace tern::ffi {

// Throws ValueError with the offset of the mistake.
Any ParseJson(std::string_view text);
// Keys in order, no white space, or indented by two when `pretty`.
std::string WriteJson(const AnyView& value, bool pretty = false);

}  // namespace tern::ffi

#endif  // TERN_FFI_JSON_H_
