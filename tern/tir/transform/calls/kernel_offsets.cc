// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/calls/kernel_offsets.h"

#include <functional>

#include "tern/arith/linear_sum.h"
#include "tern/ir/diagnostic.h"
#include "tern/target/target.h"
#include "tern/tir/extern_kernel.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// Whether its tensors are on a device whose memory has handles.
bool TakesHandles(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  if (it == function->attrs.end() || function->attrs.count(attr::kCallingConvention)) return false;
  target::Target target = it->second.As<target::Target>();
  return target->is_device() && !target->kind->has_addresses;
}

void ForEachLaunch(const PrimFunc& function,
                   const std::function<void(const ir::CallNode*, const std::string&)>& f) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ir::CallNode* node) override {
      if (node->name == intrinsic::kLaunchKernel)
        (*f)(node, node->args[0].As<ir::StringImmNode>()->value);
      VisitChildren(node);
    }
    const std::function<void(const ir::CallNode*, const std::string&)>* f = nullptr;
  } scan;
  scan.f = &f;
  scan.Visit(function->body);
}

bool IsTensorOf(const PrimFunc& function, const Expr& arg) {
  for (const Param& param : function->params)
    if (param.is_tensor() && param.var.same(arg)) return true;
  return false;
}

class AccessMover : public StmtMutator {
 public:
  explicit AccessMover(const PrimFunc& kernel) : kernel_(kernel) {}

  // Accesses to the memory of the parameter are moved by the result.
  Var Move(const Param& param) {
    Var offset(param.buffer->name + "_offset", DataType::Int(64), param.var.span());
    moved_.emplace(param.var.node(), Moved{offset, param.buffer->dtype.bytes()});
    return offset;
  }

 private:
  struct Moved {
    Var offset;
    int64_t bytes;  // of an element
  };
  using StmtMutator::MutateNode;

  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    Expr load = MutateChildren(node, self);
    const auto* changed = load.As<ir::BufferLoadNode>();
    Expr offset = OffsetOf(node->buffer);
    if (!offset) return load;
    return ir::BufferLoadNode::Make(changed->buffer, {MoveIndex(changed->indices[0], offset)},
                                    node->span, changed->predicate);
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    Stmt store = MutateChildren(node, self);
    const auto* changed = store.As<BufferStoreNode>();
    Expr offset = OffsetOf(node->buffer);
    if (!offset) return store;
    return BufferStoreNode::Make(changed->buffer, {MoveIndex(changed->indices[0], offset)},
                                 changed->value, node->span, changed->predicate);
  }

  // A ramp stays one: code generators look for it. Offsets are int64, indices any integers.
  static Expr MoveIndex(const Expr& index, const Expr& offset) {
    int64_t lanes = index.dtype().lanes();
    if (const auto* ramp = index.As<ir::RampNode>())
      return ir::RampNode::Make(offset + arith::AsInt64(ramp->base), arith::AsInt64(ramp->stride),
                                lanes);
    if (index.dtype().is_scalar()) return offset + arith::AsInt64(index);
    Expr wide = ir::CastNode::Make(offset.dtype().with_lanes(static_cast<int>(lanes)), index);
    return ir::BroadcastNode::Make(offset, lanes) + wide;
  }

  // In elements of the buffer, which may be another look at a parameter's memory; null where it is
  // none's.
  Expr OffsetOf(const Buffer& buffer) const {
    auto it = moved_.find(buffer->data.node());
    if (it == moved_.end()) return {};
    int64_t bytes = buffer->dtype.bytes();
    if (it->second.bytes == bytes) return it->second.offset;
    if (it->second.bytes % bytes)
      TERN_THROW(ValueError) << ir::At(buffer->span) << "kernel " << kernel_->name
                             << " sees memory of " << it->second.bytes << "-byte elements as "
                             << buffer->dtype.str()
                             << ", whose places cannot be told where a tensor has an offset";
    return it->second.offset * Expr(it->second.bytes / bytes);
  }

  const PrimFunc& kernel_;
  std::unordered_map<const VarNode*, Moved> moved_;
};

}  // namespace

KernelOffsets FindKernelOffsets(const ir::IRModule& module) {
  KernelOffsets offsets;
  for (const auto& [name, base] : module->functions) {
    PrimFunc function = IfPrimFunc(base);
    if (!function || !TakesHandles(function)) continue;
    ForEachLaunch(function, [&](const ir::CallNode* launch, const std::string& kernel) {
      auto it = module->functions.find(kernel);
      PrimFunc launched = it == module->functions.end() ? PrimFunc() : IfPrimFunc(it->second);
      if (!launched) return;
      size_t count = launched->params.size();
      for (size_t i = 0; i < count; ++i)
        if (IsTensorOf(function, launch->args[1 + i])) {
          offsets[kernel].tensors.insert(i);
          offsets[kernel].num_params = count;
        }
    });
  }
  return offsets;
}

PrimFunc WithOffsets(const PrimFunc& kernel, const std::set<size_t>& params) {
  AccessMover mover(kernel);
  std::vector<Param> all = kernel->params;
  for (size_t i : params) all.push_back({mover.Move(kernel->params[i]), {}});
  return PrimFunc::Make(kernel->name, std::move(all), mover.Mutate(kernel->body), kernel->attrs,
                        kernel->span);
}

std::vector<Expr> OffsetArguments(const ir::CallNode* launch, const std::set<size_t>& params,
                                  const std::unordered_map<const VarNode*, Expr>& offsets) {
  std::vector<Expr> values;
  for (size_t i : params) {
    const auto* var = launch->args[1 + i].As<VarNode>();
    auto it = offsets.find(var);
    values.push_back(it == offsets.end() ? Expr(0) : it->second);
  }
  return values;
}

std::set<const VarNode*> GivenToExternKernels(const ir::IRModule& module,
                                              const PrimFunc& function) {
  std::set<const VarNode*> given;
  ForEachLaunch(function, [&](const ir::CallNode* launch, const std::string& kernel) {
    auto it = module->functions.find(kernel);
    if (it == module->functions.end() || !AsExternKernel(it->second)) return;
    for (const Expr& arg : launch->args)
      if (IsTensorOf(function, arg)) given.insert(arg.As<VarNode>());
  });
  return given;
}

}  // namespace tern::tir
