// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/eliminate_common_subexpressions.h"

#include <algorithm>
#include <optional>

#include "tern/ir/intrinsic.h"
#include "tern/ir/structural.h"
#include "tern/tir/analysis/memory_effects.h"
#include "tern/tir/bulk_intrinsics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

struct HashExpr {
  size_t operator()(const Expr& expr) const { return ir::StructuralHash(expr); }
};
struct EqualExpr {
  bool operator()(const Expr& a, const Expr& b) const { return ir::StructuralEqual(a, b); }
};

// Puts values back to where they came from.
class Inliner : public StmtMutator {
 public:
  explicit Inliner(const ir::VarMap& values) : values_(values) {}
  using StmtMutator::Mutate;

 private:
  using StmtMutator::MutateNode;

  Expr MutateNode(const VarNode* node, const Expr& self) override {
    auto it = values_.find(node);
    return it == values_.end() ? self : Mutate(it->second);
  }
  Buffer MutateDef(const BufferDef& buffer) override { return buffer; }

  const ir::VarMap& values_;
};

// Replaces every value that costs something by a variable of its own. The operands of what is
// looked up are variables then, so that equal values are equal nodes of one level. Variables that
// are used twice are bound.
class Binder : public StmtMutator {
 public:
  explicit Binder(const PrimFunc& function) : memory_(function) {}

  Stmt Run(const Stmt& body) { return MutateBody(body); }
  // Of variables that are used once: their values, to be put back.
  const ir::VarMap& used_once() const { return used_once_; }

 private:
  using StmtMutator::Mutate;
  using StmtMutator::MutateNode;

  struct Binding {
    Var var;
    Expr value;
    size_t position;  // the statement of a sequence that it stands before
  };
  struct Known {
    Var var;
    uint64_t time;  // of the computation
  };
  // Where bindings can stand: before the statements of a sequence, or around an expression.
  struct Region {
    size_t floor;  // what is computed here stands in this region, or in one further in
    size_t position = 0;
    std::vector<Binding> bindings;
    std::vector<std::pair<Expr, std::optional<Known>>> shadowed;  // what to know again behind it
  };

  // ---- regions

  template <class F>
  auto InRegion(bool may_move_out, F&& mutate) {
    size_t index = regions_.size();
    regions_.push_back({may_move_out ? regions_.back().floor : index, 0, {}, {}});
    auto result = mutate();
    Region region = std::move(regions_.back());
    regions_.pop_back();
    for (size_t i = region.shadowed.size(); i-- > 0;) {
      auto& [value, before] = region.shadowed[i];
      if (before)
        known_.insert_or_assign(value, *before);
      else
        known_.erase(value);
    }
    return std::pair(std::move(result), std::move(region.bindings));
  }

  // Takes out the bindings that are used once.
  void TakeUsedOnce(std::vector<Binding>* bindings, ir::VarMap* values) {
    std::erase_if(*bindings, [&](const Binding& binding) {
      bool once = uses_.at(binding.var.node()).count <= 1;
      if (once) (*values)[binding.var.node()] = binding.value;
      return once;
    });
  }

  Stmt MutateBody(const Stmt& body) {
    const auto* seq = body.As<SeqNode>();
    auto [stmts, bindings] = InRegion(false, [&] {
      std::vector<Stmt> stmts;
      if (!seq) return std::vector<Stmt>{Mutate(body)};
      for (const Stmt& stmt : seq->stmts) {
        regions_.back().position = stmts.size();
        stmts.push_back(Mutate(stmt));
      }
      return stmts;
    });
    TakeUsedOnce(&bindings, &used_once_);
    std::vector<size_t> last = LastUses(bindings);
    size_t next = 0;
    return SeqNode::Make(Place(stmts, bindings, last, &next, 0, stmts.size()), body.span());
  }

  // For each binding the last statement that uses it, or what is bound until then.
  std::vector<size_t> LastUses(const std::vector<Binding>& bindings) const {
    std::vector<size_t> last(bindings.size()), behind(bindings.size());
    for (size_t i = bindings.size(); i-- > 0;) {
      last[i] = uses_.at(bindings[i].var.node()).last;
      size_t k = i + 1;
      for (; k < bindings.size() && bindings[k].position <= last[i]; k = behind[k])
        last[i] = std::max(last[i], last[k]);
      behind[i] = k;
    }
    return last;
  }

