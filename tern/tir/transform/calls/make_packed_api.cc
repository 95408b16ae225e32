// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/calls/make_packed_api.h"
#include "tern/tir/print_call.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <unordered_set>

#include "tern/ffi/abi_layout.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/written_memory.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/module_calls.h"
#include "tern/tir/text.h"
#include "tern/tir/transform/calls/kernel_offsets.h"
#include "tern/tir/transform/memory/lower_allocations.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

Expr PtrLoad(DataType dtype, Expr pointer, int64_t offset) {
  return ir::CallNode::Make(intrinsic::kPtrLoad, {std::move(pointer), offset}, dtype);
}
Expr PtrAdd(Expr pointer, Expr offset) {
  return ir::CallNode::Make(intrinsic::kPtrAdd, {std::move(pointer), std::move(offset)});
}
Expr LessEqual(Expr a, Expr b) {
  return ir::CallNode::Make(intrinsic::kPtrLessEqual, {std::move(a), std::move(b)});
}
Expr IsNull(Expr pointer) { return ir::CallNode::Make(intrinsic::kIsNull, {std::move(pointer)}); }
Expr IsMultiple(const Expr& bytes, int64_t of) {
  return ir::TruncModNode::Make(bytes, Expr(of)) == Expr(0);
}
Expr Text(std::string text) { return ir::StringImmNode::Make(std::move(text)); }
Expr Int32(int64_t value) { return ir::IntImmNode::Make(DataType::Int(32), value); }

// Of tensors on a device whose memory has handles, by their handles.
struct HandleOffsets {
  const KernelOffsets& kernels;
  std::unordered_map<const VarNode*, Expr> bytes, elements;
};

// launch_kernel(name, ...) -> call_import(env, name, device_id, ...)
// call_packed(name, ...) -> call_import(env, name, ...)
// call_function(name, ...) -> call_entry(env, name, ...)
// tensor_in(dtype, p, ...) -> tensor_view(dtype, p, offset, device_type, device_id, ...)
class CallLowerer : public StmtMutator {
 public:
  CallLowerer(WorkspaceSource source, bool has_addresses, const HandleOffsets& offsets)
      : source_(std::move(source)), has_addresses_(has_addresses), offsets_(offsets) {}

 private:
  using StmtMutator::MutateNode;
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    if (node->name == intrinsic::kIsAligned) return LowerIsAligned(node, self);
    if (IsTensorArgument(node)) return LowerTensor(node);
    if (node->name == intrinsic::kPrint) return Mutate(PackedPrint(node));
    bool launches = node->name == intrinsic::kLaunchKernel;
    bool is_inside = node->name == intrinsic::kCallFunction;
    if (!launches && !is_inside && node->name != intrinsic::kCallPacked)
      return MutateChildren(node, self);
    std::vector<Expr> args{source_.env, node->args[0]};
    if (launches) args.push_back(source_.device_id);
    for (size_t i = 1; i < node->args.size(); ++i)
      args.push_back(launches ? node->args[i] : Mutate(node->args[i]));
    if (launches) InsertOffsets(node, &args);
    return ir::CallNode::Make(is_inside ? intrinsic::kCallEntry : intrinsic::kCallImport, args,
                              DataType::Void(), node->span);
  }

  // A handle cannot be moved: the view has the offset.
  Expr LowerTensor(const ir::CallNode* node) {
    Expr address = Mutate(node->args[1]), offset = 0;
    const auto* element = address.As<ir::CallNode>();
    if (!has_addresses_ && element && element->name == intrinsic::kAddressOf) {
      const auto* load = element->args[0].As<ir::BufferLoadNode>();
      const Var& data = load->buffer->data;
      offset = load->indices[0] * Expr(static_cast<int64_t>(load->buffer->dtype.bytes()));
      if (auto it = offsets_.bytes.find(data.node()); it != offsets_.bytes.end())
        offset = it->second + offset;
      address = data;
    }
    std::vector<Expr> args{node->args[0], address, offset, Int32(source_.device_type),
                           source_.device_id};
    args.insert(args.end(), node->args.begin() + 2, node->args.end());
    return ir::CallNode::Make(intrinsic::kTensorView, args, DataType::Void(), node->span);
  }

  // Between the kernel's other arguments and the extents.
  void InsertOffsets(const ir::CallNode* launch, std::vector<Expr>* args) const {
    auto it = offsets_.kernels.find(launch->args[0].As<ir::StringImmNode>()->value);
    if (it == offsets_.kernels.end()) return;
    std::vector<Expr> values = OffsetArguments(launch, it->second.tensors, offsets_.elements);
    args->insert(args->begin() + 3 + static_cast<std::ptrdiff_t>(it->second.num_params),
                 values.begin(), values.end());
  }

  // A device aligns its memory to all that is asked for; what is seen of it starts at the offset.
  Expr LowerIsAligned(const ir::CallNode* node, const Expr& self) {
    auto it = offsets_.bytes.find(node->args[0].As<VarNode>());
    if (it == offsets_.bytes.end()) return MutateChildren(node, self);
    return IsMultiple(it->second, *ir::AsConstInt(node->args[1]));
  }

  WorkspaceSource source_;
  bool has_addresses_;
  const HandleOffsets& offsets_;
};

