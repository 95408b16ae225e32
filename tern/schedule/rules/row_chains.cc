// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/row_chains.h"

#include <algorithm>
#include <set>

#include "tern/ir/structural.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/new_block.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

bool IsSpatialKind(BlockKind kind) {
  return kind == BlockKind::kElementwise || kind == BlockKind::kBroadcast;
}

bool Calls(const BlockNode* block, const char* name) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ir::CallNode* node) override {
      found |= node->name == wanted;
      VisitChildren(node);
    }
    std::string wanted;
    bool found = false;
  } scan;
  scan.wanted = name;
  scan.Visit(block->body);
  return scan.found;
}

// The blocks of a function, and which of them writes what another one reads.
class Dataflow {
 public:
  Dataflow(const PrimFunc& function, std::vector<BlockInfo>* blocks)
      : nodes_(BlocksIn(function->body)), blocks_(*blocks) {}

 protected:
  // The block before `reader` that wrote a buffer last, or none.
  static constexpr size_t kNone = static_cast<size_t>(-1);
  size_t WriterOf(const Buffer& buffer, size_t reader) const {
    for (size_t i = reader; i-- > 0;)
      if (!blocks_[i].accesses.empty() && blocks_[i].accesses[0].store &&
          blocks_[i].accesses[0].buffer.same(buffer))
        return i;
    return kNone;
  }

  // Whether the first axes of what a block writes are rows like those.
  bool HasRows(const BlockInfo& block, const BlockInfo& last,
               const std::vector<size_t>& rows) const {
    if (block.accesses.empty() || !block.accesses[0].store || !block.accesses[0].by_axes)
      return false;
    const std::vector<size_t>& axes = block.accesses[0].axes;
    if (axes.size() < rows.size()) return false;
    for (size_t i = 0; i < rows.size(); ++i)
      if (!ir::StructuralEqual(block.axes[axes[i]].extent, last.axes[rows[i]].extent)) return false;
    return true;
  }

  std::vector<const BlockNode*> nodes_;
  std::vector<BlockInfo>& blocks_;
};

class ChainFinder : Dataflow {
 public:
  using Dataflow::Dataflow;

  void Run() {
    for (size_t last = blocks_.size(); last-- > 0;)
      if (!taken_.count(last) && IsSpatialKind(blocks_[last].kind)) Join(last);
  }

 private:
  // The axes of `last` at which it reads results of reductions, or what is computed of these, an
  // element a row; none where they differ.
  std::vector<size_t> RowsOf(size_t last) const {
    std::vector<size_t> rows;
    for (const BlockAccess& read : blocks_[last].accesses) {
      if (read.store) continue;
      size_t writer = WriterOf(read.buffer, last);
      if (writer == kNone) continue;
      const BlockInfo& other = blocks_[writer];
      bool of_row = IsSpatialKind(other.kind) && other.axes.size() < blocks_[last].axes.size();
      if (other.kind != BlockKind::kReduction && !of_row) continue;
      // Elements, each of a reduction.
      if (read.by_axes && read.axes.size() == blocks_[last].axes.size()) continue;
      if (read.axes.empty() || !read.by_axes || (!rows.empty() && rows != read.axes)) return {};
      rows = read.axes;
    }
    return rows;
  }

