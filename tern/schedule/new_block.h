// SPDX-License-Identifier: Apache-2.0
//
// Blocks that steps make in the place of another one.
#ifndef TERN_SCHEDULE_NEW_BLOCK_H_
#define TERN_SCHEDULE_NEW_BLOCK_H_

#include <string>
#include <vector>

#include "tern/schedule/nest.h"
#include "tern/tir/block_op.h"

namespace tern::schedule {

// Whether an axis of a block occurs in an expression.
bool UsesAxis(const tir::Expr& expr, const tir::BlockIter& iter);
// The name of an axis, without the letter that blocks put before.
std::string AxisName(const tir::BlockIter& iter);
// An operand of a multiplication without its casts.
tir::Expr Bare(const tir::Expr& operand);
// Every occurrence of a part (the same node) in an expression becomes another.
tir::Expr ReplacePart(const tir::Expr& expr, const tir::Expr& part, const tir::Expr& by);

// Whether the loops of a nest run along its reduction in the order of the block's axes, which is
// that of the loops of a new block.
bool ReducesInOrder(const Nest& nest);

// Several axes as one, of which the last changes fastest.
struct FusedAxes {
  std::vector<const tir::BlockIter*> axes;

  tir::Expr extent() const;
  // What the axes are where the one is `at`.
  void Take(const tir::Expr& at, ir::VarMap* values) const;
};

// A block over new axes in loops of its own, which computes a part of what another one is for.
class NewBlock {
 public:
  NewBlock(std::string name, const tir::BlockNode* of)
      : name_(std::move(name)), op_(tir::OpOf(of)) {}

  tir::Expr Add(const std::string& axis, const tir::Expr& extent, tir::IterKind kind);
  // In the place of old ones.
  tir::Expr Add(const std::string& axis, const FusedAxes& axes, tir::IterKind kind);
  // One axis, in two loops: every so many elements begin a row.
  tir::Expr AddRows(const std::string& axis, int64_t rows, int64_t length);
  // In a loop that there is around the block.
  tir::Expr AddAround(const std::string& axis, const tir::BlockIter& old, const tir::Var& loop);
  tir::Stmt Finish(tir::Stmt init, tir::Stmt body) const;

  ir::VarMap values;  // of the old axes

 private:
  std::string name_, op_;
  FreshLoops loops_;
  std::vector<tir::BlockIter> iters_;
};

// Of the extents of several M or N axes, the numbers of the dynamic ones where others are static:
// these axes are a batch of GEMMs of the static ones.
std::vector<size_t> DynamicBesideStatic(const std::vector<tir::Expr>& extents);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_NEW_BLOCK_H_