  // The statements from `begin` to `end`, those that use a binding inside of it. `next` is the
  // first binding that has no place yet.
  std::vector<Stmt> Place(const std::vector<Stmt>& stmts, const std::vector<Binding>& bindings,
                          const std::vector<size_t>& last, size_t* next, size_t begin, size_t end) {
    std::vector<Stmt> result;
    for (size_t i = begin; i < end;) {
      if (*next == bindings.size() || bindings[*next].position != i) {
        result.push_back(stmts[i++]);
        continue;
      }
      const Binding& binding = bindings[*next];
      size_t inner_end = last[(*next)++] + 1;
      std::vector<Stmt> inner = Place(stmts, bindings, last, next, i, inner_end);
      result.push_back(
          LetStmtNode::Make(binding.var, binding.value, SeqNode::Make(inner), stmts[i].span()));
      i = inner_end;
    }
    return result;
  }

  // What `mutate` makes, with its bindings around it alone. It is written out, so that it compares
  // with others.
  template <class F>
  Expr MutateExprRegion(bool may_move_out, F&& mutate) {
    auto [result, bindings] = InRegion(may_move_out, mutate);
    ir::VarMap once;
    TakeUsedOnce(&bindings, &once);
    Inliner inliner(once);
    result = inliner.Mutate(result);
    for (size_t i = bindings.size(); i-- > 0;)
      result = ir::LetNode::Make(bindings[i].var, inliner.Mutate(bindings[i].value), result,
                                 result.span());
    return result;
  }
  // An operand that is evaluated only now and then.
  Expr MutateLazily(const Expr& expr) {
    return MutateExprRegion(false, [&] { return Mutate(expr); });
  }

  // ---- values

  bool IsSimple(const Expr& expr) const {
    const auto* var = expr.As<VarNode>();
    if (var) return !uses_.count(var);
    return expr.As<ir::IntImmNode>() || expr.As<ir::FloatImmNode>();
  }

  // Whether it costs nothing to compute it again. Operands are variables and constants.
  bool IsTrivial(const Expr& expr) const {
    return ir::DispatchExpr(expr.get(), [&](auto* node) {
      using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
      constexpr ExprKind kind = T::kKind;
      if constexpr (kind == ExprKind::kCast)
        return IsSimple(node->value);
      else if constexpr (kind == ExprKind::kNot)
        return IsSimple(node->a);
      else if constexpr (kind == ExprKind::kAdd || kind == ExprKind::kSub ||
                         (kind >= ExprKind::kEQ && kind <= ExprKind::kGE))
        return IsSimple(node->a) && IsSimple(node->b) &&
               !(node->a.template As<VarNode>() && node->b.template As<VarNode>());
      else if constexpr (kind == ExprKind::kCall)
        return node->dtype.is_handle() || !ir::FindIntrinsic(node->name)->pure ||
               node->name == intrinsic::kAsyncCopy;  // from memory to memory
      else
        return kind <= ExprKind::kVar || kind == ExprKind::kLet || kind == ExprKind::kRamp ||
               kind == ExprKind::kBroadcast;
    });
  }

  static bool Reads(const Expr& expr) {
    const auto* call = expr.As<ir::CallNode>();
    return expr.As<ir::BufferLoadNode>() || (call && call->name == intrinsic::kPtrLoad);
  }
  uint64_t LastWrite(const Expr& load) const {
    const auto* buffer_load = load.As<ir::BufferLoadNode>();
    auto it = written_.find(buffer_load ? memory_.PlaceOf(buffer_load->buffer) : nullptr);
    return std::max(all_written_, it == written_.end() ? 0 : it->second);
  }

  // What holds the value already, or null. What is evaluated lazily stands in the value itself,
  // with its loads.
  const Known* Find(const Expr& value) const {
    auto it = known_.find(value);
    if (it == known_.end()) return nullptr;
    bool is_current = true;
    ir::ForEachExpr(value, [&](const Expr& e) {
      is_current = is_current && !(Reads(e) && LastWrite(e) > it->second.time);
    });
    return is_current ? &it->second : nullptr;
  }

