// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/llvm/codegen_cpu.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <cstddef>

#include "tern/tir/argument_table.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/module_calls.h"

namespace tern::backend::cpu {
namespace {

// The operands of a conjunction, in order.
std::vector<ir::Expr> Conjuncts(const ir::Expr& condition) {
  const auto* both = condition.As<ir::AndNode>();
  if (!both || !condition.dtype().is_scalar()) return {condition};
  std::vector<ir::Expr> parts = Conjuncts(both->a);
  for (const ir::Expr& part : Conjuncts(both->b)) parts.push_back(part);
  return parts;
}

}  // namespace

llvm::Function* CodeGenCPU::DeclareFunction(const tir::PrimFunc& function) {
  TERN_ICHECK(function->params.size() == 4) << function->name << " is no function of a host";
  llvm::Function* declared = tir::CallingConventionOf(function) == tir::CallingConvention::kParallel
                                 ? ParallelBody(function->name)
                                 : DeclareEntry(function->name);
  for (unsigned i = 0; i < 4; ++i) Bind(function->params[i].var, declared->getArg(i));
  env_ = declared->getArg(0);
  call_memory_.clear();
  return declared;
}

llvm::Function* CodeGenCPU::DeclareEntry(const std::string& name) {
  if (llvm::Function* known = module().getFunction(TERN_SYMBOL_PREFIX + name)) return known;
  llvm::Type* pointer = builder().getPtrTy();
  llvm::Type* int32 = builder().getInt32Ty();
  auto* type = llvm::FunctionType::get(int32, {pointer, pointer, int32, pointer}, false);
  auto* declared = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                          TERN_SYMBOL_PREFIX + name, module());
  declared->setDoesNotThrow();
  if (target().arch().sign_extends_int) {
    declared->addRetAttr(llvm::Attribute::SExt);
    declared->addParamAttr(2, llvm::Attribute::SExt);
  }
  return declared;
}

llvm::Function* CodeGenCPU::ParallelBody(const std::string& name) {
  if (llvm::Function* known = module().getFunction(name)) return known;
  llvm::Type* pointer = builder().getPtrTy();
  llvm::Type* int64 = builder().getInt64Ty();
  auto* type =
      llvm::FunctionType::get(builder().getInt32Ty(), {pointer, int64, int64, pointer}, false);
  auto* declared = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module());
  declared->setDoesNotThrow();
  if (target().arch().sign_extends_int) declared->addRetAttr(llvm::Attribute::SExt);
  return declared;
}

void CodeGenCPU::EmitReturn() { builder().CreateRet(builder().getInt32(0)); }

void CodeGenCPU::GoUnless(llvm::Value* expected, llvm::BasicBlock* to) {
  llvm::BasicBlock* after = NewBlock("ok");
  builder().CreateCondBr(expected, after, to,
                         llvm::MDBuilder(builder().getContext()).createLikelyBranchWeights());
  builder().SetInsertPoint(after);
}

void CodeGenCPU::FailIfNonzero(llvm::Value* code) {
  llvm::BasicBlock* error = NewBlock("error");
  GoUnless(builder().CreateIsNull(code), error);
  EmitFailure(error, [] {});
}

void CodeGenCPU::EmitFailure(llvm::BasicBlock* error, const std::function<void()>& report) {
  llvm::IRBuilderBase::InsertPointGuard guard(builder());
  builder().SetInsertPoint(error);
  report();
  builder().CreateRet(llvm::ConstantInt::getSigned(builder().getInt32Ty(), -1));
}

void CodeGenCPU::EmitAssert(const tir::AssertNode* node) {
  llvm::BasicBlock* error = NewBlock("error");
  for (const ir::Expr& part : Conjuncts(node->condition)) GoUnless(Emit(part), error);
  EmitFailure(error, [&] {
    std::vector<llvm::Value*> arguments = {env_, Text(node->error_kind)};
    std::vector<int32_t> kinds;
    for (const ir::Expr& value : node->message) {
      auto [kind, payload] = EmitValue(value);
      kinds.push_back(kind);
      arguments.push_back(payload);
    }
    builder().CreateCall(RaiseFunction(kinds, llvm::ArrayRef(arguments).drop_front(2)), arguments);
  });
}

