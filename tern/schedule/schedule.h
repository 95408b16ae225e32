// SPDX-License-Identifier: Apache-2.0
//
// Transformations of loops that keep what a function computes. Each one is checked: where it would
// change the result, or where that cannot be told, it throws a ScheduleError that says why, and the
// function stays as it was.
//
// Steps take and return references to blocks, loops and buffers (references.h). What was done is a
// trace: one line of text per step, which can be written in a .tir file too and replayed on another
// function. There loops are called by the names of their variables; where several have one name, by
// the name of a block below and theirs, "matmul.i". docs/schedules.md has all steps.
#ifndef TERN_SCHEDULE_SCHEDULE_H_
#define TERN_SCHEDULE_SCHEDULE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tern/schedule/index_map.h"
#include "tern/schedule/references.h"
#include "tern/schedule/stmt_tree.h"
#include "tern/schedule/trace.h"
#include "tern/tir/function.h"

namespace tern::arith {
class Analyzer;
}
namespace tern::tir {
class Preparation;
}

namespace tern::schedule {

struct Nest;

// What becomes of the iterations of a split loop beyond its extent, where the factors do not divide
// it.
enum class TailStrategy {
  kLoop,   // full tiles run without a condition, the rest in a loop of its own
  kGuard,  // one loop for all, with a condition inside
  kMask,   // as kLoop, and a vectorized loop's rest is a masked vector, where the target has masks
  kExact,  // there are none: the factors are proven to divide the extent
};
// "loop", "guard", ...
const char* TailStrategyName(TailStrategy tail);

// A pipelined loop whose copies are the role of a warp of its own.
struct PipelineRoles {
  int64_t tiles = 2;   // that it may be ahead
  int64_t blocks = 0;  // thread blocks, each computing tile after tile; 0: one for a tile
  int64_t turns = 1;   // groups of warps that take these tiles in turn; 1: all threads share each
};

// What a loop is split by: integers, or expressions of integers over the function's parameters.
struct SplitFactors : std::vector<ir::Expr> {
  SplitFactors(std::initializer_list<ir::Expr> factors) : vector(factors) {}
  SplitFactors(const std::vector<int64_t>& factors) : vector(factors.begin(), factors.end()) {}
  SplitFactors(std::vector<ir::Expr> factors) : vector(std::move(factors)) {}
};

// What pad_einsum makes; none of what is whole already.
struct PaddedEinsum {
  CopyRefs operands;
  CopyRef result;
};

class Schedule {
 public:
  using Names = std::vector<std::string>;

  explicit Schedule(tir::PrimFunc function);

  const tir::PrimFunc& function() const { return function_; }
  const Trace& trace() const { return trace_; }
  // Where the function's statements stand. It is that of the function until the next step.
  const StmtTree& tree() const { return *tree_; }
  // What a reference refers to, until the next step. Refuses a block whose name others have, too.
  const tir::ForNode* At(const LoopRef& loop) const;
  const tir::BlockNode* At(const BlockRef& block) const;
  // One that the function allocates, as it is.
  const tir::Buffer& BufferAt(const BufferRef& buffer) const;
  // A reference to a block of the function.
  BlockRef RefTo(const tir::BlockNode* block) const { return tree().RefTo(block); }
  // What traces call LOOP or BLOCK.LOOP, and a block by its name. Refuse what means nothing, or
  // several.
  LoopRef LoopNamed(const std::string& text) const;
  BlockRef BlockNamed(const std::string& name) const;
  // What the function makes of its constants, found once between two steps.
  const tir::Preparation& preparation() const;

  // ---- Loops (loops.cc, fuse_siblings.cc)

