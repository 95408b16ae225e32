// SPDX-License-Identifier: Apache-2.0
//
// Functions, types, memory and statements; expressions are in codegen_llvm_expr.cc.
#include "tern/codegen/llvm/codegen_llvm.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Verifier.h>

#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/visitor.h"

namespace tern::codegen {

CodeGenLLVM::CodeGenLLVM(llvm::LLVMContext& context, const LLVMTarget& target)
    : target_(target), module_(std::make_unique<llvm::Module>("tern", context)), builder_(context) {
  target_.Prepare(module_.get());
}

void CodeGenLLVM::EnableDebugInfo() { debug_info_ = std::make_unique<DebugInfo>(module_.get()); }

void CodeGenLLVM::AddFunction(const tir::PrimFunc& function) {
  values_.clear();
  memory_tags_.clear();
  distinct_ = tir::TensorsAreDistinct(function);
  llvm::Function* declared = DeclareFunction(function);
  // Where the order of sums is free so are their last digits: products are added without rounding
  // where the machine has an instruction for it, and a division of many numbers by one is a product
  // with its reciprocal.
  llvm::FastMathFlags flags;
  flags.setAllowReassoc(tir::HasFlag(function, tir::attr::kReassociate));
  flags.setAllowContract(flags.allowReassoc());
  flags.setAllowReciprocal(flags.allowReassoc());
  builder_.setFastMathFlags(flags);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(builder_.getContext(), "entry", declared));
  if (debug_info_) debug_info_->EnterFunction(declared, function->span, &builder_);
  EmitFunctionStart(function);
  Emit(function->body);
  EmitReturn();
}

std::unique_ptr<llvm::Module> CodeGenLLVM::Finish() {
  if (debug_info_) debug_info_->Finish();
  std::string mistakes;
  llvm::raw_string_ostream stream(mistakes);
  bool broken = llvm::verifyModule(*module_, &stream);
  TERN_ICHECK(!broken) << mistakes;
  return std::move(module_);
}

void CodeGenLLVM::EmitThreadLoop(const tir::ForNode* node) {
  TERN_CHECK(false) << "loop " << node->var.name() << " runs on " << node->thread
                    << ", an axis that " << target_.triple() << " does not have";
}

llvm::Value* CodeGenLLVM::EmitScopedMemory(const tir::AllocateNode* node) {
  TERN_CHECK(false) << "buffer " << node->buffer->name << " is allocated in scope "
                    << node->buffer->scope << "; " << target_.triple()
                    << " allocates in scope local, with a constant size";
  return nullptr;
}

// ---- Types and memory ----

llvm::Type* CodeGenLLVM::RegisterType(DataType dtype) {
  llvm::Type* scalar = nullptr;
  if (dtype.is_bool()) {
    scalar = builder_.getInt1Ty();
  } else if (dtype.is_integer()) {
    scalar = builder_.getIntNTy(static_cast<unsigned>(dtype.bits()));
  } else if (dtype.code() == kTernTypeFloat) {
    scalar = dtype.bits() == 16   ? builder_.getHalfTy()
             : dtype.bits() == 32 ? builder_.getFloatTy()
                                  : builder_.getDoubleTy();
  } else if (dtype.element() == DataType::Bfloat16()) {
    scalar = builder_.getBFloatTy();
  } else if (dtype.is_handle()) {
    scalar = builder_.getPtrTy();
  }
  TERN_ICHECK(scalar) << dtype.str();
  if (dtype.is_scalar()) return scalar;
  if (!dtype.is_scalable())
    return llvm::FixedVectorType::get(scalar, static_cast<unsigned>(dtype.lanes()));
  const char* feature = target_.arch().scalable_feature;
  TERN_CHECK(feature && target_.HasFeature(feature))
      << dtype.str() << ": " << target_.triple() << " with -mcpu=" << target_.cpu()
      << " has no scalable vectors"
      << (feature ? std::string("; -mattr=+") + feature + " says that the machine has them" : "");
  return llvm::ScalableVectorType::get(scalar, static_cast<unsigned>(-dtype.lanes()));
}

