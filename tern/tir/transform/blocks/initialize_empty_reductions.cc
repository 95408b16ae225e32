// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/blocks/initialize_empty_reductions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tern/arith/analyzer.h"
#include "tern/arith/linear.h"
#include "tern/ir/structural.h"
#include "tern/tir/analysis/conjuncts.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/transform/blocks/decompose_reductions.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

using Vars = std::unordered_set<const VarNode*>;

// Of a block: its init is run elsewhere too, where there is no first step.

bool IsThread(const ForNode* loop) {
  return loop->for_kind == ForKind::kThread && !IsVirtualThread(loop);
}

bool IsPositive(const Expr& extent) {
  return arith::Analyzer().CanProve(ir::MakeConst(extent.dtype(), 0) < extent);
}

// Variables and buffers that a statement uses.
struct Uses : StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitNode(const VarNode* node) override { vars.insert(node); }
  void VisitUse(const Buffer& buffer) override {
    buffers.insert(buffer.get());
    vars.insert(buffer->data.node());
  }
  void VisitBuffer(const Buffer& buffer) {
    for (const Expr& extent : buffer->shape) Visit(extent);
    for (const Expr& stride : buffer->strides) Visit(stride);
    if (buffer->offset) Visit(buffer->offset);
    vars.insert(buffer->data.node());
  }
  Vars vars;
  std::unordered_set<const BufferNode*> buffers;
};

// One reduction and the statements around it, outermost first and the block last. Its loops are of
// three kinds: those of reduction axes alone; those of other axes alone; and mixed ones (of fused
// loops). Where a mixed loop is empty it says nothing of the other axes, whose domains are used
// instead.
class Reduction {
 public:
  Reduction(const std::vector<Stmt>& path, const BlockNode* block) : path_(path), block_(block) {
    for (size_t i = 0; i < path.size(); ++i) {
      const auto* loop = path[i].As<ForNode>();
      if (!loop) continue;
      loops_.push_back({loop, i});
      if (IsThread(loop)) kernel_ = std::min(kernel_, i);
    }
  }

  // The statement that the init must precede, and the init under the condition that the first step
  // does not exist; null where there is none such, or where the loops do not come to the first
  // step.
  struct Result {
    Stmt place, init;
  };
  Result Find() {
    if (SurelyHasSteps()) return {};
    Classify();
    if (!FindStart()) return {};
    FindPlace();
    Expr missing = FirstStepIsMissing();
    if (!missing || ir::IsConst(missing, 0)) return {};
    Stmt init = Build(missing);
    return {path_[place_], init};
  }

 private:
  struct Loop {
    const ForNode* node;
    size_t at;  // in the path
  };

  bool SurelyHasSteps() const {
    auto positive = [](const Expr& extent) {
      std::optional<int64_t> value = ir::AsConstInt(extent);
      return value && *value > 0;
    };
    return !block_->predicate &&
           std::all_of(block_->iters.begin(), block_->iters.end(),
                       [&](const BlockIter& it) { return positive(it.extent); }) &&
           std::all_of(loops_.begin(), loops_.end(),
                       [&](const Loop& loop) { return positive(loop.node->extent); });
  }

  // ---- what the axes depend on

  // The loops whose variables are in an expression, through definitions and the axes of blocks.
  Vars LoopsIn(const Expr& expr) const {
    Vars loops;
    ir::ForEachExpr(expr, [&](const Expr& e) {
      auto it = depends_.find(e.As<VarNode>());
      if (it != depends_.end()) loops.insert(it->second.begin(), it->second.end());
    });
    return loops;
  }
  static bool Meet(const Vars& a, const Vars& b) {
    return std::any_of(a.begin(), a.end(), [&](const VarNode* var) { return b.count(var) > 0; });
  }

