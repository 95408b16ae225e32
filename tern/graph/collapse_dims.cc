// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/collapse_dims.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "tern/graph/op.h"
#include "tern/graph/stages.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/visitor.h"

namespace tern::graph {
namespace {

using tir::Buffer;
using tir::BufferNode;
using tir::Stmt;
using tir::VarNode;

// A load or a store.
struct Access {
  const BufferNode* buffer = nullptr;
  std::vector<Expr> indices;
};

// Accesses of a stage, and variables that stand elsewhere than as an index.
class AccessFinder : public tir::StmtVisitor {
 public:
  void Find(const Stage& stage) {
    if (stage.init) Visit(stage.init);
    Visit(stage.body);
  }
  std::vector<Access> accesses;  // the init's store, or the body's, comes first
  std::set<const VarNode*> elsewhere;
  bool multiplies = false;  // two elements that it loads

 private:
  void VisitNode(const ir::MulNode* node) override {
    multiplies |= Loads(node->a) && Loads(node->b);
    StmtVisitor::VisitNode(node);
  }
  static bool Loads(const Expr& expr) {
    bool loads = false;
    ir::ForEachExpr(expr, [&](const Expr& e) { loads |= e.As<ir::BufferLoadNode>() != nullptr; });
    return loads;
  }
  void VisitNode(const ir::BufferLoadNode* node) override { Add(node); }
  void VisitNode(const tir::BufferStoreNode* node) override {
    Add(node);
    Visit(node->value);
  }
  void VisitNode(const VarNode* node) override { elsewhere.insert(node); }

  template <class T>
  void Add(const T* node) {
    accesses.push_back({node->buffer.get(), node->indices});
    for (const Expr& index : node->indices)
      if (!index.template As<VarNode>()) Visit(index);
    if (node->predicate) Visit(node->predicate);
  }
};

// A longer row, where there is but one, is for several threads.
constexpr int64_t kLongestRow = 16384;

// Dimensions d and d + 1 of a buffer; axes a and b of a stage.
using DimPair = std::pair<const BufferNode*, size_t>;
using AxisPair = std::pair<const VarNode*, const VarNode*>;

class Collapser {
 public:
  explicit Collapser(StagedFunction* staged)
      : staged_(*staged), stages_(staged->stages), shapes_(staged->shapes) {}

  tir::PrimFunc Run() {
    DropUnits();
    while (MergeSome()) continue;
    return Rebuild();
  }
  bool has_new_extents() const { return !products_.empty(); }
  // Of the parameters, as a caller sees them.
  std::vector<std::vector<Expr>> shapes() const {
    std::vector<std::vector<Expr>> shapes;
    for (const tir::Param& param : staged_.function->params)
      shapes.push_back(param.is_tensor() ? shapes_.at(param.buffer.get()) : std::vector<Expr>());
    return shapes;
  }

 private:
  // ---- Extents of 1

  // A matmul of one row, or one column, stays a matmul: the rules look for M, N and K. So does a
  // normalization of one row that of rows.
  void KeepKinds() {
    std::vector<std::vector<Access>> accesses;
    for (const Stage& stage : stages_) {
      AccessFinder finder;
      finder.Find(stage);
      if (const VarNode* axis = MissingAxis(stage, finder)) kept_axes_.insert(axis);
      if (const VarNode* axis = OnlyRow(stage, finder)) kept_axes_.insert(axis);
      accesses.push_back(std::move(finder.accesses));
    }
    // Dimensions that such an axis indexes stay, and so do axes that index such a dimension, or
    // stand where a broadcast reads it at 0.
    for (size_t before = SIZE_MAX; before != kept_axes_.size() + kept_dims_.size();) {
      before = kept_axes_.size() + kept_dims_.size();
      for (size_t i = 0; i < stages_.size(); ++i)
        for (const Access& access : accesses[i])
          for (size_t d = 0; d < access.indices.size(); ++d) {
            const auto* var = access.indices[d].As<VarNode>();
            if (var && kept_axes_.contains(var)) kept_dims_.insert({access.buffer, d});
            if (!kept_dims_.contains({access.buffer, d})) continue;
            if (!var) var = BroadcastAxis(stages_[i], accesses[i][0], access, d);
            if (var) kept_axes_.insert(var);
          }
    }
  }

  // The axis of extent 1 at which a stage without reductions stores what it reads at 0; null for
  // none. Shapes are aligned at their ends.
  static const VarNode* BroadcastAxis(const Stage& stage, const Access& store, const Access& load,
                                      size_t d) {
    size_t rank = load.indices.size();
    if (store.indices.size() < rank || !ir::IsConst(load.indices[d], 0)) return nullptr;
    const auto* var = store.indices[store.indices.size() - rank + d].As<VarNode>();
    bool is_unit = false;
    for (const tir::BlockIter& iter : stage.iters) {
      if (iter.kind != tir::IterKind::kSpatial) return nullptr;
      is_unit |= iter.var.node() == var && ir::IsConst(iter.extent, 1);
    }
    return is_unit ? var : nullptr;
  }

