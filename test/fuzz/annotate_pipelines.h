// SPDX-License-Identifier: Apache-2.0
#ifndef TEST_FUZZ_ANNOTATE_PIPELINES_H_
#define TEST_FUZZ_ANNOTATE_PIPELINES_H_

#include "tern/tir/stmt.h"
#include "test/fuzz/random.h"

namespace tern::fuzz {

// The same program with one of its serial loops, if there is one, to be pipelined.
tir::Stmt AnnotatePipelines(const tir::Stmt& stmt, Random* random);

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_ANNOTATE_PIPELINES_H_
