// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/nest.h"

#include <algorithm>

#include "tern/arith/linear.h"
#include "tern/ffi/text.h"
#include "tern/ir/structural.h"
#include "tern/tir/analysis/access_regions.h"
#include "tern/tir/analysis/memory_effects.h"
#include "tern/tir/analyzed_mutator.h"
#include "tern/tir/intrinsics.h"

namespace tern::schedule {

using namespace tern::tir;

void Refuse(const std::string& why) {
  TERN_THROW(ScheduleError) << why;
  __builtin_unreachable();
}

void CheckFactor(const std::string& what, int64_t factor, int64_t most) {
  if (factor < 1 || factor > most)
    Refuse(what + " is " + std::to_string(factor) + "; expected 1 to " + std::to_string(most));
}

int64_t LargestOf(DataType dtype) {
  int bits = std::min(63, dtype.bits() - (dtype.is_uint() ? 0 : 1));
  return static_cast<int64_t>((uint64_t{1} << bits) - 1);
}

void CheckRoundsUp(const Expr& extent, int64_t multiple) {
  Expr simple = arith::Analyzer().Simplify(extent);
  std::optional<int64_t> size = ir::AsConstInt(simple);
  int64_t most = LargestOf(extent.dtype());
  if (size && *size > most - (multiple - 1))
    Refuse("an extent of " + std::to_string(*size) + ", rounded up to a multiple of " +
           std::to_string(multiple) + ", is beyond " + extent.dtype().str() + ", which ends at " +
           std::to_string(most));
}

// ---- Places

namespace {

struct PathFinder : StmtVisitor {
  explicit PathFinder(const StmtNode* wanted) : wanted(wanted) {}
  using StmtVisitor::Visit;
  void Visit(const Stmt& stmt) override {
    if (found) return;
    path.push_back(stmt.get());
    found = stmt.get() == wanted;
    if (!found) StmtVisitor::Visit(stmt);
    if (!found) path.pop_back();
  }
  void Visit(const Expr&) override {}
  const StmtNode* wanted;
  Path path;
  bool found = false;
};

struct Collector : StmtVisitor {
  using StmtVisitor::Visit;
  void Visit(const Expr&) override {}
  using StmtVisitor::VisitNode;
  void VisitNode(const ForNode* node) override {
    loops.push_back(node);
    VisitChildren(node);
  }
  void VisitNode(const BlockNode* node) override {
    blocks.push_back(node);
    VisitChildren(node);
  }
  std::vector<const ForNode*> loops;
  std::vector<const BlockNode*> blocks;
};

}  // namespace

Path PathTo(const Stmt& root, const StmtNode* stmt) {
  PathFinder finder(stmt);
  finder.Visit(root);
  return finder.path;
}

Path PathTo(const StmtTree& tree, const StmtNode* stmt) {
  return tree.Has(stmt) ? tree.PathTo(stmt) : PathTo(tree.root(), stmt);
}

Stmt AsStmt(const StmtNode* node) {
  return DispatchStmt(node, [](const auto* typed) {
    return Stmt(ffi::Ref<const std::remove_cvref_t<decltype(*typed)>>(typed));
  });
}

Stmt Nest::top() const { return loops.empty() ? AsStmt(block) : AsStmt(loops.front()); }
bool Nest::Has(const ForNode* loop) const {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

Nest NestOf(const StmtTree& tree, const BlockNode* block) {
  Path path = PathTo(tree, block);
  Nest nest{tree.root(), block, {}, {}};
  size_t top = path.size() - 1;
  while (top > 0 && path[top - 1]->kind == StmtKind::kFor) --top;
  for (size_t i = 0; i + 1 < path.size(); ++i)
    if (path[i]->kind == StmtKind::kFor)
      (i < top ? nest.around : nest.loops).push_back(static_cast<const ForNode*>(path[i]));
  return nest;
}

Stmt ReplaceByRow(const StmtTree& tree, const StmtNode* old, std::vector<Stmt> row,
                  const std::vector<Buffer>& buffers) {
  Path path = PathTo(tree, old);
  Stmt all = SeqNode::Make(std::move(row));
  if (path.size() > 1 && path[path.size() - 2]->kind == StmtKind::kSeq) {
    all = ReplaceAt({path.end() - 2, path.end()}, all);
    path.pop_back();
  }
  for (const Buffer& buffer : buffers) all = AllocateNode::Make(buffer, all);
  return ReplaceAt(path, all);
}

Stmt Before(const Stmt& stmt, const Stmt& body) {
  if (const auto* allocation = body.As<AllocateNode>())
    return AllocateNode::Make(allocation->buffer, Before(stmt, allocation->body), allocation->span);
  return SeqNode::Make({stmt, body}, body.span());
}

Stmt WrapLoops(const std::vector<const ForNode*>& loops, Stmt body) {
  for (size_t i = loops.size(); i-- > 0;)
    body = loops[i]->With(loops[i]->min, loops[i]->extent, body);
  return body;
}

std::vector<const ForNode*> LoopsIn(const Stmt& stmt) {
  Collector collector;
  collector.Visit(stmt);
  return collector.loops;
}
std::vector<const BlockNode*> BlocksIn(const Stmt& stmt) {
  Collector collector;
  collector.Visit(stmt);
  return collector.blocks;
}

std::vector<const ForNode*> LoopsAround(const Path& path) {
  std::vector<const ForNode*> loops;
  for (const StmtNode* node : path)
    if (node->kind == StmtKind::kFor) loops.push_back(static_cast<const ForNode*>(node));
  return loops;
}

arith::Analyzer AnalyzerAt(const PrimFunc& function, const Path& path) {
  arith::Analyzer analyzer;
  for (const Param& param : function->params) {
    if (!param.is_tensor()) continue;
    BindExtents(param.buffer, &analyzer);
    // Parts of one may be scalars of any value, as in the keys of a decoder, past + tokens.
    for (const Expr& extent : param.buffer->shape)
      if (!extent.As<VarNode>() && !ir::AsConstInt(extent))
        analyzer.Assume(extent >= ir::MakeConst(extent.dtype(), 0));
  }
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i]->kind == StmtKind::kFor) {
      const auto* loop = static_cast<const ForNode*>(path[i]);
      analyzer.BindRange(loop->var, loop->min, loop->extent);
    } else if (path[i]->kind == StmtKind::kIfThenElse && i + 1 < path.size()) {
      const auto* branch = static_cast<const IfThenElseNode*>(path[i]);
      if (branch->then_case.get() == path[i + 1] && arith::IsFixed(branch->condition))
        analyzer.Assume(branch->condition);
    }
  }
  return analyzer;
}

