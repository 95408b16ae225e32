// SPDX-License-Identifier: Apache-2.0
//
// Functions and statements of KernelWriter; control flow is in kernel_writer_control.cc.
#include "tern/backend/webgpu/codegen/kernel_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "tern/backend/webgpu/codegen/reserved_words.h"
#include "tern/codegen/kernel_info.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/visitor.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/atomics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::backend::webgpu {

namespace {

// What the language allows in all variables of a function.
constexpr int64_t kMaxLocalBytes = 8192;

// Types of all buffers, by address, and variables that sums and products of floats are made of.
struct AccessScan : tir::StmtVisitor {
  using StmtVisitor::VisitNode;
  template <ir::ExprKind K>
  void NoteOperands(const ir::BinaryNode<K>* node) {
    for (const ir::Expr& operand : {node->a, node->b})
      if (const auto* var = operand.As<ir::VarNode>(); var && var->dtype.is_float())
        operands.insert(var);
    VisitChildren(node);
  }
  void VisitNode(const ir::AddNode* node) override { NoteOperands(node); }
  void VisitNode(const ir::SubNode* node) override { NoteOperands(node); }
  void VisitNode(const ir::MulNode* node) override { NoteOperands(node); }
  void VisitNode(const ir::DivNode* node) override { NoteOperands(node); }
  void VisitNode(const ir::BufferLoadNode* node) override {
    types[node->buffer->data.node()].push_back(node->buffer->dtype);
    VisitChildren(node);
  }
  void VisitNode(const tir::BufferStoreNode* node) override {
    types[node->buffer->data.node()].push_back(node->buffer->dtype);
    stores[node->buffer->data.node()].push_back(node->buffer->dtype);
    VisitChildren(node);
  }
  void VisitNode(const ir::CallNode* node) override {
    if (tir::IsAtomic(node->name)) {
      tir::Atomic atomic = tir::AtomicOf(node);
      updated.insert(atomic.element->buffer->data.node());
      if (atomic.old) stores[atomic.old->buffer->data.node()].push_back(atomic.old->buffer->dtype);
    }
    VisitChildren(node);
  }
  std::unordered_map<const ir::VarNode*, std::vector<DataType>> types, stores;
  std::unordered_set<const ir::VarNode*> updated;
  std::unordered_set<const ir::VarNode*> operands;
};

// Statements that contain a barrier.
struct BarrierScan : tir::StmtVisitor {
  using StmtVisitor::VisitNode;
  void Visit(const tir::Stmt& stmt) override {
    bool outside = std::exchange(found, false);
    StmtVisitor::Visit(stmt);
    if (found) collective.insert(stmt.get());
    found = found || outside;
  }
  void VisitNode(const ir::CallNode* node) override {
    found = found || node->name == tir::intrinsic::kBarrier;
    VisitChildren(node);
  }
  bool found = false;
  std::unordered_set<const tir::StmtNode*> collective;
};

}  // namespace

KernelWriter::KernelWriter(const tir::PrimFunc& function, const target::Target& target)
    : function_(function),
      target_(target),
      info_(codegen::DescribeKernel(function)),
      usage_(codegen::FindUsage(function)) {
  names_.Reserve(kReservedWords);
  names_.Reserve(kPredeclared);
}

void KernelWriter::Refuse(const std::string& why) const {
  TERN_THROW(ValueError) << "kernel " << function_->name << " " << why;
  __builtin_unreachable();
}

std::string KernelWriter::Write() {
  codegen::NameTable::Scope scope(names_);
  AccessScan accesses;
  accesses.Visit(function_->body);
  accesses_ = std::move(accesses.types);
  stores_ = std::move(accesses.stores);
  updated_ = std::move(accesses.updated);
  float_operands_ = std::move(accesses.operands);
  BarrierScan barriers;
  barriers.Visit(function_->body);
  has_barrier_ = std::move(barriers.collective);
  FindThreads();
  DeclareParams();
  Emit(function_->body);
  // A zero that compilers do not know of.
  if (has_run_time_zero_) hoisted_ += "  let tern_zero = u32(tern_blocks.x == 0u);\n";
  info_.bindings = bindings_;
  return Preamble() + hoisted_ + body_ + "}\n";
}

