// SPDX-License-Identifier: Apache-2.0
//
// Expressions.
#include "tern/ir/visitor.h"
#include "tern/tir/interpreter/machine_access.h"
#include "tern/tir/intrinsics.h"

namespace tern::tir {
namespace {

// Runs `compute`; an error of arithmetic gets the place of `node`.
template <class F>
void AtPlaceOf(const ir::ExprNode* node, F&& compute) {
  try {
    compute();
  } catch (const Error& error) {
    TERN_THROW(ValueError) << node->span.str() << ": " << error.message();
  }
}

}  // namespace

Value Machine::Eval(const Expr& expr) {
  return ir::DispatchExpr(expr.get(), [this](auto* node) { return EvalNode(node); });
}

Value Machine::EvalNode(const ir::IntImmNode* node) { return Value::Int(node->dtype, node->value); }
Value Machine::EvalNode(const ir::FloatImmNode* node) {
  return Value::Float(node->dtype, node->value);
}
Value Machine::EvalNode(const ir::StringImmNode* node) {
  return Value::Handle(const_cast<char*>(node->value.c_str()));
}
Value Machine::EvalNode(const VarNode* node) {
  auto it = frame_->vars.find(node);
  TERN_CHECK(it != frame_->vars.end())
      << node->span.str() << ": variable " << node->name << " has no value";
  return it->second;
}

template <NodeKind K>
Value Machine::EvalNode(const ir::BinaryNode<K>* node) {
  Value a = Eval(node->a);
  // The right side of && and || counts only where the left one leaves the answer open.
  if constexpr (K == NodeKind::kAnd || K == NodeKind::kOr)
    if (node->dtype.is_scalar() && a.i() == (K == NodeKind::kOr)) return a;
  Value b = Eval(node->b), out(node->dtype);
  AtPlaceOf(node, [&] {
    for (int lane = 0; lane < out.lanes(); ++lane)
      out[lane] = BinaryLane(K, a.dtype, a[lane], b[lane]);
  });
  return out;
}

Value Machine::EvalNode(const ir::NotNode* node) {
  Value out = Eval(node->a);
  for (int lane = 0; lane < out.lanes(); ++lane) out[lane].i = !out[lane].i;
  return out;
}

Value Machine::EvalNode(const ir::SelectNode* node) {
  Value condition = Eval(node->condition);
  Value yes = Eval(node->true_value), no = Eval(node->false_value), out(node->dtype);
  for (int lane = 0; lane < out.lanes(); ++lane)
    out[lane] = condition[condition.lanes() == 1 ? 0 : lane].i ? yes[lane] : no[lane];
  return out;
}

Value Machine::EvalNode(const ir::CastNode* node) {
  Value value = Eval(node->value), out(node->dtype);
  AtPlaceOf(node, [&] {
    for (int lane = 0; lane < out.lanes(); ++lane)
      out[lane] = CastLane(value.dtype, out.dtype, value[lane]);
  });
  return out;
}

Value Machine::EvalNode(const ir::RampNode* node) {
  Value base = Eval(node->base), stride = Eval(node->stride), out(node->dtype);
  // Each lane from the one before: only values that are in the ramp can overflow.
  out[0] = base[0];
  AtPlaceOf(node, [&] {
    for (int lane = 1; lane < out.lanes(); ++lane)
      out[lane] = BinaryLane(NodeKind::kAdd, base.dtype, out[lane - 1], stride[0]);
  });
  return out;
}

Value Machine::EvalNode(const ir::BroadcastNode* node) {
  Value value = Eval(node->value), out(node->dtype);
  for (int lane = 0; lane < out.lanes(); ++lane) out[lane] = value[0];
  return out;
}

Value Machine::EvalNode(const ir::ShuffleNode* node) {
  std::vector<Lane> lanes;
  for (const Expr& vector : node->vectors) {
    Value value = Eval(vector);
    for (int lane = 0; lane < value.lanes(); ++lane) lanes.push_back(value[lane]);
  }
  Value out(node->dtype);
  for (int lane = 0; lane < out.lanes(); ++lane) out[lane] = lanes[node->indices[lane]];
  return out;
}

Value Machine::EvalNode(const ir::LetNode* node) {
  frame_->vars[node->var.node()] = Eval(node->value);
  return Eval(node->body);
}

Value Machine::EvalNode(const ir::BufferLoadNode* node) {
  Value out(node->dtype);
  ForEachLane({node->buffer, node->indices, node->span, false},
              [&](int lane, char* memory) { out[lane] = LoadLane(node->buffer->dtype, memory); });
  return out;
}

Value Machine::EvalNode(const ir::CallNode* node) {
  if (node->name == intrinsic::kLaunchKernel) return LaunchKernel(node);
  if (node->name == intrinsic::kAllocWorkspace || node->name == intrinsic::kFreeWorkspace)
    return CallWorkspace(node);
  if (node->name == intrinsic::kIsAligned) {
    auto address = reinterpret_cast<uintptr_t>(Eval(node->args[0]).p());
    return Value::Int(DataType::Bool(), address % EvalInt(node->args[1]) == 0);
  }
  if (node->name == intrinsic::kVscale) return Value::Int(node->dtype, kVscale);
  if (node->name == intrinsic::kIsNull)
    return Value::Int(DataType::Bool(), Eval(node->args[0]).p() == nullptr);
  if (node->name == intrinsic::kPtrAdd || node->name == intrinsic::kPtrLoad) {
    char* place = static_cast<char*>(Eval(node->args[0]).p()) + EvalInt(node->args[1]);
    if (node->name == intrinsic::kPtrAdd) return Value::Handle(place);
    Value out(node->dtype);
    out[0] = LoadLane(node->dtype, place);
    return out;
  }
  TERN_THROW(RuntimeError) << node->span.str() << ": the interpreter cannot call " << node->name;
}

}  // namespace tern::tir
