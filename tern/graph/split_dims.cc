// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/split_dims.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tern/arith/analyzer.h"
#include "tern/graph/stages.h"
#include "tern/tir/visitor.h"

namespace tern::graph {
namespace {

using ir::Expr;
using ir::Var;
using tir::BlockIter;
using tir::Buffer;
using tir::BufferNode;
using tir::VarNode;

bool Divides(const Expr& expr) {
  bool divides = false;
  ir::ForEachExpr(expr, [&](const Expr& e) {
    divides |= e.As<ir::FloorDivNode>() != nullptr || e.As<ir::FloorModNode>() != nullptr;
  });
  return divides;
}

// Calls `f` with the buffer and the indices of every access, loads inside of indices included.
template <class F>
class AccessVisitor : public tir::StmtVisitor {
 public:
  explicit AccessVisitor(const F& f) : f_(f) {}
  using StmtVisitor::VisitNode;
  void VisitNode(const ir::BufferLoadNode* node) override {
    f_(node->buffer, node->indices);
    StmtVisitor::VisitNode(node);
  }
  void VisitNode(const tir::BufferStoreNode* node) override {
    f_(node->buffer, node->indices);
    StmtVisitor::VisitNode(node);
  }

 private:
  const F& f_;
};

template <class F>
void ForEachAccess(const Stage& stage, const F& f) {
  AccessVisitor<F> visitor(f);
  if (stage.init) visitor.Visit(stage.init);
  visitor.Visit(stage.body);
}

// An axis v = outer * factor + inner.
struct SplitAxis {
  int64_t factor = 0;
  Var outer, inner;
};

// One split, with all that depends on it.
class Splitter {
 public:
  explicit Splitter(StagedFunction* staged) : staged_(*staged) {}

  // Nothing is changed where it is false.
  bool Split(const BlockIter& seed, int64_t factor) {
    if (!AddAxis(seed, factor)) return false;
    for (size_t before = 0; before != axes_.size() + dims_.size();) {
      before = axes_.size() + dims_.size();
      for (const Stage& stage : staged_.stages)
        if (!Close(stage)) return false;
    }
    for (const Stage& stage : staged_.stages)
      if (!IsSplitEverywhere(stage)) return false;
    Apply();
    return true;
  }

 private:
  using Dim = std::pair<const BufferNode*, size_t>;

  bool AddAxis(const BlockIter& iter, int64_t factor) {
    if (auto it = axes_.find(iter.var.node()); it != axes_.end())
      return it->second.factor == factor;
    std::optional<int64_t> extent = ir::AsConstInt(iter.extent);
    if (!extent || *extent % factor != 0) return false;
    const std::string& name = iter.var.name();
    axes_[iter.var.node()] = {factor, Var(name + "_o"), Var(name + "_i")};
    return true;
  }

  bool AddDim(const Dim& dim, int64_t factor) {
    std::optional<int64_t> extent = ir::AsConstInt(staged_.shapes.at(dim.first)[dim.second]);
    if (!extent || *extent % factor != 0) return false;
    return dims_.emplace(dim, factor).first->second == factor;
  }

  // What the splits so far need in a stage.
  bool Close(const Stage& stage) {
    bool ok = true;
    ForEachAccess(stage, [&](const Buffer& buffer, const std::vector<Expr>& indices) {
      for (size_t d = 0; d < indices.size() && ok; ++d)
        ok = CloseIndex(stage, {buffer.get(), d}, indices[d]);
    });
    return ok;
  }

  bool CloseIndex(const Stage& stage, const Dim& dim, const Expr& index) {
    // An axis by itself and its dimension are split alike.
    if (const auto* var = index.As<VarNode>()) {
      auto iter = std::find_if(stage.iters.begin(), stage.iters.end(),
                               [&](const BlockIter& one) { return one.var.node() == var; });
      auto axis = axes_.find(var);
      auto split = dims_.find(dim);
      if (axis != axes_.end()) return AddDim(dim, axis->second.factor);
      return split == dims_.end() || (iter != stage.iters.end() && AddAxis(*iter, split->second));
    }
    // Of outer * f + rest, f is the dimension's factor.
    Expr split = Substituted(stage, index);
    for (const auto& [var, axis] : axes_) {
      if (!ir::UsesVar(index, var) || !ir::UsesVar(split, axis.outer.node())) continue;
      Expr next = ir::Substitute(split, {{axis.outer.node(), axis.outer + 1}});
      std::optional<int64_t> factor = ir::AsConstInt(AnalyzerOf(stage).Simplify(next - split));
      if (!factor || *factor < 1 || (*factor > 1 && !AddDim(dim, *factor))) return false;
    }
    return true;
  }

  // No quotient of a split axis is left, and indices of split dimensions are pairs.
  bool IsSplitEverywhere(const Stage& stage) const {
    bool ok = true;
    arith::Analyzer analyzer = AnalyzerOf(stage);
    ForEachAccess(stage, [&](const Buffer& buffer, const std::vector<Expr>& indices) {
      for (size_t d = 0; d < indices.size(); ++d) {
        Expr index = Substituted(stage, indices[d]);
        if (auto it = dims_.find({buffer.get(), d}); it != dims_.end())
          ok &= !Divides(analyzer.Simplify(ir::FloorDiv(index, it->second))) &&
                !Divides(analyzer.Simplify(ir::FloorMod(index, it->second)));
        else if (!index.same(indices[d]))
          ok &= !Divides(index);
      }
    });
    return ok;
  }

  arith::Analyzer AnalyzerOf(const Stage& stage) const {
    arith::Analyzer analyzer;
    for (const BlockIter& iter : stage.iters) {
      analyzer.BindRange(iter.var, 0, iter.extent);
      auto it = axes_.find(iter.var.node());
      if (it == axes_.end()) continue;
      analyzer.BindRange(it->second.outer, 0,
                         Expr(*ir::AsConstInt(iter.extent) / it->second.factor));
      analyzer.BindRange(it->second.inner, 0, Expr(it->second.factor));
    }
    return analyzer;
  }