llvm::Type* CodeGenLLVM::MemoryType(DataType dtype) {
  return RegisterType(dtype.is_bool() ? DataType::UInt(8, dtype.lanes()) : dtype);
}

static llvm::Align ElementAlignment(DataType dtype) {
  return llvm::Align(static_cast<uint64_t>(dtype.element().bytes()));
}

llvm::Align CodeGenLLVM::AccessAlignment(DataType dtype) const { return ElementAlignment(dtype); }

llvm::Value* CodeGenLLVM::Load(DataType dtype, llvm::Value* pointer, llvm::MDNode* tag) {
  llvm::LoadInst* value =
      builder_.CreateAlignedLoad(MemoryType(dtype), pointer, AccessAlignment(dtype));
  value->setMetadata(llvm::LLVMContext::MD_tbaa, tag);
  return dtype.is_bool() ? builder_.CreateIsNotNull(value) : value;
}

void CodeGenLLVM::Store(DataType dtype, llvm::Value* value, llvm::Value* pointer,
                        llvm::MDNode* tag) {
  if (dtype.is_bool()) value = builder_.CreateZExt(value, MemoryType(dtype));
  builder_.CreateAlignedStore(value, pointer, AccessAlignment(dtype))
      ->setMetadata(llvm::LLVMContext::MD_tbaa, tag);
}

// To LLVM, memory at each address is of a type of its own.
llvm::MDNode* CodeGenLLVM::MemoryTag(const ir::Buffer& buffer) {
  if (!distinct_) return nullptr;
  auto [it, is_new] = memory_tags_.try_emplace(buffer->data.node());
  if (is_new) {
    llvm::MDBuilder metadata(builder_.getContext());
    std::string name = buffer->name + "." + std::to_string(memory_tags_.size());
    llvm::MDNode* type = metadata.createTBAAScalarTypeNode(name, metadata.createTBAARoot("tern"));
    it->second = metadata.createTBAAStructTagNode(type, type, 0);
  }
  return it->second;
}

void CodeGenLLVM::AssumeFacts(const ir::Buffer& buffer) {
  llvm::Value* address = Emit(buffer->data);
  if (buffer->alignment > 1)
    builder_.CreateAlignmentAssumption(module_->getDataLayout(), address,
                                       static_cast<unsigned>(buffer->alignment));
  std::optional<int64_t> size =
      buffer->shape.size() == 1 ? ir::AsConstInt(buffer->shape[0]) : std::nullopt;
  if (size && *size > 0)
    builder_.CreateDereferenceableAssumption(
        address, builder_.getInt64(static_cast<uint64_t>(*size * buffer->dtype.bytes())));
}

llvm::AllocaInst* CodeGenLLVM::FrameMemory(llvm::Type* type, const std::string& name) {
  llvm::BasicBlock& entry = function()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type, nullptr, name);
}

llvm::BasicBlock* CodeGenLLVM::NewBlock(const std::string& name) {
  return llvm::BasicBlock::Create(builder_.getContext(), name, function());
}

llvm::Value* CodeGenLLVM::Text(const std::string& text) {
  return builder_.CreateGlobalString(text, "text");
}

void CodeGenLLVM::Bind(const ir::Var& var, llvm::Value* value) { values_[var.node()] = value; }

// ---- Accesses ----

CodeGenLLVM::Access CodeGenLLVM::EmitAccess(const ir::Buffer& buffer,
                                            const std::vector<ir::Expr>& indices) {
  TERN_ICHECK(indices.size() == 1) << buffer->name << " is not flat";
  TERN_ICHECK(buffer->dtype.is_scalar()) << buffer->name;
  const auto* ramp = indices[0].As<ir::RampNode>();
  bool contiguous = indices[0].dtype().is_scalar() || (ramp && ir::IsConst(ramp->stride, 1));
  llvm::Value* base = Emit(buffer->data);
  llvm::Value* index = Emit(ramp && contiguous ? ramp->base : indices[0]);
  return {contiguous, base, index, MemoryTag(buffer)};
}

