// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TARGET_ATTR_CHECKS_H_
#define TERN_TARGET_ATTR_CHECKS_H_

#include "tern/target/target.h"

namespace tern::target {

// An attribute that is a number from `low` to `high`; the help says so.
AttrSpec IntInRange(const char* name, int64_t otherwise, int64_t low, int64_t high,
                    const char* help);

// An attribute that is one of these words; the help says so.
AttrSpec OneOf(const char* name, const char* otherwise, std::vector<std::string> legal,
               const char* help);

}  // namespace tern::target

#endif  // TERN_TARGET_ATTR_CHECKS_H_
