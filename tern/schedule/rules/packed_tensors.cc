// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/packed_tensors.h"

#include <unordered_map>

#include "tern/schedule/nest.h"
#include "tern/tir/analysis/packed_elements.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/memory/widen_packed_elements.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tir;

namespace {

Buffer WithType(const Buffer& buffer, DataType dtype) {
  auto other = ffi::Make<BufferNode>(*buffer);
  other->dtype = dtype;
  return Buffer(other.get());
}

// Gives the elements of some memory another type.
class Retyping : public StmtMutator {
 public:
  // Memory, by the variable of its address, and the type of its elements.
  std::unordered_map<const VarNode*, DataType> types;
  std::string why;  // it cannot be done; "" where it can

  PrimFunc Run(const PrimFunc& function) {
    std::vector<Param> params = function->params;
    for (Param& param : params)
      if (param.is_tensor() && types.count(param.buffer->data.node()))
        param.buffer = MutateDef(param.buffer);
    return PrimFunc::Make(function->name, std::move(params), Mutate(function->body),
                          function->attrs, function->span);
  }

 private:
  using StmtMutator::MutateDef;
  using StmtMutator::MutateNode;

  Buffer MutateDef(const BufferDef& buffer) override {
    Buffer result = StmtMutator::MutateDef(buffer);
    auto it = types.find(buffer->data.node());
    if (it == types.end()) return result;
    return new_buffers_[buffer.get()] = WithType(result, it->second);
  }

  std::vector<Expr> MutateAll(const std::vector<Expr>& exprs) {
    std::vector<Expr> result;
    for (const Expr& expr : exprs) result.push_back(Mutate(expr));
    return result;
  }
  Expr MutateNode(const ir::CastNode* node, const Expr& self) override {
    Expr value = Mutate(node->value);
    if (value.dtype() == node->dtype) return value;  // what was widened is wide
    return value.same(node->value) ? self : ir::CastNode::Make(node->dtype, value, node->span);
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    if (!types.count(node->buffer->data.node())) return MutateChildren(node, self);
    if (!node->dtype.is_scalar()) {
      why = "elements of " + node->buffer->name + " are loaded as vectors";
      return self;
    }
    Expr load =
        ir::BufferLoadNode::Make(MutateUse(node->buffer), MutateAll(node->indices), node->span);
    // Values of the function are wide.
    DataType wide = WidenedType(load.dtype());
    return wide == load.dtype() ? load : ir::CastNode::Make(wide, load, node->span);
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    auto it = types.find(node->buffer->data.node());
    if (it == types.end()) return MutateChildren(node, self);
    Expr value = Mutate(node->value);
    if (!value.dtype().is_scalar()) {
      why = "elements of " + node->buffer->name + " are stored as vectors";
      return self;
    }
    // The widened type holds what rounds to a packed float but for float64.
    const auto* cast = node->value.As<ir::CastNode>();
    if (node->buffer->dtype.is_float4() && cast && cast->value.dtype() == DataType::Float(64))
      why = "values of float64 are rounded to " + node->buffer->dtype.str();
    if (cast && !it->second.is_packed()) value = Mutate(cast->value);
    if (value.dtype() != it->second) value = ir::CastNode::Make(it->second, value);
    return BufferStoreNode::Make(MutateUse(node->buffer), MutateAll(node->indices), value,
                                 node->span);
  }
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    if (node->name == intrinsic::kAddressOf)
      if (const auto* load = node->args[0].As<ir::BufferLoadNode>();
          load && types.count(load->buffer->data.node())) {
        why = "an instruction takes the address of " + load->buffer->name;
        return self;
      }
    return MutateChildren(node, self);
  }
};

}  // namespace

PrimFunc WithWideTensors(const PrimFunc& function, std::string* why) {
  Retyping retyping;
  for (const Param& param : function->params)
    if (param.is_tensor() && param.buffer->dtype.is_packed())
      retyping.types[param.buffer->data.node()] = WidenedType(param.buffer->dtype);
  PrimFunc wide = retyping.Run(WidenPackedElements(function));
  *why = retyping.why;
  return why->empty() ? wide : PrimFunc();
}

PrimFunc WithPackedTensors(const PrimFunc& scheduled, const PrimFunc& function, std::string* why) {
  Retyping retyping;
  for (const Param& param : function->params)
    if (param.is_tensor() && param.buffer->dtype.is_packed())
      retyping.types[param.buffer->data.node()] = param.buffer->dtype;
  PrimFunc packed = retyping.Run(scheduled);
  *why = retyping.why;
  if (!why->empty()) return {};
  PackedElements elements(packed);
  std::vector<const ForNode*> loops = LoopsIn(packed->body);
  for (const ForNode* loop : loops) {
    if (loop->for_kind != ForKind::kParallel && loop->for_kind != ForKind::kThread) continue;
    if (const BufferStoreNode* store = elements.FindSharedByte(loop, loops)) {
      *why = "iterations of its " + std::string(ForKindName(loop->for_kind)) + " loop " +
             loop->var.name() + " would store the two halves of one byte of " + store->buffer->name;
      return {};
    }
  }
  return packed;
}

}  // namespace tern::schedule
