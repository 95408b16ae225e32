// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/calls/make_packed_api.h"
#include "tern/tir/print_call.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <unordered_map>

#include "tern/target/target.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/written_memory.h"
#include "tern/tir/argument_table.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/module_calls.h"
#include "tern/tir/transform/calls/kernel_offsets.h"
#include "tern/tir/transform/memory/lower_allocations.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

Expr PtrLoad(DataType dtype, Expr pointer, int64_t offset) {
  return ir::CallNode::Make(intrinsic::kPtrLoad, {std::move(pointer), offset}, dtype);
}
Expr IsMultiple(const Expr& bytes, int64_t of) {
  return ir::TruncModNode::Make(bytes, Expr(of)) == Expr(0);
}
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
         const KernelOffsets& kernels)
      : module_(module),
        function_(std::move(function)),
        device_(kind.device),
        device_type_(kind.device_type),
        has_addresses_(kind.device_type == kTernDeviceCpu || kind.has_addresses),
        offsets_{kernels, {}, {}} {}

  PrimFunc Run(const target::Target& host) {
    bool distinct = TensorsAreDistinct(function_);
    table_ = MakeArgumentTable(function_, FindFacts(distinct));
    CheckArguments();
    for (size_t i = 0; i < function_->params.size(); ++i)
      if (function_->params[i].is_tensor()) UnpackData(i, function_->params[i]);

    Expr device_id = Int32(0);
    if (table_.device >= 0)
      device_id = LetNew("device_id", ir::CastNode::Make(DataType::Int(32), Slot(table_.device)));
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
  ArgumentFacts FindFacts(bool distinct) const {
    ArgumentFacts facts{device_, device_type_, has_addresses_, distinct, {}};
    WrittenMemory written = FindWrittenMemory(module_, function_);
    std::set<const VarNode*> given;
    if (!has_addresses_) given = GivenToExternKernels(module_, function_);
    for (const Param& param : function_->params) {
      TensorFacts& tensor = facts.tensors.emplace_back();
      if (!param.is_tensor()) continue;
      const VarNode* address = param.var.node();
      tensor.is_written = written.stored.count(address) || written.given.count(address);
      tensor.takes_no_offset = given.contains(address);
      tensor.alignment = AlignmentOf(param);
    }
    return facts;
  }
  // As declared; on a device to its elements at least.
  int64_t AlignmentOf(const Param& param) const {
    int64_t declared = param.buffer->alignment;
    return device_type_ == kTernDeviceCpu
               ? declared
               : std::max<int64_t>(declared, param.buffer->dtype.bytes());
  }

  void Let(const Var& var, const Expr& value) {
    prologue_.push_back([=](Stmt rest) { return LetStmtNode::Make(var, value, rest, var.span()); });
  }
  Var LetNew(const std::string& name, const Expr& value) {
    Var var(name, value.dtype());
    Let(var, value);
    return var;
  }
  void Do(const Stmt& stmt) {
    prologue_.push_back([=](Stmt rest) { return SeqNode::Make({stmt, rest}, stmt.span()); });
  }
  Expr Slot(int64_t slot, DataType dtype = DataType::Int(64)) const {
    return PtrLoad(dtype, slots_->data, 8 * slot);
  }
  void Check(int steps) {
    std::vector<Expr> args = {env_, args_, num_args_, slots_->data, Int32(steps)};
    args.insert(args.end(), table_.words.begin(), table_.words.end());
    Do(EvaluateNode::Make(ir::CallNode::Make(intrinsic::kCheckArguments, std::move(args),
                                             DataType::Void(), function_->span),
                          function_->span));
  }

  // Extents that are expressions have values when those of variables are known; whatever tensor
  // defines these may come behind.
  void CheckArguments() {
    slots_ =
        ir::BufferNode::Make("slots", DataType::Int(64), {std::max<int64_t>(1, table_.num_slots)},
                             {}, StorageScope::kLocal);
    prologue_.push_back([slots = slots_](Stmt rest) { return AllocateNode::Make(slots, rest); });
    Check(table_.computed.empty() ? kUnpackArguments | kCompareArguments : kUnpackArguments);
    for (size_t i = 0; i < function_->params.size(); ++i)
      if (!function_->params[i].is_tensor())
        UnpackScalar(function_->params[i].var, table_.values[i]);
    for (const auto& [var, slot] : table_.variables) Let(var, Slot(slot));
    if (table_.computed.empty()) return;
    for (const auto& [value, slot] : table_.computed)
      Do(BufferStoreNode::Make(slots_, {slot}, ir::CastNode::Make(DataType::Int(64), value)));
    Check(kCompareArguments);
  }

  void UnpackScalar(const Var& var, int64_t slot) {
    DataType dtype = var.dtype();
    DataType given = dtype.is_handle()  ? dtype
                     : dtype.is_float() ? DataType::Float(64)
                                        : DataType::Int(64);
    Expr value = Slot(slot, given);
    Let(var, given == dtype ? value : ir::CastNode::Make(dtype, value));
  }

  void UnpackData(size_t i, const Param& param) {
    Let(param.var, Slot(table_.values[i], DataType::Handle()));
    if (!has_addresses_)
      NoteOffset(param, LetNew(param.name() + ".byte_offset", Slot(table_.offsets[i])));
    prologue_.push_back([buffer = param.buffer](Stmt rest) {
      return DeclBufferNode::Make(buffer, rest, buffer->span);
    });
  }

  // A handle cannot be moved, so kernels are told where the first element is.
  void NoteOffset(const Param& param, const Var& bytes) {
    offsets_.bytes.emplace(param.var.node(), bytes);
    offsets_.elements.emplace(
        param.var.node(),
        ir::TruncDivNode::Make(
            bytes, Expr(static_cast<int64_t>(std::max(param.buffer->dtype.bytes(), 1)))));
  }

  const ir::IRModule& module_;
  PrimFunc function_;
  std::string device_;
  int32_t device_type_;
  bool has_addresses_;
  HandleOffsets offsets_;
  ArgumentTable table_;
  Buffer slots_;  // of check_arguments
  Var env_{"env", DataType::Handle()}, args_{"args", DataType::Handle()},
      num_args_{"num_args", DataType::Int(32)}, result_{"result", DataType::Handle()};
  std::vector<std::function<Stmt(Stmt)>> prologue_;
};

PrimFunc Pack(const ir::IRModule& module, const PrimFunc& function, const KernelOffsets& kernels) {
  if (auto it = kernels.find(function->name); it != kernels.end())
    return WithOffsets(function, it->second.tensors);
  if (function->attrs.count(attr::kCallingConvention)) return function;
  auto it = function->attrs.find(attr::kTarget);
  TERN_CHECK(it != function->attrs.end()) << "function " << function->name << " has no target";
  target::Target target = it->second.As<target::Target>();
  target::Target host = target->is_device() ? target->host : target;
  return Packer(module, function, *target->kind, kernels).Run(host);
}

}  // namespace

ir::IRModule MakePackedApi(const ir::IRModule& module) {
  KernelOffsets kernels = FindKernelOffsets(module);
  return MapFunctions(module,
                      [&](const PrimFunc& function) { return Pack(module, function, kernels); });
}

}  // namespace tern::tir
