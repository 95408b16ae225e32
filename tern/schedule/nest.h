// SPDX-License-Identifier: Apache-2.0
//
// What the steps of a schedule share: the path to a statement, replacing it, and the dependences
// that statements may not be moved across.
#ifndef TERN_SCHEDULE_NEST_H_
#define TERN_SCHEDULE_NEST_H_

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tern/arith/analyzer.h"
#include "tern/schedule/stmt_tree.h"
#include "tern/tir/analysis/reduction_update.h"
#include "tern/tir/analysis/selection_update.h"
#include "tern/tir/function.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

// Says why a step is not done; Schedule adds which one it was.
[[noreturn]] void Refuse(const std::string& why);

// Of factors and multiples: with extents of any memory, no index leaves int64.
inline constexpr int64_t kMaxFactor = std::numeric_limits<int32_t>::max();
// Refuses a number that is no factor: one below 1, or above `most`.
void CheckFactor(const std::string& what, int64_t factor, int64_t most = kMaxFactor);
// The largest number of an integer type, as far as int64 holds it.
int64_t LargestOf(DataType dtype);
// Refuses where a static extent, rounded up to a multiple, is beyond its type.
void CheckRoundsUp(const tir::Expr& extent, int64_t multiple);

// ---- Paths and nests

// From the root to a statement, both included; empty where it is not there.
Path PathTo(const tir::Stmt& root, const tir::StmtNode* stmt);
// The same along parent links, where it is a statement that the tree knows.
Path PathTo(const StmtTree& tree, const tir::StmtNode* stmt);

// A block and the loops around it that hold nothing else, outermost first. It keeps the statement
// that it is of: a step that replaces the function's body leaves it valid, and out of date.
struct Nest {
  tir::Stmt root;
  const tir::BlockNode* block = nullptr;
  std::vector<const tir::ForNode*> loops;
  std::vector<const tir::ForNode*> around;  // the loops around these
  tir::Stmt top() const;
  bool Has(const tir::ForNode* loop) const;
};
Nest NestOf(const StmtTree& tree, const tir::BlockNode* block);

// A statement as a reference.
tir::Stmt AsStmt(const tir::StmtNode* node);

// Several statements in the place of one. `buffers` are allocated around all sibling statements,
// so that those behind may read them too.
tir::Stmt ReplaceByRow(const StmtTree& tree, const tir::StmtNode* old, std::vector<tir::Stmt> row,
                       const std::vector<tir::Buffer>& buffers);
// A statement before another one, inside of its allocations: all of them are siblings then.
tir::Stmt Before(const tir::Stmt& stmt, const tir::Stmt& body);
// The loops around another body, outermost first.
tir::Stmt WrapLoops(const std::vector<const tir::ForNode*>& loops, tir::Stmt body);

// Every loop and block of a statement, in the order of the text. They live as long as that does:
// of a schedule's function until the next step.
std::vector<const tir::ForNode*> LoopsIn(const tir::Stmt& stmt);
std::vector<const tir::BlockNode*> BlocksIn(const tir::Stmt& stmt);

// The loops of a path, outermost first.
std::vector<const tir::ForNode*> LoopsAround(const Path& path);

// Knows the extents of the function, and the loops and conditions of a path.
arith::Analyzer AnalyzerAt(const tir::PrimFunc& function, const Path& path);

// ---- Blocks

// What a loop is to a block: the kinds of the axes that are bound with its variable.
struct AxisUse {
  bool spatial = false, reduce = false, other = false;
};
AxisUse UseOf(const tir::BlockNode* block, const tir::VarNode* var);
// The parts of a condition that are joined by "and".
std::vector<tir::Expr> Conjuncts(const tir::Expr& condition);
tir::Expr And(const tir::Expr& a, const tir::Expr& b);  // either may be null
// Whether any of the variables occurs.
bool UsesAnyOf(const tir::Expr& expr, const std::vector<const tir::ForNode*>& loops);
// What a block does where that is one step of a reduction, of a value that does not depend on the
// result. The value is without the block's definitions.
std::optional<tir::ReductionUpdate> PlainUpdate(const tir::BlockNode* block);
// A copy of a block without its read and write regions.
ffi::Ref<tir::BlockNode> CopyBlock(const tir::BlockNode* block);
// Blocks replaced by their bodies, as if all instances ran: for analyses of memory.
tir::Stmt OpenBlocks(const tir::Stmt& stmt, bool with_init = true);
// Runs `body` where `condition` holds: as the predicate of the block in its loops, or with an if.
tir::Stmt Guarded(const tir::Stmt& body, const tir::Expr& condition);

