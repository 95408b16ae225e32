// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/llvm/llvm_module.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "tern/backend/cpu/codegen/ffi_host.h"
#include "tern/backend/cpu/codegen/llvm/check_arguments.h"
#include "tern/backend/cpu/codegen/llvm/codegen_cpu.h"
#include "tern/backend/cpu/codegen/llvm/jit.h"
#include "tern/backend/cpu/codegen/llvm/wasm.h"
#include "tern/codegen/build_id.h"
#include "tern/codegen/compiled_function.h"
#include "tern/codegen/linkable_module.h"
#include "tern/codegen/llvm/linker.h"
#include "tern/codegen/llvm/llvm_target.h"
#include "tern/codegen/parallel_for.h"
#include "tern/codegen/undefined_symbols.h"
#include "tern/ffi/text.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/host/cpu_features.h"
#include "tern/runtime/host/host_module.h"
#include "tern/runtime/kernel/program_cache.h"
#include "tern/tir/argument_table.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/text.h"
#include "tern/tir/visitor.h"

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

// An object with read-only data that the code finds by its name.
std::string DataObject(const LLVMTarget& target, const std::string& symbol, std::string_view data) {
  llvm::LLVMContext context;
  llvm::Module module("tern.data", context);
  target.Prepare(&module);
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(context, data, /*AddNull=*/false);
  auto* variable = new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::ExternalLinkage, bytes, symbol);
  variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
  variable->setAlignment(llvm::Align(64));
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

std::string_view CheckArgumentsIR(const LLVMTarget& target) {
  return target.pointer_bytes() == 4 ? kCheckArguments32 : kCheckArguments64;
}

// An object with the routine that checks the arguments of all functions.
std::string CheckArgumentsObject(const LLVMTarget& target) {
  return target.EmitText(CheckArgumentsIR(target), LLVMTarget::Output::kObject);
}

using Functions = std::vector<tir::PrimFunc>;
using Lowering = std::function<Functions()>;

// LLVM IR, in a context of its own, so that several can be worked on at once.
struct IRCode {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

IRCode GenerateIR(const LLVMTarget& machine, const target::Target& target,
                  const Functions& functions) {
  IRCode code{std::make_unique<llvm::LLVMContext>(), nullptr};
  CodeGenCPU codegen(*code.context, machine);
  if (target->attrs.at("g").As<bool>()) codegen.EnableDebugInfo();
  for (const tir::PrimFunc& function : functions) codegen.AddFunction(function);
  code.module = codegen.Finish();
  return code;
}

// LLVM's machines for one target: each is used by one thread at a time, and makes the code of many
// functions. Making one takes as long as optimising a small function.
class Machines {
 public:
  explicit Machines(target::Target target) : target_(std::move(target)) {}

  const target::Target& target() const { return target_; }
  // LLVMCacheKey of the target.
  const std::string& cache_key() {
    std::call_once(has_cache_key_, [this] { cache_key_ = LLVMCacheKey(target_); });
    return cache_key_;
  }
  // A machine that is in use where this throws is not used again.
  void With(const std::function<void(const LLVMTarget&)>& use) {
    std::optional<LLVMTarget> machine;
    {
      std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        machine.emplace(std::move(idle_.back()));
        idle_.pop_back();
      }
    }
    if (!machine) machine.emplace(target_);
    use(*machine);
    std::scoped_lock lock(mutex_);
    idle_.push_back(*std::move(machine));
  }

 private:
  const target::Target target_;
  std::once_flag has_cache_key_;
  std::string cache_key_;
  std::mutex mutex_;
  std::vector<LLVMTarget> idle_;
};

// A packed function, with the bodies of its parallel loops, as a relocatable object. Units know
// nothing of each other: they are compiled on several threads, and found in the cache one by one.
class Unit {
 public:
  Unit(std::shared_ptr<Machines> machines, Functions functions)
      : machines_(std::move(machines)), functions_(std::move(functions)) {}
  // Of code that was stored.
  explicit Unit(const std::string& stored) { Take(stored); }