llvm::Value* CodeGenLLVM::ElementPointer(const Access& access, DataType element, int lane) {
  llvm::Value* index =
      access.contiguous ? access.index
                        : builder_.CreateExtractElement(access.index, static_cast<uint64_t>(lane));
  return builder_.CreateInBoundsGEP(MemoryType(element), access.base, index);
}

llvm::Value* CodeGenLLVM::ElementPointers(const Access& access, DataType element) {
  TERN_CHECK(!element.is_bool()) << "elements of type bool that are not next to each other cannot "
                                    "be accessed as a scalable vector";
  return builder_.CreateInBoundsGEP(MemoryType(element), access.base, access.index);
}

llvm::Value* CodeGenLLVM::MaskedPointer(const Access& access, DataType dtype) {
  TERN_CHECK(access.contiguous || !dtype.is_bool() || !dtype.is_scalable())
      << "elements of type bool that are not next to each other cannot be accessed as a scalable "
         "vector";
  return builder_.CreateGEP(MemoryType(dtype.element()), access.base, access.index);
}

bool CodeGenLLVM::IsInFrame(const Access& access, DataType dtype) const {
  const auto* memory = llvm::dyn_cast<llvm::AllocaInst>(access.base);
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(access.index);
  const auto* array =
      memory ? llvm::dyn_cast<llvm::ArrayType>(memory->getAllocatedType()) : nullptr;
  if (!access.contiguous || !first || !array || dtype.is_scalable()) return false;
  auto lanes = static_cast<uint64_t>(dtype.lanes()), size = array->getNumElements();
  return lanes <= size && first->getValue().ule(size - lanes);
}

llvm::Value* CodeGenLLVM::EmitMaskedLoad(const ir::BufferLoadNode* node) {
  llvm::Value* mask = Emit(node->predicate);
  Access access = EmitAccess(node->buffer, node->indices);
  llvm::Type* type = MemoryType(node->dtype);
  llvm::Value* pointer = MaskedPointer(access, node->dtype);
  llvm::Value* off = llvm::Constant::getNullValue(type);
  llvm::Align alignment = ElementAlignment(node->dtype);
  // LLVM keeps in registers what is accessed as a whole.
  if (IsInFrame(access, node->dtype)) {
    llvm::Value* all = Load(node->dtype, pointer, access.tag);
    return builder_.CreateSelect(mask, all, llvm::Constant::getNullValue(all->getType()));
  }
  llvm::CallInst* value = access.contiguous
                              ? builder_.CreateMaskedLoad(type, pointer, alignment, mask, off)
                              : builder_.CreateMaskedGather(type, pointer, alignment, mask, off);
  value->setMetadata(llvm::LLVMContext::MD_tbaa, access.tag);
  return node->dtype.is_bool() ? builder_.CreateIsNotNull(value) : value;
}

void CodeGenLLVM::EmitMaskedStore(const tir::BufferStoreNode* node) {
  DataType dtype = node->value.dtype();
  llvm::Value *value = Emit(node->value), *mask = Emit(node->predicate);
  Access access = EmitAccess(node->buffer, node->indices);
  llvm::Value* pointer = MaskedPointer(access, dtype);
  if (IsInFrame(access, dtype)) {
    llvm::Value* before = Load(dtype, pointer, access.tag);
    return Store(dtype, builder_.CreateSelect(mask, value, before), pointer, access.tag);
  }
  if (dtype.is_bool()) value = builder_.CreateZExt(value, MemoryType(dtype));
  llvm::Align alignment = ElementAlignment(dtype);
  llvm::CallInst* store = access.contiguous
                              ? builder_.CreateMaskedStore(value, pointer, alignment, mask)
                              : builder_.CreateMaskedScatter(value, pointer, alignment, mask);
  store->setMetadata(llvm::LLVMContext::MD_tbaa, access.tag);
}