  void Classify() {
    auto define = [&](const Var& var, const Expr& value) {
      depends_[var.node()] = LoopsIn(value);
      values_[var.node()] = value;
    };
    for (const Stmt& stmt : path_) {
      if (const auto* loop = stmt.As<ForNode>())
        depends_[loop->var.node()] = {loop->var.node()};
      else if (const auto* let = stmt.As<LetStmtNode>())
        define(let->var, let->value);
      else if (const auto* block = stmt.As<BlockNode>())
        for (const BlockIter& iter : block->iters) define(iter.var, iter.binding);
    }
    Vars others;
    for (const BlockIter& iter : block_->iters) {
      Vars loops = LoopsIn(iter.binding);
      (iter.kind == IterKind::kReduce ? reduced_ : others).insert(loops.begin(), loops.end());
    }
    for (const VarNode* var : reduced_)
      if (others.count(var)) mixed_.insert(var);
    // Axes that share a loop with one of these are of the same kind.
    for (size_t before = 0; before != mixed_.size();) {
      before = mixed_.size();
      for (const BlockIter& iter : block_->iters) {
        Vars loops = LoopsIn(iter.binding);
        if (iter.kind != IterKind::kReduce && Meet(loops, mixed_))
          mixed_.insert(loops.begin(), loops.end());
      }
    }
  }
  bool IsReduced(const Loop& loop) const {
    return reduced_.count(loop.node->var.node()) && !IsMixed(loop);
  }
  bool IsMixed(const Loop& loop) const { return mixed_.count(loop.node->var.node()) > 0; }
  bool IsMixed(const BlockIter& iter) const {
    return iter.kind != IterKind::kReduce && Meet(LoopsIn(iter.binding), mixed_);
  }
  // On steps of the reduction, or on loops that are replaced by domains.
  bool IsOfSteps(const Expr& condition) const {
    Vars loops = LoopsIn(condition);
    bool on_axis =
        std::any_of(block_->iters.begin(), block_->iters.end(), [&](const BlockIter& iter) {
          return iter.kind == IterKind::kReduce && ir::UsesVar(condition, iter.var.node());
        });
    return on_axis || Meet(loops, reduced_) || Meet(loops, mixed_);
  }

  // Whether the reduction axes come to 0 in these loops; says where: at the beginning of a loop, or
  // at its end where an axis runs backwards.
  bool FindStart() {
    for (const Loop& loop : loops_) {
      if (IsMixed(loop) && !ir::IsConst(loop.node->min, 0)) return false;
      if (IsMixed(loop)) starts_[loop.node->var.node()] = loop.node->min;
    }
    for (const BlockIter& iter : block_->iters) {
      if (iter.kind != IterKind::kReduce || Meet(LoopsIn(iter.binding), mixed_)) continue;
      Expr value = Resolve(iter.binding);
      for (const Loop& loop : loops_) {
        const VarNode* var = loop.node->var.node();
        if (!ir::UsesVar(value, var)) continue;
        auto linear = arith::AsLinear(value, var);
        bool backwards = linear && linear->coefficient < 0;
        Expr start = loop.node->min;
        if (backwards) start = start + loop.node->extent - ir::MakeConst(start.dtype(), 1);
        auto [known, is_new] = starts_.emplace(var, start);
        if (!is_new && !ir::StructuralEqual(known->second, start)) return false;
        value = ir::Substitute(value, {{var, start}});
      }
      if (!ir::IsConst(arith::Analyzer().Simplify(Resolve(value)), 0)) return false;
    }
    return true;
  }
  // With definitions and the axes of blocks around written out.
  Expr Resolve(Expr expr) const {
    auto uses_definition = [&] {
      Uses uses;
      uses.Visit(expr);
      return std::any_of(uses.vars.begin(), uses.vars.end(),
                         [&](const VarNode* var) { return values_.count(var) > 0; });
    };
    while (uses_definition()) expr = ir::Substitute(expr, values_);
    return expr;
  }

  // ---- whether there is a first step

  bool MayBeEmpty(const Loop& loop) const {
    if (IsReduced(loop)) return !IsPositive(AtStart(loop.node->extent));
    return IsMixed(loop) &&
           std::any_of(block_->iters.begin(), block_->iters.end(), [&](const BlockIter& iter) {
             return iter.kind == IterKind::kReduce && !IsPositive(iter.extent);
           });
  }
  Expr AtStart(const Expr& expr) const { return ir::Substitute(expr, starts_); }

  void FindPlace() {
    place_ = path_.size() - 1;
    // A launch without threads runs nothing.
    for (const Loop& loop : loops_)
      if (IsMixed(loop) || MayBeEmpty(loop))
        place_ = std::min(place_, IsThread(loop.node) ? kernel_ : loop.at);
  }

  // Knows the conditions around.
  arith::Analyzer Around() const {
    arith::Analyzer analyzer;
    for (size_t i = 0; i + 1 < path_.size(); ++i) {
      const auto* branch = path_[i].As<IfThenElseNode>();
      // A condition of steps is not kept around the init.
      if (branch && branch->then_case.same(path_[i + 1]) && arith::IsFixed(branch->condition) &&
          !IsOfSteps(branch->condition))
        analyzer.Assume(branch->condition);
    }
    return analyzer;
  }

