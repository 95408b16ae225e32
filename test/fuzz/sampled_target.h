// SPDX-License-Identifier: Apache-2.0
//
// A target for some of the programs: "c/25" is for every 25th.
#ifndef TEST_FUZZ_SAMPLED_TARGET_H_
#define TEST_FUZZ_SAMPLED_TARGET_H_

#include <string>
#include <vector>

#include "tern/target/target.h"

namespace tern::fuzz {

struct SampledTarget {
  target::Target target;
  uint64_t every = 1;
};

inline std::vector<SampledTarget> ParseSampled(const std::vector<std::string>& texts) {
  std::vector<SampledTarget> sampled;
  for (const std::string& text : texts) {
    // A slash is part of a tag too: "nvidia/h200".
    size_t slash = text.rfind('/');
    bool every = slash != std::string::npos && slash + 1 < text.size() &&
                 text.find_first_not_of("0123456789", slash + 1) == std::string::npos;
    sampled.push_back({target::Target::Parse(every ? text.substr(0, slash) : text),
                       every ? std::stoull(text.substr(slash + 1)) : 1});
  }
  return sampled;
}

// Those for the program of a seed. Targets of one number take turns.
inline std::vector<target::Target> TargetsFor(const std::vector<SampledTarget>& sampled,
                                              uint64_t seed) {
  std::vector<target::Target> targets;
  for (size_t i = 0; i < sampled.size(); ++i)
    if ((seed + i) % sampled[i].every == 0) targets.push_back(sampled[i].target);
  return targets;
}

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_SAMPLED_TARGET_H_
