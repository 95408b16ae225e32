// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/memory/merge_shared_memory.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "tern/arith/analyzer.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/memory/flatten_buffers.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

constexpr int64_t kSymbolicAlignment = 16;  // of memory whose size is not constant

// A statement that may not run, or run again: a loop, or a branch of a condition.
struct Control {
  int number;
  bool is_loop;
  friend bool operator==(const Control& a, const Control& b) { return a.number == b.number; }
};
using Controls = std::vector<Control>;  // outermost first

bool IsPrefix(const Controls& prefix, const Controls& of) {
  return prefix.size() <= of.size() && std::equal(prefix.begin(), prefix.end(), of.begin());
}

// An allocation, and when it is in use: places in the order of the text.
struct Piece {
  const AllocateNode* node;
  Controls around;
  int first = -1, last = -1;  // no use: -1
  int64_t bytes = -1;         // -1: not constant
  int64_t alignment = 1;
  int64_t offset = 0;
};

struct Barrier {
  Controls around;
  int place;
};

class UseScan : public StmtVisitor {
 public:
  UseScan(const ForNode* kernel, StorageScope scope) : scope_(scope) { Visit(kernel->body); }

  std::vector<Piece> pieces;
  std::vector<Barrier> barriers;
  std::map<int, std::pair<int, int>> loops;     // where loops begin and end, by their numbers
  std::unordered_set<const ir::Node*> defined;  // variables of the kernel

 private:
  using StmtVisitor::Visit;
  using StmtVisitor::VisitNode;

  void Visit(const Stmt& stmt) override {
    ++place_;
    StmtVisitor::Visit(stmt);
  }
  void VisitDef(const Var& var) override { defined.insert(var.get()); }

  // What `visit` goes into may not run, or again.
  template <class F>
  void Controlled(bool is_loop, F&& visit) {
    int number = next_++, begin = ++place_;
    controls_.push_back({number, is_loop});
    visit();
    controls_.pop_back();
    if (is_loop) loops[number] = {begin, ++place_};
  }
  void VisitNode(const ForNode* node) override {
    if (node->for_kind == ForKind::kThread && !IsVirtualThread(node)) return VisitChildren(node);
    Visit(node->min);
    Visit(node->extent);
    VisitDef(node->var);
    Controlled(true, [&] { Visit(node->body); });
  }
  void VisitNode(const WhileNode* node) override {
    Controlled(true, [&] { VisitChildren(node); });
  }
  void VisitNode(const IfThenElseNode* node) override {
    Visit(node->condition);
    Controlled(false, [&] { Visit(node->then_case); });
    if (node->else_case) Controlled(false, [&] { Visit(node->else_case); });
  }
  void VisitNode(const BlockNode* node) override {
    Controlled(false, [&] { VisitChildren(node); });
  }

  void VisitNode(const EvaluateNode* node) override {
    if (IsBarrier(node->value)) barriers.push_back({controls_, place_});
    VisitChildren(node);
  }
  void VisitNode(const AllocateNode* node) override {
    if (node->buffer->scope == scope_) {
      by_address_[node->buffer->data.node()] = pieces.size();
      pieces.push_back({node, controls_});
    }
    VisitChildren(node);
  }
  void VisitNode(const DeclBufferNode* node) override {
    if (auto it = by_address_.find(node->buffer->data.node()); it != by_address_.end())
      Use(it->second);
    VisitChildren(node);
  }
  void VisitUse(const Buffer& buffer) override {
    if (auto it = by_address_.find(buffer->data.node()); it != by_address_.end()) Use(it->second);
  }
  void VisitNode(const VarNode* node) override {
    if (auto it = by_address_.find(node); it != by_address_.end()) Use(it->second);
  }
  // In a loop that does not allocate it anew, a piece is in use from its beginning to its end.
  void Use(size_t index) {
    Piece& piece = pieces[index];
    Controls inside(controls_.begin() + static_cast<std::ptrdiff_t>(piece.around.size()),
                    controls_.end());
    auto loop =
        std::find_if(inside.begin(), inside.end(), [](const Control& c) { return c.is_loop; });
    int now = place_;
    if (piece.first < 0) piece.first = now;
    piece.last = std::max(piece.last, now);
    if (loop != inside.end()) in_loops.emplace_back(index, loop->number);
  }

 public:
  std::vector<std::pair<size_t, int>> in_loops;  // pieces, and the loops that they are used in

