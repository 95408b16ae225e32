// SPDX-License-Identifier: Apache-2.0
//
// Copies of whole vectors from one memory to another, for targets that have them and no other
// vectors (TargetKind::move_bytes).
#ifndef TERN_TIR_ANALYSIS_VECTOR_MOVE_H_
#define TERN_TIR_ANALYSIS_VECTOR_MOVE_H_

#include <optional>

#include "tern/tir/stmt.h"

namespace tern::arith {
class Analyzer;
}

namespace tern::tir {

// The least that is copied asynchronously.
inline constexpr int64_t kLeastAsyncBytes = 4;

// Whether `bytes` can be moved at once: a power of two, no more than the target moves.
bool IsMoveSize(int64_t bytes, int64_t move_bytes);

// Whether the element at the indices, all scalars, lies at a multiple of `bytes` from the first
// byte of the memory that the buffer names.
bool IsAlignedPlace(const Buffer& buffer, const std::vector<Expr>& indices, int64_t bytes,
                    const arith::Analyzer& analyzer);

// Whether the indices are those of a vector of neighbours, in memory that is aligned to its size.
bool IsAlignedVector(const Buffer& buffer, std::vector<Expr> indices, int64_t bytes);

// What a store copies, maybe by async_copy; null where it is no copy.
const ir::BufferLoadNode* CopiedLoad(const BufferStoreNode* store);

// The load of a copy that has zeros, or another constant, where a condition does not hold:
// select(c, S[i], 0), also of several conditions; null where the value is something else.
const ir::BufferLoadNode* CopiedOrConstant(const Expr& value);

// Whether a store is such a copy: D[ramp(i, 1, n)] = S[ramp(j, 1, n)], both aligned to the size of
// the vector. An asynchronous one to shared memory may be masked, all lanes alike.
bool IsVectorMove(const BufferStoreNode* store, int64_t move_bytes);

// Whether a value is a constant all of whose bits are zero.
bool IsZeroBits(const Expr& value);

// A value whose lets stand where they are used, so that what it loads is seen; as it is where that
// would make it long.
Expr InlineLets(const Expr& value);

// An asynchronous copy of one element of global memory to shared memory, with zero where the
// condition does not hold: S[i] = async_copy(select(c, A[j], 0)).
struct ElementCopy {
  Expr value;  // without lets; the load is a part of it
  const ir::BufferLoadNode* load;
  Expr condition;  // null: none
};
// Nothing where a store is something else, where the element has fewer bytes than such a copy, or
// where more than the element would be loaded.
std::optional<ElementCopy> AsElementCopy(const BufferStoreNode* store);

// Whether a store is an operation of a warp on matrices, whose operands are vectors in any case.
bool IsMatrixStore(const BufferStoreNode* store);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_VECTOR_MOVE_H_