llvm::Function* CodeGenCPU::RaiseFunction(const std::vector<int32_t>& kinds,
                                          llvm::ArrayRef<llvm::Value*> payloads) {
  std::string name = "raise";
  for (int32_t kind : kinds) name += "." + std::to_string(kind);
  if (llvm::Function* known = module().getFunction(name)) return known;
  llvm::Type* pointer = builder().getPtrTy();
  std::vector<llvm::Type*> types = {pointer, pointer};
  for (llvm::Value* payload : payloads) types.push_back(payload->getType());
  auto* raise = llvm::Function::Create(llvm::FunctionType::get(builder().getVoidTy(), types, false),
                                       llvm::Function::InternalLinkage, name, module());
  raise->setDoesNotThrow();
  for (auto attribute :
       {llvm::Attribute::NoInline, llvm::Attribute::Cold, llvm::Attribute::OptimizeNone})
    raise->addFnAttr(attribute);
  llvm::IRBuilderBase::InsertPointGuard guard(builder());
  builder().SetCurrentDebugLocation(llvm::DebugLoc());
  builder().SetInsertPoint(llvm::BasicBlock::Create(builder().getContext(), "entry", raise));
  llvm::AllocaInst* parts = builder().CreateAlloca(
      llvm::ArrayType::get(builder().getInt8Ty(), kinds.size() * sizeof(TernAny)));
  parts->setAlignment(llvm::Align(alignof(TernAny)));
  for (size_t i = 0; i < kinds.size(); ++i)
    FillValue(builder().CreatePtrAdd(parts, builder().getInt64(i * sizeof(TernAny))), kinds[i],
              raise->getArg(static_cast<unsigned>(i) + 2));
  CallEnv(raise->getArg(0), layout().raise(), builder().getVoidTy(),
          {raise->getArg(1), parts, builder().getInt32(static_cast<uint32_t>(kinds.size()))});
  builder().CreateRetVoid();
  return raise;
}

llvm::Value* CodeGenCPU::EmitCall(const ir::CallNode* node) {
  if (node->name == tir::intrinsic::kCallImport) return EmitImportCall(node);
  if (node->name == tir::intrinsic::kCallEntry) return EmitEntryCall(node);
  if (node->name == tir::intrinsic::kCheckArguments) return EmitCheckArguments(node);
  if (node->name == tir::intrinsic::kSymbolAddress) return EmitSymbolAddress(node);
  if (node->name == tir::intrinsic::kParallelFor) return EmitParallelFor(node);
  if (node->name == tir::intrinsic::kAllocWorkspace)
    return EmitEnvCall(node, layout().alloc_workspace(), builder().getPtrTy());
  if (node->name == tir::intrinsic::kFreeWorkspace)
    return EmitEnvCall(node, layout().free_workspace(), builder().getVoidTy());
  return CodeGenLLVM::EmitCall(node);
}

llvm::Value* CodeGenCPU::EmitEnvCall(const ir::CallNode* node, int64_t offset, llvm::Type* result) {
  std::vector<llvm::Value*> arguments;
  for (size_t i = 1; i < node->args.size(); ++i) arguments.push_back(Emit(node->args[i]));
  return CallEnv(Emit(node->args[0]), offset, result, arguments);
}

llvm::Value* CodeGenCPU::EmitImportCall(const ir::CallNode* node) {
  TERN_ICHECK(node->dtype.is_void()) << "call_import is made for its effect";
  std::vector<ir::Expr> values(node->args.begin() + 2, node->args.end());
  llvm::Value* env = Emit(node->args[0]);
  llvm::Value* name = Emit(node->args[1]);
  llvm::Value* arguments = PackValues(values);
  llvm::Type* words = llvm::ArrayType::get(builder().getInt64Ty(), sizeof(TernAny) / 8);
  llvm::Value* result = FrameMemory(words, "result");
  builder().CreateStore(llvm::Constant::getNullValue(words), result);
  llvm::Value* code =
      CallEnv(env, layout().call(), builder().getInt32Ty(),
              {name, arguments, builder().getInt32(static_cast<uint32_t>(values.size())), result});
  FailIfNonzero(code);
  return nullptr;
}

llvm::Value* CodeGenCPU::EmitEntryCall(const ir::CallNode* node) {
  std::vector<ir::Expr> values(node->args.begin() + 2, node->args.end());
  llvm::Value* env = Emit(node->args[0]);
  llvm::Function* callee = DeclareEntry(node->args[1].As<ir::StringImmNode>()->value);
  llvm::Value* arguments = PackValues(values);
  llvm::Value* result = CallMemory("result", sizeof(TernAny));
  llvm::CallInst* code = builder().CreateCall(
      callee, {env, arguments, builder().getInt32(static_cast<uint32_t>(values.size())), result});
  code->setAttributes(callee->getAttributes());
  FailIfNonzero(code);
  return nullptr;
}

