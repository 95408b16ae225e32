// SPDX-License-Identifier: Apache-2.0
//
// Functions and statements of KernelWriter.
#include "tern/backend/vulkan/codegen/kernel_writer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "tern/codegen/kernel_info.h"
#include "tern/codegen/usage.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/atomics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::backend::vulkan {

using spirv::Capability;
using spirv::Decoration;
using spirv::Op;
using spirv::StorageClass;

namespace {

bool OrdersGlobal(const ir::CallNode* barrier) {
  return tir::BarrierKindOf(barrier) == tir::BarrierKind::kGlobal;
}

// Types of all buffers, by address, and whether threads hand on values in global memory.
struct AccessScan : tir::StmtVisitor {
  using StmtVisitor::VisitNode;
  void Note(const ir::Buffer& buffer) { types[buffer->data.node()].push_back(buffer->dtype); }
  void VisitNode(const ir::BufferLoadNode* node) override {
    Note(node->buffer);
    VisitChildren(node);
  }
  void VisitNode(const tir::BufferStoreNode* node) override {
    Note(node->buffer);
    VisitChildren(node);
  }
  void VisitNode(const ir::CallNode* node) override {
    orders_global |= node->name == tir::intrinsic::kBarrier && OrdersGlobal(node);
    // Atomic operations are on words.
    if (tir::IsAtomic(node->name))
      types[tir::AtomicOf(node).element->buffer->data.node()].push_back(DataType::UInt(32));
    VisitChildren(node);
  }
  std::unordered_map<const ir::VarNode*, std::vector<DataType>> types;
  bool orders_global = false;
};

}  // namespace

KernelWriter::KernelWriter(const tir::PrimFunc& function, const target::Target& target)
    : function_(function), target_(target), info_(codegen::DescribeKernel(function)) {}

bool KernelWriter::Has(const char* attribute) const {
  return target_->attrs.at(attribute).As<bool>();
}

void KernelWriter::Need(const char* attribute, const std::string& what) const {
  TERN_CHECK(Has(attribute)) << "kernel " << function_->name << " " << what << ", but "
                             << target_->str() << " has " << attribute << "=0";
}

std::string KernelWriter::Write() {
  AccessScan scan;
  scan.Visit(function_->body);
  accesses_ = std::move(scan.types);
  if (scan.orders_global) builder_.MakeBuffersCoherent();
  builder_.BeginBlock(builder_.NewId());
  FindThreads();
  DeclareParams();
  DeclareLoopSteps();
  Emit(function_->body);
  CompareSteps();
  builder_.EmitVoid(Op::kReturn, {});
  SetFloatControls();
  Words words = builder_.Finish(function_->name);
  std::string bytes(words.size() * 4, '\0');
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

// NaN, infinities and the sign of zero are kept, and results are rounded to nearest even.
void KernelWriter::SetFloatControls() {
  if (!Has("float_controls")) return;
  for (int bits : {16, 32, 64}) {
    if (!builder_.HasFloat(bits)) continue;
    auto width = static_cast<uint32_t>(bits);
    builder_.Require(Capability::kSignedZeroInfNanPreserve);
    builder_.AddExecutionMode(spirv::ExecutionMode::kSignedZeroInfNanPreserve, {width});
    builder_.Require(Capability::kRoundingModeRTE);
    builder_.AddExecutionMode(spirv::ExecutionMode::kRoundingModeRTE, {width});
  }
}

// The size of a block is part of the module; where only the launch knows it, the launch says it.
void KernelWriter::FindThreads() {
  struct Scan : tir::StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::ForNode* node) override {
      int axis = node->for_kind == tir::ForKind::kThread ? tir::ThreadAxisNumber(node->thread)
                                                         : tir::kNumThreadAxes;
      if (axis < tir::kNumThreadAxesOfBlock) {
        std::optional<int64_t> extent = ir::AsConstInt(node->extent);
        is_constant = is_constant && extent;
        if (extent) extents[static_cast<size_t>(axis)] = static_cast<uint32_t>(*extent);
      }
      VisitChildren(node);
    }
    Words extents{1, 1, 1};
    bool is_constant = true;
  } scan;
  scan.Visit(function_->body);
  if (scan.is_constant) {
    threads_ = int64_t{scan.extents[0]} * scan.extents[1] * scan.extents[2];
    return builder_.AddExecutionMode(spirv::ExecutionMode::kLocalSize, scan.extents);
  }
  Words parts;
  for (uint32_t spec_id : spirv::kBlockSpecIds) parts.push_back(builder_.SpecConstant(spec_id, 1));
  Id size = builder_.SpecConstantComposite(builder_.Vector(builder_.Int(32), 3), parts);
  builder_.Decorate(size, Decoration::kBuiltIn,
                    {static_cast<uint32_t>(spirv::BuiltIn::kWorkgroupSize)});
}

