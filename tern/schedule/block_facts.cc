// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/block_facts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "tern/arith/fold.h"
#include "tern/arith/iter_map.h"
#include "tern/schedule/nest.h"

namespace tern::schedule {

using namespace tern::tir;

BlockFacts DeriveFacts(const PrimFunc& function, const Path& path) {
  const auto* block = static_cast<const BlockNode*>(path.back());
  arith::Analyzer analyzer = AnalyzerAt(function, {});
  std::vector<Expr> bindings, extents;
  for (const BlockIter& iter : block->iters) {
    bindings.push_back(iter.binding);
    extents.push_back(iter.extent);
  }
  std::vector<arith::IterRange> loops, bound;  // all of them, and those of its axes
  bool always = true, is_all = true;
  for (const StmtNode* node : path) {
    is_all &= node->kind != StmtKind::kSeq && node->kind != StmtKind::kFor;
    // A condition on all of the function, which has nothing outside of it, leaves out no part.
    bool is_whole = is_all && node->kind == StmtKind::kIfThenElse &&
                    !static_cast<const IfThenElseNode*>(node)->else_case;
    always &= (node->kind != StmtKind::kIfThenElse || is_whole) && node->kind != StmtKind::kWhile;
    if (node->kind != StmtKind::kFor) continue;
    const auto* loop = static_cast<const ForNode*>(node);
    loops.push_back({loop->var, {loop->min, loop->extent}});
    if (std::any_of(bindings.begin(), bindings.end(),
                    [&](const Expr& e) { return ir::UsesVar(e, loop->var.node()); }))
      bound.push_back(loops.back());
  }
  arith::IterMapResult found = arith::DetectIterMap(bindings, bound, block->predicate, analyzer);
  BlockFacts facts;
  facts.affine = found.map && found.map->not_injective.empty();
  facts.complete = facts.affine && always && bound.size() == loops.size() &&
                   arith::IsBijective(*found.map, extents, analyzer);
  facts.bounded = facts.complete;
  return facts;
}

namespace {

// Integer expressions over variables of known values; nothing where there is another one in it, or
// where it reads memory.
class Evaluator {
 public:
  std::unordered_map<const VarNode*, int64_t> values;

  std::optional<int64_t> operator()(const Expr& expr) const {
    return ir::DispatchExpr(expr.get(), [&](const auto* node) { return ValueOf(node); });
  }

 private:
  static std::optional<int64_t> ValueOf(const ir::ExprNode*) { return {}; }
  static std::optional<int64_t> ValueOf(const ir::IntImmNode* node) { return node->value; }
  std::optional<int64_t> ValueOf(const VarNode* node) const {
    auto it = values.find(node);
    return it == values.end() ? std::nullopt : std::optional(it->second);
  }
  template <ExprKind K>
  std::optional<int64_t> ValueOf(const ir::BinaryNode<K>* node) const {
    std::optional<int64_t> a = (*this)(node->a), b = (*this)(node->b);
    return a && b ? arith::FoldInt(K, *a, *b) : std::nullopt;
  }
  std::optional<int64_t> ValueOf(const ir::NotNode* node) const {
    std::optional<int64_t> a = (*this)(node->a);
    return a ? std::optional<int64_t>(!*a) : std::nullopt;
  }
  std::optional<int64_t> ValueOf(const ir::CastNode* node) const {
    return node->dtype.is_int() && node->value.dtype().is_int() ? (*this)(node->value)
                                                                : std::nullopt;
  }
};

// Runs the loops around a block.
class Runner {
 public:
  Runner(const Path& path, const BlockFacts& facts)
      : path_(path),
        facts_(facts),
        block_(static_cast<const BlockNode*>(path.back())),
        top_(path.back()) {
    // The loops that hold this block alone.
    std::vector<const ForNode*> own;
    for (const StmtNode* node : path)
      if (node->kind == StmtKind::kFor && BlocksIn(AsStmt(node)).size() == 1)
        own.push_back(static_cast<const ForNode*>(node));
    if (!own.empty()) top_ = own.front();
    is_alone_ = own.size() == LoopsAround(path).size();
    for (const ForNode* loop : own)
      if (std::any_of(block_->iters.begin(), block_->iters.end(), [&](const BlockIter& iter) {
            return ir::UsesVar(iter.binding, loop->var.node());
          }))
        bound_.insert(loop->var.node());
    for (const Expr& part : Conjuncts(block_->predicate))
      (UsesAnyOf(part, own) ? conditions_ : outside_).push_back(part);
  }

  // Which fact does not hold; "" where all do, or where that cannot be told.
  std::string Run(int64_t dynamic_extent, const std::vector<Var>& dynamic) {
    for (const Var& var : dynamic) evaluate_.values[var.node()] = dynamic_extent;
    Enter(0);
    if (gave_up_ || !wrong_.empty()) return gave_up_ ? "" : wrong_;
    // In loops with other blocks, its own loops are over the part that those need, which the step
    // knew that moved it there; the tail of a split leaves out more of the domain.
    if (facts_.bounded && is_alone_ && reached_ != instances_)
      return "bounded: the predicate leaves out an instance of the domain";
    // Loops around its own that make the domain larger and smaller leave no one domain to compare.
    if (facts_.complete && domains_.size() == 1 &&
        static_cast<int64_t>(instances_.size()) != *domains_.begin())
      return "complete: " + std::to_string(instances_.size()) + " of " +
             std::to_string(*domains_.begin()) + " instances run";
    return "";
  }