  // A loop becomes a nest of one more than there are factors, the innermost of the last factor; the
  // outermost is as long as it takes. Where the extent is no multiple, the iterations beyond it do
  // nothing. A factor that is not constant counts as at least 1, and as no more than the extent.
  // They are called by the names given, or i_0, i_1, ...
  LoopRefs Split(const LoopRef& loop, const SplitFactors& factors, Names names = {},
                 TailStrategy tail = TailStrategy::kLoop);
  template <size_t N>
  LoopsMade<N + 1> Split(const LoopRef& loop, const int64_t (&factors)[N], Names names = {},
                         TailStrategy tail = TailStrategy::kLoop) {
    std::vector<int64_t> list(factors, factors + N);
    return LoopsMade<N + 1>(Split(loop, SplitFactors(list), std::move(names), tail));
  }
  // Loops, each the whole body of the one before, become one.
  LoopRef Fuse(const LoopRefs& loops, std::string name = "");
  // Interchanges loops of one nest, so that they stand in the order given. Others stay where they
  // are.
  void Reorder(const LoopRefs& loops);
  // The first `at` iterations of a loop, which is as the factors of Split are, and the rest become
  // two loops, one after the other, which it returns: called as given, or i_0, i_1; blocks in the
  // second are called name_1, or with the next number that is free. Both parts of a reduction are
  // reductions, which other steps take.
  LoopsMade<2> LoopPartition(const LoopRef& loop, const ir::Expr& at, Names names = {});
  // Two loops of the same length, one behind the other, become one that does both: the second. An
  // iteration of it may not touch what later ones of the first write, nor write what they read.
  void FuseSiblings(const LoopRef& first, const LoopRef& second);
  // How a loop runs. All but Unroll need iterations that are independent; the threads of a block,
  // and the lanes of a vector, may also share a reduction.
  void Parallel(const LoopRef& loop);
  void Vectorize(const LoopRef& loop);
  void Unroll(const LoopRef& loop);
  void Bind(const LoopRef& loop, const std::string& axis);
  // The statements of the loop's body run in stages, one for each: stage 1 of an iteration runs
  // beside stage 0 of the next. Copies of the stages in `async` need not wait for one another. With
  // roles, a warp of its own copies (split_roles.h).
  void Pipeline(const LoopRef& loop, const std::vector<int64_t>& stages,
                const std::vector<int64_t>& async = {}, std::optional<PipelineRoles> roles = {});

  // ---- Where blocks are computed (compute_at.cc, inline.cc)

  // A block that computes a buffer for others moves into a loop around all of them, and computes
  // what an iteration needs. Returns its loops: those given, or block_0, ...
  LoopRefs ComputeAt(const BlockRef& block, const LoopRef& loop, Names names = {});
  // A block that reads what a loop computes moves to its end, and does what an iteration made
  // possible. Returns its loops.
  LoopRefs ReverseComputeAt(const BlockRef& block, const LoopRef& loop, Names names = {});
  // A block is computed wherever its result is read, and the buffer is gone.
  void ComputeInline(const BlockRef& block);
  // A block that reads one result of another becomes part of that one, and the buffer between them
  // is gone.
  void ReverseComputeInline(const BlockRef& block);

  // ---- Memory (cache.cc, layout.cc, replicate.cc, set_dtype.cc)

  // The block reads a copy of what it reads of a buffer. The name is that of the copy, and of the
  // block that makes it: the one given, or buffer_scope.
  CopyRef CacheRead(const BlockRef& block, const BufferRef& buffer, tir::StorageScope scope,
                    std::string name = "");
  // The block writes a buffer of its own, which is copied afterwards.
  CopyRef CacheWrite(const BlockRef& block, const BufferRef& buffer, tir::StorageScope scope,
                     std::string name = "");
  // A block reads the copy that cache_read made for another one before it.
  void ReuseCache(const BlockRef& block, const CopyRef& copy);
  void SetScope(const BufferRef& buffer, tir::StorageScope scope);
  // Hosts prefetch what follows in memory where the block reads a buffer.
  void Prefetch(const BlockRef& block, const BufferRef& buffer);
  // The stride of a dimension, in elements, is `offset` more than a multiple of `factor`.
  void StorageAlign(const BufferRef& buffer, int64_t dimension, int64_t factor, int64_t offset = 0);
  // Elements lie elsewhere in an allocated buffer: that at (i, j) where the map says.
  void TransformLayout(const BufferRef& buffer, const IndexMap& map);
  // Each element of some allocated buffers has so many copies, in a new last dimension. Blocks that
  // write them do so for every copy, in a new innermost loop BLOCK_q; others read the copy that the
  // map says, of the last index of what they store.
  void Replicate(const BufferRefs& buffers, int64_t copies, const IndexMap& reader);
  // Elements of an allocated buffer are of a wider type: they are converted when they are stored,
  // and not when they are read.
  void SetDtype(const BufferRef& buffer, DataType dtype);

  // ---- Reductions (reductions.cc)