  void Join(size_t last) {
    BlockInfo& block = blocks_[last];
    std::vector<size_t> rows = RowsOf(last);
    if (rows.empty() || !HasRows(block, block, rows)) return;
    std::set<size_t> members;
    std::vector<size_t> open = {last};
    while (!open.empty()) {
      size_t at = open.back();
      open.pop_back();
      for (const BlockAccess& read : blocks_[at].accesses) {
        size_t writer = read.store ? kNone : WriterOf(read.buffer, at);
        if (writer == kNone || members.count(writer) || taken_.count(writer)) continue;
        const BlockInfo& other = blocks_[writer];
        bool fits = IsSpatialKind(other.kind) ||
                    (other.kind == BlockKind::kReduction && !IsProduct(other, rows.size()));
        if (!fits || !HasRows(other, block, rows)) continue;
        members.insert(writer);
        open.push_back(writer);
      }
    }
    KeepRead(last, &members);
    if (IsEpilogue(last, members)) return;
    if (std::none_of(members.begin(), members.end(),
                     [&](size_t member) { return blocks_[member].kind == BlockKind::kReduction; }))
      return;
    bool exponential = Calls(nodes_[last], "exp"), total = false;
    block.AddMembers(blocks_, members);
    for (size_t member : members) {
      exponential |= Calls(nodes_[member], "exp");
      total |= Sums(member);
      taken_.insert(member);
    }
    block.kind = exponential && total ? BlockKind::kSoftmax : BlockKind::kNormalization;
    block.rows = rows;
  }

  // Whether a reduction of two tensors has several results in a row, as the scores of attention.
  static bool IsProduct(const BlockInfo& block, size_t rows) {
    size_t tensors = 0;
    for (const BlockAccess& access : block.accesses)
      tensors += !access.store && !access.buffer.same(block.accesses[0].buffer);
    return tensors > 1 && block.accesses[0].axes.size() > rows;
  }

  // Whether a block reads elements of a GEMM, and the chain before it does not: it is for the GEMM.
  bool IsEpilogue(size_t last, const std::set<size_t>& members) const {
    for (const BlockAccess& read : blocks_[last].accesses) {
      size_t writer = read.store ? kNone : WriterOf(read.buffer, last);
      if (writer == kNone || members.count(writer) || IsSpatialKind(blocks_[writer].kind)) continue;
      if (std::none_of(members.begin(), members.end(),
                       [&](size_t member) { return Touches(AsStmt(nodes_[member]), read.buffer); }))
        return true;
    }
    return false;
  }

  // Only those whose results none but others of the chain read: the rest has to be in memory.
  void KeepRead(size_t last, std::set<size_t>* members) const {
    auto is_read_outside = [&](size_t member) {
      const Buffer& buffer = blocks_[member].accesses[0].buffer;
      for (size_t i = member + 1; i < blocks_.size(); ++i)
        if (i != last && !members->count(i) && WriterOf(buffer, i) == member &&
            Touches(AsStmt(nodes_[i]), buffer))
          return true;
      return false;
    };
    // What reads those that are dropped stays, what they read may have to go as well.
    auto outside = std::find_if(members->begin(), members->end(), is_read_outside);
    for (; outside != members->end();
         outside = std::find_if(members->begin(), members->end(), is_read_outside))
      members->erase(outside);
  }

  bool Sums(size_t block) const {
    if (blocks_[block].kind != BlockKind::kReduction) return false;
    std::optional<ReductionUpdate> update = PlainUpdate(nodes_[block]);
    return update && update->op == ExprKind::kAdd;
  }

  std::set<size_t> taken_;  // members of chains
};

class AttentionFinder : Dataflow {
 public:
  using Dataflow::Dataflow;

  void Run() {
    for (size_t last = 0; last < blocks_.size(); ++last) Join(last);
  }

 private:
  // The block as a GEMM, of which heads may share an operand.
  std::optional<BlockInfo> GemmAt(size_t at) const {
    if (blocks_[at].kind == BlockKind::kMatmul) return blocks_[at];
    if (blocks_[at].kind != BlockKind::kReduction) return {};
    return DescribeBatchedGemm(nodes_[at], blocks_[at]);
  }

  // A of a GEMM, where it is read at its batch, M and K axes in this order, without an M where that
  // is one row; null where it is not.
  const BlockAccess* LeftOperand(size_t at) const {
    std::optional<BlockInfo> gemm = GemmAt(at);
    if (!gemm) return nullptr;
    for (const BlockAccess& read : blocks_[at].accesses) {
      if (read.store || read.buffer.same(gemm->accesses[0].buffer) || !read.by_axes) continue;
      auto role = [&](size_t i) {
        return i < read.axes.size() ? gemm->axes[read.axes[i]].role : AxisRole::kOpaque;
      };
      size_t k = 0;
      while (role(k) == AxisRole::kBatch) ++k;
      if (role(k) == AxisRole::kM) ++k;
      if (k > 0 && k + 1 == read.axes.size() && role(k) == AxisRole::kK) return &read;
    }
    return nullptr;
  }