// Of every other element: two vectors that overlap, so that nothing is read behind the last one.
llvm::Value* CodeGenLLVM::LoadEveryOther(const ir::BufferLoadNode* node, llvm::Value* first) {
  constexpr int kVectorBytes = 64;
  DataType element = node->buffer->dtype;
  llvm::Value* base = Emit(node->buffer->data);
  llvm::MDNode* tag = MemoryTag(node->buffer);
  llvm::SmallVector<llvm::Value*> parts;
  int lanes = node->dtype.lanes(), done = 0;
  for (int count = kVectorBytes / element.bytes(); done < lanes; count /= 2) {
    for (; done + count <= lanes; done += count) {
      auto load = [&](int at) {
        llvm::Value* index = builder_.CreateNSWAdd(
            first, llvm::ConstantInt::get(first->getType(), 2 * static_cast<uint64_t>(done) +
                                                                static_cast<uint64_t>(at)));
        return Load(element.with_lanes(count),
                    builder_.CreateInBoundsGEP(MemoryType(element), base, index), tag);
      };
      if (count == 1) {
        parts.push_back(builder_.CreateVectorSplat(1, load(0)));
        continue;
      }
      llvm::SmallVector<int> mask;
      for (int i = 0; i < count; ++i) mask.push_back(2 * i < count ? 2 * i : 2 * i + 1);
      llvm::Value* half = load(0);
      parts.push_back(builder_.CreateShuffleVector(half, load(count - 1), mask));
    }
  }
  return llvm::concatenateVectors(builder_, parts);
}

llvm::Value* CodeGenLLVM::EmitNode(const ir::BufferLoadNode* node) {
  if (node->predicate) return EmitMaskedLoad(node);
  const auto* ramp = node->indices[0].As<ir::RampNode>();
  if (ramp && ir::IsConst(ramp->stride, 2) && !node->dtype.is_scalable())
    return LoadEveryOther(node, Emit(ramp->base));
  Access access = EmitAccess(node->buffer, node->indices);
  DataType element = node->buffer->dtype;
  if (access.contiguous) return Load(node->dtype, ElementPointer(access, element, 0), access.tag);
  if (node->dtype.is_scalable())
    return builder_.CreateMaskedGather(MemoryType(node->dtype), ElementPointers(access, element),
                                       ElementAlignment(element));
  llvm::Value* result = llvm::PoisonValue::get(RegisterType(node->dtype));
  for (int lane = 0; lane < node->dtype.lanes(); ++lane)
    result = builder_.CreateInsertElement(
        result, Load(element, ElementPointer(access, element, lane), access.tag),
        static_cast<uint64_t>(lane));
  return result;
}

void CodeGenLLVM::EmitNode(const tir::BufferStoreNode* node) {
  if (EmitStoreInPlace(node)) return;
  if (node->predicate) return EmitMaskedStore(node);
  llvm::Value* value = Emit(node->value);
  Access access = EmitAccess(node->buffer, node->indices);
  DataType element = node->buffer->dtype;
  if (access.contiguous) {
    Store(node->value.dtype(), value, ElementPointer(access, element, 0), access.tag);
    return;
  }
  if (node->value.dtype().is_scalable()) {
    builder_.CreateMaskedScatter(value, ElementPointers(access, element),
                                 ElementAlignment(element));
    return;
  }
  for (int lane = 0; lane < node->value.dtype().lanes(); ++lane)
    Store(element, builder_.CreateExtractElement(value, static_cast<uint64_t>(lane)),
          ElementPointer(access, element, lane), access.tag);
}

void CodeGenLLVM::EmitNode(const tir::AllocateNode* node) {
  const tir::Buffer& buffer = node->buffer;
  std::optional<int64_t> size =
      buffer->shape.size() == 1 ? ir::AsConstInt(buffer->shape[0]) : std::nullopt;
  if (buffer->scope == ir::StorageScope::kLocal && size) {
    llvm::AllocaInst* memory =
        FrameMemory(llvm::ArrayType::get(MemoryType(buffer->dtype), static_cast<uint64_t>(*size)),
                    buffer->name);
    memory->setAlignment(
        llvm::Align(std::max(static_cast<uint64_t>(buffer->alignment), frame_alignment())));
    Bind(buffer->data, memory);
  } else {
    Bind(buffer->data, EmitScopedMemory(node));
  }
  Emit(node->body);
}