llvm::Value* CodeGenCPU::EmitCheckArguments(const ir::CallNode* node) {
  llvm::Function* routine = module().getFunction(tir::kCheckArgumentsSymbol);
  if (!routine) {
    llvm::Type *pointer = builder().getPtrTy(), *int32 = builder().getInt32Ty();
    auto* type =
        llvm::FunctionType::get(int32, {pointer, pointer, int32, pointer, pointer, int32}, false);
    routine = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                     tir::kCheckArgumentsSymbol, module());
    routine->setVisibility(llvm::GlobalValue::HiddenVisibility);
    routine->setDoesNotThrow();
    // The slots are the function's own again when it returns.
    routine->addParamAttr(
        3, llvm::Attribute::getWithCaptureInfo(builder().getContext(), llvm::CaptureInfo::none()));
    if (target().arch().sign_extends_int) {
      routine->addRetAttr(llvm::Attribute::SExt);
      for (unsigned i : {2U, 5U}) routine->addParamAttr(i, llvm::Attribute::SExt);
    }
  }
  std::vector<llvm::Value*> arguments;
  for (size_t i = 0; i + 1 < tir::kArgumentTableWords; ++i)
    arguments.push_back(Emit(node->args[i]));
  arguments.push_back(ArgumentTable(node));
  arguments.push_back(Emit(node->args[tir::kArgumentTableWords - 1]));
  llvm::CallInst* code = builder().CreateCall(routine, arguments);
  code->setAttributes(routine->getAttributes());
  FailIfNonzero(code);
  return nullptr;
}

llvm::Constant* CodeGenCPU::ArgumentTable(const ir::CallNode* check_arguments) {
  std::string name =
      "table." + check_arguments->args[tir::kArgumentTableWords].As<ir::StringImmNode>()->value;
  if (llvm::GlobalVariable* known = module().getNamedGlobal(name)) return known;
  tir::TableData table = tir::ReadTable(check_arguments);
  llvm::LLVMContext& context = builder().getContext();
  llvm::Constant* data = llvm::ConstantStruct::getAnon(
      {llvm::ConstantDataArray::get(
           context, llvm::ArrayRef(reinterpret_cast<const uint64_t*>(table.words.data()),
                                   table.words.size())),
       llvm::ConstantDataArray::getString(context, table.texts, /*AddNull=*/false)});
  auto* variable = new llvm::GlobalVariable(module(), data->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, data, name);
  variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return variable;
}

llvm::Value* CodeGenCPU::EmitSymbolAddress(const ir::CallNode* node) {
  const std::string& symbol = node->args[0].As<ir::StringImmNode>()->value;
  if (llvm::GlobalVariable* known = module().getNamedGlobal(symbol)) return known;
  auto* data = new llvm::GlobalVariable(module(), builder().getInt8Ty(), /*isConstant=*/true,
                                        llvm::GlobalValue::ExternalLinkage, nullptr, symbol);
  data->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return data;
}

llvm::Value* CodeGenCPU::EmitParallelFor(const ir::CallNode* node) {
  constexpr uint64_t kSlotBytes = 8;
  llvm::Value* env = Emit(node->args[0]);
  llvm::Value* extent = Emit(node->args[2]);
  size_t count = node->args.size() - 3;
  llvm::AllocaInst* slots =
      FrameMemory(llvm::ArrayType::get(builder().getInt64Ty(), count), "captures");
  for (size_t i = 0; i < count; ++i) {
    const ir::Expr& value = node->args[3 + i];
    Store(value.dtype(), Emit(value),
          builder().CreatePtrAdd(slots, builder().getInt64(i * kSlotBytes)));
  }
  llvm::Value* code =
      CallEnv(env, layout().parallel_for(), builder().getInt32Ty(),
              {ParallelBody(node->args[1].As<ir::StringImmNode>()->value), extent, slots});
  FailIfNonzero(code);
  return nullptr;
}

llvm::Value* CodeGenCPU::CallEnv(llvm::Value* env, int64_t offset, llvm::Type* result,
                                 const std::vector<llvm::Value*>& arguments) {
  std::vector<llvm::Value*> all = {env};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : all) types.push_back(argument->getType());
  llvm::Value* slot =
      builder().CreatePtrAdd(env, builder().getInt64(static_cast<uint64_t>(offset)));
  llvm::Value* callee = builder().CreateLoad(builder().getPtrTy(), slot);
  llvm::CallInst* call =
      builder().CreateCall(llvm::FunctionType::get(result, types, false), callee, all);
  call->setDoesNotThrow();
  if (target().arch().sign_extends_int)
    for (unsigned i = 0; i < types.size(); ++i)
      if (types[i]->isIntegerTy(32)) call->addParamAttr(i, llvm::Attribute::SExt);
  return call;
}

