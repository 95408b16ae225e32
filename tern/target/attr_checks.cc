// SPDX-License-Identifier: Apache-2.0
#include "tern/target/attr_checks.h"

#include <algorithm>

namespace tern::target {

AttrSpec IntInRange(const char* name, int64_t otherwise, int64_t low, int64_t high,
                    const char* help) {
  return {.type = AttrSpec::Type::kInt,
          .default_value = otherwise,
          .help = std::string(help) + ", " + std::to_string(low) + " to " + std::to_string(high),
          .check = [=](const ffi::Any& value) {
            auto number = value.As<int64_t>();
            TERN_CHECK(number >= low && number <= high)
                << name << "=" << number << " is out of range; expected " << low << " to " << high;
          }};
}

AttrSpec OneOf(const char* name, const char* otherwise, std::vector<std::string> legal,
               const char* help) {
  std::string words;
  for (const std::string& word : legal) words += (words.empty() ? "" : ", ") + word;
  return {.type = AttrSpec::Type::kString,
          .default_value = otherwise,
          .help = std::string(help) + ": " + words,
          .check = [name, words, legal = std::move(legal)](const ffi::Any& value) {
            auto word = value.As<std::string>();
            TERN_CHECK(std::find(legal.begin(), legal.end(), word) != legal.end())
                << name << "='" << word << "' is not known; expected one of " << words;
          }};
}

}  // namespace tern::target