  // From the cache, or else LLVM IR, so that what LLVM cannot be told is an error at once.
  void Start() {
    if (!object_.empty()) return;
    if (std::optional<runtime::ProgramCache> cache = Cache()) {
      key_ = Key();
      if (std::optional<std::string> found = cache->Find(key_); found && !found->empty()) {
        Take(*found);
        return;
      }
    }
    machines_->With([this](const LLVMTarget& machine) {
      ir_ = GenerateIR(machine, machines_->target(), functions_);
    });
  }

  // Optimises and generates machine code, once.
  void Finish() {
    if (!ir_.module) return;
    uses_tiles_ = ir_.module->getNamedValue(runtime::kUsesTiles) != nullptr;
    machines_->With([this](const LLVMTarget& machine) {
      machine.Optimize(ir_.module.get());
      object_ = machine.Emit(ir_.module.get(), LLVMTarget::Output::kObject);
    });
    ir_.module.reset();  // before its context
    ir_.context.reset();
    if (std::optional<runtime::ProgramCache> cache = Cache(); cache && !key_.empty())
      cache->Store(key_, (uses_tiles_ ? kUsesTiles : kUsesNoTiles) + object_);
  }

  const std::string& object() const { return object_; }
  bool uses_tiles() const { return uses_tiles_; }

 private:
  // What stands before an object in the cache.
  static constexpr char kUsesTiles = 'T', kUsesNoTiles = '-';

  void Take(const std::string& stored) {
    uses_tiles_ = stored.front() == kUsesTiles;
    object_ = stored.substr(1);
  }

  // Debug information has lines of the source, which the text of a function does not show.
  std::optional<runtime::ProgramCache> Cache() const {
    if (machines_->target()->attrs.at("g").As<bool>()) return std::nullopt;
    return runtime::ProgramCache::FromEnvironment();
  }

  // By the function as it was written, or else by the lowered text; "" where it is not known which
  // build this is.
  std::string Key() const {
    const ir::Attrs& attrs = functions_[0]->attrs;
    if (auto it = attrs.find(codegen::attr::kCacheKey); it != attrs.end())
      return it->second.As<std::string>();
    const std::string& around = machines_->cache_key();
    std::string text;
    if (around.empty()) return "";
    for (const tir::PrimFunc& function : functions_) text += tir::Print(function);
    return runtime::ProgramCache::KeyOf("llvm.object", {{"tir", text}, {"around", around}});
  }

  std::shared_ptr<Machines> machines_;
  Functions functions_;
  std::string key_;
  IRCode ir_;  // from Start to Finish, where the cache has nothing
  std::string object_;
  bool uses_tiles_ = false;
};

// The code is optimised and made machine code when it is first asked for.
class LLVMModule : public codegen::LinkableModule {
 public:
  LLVMModule(const target::Target& target, std::vector<std::string> names, Functions functions,
             std::vector<Unit> units, std::vector<codegen::ExternCall> extern_calls,
             std::vector<Lowering> lowerings)
      : described_(target),
        target_(target),
        names_(std::move(names)),
        functions_(std::move(functions)),
        units_(std::move(units)),
        extern_calls_(std::move(extern_calls)),
        lowerings_(std::move(lowerings)),
        env_(this) {}

