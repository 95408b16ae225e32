// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_FILE_BYTES_H_
#define TERN_RUNTIME_FILE_BYTES_H_

#include <string>
#include <string_view>

namespace tern::runtime {

// Both throw with the path and the system's reason.
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, std::string_view bytes);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_FILE_BYTES_H_