  // Null: it is there.
  Expr FirstStepIsMissing() {
    Expr missing;
    auto add = [&](const Expr& condition) { missing = missing ? missing || condition : condition; };
    for (const Loop& loop : loops_) {
      if (!MayBeEmpty(loop)) continue;
      Expr extent = AtStart(loop.node->extent);
      add(ir::LENode::Make(extent, ir::MakeConst(extent.dtype(), 0)));
    }
    ir::VarMap axes = starts_;
    for (const BlockIter& iter : block_->iters)
      axes[iter.var.node()] = iter.kind == IterKind::kReduce ? ir::MakeConst(iter.var.dtype(), 0)
                                                             : AtStart(iter.binding);
    for (const Expr& part : Conjuncts(block_->predicate))
      if (IsOfSteps(part) && !Meet(LoopsIn(part), mixed_))
        add(ir::NotNode::Make(ir::Substitute(part, axes)));
    return missing ? Around().Simplify(missing) : missing;
  }

  // ---- the init

  void Use(const Expr& expr) { uses_.Visit(expr); }

  void If(const Expr& condition) {
    stmt_ = IfThenElseNode::Make(condition, stmt_, {}, block_->span);
    Use(condition);
  }
  // The condition stands as far outside as what it uses allows.
  void PutCondition() {
    if (condition_.get() && !ir::IsConst(condition_, 1)) If(condition_);
    condition_ = {};
  }
  void BeforeDefinition(const VarNode* var) {
    if (condition_.get() && ir::UsesVar(condition_, var)) PutCondition();
  }

  // Null where it cannot be told for which elements the init is.
  Stmt Build(const Expr& missing) {
    auto block = ffi::Make<BlockNode>(*block_);
    std::vector<std::pair<Var, Expr>> domains;
    for (BlockIter& iter : block->iters) {
      if (!IsMixed(iter)) continue;
      domains.emplace_back(Var(iter.var.name(), iter.var.dtype()), iter.extent);
      iter.binding = domains.back().first;
    }
    stmt_ = InitBlock(block.get(), starts_, KeepConjuncts(block_->predicate, [&](const Expr& part) {
                        return !IsOfSteps(part);
                      }));
    condition_ = missing;
    uses_.Visit(stmt_);
    bool launches = place_ <= kernel_ && kernel_ < path_.size();
    for (size_t i = domains.size(); i-- > 0;) {
      bool bound = launches && i == 0 && !KeepsThreads();
      AddLoop(domains[i].first, ir::MakeConst(domains[i].first.dtype(), 0), domains[i].second,
              bound ? ForKind::kThread : ForKind::kSerial, bound ? "blockIdx.x" : "");
      launches = launches && !bound;
    }
    for (size_t i = path_.size() - 1; i-- > place_;)
      if (!Enclose(path_[i], path_[i + 1])) return {};
    PutCondition();
    for (const Loop& loop : loops_)
      if (loop.at < place_ && IsReduced(loop)) If(loop.node->var == loop.node->min);
    if (launches && !KeepsThreads()) AddLoop(Var("thread"), 0, 1, ForKind::kThread, "threadIdx.x");
    for (const Loop& loop : loops_)
      if (loop.at >= place_ && uses_.vars.count(loop.node->var.node()) && !Keeps(loop)) return {};
    return CopyWithFreshDefs(stmt_);
  }

  // Threads that reduce run the init together with the others of their block: one of them does it.
  bool IsOfThreads(const Loop& loop) const { return IsThread(loop.node) && kernel_ < place_; }
  bool Keeps(const Loop& loop) const {
    return !IsMixed(loop) && (!IsReduced(loop) || IsOfThreads(loop));
  }
  bool KeepsThreads() const {
    return std::any_of(loops_.begin(), loops_.end(), [&](const Loop& loop) {
      return loop.at >= place_ && IsThread(loop.node) && Keeps(loop);
    });
  }

  void AddLoop(const Var& var, const Expr& min, const Expr& extent, ForKind kind,
               const std::string& thread) {
    BeforeDefinition(var.node());
    bool at_once = kind == ForKind::kThread || kind == ForKind::kParallel;
    stmt_ = ForNode::Make(var, min, extent, at_once ? kind : ForKind::kSerial, stmt_, thread,
                          block_->span);
    Use(min);
    Use(extent);
  }