// Builds the statements before the body. They nest (a let holds what follows), so they are kept as
// functions from the rest to the whole and applied at the end.
class Packer {
 public:
  Packer(const ir::IRModule& module, PrimFunc function, const target::TargetKind& kind,
         const target::Target& host, const KernelOffsets& kernels)
      : module_(module),
        function_(std::move(function)),
        device_(kind.device),
        device_type_(kind.device_type),
        has_addresses_(kind.device_type == kTernDeviceCpu || kind.has_addresses),
        layout_(target::PointerBytes(host)),
        offsets_{kernels, {}, {}} {}

  PrimFunc Run(const target::Target& host) {
    const std::vector<Param>& params = function_->params;
    Check(
        num_args_ == Int32(static_cast<int64_t>(params.size())), "TypeError",
        {Text(function_->name + ": expected " + std::to_string(params.size()) + " arguments, got "),
         num_args_});
    for (size_t i = 0; i < params.size(); ++i)
      if (!params[i].is_tensor()) UnpackScalar(i, params[i]);
    std::vector<std::pair<size_t, Var>> views;
    for (size_t i = 0; i < params.size(); ++i)
      if (params[i].is_tensor()) views.emplace_back(i, UnpackTensor(i, params[i]));
    // A shape may use extents that a later tensor defines.
    for (const auto& [i, view] : views) UnpackData(i, params[i], view);
    // Extents that are expressions, or variables already known, are compared once all variables
    // are.
    for (const auto& check : late_checks_) check();
    bool distinct = TensorsAreDistinct(function_);
    if (distinct) CheckOverlaps();

    Expr device_id = device_id_ ? device_id_ : Int32(0);
    WorkspaceSource source{env_, device_type_, device_id};
    Stmt body = CallLowerer(source, has_addresses_, offsets_).Mutate(function_->body);
    body = LowerAllocations(body, source, function_->name);
    for (size_t i = prologue_.size(); i-- > 0;) body = prologue_[i](body);

    ir::Attrs attrs = function_->attrs;
    attrs[attr::kCallingConvention] = CallingConventionName(CallingConvention::kPacked);
    attrs[attr::kTarget] = host;
    if (!distinct) attrs[attr::kMayAlias] = true;
    if (device_type_ != kTernDeviceCpu)
      attrs[attr::kDeviceType] = static_cast<int64_t>(device_type_);
    return PrimFunc::Make(function_->name,
                          {{env_, {}}, {args_, {}}, {num_args_, {}}, {result_, {}}}, body,
                          std::move(attrs), function_->span);
  }

 private:
  void Let(const Var& var, const Expr& value) {
    prologue_.push_back([=](Stmt rest) { return LetStmtNode::Make(var, value, rest, var.span()); });
  }
  Var LetNew(const std::string& name, const Expr& value) {
    Var var(name, value.dtype());
    Let(var, value);
    return var;
  }
  void Check(const Expr& condition, const char* kind, const std::vector<Expr>& message) {
    prologue_.push_back([=, span = function_->span](Stmt rest) {
      return SeqNode::Make({AssertNode::Make(condition, kind, message, span), rest}, span);
    });
  }

  // "matmul: argument 1 (B): expected "
  std::string Expected(size_t i, const Param& param) const {
    return function_->name + ": argument " + std::to_string(i) + " (" + param.name() +
           "): expected ";
  }
  int64_t ArgOffset(size_t i) const { return static_cast<int64_t>(i * sizeof(TernAny)); }
  // An assert on argument i that says what was expected and what came.
  void CheckArg(const Expr& condition, const char* kind, size_t i, const std::string& expected) {
    Check(condition, kind, {Text(expected + ", got "), PtrAdd(args_, ArgOffset(i))});
  }

  Var TypeIndex(size_t i, const Param& param) {
    return LetNew(param.name() + ".type", PtrLoad(DataType::Int(32), args_, ArgOffset(i)));
  }

