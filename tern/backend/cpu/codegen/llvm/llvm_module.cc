// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/llvm/llvm_module.h"

#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "tern/backend/cpu/codegen/ffi_host.h"
#include "tern/backend/cpu/codegen/llvm/codegen_cpu.h"
#include "tern/backend/cpu/codegen/llvm/jit.h"
#include "tern/backend/cpu/codegen/llvm/wasm.h"
#include "tern/codegen/linkable_module.h"
#include "tern/codegen/llvm/linker.h"
#include "tern/codegen/llvm/llvm_target.h"
#include "tern/codegen/undefined_symbols.h"
#include "tern/ffi/text.h"
#include "tern/runtime/artifact.h"
#include "tern/runtime/host_module.h"

namespace tern::backend::cpu {
namespace {

using codegen::LLVMTarget;

// An object with nothing but the section.
std::string SectionObject(const LLVMTarget& target, std::string_view section) {
  llvm::LLVMContext context;
  llvm::Module module("tern.section", context);
  target.Prepare(&module);
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(context, section, /*AddNull=*/false);
  auto* variable =
      new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::InternalLinkage, bytes, "tern.section");
  variable->setSection(runtime::kContainerSection);
  variable->setAlignment(llvm::Align(64));
  llvm::appendToUsed(module, {variable});
  return target.Emit(&module, LLVMTarget::Output::kObject);
}

// An object with the entries for hosts of the TVM-FFI ABI.
std::string FfiHostObject(const LLVMTarget& target, const std::vector<std::string>& names) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = target.Parse(kFfiHostLLVM, context);
  llvm::Function* enter = module->getFunction(kFfiEnter);
  for (const std::string& name : names) {
    // On machines where it means nothing, the extension of integers does no harm.
    auto extend = [](auto* function) {
      function->addRetAttr(llvm::Attribute::SExt);
      function->addParamAttr(2, llvm::Attribute::SExt);
    };
    auto declare = [&](const std::string& symbol) {
      auto* declared = llvm::Function::Create(enter->getFunctionType(),
                                              llvm::Function::ExternalLinkage, symbol, *module);
      extend(declared);
      return declared;
    };
    llvm::Function* entry = declare(TERN_SYMBOL_PREFIX + name);
    llvm::Function* foreign = declare(kFfiSymbolPrefix + name);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", foreign));
    llvm::CallInst* call = builder.CreateCall(
        enter, {entry, foreign->getArg(1), foreign->getArg(2), foreign->getArg(3)});
    extend(call);
    builder.CreateRet(call);
  }
  return target.Emit(module.get(), LLVMTarget::Output::kObject);
}

// The code is optimised and made machine code when it is first asked for.
class LLVMModule : public codegen::LinkableModule {
 public:
  LLVMModule(LLVMTarget target, std::vector<std::string> names,
             std::vector<codegen::ExternCall> extern_calls,
             std::unique_ptr<llvm::LLVMContext> context, std::unique_ptr<llvm::Module> module)
      : target_(std::move(target)),
        names_(std::move(names)),
        extern_calls_(std::move(extern_calls)),
        context_(std::move(context)),
        module_(std::move(module)),
        env_(runtime::MakeEnv(this)) {}

  std::string kind() const override { return "llvm"; }
  uint32_t properties() const override { return kLinkable | (target_.IsHost() ? kRunnable : 0u); }
  std::vector<std::string> FunctionNames() const override { return names_; }
  std::vector<std::string> SourceFormats() const override { return {"ll", "asm"}; }
  std::string triple() const override { return target_.triple(); }
  std::string library_ending() const override {
    switch (target_.arch().linker) {
      case codegen::HostArch::Linker::kNone:
        return "";
      case codegen::HostArch::Linker::kElf:
        return ".so";
      case codegen::HostArch::Linker::kWasm:
        return ".wasm";
    }
    return "";
  }

