// SPDX-License-Identifier: Apache-2.0
//
// Where the statements of a schedule's function stand: parent links, and loops, blocks and
// allocations by name. A step hands over the new body, and the tree looks at what the step replaced
// alone: statements are immutable, so that one which is known is known with all below it.
#ifndef TERN_SCHEDULE_STMT_TREE_H_
#define TERN_SCHEDULE_STMT_TREE_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "tern/tir/stmt.h"

namespace tern::schedule {

// From a root to a statement, both included.
using Path = std::vector<const tir::StmtNode*>;

class StmtTree {
 public:
  explicit StmtTree(tir::Stmt root);

  const tir::Stmt& root() const { return root_; }
  // Another body. Statements that it shares with the old one cost nothing.
  void Update(tir::Stmt root);

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

  // In no particular order. They live until the next update.
  const std::vector<const tir::ForNode*>& LoopsNamed(const std::string& name) const {
    return At(loops_, name);
  }
  const std::vector<const tir::BlockNode*>& BlocksNamed(const std::string& name) const {
    return At(blocks_, name);
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

  tir::Stmt root_;
  std::unordered_map<const tir::StmtNode*, const tir::StmtNode*> parents_;
  ByName<tir::ForNode> loops_;
  ByName<tir::BlockNode> blocks_;
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