  void Learn(const Expr& value, const Var& var, size_t region) {
    region_of_[var.node()] = region;
    auto it = known_.find(value);
    regions_[region].shadowed.emplace_back(
        value, it == known_.end() ? std::nullopt : std::optional(it->second));
    known_.insert_or_assign(value, Known{var, ++now_});
  }

  // The innermost region that something in the value needs.
  size_t RegionFor(const Expr& value) const {
    size_t region = regions_.back().floor;
    ir::ForEachExpr(value, [&](const Expr& e) {
      // Variables of regions that are closed are bound in the value itself.
      if (auto it = region_of_.find(e.As<VarNode>());
          it != region_of_.end() && it->second < regions_.size())
        region = std::max(region, it->second);
    });
    return region;
  }

  // The variable that holds the value already, instead of computing it; null where there is none.
  Expr Reuse(const Expr& value) {
    const Known* known = Find(value);
    if (!known) return {};
    ir::ForEachExpr(value, [&](const Expr& e) {
      if (auto it = uses_.find(e.As<VarNode>()); it != uses_.end()) --it->second.count;
    });
    if (auto it = uses_.find(known->var.node()); it != uses_.end()) {
      ++it->second.count;
      it->second.last = regions_[region_of_.at(it->first)].position;
    }
    return known->var;
  }

  Expr Bind(const Expr& value) {
    if (IsTrivial(value)) return value;
    if (Expr known = Reuse(value)) return known;
    Var var("t", value.dtype(), value.span());
    size_t region = RegionFor(value);
    uses_[var.node()] = {1, regions_[region].position};
    regions_[region].bindings.push_back({var, value, regions_[region].position});
    Learn(value, var, region);
    return var;
  }

  // ---- expressions

  Expr Mutate(const Expr& expr) override { return Bind(MutateOperands(expr)); }
  Expr MutateOperands(const Expr& expr) { return StmtMutator::Mutate(expr); }

