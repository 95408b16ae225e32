// SPDX-License-Identifier: Apache-2.0
#ifndef TOOLS_TERN_INFLATE_H_
#define TOOLS_TERN_INFLATE_H_

#include <string>
#include <string_view>

namespace tern::tools {

// Data that were compressed by deflate (RFC 1951), without a header. Throws where they do not
// become `size` bytes.
std::string Inflate(std::string_view data, size_t size);

}  // namespace tern::tools

#endif  // TOOLS_TERN_INFLATE_H_
