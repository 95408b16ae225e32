// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/calls/inject_bounds_checks.h"

#include <algorithm>
#include <limits>

#include "tern/arith/symbolic_bounds.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

using arith::AsInt64;
Expr Text(std::string text) { return ir::StringImmNode::Make(std::move(text)); }

// Every lane of an expression, in its own type.
std::vector<Expr> LanesOf(const Expr& expr) {
  if (expr.dtype().is_scalar()) return {expr};
  if (const auto* broadcast = expr.As<ir::BroadcastNode>()) return {broadcast->value};
  std::vector<Expr> lanes;
  for (int64_t lane = 0; lane < expr.dtype().lanes(); ++lane)
    lanes.push_back(ir::ShuffleNode::Make({expr}, {lane}));
  return lanes;
}

// The index of every lane that can be outermost.
std::vector<Expr> ExtremeLanes(const Expr& index) {
  if (index.dtype().is_scalar()) return {AsInt64(index)};
  if (const auto* ramp = index.As<ir::RampNode>()) {
    Expr steps = ramp->lanes > 0
                     ? Expr(ramp->lanes - 1)
                     : Expr(-ramp->lanes) * ir::CallNode::Make(intrinsic::kVscale, {}) - 1;
    Expr base = AsInt64(ramp->base);
    return {base, base + AsInt64(ramp->stride) * steps};
  }
  std::vector<Expr> lanes = LanesOf(index);
  for (Expr& lane : lanes) lane = AsInt64(lane);
  return lanes;
}

// The asserts that what a statement's expressions access is there, in the order of evaluation.
class CheckCollector : public ir::ExprVisitor {
 public:
  explicit CheckCollector(arith::SymbolicAnalyzer* symbolic) : symbolic_(symbolic) {}

  using ExprVisitor::Visit;
  void Access(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& predicate,
              const Span& span) {
    if (predicate) return MaskedAccess(buffer, indices, predicate, span);
    for (size_t d = 0; d < indices.size(); ++d)
      for (const Expr& index : ExtremeLanes(indices[d])) Check(buffer, d, index, span);
  }

  std::vector<Stmt> checks;

 private:
  using ExprVisitor::VisitNode;

  void VisitNode(const ir::BufferLoadNode* node) override {
    VisitChildren(node);
    Access(node->buffer, node->indices, node->predicate, node->span);
  }
  // A lane is checked where it is on. Lanes of scalable vectors cannot be told apart here.
  void MaskedAccess(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& predicate,
                    const Span& span) {
    if (predicate.dtype().is_scalable()) return;
    std::vector<Expr> conditions = LanesOf(predicate), last = LanesOf(indices.back());
    for (size_t lane = 0; lane < std::max(conditions.size(), last.size()); ++lane) {
      const Expr& condition = conditions[conditions.size() == 1 ? 0 : lane];
      around_.push_back({{}, condition});
      for (size_t d = 0; d < indices.size(); ++d) {
        bool is_last = d + 1 == indices.size();
        Expr index = is_last ? last[last.size() == 1 ? 0 : lane] : indices[d];
        Check(buffer, d, AsInt64(index), span);
      }
      around_.pop_back();
    }
  }
  void VisitNode(const ir::AndNode* node) override { VisitLogic(node, node->a); }
  void VisitNode(const ir::OrNode* node) override { VisitLogic(node, ir::NotNode::Make(node->a)); }
  // The right side is evaluated where `reached` holds; that of a vector always is.
  template <class T>
  void VisitLogic(const T* node, const Expr& reached) {
    if (!node->dtype.is_scalar()) return VisitChildren(node);
    Visit(node->a);
    VisitWhere(reached, node->b);
  }
  void VisitNode(const ir::SelectNode* node) override {
    if (!node->condition.dtype().is_scalar()) return VisitChildren(node);
    VisitChoice(node->condition, node->true_value, node->false_value);
  }
  void VisitNode(const ir::CallNode* node) override {
    if (node->name != ir::kIfThenElse) return VisitChildren(node);
    VisitChoice(node->args[0], node->args[1], node->args[2]);
  }
  void VisitChoice(const Expr& condition, const Expr& a, const Expr& b) {
    Visit(condition);
    VisitWhere(condition, a);
    VisitWhere(ir::NotNode::Make(condition), b);
  }
  void VisitWhere(const Expr& reached, const Expr& expr) {
    arith::SymbolicAnalyzer::Mark mark = symbolic_->Enter();
    symbolic_->Assume(reached);
    around_.push_back({{}, reached});
    Visit(expr);
    around_.pop_back();
    symbolic_->Leave(mark);
  }
  void VisitNode(const ir::LetNode* node) override {
    Visit(node->value);
    arith::SymbolicAnalyzer::Mark mark = symbolic_->Enter();
    symbolic_->EnterLet(node->var, node->value);
    around_.push_back({node->var, node->value});
    Visit(node->body);
    around_.pop_back();
    symbolic_->Leave(mark);
  }

