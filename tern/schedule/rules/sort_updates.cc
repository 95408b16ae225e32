// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/sort_updates.h"

#include <algorithm>
#include <set>

#include "tern/schedule/new_block.h"
#include "tern/schedule/rules/scattered_rows.h"
#include "tern/tir/analysis/commuting_update.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/attributes.h"

namespace tern::schedule {
namespace {

using namespace tern::tir;

// Updates of a tile, each of which looks at those before it.
constexpr int64_t kTile = 64;
// Counts are as many for each tile.
constexpr int64_t kMostRows = 1024;
// Fewer are done before as many kernels have begun.
constexpr int64_t kLeastUpdates = 4096;

const DataType kInt32 = DataType::Int(32), kInt64 = DataType::Int(64);

Expr Load(const Buffer& buffer, const Expr& at) { return ir::BufferLoadNode::Make(buffer, {at}); }
Expr Wide(const Expr& value) {
  return value.dtype() == kInt64 ? value : ir::CastNode::Make(kInt64, value);
}

// A block of such updates, and what is made of it.
class Sorter {
 public:
  explicit Sorter(const Nest& nest) : nest_(nest), block_(nest.block) {}

  // The statements in the place of the nest; null where it is something else.
  Stmt Make() {
    if (!Match()) return {};
    const std::string& name = block_->name;
    Expr n = step_->extent;
    tiles_ = arith::Analyzer().Simplify(ir::CeilDiv(n, Expr(kTile)));
    Expr total = arith::Analyzer().Simplify(tiles_ * rows_ + Expr(1));
    counts_ = BufferNode::Make(name + "_counts", kInt32, {total});
    starts_ = BufferNode::Make(name + "_starts", kInt32, {total});
    order_ = BufferNode::Make(name + "_order", kInt32, {n});
    Stmt all = SeqNode::Make({Zero(total), Counts(n), Starts(total), Order(n), Sums()});
    for (const Buffer& buffer : {order_, starts_, counts_}) all = AllocateNode::Make(buffer, all);
    return all;
  }

 private:
  bool Match() {
    if (block_->init || block_->predicate) return false;
    body_ = WithoutLets(block_);
    if (!body_.As<BufferStoreNode>()) return false;
    update_ = FindCommutingUpdate(body_);
    if (!update_ || update_->is_atomic() || !update_->buffer->dtype.is_float()) return false;
    std::optional<ScatteredRows> scattered = FindScatteredRows(nest_, update_->indices);
    if (!scattered) return false;
    scattered_ = *scattered;
    step_ = scattered_.step;
    std::optional<int64_t> rows = ir::AsConstInt(update_->buffer->shape[scattered_.dimension]),
                           count = ir::AsConstInt(step_->extent);
    if (!rows || *rows > kMostRows || (count && *count < kLeastUpdates)) return false;
    rows_ = Expr(*rows);
    return true;
  }

  // Where an update goes, and the count of its tile.
  Expr Row(const Expr& i) const { return scattered_.Row(i); }
  Expr Count(const Expr& i) const { return Row(i) * tiles_ + ir::FloorDiv(i, Expr(kTile)); }

