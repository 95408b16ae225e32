// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/loops/scalarize_vectors.h"

#include "tern/ir/diagnostic.h"
#include "tern/ir/intrinsic.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/vector_move.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// Which vectors a function uses.
struct VectorScan : StmtVisitor {
  using StmtVisitor::Visit;
  using StmtVisitor::VisitNode;

  explicit VectorScan(const target::TargetKind* kind) : kind(kind) {}
  void Visit(const Expr& expr) override {
    DataType dtype = expr.dtype();
    scalable |= dtype.is_scalable();
    fixed |= dtype.lanes() > 1;
    if (kind && !dtype.is_scalar() && !dtype.is_void())
      taken = taken && target::TakesVector(*kind, expr);
    StmtVisitor::Visit(expr);
  }
  void VisitNode(const BufferStoreNode* node) override {
    bool is_vector = !node->value.dtype().is_scalar();
    if (IsMatrixStore(node) || (is_vector && kind && IsVectorMove(node, kind->move_bytes))) return;
    if (is_vector)
      Visit(ir::BufferLoadNode::Make(node->buffer, node->indices, node->span, node->predicate));
    VisitChildren(node);
  }

  const target::TargetKind* kind;
  bool scalable = false, fixed = false, taken = true;
};

// A scalar in a single lane of a vector expression.
class LaneTaker {
 public:
  LaneTaker(const ir::VarMap& inlined, const std::unordered_map<const VarNode*, Buffer>& arrays,
            Expr lane)
      : inlined_(inlined), arrays_(arrays), lane_(std::move(lane)) {}

  Expr Take(const Expr& expr) {
    if (expr.dtype().is_scalar()) return expr;
    return ir::DispatchExpr(expr.get(), [&](auto* node) { return TakeNode(node); });
  }
  // `lane` is a constant here.
  Expr TakeNode(const ir::ShuffleNode* node) {
    int64_t index = node->indices[*ir::AsConstInt(lane_)];
    for (const Expr& vector : node->vectors) {
      int lanes = vector.dtype().lanes();
      if (index < lanes) return LaneTaker(inlined_, arrays_, Expr(index)).Take(vector);
      index -= lanes;
    }
    TERN_ICHECK(false) << "a shuffle takes a lane that its vectors do not have";
    return {};
  }

  // All lanes of a value in an unsigned integer, the first in the lowest bits.
  Expr WordOf(const Expr& value) {
    DataType dtype = value.dtype(), element = DataType::UInt(dtype.bits());
    int bits = dtype.bits() * dtype.lanes();
    TERN_CHECK(bits <= 64) << ir::At(value.span()) << "reinterpret: " << dtype.str() << " has "
                           << bits << " bits; without vectors, the target changes the number of "
                           << "lanes of at most 64 bits";
    Expr word;
    for (int lane = 0; lane < dtype.lanes(); ++lane) {
      Expr one = LaneTaker(inlined_, arrays_, Expr(lane)).Take(value);
      one = ir::CastNode::Make(DataType::UInt(bits), Reinterpreted(element, one));
      if (lane > 0) one = Bits("shift_left", one, ir::MakeConst(one.dtype(), lane * dtype.bits()));
      word = word ? Bits("bit_or", word, one) : one;
    }
    return word;
  }
  // A part of the bits, as a scalar.
  static Expr BitsAs(DataType dtype, const Expr& word, const Expr& lane) {
    Expr place = ir::CastNode::Make(word.dtype(), lane) * ir::MakeConst(word.dtype(), dtype.bits());
    Expr part = dtype.bits() < word.dtype().bits() ? Bits("shift_right", word, place) : word;
    return Reinterpreted(dtype, ir::CastNode::Make(DataType::UInt(dtype.bits()), part));
  }

 private:
  static Expr Bits(const char* name, const Expr& a, const Expr& b) {
    return ir::CallNode::Make(name, {a, b}, a.dtype(), a.span());
  }
  static Expr Reinterpreted(DataType dtype, const Expr& value) {
    if (value.dtype() == dtype) return value;
    return ir::CallNode::Make(intrinsic::kReinterpret, {value}, dtype, value.span());
  }
  Expr LaneAs(DataType dtype) const { return ir::CastNode::Make(dtype, lane_); }