  void UnpackScalar(size_t i, const Param& param) {
    DataType dtype = param.var.dtype();
    Var type = TypeIndex(i, param);
    int64_t payload = ArgOffset(i) + static_cast<int64_t>(offsetof(TernAny, v_int));
    std::string expected = Expected(i, param) + dtype.str();
    Expr is_integer = type == Int32(kTernInt) || type == Int32(kTernBool);
    known_.insert(param.var.node());
    if (dtype.is_handle()) {
      CheckArg(type == Int32(kTernOpaquePtr) || type == Int32(kTernNone), "TypeError", i, expected);
      Let(param.var, PtrLoad(dtype, args_, payload));
    } else if (dtype.is_float()) {
      CheckArg(is_integer || type == Int32(kTernFloat), "TypeError", i, expected);
      Expr from_int =
          ir::CastNode::Make(DataType::Float(64), PtrLoad(DataType::Int(64), args_, payload));
      Expr given = ir::SelectNode::Make(type == Int32(kTernFloat),
                                        PtrLoad(DataType::Float(64), args_, payload), from_int);
      Let(param.var, ir::CastNode::Make(dtype, given));
    } else {
      CheckArg(is_integer, "TypeError", i, expected);
      Var given = LetNew(param.name() + ".value", PtrLoad(DataType::Int(64), args_, payload));
      Expr converted = ir::CastNode::Make(dtype, given);
      Let(param.var, converted);
      if (dtype.bits() < 64 && !dtype.is_bool())
        CheckArg(ir::CastNode::Make(DataType::Int(64), param.var) == given, "ValueError", i,
                 expected + ", which the value fits in");
    }
  }

  // All but the data: the tensor's view, with its shape.
  Var UnpackTensor(size_t i, const Param& param) {
    const BufferNode* buffer = param.buffer.get();
    const std::string& name = buffer->name;
    std::string expected = Expected(i, param) + buffer->dtype.str() + " tensor of rank " +
                           std::to_string(buffer->shape.size());
    Var type = TypeIndex(i, param);
    CheckArg(type == Int32(kTernTensorView) || type == Int32(kTernTensor), "TypeError", i,
             expected);
    // A tensor object holds the view right behind its header.
    Expr skip =
        ir::SelectNode::Make(type == Int32(kTernTensor), Expr(ffi::kObjectHeaderBytes), Expr(0));
    Expr pointer = PtrLoad(DataType::Handle(), args_,
                           ArgOffset(i) + static_cast<int64_t>(offsetof(TernAny, v_ptr)));
    Var view = LetNew(name + ".view", PtrAdd(pointer, skip));

    TernDType raw = buffer->dtype.raw();
    auto field = [&](DataType dtype, int64_t offset) { return PtrLoad(dtype, view, offset); };
    // Code, bits and lanes at once.
    Expr right_type =
        field(DataType::UInt(32), layout_.dtype()) ==
        ir::IntImmNode::Make(DataType::UInt(32), raw.code | raw.bits << 8 | raw.lanes << 16);
    Expr right_rank = field(DataType::Int(32), layout_.ndim()) ==
                      Int32(static_cast<int64_t>(buffer->shape.size()));
    CheckArg(right_type && right_rank, "TypeError", i, expected);
    CheckDevice(i, param, view);
    UnpackShape(i, param, view);
    return view;
  }

  // All tensors are on one device of the target's kind.
  void CheckDevice(size_t i, const Param& param, const Var& view) {
    Expr type = PtrLoad(DataType::Int(32), view, layout_.device());
    Expr id = PtrLoad(DataType::Int(32), view,
                      layout_.device() + static_cast<int64_t>(offsetof(TernDevice, id)));
    CheckArg(type == Int32(device_type_), "ValueError", i,
             Expected(i, param) + "a tensor on " + device_);
    if (device_type_ == kTernDeviceCpu) return;
    if (!device_id_)
      device_id_ = LetNew("device_id", id);
    else
      CheckArg(id == device_id_, "ValueError", i,
               Expected(i, param) + "a tensor on the device of the others");
  }