// ---- Values ----

llvm::Value* CodeGenCPU::PackValues(const std::vector<ir::Expr>& values) {
  llvm::AllocaInst* memory = CallMemory("values", values.size() * sizeof(TernAny));
  views_ = 0;
  for (size_t i = 0; i < values.size(); ++i)
    PackValue(values[i], builder().CreatePtrAdd(memory, builder().getInt64(i * sizeof(TernAny))));
  return memory;
}

void CodeGenCPU::PackValue(const ir::Expr& value, llvm::Value* slot) {
  auto [kind, payload] = EmitValue(value);
  FillValue(slot, kind, payload);
}

std::pair<int32_t, llvm::Value*> CodeGenCPU::EmitValue(const ir::Expr& value) {
  DataType dtype = value.dtype();
  if (value.As<ir::StringImmNode>()) return {kTernRawStr, Emit(value)};
  if (const auto* call = value.As<ir::CallNode>();
      call && call->name == tir::intrinsic::kTensorView)
    return {kTernTensorView, EmitTensorView(call)};
  if (dtype.is_handle()) return {kTernOpaquePtr, Emit(value)};
  if (dtype.is_float()) return {kTernFloat, Convert(Emit(value), dtype, DataType::Float(64))};
  return {dtype.is_bool() ? kTernBool : kTernInt, Convert(Emit(value), dtype, DataType::Int(64))};
}

llvm::Value* CodeGenCPU::EmitTensorView(const ir::CallNode* node) {
  TernDType dtype = DataType::Parse(node->args[0].As<ir::StringImmNode>()->value)->raw();
  size_t rank = node->args.size() - tir::kTensorViewExtents;
  std::string which = std::to_string(views_++);
  llvm::Value* view = CallMemory("view" + which, static_cast<uint64_t>(layout().byte_offset()) + 8);
  llvm::Value* shape = CallMemory("shape" + which, 8 * std::max<size_t>(rank, 1));
  auto store = [&](llvm::Value* value, llvm::Value* at, int64_t offset) {
    builder().CreateStore(
        value, builder().CreatePtrAdd(at, builder().getInt64(static_cast<uint64_t>(offset))));
  };
  for (size_t i = 0; i < rank; ++i)
    store(Emit(node->args[tir::kTensorViewExtents + i]), shape, static_cast<int64_t>(8 * i));
  store(Emit(node->args[1]), view, layout().data());
  store(Emit(node->args[3]), view, layout().device());
  store(Emit(node->args[4]), view,
        layout().device() + static_cast<int64_t>(offsetof(TernDevice, id)));
  store(builder().getInt32(static_cast<uint32_t>(rank)), view, layout().ndim());
  store(builder().getInt8(dtype.code), view, layout().dtype());
  store(builder().getInt8(dtype.bits), view, layout().dtype() + 1);
  store(builder().getInt16(dtype.lanes), view, layout().dtype() + 2);
  store(shape, view, layout().shape());
  store(llvm::ConstantPointerNull::get(builder().getPtrTy()), view, layout().strides());
  store(Emit(node->args[2]), view, layout().byte_offset());
  return view;
}

llvm::AllocaInst* CodeGenCPU::CallMemory(const std::string& what, uint64_t bytes) {
  llvm::AllocaInst*& memory = call_memory_[{what, bytes}];
  if (!memory) {
    memory = FrameMemory(llvm::ArrayType::get(builder().getInt8Ty(), bytes), what);
    memory->setAlignment(llvm::Align(alignof(TernAny)));
  }
  return memory;
}

void CodeGenCPU::FillValue(llvm::Value* slot, int32_t type_index, llvm::Value* payload) {
  auto store = [&](llvm::Value* value, size_t offset) {
    builder().CreateStore(value, builder().CreatePtrAdd(slot, builder().getInt64(offset)));
  };
  store(builder().getInt32(static_cast<uint32_t>(type_index)), offsetof(TernAny, type_index));
  store(builder().getInt32(0), offsetof(TernAny, small_len));
  // A pointer may be shorter than the value.
  if (payload->getType()->isPointerTy())
    payload = builder().CreatePtrToInt(payload, builder().getInt64Ty());
  store(payload, offsetof(TernAny, v_int));
}

}  // namespace tern::backend::cpu