void KernelWriter::DeclareParams() {
  written_ = codegen::FindUsage(function_).written;
  distinct_ = tir::TensorsAreDistinct(function_);
  int64_t num_tensors = 0, num_scalars = 0;
  for (const tir::Param& param : function_->params) {
    ++(param.is_tensor() ? num_tensors : num_scalars);
    if (param.is_tensor()) accesses_[param.var.node()].push_back(param.buffer->dtype);
  }
  bool has_addresses = num_tensors > target_->GetInt("max_buffers");
  if (has_addresses)
    Need("addresses", "has " + std::to_string(num_tensors) + " tensors, more than max_buffers=" +
                          std::to_string(target_->GetInt("max_buffers")));
  for (uint32_t i = 0; i < function_->params.size() && !has_addresses; ++i)
    if (function_->params[i].is_tensor()) DeclareTensor(function_->params[i], i);
  if (num_scalars > 0 || has_addresses) DeclareScalars(has_addresses);
}

void KernelWriter::DeclareTensor(const tir::Param& param, uint32_t binding) {
  const ir::VarNode* address = param.var.node();
  Memory memory{.storage = StorageClass::kStorageBuffer};
  memory.unit = UnitOf(address, memory.storage);
  Id block = builder_.BufferBlock(UnitType(memory), static_cast<uint32_t>(memory.unit.bytes()),
                                  !written_.contains(address));
  memory.variable = builder_.Variable(memory.storage, block);
  builder_.Name(memory.variable, param.name());
  builder_.Decorate(memory.variable, Decoration::kDescriptorSet, {0});
  builder_.Decorate(memory.variable, Decoration::kBinding, {binding});
  if (!distinct_) builder_.Decorate(memory.variable, Decoration::kAliased);
  memory_[address] = memory;
}

Id KernelWriter::MemberType(const tir::Param& param) {
  DataType dtype = param.var.dtype();
  // What is narrower than a register comes as the low bits of one.
  if (!param.is_tensor())
    return dtype.is_float() ? RegisterType(dtype) : builder_.Int(RegisterBits(dtype));
  builder_.Require(Capability::kPhysicalStorageBufferAddresses);
  Memory& memory = memory_[param.var.node()];
  memory.storage = StorageClass::kPhysicalStorageBuffer;
  memory.unit = UnitOf(param.var.node(), memory.storage);
  Id block = builder_.BufferBlock(UnitType(memory), static_cast<uint32_t>(memory.unit.bytes()));
  return builder_.Pointer(memory.storage, block);
}

void KernelWriter::DeclareScalars(bool has_addresses) {
  std::vector<tir::Param> params;
  Words members, offsets;
  uint32_t end = 0;
  for (const tir::Param& param : function_->params) {
    if (param.is_tensor() && !has_addresses) continue;
    params.push_back(param);
    members.push_back(MemberType(param));
    auto size = static_cast<uint32_t>(RegisterBits(param.var.dtype()) / 8);
    end = (end + size - 1) / size * size;
    offsets.push_back(end);
    end += size;
  }
  Id block = builder_.Block(members, offsets);
  bool fits = end <= target_->GetInt("max_push_constants");
  StorageClass storage = fits ? StorageClass::kPushConstant : StorageClass::kStorageBuffer;
  Id variable = builder_.Variable(storage, block);
  builder_.Name(variable, "scalars");
  if (!fits) {
    builder_.Decorate(variable, Decoration::kDescriptorSet, {0});
    builder_.Decorate(variable, Decoration::kBinding,
                      {static_cast<uint32_t>(function_->params.size())});
    builder_.Decorate(variable, Decoration::kNonWritable);
  }
  for (size_t i = 0; i < params.size(); ++i) {
    Id pointer = builder_.Emit({Op::kAccessChain,
                                builder_.Pointer(storage, members[i]),
                                {variable, builder_.Constant(32, i)}});
    Id value = builder_.Emit({Op::kLoad, members[i], {pointer}});
    builder_.Name(value, params[i].name());
    DataType dtype = params[i].var.dtype();
    if (params[i].is_tensor())
      memory_[params[i].var.node()].variable = value;
    else if (dtype.is_bool())
      value = builder_.Emit({Op::kINotEqual, builder_.Bool(), {value, builder_.Constant(32, 0)}});
    else if (dtype.is_int())
      value = Wrap(value, dtype);  // the sign of what is narrow
    Bind(params[i].var, value);
  }
}