 private:
  StorageScope scope_;
  Controls controls_;
  std::unordered_map<const VarNode*, size_t> by_address_;
  int place_ = 0, next_ = 0;
};

class Packer {
 public:
  explicit Packer(const UseScan& scan) : scan_(scan), pieces_(scan.pieces) {
    for (const auto& [index, loop] : scan.in_loops) {
      auto [begin, end] = scan.loops.at(loop);
      pieces_[index].first = std::min(pieces_[index].first, begin);
      pieces_[index].last = std::max(pieces_[index].last, end);
    }
    for (Piece& piece : pieces_) {
      const Buffer& buffer = piece.node->buffer;
      piece.alignment = std::max<int64_t>(buffer->alignment, buffer->dtype.bytes());
      piece.bytes = ConstantBytes(buffer);
    }
  }

  std::vector<Piece>& pieces() { return pieces_; }

  // Gives the pieces of constant size their places, the earlier ones first; returns the bytes.
  int64_t Pack(const std::vector<Piece*>& pieces) {
    std::vector<Piece*> placed;
    int64_t total = 0;
    for (Piece* piece : pieces) {
      std::vector<int64_t> candidates{0};
      for (const Piece* other : placed)
        candidates.push_back(RoundUp(other->offset + other->bytes, piece->alignment));
      std::sort(candidates.begin(), candidates.end());
      piece->offset = *std::find_if(candidates.begin(), candidates.end(), [&](int64_t offset) {
        return std::all_of(placed.begin(), placed.end(), [&](const Piece* other) {
          bool apart =
              offset + piece->bytes <= other->offset || other->offset + other->bytes <= offset;
          return apart || MayShare(*piece, *other);
        });
      });
      placed.push_back(piece);
      total = std::max(total, piece->offset + piece->bytes);
    }
    return total;
  }

  static int64_t RoundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

 private:
  static int64_t ConstantBytes(const Buffer& buffer) {
    Expr flat = FlatView(buffer)->shape[0];
    std::optional<int64_t> elements = ir::AsConstInt(flat);
    int64_t bytes = buffer->dtype.bytes();
    return elements && !__builtin_mul_overflow(bytes, *elements, &bytes) ? bytes : -1;
  }

  bool MayShare(const Piece& a, const Piece& b) const {
    if (a.first < 0 || b.first < 0) return true;
    if (a.first > b.first) return MayShare(b, a);
    if (a.last >= b.first) return false;
    Controls common;
    for (size_t i = 0; i < a.around.size() && i < b.around.size() && a.around[i] == b.around[i];
         ++i)
      common.push_back(a.around[i]);
    bool between =
        std::any_of(scan_.barriers.begin(), scan_.barriers.end(), [&](const Barrier& barrier) {
          return IsPrefix(barrier.around, common) && barrier.place > a.last &&
                 barrier.place < b.first;
        });
    // In a loop around both, the first one comes after the second one, too.
    auto loop =
        std::find_if(common.rbegin(), common.rend(), [](const Control& c) { return c.is_loop; });
    if (loop == common.rend()) return between;
    auto [begin, end] = scan_.loops.at(loop->number);
    Controls inside(common.begin(), loop.base());
    bool behind =
        std::any_of(scan_.barriers.begin(), scan_.barriers.end(), [&](const Barrier& barrier) {
          bool in_gap = (barrier.place > b.last && barrier.place < end) ||
                        (barrier.place > begin && barrier.place < a.first);
          return in_gap && IsPrefix(barrier.around, common) &&
                 barrier.around.size() >= inside.size();
        });
    return between && behind;
  }

  const UseScan& scan_;
  std::vector<Piece> pieces_;
};

// Allocations become views of what was allocated for all.
class ViewMaker : public StmtMutator {
 public:
  struct View {
    Buffer pool;
    Expr offset;  // in elements of the view
  };
  std::unordered_map<const AllocateNode*, View> views;
  using StmtMutator::Mutate;

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    auto it = views.find(node);
    if (it == views.end()) return MutateChildren(node, self);
    auto view = ffi::Make<BufferNode>(*node->buffer);
    view->data = it->second.pool->data;
    if (!ir::IsConst(it->second.offset, 0)) view->offset = it->second.offset;
    new_buffers_[node->buffer.get()] = Buffer(view.get());
    addresses_[node->buffer->data.node()] = view->data;
    return DeclBufferNode::Make(Buffer(view.get()), Mutate(node->body), node->span);
  }
  // Views of views, and addresses that go to calls.
  Expr MutateNode(const VarNode* node, const Expr& self) override {
    auto it = addresses_.find(node);
    return it == addresses_.end() ? self : it->second;
  }
  std::unordered_map<const VarNode*, Expr> addresses_;
};