  // In terms of the new axes.
  Expr Substituted(const Stage& stage, const Expr& expr) const {
    ir::VarMap values = Values();
    bool uses = std::any_of(values.begin(), values.end(),
                            [&](const auto& value) { return ir::UsesVar(expr, value.first); });
    return uses ? AnalyzerOf(stage).Simplify(ir::Substitute(expr, values)) : expr;
  }
  ir::VarMap Values() const {
    ir::VarMap values;
    for (const auto& [var, axis] : axes_)
      values[var] = axis.outer * Expr(axis.factor) + Expr(axis.inner);
    return values;
  }

  // ---- The change

  void Apply() {
    for (Stage& stage : staged_.stages) {
      Rewriter rewriter(*this, stage);
      if (stage.init) stage.init = rewriter.Mutate(stage.init);
      stage.body = rewriter.Mutate(stage.body);
      std::vector<BlockIter> iters;
      for (const BlockIter& iter : stage.iters) {
        auto it = axes_.find(iter.var.node());
        if (it == axes_.end()) {
          iters.push_back(iter);
          continue;
        }
        const std::string& loop = static_cast<const VarNode*>(iter.binding.get())->name;
        BlockIter outer = iter, inner = iter;
        outer.var = it->second.outer;
        outer.extent = Expr(*ir::AsConstInt(iter.extent) / it->second.factor);
        outer.binding = Var(loop + "_o");
        inner.var = it->second.inner;
        inner.extent = Expr(it->second.factor);
        inner.binding = Var(loop + "_i");
        iters.insert(iters.end(), {outer, inner});
      }
      stage.iters = std::move(iters);
    }
    // From the last dimension on, so that the numbers of the others stay.
    for (auto it = dims_.rbegin(); it != dims_.rend(); ++it) {
      const auto& [dim, factor] = *it;
      std::vector<Expr>& shape = staged_.shapes.at(dim.first);
      auto extent = shape.begin() + static_cast<std::ptrdiff_t>(dim.second);
      *extent = Expr(*ir::AsConstInt(*extent) / factor);
      shape.insert(extent + 1, Expr(factor));
    }
  }

  class Rewriter : public IndexMutator {
   public:
    Rewriter(const Splitter& splitter, const Stage& stage)
        : splitter_(splitter), analyzer_(splitter.AnalyzerOf(stage)), values_(splitter.Values()) {}

   private:
    using IndexMutator::MutateNode;
    Expr MutateNode(const VarNode* node, const Expr& self) override {
      auto it = values_.find(node);
      return it == values_.end() ? self : it->second;
    }
    std::vector<Expr> NewIndices(const Buffer& buffer, const std::vector<Expr>& indices) override {
      std::vector<Expr> result;
      for (size_t d = 0; d < indices.size(); ++d) {
        Expr index = Mutate(indices[d]);
        if (auto it = splitter_.dims_.find({buffer.get(), d}); it != splitter_.dims_.end()) {
          result.push_back(analyzer_.Simplify(ir::FloorDiv(index, it->second)));
          result.push_back(analyzer_.Simplify(ir::FloorMod(index, it->second)));
        } else {
          result.push_back(index.same(indices[d]) ? index : analyzer_.Simplify(index));
        }
      }
      return result;
    }

    const Splitter& splitter_;
    arith::Analyzer analyzer_;
    ir::VarMap values_;
  };

  StagedFunction& staged_;
  std::map<const VarNode*, SplitAxis> axes_;
  std::map<Dim, int64_t> dims_;  // their inner extents
};

// A spatial axis of a reduction that some access divides, and by what. Where it is the result's
// last, vectors would become shorter: that is left alone.
struct Seed {
  BlockIter iter;
  int64_t divisor = 0;
};
std::vector<Seed> SeedsOf(const Stage& stage) {
  std::vector<Seed> seeds;
  const auto* store = stage.body.As<tir::BufferStoreNode>();
  bool reduces = std::any_of(stage.iters.begin(), stage.iters.end(), [](const BlockIter& iter) {
    return iter.kind == tir::IterKind::kReduce;
  });
  if (!store || !reduces) return seeds;
  ForEachAccess(stage, [&](const Buffer&, const std::vector<Expr>& indices) {
    auto find = [&](const Expr& expr) {
      const auto* division = expr.As<ir::FloorDivNode>();
      if (!division) return;
      std::optional<int64_t> divisor = ir::AsConstInt(division->b);
      for (const BlockIter& iter : stage.iters) {
        std::optional<int64_t> extent = ir::AsConstInt(iter.extent);
        if (iter.kind == tir::IterKind::kSpatial && division->a.get() == iter.var.node() &&
            store->indices.back().get() != iter.var.node() && divisor && *divisor > 1 && extent &&
            *extent > *divisor)
          seeds.push_back({iter, *divisor});
      }
    };
    for (const Expr& index : indices) ir::ForEachExpr(index, find);
  });
  return seeds;
}

bool SplitSome(StagedFunction* staged) {
  for (const Stage& stage : staged->stages)
    for (const Seed& seed : SeedsOf(stage))
      if (Splitter(staged).Split(seed.iter, seed.divisor)) return true;
  return false;
}

}  // namespace

tir::PrimFunc SplitDims(const tir::PrimFunc& function) {
  std::optional<StagedFunction> staged = StagedFunction::Read(function);
  bool changed = false;
  while (staged && SplitSome(&*staged)) changed = true;
  return changed ? staged->Rebuild() : function;
}

}  // namespace tern::graph