  // The init of a block becomes a block of its own before the loop. Returns its name: that given,
  // or block_init.
  BlockRef DecomposeReduction(const BlockRef& block, const LoopRef& loop, std::string name = "");
  // The iterations of a loop along a reduction get a result each, which are reduced afterwards. Of
  // a reduction whose init is elsewhere these are the results of one iteration of the loops around,
  // and added to what there is.
  // Returns the buffer and block of the partial results, called as given, or block_rf.
  CopyRef Rfactor(const LoopRef& loop, std::string name = "");
  // A reduction that keeps the first, or the last, of equal values and its index compares indices
  // too, so that its steps may run in any order: of equal values that of the lowest, or highest.
  void BreakTies(const BlockRef& block);
  // Online softmax: sibling loops, each with one block, become one, the last. The first reduction
  // is m = max(x); later ones sum up exp((x - m) * c), or that times something; blocks between them
  // are elementwise. Whenever m grows, the sums so far are rescaled. New blocks are named after the
  // old ones, with _init, _before, _now, _change, _scale or _divide behind.
  void Roll(const LoopRef& first, const LoopRef& last);
  // The same of loops over parts of the steps, each of which holds one loop along the steps of a
  // part, nothing else: parts are rolled by themselves, and their results are combined behind the
  // outermost loop around. More new blocks and buffers are named after the old ones: _parts, _all,
  // and _weight.
  void RollParts(const LoopRef& first, const LoopRef& last);
  // A reduction that updates several buffers, each from its own old value, becomes one for each, in
  // loops of their own. Returns all but the first, called as given, or block_1, block_2.
  BlockRefs SplitUpdates(const BlockRef& block, Names names = {});
  // Zero-pads the axes of a sum of products to multiples of the factors: operands are copied
  // before, the result afterwards. Returns the blocks that copy, and their padded buffers.
  PaddedEinsum PadEinsum(const BlockRef& block, const std::vector<int64_t>& factors);
  // Pads the axes of another block, one store or a reduction, and the buffer that it computes:
  // elements beyond are 0, and steps beyond a reduced axis change nothing.
  void PadBlock(const BlockRef& block, const std::vector<int64_t>& factors);

  // A convolution, or another sum of products whose operands are not indexed by plain axes, becomes
  // a GEMM: each row of A is the window of an output pixel, B are the weights. Returns the blocks
  // and buffers of A, B and C, which is copied to the result: called as given, or block_a,
  // block_b, block_c. The axes of `batch` stay axes of their own, before the others, and so does a
  // dynamic one where M or N has static ones beside it.
  CopyRefs Im2col(const BlockRef& block, const Names& batch = {}, Names names = {});
  // A stride-1 convolution by Winograd's F(m, r), in tiles of m output pixels along each dimension
  // of the window: fewer multiplications, other rounding. The number of tiles is padded to a
  // multiple. Returns buffers and blocks: the padded input with channels last, its
  // transformed tiles, the transformed weights, the GEMMs, the tiles of the output: those given, or
  // block_input, block_a, block_b, block_gemm, block_output.
  CopyRefs Winograd(const BlockRef& block, int64_t m, int64_t multiple = 1, Names names = {});
  // A static convolution or pooling reads a padded copy of its input whose spatial dimensions are
  // one: the window of the next output pixel starts at the next element. Pixels between rows are
  // computed too, and as many more as make a multiple. Returns the copy, and the output
  // with these pixels, which is copied to the result: called as given, or block_input,
  // block_output.
  CopyRefs FlattenSpatial(const BlockRef& block, int64_t multiple, Names names = {});
  // A transposed convolution, whose input is dilated by the stride, becomes one at stride 1, with a
  // filter for each phase of the output pixels (their index modulo the stride), and depth to space.
  // Returns buffers and blocks: the weights by phase, and the output by phase, which
  // is then interleaved: called as given, or block_weights, block_phases.
  CopyRefs Polyphase(const BlockRef& block, Names names = {});
  // A block whose `select` reads one element below an index and another one from there on, as
  // concatenation and padding do, becomes two, one for each side, in loops of their own. Returns
  // the name of the second: that given, or block_1.
  BlockRef SplitCases(const BlockRef& block, std::string second = "");

  // ---- Updates that collide (atomic_updates.cc)

