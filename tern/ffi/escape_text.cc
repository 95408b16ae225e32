// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/escape_text.h"

#include <cstdint>
#include <cstdio>

namespace tern::ffi {
namespace {

constexpr uint32_t kReplacement = 0xfffd;

// Takes a character off the front of `text`, or as many bytes as the decoders of browsers take for
// one that is broken.
uint32_t TakeCharacter(std::string_view* text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>((*text)[i]); };
  uint32_t lead = byte(0), code = kReplacement;
  size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead > 0xf4) size = 0;
  size_t taken = 1;
  // The second byte has a narrower range where the first one is at an end of its own.
  uint32_t least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  uint32_t most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (size > 0) code = size == 1 ? lead : lead & (0xffu >> (size + 1));
  for (; taken < size; ++taken, least = 0x80, most = 0xbf) {
    if (taken == text->size() || byte(taken) < least || byte(taken) > most) {
      code = kReplacement;
      break;
    }
    code = code << 6 | (byte(taken) & 0x3f);
  }
  text->remove_prefix(taken);
  return code;
}

bool ChangesTheView(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string Escaped(std::string_view text, bool keep_lines) {
  std::string out;
  while (!text.empty()) {
    std::string_view before = text;
    uint32_t code = TakeCharacter(&text);
    if (code == kReplacement) {
      out += "\xef\xbf\xbd";
    } else if (ChangesTheView(code) && !(keep_lines && (code == '\n' || code == '\t'))) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
      out += escape;
    } else {
      out += before.substr(0, before.size() - text.size());
    }
  }
  return out;
}

}  // namespace tern::ffi
