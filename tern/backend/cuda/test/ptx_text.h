// SPDX-License-Identifier: Apache-2.0
//
// The stand-in's PTX: text, as PTX is, that holds the code in hexadecimal digits.
#ifndef TERN_BACKEND_CUDA_TEST_PTX_TEXT_H_
#define TERN_BACKEND_CUDA_TEST_PTX_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

namespace tern::backend::cuda::standin {

inline constexpr std::string_view kPtxStart = "//\n// PTX of Tern's stand-in for NVRTC\n//\n";

inline std::string PtxOfCode(std::string_view code) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text(kPtxStart);
  for (unsigned char byte : code) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text + "\n";
}

inline std::optional<std::string> CodeOfPtx(std::string_view text) {
  if (!text.starts_with(kPtxStart)) return std::nullopt;
  auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
  std::string code;
  for (size_t i = kPtxStart.size(); i + 1 < text.size(); i += 2)
    code += static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1]));
  return code;
}

}  // namespace tern::backend::cuda::standin

#endif  // TERN_BACKEND_CUDA_TEST_PTX_TEXT_H_
