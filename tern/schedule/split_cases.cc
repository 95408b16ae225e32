// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tern/arith/linear.h"
#include "tern/ir/structural.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/text.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Where a condition changes along an axis: instances below `at`, and those from there on.
struct Border {
  size_t axis = 0;
  Expr at;
};

// Of `a < b`, or of `a <= b`: along the axis that alone decides, by steps of one.
std::optional<Border> BorderOf(const BlockNode* block, const Expr& a, const Expr& b, bool equal) {
  if (!arith::IsIndexType(a.dtype()) || !arith::IsFixed(a) || !arith::IsFixed(b)) return {};
  std::optional<size_t> axis;
  for (size_t i = 0; i < block->iters.size(); ++i) {
    const VarNode* var = block->iters[i].var.node();
    if (!ir::UsesVar(a, var) && !ir::UsesVar(b, var)) continue;
    if (axis || block->iters[i].kind != IterKind::kSpatial) return {};
    axis = i;
  }
  if (!axis) return {};
  auto form = arith::AsLinear(a - b, block->iters[*axis].var.node());
  if (!form || (form->coefficient != 1 && form->coefficient != -1)) return {};
  bool rises = form->coefficient == 1;
  Expr at = rises ? Expr(ir::MakeConst(form->rest.dtype(), 0)) - form->rest : form->rest;
  if (rises == equal) at = at + ir::MakeConst(at.dtype(), 1);
  return Border{*axis, arith::Analyzer().Simplify(at)};
}

std::optional<Border> BorderOf(const BlockNode* block, const Expr& condition) {
  for (const Expr& part : Conjuncts(condition)) {
    std::optional<Border> border;
    if (const auto* node = part.As<ir::LTNode>()) border = BorderOf(block, node->a, node->b, false);
    if (const auto* node = part.As<ir::LENode>()) border = BorderOf(block, node->a, node->b, true);
    if (const auto* node = part.As<ir::GTNode>()) border = BorderOf(block, node->b, node->a, false);
    if (const auto* node = part.As<ir::GENode>()) border = BorderOf(block, node->b, node->a, true);
    if (border) return border;
  }
  return {};
}

// The first border of a condition under which memory is read.
struct BorderFinder : StmtVisitor {
  using StmtVisitor::VisitNode;
  explicit BorderFinder(const BlockNode* block) : block(block) {}
  void VisitNode(const ir::SelectNode* node) override {
    bool reads = false;
    for (const Expr& value : {node->true_value, node->false_value})
      ir::ForEachExpr(value,
                      [&](const Expr& e) { reads |= e.As<ir::BufferLoadNode>() != nullptr; });
    if (reads && !found) found = BorderOf(block, node->condition);
    VisitChildren(node);
  }
  const BlockNode* block;
  std::optional<Border> found;
};

// Definitions in their places, and of a select whose condition is known the one value.
struct CaseTaker : StmtMutator {
  using StmtMutator::MutateNode;
  explicit CaseTaker(const arith::Analyzer& analyzer) : analyzer(analyzer) {}
  Expr MutateNode(const ir::SelectNode* node, const Expr& self) override {
    Expr condition = analyzer.Simplify(node->condition);
    if (ir::IsConst(condition, 1)) return Mutate(node->true_value);
    if (ir::IsConst(condition, 0)) return Mutate(node->false_value);
    Expr made = MutateChildren(node, self);
    if (condition.get() == node->condition.get()) return made;
    const auto* select = made.As<ir::SelectNode>();
    return ir::SelectNode::Make(condition, select->true_value, select->false_value, node->span);
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    Expr made = MutateChildren(node, self);
    auto copy = ffi::Make<ir::BufferLoadNode>(*made.As<ir::BufferLoadNode>());
    for (Expr& index : copy->indices) index = analyzer.Simplify(index);
    return Expr(copy);
  }
  const arith::Analyzer& analyzer;
};

struct LetInliner : StmtMutator {
  using StmtMutator::MutateNode;
  Stmt MutateNode(const LetStmtNode* node, const Stmt&) override {
    return Mutate(Substitute(node->body, {{node->var.node(), node->value}}));
  }
};

