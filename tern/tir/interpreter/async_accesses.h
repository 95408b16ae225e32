// SPDX-License-Identifier: Apache-2.0
//
// Accesses to memory that a thread begins and goes on: copies, whose elements are written later,
// and products of matrices, whose operands are read and whose sums are written later.
#ifndef TERN_TIR_INTERPRETER_ASYNC_ACCESSES_H_
#define TERN_TIR_INTERPRETER_ASYNC_ACCESSES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "tern/ir/span.h"
#include "tern/tir/interpreter/task_tree.h"

namespace tern::tir {

// Of one element; under way until its thread has waited for the group it is of.
struct AsyncAccess {
  const char* address;
  size_t bytes;
  const ir::Span* place;
  bool is_write;
  TaskId task = 0;
  uint64_t group = 0;  // of the task: they are done in the order of these
};

// The groups of one kind that a thread has begun.
class AsyncGroups {
 public:
  // Those that are begun from now on, to the next Commit, are of this group.
  uint64_t open() const { return first_ + groups_.size() - 1; }
  // To the group that it names, which is open or was the last that was.
  void Add(const AsyncAccess& access) { groups_[access.group - first_].push_back(access); }
  void Commit() { groups_.emplace_back(); }
  bool Has(const AsyncAccess& access) const;
  // Waits until no more than `count` of the groups that were committed are under way; returns what
  // is done by that.
  std::vector<AsyncAccess> Wait(int64_t count);

 private:
  std::deque<std::vector<AsyncAccess>> groups_{1};  // the last one is open
  uint64_t first_ = 0;                              // the number of groups_[0]
};

// What is under way in a piece of memory.
class AsyncMemory {
 public:
  void Begin(const AsyncAccess& access);
  // False where it was not under way: its memory has gone and come again.
  bool End(const AsyncAccess& access);
  // An access that is under way and that another one of these bytes must not meet, or null.
  const AsyncAccess* Find(const char* address, size_t bytes, bool is_write) const;

 private:
  static constexpr size_t kMostBytes = 16;            // of an element
  std::multimap<const char*, AsyncAccess> accesses_;  // by address
};

}  // namespace tern::tir

#endif  // TERN_TIR_INTERPRETER_ASYNC_ACCESSES_H_
