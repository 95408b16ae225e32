// SPDX-License-Identifier: Apache-2.0
//
// Which schedule rules take the kernels of operators: a table that a file pins, so that no operator
// falls to a slower rule unseen.
#ifndef TEST_ONNX_RULE_TABLE_H_
#define TEST_ONNX_RULE_TABLE_H_

#include <string>
#include <vector>

#include "tern/target/target.h"

namespace tern::test {

// Lowers the cases of all folders for the target, runs nothing, and compares the rules of each
// operator of the registry with the file, a line for each: "conv: direct_convolution 12, winograd
// 3". Operators that no kernel starts with have a line that says so; with `found_alone` they have
// none, and what is refused is an error. With TERN_UPDATE_GOLDEN=1 writes the file instead. The
// number of lines that differ, which are printed.
size_t CompareRules(const std::vector<std::string>& folders, const target::Target& target,
                    const std::string& path, bool found_alone);

}  // namespace tern::test

#endif  // TEST_ONNX_RULE_TABLE_H_