// ---- Blocks

AxisUse UseOf(const BlockNode* block, const VarNode* var) {
  AxisUse use;
  for (const BlockIter& iter : block->iters) {
    if (!ir::UsesVar(iter.binding, var)) continue;
    if (iter.kind == IterKind::kSpatial)
      use.spatial = true;
    else if (iter.kind == IterKind::kReduce)
      use.reduce = true;
    else
      use.other = true;
  }
  return use;
}

std::vector<Expr> Conjuncts(const Expr& condition) {
  if (!condition) return {};
  const auto* both = condition.As<ir::AndNode>();
  if (!both) return {condition};
  std::vector<Expr> parts = Conjuncts(both->a);
  for (const Expr& part : Conjuncts(both->b)) parts.push_back(part);
  return parts;
}

Expr And(const Expr& a, const Expr& b) {
  if (!a) return b;
  Expr both = a;
  std::vector<Expr> known = Conjuncts(a);
  for (const Expr& part : Conjuncts(b))
    if (std::none_of(known.begin(), known.end(),
                     [&](const Expr& other) { return ir::StructuralEqual(other, part); }))
      both = both && part;
  return both;
}

bool UsesAnyOf(const Expr& expr, const std::vector<const ForNode*>& loops) {
  return std::any_of(loops.begin(), loops.end(),
                     [&](const ForNode* loop) { return ir::UsesVar(expr, loop->var.node()); });
}

std::optional<ReductionUpdate> PlainUpdate(const BlockNode* block) {
  std::optional<ReductionUpdate> update = FindReductionUpdate(block->body);
  if (!update) return {};
  ir::VarMap values;
  for (const LetStmtNode* let : update->lets)
    values[let->var.node()] = ir::Substitute(let->value, values);
  update->value = ir::Substitute(update->value, values);
  bool again = std::any_of(
      update->store->indices.begin(), update->store->indices.end(), [&](const Expr& index) {
        return std::any_of(update->lets.begin(), update->lets.end(), [&](const LetStmtNode* let) {
          return ir::UsesVar(index, let->var.node());
        });
      });
  ir::ForEachExpr(update->value, [&](const Expr& expr) {
    const auto* load = expr.As<ir::BufferLoadNode>();
    again |= load && load->buffer.same(update->store->buffer);
  });
  return again ? std::nullopt : update;
}

