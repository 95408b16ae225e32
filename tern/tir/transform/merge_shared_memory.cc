// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/merge_shared_memory.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "tern/arith/analyzer.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/intrinsics.h"
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
  explicit UseScan(const ForNode* kernel) { Visit(kernel->body); }

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
    if (node->buffer->scope == StorageScope::kSharedDynamic) {
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
    if (!buffer->strides.empty()) return -1;
    int64_t bytes = buffer->dtype.bytes();
    for (const Expr& extent : buffer->shape) {
      std::optional<int64_t> value = ir::AsConstInt(extent);
      if (!value || __builtin_mul_overflow(bytes, *value, &bytes)) return -1;
    }
    return bytes;
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

class SharedMemoryMerger : public StmtMutator {
  using StmtMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread || IsVirtualThread(node))
      return MutateChildren(node, self);
    UseScan scan(node);
    Packer packer(scan);
    ViewMaker maker;
    Buffer pool = MakePool(scan, &packer, &maker);
    if (!pool) return self;
    auto kernel = ffi::Make<ForNode>(*node);
    kernel->body = AllocateNode::Make(pool, maker.Mutate(node->body), node->span);
    return kernel;
  }

  // Null where there are not two pieces.
  static Buffer MakePool(const UseScan& scan, Packer* packer, ViewMaker* maker) {
    std::vector<Piece*> constant, symbolic;
    for (Piece& piece : packer->pieces()) {
      const Buffer& buffer = piece.node->buffer;
      if (piece.bytes >= 0)
        constant.push_back(&piece);
      else if (buffer->strides.empty() && IsKnownOutside(buffer, scan))
        symbolic.push_back(&piece);
    }
    if (constant.size() + symbolic.size() < 2) return {};
    std::stable_sort(constant.begin(), constant.end(),
                     [](const Piece* a, const Piece* b) { return a->first < b->first; });
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
    Buffer pool = ir::BufferNode::Make("dynamic", dtype,
                                       {analyzer.Simplify(ir::FloorDiv(size, dtype.bytes()))}, {},
                                       StorageScope::kSharedDynamic);
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
};

}  // namespace

PrimFunc MergeSharedMemory(const PrimFunc& function) {
  return SharedMemoryMerger().MutateFunction(function);
}

}  // namespace tern::tir
