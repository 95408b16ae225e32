// SPDX-License-Identifier: Apache-2.0
//
// Environment variables: nothing else in Tern reads them. Header-only, so that plugins can use it
// inside. docs/environment.md has the table of all.
//
// A variable that is set to nothing is not set.
#ifndef TERN_FFI_ENVIRONMENT_H_
#define TERN_FFI_ENVIRONMENT_H_

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/error.h"

namespace tern::environment {

inline std::optional<std::string> Text(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

// For variables that choose what code runs, or what files are written: programs, libraries, caches.
// Not set in a process with more rights than its user has (setuid, setgid, capabilities).
inline std::optional<std::string> TrustedText(const char* name) {
  const char* value = secure_getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

// 0, 1, true, false, on or off, in letters of any case.
inline bool Flag(const char* name, bool otherwise) {
  std::optional<std::string> text = Text(name);
  if (!text) return otherwise;
  std::string word = *text;
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (word == "1" || word == "true" || word == "on") return true;
  if (word == "0" || word == "false" || word == "off") return false;
  TERN_THROW(ValueError) << name << " is '" << *text << "'; expected 0, 1, true, false, on or off";
}

inline int64_t Number(const char* name, int64_t least, int64_t most, int64_t otherwise) {
  std::optional<std::string> text = Text(name);
  if (!text) return otherwise;
  char* end = nullptr;
  errno = 0;
  int64_t number = std::strtoll(text->c_str(), &end, 10);
  TERN_CHECK(*end == 0 && errno == 0 && number >= least && number <= most)
      << name << " is '" << *text << "'; expected a number from " << least << " to " << most;
  return number;
}

// The parts of a list that ':' separates, without those that are empty.
inline std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    size_t end = text.find(':');
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

// Where a program is that is named without a directory, by PATH, or by the system's own where that
// is not to be trusted. "" where there is none.
inline std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  for (const std::string& directory : SplitList(TrustedText("PATH").value_or("/usr/bin:/bin")))
    if (std::string file = directory + "/" + name; access(file.c_str(), X_OK) == 0) return file;
  return "";
}

// Where temporary files are made.
inline std::string TemporaryDirectory() { return TrustedText("TMPDIR").value_or("/tmp"); }

}  // namespace tern::environment

#endif  // TERN_FFI_ENVIRONMENT_H_
