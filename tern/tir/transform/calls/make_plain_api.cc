// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/calls/make_plain_api.h"
#include "tern/tir/print_call.h"

#include <algorithm>
#include <unordered_set>

#include "tern/ir/diagnostic.h"
#include "tern/target/target.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/memory/lower_allocations.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// Messages of asserts compute nothing: nobody reads them. Calls that go through the runtime are
// reported.
class RuntimeRemover : public StmtMutator {
 public:
  RuntimeRemover(const std::string& function, ir::Diagnostics* diagnostics)
      : function_(function), diagnostics_(diagnostics) {}

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const AssertNode* node, const Stmt&) override {
    std::vector<Expr> texts;
    for (const Expr& part : node->message)
      if (part.As<ir::StringImmNode>()) texts.push_back(part);
    if (texts.empty()) texts.push_back(ir::StringImmNode::Make(""));
    return AssertNode::Make(Mutate(node->condition), node->error_kind, texts, node->span);
  }
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    if (node->name == intrinsic::kCallPacked || node->name == intrinsic::kLaunchKernel ||
        node->name == intrinsic::kPrint)
      diagnostics_->Add(node->span, "function " + function_ + " calls " + node->name +
                                        ", which needs the runtime; a plain function has none");
    return MutateChildren(node, self);
  }

  const std::string& function_;
  ir::Diagnostics* diagnostics_;
};

class PlainMaker {
 public:
  explicit PlainMaker(PrimFunc function) : function_(std::move(function)) {}

  PrimFunc Run(const target::Target& host) {
    ir::Diagnostics diagnostics;
    std::vector<Param> params = function_->params;
    Stmt body = TakeFlatBuffers(&params);
    body = RuntimeRemover(function_->name, &diagnostics).Mutate(body);
    body = LowerStaticAllocations(body, function_->name, &diagnostics);
    diagnostics.ThrowIfAny("ValueError");
    for (size_t i = params.size(); i-- > 0;) body = CheckParam(&params[i], body);
    AddExtents(&params);

    ir::Attrs attrs = function_->attrs;
    attrs[attr::kCallingConvention] = CallingConventionName(CallingConvention::kPlain);
    attrs[attr::kTarget] = host;
    return PrimFunc::Make(function_->name, std::move(params), body, std::move(attrs),
                          function_->span);
  }

 private:
  // The flat view of a parameter is the parameter.
  Stmt TakeFlatBuffers(std::vector<Param>* params) const {
    Stmt body = function_->body;
    while (const auto* decl = body.As<DeclBufferNode>()) {
      auto viewed = std::find_if(params->begin(), params->end(), [&](const Param& param) {
        return param.is_tensor() && param.var.same(decl->buffer->data) &&
               param.buffer->dtype == decl->buffer->dtype;
      });
      if (viewed == params->end()) break;
      viewed->buffer = decl->buffer;
      body = decl->body;
    }
    return body;
  }

  Stmt CheckParam(Param* param, Stmt body) const {
    if (param->is_tensor()) {
      int64_t alignment = param->buffer->alignment;
      if (!alignment) return body;
      Expr aligned = ir::CallNode::Make(intrinsic::kIsAligned, {param->var, Expr(alignment)});
      Expr message = ir::StringImmNode::Make(param->name() + " is not aligned");
      Stmt check = AssertNode::Make(aligned, "ValueError", {message}, function_->span);
      return SeqNode::Make({check, body}, function_->span);
    }
    // Languages have no types for these: their bits are passed.
    DataType dtype = param->var.dtype();
    if (!dtype.is_narrow_float()) return body;
    Var value = param->var, bits(value.name(), DataType::UInt(dtype.bits()), value.span());
    param->var = bits;
    Expr read = ir::CallNode::Make(intrinsic::kReinterpret, {bits}, dtype);
    return LetStmtNode::Make(value, read, body, value.span());
  }

  // Variables that shapes and strides define, in the order in which they stand there.
  void AddExtents(std::vector<Param>* params) const {
    std::unordered_set<const VarNode*> known;
    for (const Param& param : function_->params) known.insert(param.var.node());
    for (const Param& param : function_->params) {
      if (!param.is_tensor()) continue;
      for (const auto* list : {&param.buffer->shape, &param.buffer->strides})
        for (const Expr& extent : *list)
          if (const auto* var = extent.As<VarNode>(); var && known.insert(var).second)
            params->push_back({Var(var), {}});
    }
  }

  PrimFunc function_;
};

}  // namespace

PrimFunc MakePlainApi(const PrimFunc& function) {
  if (function->attrs.count(attr::kCallingConvention)) return function;
  auto it = function->attrs.find(attr::kTarget);
  TERN_CHECK(it != function->attrs.end()) << "function " << function->name << " has no target";
  auto target = it->second.As<target::Target>();
  TERN_CHECK(!target->is_device())
      << "function " << function->name << " is for " << target->kind->name
      << ", whose kernels are launched through the runtime: a plain function has none";
  return PlainMaker(function).Run(target);
}

}  // namespace tern::tir
