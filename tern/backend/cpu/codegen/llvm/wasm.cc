// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/llvm/wasm.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "tern/codegen/llvm/linker.h"
#include "tern/ffi/abi_layout.h"
#include "tern/runtime/artifact/artifact.h"

namespace tern::backend::cpu {
namespace {

constexpr const char* kEnv = "__tern_env";

// An object with the environment table.
std::string EnvObject(const codegen::LLVMTarget& target) {
  llvm::LLVMContext context;
  llvm::Module module("tern.env", context);
  target.Prepare(&module);
  llvm::IRBuilder<> builder(context);
  llvm::Type *pointer = builder.getPtrTy(), *int32 = builder.getInt32Ty(),
             *int64 = builder.getInt64Ty(), *none = builder.getVoidTy();
  auto import = [&](const char* name, llvm::Type* result, std::vector<llvm::Type*> params) {
    auto* function = llvm::Function::Create(llvm::FunctionType::get(result, params, false),
                                            llvm::Function::ExternalLinkage,
                                            std::string("tern_") + name, module);
    function->addFnAttr("wasm-import-module", "tern");
    function->addFnAttr("wasm-import-name", name);
    return function;
  };
  ffi::AbiLayout layout(target.pointer_bytes());
  // The members of TernEnv, in their order.
  std::vector<llvm::Constant*> members = {
      builder.getInt32(static_cast<uint32_t>(layout.env_size())),
      builder.getInt32(TERN_ENV_VERSION),
      llvm::ConstantPointerNull::get(builder.getPtrTy()),
      import("raise", none, {pointer, pointer, pointer, int32}),
      import("call", int32, {pointer, pointer, pointer, int32, pointer}),
      import("alloc_workspace", pointer, {pointer, int32, int32, int64, int64}),
      import("free_workspace", none, {pointer, int32, int32, pointer}),
      import("parallel_for", int32, {pointer, pointer, int64, pointer})};
  llvm::Constant* table = llvm::ConstantStruct::getAnon(members);
  new llvm::GlobalVariable(module, table->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, table, kEnv);
  return target.Emit(&module, codegen::LLVMTarget::Output::kObject);
}

// WebAssembly's numbers: seven bits a byte, lowest first.
std::string Leb128(size_t value) {
  std::string bytes;
  do {
    auto low = static_cast<char>(value & 0x7f);
    value >>= 7;
    bytes.push_back(static_cast<char>(value ? low | 0x80 : low));
  } while (value);
  return bytes;
}

}  // namespace

std::string LinkWasm(const codegen::LLVMTarget& target, const std::vector<std::string>& objects,
                     const std::vector<std::string>& functions, std::string_view section) {
  std::vector<std::string> symbols = {kEnv, "__heap_base"};
  for (const std::string& name : functions) symbols.push_back(TERN_SYMBOL_PREFIX + name);
  std::vector<std::string> linked = objects;
  linked.push_back(EnvObject(target));
  std::string module = codegen::LinkWasmModule(linked, symbols);
  if (section.empty()) return module;
  std::string_view name = runtime::kContainerSection;
  std::string payload = Leb128(name.size()) + std::string(name) + std::string(section);
  return module + '\0' + Leb128(payload.size()) + payload;
}

}  // namespace tern::backend::cpu
