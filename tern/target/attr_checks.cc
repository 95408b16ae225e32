// SPDX-License-Identifier: Apache-2.0
#include "tern/target/attr_checks.h"

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

}  // namespace tern::target