bool UsesMemory(const Stmt& stmt, const VarNode* data) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitUse(const Buffer& buffer) override { found |= buffer->data.node() == data; }
    void VisitNode(const VarNode* node) override { found |= node == data; }
    const VarNode* data = nullptr;
    bool found = false;
  } scan;
  scan.data = data;
  scan.Visit(stmt);
  return scan.found;
}

// Pieces of constant size, the earlier ones first.
std::vector<Piece*> ConstantPieces(Packer* packer) {
  std::vector<Piece*> pieces;
  for (Piece& piece : packer->pieces())
    if (piece.bytes >= 0) pieces.push_back(&piece);
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece* a, const Piece* b) { return a->first < b->first; });
  return pieces;
}

// A barrier before the number-th statement of a row.
class BarrierInserter : public StmtMutator {
 public:
  BarrierInserter(const SeqNode* row, size_t number) : row_(row), number_(number) {}

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const SeqNode* node, const Stmt& self) override {
    if (node != row_) return MutateChildren(node, self);
    std::vector<Stmt> stmts = node->stmts;
    const Span& span = stmts[number_].span();
    stmts.insert(stmts.begin() + static_cast<std::ptrdiff_t>(number_),
                 EvaluateNode::Make(MakeBarrier(BarrierKind::kShared, span), span));
    return SeqNode::Make(std::move(stmts), node->span);
  }
  const SeqNode* row_;
  size_t number_;
};

// Rows of statements that all threads of a kernel come to, once.
struct RowFinder : StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitNode(const SeqNode* node) override {
    rows.push_back(node);
    VisitChildren(node);
  }
  void VisitNode(const ForNode* node) override {
    if (node->for_kind == ForKind::kThread && !IsVirtualThread(node)) VisitChildren(node);
  }
  void VisitNode(const WhileNode*) override {}
  void VisitNode(const IfThenElseNode*) override {}
  std::vector<const SeqNode*> rows;
};

constexpr int64_t kWorthIt = 4096;  // bytes that are saved, for a barrier or a merger

// The bytes of a kernel's pieces of constant size, once they share space.
int64_t PackedBytes(const Stmt& kernel, StorageScope scope) {
  UseScan scan(kernel.As<ForNode>(), scope);
  Packer packer(scan);
  return packer.Pack(ConstantPieces(&packer));
}

// A kernel with one barrier more, where that makes large pieces share space: more thread blocks
// have room on a multiprocessor.
Stmt ShareByBarrier(const ForNode* kernel, const Stmt& self, StorageScope scope) {
  UseScan scan(kernel, scope);
  // Without barriers, threads run in turn.
  if (scan.barriers.empty() || scan.pieces.size() < 2) return self;
  RowFinder finder;
  finder.Visit(kernel->body);
  int64_t least = PackedBytes(self, scope) - kWorthIt;
  Stmt best = self;
  for (const SeqNode* row : finder.rows) {
    std::unordered_set<const VarNode*> used;  // by the statements before
    for (size_t i = 0; i < row->stmts.size(); ++i) {
      bool first_use = false;
      for (const Piece& piece : scan.pieces) {
        const VarNode* data = piece.node->buffer->data.node();
        if (used.count(data) || !UsesMemory(row->stmts[i], data)) continue;
        used.insert(data);
        first_use |= i > 0;
      }
      if (!first_use) continue;
      Stmt with = BarrierInserter(row, i).Mutate(self);
      int64_t bytes = PackedBytes(with, scope);
      if (bytes > least) continue;
      best = with;
      least = bytes - 1;
    }
  }
  return best;
}

