// SPDX-License-Identifier: Apache-2.0
//
// What pipelines have in common, whether their copies complete by groups or on barriers.
#ifndef TERN_TIR_TRANSFORM_THREADS_PIPELINE_PARTS_H_
#define TERN_TIR_TRANSFORM_THREADS_PIPELINE_PARTS_H_

#include <unordered_map>
#include <vector>

#include "tern/tir/function.h"

namespace tern::tir {

// What has become of buffers: the same, with a first dimension of versions.
using VersionedBuffers = std::unordered_map<const BufferNode*, Buffer>;

// Such a buffer.
Buffer MakeVersions(const Buffer& buffer, int64_t versions);
// The same accesses, to the version of iteration `iteration` of these buffers.
Stmt SelectVersions(const Stmt& stmt, const VersionedBuffers& versioned, const Expr& iteration);

// A statement whose multiplications of groups of warps go on while the next step runs, and the
// shared memory that they read.
struct LateMultiplications {
  Stmt stmt;
  std::vector<Buffer> read;
};
LateMultiplications MakeMultiplicationsLate(const Stmt& stmt);
// Waits until no more than `groups` are under way.
Stmt AwaitMultiplications(int64_t groups, const Span& span);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_PIPELINE_PARTS_H_