  // Variables that a shape or strides define are bound; the rest is compared.
  void UnpackShape(size_t i, const Param& param, const Var& view) {
    const BufferNode* buffer = param.buffer.get();
    if (buffer->shape.empty()) return;
    Var shape = LetNew(buffer->name + ".shape", PtrLoad(DataType::Handle(), view, layout_.shape()));
    for (size_t d = 0; d < buffer->shape.size(); ++d)
      BindOrCompare(i, param, buffer->shape[d],
                    PtrLoad(DataType::Int(64), shape, static_cast<int64_t>(8 * d)),
                    "extent " + std::to_string(d));

    Var strides =
        LetNew(buffer->name + ".strides", PtrLoad(DataType::Handle(), view, layout_.strides()));
    if (buffer->strides.empty()) {
      late_checks_.push_back([=, this] { CheckCompact(i, param, strides); });
      return;
    }
    Check(ir::NotNode::Make(IsNull(strides)), "ValueError",
          {Text(Expected(i, param) + "strides, got a tensor without")});
    for (size_t d = 0; d < buffer->strides.size(); ++d)
      BindOrCompare(i, param, buffer->strides[d],
                    PtrLoad(DataType::Int(64), strides, static_cast<int64_t>(8 * d)),
                    "stride " + std::to_string(d));
  }

  void BindOrCompare(size_t i, const Param& param, const Expr& declared, const Expr& actual,
                     const std::string& what) {
    const auto* var = declared.As<VarNode>();
    if (var && known_.insert(var).second) {
      Let(Var(var), actual);
      return;
    }
    late_checks_.push_back([=, this] {
      // "expected extent 0 to be k = 3, got float32 tensor of shape (4, 5)"
      std::string name = ir::AsConstInt(declared) ? "" : Print(declared) + " = ";
      Check(declared == actual, "ValueError",
            {Text(Expected(i, param) + what + " to be " + name), declared, Text(", got "),
             PtrAdd(args_, ArgOffset(i))});
    });
  }

  // No strides, or those of a compact tensor; an extent of 1 makes its stride irrelevant, an extent
  // of 0 all of them.
  void CheckCompact(size_t i, const Param& param, const Var& strides) {
    const BufferNode* buffer = param.buffer.get();
    Expr compact, step = 1;
    for (size_t d = buffer->shape.size(); d-- > 0;) {
      Expr stride = PtrLoad(DataType::Int(64), strides, static_cast<int64_t>(8 * d));
      Expr fits = buffer->shape[d] == Expr(1) || stride == step;
      compact = compact ? compact && fits : fits;
      step = step * buffer->shape[d];
    }
    CheckArg(IsNull(strides) || step == Expr(0) || compact, "ValueError", i,
             Expected(i, param) + "a compact tensor");
  }

  void UnpackData(size_t i, const Param& param, const Var& view) {
    Expr data = PtrLoad(DataType::Handle(), view, layout_.data());
    Expr offset = PtrLoad(DataType::Int(64), view, layout_.byte_offset());
    if (has_addresses_) {
      Let(param.var, PtrAdd(data, offset));
    } else {
      Let(param.var, data);
      NoteOffset(i, param, LetNew(param.name() + ".byte_offset", offset));
    }
    prologue_.push_back([buffer = param.buffer](Stmt rest) {
      return DeclBufferNode::Make(buffer, rest, buffer->span);
    });
    CheckAlignment(i, param);
  }

  // A handle cannot be moved, so kernels are told where the first element is.
  void NoteOffset(size_t i, const Param& param, const Var& bytes) {
    if (GivenToExternKernels(module_, function_).contains(param.var.node()))
      CheckArg(bytes == Expr(0), "ValueError", i,
               Expected(i, param) +
                   "a tensor without byte offset (a kernel that is given as code takes it)");
    offsets_.bytes.emplace(param.var.node(), bytes);
    offsets_.elements.emplace(
        param.var.node(),
        ir::TruncDivNode::Make(
            bytes, Expr(static_cast<int64_t>(std::max(param.buffer->dtype.bytes(), 1)))));
  }

  // As declared; on a device to its elements at least.
  void CheckAlignment(size_t i, const Param& param) {
    int64_t alignment = param.buffer->alignment;
    if (device_type_ != kTernDeviceCpu)
      alignment = std::max<int64_t>(alignment, param.buffer->dtype.bytes());
    if (alignment <= (device_type_ == kTernDeviceCpu ? 0 : 1)) return;
    auto it = offsets_.bytes.find(param.var.node());
    Expr aligned = it != offsets_.bytes.end()
                       ? IsMultiple(it->second, alignment)
                       : ir::CallNode::Make(intrinsic::kIsAligned, {param.var, Expr(alignment)});
    CheckArg(aligned, "ValueError", i,
             Expected(i, param) + "data aligned to " + std::to_string(alignment) + " bytes");
  }

  // Memory that is written lies apart from that of all other tensors.
  void CheckOverlaps() {
    WrittenMemory written = FindWrittenMemory(module_, function_);
    auto may_write = [&](const Param& param) {
      return written.stored.count(param.var.node()) || written.given.count(param.var.node());
    };
    const std::vector<Param>& params = function_->params;
    for (size_t i = 0; i < params.size(); ++i)
      for (size_t j = i + 1; j < params.size(); ++j)
        if (params[i].is_tensor() && params[j].is_tensor() &&
            (may_write(params[i]) || may_write(params[j])))
          CheckApart(i, params[i], j, params[j]);
  }