  std::string kind() const override { return "llvm"; }
  uint32_t properties() const override { return kLinkable | (target_.IsHost() ? kRunnable : 0u); }
  std::vector<std::string> FunctionNames() const override { return names_; }
  std::vector<std::string> SourceFormats() const override { return {"ll", "asm"}; }
  std::string triple() const override { return target_.triple(); }
  std::vector<std::string> cpu_features() const override {
    std::vector<std::string> features;
    const char* arch = target_.arch().name;
    for (const std::string& name : runtime::CpuFeatureNames(arch ? arch : ""))
      if (target_.HasFeature(name.c_str())) features.push_back(name);
    return features;
  }
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
    if (format.empty() || format == "ll") return MakeFile(".ll");
    if (format == "asm") return MakeFile(".s");
    return ModuleObj::InspectSource(format);
  }

  std::vector<codegen::FileFormat> FileFormats() const override {
    return {{".o", "a relocatable object"},
            {".ll", "LLVM IR"},
            {".bc", "LLVM bitcode"},
            {".s", "assembly"}};
  }
  std::string MakeFile(std::string_view ending) const override {
    std::scoped_lock lock(mutex_);
    // One file of all functions.
    if (ir_.empty()) {
      IRCode code = GenerateIR(target_, described_, AllFunctions());
      target_.Optimize(code.module.get());
      AddCheckArguments(&code);
      llvm::raw_string_ostream(ir_) << *code.module;
    }
    if (ending == ".ll") return ir_;
    if (ending == ".bc") return target_.EmitText(ir_, LLVMTarget::Output::kBitcode);
    if (ending == ".s") return target_.EmitText(ir_, LLVMTarget::Output::kAssembly);
    TERN_ICHECK(ending == ".o") << ending;
    return target_.EmitText(ir_, LLVMTarget::Output::kObject);
  }

  std::string LinkSharedObject(std::string_view section) const override {
    std::scoped_lock lock(mutex_);
    using Linker = codegen::HostArch::Linker;
    TERN_CHECK(target_.arch().linker != Linker::kNone)
        << "Tern does not link for " << triple() << "; it makes objects for it (.o)";
    if (target_.arch().linker == Linker::kWasm)
      return LinkWasm(target_, Objects(), names_, section);
    codegen::CheckExternCalls(extern_calls_);
    std::vector<std::string> objects = Objects(/*for_other_hosts=*/true);
    if (!section.empty()) objects.push_back(SectionObject(target_, section));
    return codegen::LinkElfSharedObject(objects, target_.arch().emulation);
  }

 private:
  // Also those whose code was found, in the order of names.
  Functions AllFunctions() const {
    std::map<std::string, tir::PrimFunc> by_name;
    for (const tir::PrimFunc& function : functions_) by_name[function->name] = function;
    for (const Lowering& lower : lowerings_)
      for (const tir::PrimFunc& function : lower()) by_name[function->name] = function;
    Functions all;
    for (const auto& [name, function] : by_name) all.push_back(function);
    return all;
  }

  // With the mutex held. `for_other_hosts`: also the entries for hosts of the TVM-FFI ABI.
  std::vector<std::string> Objects(bool for_other_hosts = false) const {
    // Each once: LLVM does not promise the same bytes twice in a process.
    codegen::ParallelFor(units_.size() + (for_other_hosts ? 2 : 1), [this](size_t i) {
      if (i < units_.size())
        units_[i].Finish();
      else if (i == units_.size() && check_arguments_.empty())
        check_arguments_ = Stored("llvm.check_arguments", "", CheckArgumentsObject);
      else if (i > units_.size() && ffi_host_.empty())
        ffi_host_ = Stored("llvm.ffi_host", ffi::Join(names_), [this](const LLVMTarget& target) {
          return FfiHostObject(target, names_);
        });
    });
    std::vector<std::string> objects;
    for (const Unit& unit : units_) objects.push_back(unit.object());
    objects.push_back(check_arguments_);
    for (const auto& [symbol, bytes] : data())
      objects.push_back(DataObject(target_, symbol, bytes));
    if (for_other_hosts) objects.push_back(ffi_host_);
    return objects;
  }
  // From the cache, or made and stored there.
  std::string Stored(const char* kind, const std::string& functions,
                     const std::function<std::string(const LLVMTarget&)>& make) const {
    std::string around = LLVMCacheKey(described_);
    std::optional<runtime::ProgramCache> cache;
    if (!around.empty()) cache = runtime::ProgramCache::FromEnvironment();
    LLVMTarget target(described_);  // of this thread
    if (!cache) return make(target);
    std::string key =
        runtime::ProgramCache::KeyOf(kind, {{"functions", functions}, {"around", around}});
    if (std::optional<std::string> found = cache->Find(key); found && !found->empty())
      return *found;
    std::string object = make(target);
    cache->Store(key, object);
    return object;
  }
  // As a part of the module: what others make may be linked beside it.
  void AddCheckArguments(IRCode* code) const {
    bool failed = llvm::Linker::linkModules(
        *code->module, target_.Parse(CheckArgumentsIR(target_), *code->context),
        llvm::Linker::LinkOnlyNeeded);
    TERN_ICHECK(!failed);
    if (llvm::Function* routine = code->module->getFunction(tir::kCheckArgumentsSymbol)) {
      routine->setVisibility(llvm::GlobalValue::DefaultVisibility);
      routine->setLinkage(llvm::GlobalValue::InternalLinkage);
    }
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
      std::vector<std::string> objects = Objects();
      if (std::any_of(units_.begin(), units_.end(), std::mem_fn(&Unit::uses_tiles)))
        runtime::AskForTiles();
      jit_ = std::make_unique<Jit>(objects);
    }
    return *jit_;
  }

  mutable std::mutex mutex_;  // of the units, the target's machine, and of making the JIT
  target::Target described_;
  LLVMTarget target_;
  std::vector<std::string> names_;
  Functions functions_;
  mutable std::vector<Unit> units_;  // in the order of names
  mutable std::string ir_;           // of all functions, when it was asked for
  std::vector<codegen::ExternCall> extern_calls_;
  std::vector<Lowering> lowerings_;                 // of functions whose code was found
  mutable std::string check_arguments_, ffi_host_;  // objects, when they were asked for
  runtime::ModuleEnv env_;
  std::unique_ptr<Jit> jit_;
};