// ---- Statements ----

void CodeGenLLVM::Emit(const tir::Stmt& stmt) {
  llvm::DebugLoc before = builder_.getCurrentDebugLocation();
  if (debug_info_) debug_info_->SetLocation(stmt->span, &builder_);
  tir::DispatchStmt(stmt.get(), [this](auto* node) { EmitNode(node); });
  builder_.SetCurrentDebugLocation(before);
}

void CodeGenLLVM::EmitNode(const tir::LetStmtNode* node) {
  Bind(node->var, Emit(node->value));
  Emit(node->body);
}

void CodeGenLLVM::EmitNode(const tir::DeclBufferNode* node) {
  AssumeFacts(node->buffer);
  Emit(node->body);
}

void CodeGenLLVM::EmitNode(const tir::ForNode* node) {
  if (node->for_kind == tir::ForKind::kThread) return EmitThreadLoop(node);
  TERN_ICHECK(node->for_kind != tir::ForKind::kVectorized)
      << "loop " << node->var.name() << " should have been vectorized before code generation";
  llvm::Value* min = Emit(node->min);
  EmitLoop(node, min, Emit(node->extent));
}

void CodeGenLLVM::EmitLoop(const tir::ForNode* node, llvm::Value* min, llvm::Value* extent) {
  // Loops whose bounds overflow are not programs.
  llvm::Value* end = builder_.CreateNSWAdd(min, extent);
  bool is_signed = node->var.dtype().is_int();
  auto less = [&](llvm::Value* a, llvm::Value* b) {
    return is_signed ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
  };
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* body = NewBlock(node->var.name());
  llvm::BasicBlock* after = NewBlock(node->var.name() + ".end");
  builder_.CreateCondBr(less(min, end), body, after);

  builder_.SetInsertPoint(body);
  llvm::PHINode* index = builder_.CreatePHI(min->getType(), 2, node->var.name());
  index->addIncoming(min, before);
  Bind(node->var, index);
  Emit(node->body);
  llvm::Value* next = builder_.CreateAdd(index, llvm::ConstantInt::get(index->getType(), 1), "next",
                                         /*HasNUW=*/!is_signed, /*HasNSW=*/is_signed);
  index->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(less(next, end), body, after);
  builder_.SetInsertPoint(after);
}

void CodeGenLLVM::EmitNode(const tir::WhileNode* node) {
  llvm::BasicBlock* test = NewBlock("while");
  llvm::BasicBlock* body = NewBlock("while.body");
  llvm::BasicBlock* after = NewBlock("while.end");
  builder_.CreateBr(test);
  builder_.SetInsertPoint(test);
  builder_.CreateCondBr(Emit(node->condition), body, after);
  builder_.SetInsertPoint(body);
  Emit(node->body);
  builder_.CreateBr(test);
  builder_.SetInsertPoint(after);
}

void CodeGenLLVM::EmitNode(const tir::IfThenElseNode* node) {
  llvm::Value* condition = Emit(node->condition);
  llvm::BasicBlock* then_block = NewBlock("then");
  llvm::BasicBlock* after = NewBlock("if.end");
  llvm::BasicBlock* else_block = node->else_case ? NewBlock("else") : after;
  builder_.CreateCondBr(condition, then_block, else_block);
  builder_.SetInsertPoint(then_block);
  Emit(node->then_case);
  builder_.CreateBr(after);
  if (node->else_case) {
    builder_.SetInsertPoint(else_block);
    Emit(node->else_case);
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(after);
}

void CodeGenLLVM::EmitNode(const tir::SeqNode* node) {
  for (const tir::Stmt& stmt : node->stmts) Emit(stmt);
}

void CodeGenLLVM::EmitNode(const tir::AssertNode* node) { EmitAssert(node); }
void CodeGenLLVM::EmitNode(const tir::EvaluateNode* node) { Emit(node->value); }

void CodeGenLLVM::EmitNode(const tir::BlockNode* node) {
  TERN_ICHECK(false) << "block " << node->name
                     << " should have been lowered before code generation";
}

}  // namespace tern::codegen