  Expr TakeNode(const VarNode* node) {
    if (auto it = inlined_.find(node); it != inlined_.end()) return Take(it->second);
    return ir::BufferLoadNode::Make(arrays_.at(node), {lane_}, node->span);
  }
  template <ExprKind K>
  Expr TakeNode(const ir::BinaryNode<K>* node) {
    return ir::BinaryNode<K>::Make(Take(node->a), Take(node->b), node->span);
  }
  Expr TakeNode(const ir::NotNode* node) { return ir::NotNode::Make(Take(node->a), node->span); }
  Expr TakeNode(const ir::SelectNode* node) {
    return ir::SelectNode::Make(Take(node->condition), Take(node->true_value),
                                Take(node->false_value), node->span);
  }
  Expr TakeNode(const ir::CastNode* node) {
    return ir::CastNode::Make(node->dtype.element(), Take(node->value), node->span);
  }
  Expr TakeNode(const ir::RampNode* node) {
    return node->base + node->stride * LaneAs(node->base.dtype());
  }
  Expr TakeNode(const ir::BroadcastNode* node) { return node->value; }
  Expr TakeNode(const ir::LetNode* node) {
    TERN_ICHECK(node->value.dtype().is_scalar()) << node->var.name() << " was not inlined";
    return ir::LetNode::Make(node->var, node->value, Take(node->body), node->span);
  }
  Expr TakeNode(const ir::CallNode* node) {
    if (node->name == intrinsic::kReinterpret &&
        node->args[0].dtype().lanes() != node->dtype.lanes())
      return BitsAs(node->dtype.element(), WordOf(node->args[0]), lane_);
    std::vector<Expr> args;
    for (const Expr& arg : node->args) args.push_back(Take(arg));
    return ir::CallNode::Make(node->name, args, node->dtype.element(), node->span);
  }
  Expr TakeNode(const ir::BufferLoadNode* node) {
    std::vector<Expr> indices = node->indices;
    indices.back() = Take(indices.back());
    Expr element = ir::BufferLoadNode::Make(node->buffer, indices, node->span);
    if (!node->predicate) return element;
    return ir::CallNode::Make(ir::kIfThenElse,
                              {Take(node->predicate), element, ir::MakeConst(element.dtype(), 0)},
                              DataType::Void(), node->span);
  }
  Expr TakeNode(const ir::ExprNode* node) {
    TERN_ICHECK(false) << "a " << node->dtype.str() << " that has no lanes";
    return {};
  }

  const ir::VarMap& inlined_;
  const std::unordered_map<const VarNode*, Buffer>& arrays_;
  Expr lane_;
};

class Scalarizer : public StmtMutator {
 public:
  explicit Scalarizer(int64_t move_bytes) : move_bytes_(move_bytes) {}

 private:
  using StmtMutator::MutateNode;

  Expr Lane(const Expr& vector, const Expr& lane) {
    // What the lane is made of may have scalars inside that are made of vectors.
    return StmtMutator::Mutate(LaneTaker(inlined_, arrays_, lane).Take(vector));
  }

