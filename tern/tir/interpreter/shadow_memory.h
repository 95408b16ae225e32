// SPDX-License-Identifier: Apache-2.0
//
// What the interpreter knows about a piece of memory beside its contents.
#ifndef TERN_TIR_INTERPRETER_SHADOW_MEMORY_H_
#define TERN_TIR_INTERPRETER_SHADOW_MEMORY_H_

#include <cstddef>
#include <vector>

#include "tern/ir/span.h"
#include "tern/tir/interpreter/task_tree.h"

namespace tern::tir {

struct MemoryAccess {
  Moment moment;
  const ir::Span* place = nullptr;  // null: no access
  bool is_write = false;
  bool is_atomic = false;  // a read-modify-write: races with others, but not with such
};

// Which bytes were written, and who read and wrote them last. Offsets are in bytes.
class ShadowMemory {
 public:
  enum class Contents { kInitialised, kUninitialised };
  ShadowMemory(size_t size, Contents contents);

  size_t size() const { return size_; }

  bool IsInitialised(size_t offset, size_t bytes) const;
  void MarkInitialised(size_t offset, size_t bytes);
  // The memory is allocated anew at the same place: nothing is initialised, but earlier accesses
  // can still race with later ones.
  void MarkUninitialised();

  // Notes an access to an element and returns an earlier one that races with it, or null. Accesses
  // that no others run beside need not be noted.
  const MemoryAccess* Record(const TaskTree& tasks, size_t offset, size_t bytes,
                             const MemoryAccess& access);

 private:
  // Of the accesses so far, those that suffice: whatever races with a forgotten one races with one
  // of these. Tasks run in turn, blocks one after another, so a new access that does not race with
  // the last write is ordered after all earlier writes; of the readers, and of the
  // atomic updates, two that are concurrent with each other stand for any number.
  struct Cell {
    MemoryAccess write, read, other_read, atomic, other_atomic;
  };
  const MemoryAccess* Record(const TaskTree& tasks, Cell& cell, const MemoryAccess& access);
  void RefineCells(size_t bytes);

  size_t size_;
  std::vector<bool> initialised_;  // by byte; empty: all are
  std::vector<Cell> cells_;        // by cell_bytes_; empty before the first access
  size_t cell_bytes_ = 0;
};

}  // namespace tern::tir

#endif  // TERN_TIR_INTERPRETER_SHADOW_MEMORY_H_
