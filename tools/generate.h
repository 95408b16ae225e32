// SPDX-License-Identifier: Apache-2.0
//
// Tokens of a decoder model, one after the other: `tern run --generate`.
#ifndef TOOLS_GENERATE_H_
#define TOOLS_GENERATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tern/runtime/tensor.h"
#include "tern/runtime/vm/model.h"
#include "tools/session_flags.h"

namespace tern::tools {

struct GenerateOptions {
  int64_t count = 0;            // of tokens to make; 0: this is no such run
  std::vector<int64_t> tokens;  // that they follow
  double temperature = 0;       // 0: always the likeliest
  int64_t top_k = 0;            // only among so many of the likeliest; 0: all
  int64_t end_token = -1;       // ends the text; -1: none does
  uint64_t seed = 0;
};

// The tokens made. The model reads `input_ids`, and where it has them `position_ids`,
// `attention_mask` and caches of keys and values: states of the session (`past=present`; where none
// are given, each input with "past" in its name and the output that has "present" there). Without
// caches it reads all tokens again in each step. Scores are the output `logits`, or else the first
// that is no state: [1, tokens, vocabulary]. `inputs` are others, by name.
std::vector<int64_t> Generate(const std::shared_ptr<const runtime::vm::Model>& model,
                              const GenerateOptions& options, const SessionFlags& flags,
                              const std::map<std::string, runtime::Tensor>& inputs);

// One of these scores, by the options; `step` is the number of the choice.
int64_t ChooseToken(const std::vector<float>& scores, const GenerateOptions& options,
                    uint64_t step);

}  // namespace tern::tools

#endif  // TOOLS_GENERATE_H_