  template <class T>
  Expr MutateLogic(const T* node, const Expr& self) {
    if (!self.dtype().is_scalar()) return MutateChildren(node, self);
    Expr a = Mutate(node->a), b = MutateLazily(node->b);
    return a.same(node->a) && b.same(node->b) ? self : T::Make(a, b, node->span);
  }
  Expr MutateNode(const ir::AndNode* node, const Expr& self) override {
    return MutateLogic(node, self);
  }
  Expr MutateNode(const ir::OrNode* node, const Expr& self) override {
    return MutateLogic(node, self);
  }
  Expr MutateNode(const ir::SelectNode* node, const Expr& self) override {
    if (!node->condition.dtype().is_scalar()) return MutateChildren(node, self);
    Expr condition = Mutate(node->condition), yes = MutateLazily(node->true_value),
         no = MutateLazily(node->false_value);
    return ir::SelectNode::Make(condition, yes, no, node->span);
  }
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    // Their operands are places in memory, not only values.
    bool is_address = node->name == intrinsic::kAddressOf;
    bool is_copy = node->name == intrinsic::kAsyncCopy || node->name == intrinsic::kBulkCopy;
    if (IsWarpMatrixOperation(node) || is_address || is_copy) {
      std::vector<Expr> operands;
      for (const Expr& arg : node->args) operands.push_back(MutateOperands(arg));
      return ir::CallNode::Make(node->name, std::move(operands), DataType::Void(), node->span);
    }
    if (!ir::AsIfThenElse(self)) return MutateChildren(node, self);
    std::vector<Expr> args = {Mutate(node->args[0]), MutateLazily(node->args[1]),
                              MutateLazily(node->args[2])};
    return ir::CallNode::Make(node->name, std::move(args), DataType::Void(), node->span);
  }
  Expr MutateNode(const ir::LetNode* node, const Expr&) override {
    Expr value = MutateOperands(node->value);
    if (Expr known = Reuse(value)) value = known;
    Expr body = MutateExprRegion(true, [&] {
      size_t region = regions_.size() - 1;
      region_of_[node->var.node()] = region;
      if (!IsTrivial(value)) Learn(value, node->var, region);
      return Mutate(node->body);
    });
    return ir::LetNode::Make(node->var, value, body, node->span);
  }

  // ---- statements

  Buffer MutateDef(const BufferDef& buffer) override { return buffer; }

  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    Stmt store = MutateChildren(node, self);
    written_[memory_.PlaceOf(node->buffer)] = ++now_;
    return store;
  }
  Stmt MutateNode(const EvaluateNode* node, const Stmt& self) override {
    Expr value = MutateOperands(node->value);
    all_written_ = ++now_;
    return value.same(node->value) ? self : EvaluateNode::Make(value, node->span);
  }
  Stmt MutateNode(const LetStmtNode* node, const Stmt&) override {
    Expr value = MutateOperands(node->value);
    if (Expr known = Reuse(value)) value = known;
    auto [body, bindings] = InRegion(false, [&] {
      if (!IsTrivial(value)) Learn(value, node->var, regions_.size() - 1);
      return MutateBody(node->body);
    });
    return LetStmtNode::Make(node->var, value, body, node->span);
  }
  Stmt MutateNode(const AllocateNode* node, const Stmt&) override {
    return AllocateNode::Make(node->buffer, MutateBody(node->body), node->span);
  }
  Stmt MutateNode(const DeclBufferNode* node, const Stmt&) override {
    return DeclBufferNode::Make(node->buffer, MutateBody(node->body), node->span);
  }
  Stmt MutateNode(const ForNode* node, const Stmt&) override {
    // Launches compute the extents of thread loops; some others must be constant.
    bool plain = node->for_kind == ForKind::kSerial || node->for_kind == ForKind::kParallel;
    Expr min = plain ? Mutate(node->min) : node->min;
    Expr extent = plain ? Mutate(node->extent) : node->extent;
    NoteWrites(node->body);
    return node->With(min, extent, MutateBody(node->body));
  }
  Stmt MutateNode(const WhileNode* node, const Stmt&) override {
    NoteWrites(node->body);
    Expr condition = MutateLazily(node->condition);
    return WhileNode::Make(condition, MutateBody(node->body), node->span);
  }
  Stmt MutateNode(const IfThenElseNode* node, const Stmt&) override {
    Expr condition = Mutate(node->condition);
    Stmt then_case = MutateBody(node->then_case);
    Stmt else_case = node->else_case ? MutateBody(node->else_case) : Stmt();
    return IfThenElseNode::Make(condition, then_case, else_case, node->span);
  }
  Stmt MutateNode(const SeqNode*, const Stmt& self) override { return MutateBody(self); }
  Stmt MutateNode(const AssertNode* node, const Stmt&) override {
    Expr condition = Mutate(node->condition);
    std::vector<Expr> message;
    for (const Expr& part : node->message) message.push_back(MutateLazily(part));
    return AssertNode::Make(condition, node->error_kind, std::move(message), node->span);
  }
  Stmt MutateNode(const BlockNode* node, const Stmt&) override {
    Stmt init = node->init ? MutateBody(node->init) : Stmt();
    return node->With(init, MutateBody(node->body));
  }

  // What a loop writes may have been written before any of its iterations.
  void NoteWrites(const Stmt& body) {
    MemoryEffects::Writes writes = memory_.WritesOf(body);
    ++now_;
    for (const VarNode* place : writes.places) written_[place] = now_;
    if (writes.anything) all_written_ = now_;
  }

  MemoryEffects memory_;
  std::vector<Region> regions_;
  std::unordered_map<Expr, Known, HashExpr, EqualExpr> known_;
  std::unordered_map<const VarNode*, size_t> region_of_;  // variables that expressions define
  struct Uses {
    int count;
    size_t last;  // the position of the last one
  };
  std::unordered_map<const VarNode*, Uses> uses_;  // of the variables made here
  ir::VarMap used_once_;

  uint64_t now_ = 0, all_written_ = 0;
  std::unordered_map<const VarNode*, uint64_t> written_;  // by place
};

}  // namespace

PrimFunc EliminateCommonSubexpressions(const PrimFunc& function) {
  Binder binder(function);
  Stmt bound = binder.Run(function->body);
  return function.WithBody(Inliner(binder.used_once()).Mutate(bound));
}

}  // namespace tern::tir
