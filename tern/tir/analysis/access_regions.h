// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_ACCESS_REGIONS_H_
#define TERN_TIR_ANALYSIS_ACCESS_REGIONS_H_

#include <unordered_set>

#include "tern/arith/int_set.h"
#include "tern/tir/analysis/memory_uses.h"
#include "tern/tir/stmt.h"

namespace tern::tir {

// A box of a buffer's elements, its ranges over variables from outside of the statement, in int64.
// Evaluating them reads no memory and does not fault. Nothing beyond the box is touched, as long as
// accesses are in bounds.
struct AccessRegion {
  Buffer buffer;
  std::vector<Range> ranges;
  bool exact = false;  // whenever the statement runs, all of the box is touched
};

struct AccessRegions {
  // One box for a buffer, in the order of first access.
  std::vector<AccessRegion> reads, writes;
  // Addresses from outside whose memory is also accessed in ways that are not followed: through
  // buffers that the statement declares, or as pointers.
  std::unordered_set<const VarNode*> opaque;

  const AccessRegion* Reads(const Buffer& buffer) const;
  const AccessRegion* Writes(const Buffer& buffer) const;
};

// What `stmt` touches of the buffers that are defined outside of it. The analyzer knows the
// variables outside.
AccessRegions FindAccessRegions(const Stmt& stmt, const arith::Analyzer& analyzer);
AccessRegions FindAccessRegions(const Expr& expr, const arith::Analyzer& analyzer);
// What `stmt` touches of one buffer. That may be allocated in it; its extents are constants then.
// `uses` (may be null) says what need not be looked at.
AccessRegions FindAccessRegions(const Stmt& stmt, const Buffer& buffer,
                                const arith::Analyzer& analyzer, const MemoryUses* uses = nullptr);
AccessRegions FindAccessRegions(const Expr& expr, const Buffer& buffer,
                                const arith::Analyzer& analyzer);

// Makes `region` part of the box of its buffer in `regions`.
void JoinRegion(const AccessRegion& region, const arith::Analyzer& analyzer,
                std::vector<AccessRegion>* regions);

// Whether every element of `buffer` that `stmt` reads was surely written by `stmt` before, so that
// nothing depends on what the buffer held when it began.
bool WritesBeforeReading(const Stmt& stmt, const Buffer& buffer, const arith::Analyzer& analyzer);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_ACCESS_REGIONS_H_
