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
  bool is_atomic = false;  // no conflict with another such
  bool is_shared = false;  // memory of the block; otherwise of the grid
  bool diverges = false;   // not all threads of the block come there
  // Accesses of one reduction along threads run in order.
  const BlockNode* reduction = nullptr;
  Span place;
};

// Accesses in the order in which they were made, equal ones once.
class AccessSet {
 public:
  // Those of one memory that differ in the constants of their indices alone.
  struct Group {
    // The constants along a dimension: multiples of `step` from `least` to `greatest`.
    struct Constants {
      Expr rest;  // the index without its constant
      int64_t least, greatest, step = 0;
    };
    std::vector<size_t> members;
    std::vector<Constants> indices;
    std::optional<Constants> first_byte;
    bool has_bounds = true;  // of the constants
  };

  void Add(const ThreadAccess& access);
  void Add(const AccessSet& other) {
    for (const ThreadAccess& access : other.all_) Add(access);
  }
  void Clear() { *this = {}; }

  const std::vector<ThreadAccess>& all() const { return all_; }
  const std::vector<Group>& GroupsOf(const VarNode* memory) const;
  const ThreadAccess& operator[](size_t i) const { return all_[i]; }

 private:
  std::vector<ThreadAccess> all_;
  std::unordered_multimap<uint64_t, size_t> known_;  // by hash
  std::unordered_map<const VarNode*, std::vector<Group>> groups_;
  std::unordered_multimap<uint64_t, size_t> group_of_;  // places in groups_ of a memory, by hash
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

  // The accesses with the variables made after `mark` renamed, as `renamed` says or to new ones,
  // and with one more guard, where that is not null.
  size_t Mark() const { return made_.size(); }
  AccessSet RenameSince(size_t mark, const AccessSet& accesses, ir::VarMap renamed,
                        const Expr& guard);

  // An access that may be any of a group's: what it does not meet, none of them meets.
  ThreadAccess HullOf(const AccessSet& accesses, const AccessSet::Group& group);

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
