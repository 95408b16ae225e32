// SPDX-License-Identifier: Apache-2.0
//
// Which elements the threads of one block touch, and whether two of them can touch the same.
#ifndef TERN_TIR_ANALYSIS_THREAD_ACCESS_H_
#define TERN_TIR_ANALYSIS_THREAD_ACCESS_H_

#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tern/arith/integer_system.h"
#include "tern/ir/mutator.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/stmt.h"

namespace tern::tir {

// An access to memory by any thread of a block. Its expressions are over variables of ThreadTerms
// and those from outside of the kernel: no loads, no definitions of the kernel.
struct ThreadAccess {
  const VarNode* memory = nullptr;     // the address of the whole
  const BufferNode* buffer = nullptr;  // what defines the memory; null: a view of it
  std::vector<Expr> indices;           // into `buffer`, scalars
  Expr first_byte;                     // from the address on; null: any part of the memory
  int64_t bytes = 0;
  std::vector<Expr> guards;  // hold where it happens
  bool is_write = false;
  bool is_shared = false;  // memory of the block; otherwise of the grid
  // Accesses of one reduction along threads run in order.
  const BlockNode* reduction = nullptr;
  Span place;
};

// The variables that accesses are expressed in. A private one may have another value in each
// thread, all others have one value in a block.
class ThreadTerms {
 public:
  // Threads of the launch that `shape` describes.
  explicit ThreadTerms(const KernelShape& shape);

  // The index on a thread axis.
  const Var& Axis(const std::string& axis) const { return axes_[ThreadAxisNumber(axis)]; }
  Var NewVar(const std::string& name, DataType dtype, bool is_private,
             std::optional<arith::IntegerSystem::Range> range = {});
  bool IsPrivate(const Expr& expr) const;

  // Renames the variables made after `mark` that occur in the accesses, as `renamed` says or to new
  // ones.
  size_t Mark() const { return made_.size(); }
  void RenameSince(size_t mark, std::vector<ThreadAccess>* accesses, ir::VarMap renamed);

  // Whether it cannot be excluded that two threads of a block touch the same bytes. A store is
  // taken not to race with itself: where no two threads write one element, a thread that reads the
  // element that it writes reads its own.
  bool MayMeet(const ThreadAccess& a, const ThreadAccess& b) const;

 private:
  using Ranges = std::unordered_map<const VarNode*, arith::IntegerSystem::Range>;
  bool ComesToo(const ThreadAccess& a, const ThreadAccess& b) const;
  bool IsOwnElement(const ThreadAccess& a, const ThreadAccess& b) const;

  std::array<Var, kNumThreadAxes> axes_;
  std::unordered_set<const VarNode*> private_;
  Ranges ranges_;
  bool has_one_thread_ = true;                       // in a block
  std::unordered_map<const VarNode*, size_t> made_;  // and when, in order
  std::vector<Var> kept_;
};

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_THREAD_ACCESS_H_