  // The axis of extent 1 of a reduction to one element that its input has too, where the last stage
  // computes such rows from it.
  const VarNode* OnlyRow(const Stage& stage, const AccessFinder& finder) const {
    auto is_wide = [](const tir::BlockIter& iter) { return !ir::IsConst(iter.extent, 1); };
    const tir::BlockIter* reduced = nullptr;
    for (const tir::BlockIter& iter : stage.iters) {
      if (!is_wide(iter)) continue;
      if (iter.kind != tir::IterKind::kReduce || reduced) return nullptr;
      reduced = &iter;
    }
    if (!reduced || ir::AsConstInt(reduced->extent).value_or(0) > kLongestRow) return nullptr;
    const std::vector<tir::BlockIter>& last = stages_.back().iters;
    if (std::count_if(last.begin(), last.end(), is_wide) != 1 ||
        !SameExtent(std::find_if(last.begin(), last.end(), is_wide)->extent, reduced->extent))
      return nullptr;
    const BufferNode* result = finder.accesses[0].buffer;
    const VarNode* row = nullptr;
    for (const Access& access : finder.accesses)
      for (const Expr& index : access.indices)
        if (const auto* var = index.As<VarNode>();
            var && access.buffer != result && var != reduced->var.node())
          row = var;
    return row;
  }

  // Of a sum of products with one spatial axis beside extents of 1: one of these that a factor has.
  static const VarNode* MissingAxis(const Stage& stage, const AccessFinder& finder) {
    if (!finder.multiplies) return nullptr;
    std::set<const VarNode*> units;
    int wide = 0;
    bool reduces = false;
    for (const tir::BlockIter& iter : stage.iters) {
      reduces |= iter.kind == tir::IterKind::kReduce;
      if (iter.kind != tir::IterKind::kSpatial) continue;
      if (ir::IsConst(iter.extent, 1))
        units.insert(iter.var.node());
      else
        ++wide;
    }
    if (!reduces || wide != 1) return nullptr;
    const BufferNode* result = finder.accesses[0].buffer;
    for (const Access& access : finder.accesses)
      for (const Expr& index : access.indices)
        if (const auto* var = index.As<VarNode>(); access.buffer != result && units.contains(var))
          return var;
    return nullptr;
  }

  void DropUnits() {
    KeepKinds();
    for (auto& [buffer, shape] : shapes_) {
      std::vector<bool>& dropped = dropped_[buffer];
      for (size_t d = 0; d < shape.size(); ++d)
        dropped.push_back(ir::IsConst(shape[d], 1) && !kept_dims_.contains({buffer, d}));
      // Something is left to index.
      if (!dropped.empty() && std::find(dropped.begin(), dropped.end(), false) == dropped.end())
        dropped.back() = false;
      std::vector<Expr> kept;
      for (size_t i = 0; i < shape.size(); ++i)
        if (!dropped[i]) kept.push_back(shape[i]);
      shape = std::move(kept);
    }
    for (Stage& stage : stages_) DropUnitAxes(&stage);
  }

  void DropUnitAxes(Stage* stage) {
    // A reduction keeps one axis, or its init would have none to begin.
    bool reduces = false;
    for (const tir::BlockIter& iter : stage->iters)
      reduces |= iter.kind == tir::IterKind::kReduce && !ir::IsConst(iter.extent, 1);
    ir::VarMap zeros;
    std::vector<tir::BlockIter> kept;
    for (const tir::BlockIter& iter : stage->iters) {
      bool drop = ir::IsConst(iter.extent, 1) && !kept_axes_.contains(iter.var.node());
      if (drop && iter.kind == tir::IterKind::kReduce && !reduces) {
        drop = false;
        reduces = true;
      }
      if (drop)
        zeros[iter.var.node()] = Expr(0);
      else
        kept.push_back(iter);
    }
    stage->iters = std::move(kept);
    Expr unit;  // the axis of extent 1 that is left, where there is one
    for (const tir::BlockIter& iter : stage->iters)
      if (ir::IsConst(iter.extent, 1) && iter.kind == tir::IterKind::kSpatial)
        unit = unit ? Expr(0) : Expr(iter.var);
    if (stage->init) stage->init = Rewrite(stage->init, zeros, unit);
    stage->body = Rewrite(stage->body, zeros, unit);
  }