  // The one update of a block, A[i] = A[i] op x, becomes an atomic operation: its instances may run
  // in any order, and at the same time.
  void AtomicUpdate(const BlockRef& block);
  // A block of atomic updates does them on a copy of the result, which each iteration of a loop
  // around has of its own, and adds to the result at its end. The copy is of the part that an
  // iteration may reach. In memory of one thread its updates are plain ones. Returns the name of
  // the copy, and of the block that it begins with: that given, or block_copy; the block that adds
  // it is called that with _merge behind.
  CopyRef Privatize(const BlockRef& block, const LoopRef& loop, tir::StorageScope scope,
                    std::string name = "");

  // ---- Scans (split_scan.cc)

  // A scan runs in parts of `factor` steps, in place of a loop around it: the totals of the parts,
  // the carries into them, which are a scan of the totals, and the parts, each from its carry on.
  // Returns the blocks and buffers of totals and carries: called as given, or
  // block_totals, block_carries.
  CopyRefs SplitScan(const BlockRef& block, const LoopRef& loop, int64_t factor, Names names = {});
  // The same in memory of a scope that threads share: values are copied there, scanned, and results
  // copied out. The carry into a part is computed from all totals before it. Returns
  // the names of the blocks: the values, also those of a buffer, totals, carries, and the scans of
  // the parts: those given, or block_values, block_totals, block_carries, block_parts.
  CopyRefs SplitScan(const BlockRef& block, const LoopRef& loop, int64_t factor,
                     tir::StorageScope scope, Names names = {});

  // ---- Parts as units (tensorize.cc)

  // A loop and the block below become one block, whose axes are those of the loops around. Returns
  // its name: that given, or block_o.
  BlockRef Blockize(const LoopRef& loop, std::string name = "");
  // What a loop does is done by a registered tensor intrinsic.
  void Tensorize(const LoopRef& loop, const std::string& intrinsic);

  // One step of a trace, or its text.
  void Apply(const Step& step);
  void Apply(const std::string& step);

  // Derives again what steps keep up to date, the tree and the facts of blocks, and compares.
  // Throws InternalError where something is stale. In debug builds every step does that.
  void CheckState() const;

 private:
  // What the iterations of a loop are to the blocks below it.
  enum class Role { kIndependent, kReduction, kOrdered };

  static Names NamesOf(const LoopRef& loop) { return {loop.name()}; }
  static Names NamesOf(const BlockRef& block) { return {block.name()}; }
  static Names NamesOf(const CopyRef& copy) { return {copy.buffer().name()}; }
  template <class T>
  static Names NamesOf(const std::vector<T>& made) {
    Names names;
    for (const T& one : made) names.push_back(NamesOf(one)[0]);
    return names;
  }
  // Does a step, which returns references to what it made, and writes it down.
  template <class F>
  auto Do(const char* step, const Names& args, const F& f) {
    using Made = std::invoke_result_t<F>;
    if constexpr (std::is_void_v<Made>) {
      DoStep(step, args, [&] {
        f();
        return Names();
      });
    } else {
      Made made;
      DoStep(step, args, [&] {
        made = f();
        return NamesOf(made);
      });
      return made;
    }
  }
  void DoStep(const char* step, const Names& args, const std::function<Names()>& f);
  // What the trace calls it; "" where no name means it.
  std::string TextOf(const LoopRef& loop) const;
  std::string TextOf(const BlockRef& block) const;
  Names TextsOf(const LoopRefs& loops) const;
  // What a step has made: the block and the buffer of a name, as far as there are any.
  CopyRef MadeAs(const std::string& name) const;
  CopyRefs MadeAs(const Names& names) const;
  void SetBody(tir::Stmt body);
  // One statement in the place of another one of the function.
  void ReplaceStmt(const tir::StmtNode* old, const tir::Stmt& replacement);
  // Without a statement, and without what holds nothing else.
  void RemoveStmt(const tir::StmtNode* stmt);
  // A loop gets another body; those of the buffers that are used in it alone are allocated there.
  void FillLoop(const tir::ForNode* loop, tir::Stmt body, const std::vector<tir::Buffer>& buffers);
  // One name, or the default.
  static std::string Or(const std::string& name, const std::string& otherwise) {
    return name.empty() ? otherwise : name;
  }