// ---- Statements ----

void KernelWriter::Emit(const tir::Stmt& stmt) {
  tir::DispatchStmt(stmt.get(), [this](auto* node) { EmitNode(node); });
}

void KernelWriter::EmitNode(const tir::BufferStoreNode* node) {
  TERN_ICHECK(node->indices.size() == 1) << node->buffer->name << " is not flat";
  Id value = Emit(node->value);
  Id index = EmitIndex(node->indices[0]);
  Store(MemoryOf(node->buffer), index, node->value.dtype(), value);
}

void KernelWriter::EmitNode(const tir::LetStmtNode* node) {
  if (!node->var.dtype().is_handle()) {
    Bind(node->var, Emit(node->value));
  } else {
    const auto* address = node->value.As<ir::VarNode>();
    TERN_CHECK(address && memory_.contains(address))
        << "kernel " << function_->name << " computes the address " << node->var.name()
        << "; memory has no addresses in " << target_->kind->name;
    Memory memory = memory_.at(address);
    memory_[node->var.node()] = memory;
  }
  Emit(node->body);
}

void KernelWriter::EmitNode(const tir::AllocateNode* node) {
  const ir::Buffer& buffer = node->buffer;
  std::optional<int64_t> size =
      buffer->shape.size() == 1 ? ir::AsConstInt(buffer->shape[0]) : std::nullopt;
  TERN_CHECK(size) << "kernel " << function_->name << " allocates " << buffer->name << ", "
                   << "whose size is not constant; memory in kernels has constant sizes";
  bool is_shared = buffer->scope == ir::StorageScope::kShared;
  TERN_ICHECK(is_shared || buffer->scope == ir::StorageScope::kLocal)
      << buffer->name << ": " << buffer->scope;
  const ir::VarNode* address = buffer->data.node();
  if (accesses_.contains(address)) {
    accesses_[address].push_back(buffer->dtype);
    Memory memory{.storage = is_shared ? StorageClass::kWorkgroup : StorageClass::kFunction};
    memory.unit = UnitOf(address, memory.storage);
    int64_t bytes = std::max<int64_t>(*size * buffer->dtype.bytes(), 1);
    int64_t units = (bytes + memory.unit.bytes() - 1) / memory.unit.bytes();
    Id type = builder_.Array(UnitType(memory), static_cast<uint32_t>(units));
    memory.variable =
        is_shared ? builder_.Variable(memory.storage, type) : builder_.LocalVariable(type);
    builder_.Name(memory.variable, buffer->name);
    if (is_shared) info_.static_shared_bytes += static_cast<uint64_t>(units * memory.unit.bytes());
    memory_[address] = memory;
  }
  Emit(node->body);
}

void KernelWriter::EmitNode(const tir::DeclBufferNode* node) { Emit(node->body); }

void KernelWriter::EmitNode(const tir::SeqNode* node) {
  for (const tir::Stmt& stmt : node->stmts) Emit(stmt);
}

void KernelWriter::EmitNode(const tir::AssertNode* node) {
  TERN_CHECK(false) << "kernel " << function_->name << " cannot raise a " << node->error_kind;
}

void KernelWriter::EmitNode(const tir::EvaluateNode* node) {
  const auto* call = node->value.As<ir::CallNode>();
  if (call && call->name == tir::intrinsic::kBarrier) return EmitBarrier(call);
  if (call && tir::IsAtomic(call->name)) return EmitAtomic(call);
  Emit(node->value);
}

void KernelWriter::EmitNode(const tir::BlockNode* node) {
  TERN_ICHECK(false) << "block " << node->name << " was not lowered";
}

void KernelWriter::EmitBarrier(const ir::CallNode* node) {
  uint32_t memory = spirv::kAcquireRelease | spirv::kWorkgroupMemory |
                    (OrdersGlobal(node) ? spirv::kUniformMemory : 0);
  Id scope = builder_.Constant(32, static_cast<uint32_t>(spirv::Scope::kWorkgroup));
  builder_.EmitVoid(Op::kControlBarrier, {scope, scope, builder_.Constant(32, memory)});
}

// ---- Control flow, as structured as SPIR-V wants it ----

void KernelWriter::FallInto(Id label) {
  builder_.EmitVoid(Op::kBranch, {label});
  builder_.BeginBlock(label);
}