ffi::Ref<BlockNode> CopyBlock(const BlockNode* block) {
  auto copy = ffi::Make<BlockNode>(*block);
  copy->reads.clear();
  copy->writes.clear();
  return copy;
}

Stmt OpenBlocks(const Stmt& stmt, bool with_init) {
  struct Opener : StmtMutator {
    using StmtMutator::MutateNode;
    Stmt MutateNode(const BlockNode* node, const Stmt&) override {
      ir::VarMap values;
      for (const BlockIter& iter : node->iters) values[iter.var.node()] = iter.binding;
      Stmt body = Mutate(Substitute(node->body, values));
      if (!node->init || !with_init) return body;
      return SeqNode::Make({Substitute(node->init, values), body}, node->span);
    }
    bool with_init = true;
  } opener;
  opener.with_init = with_init;
  return opener.Mutate(stmt);
}

Stmt Guarded(const Stmt& body, const Expr& condition) {
  if (const auto* loop = body.As<ForNode>())
    return loop->With(loop->min, loop->extent, Guarded(loop->body, condition));
  if (const auto* block = body.As<BlockNode>()) {
    auto copy = ffi::Make<BlockNode>(*block);
    copy->predicate = And(block->predicate, condition);
    return Stmt(copy);
  }
  return IfThenElseNode::Make(condition, body, {}, body.span());
}

std::vector<std::string> FreshLoops::names() const {
  std::vector<std::string> result;
  for (const Var& var : vars) result.push_back(var.name());
  return result;
}

Stmt FreshLoops::Around(Stmt body) const {
  for (size_t i = vars.size(); i-- > 0;)
    body = ForNode::Make(vars[i], ir::IntImmNode::Make(vars[i].dtype(), 0), extents[i],
                         ForKind::kSerial, body);
  return body;
}

// ---- Memory

std::vector<Access> AccessesOf(const Stmt& stmt) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ir::BufferLoadNode* node) override {
      accesses.push_back({node->buffer, node->indices, false});
      VisitChildren(node);
    }
    void VisitNode(const BufferStoreNode* node) override {
      accesses.push_back({node->buffer, node->indices, true});
      VisitChildren(node);
    }
    std::vector<Access> accesses;
  } scan;
  scan.Visit(stmt);
  return scan.accesses;
}

std::vector<Access> AccessesOf(const Stmt& stmt, const Buffer& buffer) {
  std::vector<Access> accesses = AccessesOf(stmt);
  std::erase_if(accesses, [&](const Access& access) { return !access.buffer.same(buffer); });
  return accesses;
}

bool Touches(const Stmt& stmt, const Buffer& buffer) { return !AccessesOf(stmt, buffer).empty(); }

namespace {

class Rewriter : public StmtMutator {
 public:
  explicit Rewriter(const AccessRewrite& rewrite) : rewrite_(rewrite) {}

 private:
  using StmtMutator::MutateNode;
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    Expr changed = MutateChildren(node, self);
    const auto* load = changed.As<ir::BufferLoadNode>();
    Expr result = rewrite_.load ? rewrite_.load(load->buffer, load->indices) : Expr();
    if (!result || !load->predicate) return result ? result : changed;
    const auto* moved = result.As<ir::BufferLoadNode>();
    if (!moved) Refuse(load->buffer->name + " is read with a predicate");
    return ir::BufferLoadNode::Make(moved->buffer, moved->indices, load->span, load->predicate);
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    Stmt changed = MutateChildren(node, self);
    const auto* store = changed.As<BufferStoreNode>();
    Stmt result =
        rewrite_.store ? rewrite_.store(store->buffer, store->indices, store->value) : Stmt();
    if (!result || !store->predicate) return result ? result : changed;
    const auto* moved = result.As<BufferStoreNode>();
    if (!moved) Refuse(store->buffer->name + " is written with a predicate");
    return BufferStoreNode::Make(moved->buffer, moved->indices, moved->value, store->span,
                                 store->predicate);
  }
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    Stmt changed = MutateChildren(node, self);
    return changed.same(self) ? self : Stmt(CopyBlock(changed.As<BlockNode>()));
  }

  const AccessRewrite& rewrite_;
};

