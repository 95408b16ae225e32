// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_SHA256_H_
#define TERN_RUNTIME_SHA256_H_

#include <initializer_list>
#include <string>
#include <string_view>

namespace tern::runtime {

// The 32 raw bytes of FIPS 180-4's SHA-256.
std::string Sha256(std::string_view bytes);
// Of the parts, one after the other.
std::string Sha256(std::initializer_list<std::string_view> parts);
std::string ToHex(std::string_view bytes);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_SHA256_H_