// A fresh loop over 0..extent for every extent, named prefix_0, prefix_1, ...
struct FreshLoops {
  std::vector<tir::Var> vars;
  std::vector<tir::Expr> extents;
  std::vector<std::string> names() const;
  tir::Stmt Around(tir::Stmt body) const;
};

// ---- Memory

// A load or store, of any expression.
struct Access {
  tir::Buffer buffer;
  std::vector<tir::Expr> indices;
  bool store = false;
};
std::vector<Access> AccessesOf(const tir::Stmt& stmt);
// Those of one buffer.
std::vector<Access> AccessesOf(const tir::Stmt& stmt, const tir::Buffer& buffer);
bool Touches(const tir::Stmt& stmt, const tir::Buffer& buffer);

// Replaces loads and stores; null: as it is. Blocks that change lose their read and write regions.
struct AccessRewrite {
  std::function<tir::Expr(const tir::Buffer&, const std::vector<tir::Expr>&)> load;
  std::function<tir::Stmt(const tir::Buffer&, const std::vector<tir::Expr>&, const tir::Expr&)>
      store;
};
tir::Stmt RewriteAccesses(const tir::Stmt& stmt, const AccessRewrite& rewrite);
// One buffer in the place of another.
tir::Stmt ReplaceBuffer(const tir::Stmt& stmt, const tir::Buffer& old, const tir::Buffer& buffer);

// Refuses where the memory of a buffer is accessed under another name, too, or its address taken.
void CheckPlainMemory(const tir::PrimFunc& function, const tir::Buffer& buffer);

// The allocation of a buffer in a statement, or null.
const tir::AllocateNode* AllocationOf(const tir::Stmt& root, const tir::Buffer& buffer);
const tir::AllocateNode* AllocationOf(const StmtTree& tree, const tir::Buffer& buffer);
const tir::AllocateNode* FindAllocation(const tir::Stmt& root, const std::string& name);

// A buffer of shared memory that is allocated in a loop has the part of it that an iteration needs:
// later, threads could not agree on where it starts. Another part stays as it is.
tir::Stmt ShrinkShared(const tir::AllocateNode* allocation, const std::vector<tir::Range>& box);

// ---- Order

// The statements from one to another, which comes later: siblings first..last of the sequence that
// holds both.
struct Between {
  const tir::SeqNode* row = nullptr;
  size_t first = 0, last = 0;
  Path outside;     // from the root to the sequence, both included
  Path to_a, to_b;  // from the sibling to each, both included
};
// Refuses where a is not before b.
Between FindBetween(const StmtTree& tree, const tir::StmtNode* a, const std::string& a_name,
                    const tir::StmtNode* b, const std::string& b_name);

// Refuses where a statement that `moved`, one of the two ends, comes past writes what `moved`
// reads, or touches what it writes; but for the `known` buffers, which the caller looks after.
void CheckMayMove(const tir::PrimFunc& function, const Between& between, const tir::Stmt& moved,
                  const std::vector<tir::Buffer>& known);
// The same where `moved`, the first of the two, comes to stand right before the other one.
void CheckMayComeTo(const tir::PrimFunc& function, const Between& between, const tir::Stmt& moved);
// Refuses where `moved` uses something that is defined between the sequence and it.
void CheckVisible(const Path& way, const tir::Stmt& moved, const std::string& name);
// Refuses where a buffer carries values from one run of the sequence to the next, or beyond.
void CheckNothingCarried(const tir::PrimFunc& function, const StmtTree& tree,
                         const Between& between, const tir::Buffer& buffer);

// ---- Fusing sibling loops (fuse_siblings.cc)

// Refuses a loop that is parallel, bound, or has annotations.
void CheckIsPlain(const tir::ForNode* loop);
// Refuses where two loops are not proven to have the same bounds.
void CheckSameBounds(const tir::ForNode* first, const tir::ForNode* second,
                     const arith::Analyzer& analyzer);
// Refuses where an iteration of the second loop touches what a later one of the first writes, or
// writes what that reads; but for the `known` buffers, which the caller looks after.
void CheckIterationsApart(const tir::PrimFunc& function, const tir::ForNode* first,
                          const tir::ForNode* second, const arith::Analyzer& analyzer,
                          const std::vector<tir::Buffer>& known);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_NEST_H_
