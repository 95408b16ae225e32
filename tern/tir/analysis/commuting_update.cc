// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/commuting_update.h"

#include "tern/ir/intrinsic.h"
#include "tern/ir/structural.h"
#include "tern/ir/visitor.h"
#include "tern/tir/analysis/reduction_update.h"

namespace tern::tir {
namespace {

constexpr std::pair<const char*, AtomicKind> kBitwise[] = {
    {"bit_and", AtomicKind::kAnd}, {"bit_or", AtomicKind::kOr}, {"bit_xor", AtomicKind::kXor}};

ExprKind KindOf(AtomicKind op) {
  return op == AtomicKind::kMin   ? ExprKind::kMin
         : op == AtomicKind::kMax ? ExprKind::kMax
                                  : ExprKind::kAdd;
}

class Finder {
 public:
  std::optional<CommutingUpdate> Run(const Stmt& body) {
    if (!Walk(body) || !update_.value || !update_.value.dtype().is_scalar()) return {};
    for (const Expr& index : update_.indices) read_.push_back(index);
    read_.push_back(update_.value);
    for (const Expr& expr : read_)
      if (ReadsResult(expr)) return {};
    return update_;
  }

 private:
  bool Walk(const Stmt& stmt) {
    if (const auto* let = stmt.As<LetStmtNode>()) {
      read_.push_back(let->value);
      return Walk(let->body);
    }
    if (const auto* branch = stmt.As<IfThenElseNode>()) {
      read_.push_back(branch->condition);
      return !branch->else_case && Walk(branch->then_case);
    }
    update_.stmt = stmt.get();
    if (const auto* evaluate = stmt.As<EvaluateNode>()) return TakeAtomic(evaluate);
    const auto* store = stmt.As<BufferStoreNode>();
    return store && TakeStore(store);
  }

  bool TakeAtomic(const EvaluateNode* evaluate) {
    const auto* call = evaluate->value.As<ir::CallNode>();
    if (!call || !IsAtomic(call->name)) return false;
    Atomic atomic = AtomicOf(call);
    if (atomic.old || atomic.seq_cst || atomic.kind > AtomicKind::kXor) return false;
    update_.buffer = atomic.element->buffer;
    update_.indices = atomic.element->indices;
    update_.op = atomic.kind;
    update_.value = atomic.operands[0];
    return true;
  }

  bool TakeStore(const BufferStoreNode* store) {
    if (store->predicate) return false;
    update_.buffer = store->buffer;
    update_.indices = store->indices;
    const Expr& value = store->value;
    if (const auto* node = value.As<ir::SubNode>(); node && IsOwn(node->a)) {
      update_.value = ir::MakeConst(node->b.dtype(), 0) - node->b;
      return true;
    }
    if (const auto* call = value.As<ir::CallNode>())
      for (const auto& [name, op] : kBitwise)
        if (call->name == name) return TakeOperands(call->args[0], call->args[1], op);
    return Take(value.As<ir::AddNode>(), AtomicKind::kAdd) ||
           Take(value.As<ir::MinNode>(), AtomicKind::kMin) ||
           Take(value.As<ir::MaxNode>(), AtomicKind::kMax);
  }
  template <class T>
  bool Take(const T* node, AtomicKind op) {
    return node && TakeOperands(node->a, node->b, op);
  }
  bool TakeOperands(const Expr& a, const Expr& b, AtomicKind op) {
    update_.op = op;
    update_.value = IsOwn(a) ? b : a;
    return IsOwn(a) || IsOwn(b);
  }

  bool IsOwn(const Expr& expr) const {
    const auto* load = expr.As<ir::BufferLoadNode>();
    if (!load || !load->buffer.same(update_.buffer)) return false;
    for (size_t d = 0; d < load->indices.size(); ++d)
      if (!ir::StructuralEqual(load->indices[d], update_.indices[d])) return false;
    return true;
  }

  bool ReadsResult(const Expr& expr) const {
    bool reads = false;
    ir::ForEachExpr(expr, [&](const Expr& e) {
      const auto* load = e.As<ir::BufferLoadNode>();
      reads |= load && load->buffer->data.same(update_.buffer->data);
      // What a call reads or does is not followed, unless it is one of arithmetic.
      const auto* call = e.As<ir::CallNode>();
      const ir::Intrinsic* intrinsic = call ? ir::FindIntrinsic(call->name) : nullptr;
      reads |= call && !(intrinsic && intrinsic->pure);
    });
    return reads;
  }

  CommutingUpdate update_;
  std::vector<Expr> read_;
};

}  // namespace

std::string CommutingUpdate::WhyNotAtomic() const {
  DataType dtype = buffer->dtype;
  bool bits = op == AtomicKind::kAnd || op == AtomicKind::kOr || op == AtomicKind::kXor;
  bool known = dtype.is_integer() || (dtype.is_float() && !bits);
  if (known && (dtype.bits() == 32 || dtype.bits() == 64)) return "";
  return buffer->name + " is " + dtype.str() + "; atomic operations are for 32 and 64 bits";
}

Expr CommutingUpdate::Identity() const {
  DataType dtype = buffer->dtype;
  if (op == AtomicKind::kOr || op == AtomicKind::kXor) return ir::MakeConst(dtype, 0);
  if (op == AtomicKind::kAnd)
    return ir::IntImmNode::Make(
        dtype, dtype.is_uint() && dtype.bits() < 64 ? (int64_t{1} << dtype.bits()) - 1 : -1);
  return IdentityOf(KindOf(op), dtype);
}

Stmt CommutingUpdate::Plain(const Buffer& to, const std::vector<Expr>& at, const Expr& by) const {
  Expr old = ir::BufferLoadNode::Make(to, at);
  for (const auto& [name, bitwise] : kBitwise)
    if (bitwise == op)
      return BufferStoreNode::Make(to, at, ir::CallNode::Make(name, {old, by}, to->dtype),
                                   stmt->span);
  return BufferStoreNode::Make(to, at, CombineValues(KindOf(op), old, by), stmt->span);
}

Stmt CommutingUpdate::AsAtomic(const Buffer& to, const std::vector<Expr>& at,
                               const Expr& by) const {
  Atomic atomic{op, nullptr, {}};
  return EvaluateNode::Make(
      MakeAtomic(atomic.name(), {ir::BufferLoadNode::Make(to, at), by}, stmt->span), stmt->span);
}

std::optional<CommutingUpdate> FindCommutingUpdate(const Stmt& body) { return Finder().Run(body); }

Stmt ReplaceUpdate(const Stmt& body, const CommutingUpdate& update, const Stmt& by) {
  if (body.get() == update.stmt) return by;
  if (const auto* let = body.As<LetStmtNode>())
    return LetStmtNode::Make(let->var, let->value, ReplaceUpdate(let->body, update, by), let->span);
  const auto* branch = body.As<IfThenElseNode>();
  return IfThenElseNode::Make(branch->condition, ReplaceUpdate(branch->then_case, update, by), {},
                              branch->span);
}

}  // namespace tern::tir
