// SPDX-License-Identifier: Apache-2.0
//
// The intrinsics of the loop IR. docs/tir.md lists those for people to write; the table in
// intrinsics.cc has their types.
#ifndef TERN_TIR_INTRINSICS_H_
#define TERN_TIR_INTRINSICS_H_

#include "tern/ir/expr.h"

namespace tern::tir {

// launch_kernel("name", argument..., extent...)   runs a kernel; made by split_host_device
// call_import(env, "name", argument...)           calls through the environment; made by
//                                                 make_packed_api
// parallel_for(env, "name", extent, value...)     calls a function on parts of 0..extent, on the
//                                                 thread pool; made by
//                                                 outline_parallel_loops
// call_packed("name", argument...)                calls a function of the global registry, on hosts
// call_extern<dtype>("symbol", argument...)       calls a C function; void without a type
// address_of(A[i], extent...)                     the address of an element, or of the first
//                                                 element of a tile of these extents
// alloc_workspace(env, type, id, bytes, align)    memory of that device for the time of the call,
//                                                 or null; made by lower_allocations
// free_workspace(env, type, id, p)                gives it back
// ptr_load<dtype>(p, offset)                      the scalar at p + offset bytes
// ptr_add(p, offset)                              the pointer moved by bytes
// ptr_less_equal(p, q)                            whether p is not behind q, as addresses
// is_null(p)                                      whether the pointer is null
// is_aligned(p, bytes)                            whether the pointer is a multiple of that
// vscale()                                        the multiple of a scalable vector's lanes
// barrier("shared"), barrier("global")            the threads of a block wait for each other
// warp_shuffle(x, lane)                           x as the thread `lane` of the warp has it
// warp_shuffle_up(x, n), _down(x, n), _xor(x, n)  x of the lane n below, n above, or lane xor n;
//                                                 the own one where the warp has no such lane
// warp_any(c), warp_all(c)                        whether c holds in any, in every lane
// warp_ballot(c)                                  a uint64 with bit i set where c holds in lane i
// lane_index()                                    the thread's place in its warp
// warp_matrix_load(row)                           four 8 x 8 tiles, spread over the lanes (below);
// warp_matrix_load_transposed(row)                lane l gives row l % 8 of tile l // 8
// warp_matrix_multiply(c, a, b)                   c + a * b: 16 x 8 of 16 x 16 and 16 x 8
// warp_matrix_multiply_tile(c, a, b)              c + a * b, all of 16 x 16 (below)
// warp_matrix_move(x)                             x, the lane's part of one 8 x 8 tile that goes
//                                                 from memory to a matrix, from a matrix to memory
//                                                 or from a number to all elements of a matrix
// warp_matrix_move_transposed(x)                  the lane's part of the tile's transpose
// warp_matrix_multiply_8x8(c, a, b)               c + a * b, each one 8 x 8 tile
// async_copy(x)                                   x; what is stored of it need not be there before
//                                                 the async_wait that the copy is waited for by
// async_commit()                                  the copies since the last one are a group
// async_wait(n)                                   waits until at most n groups of the thread's
//                                                 are under way
//
// A matrix of 8 x 8 over 32 lanes: lane l has the elements (l // 4, l % 4 * 2) and the one to the
// right. Values of 8 elements are four such tiles, (0, 0), (8, 0), (0, 8) and (8, 8) of a matrix of
// 16 x 16: the left operand of warp_matrix_multiply. Its right operand, of 4 elements, is a matrix
// of 16 x 8 by columns: lane l has the rows l % 4 * 2 and below, and 8 further down, of column
// l // 4. Its sum, of 4 elements of float32, is the tiles (0, 0) and (8, 0).
//
// A tile of warp_matrix_multiply_tile, over a warp of L lanes, n = 256 / L elements each: lane l
// has the elements l // 16 * n and behind of row l % 16 of the left operand, of column l % 16 of
// the right one, and of column l % 16 of the sum.
//
// The operands of the three behind it have 2 elements, of one tile. A machine may spread its
// matrices in another way, so what keeps them is touched by these operations alone.
//
// A warp is that many threads of a block in a row, x fastest (analysis/warp_size.h); the last one
// may be smaller. All threads of a warp come to the same warp operation, equally often.
// reinterpret<dtype>(x)                           the same bits as another type of the same size
//
// All threads of a block come to the same barrier, equally often. What they wrote to shared memory
// before it is seen by all of them behind it; with "global", what they wrote to global memory too.
namespace intrinsic {
inline constexpr const char* kLaunchKernel = "launch_kernel";
inline constexpr const char* kCallImport = "call_import";
inline constexpr const char* kCallPacked = "call_packed";
inline constexpr const char* kParallelFor = "parallel_for";
inline constexpr const char* kCallExtern = "call_extern";
inline constexpr const char* kAddressOf = "address_of";
inline constexpr const char* kAllocWorkspace = "alloc_workspace";
inline constexpr const char* kFreeWorkspace = "free_workspace";
inline constexpr const char* kPtrLoad = "ptr_load";
inline constexpr const char* kPtrAdd = "ptr_add";
inline constexpr const char* kIsNull = "is_null";
inline constexpr const char* kPtrLessEqual = "ptr_less_equal";
inline constexpr const char* kIsAligned = "is_aligned";
inline constexpr const char* kVscale = "vscale";
inline constexpr const char* kBarrier = "barrier";
inline constexpr const char* kWarpShuffle = "warp_shuffle";
inline constexpr const char* kWarpShuffleUp = "warp_shuffle_up";
inline constexpr const char* kWarpShuffleDown = "warp_shuffle_down";
inline constexpr const char* kWarpShuffleXor = "warp_shuffle_xor";
inline constexpr const char* kWarpAny = "warp_any";
inline constexpr const char* kWarpAll = "warp_all";
inline constexpr const char* kWarpBallot = "warp_ballot";
inline constexpr const char* kLaneIndex = "lane_index";
inline constexpr const char* kWarpMatrixLoad = "warp_matrix_load";
inline constexpr const char* kWarpMatrixLoadTransposed = "warp_matrix_load_transposed";
inline constexpr const char* kWarpMatrixMultiply = "warp_matrix_multiply";
inline constexpr const char* kWarpMatrixMultiplyTile = "warp_matrix_multiply_tile";
inline constexpr const char* kWarpMatrixMove = "warp_matrix_move";
inline constexpr const char* kWarpMatrixMoveTransposed = "warp_matrix_move_transposed";
inline constexpr const char* kWarpMatrixMultiply8x8 = "warp_matrix_multiply_8x8";
inline constexpr const char* kAsyncCopy = "async_copy";
inline constexpr const char* kAsyncCommit = "async_commit";
inline constexpr const char* kAsyncWait = "async_wait";
inline constexpr const char* kReinterpret = "reinterpret";
}  // namespace intrinsic

void RegisterIntrinsics();

bool IsBarrier(const ir::Expr& expr);
// The memory that a barrier orders: shared memory alone, or global memory too.
enum class BarrierKind { kShared, kGlobal };
BarrierKind BarrierKindOf(const ir::CallNode* barrier);
ir::Expr MakeBarrier(BarrierKind kind, ir::Span span = {});
// Whether the lanes of a warp exchange values in this call.
bool IsWarpOperation(const ir::CallNode* call);
// Those of them that work on matrices.
bool IsWarpMatrixOperation(const ir::CallNode* call);

}  // namespace tern::tir

#endif  // TERN_TIR_INTRINSICS_H_
