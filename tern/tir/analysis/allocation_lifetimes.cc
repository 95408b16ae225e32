// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/allocation_lifetimes.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "tern/arith/linear_sum.h"
#include "tern/ir/structural.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

bool SameIndices(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return ir::StructuralEqual(x, y); });
}

// Nests of loops, each alone in the other, around one store whose element is another one in every
// iteration.
class ElementwiseNests {
 public:
  // The store of the nest that a statement is; null where it is none.
  const BufferStoreNode* StoreOf(const Stmt& stmt) {
    if (!stores_.count(stmt.get())) Classify(stmt);
    return stores_.at(stmt.get());
  }

 private:
  // All statements from this one down to the store, or to where the nest ends without one.
  void Classify(const Stmt& stmt) {
    std::vector<const StmtNode*> path = {stmt.get()};
    while (const Stmt* inner = BodyOf(path.back())) path.push_back(inner->get());
    const StmtNode* end = path.back();
    store_ =
        end->kind == BufferStoreNode::kKind ? static_cast<const BufferStoreNode*>(end) : nullptr;
    loops_.clear();
    std::unordered_set<const VarNode*> in_indices;
    if (store_)
      for (const Expr& index : store_->indices)
        ir::ForEachExpr(index, [&](const Expr& e) { in_indices.insert(e.As<VarNode>()); });
    bool is_nest = store_ && EachIterationHasItsElement();
    for (size_t i = path.size(); i-- > 0;) {
      if (const auto* loop = As<ForNode>(path[i])) {
        loops_.push_back(loop->var.node());
        is_nest = store_ && EachIterationHasItsElement();
      } else if (const auto* let = As<LetStmtNode>(path[i]);
                 let && in_indices.count(let->var.node())) {
        store_ = nullptr;
        is_nest = false;
      }
      stores_[path[i]] = is_nest ? store_ : nullptr;
    }
  }

  template <class T>
  static const T* As(const StmtNode* node) {
    return node->kind == T::kKind ? static_cast<const T*>(node) : nullptr;
  }
  // What stands alone in the statement; null where a nest ends.
  static const Stmt* BodyOf(const StmtNode* node) {
    if (const auto* loop = As<ForNode>(node))
      return loop->for_kind == ForKind::kThread ? nullptr : &loop->body;
    if (const auto* let = As<LetStmtNode>(node)) return &let->body;
    const auto* branch = As<IfThenElseNode>(node);
    return branch && !branch->else_case ? &branch->then_case : nullptr;
  }

  // Every loop's variable alone moves the index of one dimension, by the lanes of a vector at
  // least.
  bool EachIterationHasItsElement() const {
    std::unordered_set<const VarNode*> moving(loops_.begin(), loops_.end());
    for (const Expr& index : store_->indices) {
      const auto* ramp = index.As<ir::RampNode>();
      if (!index.dtype().is_scalar() && (!ramp || !ir::IsConst(ramp->stride, 1) || ramp->lanes < 0))
        return false;
      auto sum = arith::LinearSum::Of(ramp ? ramp->base : index);
      if (!sum) return false;
      const VarNode* mover = nullptr;
      for (const arith::LinearSum::Term& term : sum->terms)
        for (const VarNode* loop : loops_) {
          if (!ir::UsesVar(term.expr, loop)) continue;
          bool enough = std::abs(term.coefficient) >= (ramp ? ramp->lanes : 1);
          if (mover || sum->CoefficientOf(loop) != term.coefficient || !enough) return false;
          mover = loop;
        }
      if (mover && !moving.erase(mover)) return false;
    }
    return moving.empty();
  }

  std::unordered_map<const StmtNode*, const BufferStoreNode*> stores_;
  // Of the nest at hand.
  std::vector<const VarNode*> loops_;
  const BufferStoreNode* store_ = nullptr;
};

class LifetimeFinder : public StmtVisitor {
 public:
  using StmtVisitor::Visit;

  AllocationLifetimes Find(const PrimFunc& function) {
    Visit(function->body);
    for (const Candidate& candidate : candidates_) {
      const AllocationLifetime &x = result_.all[candidate.input],
                               &y = result_.all[candidate.output];
      if (x.first < candidate.start && x.last <= candidate.end && y.first >= candidate.start)
        result_.in_place.emplace(x.allocation->buffer->data.node(),
                                 y.allocation->buffer->data.node());
    }
    return std::move(result_);
  }

  void Visit(const Stmt& stmt) override {
    ++now_;
    int64_t start = now_;
    bool outermost = !in_nest_ && nests_.StoreOf(stmt);
    if (outermost) in_nest_ = true;
    StmtVisitor::Visit(stmt);
    if (!outermost) return;
    in_nest_ = false;
    NoteInPlace(stmt, start);
  }

 private:
  using StmtVisitor::VisitNode;

  struct Loop {
    const StmtNode* node;
    int64_t start;
    std::vector<size_t> used;  // lifetimes of allocations outside that last as long as the loop
  };
  struct Candidate {
    size_t input, output;
    int64_t start, end;
  };

  // ---- uses

