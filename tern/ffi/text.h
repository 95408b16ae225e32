// SPDX-License-Identifier: Apache-2.0
//
// Pieces of messages.
#ifndef TERN_FFI_TEXT_H_
#define TERN_FFI_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern::ffi {

// "a, b, c", or "none" for nothing.
std::string Join(const std::vector<std::string>& items);
// "(2, 3)"
std::string ShapeText(const std::vector<int64_t>& shape);

// The names of `candidates` that a person who typed `name` may have meant, best first, three at
// most.
std::vector<std::string> NearNames(std::string_view name,
                                   const std::vector<std::string>& candidates);
// " (did you mean a, b?)", or "" where nothing is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tern::ffi

#endif  // TERN_FFI_TEXT_H_
