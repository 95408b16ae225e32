// SPDX-License-Identifier: Apache-2.0
//
// Functions, statements and memory; expressions are in codegen_expr.cc.
#include "codegen/codegen_emu.h"

#include <algorithm>
#include <cstring>

#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace emu {

using namespace tern;

namespace {

constexpr const char* kAxes[] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                 "threadIdx.x", "threadIdx.y", "threadIdx.z"};

uint32_t AlignUp(uint64_t bytes, uint64_t alignment) {
  return static_cast<uint32_t>((bytes + alignment - 1) / alignment * alignment);
}

}  // namespace

Type TypeOf(DataType dtype) {
  if (dtype.is_handle()) return Type::kU64;
  if (dtype.is_bool()) return Type::kBool;
  TERN_ICHECK(dtype.is_scalar()) << dtype.str();
  if (dtype == DataType::Float(32)) return Type::kF32;
  if (dtype == DataType::Float(64)) return Type::kF64;
  TERN_ICHECK(dtype.is_int() || dtype.is_uint()) << dtype.str();
  int size = dtype.bits() == 8 ? 0 : dtype.bits() == 16 ? 1 : dtype.bits() == 32 ? 2 : 3;
  return static_cast<Type>(size + (dtype.is_uint() ? 4 : 0));
}

KernelWriter::KernelWriter(const tir::PrimFunc& kernel) : name_(kernel->name) {
  for (const tir::Param& param : kernel->params) {
    DataType dtype = param.is_tensor() ? DataType::Handle() : param.var.dtype();
    info_.args.push_back(dtype);
    params_.push_back(TypeOf(dtype));
    registers_[param.is_tensor() ? param.buffer->data.node() : param.var.node()] = NewRegister();
  }
  for (const ffi::Any& tag : *kernel->attrs.at(tir::attr::kLaunchTags).As<ffi::Array>())
    info_.launch_tags.push_back(tag.As<std::string>());
  Write(kernel->body);
  Emit({Op::kHalt});
  info_.static_shared_bytes = shared_bytes_;
}

std::string KernelWriter::Blob() const {
  Header header = {kMagic,         static_cast<uint32_t>(params_.size()),
                   num_registers_, static_cast<uint32_t>(code_.size()),
                   local_bytes_,   shared_bytes_};
  std::string blob(reinterpret_cast<const char*>(&header), sizeof header);
  blob.append(reinterpret_cast<const char*>(params_.data()), params_.size());
  blob.resize(AlignUp(blob.size(), 16));
  blob.append(reinterpret_cast<const char*>(code_.data()), code_.size() * sizeof(Instruction));
  return blob;
}

std::string KernelWriter::Text() const {
  return "kernel " + name_ + "  # registers: " + std::to_string(num_registers_) +
         ", bytes per thread: " + std::to_string(local_bytes_) +
         ", per block: " + std::to_string(shared_bytes_) + "\n" + Disassemble(code_);
}

KernelWriter::Register KernelWriter::NewRegister() {
  num_registers_ = std::max(num_registers_, next_ + 1);
  return next_++;
}

size_t KernelWriter::Emit(Instruction instruction) {
  code_.push_back(instruction);
  return code_.size() - 1;
}

KernelWriter::Register KernelWriter::EmitConst(uint64_t bits) {
  Register d = NewRegister();
  Emit({Op::kConst, Type::kU64, Type::kU64, 0, d, 0, static_cast<uint32_t>(bits),
        static_cast<uint32_t>(bits >> 32)});
  return d;
}

void KernelWriter::Write(const tir::Stmt& stmt) {
  Scope scope(*this);
  tir::DispatchStmt(stmt.get(), [&](auto* node) { WriteNode(node); });
}

template <class T>
void KernelWriter::WriteNode(const T* node) {
  TERN_THROW(InternalError) << node->span.str() << ": no such statement comes to kernels";
}

void KernelWriter::WriteNode(const tir::BufferStoreNode* node) {
  Register address = Value(node->buffer->data), index = Value(node->indices[0]);
  Emit({Op::kStore, TypeOf(node->buffer->dtype), {}, 0, 0, address, index, Value(node->value)});
}

void KernelWriter::WriteNode(const tir::LetStmtNode* node) {
  registers_[node->var.node()] = Value(node->value);
  Write(node->body);
}

// Memory is laid out for the whole kernel: each allocation has a place of its own.
void KernelWriter::WriteNode(const tir::AllocateNode* node) {
  const ir::Buffer& buffer = node->buffer;
  const auto* size = buffer->shape[0].As<ir::IntImmNode>();
  TERN_CHECK(size) << node->span.str() << ": the size of " << buffer->name << " is not constant";
  bool is_shared = buffer->scope == ir::StorageScope::kShared;
  uint32_t& used = is_shared ? shared_bytes_ : local_bytes_;
  uint32_t offset = AlignUp(used, 8);
  used = AlignUp(offset + size->value * buffer->dtype.bytes(), 8);
  registers_[buffer->data.node()] = EmitConst((is_shared ? kSharedBase : kLocalBase) + offset);
  Write(node->body);
}

void KernelWriter::WriteNode(const tir::ForNode* node) {
  if (node->for_kind == tir::ForKind::kThread) {
    auto axis = static_cast<uint32_t>(std::find(std::begin(kAxes), std::end(kAxes), node->thread) -
                                      std::begin(kAxes));
    TERN_ICHECK(axis < std::size(kAxes)) << node->thread;
    Register d = registers_[node->var.node()] = NewRegister();
    Emit({Op::kIndex, TypeOf(node->var.dtype()), {}, 0, d, 0, axis});
    return Write(node->body);
  }
  Type type = TypeOf(node->var.dtype());
  Register i = registers_[node->var.node()] = NewRegister();
  Register end = Value(node->min + node->extent), one = EmitConst(1), more = NewRegister();
  MoveTo(i, node->min);
  size_t top = Emit({Op::kLt, type, {}, 0, more, i, end});
  size_t leave = Emit({Op::kJumpUnless, {}, {}, 0, 0, more});
  Write(node->body);
  Emit({Op::kAdd, type, {}, 0, i, i, one});
  Emit({Op::kJump, {}, {}, 0, static_cast<uint32_t>(top)});
  Land(leave);
}

void KernelWriter::WriteNode(const tir::WhileNode* node) {
  auto top = static_cast<uint32_t>(code_.size());
  size_t leave = Emit({Op::kJumpUnless, {}, {}, 0, 0, Value(node->condition)});
  Write(node->body);
  Emit({Op::kJump, {}, {}, 0, top});
  Land(leave);
}

void KernelWriter::WriteNode(const tir::IfThenElseNode* node) {
  size_t skip = Emit({Op::kJumpUnless, {}, {}, 0, 0, Value(node->condition)});
  Write(node->then_case);
  if (node->else_case) {
    size_t leave = Emit({Op::kJump});
    Land(skip);
    Write(node->else_case);
    skip = leave;
  }
  Land(skip);
}

void KernelWriter::WriteNode(const tir::SeqNode* node) {
  for (const tir::Stmt& stmt : node->stmts) Write(stmt);
}

void KernelWriter::WriteNode(const tir::EvaluateNode* node) {
  if (tir::IsBarrier(node->value))
    Emit({Op::kBarrier});
  else
    Value(node->value);
}

}  // namespace emu