std::string KernelWriter::Preamble() const {
  std::string text = "// Written by Tern.\n";
  if (!bindings_.features.empty()) text += "enable f16;\n";
  text += "\n" + declarations_;

  for (const std::string& type : uniform_words_)
    text += fmt::format("var<workgroup> tern_uniform_{}: {};\n", type == "u32" ? "word" : "words",
                        type);
  text += helpers_.Definitions();
  std::string size;
  for (int axis = 0; axis < 3; ++axis) {
    uint32_t extent = bindings_.block[static_cast<size_t>(axis)];
    size += (axis == 0 ? "" : ", ") +
            (extent ? std::to_string(extent) + "u" : fmt::format("tern_block_{}", kAxes[axis]));
  }
  return text + fmt::format(
                    "\n// {}\n@compute @workgroup_size({})\n"
                    "fn main(@builtin(workgroup_id) tern_block: vec3<u32>,\n"
                    "        @builtin(num_workgroups) tern_blocks: vec3<u32>,\n"
                    "        @builtin(local_invocation_id) tern_thread: vec3<u32>,\n"
                    "        @builtin(local_invocation_index) tern_index: u32) {{\n",
                    function_->name, size);
}

// The size of a block is part of the shader; where only the launch knows it, the launch says it.
void KernelWriter::FindThreads() {
  struct Scan : tir::StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::ForNode* node) override {
      int axis = node->for_kind == tir::ForKind::kThread ? tir::ThreadAxisNumber(node->thread)
                                                         : tir::kNumThreadAxes;
      if (axis < tir::kNumThreadAxesOfBlock) {
        std::optional<int64_t> extent = ir::AsConstInt(node->extent);
        block[static_cast<size_t>(axis)] = extent ? static_cast<uint32_t>(*extent) : 0;
      }
      VisitChildren(node);
    }
    std::array<uint32_t, 3> block{1, 1, 1};
  } scan;
  scan.Visit(function_->body);
  bindings_.block = scan.block;
  for (size_t axis = 0; axis < 3; ++axis)
    if (scan.block[axis] == 0)
      declarations_ += fmt::format("override tern_block_{}: u32 = 1u;\n", kAxes[axis]);
}

void KernelWriter::NoteFeature(const char* feature) {
  auto& features = bindings_.features;
  if (std::find(features.begin(), features.end(), feature) == features.end())
    features.emplace_back(feature);
}

// ---- Parameters ----

void KernelWriter::DeclareParams() {
  uint32_t binding = 0;
  for (const tir::Param& param : function_->params)
    if (param.is_tensor()) DeclareTensor(param, binding++);
  if (int64_t most = target_->GetInt("max_buffers"); binding > most)
    Refuse(fmt::format("has {} tensors; {} storage buffers are allowed (-max_buffers)", binding,
                       most));
  if (binding < function_->params.size()) DeclareScalars(binding);
}

void KernelWriter::DeclareTensor(const tir::Param& param, uint32_t binding) {
  const ir::VarNode* address = param.var.node();
  accesses_[address].push_back(param.buffer->dtype);
  bool is_written = usage_.written.contains(address);
  Memory memory{.name = names_.Define(param.buffer->name), .space = Space::kStorage};
  memory.unit = UnitOf(address);
  memory.is_atomic = NeedsAtomics(address, memory.unit, memory.space);
  std::string type = UnitType(memory);
  declarations_ += fmt::format("@group(0) @binding({}) var<storage, {}> {}: array<{}>;\n", binding,
                               is_written ? "read_write" : "read", memory.name,
                               memory.is_atomic ? "atomic<u32>" : type);
  bindings_.tensors.push_back({is_written, binding, type});
  memory_[address] = memory;
}

// One structure of them, in order, each at a multiple of its size.
void KernelWriter::DeclareScalars(uint32_t binding) {
  runtime::KernelBindings::Scalars& scalars = bindings_.scalars;
  scalars.binding = binding;
  uint64_t end = 0;
  std::string members;
  for (const tir::Param& param : function_->params) {
    if (param.is_tensor()) continue;
    DataType dtype = param.var.dtype();
    uint64_t size = dtype.bits() == 64 ? 8 : 4;
    end = (end + size - 1) / size * size;
    scalars.offsets.push_back(end);
    end += size;
    std::string member = fmt::format("a{}", scalars.offsets.size() - 1);
    members += fmt::format("  {}: {},  // {}\n", member, dtype.is_bool() ? "u32" : ValueType(dtype),
                           param.name());
    uniform_.insert(param.var.node());
    if (!usage_.vars.contains(param.var.node())) continue;
    Line(fmt::format("let {} = tern_args.{}{};", DefineVar(param.var), member,
                     dtype.is_bool() ? " != 0u" : ""));
  }
  scalars.bytes = (end + 15) / 16 * 16;
  declarations_ += fmt::format(
      "struct TernArgs {{\n{}}}\n@group(0) @binding({}) var<uniform> tern_args: TernArgs;\n",
      members, binding);
}

// ---- Statements ----

void KernelWriter::Emit(const tir::Stmt& stmt) {
  tir::DispatchStmt(stmt.get(), [this](auto* node) { EmitNode(node); });
}