  // Machines stop a process at these, or give any number.
  template <class T>
  void VisitDivision(const T* node) {
    VisitChildren(node);
    if (node->dtype.is_scalable()) return;
    std::vector<Expr> dividends = LanesOf(node->a), divisors = LanesOf(node->b);
    for (size_t lane = 0; lane < std::max(dividends.size(), divisors.size()); ++lane)
      CheckDivision(dividends[dividends.size() == 1 ? 0 : lane],
                    divisors[divisors.size() == 1 ? 0 : lane], node->span);
  }
  void CheckDivision(const Expr& dividend, const Expr& divisor, const Span& span) {
    const arith::Analyzer& analyzer = symbolic_->analyzer();
    arith::ConstBounds by = analyzer.Bounds(symbolic_->Resolve(divisor));
    DataType dtype = divisor.dtype();
    if (by.lo <= 0 && by.hi >= 0)
      Assert(ir::NENode::Make(divisor, ir::MakeConst(dtype, 0)), "ValueError",
             {Text(span.str() + ": division by zero")}, span);
    if (!dtype.is_int() || dtype.bits() < 32 || by.lo > -1 || by.hi < -1) return;
    int64_t least = dtype.bits() == 32 ? std::numeric_limits<int32_t>::min()
                                       : std::numeric_limits<int64_t>::min();
    if (analyzer.Bounds(symbolic_->Resolve(dividend)).lo > least) return;
    Assert(ir::NENode::Make(divisor, ir::MakeConst(dtype, -1)) ||
               ir::NENode::Make(dividend, ir::MakeConst(dtype, least)),
           "ValueError", {Text(span.str() + ": " + dtype.str() + " overflow")}, span);
  }
  void VisitNode(const ir::TruncDivNode* node) override { VisitDivision(node); }
  void VisitNode(const ir::TruncModNode* node) override { VisitDivision(node); }
  void VisitNode(const ir::FloorDivNode* node) override { VisitDivision(node); }
  void VisitNode(const ir::FloorModNode* node) override { VisitDivision(node); }

  void Check(const Buffer& buffer, size_t dimension, const Expr& index, const Span& span) {
    Expr extent = AsInt64(buffer->shape[dimension]);
    if (Provable(index, extent)) return;
    // What the interpreter says.
    std::vector<Expr> message = {
        Text(ir::At(span) + "index "), WithLets(index),
        Text(" is out of bounds in dimension " + std::to_string(dimension) + " of " + buffer->name +
             ", whose shape is (")};
    for (size_t d = 0; d < buffer->shape.size(); ++d) {
      if (d > 0) message.push_back(Text(", "));
      message.push_back(buffer->shape[d]);
    }
    message.push_back(Text(")"));
    Assert(index >= Expr(0) && index < extent, "IndexError", std::move(message), span);
  }
  // Where what stands around lets the expression be evaluated.
  void Assert(Expr condition, const char* kind, std::vector<Expr> message, const Span& span) {
    for (size_t i = around_.size(); i-- > 0;) {
      const Around& around = around_[i];
      condition = around.let.get() ? ir::LetNode::Make(around.let, around.value, condition)
                                   : ir::NotNode::Make(around.value) || condition;
    }
    checks.push_back(AssertNode::Make(condition, kind, std::move(message), span));
  }
  bool Provable(const Expr& index, const Expr& extent) const {
    const arith::Analyzer& analyzer = symbolic_->analyzer();
    arith::SymbolicBounds bounds = symbolic_->Bounds(index);
    return bounds.known() && arith::ProveLessEqual(analyzer, 0, bounds.lo) &&
           arith::ProveLessEqual(analyzer, bounds.hi + 1, symbolic_->Resolve(extent));
  }
  Expr WithLets(Expr value) const {
    for (size_t i = around_.size(); i-- > 0;)
      if (around_[i].let.get()) value = ir::LetNode::Make(around_[i].let, around_[i].value, value);
    return value;
  }

  // What stands around the expression at hand: a let, or a condition under which it is evaluated.
  struct Around {
    Var let;
    Expr value;
  };
  std::vector<Around> around_;
  arith::SymbolicAnalyzer* symbolic_;
};

class CheckInjector : public StmtMutator {
 public:
  PrimFunc Run(const PrimFunc& function) {
    arith::Analyzer analyzer;
    for (const Param& param : function->params)
      if (param.is_tensor())
        for (const Expr& extent : param.buffer->shape)
          if (const auto* var = extent.As<VarNode>())
            analyzer.Bind(Var(var), {0, arith::ConstBounds::kPosInf});
    symbolic_ = arith::SymbolicAnalyzer(analyzer);
    return function.WithBody(Mutate(function->body));
  }