class SharedMemoryMerger : public StmtMutator {
 public:
  // `views`: whether memory of constant size, too, is seen as arrays of several types.
  explicit SharedMemoryMerger(bool views) : views_(views) {}

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread || IsVirtualThread(node))
      return MutateChildren(node, self);
    Stmt merged = MergeDynamic(self);
    return views_ ? MergeStatic(merged) : merged;
  }

  // Pieces of scope shared, where that saves much.
  static Stmt MergeStatic(const Stmt& self) {
    constexpr StorageScope kScope = StorageScope::kShared;
    int64_t bytes = 0;
    UseScan scan(self.As<ForNode>(), kScope);
    Packer packer(scan);
    for (const Piece* piece : ConstantPieces(&packer)) bytes += piece->bytes;
    Stmt shared = ShareByBarrier(self.As<ForNode>(), self, kScope);
    if (PackedBytes(shared, kScope) > bytes - kWorthIt) return self;
    return Merge(shared, kScope);
  }
  static Stmt MergeDynamic(const Stmt& self) {
    constexpr StorageScope kScope = StorageScope::kSharedDynamic;
    return Merge(ShareByBarrier(self.As<ForNode>(), self, kScope), kScope);
  }

  static Stmt Merge(const Stmt& self, StorageScope scope) {
    const auto* node = self.As<ForNode>();
    UseScan scan(node, scope);
    Packer packer(scan);
    ViewMaker maker;
    Buffer pool = MakePool(scan, &packer, &maker, scope);
    if (!pool) return self;
    auto kernel = ffi::Make<ForNode>(*node);
    kernel->body = AllocateNode::Make(pool, maker.Mutate(node->body), node->span);
    return kernel;
  }

  // Null where there are not two pieces.
  static Buffer MakePool(const UseScan& scan, Packer* packer, ViewMaker* maker,
                         StorageScope scope) {
    std::vector<Piece*> constant = ConstantPieces(packer), symbolic;
    for (Piece& piece : packer->pieces()) {
      const Buffer& buffer = piece.node->buffer;
      if (piece.bytes < 0 && buffer->strides.empty() && IsKnownOutside(buffer, scan))
        symbolic.push_back(&piece);
    }
    if (constant.size() + symbolic.size() < 2) return {};
    int64_t bytes = packer->Pack(constant), alignment = 1;
    DataType dtype = (constant.empty() ? symbolic : constant)[0]->node->buffer->dtype;
    for (const auto* pieces : {&constant, &symbolic})
      for (const Piece* piece : *pieces) {
        alignment = std::max(alignment, piece->alignment);
        if (piece->node->buffer->dtype != dtype) dtype = DataType::UInt(8);
      }
    if (!symbolic.empty()) alignment = std::max(alignment, kSymbolicAlignment);

    Expr size = Packer::RoundUp(bytes, symbolic.empty() ? dtype.bytes() : alignment);
    std::vector<std::pair<const Piece*, Expr>> offsets;
    for (const Piece* piece : constant) offsets.emplace_back(piece, piece->offset);
    for (const Piece* piece : symbolic) {
      offsets.emplace_back(piece, size);
      Expr more = piece->node->buffer->dtype.bytes();
      for (const Expr& extent : piece->node->buffer->shape) more = more * extent;
      size = size + ir::CeilDiv(more, alignment) * Expr(alignment);
    }
    arith::Analyzer analyzer;
    Buffer pool =
        ir::BufferNode::Make(scope == StorageScope::kShared ? "pool" : "dynamic", dtype,
                             {analyzer.Simplify(ir::FloorDiv(size, dtype.bytes()))}, {}, scope);
    auto aligned = ffi::Make<BufferNode>(*pool);
    aligned->alignment = alignment > dtype.bytes() ? alignment : 0;
    pool = Buffer(aligned.get());
    for (const auto& [piece, offset] : offsets)
      maker->views[piece->node] = {
          pool, analyzer.Simplify(ir::FloorDiv(offset, piece->node->buffer->dtype.bytes()))};
    return pool;
  }

  static bool IsKnownOutside(const Buffer& buffer, const UseScan& scan) {
    bool known = true;
    for (const Expr& extent : buffer->shape)
      ir::ForEachExpr(extent, [&](const Expr& e) {
        known &= !e.As<ir::BufferLoadNode>() && !scan.defined.count(e.get());
      });
    return known;
  }

  bool views_;
};

// Whether the code of a function's kernels has addresses of memory, which moves vectors.
bool HasAddresses(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  if (it == function->attrs.end()) return false;
  auto target = it->second.As<target::Target>();
  return target->is_device() && target->kind->move_bytes > 0;
}

}  // namespace

PrimFunc MergeSharedMemory(const PrimFunc& function) {
  return SharedMemoryMerger(HasAddresses(function)).MutateFunction(function);
}

}  // namespace tern::tir