  Expr MutateNode(const ir::ShuffleNode* node, const Expr& self) override {
    if (!node->dtype.is_scalar()) return MutateChildren(node, self);
    return Mutate(LaneTaker(inlined_, arrays_, 0).TakeNode(node));
  }
  // A scalar that is all lanes of a vector.
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    bool joins = node->name == intrinsic::kReinterpret && node->dtype.is_scalar() &&
                 !node->args[0].dtype().is_scalar();
    if (!joins) return MutateChildren(node, self);
    LaneTaker taker(inlined_, arrays_, 0);
    return Mutate(LaneTaker::BitsAs(node->dtype, taker.WordOf(node->args[0]), 0));
  }
  // A vector that only an expression names: pure, so it can stand where it is used.
  Expr MutateNode(const ir::LetNode* node, const Expr& self) override {
    if (node->value.dtype().is_scalar()) return MutateChildren(node, self);
    inlined_[node->var.node()] = node->value;
    return Mutate(node->body);
  }

  // `make` of every lane, in a loop where the lane may be a variable.
  template <class F>
  Stmt ForEachLane(int lanes, bool in_loop, const Span& span, F&& make) {
    if (in_loop) {
      Var lane("lane", DataType::Int(64), span);
      return ForNode::Make(lane, 0, lanes, ForKind::kSerial, make(lane), "", span);
    }
    std::vector<Stmt> stmts;
    for (int lane = 0; lane < lanes; ++lane) stmts.push_back(make(Expr(lane)));
    return SeqNode::Make(std::move(stmts), span);
  }

  // An array of the lanes of `value`, and the statement that fills it.
  std::pair<Buffer, Stmt> Spill(const std::string& name, const Expr& value, const Span& span) {
    int lanes = value.dtype().lanes();
    Buffer array = BufferNode::Make(name, value.dtype().element(), {lanes}, {},
                                    StorageScope::kLocal, {}, span);
    Stmt fill = ForEachLane(lanes, !HasShuffle(value), span, [&](const Expr& lane) {
      return BufferStoreNode::Make(array, {lane}, Lane(value, lane), span);
    });
    return {array, fill};
  }

  // Whether `expr`, or a vector that it names, contains a node of the kind.
  bool Has(ExprKind kind, const Expr& expr) const {
    bool found = false;
    ir::ForEachExpr(expr, [&](const Expr& e) {
      found |= e->kind == kind;
      const auto* var = e.As<VarNode>();
      auto it = var ? inlined_.find(var) : inlined_.end();
      if (it != inlined_.end()) found |= Has(kind, it->second);
    });
    return found;
  }
  bool HasShuffle(const Expr& expr) const { return Has(ExprKind::kShuffle, expr); }
  bool Reads(const Expr& expr) const { return Has(ExprKind::kBufferLoad, expr); }

  // Lets of vectors, which may be used anywhere in the expression, are known before it is taken
  // apart.
  Expr WithoutVectorLets(const Expr& expr) {
    ir::ForEachExpr(expr, [&](const Expr& e) {
      const auto* let = e.As<ir::LetNode>();
      if (let && !let->value.dtype().is_scalar()) inlined_[let->var.node()] = let->value;
    });
    struct Dropper : ir::ExprMutator {
      Expr MutateNode(const ir::LetNode* node, const Expr& self) override {
        return node->value.dtype().is_scalar() ? MutateChildren(node, self) : Mutate(node->body);
      }
    };
    Expr result = Dropper().Mutate(expr);
    for (auto& [var, value] : inlined_) value = Dropper().Mutate(value);
    return result;
  }

  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    if (node->value.dtype().is_scalar()) return MutateChildren(node, self);
    if (IsMatrixStore(node) || IsVectorMove(node, move_bytes_)) return self;
    Expr value = WithoutVectorLets(node->value), index = WithoutVectorLets(node->indices.back());
    Expr predicate = node->predicate ? WithoutVectorLets(node->predicate) : Expr();
    // All lanes are computed before the first is stored.
    if (Reads(value) || Reads(index) || (predicate.get() && Reads(predicate))) {
      std::vector<std::pair<Var, Expr>> lets;
      auto once = [&](const Expr& vector, const char* suffix) -> Expr {
        lets.emplace_back(Var(node->buffer->name + suffix, vector.dtype(), node->span), vector);
        return lets.back().first;
      };
      Expr lanes = once(value, "_lanes");
      std::vector<Expr> indices = node->indices;
      indices.back() = Reads(index) ? once(index, "_places") : index;
      if (predicate.get() && Reads(predicate)) predicate = once(predicate, "_mask");
      Stmt store = BufferStoreNode::Make(node->buffer, indices, lanes, node->span, predicate);
      for (size_t i = lets.size(); i-- > 0;)
        store = LetStmtNode::Make(lets[i].first, lets[i].second, store, node->span);
      return Mutate(store);
    }
    bool in_loop =
        !HasShuffle(value) && !HasShuffle(index) && !(predicate.get() && HasShuffle(predicate));
    return ForEachLane(value.dtype().lanes(), in_loop, node->span, [&](const Expr& lane) {
      std::vector<Expr> indices;
      for (size_t d = 0; d + 1 < node->indices.size(); ++d)
        indices.push_back(Mutate(node->indices[d]));
      indices.push_back(Lane(index, lane));
      Stmt store =
          BufferStoreNode::Make(MutateUse(node->buffer), indices, Lane(value, lane), node->span);
      if (!predicate) return store;
      return IfThenElseNode::Make(Lane(predicate, lane), store, {}, node->span);
    });
  }
  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    if (node->value.dtype().is_scalar()) return MutateChildren(node, self);
    auto [array, fill] = Spill(node->var.name(), WithoutVectorLets(node->value), node->span);
    arrays_[node->var.node()] = array;
    Stmt body = SeqNode::Make({fill, Mutate(node->body)}, node->span);
    return AllocateNode::Make(array, body, node->span);
  }

  int64_t move_bytes_;
  ir::VarMap inlined_;                                 // vector variables of let expressions
  std::unordered_map<const VarNode*, Buffer> arrays_;  // those of let statements
};

}  // namespace

PrimFunc ScalarizeVectors(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  bool known = it != function->attrs.end();
  VectorScan scan(known ? it->second.As<target::Target>()->kind : nullptr);
  scan.VisitFunction(function);
  if (scan.scalable) {
    TERN_CHECK(!known || scan.taken) << function->name << " uses scalable vectors, which target "
                                     << scan.kind->name << " does not have";
    return function;
  }
  if (!scan.fixed || (known && scan.taken)) return function;
  return Scalarizer(scan.kind ? scan.kind->move_bytes : 0).MutateFunction(function);
}

}  // namespace tern::tir
