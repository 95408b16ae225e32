// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/lower_packed_elements.h"

#include <unordered_map>

#include "tern/arith/analyzer.h"
#include "tern/arith/linear.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/analysis/packed_elements.h"
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/transform/flatten_buffers.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

constexpr DataType kByte = DataType::UInt(8);

// What a value of such a type is held in.
DataType HeldAs(DataType dtype) {
  if (!dtype.is_packed()) return dtype;
  return dtype.is_int() ? DataType::Int(8) : kByte;
}

Expr Byte(int64_t value) { return ir::IntImmNode::Make(kByte, value); }

class PackedLowering : public StmtMutator {
 public:
  explicit PackedLowering(const PrimFunc& function) : function_(function), packed_(function) {}

  PrimFunc Run() {
    std::vector<Buffer> views;
    for (const Param& param : function_->params)
      if (param.is_tensor() && param.buffer->dtype.is_packed())
        views.push_back(new_buffers_[param.buffer.get()] = BytesOf(param.buffer));
    Stmt body = Mutate(function_->body);
    if (body.same(function_->body)) return function_;
    for (const Buffer& view : views) body = DeclBufferNode::Make(view, body, view->span);
    return function_.WithBody(body);
  }

 private:
  using StmtMutator::MutateDef;
  using StmtMutator::MutateNode;

  // ---- Definitions and uses

  // The bytes that its elements are in.
  static Buffer BytesOf(const Buffer& buffer) {
    auto bytes = ffi::Make<BufferNode>(*FlatView(buffer));
    bytes->dtype = kByte;
    bytes->shape = {arith::Analyzer().Simplify(CeilDiv(bytes->shape[0], Expr(2)))};
    return Buffer(bytes.get());
  }

  Buffer MutateDef(const BufferDef& buffer) override {
    if (packed_.InOneByte(buffer)) return new_buffers_[buffer.get()] = BytesOf(buffer);
    Buffer result = StmtMutator::MutateDef(buffer);
    if (!buffer->dtype.is_packed()) return result;
    auto held = ffi::Make<BufferNode>(*result);
    held->dtype = HeldAs(buffer->dtype);
    return new_buffers_[buffer.get()] = Buffer(held.get());
  }
  Var MutateDef(const Var& var) override {
    if (!var.dtype().is_packed()) return var;
    return vars_[var.node()] = Var(var.name(), HeldAs(var.dtype()), var.span());
  }
  Expr MutateNode(const VarNode* node, const Expr& self) override {
    auto it = vars_.find(node);
    return it == vars_.end() ? self : it->second;
  }

  // ---- Accesses

