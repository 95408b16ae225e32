// SPDX-License-Identifier: Apache-2.0
//
// Random programs of models, over the kernels of tern/runtime/test_data/test_kernels.h.
#ifndef TEST_FUZZ_RANDOM_MODEL_H_
#define TEST_FUZZ_RANDOM_MODEL_H_

#include <cstdint>
#include <string>

namespace tern::fuzz {

// As text, which is verified: dims n and m, inputs x: float32[n] and u: float32[m]; views of views,
// with strides and of other ranks; concatenations in place; branches and loops; functions that
// return what they made, or a view of it; lists, copies, sizes that only a run knows; outputs that
// are views of other memory. Of at most about so many steps.
std::string RandomModel(uint64_t seed, int most_steps = 40);

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_RANDOM_MODEL_H_