  Stmt Zero(const Expr& total) const {
    NewBlock zero(block_->name + "_zero", block_);
    Expr t = zero.Add("t", total, IterKind::kSpatial);
    return zero.Finish({}, BufferStoreNode::Make(counts_, {t}, ir::MakeConst(kInt32, 0)));
  }
  Stmt Counts(const Expr& n) const {
    NewBlock counts(block_->name + "_counts", block_);
    Expr at = Count(counts.Add("i", n, IterKind::kReduce));
    return counts.Finish({}, BufferStoreNode::Make(counts_, {at}, Load(counts_, at) + One()));
  }
  Stmt Starts(const Expr& total) const {
    NewBlock starts(block_->name + "_starts", block_);
    Expr t = starts.Add("t", total, IterKind::kScan), before = t - Expr(1);
    Expr later = ir::GTNode::Make(t, Expr(0)), zero = ir::MakeConst(kInt32, 0);
    Expr value = ir::SelectNode::Make(later, Load(counts_, before), zero) +
                 ir::SelectNode::Make(later, Load(starts_, before), zero);
    return starts.Finish({}, BufferStoreNode::Make(starts_, {t}, value));
  }
  Stmt Order(const Expr& n) const {
    NewBlock order(block_->name + "_order", block_);
    Expr i = order.Add("i", n, IterKind::kSpatial);
    Buffer before = Local("before", kInt32);
    Var k("k");
    Expr first = ir::FloorDiv(i, Expr(kTile)) * Expr(kTile), zero(0);
    Stmt count = IfThenElseNode::Make(
        Row(k) == Row(i), BufferStoreNode::Make(before, {zero}, Load(before, zero) + One()));
    Expr place = Wide(Load(starts_, Count(i)) + Load(before, zero));
    Stmt body = SeqNode::Make(
        {BufferStoreNode::Make(before, {zero}, ir::MakeConst(kInt32, 0)),
         ForNode::Make(k, first, ir::FloorMod(i, Expr(kTile)), ForKind::kSerial, count),
         BufferStoreNode::Make(order_, {place}, ir::CastNode::Make(kInt32, i))});
    return order.Finish({}, AllocateNode::Make(before, body));
  }
  Stmt Sums() const {
    NewBlock sums(block_->name, block_);
    ir::VarMap axes;
    Expr row = sums.Add("row", rows_, IterKind::kSpatial);
    for (const BlockIter& iter : block_->iters)
      if (&iter != step_)
        axes[iter.var.node()] = sums.Add(AxisName(iter), iter.extent, IterKind::kSpatial);
    std::vector<Expr> at;
    for (size_t d = 0; d < update_->indices.size(); ++d)
      at.push_back(d == scattered_.dimension ? row : ir::Substitute(update_->indices[d], axes));
    Buffer sum = Local("sum", update_->buffer->dtype);
    Var e("e"), i("i");
    axes[step_->var.node()] = i;
    Expr first = Wide(Load(starts_, row * tiles_)), zero(0);
    Expr end = Wide(Load(starts_, (row + Expr(1)) * tiles_));
    Stmt step =
        LetStmtNode::Make(i, Wide(Load(order_, e)),
                          update_->Plain(sum, {zero}, ir::Substitute(update_->value, axes)));
    Stmt body = SeqNode::Make(
        {BufferStoreNode::Make(sum, {zero}, ir::BufferLoadNode::Make(update_->buffer, at)),
         ForNode::Make(e, first, end - first, ForKind::kSerial, step),
         BufferStoreNode::Make(update_->buffer, at, Load(sum, zero))});
    return sums.Finish({}, AllocateNode::Make(sum, body));
  }

  static Expr One() { return ir::MakeConst(kInt32, 1); }
  static Buffer Local(const char* name, DataType dtype) {
    return BufferNode::Make(name, dtype, {Expr(1)}, {}, StorageScope::kLocal);
  }

  const Nest& nest_;
  const BlockNode* block_;
  Stmt body_;
  std::optional<CommutingUpdate> update_;  // of the body without definitions
  ScatteredRows scattered_;
  const BlockIter* step_ = nullptr;  // along the updates of an element
  Expr rows_, tiles_;
  Buffer counts_, starts_, order_;
};

}  // namespace

PrimFunc SortUpdates(const PrimFunc& function) {
  if (HasFlag(function, attr::kReassociate) || !TensorsAreDistinct(function)) return function;
  PrimFunc result = function;
  for (const BlockNode* block : BlocksIn(function->body)) {
    StmtTree tree(result->body);
    Nest nest = NestOf(tree, block);
    if (Stmt sorted = nest.loops.empty() ? Stmt() : Sorter(nest).Make())
      result = result.WithBody(ReplaceAt(PathTo(tree, nest.loops[0]), sorted));
  }
  return result;
}

}  // namespace tern::schedule
