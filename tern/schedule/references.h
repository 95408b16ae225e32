// SPDX-License-Identifier: Apache-2.0
//
// References to blocks, loops and buffers of a schedule. They are small values, which hold as long
// as there is the block, loop or buffer, whatever steps make of the statements: a loop is its
// variable, a buffer its memory, a block what StmtTree gave it when it came. Using one that is gone
// is an internal error, which names it.
//
//   auto [io, ii] = schedule.Split(i, {8}, {"io", "ii"});
//   schedule.Vectorize(ii);
//
// Names are for text. A step writes the names of what it refers to into the trace.
#ifndef TERN_SCHEDULE_REFERENCES_H_
#define TERN_SCHEDULE_REFERENCES_H_

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tern/tir/stmt.h"

namespace tern::schedule {

inline const std::string& NoName() {
  static const std::string none;
  return none;
}

class BlockRef {
 public:
  BlockRef() = default;  // none

  bool empty() const { return name_ == nullptr; }
  explicit operator bool() const { return !empty(); }
  const std::string& name() const { return name_ ? *name_ : NoName(); }
  friend bool operator==(const BlockRef&, const BlockRef&) = default;

 private:
  friend class StmtTree;
  explicit BlockRef(std::shared_ptr<const std::string> name) : name_(std::move(name)) {}

  std::shared_ptr<const std::string> name_;  // the same string as long as there is the block
};

class LoopRef {
 public:
  LoopRef() = default;  // none
  explicit LoopRef(tir::Var var) : var_(std::move(var)) {}
  explicit LoopRef(const tir::ForNode* loop) : var_(loop->var) {}

  bool empty() const { return !var_; }
  explicit operator bool() const { return !empty(); }
  // Without a block.
  const std::string& name() const { return var_ ? var_.name() : NoName(); }
  // The same loop, which traces call BLOCK.LOOP. Otherwise they do so where several loops have the
  // name.
  LoopRef Of(const BlockRef& block) const {
    LoopRef loop = *this;
    loop.block_ = block;
    return loop;
  }
  // LOOP or BLOCK.LOOP.
  std::string str() const { return block_ ? block_.name() + "." + name() : name(); }
  friend bool operator==(const LoopRef& a, const LoopRef& b) {
    return a.var_.get() == b.var_.get();
  }

 private:
  friend class StmtTree;

  tir::Var var_;
  BlockRef block_;
};

// A name for what is made of a block or loop.
inline std::string operator+(const BlockRef& block, const std::string& suffix) {
  return block.name() + suffix;
}
inline std::string operator+(const LoopRef& loop, const std::string& suffix) {
  return loop.name() + suffix;
}

// Several, outermost first.
class LoopRefs : public std::vector<LoopRef> {
 public:
  LoopRefs() = default;
  LoopRefs(std::initializer_list<LoopRef> loops) : vector(loops) {}
  LoopRefs(const_iterator begin, const_iterator end) : vector(begin, end) {}

  // Each of them as the loop of a block.
  LoopRefs Of(const BlockRef& block) const {
    LoopRefs loops = *this;
    for (LoopRef& loop : loops) loop = loop.Of(block);
    return loops;
  }
};

// So many, for structured bindings.
template <size_t N>
class LoopsMade : public LoopRefs {
 public:
  LoopsMade() = default;
  explicit LoopsMade(LoopRefs loops) : LoopRefs(std::move(loops)) {}
  template <size_t I>
  const LoopRef& get() const {
    static_assert(I < N);
    return (*this)[I];
  }
};

class BlockRefs : public std::vector<BlockRef> {
 public:
  BlockRefs() = default;
  BlockRefs(std::initializer_list<BlockRef> blocks) : vector(blocks) {}
};

// A parameter, or a buffer that the function allocates.
class BufferRef {
 public:
  BufferRef(const tir::Buffer& buffer) : name_(buffer->name), data_(buffer->data) {}
  // A name to be looked up, by each step that takes it: for traces, and for what is written by
  // hand.
  explicit BufferRef(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  // Whether it is that one.
  bool Is(const tir::Buffer& buffer) const {
    return buffer->name == name_ && (!data_ || buffer->data.same(data_));
  }

 private:
  friend class StmtTree;

  std::string name_;
  tir::Var data_;  // null: a name to be looked up
};

class BufferRefs : public std::vector<BufferRef> {
 public:
  BufferRefs() = default;
  BufferRefs(std::initializer_list<BufferRef> buffers) : vector(buffers) {}
};

// A block that makes a copy, or another buffer of its own name, and this buffer.
class CopyRef : public BlockRef {
 public:
  CopyRef() = default;
  CopyRef(BlockRef block, BufferRef buffer)
      : BlockRef(std::move(block)), buffer_(std::move(buffer)) {}

  const BufferRef& buffer() const { return buffer_; }
  operator const BufferRef&() const { return buffer_; }

 private:
  BufferRef buffer_{""};
};

class CopyRefs : public std::vector<CopyRef> {
 public:
  using vector::vector;
};

}  // namespace tern::schedule

template <size_t N>
struct std::tuple_size<tern::schedule::LoopsMade<N>> : std::integral_constant<size_t, N> {};
template <size_t I, size_t N>
struct std::tuple_element<I, tern::schedule::LoopsMade<N>> {
  using type = const tern::schedule::LoopRef;
};

#endif  // TERN_SCHEDULE_REFERENCES_H_
