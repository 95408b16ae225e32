// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOOPS_DISTRIBUTE_LOOP_H_
#define TERN_TIR_TRANSFORM_LOOPS_DISTRIBUTE_LOOP_H_

#include <functional>

#include "tern/tir/stmt.h"

namespace tern::tir {

struct DistributeOptions {
  // Statements that run once for all iterations; where something that depends on the iteration
  // contains one, that is an error.
  std::function<bool(const EvaluateNode*)> runs_once;
  // Whether an allocation in the loop is one piece for all iterations; otherwise it gets one more
  // dimension, its first.
  std::function<bool(const AllocateNode*)> is_common;
  // Whether the loop goes as far in as it can, or only as far as something that runs once requires.
  bool innermost = false;
  // The kind of the loops that are made.
  ForKind kind = ForKind::kSerial;
  const char* iteration = "";  // for messages: "virtual thread"
};

// `loop`, whose iterations are independent between statements that run once, taken apart: each
// statement in it runs for all iterations before the next one does. Values that an iteration reads
// from memory and keeps become arrays, too.
Stmt DistributeLoop(const ForNode* loop, const DistributeOptions& options);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOOPS_DISTRIBUTE_LOOP_H_