template <class F>
const AllocateNode* FindAllocationIf(const Stmt& root, const F& wanted) {
  struct Scan : StmtVisitor {
    explicit Scan(const F& wanted) : wanted(wanted) {}
    using StmtVisitor::Visit;
    void Visit(const Expr&) override {}
    using StmtVisitor::VisitNode;
    void VisitNode(const AllocateNode* node) override {
      if (!found && wanted(node->buffer)) found = node;
      VisitChildren(node);
    }
    const F& wanted;
    const AllocateNode* found = nullptr;
  } scan(wanted);
  scan.Visit(root);
  return scan.found;
}

}  // namespace

Stmt RewriteAccesses(const Stmt& stmt, const AccessRewrite& rewrite) {
  return Rewriter(rewrite).Mutate(stmt);
}

Stmt ReplaceBuffer(const Stmt& stmt, const Buffer& old, const Buffer& buffer) {
  struct Swapper : StmtMutator {
    Swapper(const Buffer& old, const Buffer& buffer) : old(old), buffer(buffer) {}
    Buffer MutateUse(const Buffer& use) override {
      return use.same(old) ? buffer : StmtMutator::MutateUse(use);
    }
    Buffer MutateDef(const BufferDef& def) override {
      return def.same(old) ? buffer : StmtMutator::MutateDef(def);
    }
    using StmtMutator::MutateDef;
    const Buffer &old, &buffer;
  };
  return Swapper(old, buffer).Mutate(stmt);
}

const AllocateNode* AllocationOf(const Stmt& root, const Buffer& buffer) {
  return FindAllocationIf(root, [&](const Buffer& other) { return other.same(buffer); });
}
const AllocateNode* AllocationOf(const StmtTree& tree, const Buffer& buffer) {
  for (const AllocateNode* allocation : tree.AllocationsNamed(buffer->name))
    if (allocation->buffer.same(buffer)) return allocation;
  return nullptr;
}
const AllocateNode* FindAllocation(const Stmt& root, const std::string& name) {
  return FindAllocationIf(root, [&](const Buffer& buffer) { return buffer->name == name; });
}

void CheckPlainMemory(const PrimFunc& function, const Buffer& buffer) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ir::CallNode* node) override {
      for (const Expr& arg : node->args)
        if (const auto* load = arg.As<ir::BufferLoadNode>())
          other |= node->name == intrinsic::kAddressOf && load->buffer.same(buffer);
      VisitChildren(node);
    }
    void VisitUse(const Buffer& use) override {
      other |= use->data.same(buffer->data) && !use.same(buffer);
    }
    Buffer buffer;
    bool other = false;
  } scan;
  scan.buffer = buffer;
  scan.Visit(function->body);
  if (scan.other || !MemoryEffects(function).PlaceOf(buffer))
    Refuse("the memory of " + buffer->name + " may be reached in other ways");
}

// ---- Order

Between FindBetween(const StmtTree& tree, const StmtNode* a, const std::string& a_name,
                    const StmtNode* b, const std::string& b_name) {
  Path to_a = PathTo(tree, a), to_b = PathTo(tree, b);
  size_t common = 0;
  while (common < std::min(to_a.size(), to_b.size()) && to_a[common] == to_b[common]) ++common;
  Between between;
  if (common > 0 && to_a[common - 1]->kind == StmtKind::kSeq) {
    between.row = static_cast<const SeqNode*>(to_a[common - 1]);
    for (size_t i = 0; i < between.row->stmts.size(); ++i) {
      if (common < to_a.size() && between.row->stmts[i].get() == to_a[common]) between.first = i;
      if (common < to_b.size() && between.row->stmts[i].get() == to_b[common]) between.last = i;
    }
  }
  if (!between.row || between.first >= between.last) Refuse(a_name + " is not before " + b_name);
  between.outside.assign(to_a.begin(), to_a.begin() + common);
  between.to_a.assign(to_a.begin() + common, to_a.end());
  between.to_b.assign(to_b.begin() + common, to_b.end());
  return between;
}