  // Of the memory of a tensor, from its lowest to its highest element; 0 where it has none.
  static Expr BytesOf(const Param& param) {
    const BufferNode* buffer = param.buffer.get();
    Expr elements, reach = 1;
    for (size_t d = 0; d < buffer->shape.size(); ++d) {
      elements = elements ? elements * buffer->shape[d] : buffer->shape[d];
      if (!buffer->strides.empty())
        reach =
            reach + Distance(buffer, d, ir::MaxNode::Make) - Distance(buffer, d, ir::MinNode::Make);
    }
    if (!elements) elements = 1;
    if (!buffer->strides.empty())
      elements = ir::SelectNode::Make(elements == Expr(0), Expr(0), reach);
    return elements * Expr(static_cast<int64_t>(buffer->dtype.bytes()));
  }
  // An address, or a place in the memory of a handle.
  Expr FirstByteOf(const Param& param) const {
    const BufferNode* buffer = param.buffer.get();
    Expr start = has_addresses_ ? Expr(param.var) : offsets_.bytes.at(param.var.node());
    if (buffer->strides.empty() && !buffer->offset) return start;
    Expr first = buffer->offset ? buffer->offset : Expr(0);
    for (size_t d = 0; d < buffer->strides.size(); ++d)
      first = first + Distance(buffer, d, ir::MinNode::Make);
    return Moved(start, first * Expr(static_cast<int64_t>(buffer->dtype.bytes())));
  }
  Expr Moved(const Expr& place, const Expr& bytes) const {
    return has_addresses_ ? PtrAdd(place, bytes) : place + bytes;
  }
  // How far an axis reaches to one side.
  static Expr Distance(const BufferNode* buffer, size_t d, Expr (*side)(Expr, Expr, ir::Span)) {
    return side((buffer->shape[d] - Expr(1)) * buffer->strides[d], Expr(0), {});
  }

  Expr IsBefore(const Param& a, const Param& b) const {
    Expr end = Moved(FirstByteOf(a), BytesOf(a)), first = FirstByteOf(b);
    return has_addresses_ ? LessEqual(end, first) : ir::LENode::Make(end, first);
  }

  void CheckApart(size_t i, const Param& a, size_t j, const Param& b) {
    Expr apart = BytesOf(a) == Expr(0) || BytesOf(b) == Expr(0) || IsBefore(a, b) || IsBefore(b, a);
    // Two handles are two memories.
    if (!has_addresses_)
      apart = ir::NotNode::Make(LessEqual(a.var, b.var) && LessEqual(b.var, a.var)) || apart;
    Check(
        apart, "ValueError",
        {Text(Expected(j, b) + "memory apart from that of argument " + std::to_string(i) + " (" +
              a.name() + "); a function with the attribute may_alias takes tensors that overlap")});
  }

  const ir::IRModule& module_;
  PrimFunc function_;
  std::string device_;
  int32_t device_type_;
  bool has_addresses_;
  ffi::AbiLayout layout_;
  HandleOffsets offsets_;
  Var env_{"env", DataType::Handle()}, args_{"args", DataType::Handle()},
      num_args_{"num_args", DataType::Int(32)}, result_{"result", DataType::Handle()};
  Expr device_id_;
  std::unordered_set<const VarNode*> known_;
  std::vector<std::function<Stmt(Stmt)>> prologue_;
  std::vector<std::function<void()>> late_checks_;
};

PrimFunc Pack(const ir::IRModule& module, const PrimFunc& function, const KernelOffsets& kernels) {
  if (auto it = kernels.find(function->name); it != kernels.end())
    return WithOffsets(function, it->second.tensors);
  if (function->attrs.count(attr::kCallingConvention)) return function;
  auto it = function->attrs.find(attr::kTarget);
  TERN_CHECK(it != function->attrs.end()) << "function " << function->name << " has no target";
  target::Target target = it->second.As<target::Target>();
  target::Target host = target->is_device() ? target->host : target;
  return Packer(module, function, *target->kind, host, kernels).Run(host);
}

}  // namespace

ir::IRModule MakePackedApi(const ir::IRModule& module) {
  KernelOffsets kernels = FindKernelOffsets(module);
  return MapFunctions(module,
                      [&](const PrimFunc& function) { return Pack(module, function, kernels); });
}

}  // namespace tern::tir