void KernelWriter::Line(const std::string& text) {
  body_.append(2 * static_cast<size_t>(depth_), ' ').append(text).push_back('\n');
}

std::string KernelWriter::DefineVar(const ir::Var& var) {
  return values_[var.node()] = names_.Define(var.name());
}

void KernelWriter::Bind(const ir::Var& var, const Value& value) {
  if (!usage_.vars.contains(var.node())) return;
  bool is_computed = (value.is_sum || value.is_scaled) && float_operands_.contains(var.node());
  std::string text = is_computed ? Opaque(value).text : value.text;
  Line(fmt::format("let {} = {};", DefineVar(var), text));
}

void KernelWriter::EmitNode(const tir::BufferStoreNode* node) {
  TERN_ICHECK(node->indices.size() == 1) << node->buffer->name << " is not flat";
  const Memory& memory = MemoryOf(node->buffer);
  DataType dtype = node->value.dtype();
  Value value = Emit(node->value);
  Store(memory, Index(memory, node->indices[0], dtype), dtype, value);
}

void KernelWriter::EmitNode(const tir::LetStmtNode* node) {
  if (!node->var.dtype().is_handle()) {
    if (IsUniform(node->value)) uniform_.insert(node->var.node());
    Bind(node->var, Emit(node->value));
  } else {
    const auto* address = node->value.As<ir::VarNode>();
    if (!address || !memory_.contains(address))
      Refuse("computes the address " + node->var.name() + "; memory has no addresses in " +
             target_->kind->name);
    Memory memory = memory_.at(address);
    memory_[node->var.node()] = memory;
  }
  Emit(node->body);
}

void KernelWriter::EmitNode(const tir::AllocateNode* node) {
  const ir::Buffer& buffer = node->buffer;
  std::optional<int64_t> size =
      buffer->shape.size() == 1 ? ir::AsConstInt(buffer->shape[0]) : std::nullopt;
  if (!size)
    Refuse("allocates " + buffer->name +
           ", whose size is not constant; memory in kernels has constant sizes");
  bool is_shared = buffer->scope == ir::StorageScope::kShared;
  TERN_ICHECK(is_shared || buffer->scope == ir::StorageScope::kLocal)
      << buffer->name << ": " << buffer->scope;
  const ir::VarNode* address = buffer->data.node();
  if (accesses_.contains(address)) {
    accesses_[address].push_back(buffer->dtype);
    Memory memory{.name = names_.DefineOutermost(buffer->name),
                  .space = is_shared ? Space::kWorkgroup : Space::kFunction};
    memory.unit = UnitOf(address);
    memory.is_atomic = NeedsAtomics(address, memory.unit, memory.space);
    int64_t unit = memory.unit.bytes(), bytes = std::max<int64_t>(*size * buffer->dtype.bytes(), 1);
    int64_t units = (bytes + unit - 1) / unit;
    std::string type = memory.is_atomic ? "atomic<u32>" : UnitType(memory);
    if (is_shared) {
      declarations_ += fmt::format("var<workgroup> {}: array<{}, {}>;\n", memory.name, type, units);
      info_.static_shared_bytes += static_cast<uint64_t>(units * unit);
    } else {
      hoisted_ += fmt::format("  var {}: array<{}, {}>;\n", memory.name, type, units);
      local_bytes_ += units * unit;
      if (local_bytes_ > kMaxLocalBytes)
        Refuse(fmt::format("has {} bytes of local memory; WGSL allows {}", local_bytes_,
                           kMaxLocalBytes));
    }
    memory_[address] = memory;
  }
  Emit(node->body);
}

void KernelWriter::EmitNode(const tir::DeclBufferNode* node) { Emit(node->body); }

void KernelWriter::EmitNode(const tir::SeqNode* node) {
  for (const tir::Stmt& stmt : node->stmts) Emit(stmt);
}

void KernelWriter::EmitNode(const tir::AssertNode* node) {
  Refuse("cannot raise a " + node->error_kind);
}

void KernelWriter::EmitNode(const tir::EvaluateNode* node) {
  const auto* call = node->value.As<ir::CallNode>();
  if (call && call->name == tir::intrinsic::kBarrier) return EmitBarrier(call);
  if (call && tir::IsAtomic(call->name)) return EmitAtomic(call);
  if (codegen::HasEffect(node->value)) Line("_ = " + Emit(node->value).text + ";");
}

void KernelWriter::EmitNode(const tir::BlockNode* node) {
  TERN_ICHECK(false) << "block " << node->name << " was not lowered";
}

void KernelWriter::EmitBarrier(const ir::CallNode* node) {
  if (tir::BarrierKindOf(node) == tir::BarrierKind::kGlobal) Line("storageBarrier();");
  Line("workgroupBarrier();");
}

}  // namespace tern::backend::webgpu