  // Indices of dimensions that are gone are left out; what became constant is simplified. A
  // broadcast reads dimensions of extent 1 at 0, which is the axis `unit`.
  Stmt Rewrite(const Stmt& stmt, const ir::VarMap& zeros, const Expr& unit) {
    class Dropper : public IndexMutator {
     public:
      Dropper(const Collapser& collapser, const Expr& unit) : collapser_(collapser), unit_(unit) {}

     private:
      std::vector<Expr> NewIndices(const Buffer& buffer,
                                   const std::vector<Expr>& indices) override {
        const std::vector<bool>& dropped = collapser_.dropped_.at(buffer.get());
        std::vector<Expr> kept;
        for (size_t i = 0; i < indices.size(); ++i) {
          if (dropped[i]) continue;
          kept.push_back(Simplified(Mutate(indices[i])));
          if (static_cast<bool>(unit_) && collapser_.kept_dims_.contains({buffer.get(), i}) &&
              ir::IsConst(kept.back(), 0))
            kept.back() = unit_;
        }
        return kept;
      }
      const Collapser& collapser_;
      const Expr& unit_;
    };
    return Dropper(*this, unit).Mutate(tir::Substitute(stmt, zeros));
  }

  // ---- Pairs

  // Merges one pair, with all that depends on it. Whether there was one.
  bool MergeSome() {
    accesses_.clear();
    elsewhere_.clear();
    for (Stage& stage : stages_) {
      AccessFinder finder;
      finder.Find(stage);
      accesses_.push_back(std::move(finder.accesses));
      elsewhere_.push_back(std::move(finder.elsewhere));
    }
    for (const Buffer& buffer : staged_.buffers)
      for (size_t d = 0; d + 1 < shapes_[buffer.get()].size(); ++d)
        if (TryMerge({buffer.get(), d})) return true;
    return false;
  }

  bool TryMerge(const DimPair& seed) {
    std::set<DimPair> dims{seed};
    std::vector<std::set<AxisPair>> axes(stages_.size());
    // Pairs need others until none is new, or one cannot be.
    for (bool changed = true; changed;) {
      size_t before = CountOf(dims, axes);
      for (size_t i = 0; i < stages_.size(); ++i)
        if (!Close(i, &dims, &axes[i])) return false;
      changed = CountOf(dims, axes) != before;
    }
    Apply(dims, axes);
    return true;
  }

  static size_t CountOf(const std::set<DimPair>& dims,
                        const std::vector<std::set<AxisPair>>& axes) {
    size_t count = dims.size();
    for (const std::set<AxisPair>& stage : axes) count += stage.size();
    return count;
  }

  // What the pairs so far need in one stage.
  bool Close(size_t stage, std::set<DimPair>* dims, std::set<AxisPair>* axes) {
    for (const Access& access : accesses_[stage]) {
      for (size_t d = 0; d + 1 < access.indices.size(); ++d) {
        if (!dims->contains({access.buffer, d})) continue;
        const auto *a = access.indices[d].As<VarNode>(), *b = access.indices[d + 1].As<VarNode>();
        const std::vector<Expr>& shape = shapes_[access.buffer];
        if (!a || !b || !MayPair(stage, a, b, shape[d], shape[d + 1])) return false;
        axes->insert({a, b});
      }
    }
    for (const auto& [a, b] : *axes) {
      if (elsewhere_[stage].contains(a) || elsewhere_[stage].contains(b)) return false;
      for (const Access& access : accesses_[stage])
        if (!AlwaysTogether(access, a, b, dims)) return false;
    }
    // An axis is of one pair at a time; the next round may take the rest.
    std::set<const VarNode*> seen;
    for (const auto& [a, b] : *axes)
      if (!seen.insert(a).second || !seen.insert(b).second) return false;
    for (const DimPair& pair : *dims)
      if (dims->contains({pair.first, pair.second + 1})) return false;
    return true;
  }

  // Both run over the whole of their dimensions, and are of one kind.
  bool MayPair(size_t stage, const VarNode* a, const VarNode* b, const Expr& first,
               const Expr& second) {
    const tir::BlockIter *x = nullptr, *y = nullptr;
    for (const tir::BlockIter& iter : stages_[stage].iters) {
      if (iter.var.node() == a) x = &iter;
      if (iter.var.node() == b) y = &iter;
    }
    return x && y && x != y && x->kind == y->kind && SameExtent(x->extent, first) &&
           SameExtent(y->extent, second);
  }

  static bool AlwaysTogether(const Access& access, const VarNode* a, const VarNode* b,
                             std::set<DimPair>* dims) {
    for (size_t d = 0; d < access.indices.size(); ++d) {
      const auto* var = access.indices[d].As<VarNode>();
      const auto* next =
          d + 1 < access.indices.size() ? access.indices[d + 1].As<VarNode>() : nullptr;
      const auto* last = d > 0 ? access.indices[d - 1].As<VarNode>() : nullptr;
      if (var == a && next != b) return false;
      if (var == b && last != a) return false;
      if (var == a) dims->insert({access.buffer, d});
    }
    return true;
  }

