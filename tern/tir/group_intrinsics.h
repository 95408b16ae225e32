// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics of groups of four warps, on matrices in shared memory (the others: intrinsics.h).
//
// warp_matrix_multiply_group(c, "nn", a, b...)    c + a * b: 64 x N of 64 x K and K x N, K = 64
// warp_matrix_multiply_group_async(...)           the same, a group by itself, which need not be
//                                                 done before the matrix_wait that waits for it
// matrix_wait(n)                                  waits until at most n such groups of the warps'
//                                                 are under way
//
// The four warps, of 32 lanes, are in a row, and the first one is a multiple of four. Of b there is
// an operand for each block of 64 columns, one behind the other in memory. A block is 64 rows of 64
// elements. With "t" for "n" the block in memory is the transpose: "tn" of a, "nt" of b. Such a b
// of 16-bit elements may also be one narrow block, of 8, 16 or 32 columns. With "r" a is in
// registers: 32 elements of each lane, which lie as those of a sum of 64 columns. Lane l of
// warp w has N / 2 elements of the sum: e is that of row w * 16 + e // 2 % 2 * 8 + l // 4 and
// column e // 4 * 8 + l % 4 * 2 + e % 2. Which banks of shared memory have the elements of an
// operand's buffer is the code generator's matter, of all accesses to it.
//
// Elements are float16 or bfloat16; or the layout names another type of kGroupTypes, "nt_e4m3".
// Such a block has rows of 128 bytes of K: K = 128 of e4m3, e5m2, s8 and u8, 32 of tf32, whose
// elements are float32, rounded to 10 bits of mantissa or cut off there.
#ifndef TERN_TIR_GROUP_INTRINSICS_H_
#define TERN_TIR_GROUP_INTRINSICS_H_

#include <string>

#include "tern/ir/expr.h"

namespace tern::tir {

namespace intrinsic {
inline constexpr const char* kWarpMatrixMultiplyGroup = "warp_matrix_multiply_group";
inline constexpr const char* kWarpMatrixMultiplyGroupAsync = "warp_matrix_multiply_group_async";
inline constexpr const char* kMatrixWait = "matrix_wait";
}  // namespace intrinsic

// Threads of such a group; rows of a block of an operand, and bytes of one of them.
inline constexpr int kWarpGroupThreads = 128, kWarpGroupBlock = 64, kWarpGroupRowBytes = 128;
// Columns of narrow blocks.
inline constexpr int kNarrowColumns[] = {8, 16, 32};

// What an operand's elements are, and a sum's.
struct GroupType {
  const char* name;
  DataType element, sum;

  // Elements of a row of a block.
  int depth() const { return kWarpGroupRowBytes * 8 / element.bits(); }
};
inline constexpr GroupType kGroupTypes[] = {{"f16", DataType::Float(16), DataType::Float(32)},
                                            {"bf16", DataType::Bfloat16(), DataType::Float(32)},
                                            {"e4m3", DataType::Float8E4M3FN(), DataType::Float(32)},
                                            {"e5m2", DataType::Float8E5M2(), DataType::Float(32)},
                                            {"s8", DataType::Int(8), DataType::Int(32)},
                                            {"u8", DataType::UInt(8), DataType::Int(32)},
                                            {"tf32", DataType::Float(32), DataType::Float(32)}};

// Whether it is one of the multiplications.
bool IsWarpGroupOperation(const ir::CallNode* call);
// Its operands: "nt", without a type; and their type.
std::string GroupLayoutOf(const ir::CallNode* call);
const GroupType& GroupTypeOf(const ir::CallNode* call);
// Whether the left operand of one is in registers.
bool HasLeftInRegisters(const ir::CallNode* call);

}  // namespace tern::tir

#endif  // TERN_TIR_GROUP_INTRINSICS_H_