  ffi::Function GetFunction(std::string_view name) override {
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) return {};
    CheckRunsHere();
    codegen::CheckExternCalls(extern_calls_);
    void* entry = GetJit().Lookup(TERN_SYMBOL_PREFIX + std::string(name));
    return runtime::FunctionFromEntry(ffi::Module(ffi::Ref<ffi::ModuleObj>(this)), &env_,
                                      reinterpret_cast<TernEntry>(entry));
  }

  std::string InspectSource(std::string_view format) const override {
    std::scoped_lock lock(mutex_);
    if (format.empty() || format == "ll") return Finished().ir;
    if (format != "asm") return ModuleObj::InspectSource(format);
    return target_.EmitText(Finished().ir, LLVMTarget::Output::kAssembly);
  }

  std::vector<codegen::FileFormat> FileFormats() const override {
    return {{".o", "a relocatable object"},
            {".ll", "LLVM IR"},
            {".bc", "LLVM bitcode"},
            {".s", "assembly"}};
  }
  std::string MakeFile(std::string_view ending) const override {
    std::scoped_lock lock(mutex_);
    const Code& code = Finished();
    if (ending == ".ll") return code.ir;
    if (ending == ".bc") return target_.EmitText(code.ir, LLVMTarget::Output::kBitcode);
    if (ending == ".s") return target_.EmitText(code.ir, LLVMTarget::Output::kAssembly);
    TERN_ICHECK(ending == ".o") << ending;
    return code.object;
  }

  std::string LinkSharedObject(std::string_view section) const override {
    std::scoped_lock lock(mutex_);
    using Linker = codegen::HostArch::Linker;
    TERN_CHECK(target_.arch().linker != Linker::kNone)
        << "Tern does not link for " << triple() << "; it makes objects for it (.o)";
    if (target_.arch().linker == Linker::kWasm)
      return LinkWasm(target_, Finished().object, names_, section);
    codegen::CheckExternCalls(extern_calls_);
    // Made once: LLVM does not promise the same bytes twice in one process.
    if (ffi_host_.empty()) ffi_host_ = FfiHostObject(target_, names_);
    std::vector<std::string> objects = {Finished().object, ffi_host_};
    if (!section.empty()) {
      objects.push_back(SectionObject(target_, section));
    }
    return codegen::LinkElfSharedObject(objects, target_.arch().emulation);
  }

 private:
  struct Code {
    std::string ir, object;
  };
  // With the mutex held.
  const Code& Finished() const {
    if (module_) {
      uses_tiles_ = module_->getNamedValue(runtime::kUsesTiles) != nullptr;
      target_.Optimize(module_.get());
      llvm::raw_string_ostream(code_.ir) << *module_;
      code_.object = target_.Emit(module_.get(), LLVMTarget::Output::kObject);
      module_.reset();
      context_.reset();
    }
    return code_;
  }

  void CheckRunsHere() const {
    if (!target_.IsHost())
      TERN_THROW(RuntimeError) << "compiled for " << triple() << "; this machine is "
                               << runtime::HostTriple();
    std::vector<std::string> missing = target_.FeaturesMissingHere();
    if (missing.empty()) return;
    TERN_THROW(RuntimeError) << "compiled for " << target_.cpu() << "; this machine's CPU lacks "
                             << ffi::Join(missing);
  }

  Jit& GetJit() {
    std::scoped_lock lock(mutex_);
    if (!jit_) {
      const std::string& object = Finished().object;
      if (uses_tiles_) runtime::AskForTiles();
      jit_ = std::make_unique<Jit>(object);
    }
    return *jit_;
  }

  mutable std::mutex mutex_;  // of the code, the target's machine, and of making the JIT
  LLVMTarget target_;
  std::vector<std::string> names_;
  std::vector<codegen::ExternCall> extern_calls_;
  mutable std::unique_ptr<llvm::LLVMContext> context_;
  mutable std::unique_ptr<llvm::Module> module_;  // until the code is finished
  mutable Code code_;
  mutable bool uses_tiles_ = false;  // once it is finished
  mutable std::string ffi_host_;     // an object, when it was asked for
  TernEnv env_;
  std::unique_ptr<Jit> jit_;
};

}  // namespace

ffi::Module BuildLLVM(const ir::IRModule& functions, const target::Target& target) {
  LLVMTarget llvm_target(target);
  auto context = std::make_unique<llvm::LLVMContext>();
  CodeGenCPU codegen(*context, llvm_target);
  if (target->attrs.at("g").As<bool>()) codegen.EnableDebugInfo();
  std::vector<std::string> names;
  for (const auto& [name, function] : functions->functions) {
    codegen.AddFunction(tir::AsPrimFunc(function));
    if (tir::CallingConventionOf(tir::AsPrimFunc(function)) == "packed") names.push_back(name);
  }
  std::unique_ptr<llvm::Module> module = codegen.Finish();
  return ffi::Module(ffi::Make<LLVMModule>(std::move(llvm_target), std::move(names),
                                           codegen::FindExternCalls(functions), std::move(context),
                                           std::move(module)));
}

}  // namespace tern::backend::cpu
