// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/memory/widen_packed_elements.h"

#include <unordered_map>

#include "tern/tir/analysis/packed_elements.h"
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/narrow_float.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// What the packed type has of a value, in the wide type.
Expr Rounded(DataType packed, const Expr& value, const Span& span) {
  if (packed.is_float4())
    return math::WidenBits(packed, math::NarrowToBits(packed, Float32ForFloat4(value)));
  DataType wide = WidenedType(packed);
  auto constant = [&](int64_t number) { return ir::IntImmNode::Make(wide, number); };
  Expr bits = math::And(ir::CastNode::Make(wide, value, span), constant(15));
  return packed.is_int() ? math::Call("bit_xor", {bits, constant(8)}) - constant(8) : bits;
}

class PackedWidening : public StmtMutator {
 public:
  explicit PackedWidening(const PrimFunc& function) : function_(function), packed_(function) {}

  PrimFunc Run() {
    Stmt body = Mutate(function_->body);
    return body.same(function_->body) ? function_ : function_.WithBody(body);
  }

 private:
  using StmtMutator::MutateDef;
  using StmtMutator::MutateNode;

  // ---- Definitions and uses

  Buffer MutateDef(const BufferDef& buffer) override {
    Buffer result = StmtMutator::MutateDef(buffer);
    if (!buffer->dtype.is_packed() || packed_.InOneByte(buffer)) return result;
    auto wide = ffi::Make<BufferNode>(*result);
    wide->dtype = WidenedType(buffer->dtype);
    return new_buffers_[buffer.get()] = Buffer(wide.get());
  }
  Var MutateDef(const Var& var) override {
    if (!var.dtype().is_packed()) return var;
    return vars_[var.node()] = Var(var.name(), WidenedType(var.dtype()), var.span());
  }
  Expr MutateNode(const VarNode* node, const Expr& self) override {
    auto it = vars_.find(node);
    return it == vars_.end() ? self : it->second;
  }

  // ---- Accesses

  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    if (!node->buffer->dtype.is_packed()) return MutateChildren(node, self);
    Expr load =
        ir::BufferLoadNode::Make(MutateUse(node->buffer), MutateAll(node->indices), node->span);
    return load.dtype().is_packed()
               ? ir::CastNode::Make(WidenedType(load.dtype()), load, node->span)
               : load;
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    if (!node->buffer->dtype.is_packed()) return MutateChildren(node, self);
    Buffer buffer = MutateUse(node->buffer);
    const auto* cast = node->value.As<ir::CastNode>();
    // Rounded once, from the type that it has.
    bool is_direct = cast && packed_.InOneByte(node->buffer);
    Expr value = Mutate(is_direct ? cast->value : node->value);
    if (value.dtype() != buffer->dtype) value = ir::CastNode::Make(buffer->dtype, value);
    return BufferStoreNode::Make(buffer, MutateAll(node->indices), value, node->span);
  }
  std::vector<Expr> MutateAll(const std::vector<Expr>& exprs) {
    std::vector<Expr> result;
    for (const Expr& expr : exprs) result.push_back(Mutate(expr));
    return result;
  }

  // ---- Values

  Expr MutateNode(const ir::IntImmNode* node, const Expr& self) override {
    if (!node->dtype.is_packed()) return self;
    return ir::IntImmNode::Make(WidenedType(node->dtype), node->value, node->span);
  }
  Expr MutateNode(const ir::FloatImmNode* node, const Expr& self) override {
    if (!node->dtype.is_packed()) return self;
    return ir::FloatImmNode::Make(WidenedType(node->dtype), node->value, node->span);
  }
  Expr MutateNode(const ir::SelectNode* node, const Expr& self) override {
    if (!node->dtype.is_packed()) return MutateChildren(node, self);
    return ir::SelectNode::Make(Mutate(node->condition), Mutate(node->true_value),
                                Mutate(node->false_value), node->span);
  }
  Expr MutateNode(const ir::LetNode* node, const Expr& self) override {
    if (!node->dtype.is_packed() && !node->var.dtype().is_packed())
      return MutateChildren(node, self);
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
    if (from == to || value.dtype() == to) return value;
    return to.is_packed() ? Rounded(to, value, node->span)
                          : ir::CastNode::Make(to, value, node->span);
  }

  const PrimFunc& function_;
  PackedElements packed_;
  std::unordered_map<const VarNode*, Var> vars_;
};

}  // namespace

DataType WidenedType(DataType dtype) {
  if (!dtype.is_packed()) return dtype;
  return dtype.is_float4() ? DataType::Float(32) : DataType(dtype.code(), 8);
}

Expr Float32ForFloat4(const Expr& value) {
  DataType from = value.dtype();
  if (from == DataType::Float(32)) return value;
  if (from == DataType::Float(64)) return math::Float32ForNarrowing(value);
  if (!from.is_integer() || from.bits() < 32) return math::Cast(DataType::Float(32), value);
  // Every integer beyond the largest number, 6, becomes that.
  Expr most = math::Min(value, ir::IntImmNode::Make(from, 8));
  Expr in_range = from.is_int() ? math::Max(most, ir::IntImmNode::Make(from, -8)) : most;
  return math::Cast(DataType::Float(32), in_range);
}

PrimFunc WidenPackedElements(const PrimFunc& function) {
  return HasPackedElements(function) ? PackedWidening(function).Run() : function;
}

}  // namespace tern::tir
