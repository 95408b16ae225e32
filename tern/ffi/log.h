// SPDX-License-Identifier: Apache-2.0
//
// TERN_LOG: what Tern says on standard error of its own work. A list of topics with commas between
// them, or all; nothing by default. A line is "tern: TOPIC: ...".
#ifndef TERN_FFI_LOG_H_
#define TERN_FFI_LOG_H_

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/environment.h"

namespace tern {

inline constexpr std::string_view kLogTopics[] = {"cache", "passes", "plugins", "specialize"};

// Throws where the variable names a topic that is none.
inline std::vector<std::string> ParseLogTopics(const std::string& text) {
  std::vector<std::string> topics;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    bool is_topic =
        std::find(std::begin(kLogTopics), std::end(kLogTopics), part) != std::end(kLogTopics);
    TERN_CHECK(is_topic || part == "all")
        << "TERN_LOG is '" << text
        << "'; expected a list of cache, passes, plugins, specialize, or all";
    topics.push_back(part);
  }
  return topics;
}

// The variable is read once.
inline bool IsLogged(std::string_view topic) {
  static const std::vector<std::string> topics =
      ParseLogTopics(environment::Text("TERN_LOG").value_or(""));
  return std::any_of(topics.begin(), topics.end(),
                     [&](const std::string& asked) { return asked == topic || asked == "all"; });
}

inline void Log(std::string_view topic, const std::string& message) {
  if (IsLogged(topic))
    std::fprintf(stderr, "tern: %.*s: %s\n", static_cast<int>(topic.size()), topic.data(),
                 message.c_str());
}

}  // namespace tern

#endif  // TERN_FFI_LOG_H_