  // Where an element is: the byte, and how far it is from the byte's low end.
  struct Place {
    Expr byte, shift;
  };
  static Place PlaceOf(const Expr& element) {
    Expr half = FloorMod(element, Expr(2)) * Expr(4);
    return {FloorDiv(element, Expr(2)), ir::CastNode::Make(kByte, half)};
  }
  std::vector<Expr> MutateAll(const std::vector<Expr>& exprs) {
    std::vector<Expr> result;
    for (const Expr& expr : exprs) result.push_back(Mutate(expr));
    return result;
  }

  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    if (!node->buffer->dtype.is_packed()) return MutateChildren(node, self);
    if (!packed_.InOneByte(node->buffer))
      return ir::BufferLoadNode::Make(MutateUse(node->buffer), MutateAll(node->indices),
                                      node->span);
    // What is no plain arithmetic is evaluated once.
    math::Lets let;
    Expr element = Mutate(FlatIndex(node->buffer, node->indices));
    if (!arith::IsFixed(element)) element = let(element);
    Place place = PlaceOf(element);
    Expr byte = ir::BufferLoadNode::Make(MutateUse(node->buffer), {place.byte}, node->span);
    Expr bits = math::And(Shifted("shift_right", byte, place.shift), Byte(15));
    return let.In(Extended(node->dtype, bits));
  }

  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    if (!node->buffer->dtype.is_packed()) return MutateChildren(node, self);
    Expr value = Mutate(node->value);
    if (!packed_.InOneByte(node->buffer))
      return BufferStoreNode::Make(MutateUse(node->buffer), MutateAll(node->indices), value,
                                   node->span);
    Buffer bytes = MutateUse(node->buffer);
    Expr element = Mutate(FlatIndex(node->buffer, node->indices));
    Var once(node->buffer->name + "_element");
    Place place = PlaceOf(arith::IsFixed(element) ? element : once);
    Expr byte = ir::BufferLoadNode::Make(bytes, {place.byte}, node->span);
    Expr other = math::And(byte, Shifted("shift_right", Byte(0xf0), place.shift));
    Expr own = Shifted("shift_left", LowBits(value), place.shift);
    Stmt store = BufferStoreNode::Make(bytes, {place.byte}, math::Or(other, own), node->span);
    return arith::IsFixed(element) ? store : LetStmtNode::Make(once, element, store, node->span);
  }

  static Expr Shifted(const char* shift, const Expr& value, const Expr& count) {
    return ir::CallNode::Make(shift, {value, count});
  }
  // The four bits of a value, in a byte.
  static Expr LowBits(const Expr& value) { return math::And(math::Cast(kByte, value), Byte(15)); }
  // Four bits, in a byte, as a value.
  static Expr Extended(DataType dtype, const Expr& bits) {
    if (!dtype.is_int()) return bits;
    Expr biased = math::Cast(DataType::Int(8), math::Call("bit_xor", {bits, Byte(8)}));
    return biased - ir::IntImmNode::Make(DataType::Int(8), 8);
  }

  // ---- Values

  Expr MutateNode(const ir::IntImmNode* node, const Expr& self) override {
    if (!node->dtype.is_packed()) return self;
    return ir::IntImmNode::Make(HeldAs(node->dtype), node->value, node->span);
  }
  Expr MutateNode(const ir::SelectNode* node, const Expr& self) override {
    if (!node->dtype.is_packed()) return MutateChildren(node, self);
    return ir::SelectNode::Make(Mutate(node->condition), Mutate(node->true_value),
                                Mutate(node->false_value), node->span);
  }
  Expr MutateNode(const ir::LetNode* node, const Expr& self) override {
    if (!node->dtype.is_packed()) return MutateChildren(node, self);
    Expr value = Mutate(node->value);
    Var var = MutateDef(node->var);
    return ir::LetNode::Make(var, value, Mutate(node->body), node->span);
  }
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    if (!node->dtype.is_packed()) return MutateChildren(node, self);
    return ir::CallNode::Make(node->name, MutateAll(node->args), DataType::Void(), node->span);
  }
  Expr MutateNode(const ir::CastNode* node, const Expr& self) override {
    DataType from = node->value.dtype(), to = node->dtype;
    if (!from.is_packed() && !to.is_packed()) return MutateChildren(node, self);
    Expr value = Mutate(node->value);
    if (!to.is_packed()) return ir::CastNode::Make(to, value, node->span);
    return Extended(to, LowBits(ir::CastNode::Make(HeldAs(to), value, node->span)));
  }

  // ---- Loops that run at once

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind == ForKind::kParallel || node->for_kind == ForKind::kThread)
      if (const BufferStoreNode* store = packed_.FindSharedByte(node))
        TERN_THROW(ValueError) << ir::At(store->span) << "iterations of the "
                               << ForKindName(node->for_kind) << " loop " << node->var.name()
                               << " may store the two halves of one byte of " << store->buffer->name
                               << ", which holds " << store->buffer->dtype.str()
                               << "; each iteration has to store an even number of elements, from "
                                  "an even one on";
    return MutateChildren(node, self);
  }
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    TERN_ICHECK(result.same(self)) << "block " << node->name << " has packed elements";
    return result;
  }

  const PrimFunc& function_;
  PackedElements packed_;
  std::unordered_map<const VarNode*, Var> vars_;
};

}  // namespace

PrimFunc LowerPackedElements(const PrimFunc& function) {
  return HasPackedElements(function) ? PackedLowering(function).Run() : function;
}

}  // namespace tern::tir