  // All that is computed of a GEMM's rows before the last block, which reads it at its rows.
  void Join(size_t last) {
    BlockInfo& block = blocks_[last];
    const BlockAccess* left = LeftOperand(last);
    if (!left) return;
    std::vector<size_t> rows(left->axes.begin(), left->axes.end() - 1);
    if (!HasRows(block, block, rows)) return;
    std::set<size_t> members;
    size_t first = FindFirst(WriterOf(left->buffer, last), last, rows, &members);
    if (first == kNone || !TakeReaders(first, last, rows, &members)) return;
    bool exponential = false, reduction = false;
    for (size_t member : members) {
      exponential |= Calls(nodes_[member], "exp");
      reduction |= blocks_[member].kind == BlockKind::kReduction;
    }
    if (!exponential || !reduction) return;
    members.insert(first);
    block.AddMembers(blocks_, members);
    block.kind = BlockKind::kAttention;
    block.rows = rows;
  }

  bool IsMember(size_t at, size_t last, const std::vector<size_t>& rows) const {
    const BlockInfo& block = blocks_[at];
    return (IsSpatialKind(block.kind) || block.kind == BlockKind::kInjective ||
            block.kind == BlockKind::kReduction || IsOfSeveralBlocks(block.kind)) &&
           HasRows(block, blocks_[last], rows);
  }

  // Goes from a block to what it reads until a GEMM, which is returned: the only one.
  size_t FindFirst(size_t from, size_t last, const std::vector<size_t>& rows,
                   std::set<size_t>* members) const {
    if (from == kNone || !IsMember(from, last, rows)) return kNone;
    size_t first = kNone;
    std::vector<size_t> open = {from};
    members->insert(from);
    while (!open.empty()) {
      size_t at = open.back();
      open.pop_back();
      for (const BlockAccess& read : blocks_[at].accesses) {
        size_t writer = read.store ? kNone : WriterOf(read.buffer, at);
        if (writer == kNone || writer == first || members->count(writer)) continue;
        if (GemmAt(writer)) {
          if (first != kNone || !HasRows(blocks_[writer], blocks_[last], rows)) return kNone;
          first = writer;
        } else if (IsMember(writer, last, rows)) {
          members->insert(writer);
          open.push_back(writer);
        }
      }
    }
    return first;
  }

  // Adds what else reads those between the two GEMMs. Whether all of it has the rows, and nothing
  // behind the last one reads them but what reads the last one, too: its epilogue.
  bool TakeReaders(size_t first, size_t last, const std::vector<size_t>& rows,
                   std::set<size_t>* members) const {
    for (size_t at = first + 1; at < blocks_.size(); ++at) {
      if (at == last || members->count(at)) continue;
      bool reads = false, epilogue = false;
      for (const BlockAccess& read : blocks_[at].accesses) {
        size_t writer = read.store ? kNone : WriterOf(read.buffer, at);
        reads |= writer == first || (writer != kNone && members->count(writer) > 0);
        epilogue |= writer == last;
      }
      if (!reads || (at > last && epilogue)) continue;
      if (at > last || !IsMember(at, last, rows)) return false;
      members->insert(at);
    }
    return true;
  }
};

}  // namespace

void JoinAttention(const PrimFunc& function, std::vector<BlockInfo>* blocks) {
  AttentionFinder(function, blocks).Run();
}

void JoinRowChains(const PrimFunc& function, std::vector<BlockInfo>* blocks) {
  ChainFinder(function, blocks).Run();
}

}  // namespace tern::schedule