// The bodies of the parallel loops of a function, by name.
class ParallelBodies : public tir::StmtVisitor {
 public:
  static std::vector<std::string> Of(const tir::PrimFunc& function) {
    ParallelBodies bodies;
    bodies.VisitFunction(function);
    return bodies.names_;
  }

 private:
  using StmtVisitor::VisitNode;
  void VisitNode(const ir::CallNode* node) override {
    if (node->name == tir::intrinsic::kParallelFor)
      names_.push_back(node->args[1].As<ir::StringImmNode>()->value);
    VisitChildren(node);
  }

  std::vector<std::string> names_;
};

}  // namespace

ffi::Module BuildLLVM(const ir::IRModule& module, const target::Target& target) {
  std::vector<std::string> names;
  Functions functions;
  std::vector<Unit> units;
  std::vector<Lowering> lowerings;
  auto machines = std::make_shared<Machines>(target);
  for (const auto& [name, base] : module->functions) {
    if (const codegen::CompiledFunctionNode* compiled = codegen::AsCompiledFunction(base)) {
      names.push_back(name);
      units.emplace_back(compiled->code);
      if (compiled->lower) lowerings.push_back(compiled->lower);
      continue;
    }
    tir::PrimFunc function = tir::AsPrimFunc(base);
    functions.push_back(function);
    if (tir::CallingConventionOf(function) != tir::CallingConvention::kPacked) continue;
    names.push_back(name);
    Functions unit = {function};
    for (const std::string& body : ParallelBodies::Of(function))
      unit.push_back(tir::AsPrimFunc(module->functions.at(body)));
    units.emplace_back(machines, std::move(unit));
  }
  codegen::ParallelFor(units.size(), [&](size_t i) { units[i].Start(); });
  return ffi::Module(ffi::Make<LLVMModule>(target, std::move(names), std::move(functions),
                                           std::move(units), codegen::FindExternCalls(module),
                                           std::move(lowerings)));
}

std::string LLVMCacheKey(const target::Target& target) {
  static const std::string tern = codegen::BuildId();
  static const std::string llvm =
      codegen::BuildIdOf(reinterpret_cast<const void*>(&llvm::sys::getHostCPUName));
  // Debug information has lines of the source, which the text of a function does not show.
  if (tern.empty() || target->attrs.at("g").As<bool>()) return "";
  LLVMTarget machine(target);
  target::Machine facts = target->kind->machine(target);
  return runtime::ProgramCache::KeyOf("llvm",
                                      {{"target", target->str()},
                                       {"triple", machine.triple()},
                                       {"cpu", machine.cpu()},
                                       {"features", machine.machine().getTargetFeatureString()},
                                       {"l1", std::to_string(facts.l1_bytes)},
                                       {"l2", std::to_string(facts.l2_bytes)},
                                       {"tern", tern},
                                       {"llvm", LLVM_VERSION_STRING},
                                       {"llvm build", llvm}});
}

}  // namespace tern::backend::cpu