 private:
  using StmtMutator::MutateNode;

  template <class... Exprs>
  std::vector<Stmt> ChecksOf(const Exprs&... exprs) {
    CheckCollector collector(&symbolic_);
    (VisitIfAny(&collector, exprs), ...);
    return std::move(collector.checks);
  }
  static void VisitIfAny(CheckCollector* collector, const Expr& expr) {
    if (expr.get()) collector->Visit(expr);
  }
  static Stmt Before(std::vector<Stmt> checks, const Stmt& stmt) {
    if (checks.empty()) return stmt;
    checks.push_back(stmt);
    return SeqNode::Make(std::move(checks), stmt.span());
  }
  template <class F>
  Stmt Within(F&& enter, const Stmt& body) {
    arith::SymbolicAnalyzer::Mark mark = symbolic_.Enter();
    enter();
    Stmt result = Mutate(body);
    symbolic_.Leave(mark);
    return result;
  }

  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    CheckCollector collector(&symbolic_);
    collector.Visit(node->value);
    for (const Expr& index : node->indices) collector.Visit(index);
    if (node->predicate) collector.Visit(node->predicate);
    collector.Access(node->buffer, node->indices, node->predicate, node->span);
    return Before(std::move(collector.checks), self);
  }
  Stmt MutateNode(const EvaluateNode* node, const Stmt& self) override {
    return Before(ChecksOf(node->value), self);
  }
  Stmt MutateNode(const AssertNode* node, const Stmt& self) override {
    return Before(ChecksOf(node->condition), self);
  }
  Stmt MutateNode(const LetStmtNode* node, const Stmt&) override {
    std::vector<Stmt> checks = ChecksOf(node->value);
    Stmt body = Within([&] { symbolic_.EnterLet(node->var, node->value); }, node->body);
    return Before(std::move(checks), LetStmtNode::Make(node->var, node->value, body, node->span));
  }
  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    return BeforeBuffer(node->buffer, MutateChildren(node, self));
  }
  Stmt MutateNode(const DeclBufferNode* node, const Stmt& self) override {
    return BeforeBuffer(node->buffer, MutateChildren(node, self));
  }
  Stmt BeforeBuffer(const Buffer& buffer, const Stmt& stmt) {
    CheckCollector collector(&symbolic_);
    for (const Expr& extent : buffer->shape) collector.Visit(extent);
    for (const Expr& stride : buffer->strides) collector.Visit(stride);
    if (buffer->offset) collector.Visit(buffer->offset);
    return Before(std::move(collector.checks), stmt);
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind == ForKind::kThread) return self;
    std::vector<Stmt> checks = ChecksOf(node->min, node->extent);
    auto loop = ffi::Make<ForNode>(*node);
    loop->body =
        Within([&] { symbolic_.EnterRange(node->var, node->min, node->extent); }, node->body);
    return Before(std::move(checks), Stmt(loop));
  }
  // The condition is evaluated before the loop and after each iteration.
  Stmt MutateNode(const WhileNode* node, const Stmt&) override {
    std::vector<Stmt> checks = ChecksOf(node->condition), parts = {Mutate(node->body)};
    parts.insert(parts.end(), checks.begin(), checks.end());
    return Before(std::move(checks),
                  WhileNode::Make(node->condition, SeqNode::Make(std::move(parts)), node->span));
  }
  Stmt MutateNode(const IfThenElseNode* node, const Stmt&) override {
    std::vector<Stmt> checks = ChecksOf(node->condition);
    Stmt then_case = Within([&] { symbolic_.Assume(node->condition); }, node->then_case);
    Stmt else_case = node->else_case ? Mutate(node->else_case) : Stmt();
    return Before(std::move(checks),
                  IfThenElseNode::Make(node->condition, then_case, else_case, node->span));
  }
  Stmt MutateNode(const SeqNode* node, const Stmt&) override {
    std::vector<Stmt> stmts;
    for (const Stmt& stmt : node->stmts) stmts.push_back(Mutate(stmt));
    return SeqNode::Make(std::move(stmts), node->span);
  }
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    std::vector<Stmt> checks;
    for (const BlockIter& iter : node->iters)
      for (const Stmt& check : ChecksOf(iter.binding, iter.extent)) checks.push_back(check);
    return Before(std::move(checks), MutateChildren(node, self));
  }

  arith::SymbolicAnalyzer symbolic_{arith::Analyzer()};
};

}  // namespace

PrimFunc InjectBoundsChecks(const PrimFunc& function) { return CheckInjector().Run(function); }

}  // namespace tern::tir
