// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/llvm_intrinsics.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <mutex>

#include "tern/codegen/llvm/codegen_llvm.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/intrinsic.h"
#include "tern/runtime/host/host_module.h"

namespace tern::codegen {
namespace {

void Register(const char* name, bool pure) {
  ir::RegisterIntrinsic(
      {.name = name,
       .signature = std::string(name) + "<dtype>(\"llvm.name\", argument...) -> dtype",
       .pure = pure,
       .explicit_dtype = true,
       .infer = [=](const std::vector<ir::Expr>& args, DataType given) {
         const auto* text = args.empty() ? nullptr : args[0].As<ir::StringImmNode>();
         if (!text || !text->value.starts_with("llvm."))
           TERN_THROW(TypeError) << name
                                 << ": expected the name of an intrinsic of LLVM as a "
                                    "string, as in \"llvm.x86.avx2.pmadd.wd\"";
         if (given.is_void() && pure)
           TERN_THROW(TypeError) << name << " needs a type, as in " << name << "<int32x16>(...)";
         return given;
       }});
}

// The same bits as another type: a vector as the one that LLVM wants, or as a tile of registers.
llvm::Value* ConvertBits(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Type* to) {
  llvm::Type* from = value->getType();
  bool is_tile = to->isX86_AMXTy() || from->isX86_AMXTy();
  if (from == to || !from->isSized() || !to->isSized()) return value;
  if (!is_tile)
    return llvm::CastInst::isBitCastable(from, to) ? builder.CreateBitCast(value, to) : value;
  llvm::Type* vector = to->isX86_AMXTy() ? from : to;
  if (!vector->isVectorTy() || vector->getPrimitiveSizeInBits() != 8192) return value;
  return to->isX86_AMXTy()
             ? builder.CreateIntrinsic(llvm::Intrinsic::x86_cast_vector_to_tile, {vector}, {value})
             : builder.CreateIntrinsic(llvm::Intrinsic::x86_cast_tile_to_vector, {vector}, {value});
}

// The code asks Linux for the registers when it is loaded, by whomever. The runtime sees that it
// needs them, and asks too, as it can say why there are none.
void AskForTiles(llvm::Module* module) {
  if (module->getNamedValue(runtime::kUsesTiles)) return;
  llvm::LLVMContext& context = module->getContext();
  llvm::IRBuilder<> builder(context);
  new llvm::GlobalVariable(*module, builder.getInt8Ty(), /*isConstant=*/true,
                           llvm::GlobalValue::WeakODRLinkage, builder.getInt8(1),
                           runtime::kUsesTiles);
  constexpr int64_t kArchPrctl = 158, kRequestPermission = 0x1023, kTileData = 18;
  auto* ask =
      llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), false),
                             llvm::GlobalValue::InternalLinkage, "tern.ask_for_tiles", *module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", ask));
  llvm::Type* word = builder.getInt64Ty();
  auto* call = llvm::InlineAsm::get(llvm::FunctionType::get(word, {word, word, word}, false),
                                    "syscall", "={ax},{ax},{di},{si},~{cx},~{r11},~{memory}",
                                    /*hasSideEffects=*/true);
  builder.CreateCall(call, {builder.getInt64(kArchPrctl), builder.getInt64(kRequestPermission),
                            builder.getInt64(kTileData)});
  builder.CreateRetVoid();
  constexpr int kFirst = 0;
  llvm::appendToGlobalCtors(*module, ask, kFirst);
}

}  // namespace

void RegisterLLVMIntrinsics() {
  static std::once_flag once;
  std::call_once(once, [] {
    Register(kLLVMCall, /*pure=*/false);
    Register(kLLVMCallPure, /*pure=*/true);
  });
}

llvm::Value* CodeGenLLVM::EmitLLVMCall(const ir::CallNode* node) {
  const std::string& name = node->args.at(0).As<ir::StringImmNode>()->value;
  auto refuse = [&](const std::string& why) {
    TERN_THROW(ValueError) << ir::At(node->span) << name << ": " << why;
  };
  llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(name);
  if (id == llvm::Intrinsic::not_intrinsic) refuse("LLVM has no such intrinsic");
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  // What it takes and returns, where that is always the same.
  llvm::FunctionType* fixed = llvm::Intrinsic::isOverloaded(id)
                                  ? nullptr
                                  : llvm::Intrinsic::getType(builder_.getContext(), id);
  for (size_t i = 1; i < node->args.size(); ++i) {
    llvm::Value* arg = Emit(node->args[i]);
    if (fixed && i <= fixed->getNumParams())
      arg = ConvertBits(builder_, arg, fixed->getParamType(static_cast<unsigned>(i - 1)));
    args.push_back(arg);
    types.push_back(arg->getType());
  }
  llvm::Type* wanted = node->dtype.is_void() ? builder_.getVoidTy() : RegisterType(node->dtype);
  bool convert = fixed && wanted->isVectorTy() && fixed->getReturnType()->isX86_AMXTy();
  llvm::Type* result = convert ? fixed->getReturnType() : wanted;
  auto* type = llvm::FunctionType::get(result, types, false);
  llvm::SmallVector<llvm::Type*, 4> overloads;
  std::string given;
  llvm::raw_string_ostream(given) << *type;
  if (!llvm::Intrinsic::getIntrinsicSignature(id, type, overloads))
    refuse("LLVM takes and returns other types than " + given);
  llvm::Function* declared = llvm::Intrinsic::getOrInsertDeclaration(module_.get(), id, overloads);
  for (unsigned i = 0; i < args.size(); ++i)
    if (declared->hasParamAttribute(i, llvm::Attribute::ImmArg) &&
        !llvm::isa<llvm::Constant>(args[i]))
      refuse("argument " + std::to_string(i) + " must be a constant");
  module_->getOrInsertNamedMetadata(kCallsLLVM);
  if (name.starts_with("llvm.x86.tile") || name == "llvm.x86.ldtilecfg") AskForTiles(module_.get());
  llvm::Value* value = builder_.CreateCall(declared, args);
  return convert ? ConvertBits(builder_, value, wanted) : value;
}

}  // namespace tern::codegen
