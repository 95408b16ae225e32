// SPDX-License-Identifier: Apache-2.0
//
// What a block is, as far as it matters to how its loops should run: its kind, what each of its
// axes is for, and which axes index which buffer. Analysis alone; nothing is changed.
#ifndef TERN_SCHEDULE_RULES_BLOCK_KIND_H_
#define TERN_SCHEDULE_RULES_BLOCK_KIND_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tern/schedule/references.h"
#include "tern/tir/function.h"

namespace tern::schedule {

class Schedule;

enum class BlockKind {
  // All axes are spatial.
  kElementwise,  // Y[i, j] from others at [i, j]
  kBroadcast,    // some of what is read lacks axes: X[i, j] + bias[j]
  kInjective,    // elements come from elsewhere: transposed, shifted, padded, reshaped
  kGather,       // an index of what is read is read from memory
  // Some axes reduce.
  kReduction,
  kPooling,      // of windows that slide along spatial axes
  kMatmul,       // GEMM: operands A and B, each indexed by axes alone
  kConvolution,  // windows of the input times weights
  // Any axes.
  kScatter,  // an index of what is written is read from memory
  kScan,     // an axis is a scan
  kOpaque,   // nothing is known: an opaque axis, or a body of more than stores
  // Several blocks over the same rows; the last of them stands for all.
  kSoftmax,        // exponentials, divided by their sum
  kNormalization,  // reductions of rows, and elements that are computed with their results
  kAttention,      // a GEMM, exponentials and reductions of its rows, and a GEMM of these
};
// Whether a block of the kind stands for several, its members too.
bool IsOfSeveralBlocks(BlockKind kind);
// "elementwise", "broadcast", ...
const char* BlockKindName(BlockKind kind);

// What an axis is for.
enum class AxisRole {
  kSpatial,
  kReduce,
  kScan,
  kOpaque,
  // Of C[batch, m, n] += A[batch, m, k] * B[batch, k, n]: B is the operand with the last axis of C.
  // Of convolutions kBatch is that of the input, kN the output channels, kK the input channels.
  kBatch,
  kM,
  kN,
  kK,
  // Of convolutions and pooling: output pixels; taps of the window; spatial axes of both operands.
  kPixel,
  kWindow,
  kGroup,
};
const char* AxisRoleName(AxisRole role);

struct BlockAxis {
  tir::Var var;
  tir::Expr extent;
  tir::IterKind kind = tir::IterKind::kSpatial;
  AxisRole role = AxisRole::kSpatial;
  LoopRef loop = {};     // that it is bound to, by itself; none where it is bound otherwise
  bool decides = false;  // whether some accesses are made
};

// One load, or one store.
struct BlockAccess {
  tir::Buffer buffer;
  std::vector<tir::Expr> indices;  // without the block's lets
  bool store = false;
  std::vector<size_t> axes;  // that occur in the indices, each once, in their order
  bool by_axes = false;      // every index is an axis, each another one, or no axis occurs in it
};

struct BlockInfo {
  BlockRef ref;  // none where there is no schedule
  std::string name;
  std::string op;  // tir::OpOf; of several blocks: of all
  BlockKind kind = BlockKind::kOpaque;
  std::vector<BlockAxis> axes;
  std::vector<BlockAccess> accesses;  // stores first
  std::vector<std::string> members;   // of several blocks: those before this one, in their order
  BlockRefs member_refs;              // the same, where there is a schedule
  std::vector<size_t> rows;           // of several blocks: the axes that are the rows'
  int64_t operations = 0;             // of one instance: accesses, arithmetic, calls (as 16)
  bool conditional = false;           // some accesses are made under a condition
  bool is_batched = false;            // DescribeBatchedGemm

  // Those of the blocks that are members, in their order; it stands for all of them.
  void AddMembers(const std::vector<BlockInfo>& blocks, const std::set<size_t>& others);
  // "matmul: M vi, N vj, K vk", with the operators that its name does not say: "matmul of conv:
  // ..."
  std::string str() const;
};

BlockInfo DescribeBlock(const tir::BlockNode* block);
// With its reference.
BlockInfo DescribeBlock(const Schedule& schedule, const BlockRef& block);
// The block as a batch of GEMMs in the last two dimensions of all, with the roles of their axes:
// C[.., m, n] += A[.., m, k] * B[.., k, n], or of transposed ones. The other indices of A and B are
// anything of the batch, so that heads may share an operand. Nothing where it is none.
std::optional<BlockInfo> DescribeBatchedGemm(const tir::BlockNode* node, const BlockInfo& block);
// Every block, in the order of the text; the last of several over the same rows is of their kind.
std::vector<BlockInfo> DescribeBlocks(const tir::PrimFunc& function);
std::vector<BlockInfo> DescribeBlocks(const Schedule& schedule);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_BLOCK_KIND_H_