  void Apply(const std::set<DimPair>& dims, const std::vector<std::set<AxisPair>>& axes) {
    for (size_t i = 0; i < axes.size(); ++i) {
      Stage& stage = stages_[i];
      for (const auto& [a, b] : axes[i]) {
        auto of = [&](const VarNode* var) {
          return std::find_if(stage.iters.begin(), stage.iters.end(),
                              [&](const tir::BlockIter& iter) { return iter.var.node() == var; });
        };
        of(a)->extent = Product(of(a)->extent, of(b)->extent);
        stage.iters.erase(of(b));
      }
      if (stage.init) stage.init = WithoutSecond(stage.init, dims);
      stage.body = WithoutSecond(stage.body, dims);
    }
    for (const auto& [buffer, d] : dims) {
      std::vector<Expr>& shape = shapes_[buffer];
      shape[d] = Product(shape[d], shape[d + 1]);
      shape.erase(shape.begin() + static_cast<int64_t>(d) + 1);
    }
  }

  Expr Product(const Expr& a, const Expr& b) {
    Expr product = Simplified(a * b);
    if (!ir::AsConstInt(product)) products_.emplace_back(product, Var());
    return product;
  }

  // A product of dynamic extents is a variable of its own in the function, which the tensors tell
  // when it is called.
  Expr InFunction(const Expr& extent) {
    for (auto& [product, var] : products_) {
      if (!SameExtent(product, extent)) continue;
      if (!var) var = Var("extent" + std::to_string(num_extents_++));
      return var;
    }
    return extent;
  }
  std::vector<Expr> InFunction(const std::vector<Expr>& shape) {
    std::vector<Expr> result;
    for (const Expr& extent : shape) result.push_back(InFunction(extent));
    return result;
  }

  // The second index of each pair is left out.
  static Stmt WithoutSecond(const Stmt& stmt, const std::set<DimPair>& dims) {
    class Eraser : public IndexMutator {
     public:
      explicit Eraser(const std::set<DimPair>& dims) : dims_(dims) {}

     private:
      std::vector<Expr> NewIndices(const Buffer& buffer,
                                   const std::vector<Expr>& indices) override {
        std::vector<Expr> kept;
        for (size_t i = 0; i < indices.size(); ++i)
          if (i == 0 || !dims_.contains({buffer.get(), i - 1})) kept.push_back(Mutate(indices[i]));
        return kept;
      }
      const std::set<DimPair>& dims_;
    };
    return Eraser(dims).Mutate(stmt);
  }

  // ---- The result

  tir::PrimFunc Rebuild() {
    StagedFunction result = staged_;
    for (const Buffer& buffer : result.buffers) {
      std::vector<Expr>& shape = result.shapes[buffer.get()];
      shape = InFunction(shape);
    }
    for (Stage& stage : result.stages)
      for (tir::BlockIter& iter : stage.iters) iter.extent = InFunction(iter.extent);
    return result.Rebuild();
  }

  StagedFunction& staged_;
  std::vector<Stage>& stages_;
  std::unordered_map<const BufferNode*, std::vector<Expr>>& shapes_;
  std::unordered_map<const BufferNode*, std::vector<bool>> dropped_;
  std::set<DimPair> kept_dims_;  // of extent 1, each by its number
  std::set<const VarNode*> kept_axes_;
  std::vector<std::pair<Expr, Var>> products_;  // of dynamic extents, with what they are called
  int num_extents_ = 0;
  std::vector<std::vector<Access>> accesses_;  // of each stage
  std::vector<std::set<const VarNode*>> elsewhere_;
};

// Whether the tensors still tell every dynamic extent: one that became a part of a product may be
// needed by itself.
bool IsClosed(const tir::PrimFunc& function) {
  try {
    tir::Verify(ir::IRModule::Make({function}));
    return true;
  } catch (const Error& error) {
    if (error.kind() == "InternalError") throw;
    return false;
  }
}

}  // namespace

Collapsed CollapseDims(const tir::PrimFunc& function) {
  std::optional<StagedFunction> staged = StagedFunction::Read(function);
  if (staged) {
    Collapser collapser(&*staged);
    Collapsed result{collapser.Run(), collapser.shapes()};
    if (!collapser.has_new_extents() || IsClosed(result.function)) return result;
  }
  Collapsed same{function, {}};
  for (const tir::Param& param : function->params)
    same.shapes.push_back(param.is_tensor() ? param.buffer->shape : std::vector<Expr>());
  return same;
}

}  // namespace tern::graph