 private:
  static constexpr int64_t kMostIterations = 1 << 16;

  void Enter(size_t depth) {
    if (gave_up_ || !wrong_.empty()) return;
    const StmtNode* node = path_[depth];
    if (node == top_) AddDomain();
    if (node == block_) return Visit();
    Stmt stmt = AsStmt(node);
    if (const auto* loop = stmt.As<ForNode>()) {
      std::optional<int64_t> min = evaluate_(loop->min), extent = evaluate_(loop->extent);
      gave_up_ = gave_up_ || !min || !extent;
      for (int64_t i = 0; !gave_up_ && i < *extent; ++i) {
        evaluate_.values[loop->var.node()] = *min + i;
        if (!bound_.count(loop->var.node())) fixed_.push_back(*min + i);
        Enter(depth + 1);
        if (!bound_.count(loop->var.node())) fixed_.pop_back();
      }
      return;
    }
    if (const auto* let = stmt.As<LetStmtNode>())
      if (std::optional<int64_t> value = evaluate_(let->value))
        evaluate_.values[let->var.node()] = *value;
    if (const auto* branch = stmt.As<IfThenElseNode>()) {
      bool is_then = branch->then_case.get() == path_[depth + 1];
      std::optional<int64_t> condition = evaluate_(branch->condition);
      gave_up_ = gave_up_ || !condition;
      if (gave_up_ || (*condition != 0) != is_then) return;
    }
    gave_up_ = gave_up_ || stmt.As<WhileNode>();
    Enter(depth + 1);
  }

  void AddDomain() {
    int64_t domain = 1;
    for (const BlockIter& iter : block_->iters) {
      std::optional<int64_t> extent = evaluate_(iter.extent);
      gave_up_ = gave_up_ || !extent;
      domain *= std::max<int64_t>(extent.value_or(0), 0);
    }
    domains_.insert(domain);
  }

  // All of the conditions, or nothing where one cannot be told.
  std::optional<bool> AllOf(const std::vector<Expr>& conditions) const {
    bool all = true;
    for (const Expr& condition : conditions) {
      std::optional<int64_t> value = evaluate_(condition);
      if (!value) return {};
      all &= *value != 0;
    }
    return all;
  }

  void Visit() {
    std::vector<int64_t> instance;
    bool is_inside = true;
    for (const BlockIter& iter : block_->iters) {
      std::optional<int64_t> value = evaluate_(iter.binding), extent = evaluate_(iter.extent);
      if (!value || !extent) {
        gave_up_ = true;
        return;
      }
      is_inside &= *value >= 0 && *value < *extent;
      instance.push_back(*value);
      evaluate_.values[iter.var.node()] = *value;
    }
    std::optional<bool> runs = AllOf(outside_), holds = AllOf(conditions_);
    gave_up_ = gave_up_ || !runs || !holds || ++iterations_ > kMostIterations;
    if (gave_up_ || !*runs) return;
    if (is_inside) reached_.insert(instance);
    if (!*holds) return;
    if (facts_.bounded && !is_inside) wrong_ = "bounded: an instance outside of the domain runs";
    std::vector<int64_t> once = fixed_;
    once.insert(once.end(), instance.begin(), instance.end());
    if (!seen_.insert(std::move(once)).second && facts_.affine)
      wrong_ = "affine: two iterations of its loops are one instance";
    instances_.insert(std::move(instance));
  }

  const Path& path_;
  BlockFacts facts_;
  const BlockNode* block_;
  const StmtNode* top_;             // the outermost of its own loops, or the block
  std::set<const VarNode*> bound_;  // variables of the block's own loops that its axes depend on
  std::vector<Expr> conditions_, outside_;  // of the predicate: on its own loops, and on others
  Evaluator evaluate_;
  std::vector<int64_t> fixed_;  // the values of the other loops
  // The instances that run; those of the domain that iterations come to; those that run, with the
  // values of the other loops.
  std::set<std::vector<int64_t>> instances_, reached_, seen_;
  std::set<int64_t> domains_;  // how many instances the domain has, whenever its own loops run
  int64_t iterations_ = 0;
  bool is_alone_ = false;  // all loops around are its own
  bool gave_up_ = false;
  std::string wrong_;
};

}  // namespace

std::string FindStaleFact(const PrimFunc& function, const Path& path, const BlockFacts& facts) {
  BlockFacts derived = DeriveFacts(function, path);
  if (facts.affine <= derived.affine && facts.bounded <= derived.bounded &&
      facts.complete <= derived.complete)
    return "";
  std::vector<Var> dynamic;
  for (const Param& param : function->params) {
    if (!param.is_tensor()) {
      if (param.var.dtype().is_int()) dynamic.push_back(param.var);
      continue;
    }
    for (const Expr& extent : param.buffer->shape)
      if (const auto* var = extent.As<VarNode>()) dynamic.emplace_back(var);
  }
  for (int64_t extent : {5, 2, 0})
    if (std::string wrong = Runner(path, facts).Run(extent, dynamic); !wrong.empty()) return wrong;
  return "";
}

}  // namespace tern::schedule
