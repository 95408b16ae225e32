// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/kernel_codegen_llvm.h"

#include <llvm/IR/ConstantRange.h>

#include <algorithm>
#include <map>

#include "tern/codegen/kernel_info.h"
#include "tern/codegen/usage.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/intrinsics.h"

namespace tern::codegen {

using llvm::Value;

llvm::CallInst* KernelCodeGenLLVM::CallIntrinsic(llvm::Intrinsic::ID id,
                                                 const std::vector<Value*>& args) {
  return builder().CreateIntrinsic(id, {}, args);
}

// ---- Functions ----

llvm::Function* KernelCodeGenLLVM::DeclareFunction(const tir::PrimFunc& function) {
  kernel_ = &kernels_[function->name];
  *kernel_ = DescribeKernel(function);
  dynamic_shared_ = SharedAtLaunch(function, kMoveBytes, max_static_shared());
  std::vector<llvm::Type*> types;
  for (const tir::Param& param : function->params)
    types.push_back(param.is_tensor() ? builder().getPtrTy(kGlobal)
                                      : MemoryType(param.var.dtype()));
  auto* kernel =
      llvm::Function::Create(llvm::FunctionType::get(builder().getVoidTy(), types, false),
                             llvm::Function::ExternalLinkage, function->name, module());
  kernel->setDoesNotThrow();
  MakeKernel(kernel, BlockThreads(function));

  bool distinct = tir::TensorsAreDistinct(function);
  Usage usage = FindUsage(function);
  for (unsigned i = 0; i < types.size(); ++i) {
    const tir::Param& param = function->params[i];
    kernel->getArg(i)->setName(param.is_tensor() ? param.buffer->name : param.var.name());
    if (!param.is_tensor()) continue;
    if (param.buffer->alignment > 1)
      kernel->addParamAttr(i, llvm::Attribute::getWithAlignment(
                                  builder().getContext(),
                                  llvm::Align(static_cast<uint64_t>(param.buffer->alignment))));
    // What threads of a block hand on through memory may not be taken to be a thread's own.
    bool is_const = !usage.written.contains(param.buffer->data.node());
    if (is_const) kernel->addParamAttr(i, llvm::Attribute::ReadOnly);
    if (is_const && distinct) kernel->addParamAttr(i, llvm::Attribute::NoAlias);
  }
  return kernel;
}

void KernelCodeGenLLVM::EmitFunctionStart(const tir::PrimFunc& declared) {
  for (unsigned i = 0; i < declared->params.size(); ++i) {
    const tir::Param& param = declared->params[i];
    Value* value = function()->getArg(i);
    if (param.is_tensor())
      Bind(param.buffer->data, value);
    else
      Bind(param.var, param.var.dtype().is_bool() ? builder().CreateIsNotNull(value) : value);
  }
}

void KernelCodeGenLLVM::EmitReturn() { builder().CreateRetVoid(); }

void KernelCodeGenLLVM::EmitAssert(const tir::AssertNode*) {
  TERN_ICHECK(false) << "an assert in a kernel";
}

void KernelCodeGenLLVM::EmitThreadLoop(const tir::ForNode* node) {
  llvm::CallInst* index = EmitThreadIndex(node->thread);
  std::optional<int64_t> extent = ir::AsConstInt(node->extent);
  if (extent && *extent > 0 && *extent <= INT32_MAX)
    index->addRangeRetAttr(
        llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, static_cast<uint64_t>(*extent))));
  Bind(node->var, builder().CreateZExt(index, RegisterType(node->var.dtype()), node->var.name(),
                                       /*IsNonNeg=*/true));
  Emit(node->body);
}

// ---- Memory ----

llvm::Align KernelCodeGenLLVM::AccessAlignment(DataType dtype) const {
  int64_t bytes = dtype.element().bytes() * dtype.lanes();
  return llvm::Align(static_cast<uint64_t>(std::min(bytes, kMoveBytes)));
}

Value* KernelCodeGenLLVM::EmitScopedMemory(const tir::AllocateNode* node) {
  const ir::Buffer& buffer = node->buffer;
  if (buffer->scope == ir::StorageScope::kSharedDynamic) return SharedOfLaunch();
  std::optional<int64_t> size =
      buffer->shape.size() == 1 ? ir::AsConstInt(buffer->shape[0]) : std::nullopt;
  TERN_ICHECK(buffer->scope == ir::StorageScope::kShared && size)
      << "buffer " << buffer->name << " of scope " << buffer->scope;
  int64_t elements = size.value_or(0), bytes = elements * buffer->dtype.bytes();
  if (dynamic_shared_) return EmitDynamicShared(buffer, bytes);
  kernel_->static_shared_bytes += static_cast<uint64_t>(bytes);
  return EmitStaticShared(
      buffer, llvm::ArrayType::get(MemoryType(buffer->dtype), static_cast<uint64_t>(elements)));
}

