// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/memory/lower_packed_elements.h"

#include <utility>

#include "tern/arith/analyzer.h"
#include "tern/arith/linear.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/analysis/packed_elements.h"
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/narrow_float.h"
#include "tern/tir/transform/memory/flatten_buffers.h"
#include "tern/tir/transform/memory/widen_packed_elements.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

constexpr DataType kByte = DataType::UInt(8);

Expr Byte(int64_t value) { return ir::IntImmNode::Make(kByte, value); }

class PackedLowering : public StmtMutator {
 public:
  explicit PackedLowering(PrimFunc widened) : function_(std::move(widened)), packed_(function_) {}

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
    return StmtMutator::MutateDef(buffer);
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

  Expr MutateNode(const ir::CastNode* node, const Expr& self) override {
    DataType from = node->value.dtype();
    if (!from.is_packed()) return MutateChildren(node, self);
    const auto* load = node->value.As<ir::BufferLoadNode>();
    TERN_ICHECK(load) << "a value of " << from.str() << " was not widened";
    math::Lets let;
    return let.In(Extended(from, BitsOf(load, &let)));
  }

  // The bits of an element, in a byte.
  Expr BitsOf(const ir::BufferLoadNode* load, math::Lets* let) {
    // What is no plain arithmetic is evaluated once.
    Expr element = Mutate(FlatIndex(load->buffer, load->indices));
    if (!arith::IsFixed(element)) element = (*let)(element);
    Place place = PlaceOf(element);
    Expr byte = ir::BufferLoadNode::Make(MutateUse(load->buffer), {place.byte}, load->span);
    return math::And(Shifted("shift_right", byte, place.shift), Byte(15));
  }

  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    DataType dtype = node->buffer->dtype;
    if (!dtype.is_packed()) return MutateChildren(node, self);
    const auto* cast = node->value.As<ir::CastNode>();
    TERN_ICHECK(cast) << "a value of " << dtype.str() << " was not narrowed";
    Buffer bytes = MutateUse(node->buffer);
    Expr element = Mutate(FlatIndex(node->buffer, node->indices));
    Var once(node->buffer->name + "_element");
    Place place = PlaceOf(arith::IsFixed(element) ? element : once);
    Expr byte = ir::BufferLoadNode::Make(bytes, {place.byte}, node->span);
    Expr other = math::And(byte, Shifted("shift_right", Byte(0xf0), place.shift));
    Expr own = Shifted("shift_left", Narrowed(dtype, cast), place.shift);
    Stmt store = BufferStoreNode::Make(bytes, {place.byte}, math::Or(other, own), node->span);
    return arith::IsFixed(element) ? store : LetStmtNode::Make(once, element, store, node->span);
  }

  static Expr Shifted(const char* shift, const Expr& value, const Expr& count) {
    return ir::CallNode::Make(shift, {value, count});
  }
  // The four bits of what is stored, in a byte.
  Expr Narrowed(DataType dtype, const ir::CastNode* cast) {
    // A copy moves bits.
    const auto* widened = cast->value.As<ir::CastNode>();
    const auto* load = widened ? widened->value.As<ir::BufferLoadNode>() : nullptr;
    if (load && load->dtype == dtype) {
      math::Lets let;
      return let.In(BitsOf(load, &let));
    }
    Expr value = Mutate(cast->value);
    if (dtype.is_float4()) return math::NarrowToBits(dtype, Float32ForFloat4(value));
    Expr wide = ir::CastNode::Make(WidenedType(dtype), value, cast->span);
    return math::And(math::Cast(kByte, wide), Byte(15));
  }
  // Four bits, in a byte, as a wide value.
  static Expr Extended(DataType dtype, const Expr& bits) {
    if (dtype.is_float4()) return math::WidenBits(dtype, bits);
    if (!dtype.is_int()) return bits;
    Expr biased = math::Cast(DataType::Int(8), math::Call("bit_xor", {bits, Byte(8)}));
    return biased - ir::IntImmNode::Make(DataType::Int(8), 8);
  }

  // ---- Loops that run at once

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind == ForKind::kParallel || node->for_kind == ForKind::kThread)
      if (const BufferStoreNode* store = packed_.FindSharedByte(node, around_))
        TERN_THROW(ValueError) << ir::At(store->span) << "iterations of the "
                               << ForKindName(node->for_kind) << " loop " << node->var.name()
                               << " may store the two halves of one byte of " << store->buffer->name
                               << ", which holds " << store->buffer->dtype.str()
                               << "; each iteration has to store an even number of elements, from "
                                  "an even one on";
    around_.push_back(node);
    Stmt result = MutateChildren(node, self);
    around_.pop_back();
    return result;
  }
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    TERN_ICHECK(result.same(self)) << "block " << node->name << " has packed elements";
    return result;
  }

  PrimFunc function_;
  PackedElements packed_;
  std::vector<const ForNode*> around_;  // loops around the statement
};

}  // namespace

PrimFunc LowerPackedElements(const PrimFunc& function) {
  return HasPackedElements(function) ? PackedLowering(WidenPackedElements(function)).Run()
                                     : function;
}

}  // namespace tern::tir