void KernelWriter::EmitNode(const tir::IfThenElseNode* node) {
  Branch(
      Emit(node->condition), [&] { Emit(node->then_case); },
      [&] {
        if (node->else_case) Emit(node->else_case);
      });
}

Id KernelWriter::ThreadInput(spirv::BuiltIn built_in, const char* name, uint32_t axis) {
  Id word = builder_.Int(32), words = builder_.Vector(word, 3);
  Id& input = thread_inputs_[built_in];
  if (!input) {
    input = builder_.InputVariable(built_in, words);
    builder_.Name(input, name);
  }
  Id all = builder_.Emit({Op::kLoad, words, {input}});
  return builder_.Emit({Op::kCompositeExtract, word, {all, axis}});
}

bool KernelWriter::LiesInRows(const tir::ForNode* node) const {
  const std::vector<std::string>& tags = info_.launch_tags;
  bool has_known_size = true;
  ir::ForEachExpr(node->extent, [&](const ir::Expr& expr) {
    const auto* var = expr.As<ir::VarNode>();
    has_known_size = has_known_size && (!var || values_.contains(var));
  });
  return node->thread == "blockIdx.x" && has_known_size &&
         std::none_of(tags.begin(), tags.end(), [](const std::string& tag) {
           return tag == "blockIdx.y" || tag == "blockIdx.z";
         });
}

void KernelWriter::EmitThreadLoop(const tir::ForNode* node) {
  int axis = tir::ThreadAxisNumber(node->thread);
  bool is_block = axis >= tir::kNumThreadAxesOfBlock;
  auto lane = static_cast<uint32_t>(axis % tir::kNumThreadAxesOfBlock);
  Id index = is_block ? ThreadInput(spirv::BuiltIn::kWorkgroupId, "block", lane)
                      : ThreadInput(spirv::BuiltIn::kLocalInvocationId, "thread", lane);
  int bits = RegisterBits(node->var.dtype());
  if (!is_block || !LiesInRows(node)) {
    Bind(node->var, Resize(index, 32, bits, false));
    return Emit(node->body);
  }
  Id word = builder_.Int(32);
  Id row = ThreadInput(spirv::BuiltIn::kWorkgroupId, "block", 1);
  Id length = ThreadInput(spirv::BuiltIn::kNumWorkgroups, "num_blocks", 0);
  Id start = builder_.Emit({Op::kIMul, word, {row, length}});
  Id place = Resize(builder_.Emit({Op::kIAdd, word, {start, index}}), 32, bits, false);
  Bind(node->var, place);
  Id is_there = builder_.Emit({Op::kULessThan, builder_.Bool(), {place, Emit(node->extent)}});
  Branch(is_there, [&] { Emit(node->body); }, [] {});
}

template <class Body>
void KernelWriter::EmitLoop(const tir::ForNode* node, const Iterations& iterations, Body&& body) {
  DataType dtype = node->var.dtype();
  Id type = RegisterType(dtype);
  Id before = builder_.block(), header = builder_.NewId(), test = builder_.NewId(),
     inside = builder_.NewId(), step = builder_.NewId(), after = builder_.NewId(),
     next = builder_.NewId();
  FallInto(header);
  Id index = builder_.Emit({Op::kPhi, type, {iterations.min, before, next, step}});
  builder_.Name(index, node->var.name());
  builder_.EmitVoid(Op::kLoopMerge, {after, step, kNoFlags});
  FallInto(test);
  Id less = builder_.Emit(
      {dtype.is_int() ? Op::kSLessThan : Op::kULessThan, builder_.Bool(), {index, iterations.end}});
  builder_.EmitVoid(Op::kBranchConditional, {less, inside, after});
  builder_.BeginBlock(inside);
  body(index);
  CountSteps(node);
  FallInto(step);
  builder_.EmitVoid(Op::kIAdd,
                    {type, next, index, builder_.Constant(RegisterBits(dtype), iterations.step)});
  builder_.EmitVoid(Op::kBranch, {header});
  builder_.BeginBlock(after);
  CountSteps(node);
}

void KernelWriter::EmitNode(const tir::ForNode* node) {
  if (node->for_kind == tir::ForKind::kThread) return EmitThreadLoop(node);
  auto copies = loop_steps_.copies.find(node);
  if (copies != loop_steps_.copies.end()) return EmitCopies(node, copies->second);
  Id min = Emit(node->min);
  Id end =
      ir::IsConst(node->min, 0)
          ? Emit(node->extent)
          : builder_.Emit({Op::kIAdd, RegisterType(node->var.dtype()), {min, Emit(node->extent)}});
  EmitLoop(node, {min, end, 1}, [&](Id index) {
    Bind(node->var, index);
    Emit(node->body);
  });
}

