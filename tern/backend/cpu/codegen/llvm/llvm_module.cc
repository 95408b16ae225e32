// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/llvm/llvm_module.h"

#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "tern/backend/cpu/codegen/llvm/codegen_cpu.h"
#include "tern/backend/cpu/codegen/llvm/jit.h"
#include "tern/codegen/linkable_module.h"
#include "tern/codegen/llvm/link_elf.h"
#include "tern/codegen/llvm/llvm_target.h"
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

// The code in its final forms; nothing of LLVM's lives on but the target.
class LLVMModule : public codegen::LinkableModule {
 public:
  LLVMModule(LLVMTarget target, std::vector<std::string> names, std::string ir, std::string object)
      : target_(std::move(target)),
        names_(std::move(names)),
        ir_(std::move(ir)),
        object_(std::move(object)),
        env_(runtime::MakeEnv(this)) {}

  std::string kind() const override { return "llvm"; }
  uint32_t properties() const override { return kLinkable | (target_.IsHost() ? kRunnable : 0u); }
  std::vector<std::string> FunctionNames() const override { return names_; }
  std::vector<std::string> SourceFormats() const override { return {"ll", "asm"}; }
  std::string triple() const override { return target_.triple(); }

  ffi::Function GetFunction(std::string_view name) override {
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) return {};
    CheckRunsHere();
    void* entry = GetJit().Lookup(TERN_SYMBOL_PREFIX + std::string(name));
    return runtime::FunctionFromEntry(ffi::Module(ffi::Ref<ffi::ModuleObj>(this)), &env_,
                                      reinterpret_cast<TernEntry>(entry));
  }

  std::string InspectSource(std::string_view format) const override {
    if (format.empty() || format == "ll") return ir_;
    if (format != "asm") return ModuleObj::InspectSource(format);
    return EmitText(LLVMTarget::Output::kAssembly);
  }

  std::vector<codegen::FileFormat> FileFormats() const override {
    return {{".o", "a relocatable object"},
            {".ll", "LLVM IR"},
            {".bc", "LLVM bitcode"},
            {".s", "assembly"}};
  }
  std::string MakeFile(std::string_view ending) const override {
    if (ending == ".ll") return ir_;
    if (ending == ".bc") return EmitText(LLVMTarget::Output::kBitcode);
    if (ending == ".s") return EmitText(LLVMTarget::Output::kAssembly);
    TERN_ICHECK(ending == ".o") << ending;
    return object_;
  }

  std::string LinkSharedObject(std::string_view section) const override {
    std::vector<std::string> objects = {object_};
    if (!section.empty()) {
      std::scoped_lock lock(mutex_);
      objects.push_back(SectionObject(target_, section));
    }
    return codegen::LinkElfSharedObject(objects, target_.elf().emulation);
  }

 private:
  std::string EmitText(LLVMTarget::Output output) const {
    std::scoped_lock lock(mutex_);
    return target_.EmitText(ir_, output);
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
    if (!jit_) jit_ = std::make_unique<Jit>(object_);
    return *jit_;
  }

  mutable std::mutex mutex_;  // of the target's machine, and of making the JIT
  LLVMTarget target_;
  std::vector<std::string> names_;
  std::string ir_, object_;
  TernEnv env_;
  std::unique_ptr<Jit> jit_;
};

}  // namespace

ffi::Module BuildLLVM(const ir::IRModule& functions, const target::Target& target) {
  LLVMTarget llvm_target(target);
  llvm::LLVMContext context;
  CodeGenCPU codegen(context, llvm_target);
  std::vector<std::string> names;
  for (const auto& [name, function] : functions->functions) {
    codegen.AddFunction(tir::AsPrimFunc(function));
    names.push_back(name);
  }
  std::unique_ptr<llvm::Module> module = codegen.Finish();
  llvm_target.Optimize(module.get());
  std::string ir;
  llvm::raw_string_ostream(ir) << *module;
  std::string object = llvm_target.Emit(module.get(), LLVMTarget::Output::kObject);
  return ffi::Module(ffi::Make<LLVMModule>(std::move(llvm_target), std::move(names), std::move(ir),
                                           std::move(object)));
}

}  // namespace tern::backend::cpu