Value* KernelCodeGenLLVM::EmitStaticShared(const ir::Buffer& buffer, llvm::ArrayType* type) {
  auto* memory = new llvm::GlobalVariable(
      module(), type, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
      llvm::PoisonValue::get(type), function()->getName() + "_" + buffer->name, nullptr,
      llvm::GlobalValue::NotThreadLocal, kShared);
  memory->setAlignment(llvm::Align(static_cast<uint64_t>(std::max(buffer->alignment, kMoveBytes))));
  return memory;
}

Value* KernelCodeGenLLVM::SharedOfLaunch() {
  constexpr const char* kName = "tern_shared";
  if (llvm::GlobalVariable* known = module().getGlobalVariable(kName)) return known;
  auto* all =
      new llvm::GlobalVariable(module(), llvm::ArrayType::get(builder().getInt8Ty(), 0),
                               /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage, nullptr,
                               kName, nullptr, llvm::GlobalValue::NotThreadLocal, kShared);
  all->setAlignment(llvm::Align(128));
  return all;
}

Value* KernelCodeGenLLVM::EmitDynamicShared(const ir::Buffer& buffer, int64_t bytes) {
  auto alignment = static_cast<uint64_t>(std::max(buffer->alignment, kMoveBytes));
  uint64_t offset = llvm::alignTo(kernel_->dynamic_shared_bytes, alignment);
  kernel_->dynamic_shared_bytes = offset + static_cast<uint64_t>(bytes);
  return builder().CreatePtrAdd(SharedOfLaunch(), builder().getInt32(static_cast<uint32_t>(offset)),
                                buffer->name);
}

// ---- Calls ----

Value* KernelCodeGenLLVM::EmitCall(const ir::CallNode* node) {
  using namespace tir::intrinsic;
  static const std::map<std::string, Lane> kShuffles = {{kWarpShuffle, Lane::kOf},
                                                        {kWarpShuffleUp, Lane::kUp},
                                                        {kWarpShuffleDown, Lane::kDown},
                                                        {kWarpShuffleXor, Lane::kXor}};
  static const std::map<std::string, Vote> kVotes = {
      {kWarpAny, Vote::kAny}, {kWarpAll, Vote::kAll}, {kWarpBallot, Vote::kBallot}};
  if (node->name == kBarrier) {
    EmitBarrier();
    return nullptr;
  }
  if (node->name == kLaneIndex)
    return builder().CreateZExt(EmitLaneIndex(), RegisterType(node->dtype));
  if (auto it = kShuffles.find(node->name); it != kShuffles.end())
    return EmitShuffleCall(node, it->second);
  if (auto it = kVotes.find(node->name); it != kVotes.end())
    return builder().CreateZExtOrTrunc(EmitVote(it->second, Emit(node->args[0])),
                                       RegisterType(node->dtype));
  return CodeGenLLVM::EmitCall(node);
}

// Values are exchanged in words of 32 bits.
Value* KernelCodeGenLLVM::EmitShuffleCall(const ir::CallNode* node, Lane which) {
  Value* value = Emit(node->args[0]);
  Value* lane =
      builder().CreateIntCast(Emit(node->args[1]), builder().getInt32Ty(), /*isSigned=*/true);
  llvm::Type* type = value->getType();
  unsigned bits = type->getScalarSizeInBits();
  llvm::Type* integer = builder().getIntNTy(bits);
  if (bits <= 32) {
    Value* word =
        builder().CreateZExt(builder().CreateBitCast(value, integer), builder().getInt32Ty());
    word = EmitShuffle(which, word, lane);
    return builder().CreateBitCast(builder().CreateTrunc(word, integer), type);
  }
  auto* pair = llvm::FixedVectorType::get(builder().getInt32Ty(), bits / 32);
  Value* words = builder().CreateBitCast(value, pair);
  Value* result = llvm::PoisonValue::get(pair);
  for (uint64_t i = 0; i < bits / 32; ++i)
    result = builder().CreateInsertElement(
        result, EmitShuffle(which, builder().CreateExtractElement(words, i), lane), i);
  return builder().CreateBitCast(result, type);
}

}  // namespace tern::codegen