void KernelWriter::EmitCopies(const tir::ForNode* node, int64_t copies) {
  DataType dtype = node->var.dtype();
  Id type = RegisterType(dtype), min = Emit(node->min);
  auto plus = [&](Id index, int64_t offset) {
    return builder_.Emit({Op::kIAdd, type, {index, ConstantOf(dtype, offset)}});
  };
  auto emit = [&](Id from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      Bind(node->var, i == 0 ? from : plus(from, i));
      Emit(node->body);
    }
  };
  int64_t extent = *ir::AsConstInt(node->extent), rest = extent % copies;
  if (extent >= 2 * copies)
    EmitLoop(node, {min, plus(min, extent - rest), static_cast<uint64_t>(copies)},
             [&](Id index) { emit(index, copies); });
  else
    emit(min, extent - rest);
  if (rest > 0) emit(plus(min, extent - rest), rest);
}

void KernelWriter::EmitNode(const tir::WhileNode* node) {
  Id header = builder_.NewId(), test = builder_.NewId(), body = builder_.NewId(),
     step = builder_.NewId(), after = builder_.NewId();
  FallInto(header);
  builder_.EmitVoid(Op::kLoopMerge, {after, step, kNoFlags});
  FallInto(test);
  Id condition = Emit(node->condition);
  builder_.EmitVoid(Op::kBranchConditional, {condition, body, after});
  builder_.BeginBlock(body);
  Emit(node->body);
  CountSteps(node);
  FallInto(step);
  builder_.EmitVoid(Op::kBranch, {header});
  builder_.BeginBlock(after);
  CountSteps(node);
}

// ---- Drivers that end loops

void KernelWriter::DeclareLoopSteps() {
  loop_steps_ = CountLoopSteps(function_);
  if (loop_steps_.total && *loop_steps_.total <= spirv::kLoopLimit) return;
  if (loop_steps_.total) {
    constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
    builder_.SpecConstant(spirv::kLoopStepsSpecId,
                          static_cast<uint32_t>(std::min(*loop_steps_.total, kMost)));
    return;
  }
  steps_limit_ = builder_.SpecConstant(
      loop_steps_.is_uniform ? spirv::kLoopLimitSpecId : spirv::kLaneLoopLimitSpecId, 0);
  steps_counter_ = builder_.LocalVariable(builder_.Int(32));
  builder_.Name(steps_counter_, "loop_steps");
  builder_.EmitVoid(Op::kStore, {steps_counter_, builder_.Constant(32, loop_steps_.num_loops)});
}

// With the loops inside, which a driver may pass through where no lane is in them.
void KernelWriter::CountSteps(const tir::StmtNode* loop) {
  if (!steps_counter_) return;
  Id word = builder_.Int(32), steps = builder_.Emit({Op::kLoad, word, {steps_counter_}});
  Id more = builder_.Constant(32, loop_steps_.loops.at(loop));
  Id sum = builder_.Emit({Op::kIAdd, word, {steps, more}});
  builder_.EmitVoid(Op::kStore, {steps_counter_, sum});
}

void KernelWriter::CompareSteps() {
  if (!steps_counter_) return;
  Memory flag{.storage = StorageClass::kStorageBuffer, .unit = DataType::UInt(32)};
  flag.variable = builder_.Variable(flag.storage, builder_.BufferBlock(UnitType(flag), 4));
  builder_.Name(flag.variable, "too_many_steps");
  builder_.Decorate(flag.variable, Decoration::kDescriptorSet, {0});
  builder_.Decorate(flag.variable, Decoration::kBinding,
                    {static_cast<uint32_t>(function_->params.size()) + 1});
  Id word = builder_.Int(32), truth = builder_.Bool(), zero = builder_.Constant(32, 0);
  Id steps = builder_.Emit({Op::kLoad, word, {steps_counter_}});
  Id counts = builder_.Emit({Op::kINotEqual, truth, {steps_limit_, zero}});
  Id is_more = builder_.Emit({Op::kUGreaterThan, truth, {steps, steps_limit_}});
  Id both = builder_.Emit({Op::kLogicalAnd, truth, {counts, is_more}});
  Branch(both, [&] { StoreUnit(flag, zero, builder_.Constant(32, 1)); }, [] {});
}

}  // namespace tern::backend::vulkan
