// SPDX-License-Identifier: Apache-2.0
//
// Where the statements of a schedule's function stand: parent links, what references refer to, the
// facts of blocks, and which loops, blocks and allocations have a name. A step hands over the new
// body, and the tree looks at what the step replaced alone: statements are immutable, so that one
// which is known is known with all below it.
#ifndef TERN_SCHEDULE_STMT_TREE_H_
#define TERN_SCHEDULE_STMT_TREE_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tern/schedule/references.h"
#include "tern/tir/stmt.h"

namespace tern::schedule {

// From a root to a statement, both included.
using Path = std::vector<const tir::StmtNode*>;

// What is known of a block's instances: the step that changes a block says what holds afterwards.
// Nothing is known of blocks that are written in ways that are not followed.
struct BlockFacts {
  // Affine bindings: no two iterations of the block's own loops are the same instance.
  bool affine = false;
  // The predicate keeps instances outside of the domain from running, and those beyond the tail of
  // a split loop, and no others.
  bool bounded = false;
  // Every instance of the domain runs, where the loops around the block's own do.
  bool complete = false;
};

class StmtTree {
 public:
  explicit StmtTree(tir::Stmt root);

  const tir::Stmt& root() const { return root_; }
  // Another body. Statements that it shares with the old one cost nothing. References to blocks
  // that are not in it hold until the end of the step: a later body may have them again.
  void Update(tir::Stmt root);
  // Whether blocks are gone since the last step; drops them, and their facts.
  bool HasGone() const { return !gone_.empty(); }
  void EndStep();

  // Statements are known that are, or hold, loops, blocks or allocations.
  bool Has(const tir::StmtNode* stmt) const { return parents_.count(stmt) > 0; }
  // Null for the root.
  const tir::StmtNode* ParentOf(const tir::StmtNode* stmt) const { return parents_.at(stmt); }
  // Whether a statement is below another one, both of them in the tree.
  bool IsInside(const tir::StmtNode* stmt, const tir::StmtNode* outer) const {
    for (stmt = ParentOf(stmt); stmt && stmt != outer;) stmt = ParentOf(stmt);
    return stmt != nullptr;
  }
  // From the root to a statement; empty where it is not in the tree.
  Path PathTo(const tir::StmtNode* stmt) const;

  // What a reference refers to, until the next update. One that is gone is an internal error.
  const tir::ForNode* At(const LoopRef& loop) const;
  // Several where blocks share a name.
  const std::vector<const tir::BlockNode*>& At(const BlockRef& block) const;
  const tir::AllocateNode* At(const BufferRef& buffer) const;  // null: it is a parameter
  bool Has(const LoopRef& loop) const { return by_var_.count(loop.var_.node()) > 0; }
  bool Has(const BlockRef& block) const { return blocks_.count(block.name_.get()) > 0; }
  // A block of the tree.
  BlockRef RefTo(const tir::BlockNode* block) const { return RefTo(block->name); }
  BlockRef RefTo(const std::string& block) const { return BlockRef(EntryOf(block)->name); }
  // LOOP or BLOCK.LOOP, which means this loop; "" where none does.
  std::string TextOf(const LoopRef& loop) const;
  // Whether it is a name to be looked up.
  static bool IsWritten(const BufferRef& buffer) { return !buffer.data_; }

  // Of blocks, by their name: those to come may have facts, too.
  BlockFacts FactsOf(const std::string& block) const;
  void SetFacts(const std::string& block, const BlockFacts& facts);

  // LOOP or BLOCK.LOOP: all that it means.
  std::vector<const tir::ForNode*> LoopsCalled(const std::string& text) const;
  // In no particular order. They live until the next update.
  const std::vector<const tir::ForNode*>& LoopsNamed(const std::string& name) const {
    return At(loops_, name);
  }
  const std::vector<const tir::BlockNode*>& BlocksNamed(const std::string& name) const {
    static const std::vector<const tir::BlockNode*> none;
    const BlockEntry* entry = EntryOf(name);
    return entry ? entry->nodes : none;
  }
  const std::vector<const tir::AllocateNode*>& AllocationsNamed(const std::string& name) const {
    return At(allocations_, name);
  }
  // Whether there are loops that are bound to threads, and pipelined ones.
  bool HasThreads() const { return threads_ > 0; }
  bool HasPipelines() const { return pipelines_ > 0; }

  // Whether it is what a new tree of the same root would be.
  bool IsUpToDate() const;

 private:
  template <class T>
  using ByName = std::unordered_map<std::string, std::vector<const T*>>;
  template <class T>
  static const std::vector<const T*>& At(const ByName<T>& map, const std::string& name) {
    static const std::vector<const T*> none;
    auto it = map.find(name);
    return it == map.end() ? none : it->second;
  }

  // Whether it is in the tree now.
  bool Add(const tir::StmtNode* stmt, const tir::StmtNode* parent);
  void Drop(const tir::StmtNode* stmt);
  template <class T>
  void Enter(ByName<T>* map, const std::string& name, const T* node, bool enter);
  // Lists a statement by its name, or no longer.
  void List(const tir::StmtNode* stmt, bool enter);

  // A block is its name, as long as there is one of it.
  struct BlockEntry {
    std::shared_ptr<const std::string> name;
    std::vector<const tir::BlockNode*> nodes;
    BlockFacts facts;
  };
  const BlockEntry* EntryOf(std::string_view name) const;
  BlockEntry* EnterBlock(const std::string& name);

  tir::Stmt root_;
  std::unordered_map<const tir::StmtNode*, const tir::StmtNode*> parents_;
  std::unordered_map<const tir::VarNode*, const tir::ForNode*> by_var_;
  std::unordered_map<const tir::VarNode*, const tir::AllocateNode*> by_data_;
  std::unordered_map<const std::string*, BlockEntry> blocks_;
  std::unordered_map<std::string_view, const std::string*> block_names_;
  std::vector<const std::string*> gone_;  // blocks that were dropped, and may be there again
  ByName<tir::ForNode> loops_;
  ByName<tir::AllocateNode> allocations_;
  int64_t threads_ = 0, pipelines_ = 0;  // loops
};

// The root of a path with another statement at its end: the statements of the path are copied, all
// others are shared.
tir::Stmt ReplaceAt(const Path& path, const tir::Stmt& replacement);
// Without the statement at its end, and without what holds nothing else.
tir::Stmt RemoveAt(const Path& path);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_STMT_TREE_H_