  void Use(const VarNode* address) {
    auto it = lifetime_of_.find(address);
    if (it == lifetime_of_.end()) return;
    AllocationLifetime& lifetime = result_.all[it->second];
    size_t depth = loops_outside_[it->second];
    int64_t first = depth < loops_.size() ? loops_[depth].start : now_;
    lifetime.first = lifetime.last < 0 ? first : std::min(lifetime.first, first);
    lifetime.last = now_;
    if (depth < loops_.size()) loops_[depth].used.push_back(it->second);
  }
  void Escape(const VarNode* address) {
    auto it = lifetime_of_.find(address);
    if (it != lifetime_of_.end()) result_.all[it->second].escapes = true;
  }
  void VisitUse(const Buffer& buffer) override { Use(buffer->data.node()); }
  void VisitNode(const VarNode* node) override { Escape(node); }

  void VisitNode(const AllocateNode* node) override {
    const VarNode* address = node->buffer->data.node();
    if (lifetime_of_.count(address)) {
      Escape(address);
    } else {
      lifetime_of_[address] = result_.all.size();
      result_.all.push_back({node, frame_, in_launch_});
      result_.all.back().escapes = in_init_;
      loops_outside_.push_back(loops_.size());
    }
    VisitChildren(node);
  }
  void VisitNode(const DeclBufferNode* node) override {
    Escape(node->buffer->data.node());
    VisitChildren(node);
  }

  // ---- loops

  template <class T>
  void VisitLoop(const T* node) {
    loops_.push_back({node, now_, {}});
    VisitChildren(node);
    ++now_;
    for (size_t used : loops_.back().used) result_.all[used].last = now_;
    loops_.pop_back();
  }
  void VisitNode(const ForNode* node) override {
    bool is_thread = node->for_kind == ForKind::kThread;
    // In a launch, a thread loop only names an index.
    if (is_thread && in_launch_) return VisitChildren(node);
    bool own_memory =
        is_thread || node->for_kind == ForKind::kParallel || node->for_kind == ForKind::kVectorized;
    const StmtNode* frame = std::exchange(frame_, own_memory ? node : frame_);
    bool in_launch = std::exchange(in_launch_, in_launch_ || is_thread);
    VisitLoop(node);
    frame_ = frame;
    in_launch_ = in_launch;
  }
  void VisitNode(const WhileNode* node) override { VisitLoop(node); }
  void VisitNode(const BlockNode* node) override {
    // What the init allocates is its own; there is no place for it in the body.
    bool in_init = std::exchange(in_init_, true);
    if (node->init) Visit(node->init);
    in_init_ = in_init;
    auto without_init = ffi::Make<BlockNode>(*node);
    without_init->init = {};
    const StmtNode* frame = std::exchange(frame_, node);
    VisitChildren(without_init.get());
    frame_ = frame;
  }

  // ---- elementwise statements

  void NoteInPlace(const Stmt& stmt, int64_t start) {
    const BufferStoreNode* store = nests_.StoreOf(stmt);
    auto output = lifetime_of_.find(store->buffer->data.node());
    if (output == lifetime_of_.end()) return;
    std::map<size_t, bool> inputs;  // whether every load of an allocation fits, by its lifetime
    struct LoadFinder : StmtVisitor {
      using StmtVisitor::VisitNode;
      explicit LoadFinder(const std::function<void(const ir::BufferLoadNode*)>& f) : f(f) {}
      void VisitNode(const ir::BufferLoadNode* node) override {
        f(node);
        VisitChildren(node);
      }
      const std::function<void(const ir::BufferLoadNode*)>& f;
    };
    std::function<void(const ir::BufferLoadNode*)> note = [&](const ir::BufferLoadNode* load) {
      bool fits = load->buffer->dtype.bytes() == store->buffer->dtype.bytes() &&
                  SameIndices(load->buffer->shape, store->buffer->shape) &&
                  load->buffer->strides.empty() && store->buffer->strides.empty() &&
                  SameIndices(load->indices, store->indices);
      auto lifetime = lifetime_of_.find(load->buffer->data.node());
      if (lifetime == lifetime_of_.end()) return;
      auto [it, added] = inputs.emplace(lifetime->second, fits);
      it->second = it->second && fits;
    };
    LoadFinder(note).Visit(stmt);
    if (inputs.count(output->second)) return;
    for (auto [input, fits] : inputs)
      if (fits) candidates_.push_back({input, output->second, start, now_});
  }

  int64_t now_ = 0;
  ElementwiseNests nests_;
  AllocationLifetimes result_;
  std::unordered_map<const VarNode*, size_t> lifetime_of_;  // by address
  std::vector<size_t> loops_outside_;                       // how many are around each allocation
  std::vector<Loop> loops_;
  std::vector<Candidate> candidates_;
  const StmtNode* frame_ = nullptr;
  bool in_launch_ = false, in_nest_ = false, in_init_ = false;
};

}  // namespace

AllocationLifetimes FindAllocationLifetimes(const PrimFunc& function) {
  return LifetimeFinder().Find(function);
}

}  // namespace tern::tir