  // Puts what is needed of a statement around the init; false where it cannot stand there.
  bool Enclose(const Stmt& outer, const Stmt& inner) {
    if (const auto* node = outer.As<ForNode>()) {
      Loop loop = {node, 0};
      if (!Keeps(loop)) return true;
      BeforeDefinition(node->var.node());
      if (IsReduced(loop)) If(node->var == node->min);
      AddLoop(node->var, node->min, node->extent, node->for_kind, node->thread);
    } else if (const auto* let = outer.As<LetStmtNode>()) {
      BeforeDefinition(let->var.node());
      if (!uses_.vars.count(let->var.node())) return true;
      stmt_ = LetStmtNode::Make(let->var, AtStart(let->value), stmt_, let->span);
      Use(AtStart(let->value));
    } else if (const auto* decl = outer.As<DeclBufferNode>()) {
      if (!uses_.buffers.count(decl->buffer.get())) return true;
      PutCondition();
      stmt_ = DeclBufferNode::Make(decl->buffer, stmt_, decl->span);
      uses_.VisitBuffer(decl->buffer);
    } else if (const auto* allocation = outer.As<AllocateNode>()) {
      // Nobody outside sees it.
      return !uses_.vars.count(allocation->buffer->data.node());
    } else if (const auto* branch = outer.As<IfThenElseNode>()) {
      if (IsOfSteps(branch->condition)) return true;
      If(inner.same(branch->then_case) ? branch->condition : ir::NotNode::Make(branch->condition));
    } else if (const auto* block = outer.As<BlockNode>()) {
      EncloseInBlock(block);
    } else {
      return outer.As<SeqNode>() != nullptr;
    }
    return true;
  }

  // The axes of a block around are their bindings.
  void EncloseInBlock(const BlockNode* block) {
    if (Expr predicate =
            KeepConjuncts(block->predicate, [&](const Expr& part) { return !IsOfSteps(part); }))
      If(predicate);
    ir::VarMap bindings;
    for (const BlockIter& iter : block->iters) {
      BeforeDefinition(iter.var.node());
      bindings[iter.var.node()] = AtStart(iter.binding);
      if (uses_.vars.erase(iter.var.node())) Use(bindings[iter.var.node()]);
    }
    stmt_ = Substitute(stmt_, bindings);
  }

  const std::vector<Stmt>& path_;
  const BlockNode* block_;
  std::vector<Loop> loops_;
  size_t kernel_ = static_cast<size_t>(-1);  // where the outermost thread loop is in the path
  std::unordered_map<const VarNode*, Vars> depends_;
  ir::VarMap values_;     // of definitions, and of the axes of blocks
  Vars reduced_, mixed_;  // loops; a mixed one may be in both
  ir::VarMap starts_;     // what the loops that are left out begin with
  size_t place_ = 0;

  Stmt stmt_;
  Expr condition_;
  Uses uses_;  // of stmt_
};

class Initializer : public StmtMutator {
 public:
  explicit Initializer(bool decomposed_later) : decomposed_later_(decomposed_later) {}

 private:
  using StmtMutator::Mutate;
  using StmtMutator::MutateNode;

  Stmt Mutate(const Stmt& stmt) override {
    path_.push_back(stmt);
    Stmt result = StmtMutator::Mutate(stmt);
    path_.pop_back();
    auto it = before_.find(stmt.get());
    if (it == before_.end()) return result;
    std::vector<Stmt> stmts = std::move(it->second);
    before_.erase(it);
    stmts.push_back(result);
    return SeqNode::Make(std::move(stmts), stmt.span());
  }

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (decomposed_later_ && IsDecomposable(node)) return self;
    return MutateChildren(node, self);
  }

  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    if (!node->init || node->annotations.count(attr::kInitializedIfEmpty)) return result;
    Reduction::Result found = Reduction(path_, node).Find();
    if (!found.init) return result;
    before_[found.place.get()].push_back(found.init);
    auto marked = ffi::Make<BlockNode>(*result.As<BlockNode>());
    marked->annotations[attr::kInitializedIfEmpty] = true;
    return marked;
  }

  bool decomposed_later_;
  std::vector<Stmt> path_;
  std::unordered_map<const StmtNode*, std::vector<Stmt>> before_;
};

}  // namespace

bool ContainsInit(const Stmt& stmt) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const BlockNode* node) override {
      found |= static_cast<bool>(node->init);
      VisitChildren(node);
    }
    bool found = false;
  } scan;
  scan.Visit(stmt);
  return scan.found;
}

PrimFunc InitializeEmptyReductions(const PrimFunc& function, bool decomposed_later) {
  return Initializer(decomposed_later).MutateFunction(function);
}

}  // namespace tern::tir