bool StoresOnly(const Stmt& body) { return body.As<BufferStoreNode>() != nullptr; }

}  // namespace

BlockRef Schedule::SplitCases(const BlockRef& block_ref, std::string second) {
  return Do("split_cases", {TextOf(block_ref)}, [&] {
    const BlockNode* block = At(block_ref);
    const std::string name = block->name;
    BlockFacts facts = FactsOf(block);
    Nest nest = NestOf(tree(), block);
    if (!facts.affine || !facts.bounded || !facts.complete || block->predicate.get() ||
        block->init.get())
      Refuse("block " + name + " is a reduction, or not all of its instances are known to run");
    Stmt body = LetInliner().Mutate(block->body);
    BorderFinder finder(block);
    finder.Visit(body);
    if (!StoresOnly(body) || !finder.found)
      Refuse("block " + name +
             " is no store under whose selects memory is read on one side of a border of a spatial "
             "axis, as select(i < n, A[i], B[i - n])");
    auto [axis, at] = *finder.found;
    const BlockIter& iter = block->iters[axis];
    const ForNode* loop = nullptr;
    for (const ForNode* one : nest.loops) {
      AxisUse use = UseOf(block, one->var.node());
      if (one->for_kind != ForKind::kSerial || !use.spatial || use.reduce || use.other)
        Refuse("loop " + one->var.name() + " around block " + name + " is not serial and spatial");
      if (iter.binding.get() == one->var.get()) loop = one;
    }
    if (!loop || !ir::IsConst(loop->min, 0) ||
        !ir::IsConst(arith::Analyzer().Simplify(iter.extent - loop->extent), 0))
      Refuse("axis " + iter.var.name() + " of block " + name + " has no loop of its own");
    second = second.empty() ? name + "_1" : second;
    CheckNewBlock(second);
    arith::Analyzer analyzer = AnalyzerAt(function_, {});
    DataType dtype = loop->var.dtype();
    auto typed = [](const Expr& size, DataType dtype) {
      return size.dtype() == dtype ? size : ir::CastNode::Make(dtype, size);
    };
    Expr head = typed(at, dtype), none = ir::MakeConst(dtype, 0);
    if (!analyzer.CanProve(loop->extent >= head)) head = ir::MinNode::Make(head, loop->extent);
    if (!analyzer.CanProve(head >= none)) head = ir::MaxNode::Make(head, none);
    head = analyzer.Simplify(head);
    Expr tail = analyzer.Simplify(loop->extent - head);
    Stmt top = nest.top();
    auto part = [&](const std::string& called, const Expr& first, const Expr& count) {
      auto copy = CopyBlock(block);
      copy->name = called;
      BlockIter& own = copy->iters[axis];
      own.extent = typed(count, own.var.dtype());
      arith::Analyzer known = AnalyzerAt(function_, {});
      for (const BlockIter& other : copy->iters)
        known.BindRange(other.var, ir::MakeConst(other.var.dtype(), 0), other.extent);
      Expr place = first ? own.var + typed(first, own.var.dtype()) : Expr(own.var);
      copy->body = CaseTaker(known).Mutate(Substitute(body, {{own.var.node(), place}}));
      Stmt steps = ForNode::Make(loop->var, loop->min, count, ForKind::kSerial,
                                 ReplaceAt(PathTo(loop->body, block), Stmt(copy)), "", loop->span,
                                 loop->annotations);
      BorderFinder left(copy.get());
      left.Visit(copy->body);
      if (left.found && StructuralEqual(left.found->at, at))
        Refuse("what holds behind the border " + Print(at) + " cannot be told");
      Stmt whole = ReplaceAt(PathTo(top, loop), steps);
      return first ? CopyWithFreshDefs(whole) : whole;
    };
    Stmt both = SeqNode::Make({part(name, {}, head), part(second, head, tail)});
    SetFacts(second, facts);
    ReplaceStmt(top.get(), both);
    return BlockNamed(second);
  });
}

}  // namespace tern::schedule