namespace {

// What runs between a statement, the last of the path, and the end (or before it, from the start)
// of the first of the path.
void AddPassed(const Path& way, bool forward, std::vector<Stmt>* passed) {
  for (size_t i = 0; i + 1 < way.size(); ++i) {
    Stmt stmt = AsStmt(way[i]);
    // The next iteration comes to all of it.
    if (stmt.As<ForNode>() || stmt.As<WhileNode>())
      return passed->push_back(RemoveAt({way.begin() + i, way.end()}));
    const auto* row = stmt.As<SeqNode>();
    if (!row) continue;
    bool behind = false;
    for (const Stmt& other : row->stmts) {
      bool here = other.get() == way[i + 1];
      if (!here && behind == forward) passed->push_back(other);
      behind |= here;
    }
  }
}

// Refuses where one of the statements writes what `moved` reads, or touches what it writes.
void CheckMayPass(const MemoryEffects& effects, const std::vector<Stmt>& passed, const Stmt& moved,
                  const std::vector<Buffer>& known) {
  if (effects.WritesOf(moved).anything) Refuse("it has an effect other than on memory");
  for (const Stmt& other : passed) {
    MemoryEffects::Writes writes = effects.WritesOf(other);
    if (writes.anything) Refuse("there is an effect other than on memory in between");
    for (const Access& access : AccessesOf(moved)) {
      const VarNode* place = effects.PlaceOf(access.buffer);
      bool is_known = std::any_of(known.begin(), known.end(),
                                  [&](const Buffer& buffer) { return access.buffer.same(buffer); });
      if (!is_known && writes.Contain(place))
        Refuse(access.buffer->name + (access.store ? ", which it writes, " : ", which it reads, ") +
               "is written in between");
      if (is_known || !access.store) continue;
      for (const Access& use : AccessesOf(other))
        if (effects.PlaceOf(use.buffer) == place)
          Refuse(access.buffer->name + ", which it writes, is read in between");
    }
  }
}

// What the statement, one of the two ends, would come past.
std::vector<Stmt> PassedBy(const Between& between, const Stmt& moved) {
  std::vector<Stmt> passed;
  bool forward = between.to_a.back() == moved.get();
  size_t own = forward ? between.first : between.last;
  AddPassed(forward ? between.to_a : between.to_b, forward, &passed);
  for (size_t i = between.first; i <= between.last; ++i)
    if (i != own) passed.push_back(between.row->stmts[i]);
  return passed;
}

}  // namespace

void CheckMayMove(const PrimFunc& function, const Between& between, const Stmt& moved,
                  const std::vector<Buffer>& known) {
  CheckMayPass(MemoryEffects(function), PassedBy(between, moved), moved, known);
}

void CheckMayComeTo(const PrimFunc& function, const Between& between, const Stmt& moved) {
  std::vector<Stmt> passed(between.row->stmts.begin() + between.first + 1,
                           between.row->stmts.begin() + between.last);
  AddPassed(between.to_a, true, &passed);
  AddPassed(between.to_b, false, &passed);
  CheckMayPass(MemoryEffects(function), passed, moved, {});
}

void CheckVisible(const Path& way, const Stmt& moved, const std::string& name) {
  struct Uses : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const VarNode* node) override { used.insert(node); }
    void VisitUse(const Buffer& buffer) override { used.insert(buffer->data.node()); }
    std::unordered_set<const ir::Node*> used;
  } uses;
  uses.Visit(moved);
  auto check = [&](const Var& var, const std::string& what) {
    if (uses.used.count(var.get()))
      Refuse(name + " uses " + what + ", which is defined around it alone");
  };
  for (const StmtNode* node : way) {
    if (node == moved.get()) return;
    Stmt stmt = AsStmt(node);
    if (const auto* loop = stmt.As<ForNode>()) check(loop->var, "loop " + loop->var.name());
    if (const auto* let = stmt.As<LetStmtNode>()) check(let->var, let->var.name());
    if (const auto* allocation = stmt.As<AllocateNode>())
      check(allocation->buffer->data, allocation->buffer->name);
    if (const auto* decl = stmt.As<DeclBufferNode>()) check(decl->buffer->data, decl->buffer->name);
  }
}

void CheckNothingCarried(const PrimFunc& function, const StmtTree& tree, const Between& between,
                         const Buffer& buffer) {
  bool loops = false;  // that it exists around
  const AllocateNode* allocation = AllocationOf(tree, buffer);
  for (const StmtNode* node : between.outside) {
    loops |= node->kind == StmtKind::kFor || node->kind == StmtKind::kWhile;
    if (node == allocation) loops = false;
  }
  if (!loops) return;
  std::vector<Stmt> stmts(between.row->stmts.begin() + between.first,
                          between.row->stmts.begin() + between.last + 1);
  if (!WritesBeforeReading(SeqNode::Make(std::move(stmts)), buffer,
                           AnalyzerAt(function, between.outside)))
    Refuse("it cannot be proven that " + buffer->name +
           " carries nothing from one iteration of the loops around to the next");
}

}  // namespace tern::schedule