  const tir::ForNode* FindLoop(const std::string& name) const;
  const tir::BlockNode* FindBlock(const std::string& name) const;
  // A buffer that the function allocates.
  const tir::AllocateNode* Temporary(const BufferRef& buffer) const;
  void CheckNewLoop(const std::string& name) const;
  void CheckNewBlock(const std::string& name) const;
  void CheckNewBuffer(const std::string& name) const;
  BlockFacts FactsOf(const tir::BlockNode* block) const { return tree().FactsOf(block->name); }
  // Of a block that is there, or will be at the end of the step.
  void SetFacts(const std::string& block, const BlockFacts& facts);
  // The tree, which no other schedule has.
  StmtTree* OwnTree();
  Role RoleOf(const tir::ForNode* loop) const;
  // Throws unless the iterations may run in any order, and at the same time.
  void CheckIndependent(const tir::ForNode* loop) const;
  // That threads, or lanes of a vector, can share a reduction.
  void CheckIsUpdate(const tir::BlockNode* block, const std::string& by, bool several) const;
  void CheckMayReassociate(const tir::BlockNode* block, const std::string& what) const;
  void CheckMayReorder(const std::vector<const tir::ForNode*>& nest,
                       const std::vector<const tir::ForNode*>& order) const;
  // A loop along an axis of a reduction, with the nest around it: the second part goes on where the
  // first ends. Whether it could.
  bool PartitionSteps(const tir::ForNode* loop, size_t axis, const ir::Expr& head,
                      const ir::Expr& tail, const Names& names);
  void ShrinkToStep(const tir::Buffer& buffer, const tir::ForNode* loop);
  void RollLoops(const LoopRef& first, const LoopRef& last, bool in_parts);
  // What both forms of SplitScan do.
  CopyRefs DoSplitScan(const BlockRef& block, const LoopRef& loop, int64_t factor,
                       std::optional<tir::StorageScope> scope, Names names);
  void SetKind(const tir::ForNode* loop, tir::ForKind kind, const std::string& axis = "");
  // The one buffer that a block writes, which nothing else writes.
  tir::Buffer SoleResult(const tir::BlockNode* block) const;
  // That its instances can be computed elsewhere: axes known, each loop of one kind of axis.
  void CheckRecomputable(const Nest& nest) const;
  // The block over boxes of some of its axes, in new loops; the others keep their loops.
  struct Moved {
    tir::Stmt stmt;
    LoopRefs loops;
  };
  Moved Recompute(const Nest& nest, const std::map<const tir::VarNode*, tir::Range>& boxes,
                  const arith::Analyzer& analyzer, const Names& names) const;
  // What cache_read and cache_write do.
  CopyRef Cache(const BlockRef& block, const BufferRef& buffer, tir::StorageScope scope,
                std::string name, bool writes);
  // That a block which reads its result begins with its init.
  void CheckStartsWithInit(const Nest& nest, const tir::Buffer& buffer) const;
  // The box of a buffer that a nest reads or writes, where it runs at all (null: always).
  struct Box {
    std::vector<tir::Range> ranges;
    tir::Expr condition;
  };
  Box BoxOf(const Nest& nest, const tir::Buffer& buffer, bool writes) const;

  tir::PrimFunc function_;
  std::shared_ptr<StmtTree> tree_;  // of the function's body; copies of a schedule share it
  mutable std::shared_ptr<const tir::Preparation> preparation_;  // null: not asked for yet
  Trace trace_;
  std::vector<std::pair<std::string, BlockFacts>> old_facts_;  // that the step at hand changed
};

// Whether a function carries a schedule (attr::kSchedule) for the target that it is compiled for,
// or for all where it has none yet.
bool HasSchedule(const tir::PrimFunc& function);
// The schedule that a function carries, done. Throws where it does not apply.
Schedule ScheduleOf(const tir::PrimFunc& function);
// The function with the schedule that it carries applied, and gone.
tir::PrimFunc ApplySchedule(const tir::PrimFunc& function);
// The function with no more than the first steps of the schedule that it carries for its target.
// Throws where that has fewer, or there is none.
tir::PrimFunc WithFirstSteps(const tir::PrimFunc& function, int64_t count);
// The function with another schedule to carry.
tir::PrimFunc WithSchedule(const tir::PrimFunc& function, const Trace& trace);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_SCHEDULE_H_
