// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/legalize/legalize_storage.h"

#include <map>
#include <unordered_map>

#include "tern/ir/diagnostic.h"
#include "tern/target/target.h"
#include "tern/tir/group_intrinsics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/math/narrow_float.h"
#include "tern/tir/transform/legalize/legalize_compute.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class StorageLegalizer : public StmtMutator {
 public:
  explicit StorageLegalizer(target::Target target) : target_(std::move(target)) {}

  PrimFunc Run(const PrimFunc& function) {
    CallingConvention convention = CallingConventionOf(function);
    bool takes_pointers =
        convention == CallingConvention::kKernel || convention == CallingConvention::kPlain;
    std::vector<Param> params;
    std::vector<std::pair<Var, Expr>> lets;
    std::vector<Buffer> views;
    for (const Param& param : function->params) {
      params.push_back(param);
      if (param.is_tensor() && IsIllegal(param.buffer->dtype)) {
        // Where a parameter is no pointer, callers pass a tensor of the type.
        Buffer bits = MutateDef(param.buffer);
        if (takes_pointers)
          params.back().buffer = bits;
        else
          views.push_back(bits);
      } else if (!param.is_tensor() && IsIllegal(param.var.dtype())) {
        DataType bits = BitsType(param.var.dtype());
        Expr value = ir::CallNode::Make(intrinsic::kReinterpret, {param.var}, bits);
        lets.emplace_back(MutateDef(param.var), value);
      }
    }
    Stmt body = Mutate(function->body);
    for (const Buffer& view : views) body = DeclBufferNode::Make(view, body, view->span);
    for (const auto& [var, value] : lets) body = LetStmtNode::Make(var, value, body, var.span());
    if (body.same(function->body)) return function;
    return PrimFunc::Make(function->name, std::move(params), body, function->attrs, function->span);
  }

 private:
  using StmtMutator::MutateDef;
  using StmtMutator::MutateNode;

  bool IsIllegal(DataType dtype) const {
    if (!dtype.is_narrow_float()) return false;
    if (!target_ || !target_->kind->stores) return true;
    auto [it, is_new] = legal_.try_emplace(dtype.code());
    if (is_new) it->second = target_->kind->stores(target_, dtype.element());
    return !it->second;
  }
  static DataType BitsType(DataType dtype) { return DataType::UInt(dtype.bits(), dtype.lanes()); }

  // ---- Definitions and uses

  Var MutateDef(const Var& var) override {
    if (!IsIllegal(var.dtype())) return var;
    Var bits(var.name(), BitsType(var.dtype()), var.span());
    vars_[var.node()] = bits;
    return bits;
  }
  Buffer MutateDef(const BufferDef& buffer) override {
    Buffer result = StmtMutator::MutateDef(buffer);
    if (!IsIllegal(buffer->dtype)) return result;
    auto bits = ffi::Make<BufferNode>(*result);
    bits->dtype = BitsType(result->dtype);
    return new_buffers_[buffer.get()] = Buffer(bits.get());
  }
  Expr MutateNode(const VarNode* node, const Expr& self) override {
    auto it = vars_.find(node);
    return it == vars_.end() ? self : it->second;
  }

  // ---- Values: of an illegal type, their bits

  Expr MutateNode(const ir::FloatImmNode* node, const Expr& self) override {
    if (!IsIllegal(node->dtype)) return self;
    uint16_t bits = NarrowFloat(node->dtype, static_cast<float>(node->value));
    return ir::IntImmNode::Make(BitsType(node->dtype), bits, node->span);
  }
  Expr MutateNode(const ir::BroadcastNode* node, const Expr& self) override {
    Expr value = Mutate(node->value);
    return value.same(node->value) ? self : ir::BroadcastNode::Make(value, node->lanes, node->span);
  }
  Expr MutateNode(const ir::ShuffleNode* node, const Expr& self) override {
    if (!IsIllegal(node->dtype)) return MutateChildren(node, self);
    std::vector<Expr> vectors;
    for (const Expr& vector : node->vectors) vectors.push_back(Mutate(vector));
    return ir::ShuffleNode::Make(std::move(vectors), node->indices, node->span);
  }
  Expr MutateNode(const ir::SelectNode* node, const Expr& self) override {
    if (!IsIllegal(node->dtype)) return MutateChildren(node, self);
    return ir::SelectNode::Make(Mutate(node->condition), Mutate(node->true_value),
                                Mutate(node->false_value), node->span);
  }
  Expr MutateNode(const ir::LetNode* node, const Expr& self) override {
    if (!IsIllegal(node->dtype)) return MutateChildren(node, self);
    Expr value = Mutate(node->value);
    Var var = MutateDef(node->var);
    return ir::LetNode::Make(var, value, Mutate(node->body), node->span);
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    if (!IsIllegal(node->dtype)) return MutateChildren(node, self);
    std::vector<Expr> indices;
    for (const Expr& index : node->indices) indices.push_back(Mutate(index));
    return ir::BufferLoadNode::Make(MutateUse(node->buffer), indices, node->span,
                                    MutateOptional(node->predicate));
  }
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    if (node->name == intrinsic::kReinterpret) {
      DataType from = node->args[0].dtype(), to = node->dtype;
      if (!IsIllegal(from) && !IsIllegal(to)) return MutateChildren(node, self);
      DataType bits = IsIllegal(to) ? BitsType(to) : to;
      Expr value = Mutate(node->args[0]);
      return value.dtype() == bits ? value
                                   : ir::CallNode::Make(node->name, {value}, bits, node->span);
    }
    // Those of groups of warps name the type that they take bits as.
    if (IsWarpMatrixOperation(node) && !IsWarpGroupOperation(node)) CheckOperands(node);
    if (!IsIllegal(node->dtype)) return MutateChildren(node, self);
    std::vector<Expr> args;
    for (const Expr& arg : node->args) args.push_back(Mutate(arg));
    return ir::CallNode::Make(node->name, args, BitsType(node->dtype), node->span);
  }

  // Machines multiply matrices of floats, not of their bits.
  void CheckOperands(const ir::CallNode* node) const {
    for (const Expr& arg : node->args)
      if (IsIllegal(arg.dtype()))
        TERN_THROW(VerifyError) << ir::At(node->span) << node->name << " takes "
                                << arg.dtype().str() << " here, which "
                                << (target_ ? target_->str() : "a target") << " does not have";
  }

  Expr MutateNode(const ir::CastNode* node, const Expr& self) override {
    DataType from = node->value.dtype(), to = node->dtype;
    if (!IsIllegal(from) && !IsIllegal(to)) return MutateChildren(node, self);
    Expr value = Mutate(node->value);
    return IsIllegal(from) ? math::WidenBits(from, value) : math::NarrowToBits(to, value);
  }

  target::Target target_;
  mutable std::map<int, bool> legal_;  // the target's answers, by type code
  std::unordered_map<const VarNode*, Var> vars_;
};

}  // namespace

PrimFunc LegalizeStorage(const PrimFunc& function) {
  PrimFunc computed = LegalizeCompute(function);
  auto it = function->attrs.find(attr::kTarget);
  bool known = it != function->attrs.end();
  return StorageLegalizer(known ? it->second.As<target::Target>() : target::Target()).Run(computed);
}

}  // namespace tern::tir
