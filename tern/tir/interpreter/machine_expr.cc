// SPDX-License-Identifier: Apache-2.0
//
// Expressions.
#include <deque>

#include "tern/ffi/registry.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/visitor.h"
#include "tern/tir/argument_table.h"
#include "tern/tir/atomics.h"
#include "tern/tir/bulk_intrinsics.h"
#include "tern/tir/group_intrinsics.h"
#include "tern/tir/interpreter/intrinsic_reference.h"
#include "tern/tir/interpreter/machine_access.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/module_calls.h"
#include "tern/tir/print_call.h"

namespace tern::tir {
namespace {

// Runs `compute`; an error of arithmetic gets the place of `node`.
template <class F>
void AtPlaceOf(const ir::ExprNode* node, F&& compute) {
  try {
    compute();
  } catch (const Error& error) {
    TERN_THROW(ValueError) << ir::At(node->span) << error.message();
  }
}

}  // namespace

Value Machine::Eval(const Expr& expr) {
  return ir::DispatchExpr(expr.get(), [this](auto* node) { return EvalNode(node); });
}

// Most indices and extents are variables and constants.
int64_t Machine::EvalInt(const Expr& expr) {
  if (const auto* constant = expr.As<ir::IntImmNode>()) return constant->value;
  if (const auto* var = expr.As<VarNode>())
    if (const Value* value = frame_->vars.Find(var)) return value->i();
  return Eval(expr).i();
}

Value Machine::EvalNode(const ir::IntImmNode* node) { return Value::Int(node->dtype, node->value); }
Value Machine::EvalNode(const ir::FloatImmNode* node) {
  return Value::Float(node->dtype, node->value);
}
Value Machine::EvalNode(const ir::StringImmNode* node) {
  return Value::Handle(const_cast<char*>(node->value.c_str()));
}
Value Machine::EvalNode(const VarNode* node) {
  const Value* value = frame_->vars.Find(node);
  TERN_CHECK(value) << ir::At(node->span) << "variable " << node->name << " has no value";
  return *value;
}

template <ExprKind K>
Value Machine::EvalNode(const ir::BinaryNode<K>* node) {
  Value a = Eval(node->a);
  // The right side of && and || counts only where the left one leaves the answer open.
  if constexpr (K == ExprKind::kAnd || K == ExprKind::kOr)
    if (node->dtype.is_scalar() && a.i() == (K == ExprKind::kOr)) return a;
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
  if (condition.lanes() == 1) return Eval(condition.i() ? node->true_value : node->false_value);
  Value yes = Eval(node->true_value), no = Eval(node->false_value), out(node->dtype);
  for (int lane = 0; lane < out.lanes(); ++lane)
    out[lane] = condition[lane].i ? yes[lane] : no[lane];
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
      out[lane] = BinaryLane(ExprKind::kAdd, base.dtype, out[lane - 1], stride[0]);
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
  ForEachLane({node->buffer, node->indices, node->span, false, node->predicate},
              [&](int lane, ElementPlace at) { out[lane] = LoadLane(node->buffer->dtype, at); });
  return out;
}

// ---- Calls.

Value Machine::CallLaneWise(const ir::CallNode* node, const LaneFunction& reference) {
  std::vector<Value> values;
  for (const Expr& arg : node->args) values.push_back(Eval(arg));
  Value out(node->dtype);
  std::vector<Lane> lanes(values.size());
  AtPlaceOf(node, [&] {
    for (int lane = 0; lane < out.lanes(); ++lane) {
      for (size_t i = 0; i < values.size(); ++i) lanes[i] = values[i][lane];
      out[lane] = reference(values[0].dtype.element(), lanes.data());
    }
  });
  return out;
}

Value Machine::Reinterpret(const ir::CallNode* node) {
  Value value = Eval(node->args[0]), out(node->dtype);
  std::vector<char> bytes(static_cast<size_t>(out.dtype.bytes()));
  for (int lane = 0; lane < value.lanes(); ++lane)
    StoreLane(value.dtype, bytes.data() + lane * value.dtype.element().bytes(), value[lane]);
  for (int lane = 0; lane < out.lanes(); ++lane)
    out[lane] = LoadLane(out.dtype, bytes.data() + lane * out.dtype.element().bytes());
  return out;
}

// The view that tensor_in, tensor_out or tensor_view is, of memory of the host.
TensorArgument Machine::MakeTensorArgument(const ir::CallNode* node) {
  TensorArgument made;
  size_t extents = node->name == intrinsic::kTensorView ? kTensorViewExtents : 2;
  for (size_t i = extents; i < node->args.size(); ++i) made.shape.push_back(EvalInt(node->args[i]));
  made.view = {.data = Eval(node->args[1]).p(),
               .device = {kTernDeviceCpu, 0},
               .ndim = static_cast<int32_t>(made.shape.size()),
               .dtype = DataType::Parse(node->args[0].As<ir::StringImmNode>()->value)->raw(),
               .shape = made.shape.data(),
               .strides = nullptr,
               .byte_offset = 0};
  if (extents > 2) made.view.byte_offset = static_cast<uint64_t>(EvalInt(node->args[2]));
  return made;
}

Value Machine::CallRegistry(const ir::CallNode* node, size_t name_at) {
  const std::string& name = node->args[name_at].As<ir::StringImmNode>()->value;
  std::vector<ffi::Any> args;
  std::deque<TensorArgument> tensors;
  for (size_t i = name_at + 1; i < node->args.size(); ++i) {
    if (const auto* text = node->args[i].As<ir::StringImmNode>()) {
      args.emplace_back(text->value);
      continue;
    }
    const auto* call = node->args[i].As<ir::CallNode>();
    if (call && (IsTensorArgument(call) || call->name == intrinsic::kTensorView)) {
      tensors.push_back(MakeTensorArgument(call));
      args.emplace_back(static_cast<void*>(&tensors.back().view));
      continue;
    }
    Value value = Eval(node->args[i]);
    if (value.dtype.is_handle())
      args.emplace_back(value.p());
    else if (value.dtype.is_float())
      args.emplace_back(value[0].f);
    else if (value.dtype.is_bool())
      args.emplace_back(value.i() != 0);
    else
      args.emplace_back(value.i());
  }
  std::vector<ffi::AnyView> views(args.begin(), args.end());
  WithContext("calling " + name + " at " + node->span.str(),
              [&] { ffi::GetGlobal(name).CallPacked(views); });
  return Value(DataType::Void());
}

Value Machine::AddressOf(const ir::CallNode* node) {
  const auto* element = node->args[0].As<ir::BufferLoadNode>();
  AccessSite site = {element->buffer, element->indices, element->span, false};
  const View& view = FindView(site);
  int64_t offset = 0;
  for (size_t d = 0; d < site.indices.size(); ++d)
    AddIndex(site, view, d, EvalInt(site.indices[d]), &offset);
  return Value::Handle(view.data + offset * element->buffer->dtype.bytes());
}

Value Machine::RunAtomic(const ir::CallNode* node) {
  Atomic atomic = AtomicOf(node);
  std::vector<Value> operands;
  for (const Expr& operand : atomic.operands) operands.push_back(Eval(operand));
  DataType dtype = atomic.dtype();
  const LaneFunction* bits = FindIntrinsicReference(atomic.kind == AtomicKind::kAnd  ? "bit_and"
                                                    : atomic.kind == AtomicKind::kOr ? "bit_or"
                                                                                     : "bit_xor");
  auto update = [&](Lane old) {
    Lane x = operands[0][0], both[] = {old, x};
    switch (atomic.kind) {
      case AtomicKind::kAdd:
        return BinaryLane(ExprKind::kAdd, dtype, old, x);
      case AtomicKind::kMin:
        return BinaryLane(ExprKind::kMin, dtype, old, x);
      case AtomicKind::kMax:
        return BinaryLane(ExprKind::kMax, dtype, old, x);
      case AtomicKind::kExchange:
        return x;
      case AtomicKind::kCompareExchange:
        return old.i == x.i ? operands[1][0] : old;
      default:
        return (*bits)(dtype, both);
    }
  };
  Value old(dtype);
  AccessSite site = {atomic.element->buffer, atomic.element->indices, atomic.element->span, true};
  site.is_atomic = true;
  AtPlaceOf(node, [&] {
    ForEachLane(site, [&](int, ElementPlace place) {
      old[0] = LoadLane(dtype, place);
      StoreLane(dtype, place, update(old[0]));
    });
  });
  if (atomic.old)
    ForEachLane({atomic.old->buffer, atomic.old->indices, atomic.old->span, true},
                [&](int, ElementPlace place) { StoreLane(dtype, place, old[0]); });
  return Value(DataType::Void());
}

// At once; what is outside of the tensor is zero.
Value Machine::CopyBox(const ir::CallNode* node) {
  BulkCopy copy = BulkCopyOf(node);
  const auto* first = copy.first.As<ir::BufferLoadNode>();
  const View& view = FindView({first->buffer, first->indices, first->span, false});
  DataType dtype = first->buffer->dtype;
  std::vector<int64_t> shape, strides, at;
  for (size_t d = 0; d < copy.box.size(); ++d) {
    shape.push_back(EvalInt(copy.shape[d]));
    strides.push_back(EvalInt(copy.strides[d]));
    at.push_back(EvalInt(copy.at[d]));
  }
  Value box(node->dtype);
  for (int64_t i = 0; i < copy.elements(); ++i) {
    int64_t rest = i, offset = 0;
    bool is_inside = true;
    for (size_t d = copy.box.size(); d-- > 0; rest /= copy.box[d]) {
      int64_t place = at[d] + rest % copy.box[d];
      is_inside &= place >= 0 && place < shape[d];
      offset += place * strides[d];
    }
    if (is_inside) box[static_cast<int>(i)] = LoadLane(dtype, view.data + offset * dtype.bytes());
  }
  return box;
}

Value Machine::EvalNode(const ir::CallNode* node) {
  if (node->name == ir::kIfThenElse) return Eval(node->args[EvalInt(node->args[0]) ? 1 : 2]);
  if (node->name == intrinsic::kLaunchKernel) return LaunchKernel(node, 0, 1);
  if (node->name == intrinsic::kParallelFor) return ParallelFor(node);
  if (node->name == intrinsic::kAllocWorkspace || node->name == intrinsic::kFreeWorkspace)
    return CallWorkspace(node);
  if (node->name == intrinsic::kIsAligned) {
    auto address = reinterpret_cast<uintptr_t>(Eval(node->args[0]).p());
    return Value::Int(DataType::Bool(), address % EvalInt(node->args[1]) == 0);
  }
  if (node->name == intrinsic::kVscale) return Value::Int(node->dtype, kVscale);
  if (const LaneFunction* reference = FindIntrinsicReference(node->name))
    return CallLaneWise(node, *reference);
  if (node->name == intrinsic::kReinterpret) return Reinterpret(node);
  if (node->name == intrinsic::kCallPacked) return CallRegistry(node, 0);
  if (node->name == intrinsic::kPrint) {
    ir::Expr packed = PackedPrint(node);
    return CallRegistry(packed.As<ir::CallNode>(), 0);
  }
  if (node->name == intrinsic::kCheckArguments) {
    CheckArgumentsHere(static_cast<const TernAny*>(Eval(node->args[1]).p()),
                       static_cast<int32_t>(EvalInt(node->args[2])), Eval(node->args[3]).p(),
                       ReadTable(node), static_cast<int32_t>(EvalInt(node->args[4])));
    return Value(DataType::Void());
  }
  // call_import(env, name, device id, arguments...) of a kernel, or of a registered function.
  if (node->name == intrinsic::kCallImport)
    return module_->functions.count(node->args[1].As<ir::StringImmNode>()->value)
               ? LaunchKernel(node, 1, 3)
               : CallRegistry(node, 1);
  if (node->name == intrinsic::kAddressOf) return AddressOf(node);
  if (IsAtomic(node->name)) return RunAtomic(node);
  if (node->name == intrinsic::kCallExtern)
    TERN_THROW(RuntimeError) << ir::At(node->span) << "the interpreter cannot call the C function "
                             << node->args[0].As<ir::StringImmNode>()->value
                             << "; compile the program instead";
  if (node->name == intrinsic::kIsNull)
    return Value::Int(DataType::Bool(), Eval(node->args[0]).p() == nullptr);
  if (node->name == intrinsic::kPtrLessEqual)
    return Value::Int(DataType::Bool(), reinterpret_cast<uintptr_t>(Eval(node->args[0]).p()) <=
                                            reinterpret_cast<uintptr_t>(Eval(node->args[1]).p()));
  if (node->name == intrinsic::kPtrAdd || node->name == intrinsic::kPtrLoad) {
    char* place = static_cast<char*>(Eval(node->args[0]).p()) + EvalInt(node->args[1]);
    if (node->name == intrinsic::kPtrAdd) return Value::Handle(place);
    Value out(node->dtype);
    out[0] = LoadLane(node->dtype, place);
    return out;
  }
  if (node->name == intrinsic::kAsyncCommit) {
    under_way_[task_].copies.Commit();
    return Value(DataType::Void());
  }
  if (node->name == intrinsic::kAsyncWait || node->name == intrinsic::kMatrixWait) {
    auto& [copies, products] = under_way_[task_];
    EndAsync(node->name == intrinsic::kAsyncWait ? &copies : &products, EvalInt(node->args[0]));
    return Value(DataType::Void());
  }
  if (node->name == intrinsic::kBulkCopy) return CopyBox(node);
  if (IsWarpOperation(node) && thread_) {
    if (auto it = thread_->exchanged.find(node); it != thread_->exchanged.end()) return it->second;
  }
  if (node->name == intrinsic::kLaneIndex && thread_)
    return Value::Int(node->dtype, thread_->number % warp_size_);
  TERN_THROW(RuntimeError) << ir::At(node->span) << "the interpreter cannot call " << node->name;
}

}  // namespace tern::tir
