// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/llvm_target.h"

#include <llvm/ADT/ScopeExit.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>

#include <algorithm>
#include <mutex>

#include "tern/codegen/llvm/limit_vectorizer.h"
#include "tern/codegen/llvm/llvm_intrinsics.h"
#include "tern/codegen/llvm/lower_tile_casts.h"
#include "tern/codegen/llvm/skip_slow_passes.h"
#include "tern/codegen/llvm/unroll_short_loops.h"
#include "tern/ffi/text.h"
#include "tern/runtime/artifact/artifact.h"

namespace tern::codegen {
namespace {

using Linker = HostArch::Linker;
constexpr HostArch kHostArchs[] = {
    {"aarch64", Linker::kElf, "aarch64linux", "generic", "", "fp-armv8", "fp-armv8", "fp-armv8",
     "sve", false, 32},
    {"riscv64", Linker::kElf, "elf64lriscv", "generic-rv64", "+m,+a,+f,+d,+c", "zfhmin", "d", "d",
     "v", true, 32},
    // What every engine has that has SIMD; rounding is in the first version.
    {"wasm32", Linker::kWasm, "wasm32", "generic",
     "+simd128,+bulk-memory,+bulk-memory-opt,+sign-ext,+nontrapping-fptoint,+mutable-globals",
     nullptr, "", nullptr, nullptr, false},
    // LLVM takes instructions that gather and scatter to be cheaper than they are on any machine.
    {"x86_64", Linker::kElf, "elf_x86_64", "x86-64", "", "f16c", "sse4.1", "fma", nullptr, false,
     16, "+prefer-no-gather,+prefer-no-scatter"},
};
constexpr HostArch kOtherArch = {nullptr};

void InitializeLLVM() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers();
  });
}

// Without the vendor, which says nothing about the code: "x86_64-linux-gnu". Machines without a
// system keep the place of one: "wasm32-unknown-unknown" is how everybody says it.
std::string ShortTriple(const llvm::Triple& triple) {
  std::string name = llvm::Triple::getArchTypeName(triple.getArch()).str();
  if (triple.isOSBinFormatWasm())
    name += "-" + llvm::Triple::getVendorTypeName(triple.getVendor()).str();
  name += "-" + llvm::Triple::getOSTypeName(triple.getOS()).str();
  if (triple.getEnvironment() != llvm::Triple::UnknownEnvironment)
    name += "-" + llvm::Triple::getEnvironmentTypeName(triple.getEnvironment()).str();
  return name;
}

// Keeps the errors that LLVM reports while it lives; LLVM's own way is to print and exit.
class DiagnosticScope {
 public:
  explicit DiagnosticScope(llvm::LLVMContext& context) : context_(context) {
    auto handler = std::make_unique<Handler>(&errors_);
    previous_ = context_.getDiagnosticHandler();
    context_.setDiagnosticHandler(std::move(handler));
  }
  ~DiagnosticScope() { context_.setDiagnosticHandler(std::move(previous_)); }
  DiagnosticScope(const DiagnosticScope&) = delete;

  void ThrowIfAny() const { TERN_ICHECK(errors_.empty()) << "LLVM: " << errors_; }

 private:
  struct Handler : llvm::DiagnosticHandler {
    explicit Handler(std::string* errors) : errors(errors) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
      if (info.getSeverity() == llvm::DS_Error) {
        llvm::raw_string_ostream stream(*errors);
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info.print(printer);
        stream << "\n";
      }
      return true;
    }
    std::string* errors;
  };

  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::DiagnosticHandler> previous_;
  std::string errors_;
};

// Generated code of hosts can count on these and on nothing else of a C library.
llvm::TargetLibraryInfoImpl LibraryInfo(const llvm::Triple& triple, bool is_device) {
  llvm::TargetLibraryInfoImpl info(triple);
  info.disableAllFunctions();
  if (is_device) return info;
  for (llvm::LibFunc function : {llvm::LibFunc_memcpy, llvm::LibFunc_memmove, llvm::LibFunc_memset})
    info.setAvailable(function);
  return info;
}

// Runs what makes LLVM end the process where it does not know on; returns what it had to say, or
// "".
std::string RunGuarded(llvm::function_ref<void()> body) {
  static std::mutex mutex;  // the handlers are the process's
  std::scoped_lock lock(mutex);
  std::string message;
  llvm::install_fatal_error_handler(
      [](void* data, const char* reason, bool) {
        *static_cast<std::string*>(data) = llvm::StringRef(reason).trim().str();
        llvm::CrashRecoveryContext::GetCurrent()->HandleExit(1);
      },
      &message);
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  bool done = recovery.RunSafely(body);
  llvm::CrashRecoveryContext::Disable();
  llvm::remove_fatal_error_handler();
  if (done) return "";
  return message.empty() ? "it crashed" : message;
}

// Instruction selection, scheduling and register allocation take time that grows with the square of
// a block's length: minutes for straight code of tens of thousands of instructions. Such code gets
// none of LLVM's care, which would put the pieces together again. Says whether there was any.
bool SplitHugeBlocks(llvm::Module* module) {
  constexpr size_t kHuge = 10000, kPiece = 500;
  bool split = false;
  for (llvm::Function& function : *module) {
    std::vector<llvm::BasicBlock*> huge;
    for (llvm::BasicBlock& block : function)
      if (block.size() > kHuge) huge.push_back(&block);
    split = split || !huge.empty();
    for (llvm::BasicBlock* block : huge)
      while (block->size() > 2 * kPiece)
        block = block->splitBasicBlock(std::next(block->getFirstInsertionPt(), kPiece));
  }
  return split;
}

template <class Table>
std::vector<std::string> Keys(const Table& table) {
  std::vector<std::string> keys;
  for (const auto& entry : table) keys.emplace_back(entry.Key);
  return keys;
}

// LLVM would print a warning and go on without the feature or CPU.
void CheckCpu(const llvm::MCSubtargetInfo& info, const std::string& cpu,
              const std::string& triple) {
  if (info.isCPUStringValid(cpu)) return;
  TERN_THROW(ValueError) << "-mcpu=" << cpu << ": no CPU of " << triple
                         << ffi::DidYouMean(cpu, Keys(info.getAllProcessorDescriptions()))
                         << "; 'generic' is the baseline, 'native' this machine's";
}

void CheckFeatures(const llvm::MCSubtargetInfo& info, const std::string& features,
                   const std::string& triple) {
  std::vector<std::string> known = Keys(info.getAllProcessorFeatures());
  const llvm::SubtargetFeatures given(features);
  for (const std::string& feature : given.getFeatures()) {
    TERN_CHECK(llvm::SubtargetFeatures::hasFlag(feature))
        << "-mattr: '" << feature << "' has no sign; expected a list like +avx2,-fma";
    std::string name = llvm::SubtargetFeatures::StripFlag(feature).str();
    TERN_CHECK(std::find(known.begin(), known.end(), name) != known.end())
        << "-mattr: no feature '" << name << "' of " << triple << ffi::DidYouMean(name, known);
  }
}

std::string HostFeatures() {
  std::vector<std::string> features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(features.begin(), features.end());
  return llvm::join(features, ",");
}

}  // namespace

const HostArch& GetHostArch(const std::string& name) {
  llvm::Triple triple(llvm::Triple::normalize(name));
  std::vector<std::string> linked;
  for (const HostArch& arch : kHostArchs) {
    bool is_elf = arch.linker == Linker::kElf;
    bool same_format = is_elf ? triple.isOSBinFormatELF() : triple.isOSBinFormatWasm();
    if (same_format && llvm::Triple::getArchTypeName(triple.getArch()) == arch.name) return arch;
    linked.push_back(std::string(arch.name) + (is_elf ? "-linux-gnu" : "-unknown-unknown"));
  }
  InitializeLLVM();
  std::string error;
  bool is_device = triple.isGPU() || triple.isSPIROrSPIRV();
  TERN_CHECK(triple.getArch() != llvm::Triple::UnknownArch && !is_device &&
             llvm::TargetRegistry::lookupTarget(triple, error))
      << "-mtriple=" << name << ": LLVM knows no such host; Tern links for " << ffi::Join(linked)
      << ", and makes objects for any other that LLVM knows";
  return kOtherArch;
}

int64_t PointerBytes(const std::string& name) {
  return llvm::Triple(llvm::Triple::normalize(name)).isArch32Bit() ? 4 : 8;
}

LLVMTarget::LLVMTarget(const target::Target& target) {
  InitializeLLVM();
  std::string given = target->GetString("mtriple");
  arch_ = &GetHostArch(given);
  llvm::Triple triple(llvm::Triple::normalize(given));
  triple_ = ShortTriple(triple);
  std::string error;
  const llvm::Target* registered = llvm::TargetRegistry::lookupTarget(triple, error);
  TERN_CHECK(registered) << "-mtriple=" << given << ": " << error;

  cpu_ = target->GetString("mcpu");
  std::string features;
  if (cpu_ == "native") {
    TERN_CHECK(IsHost()) << "-mcpu=native is this machine's CPU, a " << runtime::HostTriple()
                         << "; the target is " << triple_;
    cpu_ = llvm::sys::getHostCPUName().str();
    features = HostFeatures();
  } else if (cpu_ == "generic") {
    cpu_ = arch_->baseline_cpu ? arch_->baseline_cpu : "";
    features = arch_->baseline_attr;
  }
  if (arch_->tuning) features += (features.empty() ? "" : ",") + std::string(arch_->tuning);
  std::unique_ptr<llvm::MCSubtargetInfo> info(registered->createMCSubtargetInfo(triple, "", ""));
  if (!cpu_.empty()) CheckCpu(*info, cpu_, triple_);
  if (std::string attributes = target->GetString("mattr", ""); !attributes.empty()) {
    CheckFeatures(*info, attributes, triple_);
    features += (features.empty() ? "" : ",") + attributes;
  }
  auto model = arch_->linker == Linker::kWasm ? llvm::Reloc::Static : llvm::Reloc::PIC_;
  llvm::TargetOptions options;
  options.UseInitArray = true;  // what runs when code is loaded is in the section that linkers take
  machine_.reset(registered->createTargetMachine(triple, cpu_, features, options, model,
                                                 std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  TERN_ICHECK(machine_) << triple_;
}

LLVMTarget::LLVMTarget(const std::string& triple, const std::string& cpu,
                       const std::string& features)
    : triple_(triple), cpu_(cpu), arch_(&kOtherArch), is_device_(true) {
  InitializeLLVM();
  std::string error;
  const llvm::Triple parsed(triple);
  const llvm::Target* registered = llvm::TargetRegistry::lookupTarget(parsed, error);
  TERN_ICHECK(registered) << triple << ": " << error;
  machine_.reset(registered->createTargetMachine(parsed, cpu, features, llvm::TargetOptions(),
                                                 llvm::Reloc::PIC_, std::nullopt,
                                                 llvm::CodeGenOptLevel::Aggressive));
  TERN_ICHECK(machine_) << triple;
  TERN_ICHECK(machine_->getMCSubtargetInfo()->isCPUStringValid(cpu)) << triple << ": " << cpu;
}

LLVMTarget::LLVMTarget(LLVMTarget&&) noexcept = default;
LLVMTarget::~LLVMTarget() = default;

int64_t LLVMTarget::pointer_bytes() const { return PointerBytes(triple_); }

bool LLVMTarget::HasFeature(const char* name) const {
  if (!name || !*name) return name != nullptr;
  const llvm::MCSubtargetInfo& info = *machine_->getMCSubtargetInfo();
  for (const llvm::SubtargetFeatureKV& feature : info.getAllProcessorFeatures())
    if (feature.Key == std::string_view(name)) return info.hasFeature(feature.Value);
  return false;
}

bool LLVMTarget::IsHost() const {
  llvm::Triple mine(llvm::Triple::normalize(triple_)),
      host(llvm::Triple::normalize(runtime::HostTriple()));
  return mine.getArch() == host.getArch() && mine.getOS() == host.getOS();
}

std::vector<std::string> LLVMTarget::FeaturesMissingHere() const {
  std::vector<std::string> missing;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    if (!feature.second && HasFeature(feature.first().str().c_str()))
      missing.push_back(feature.first().str());
  std::sort(missing.begin(), missing.end());
  return missing;
}

void LLVMTarget::Prepare(llvm::Module* module) const {
  module->setTargetTriple(machine_->getTargetTriple());
  module->setDataLayout(machine_->createDataLayout());
  if (machine_->isPositionIndependent()) module->setPICLevel(llvm::PICLevel::BigPIC);
}

void LLVMTarget::Optimize(llvm::Module* module, Loops loops) const {
  DiagnosticScope diagnostics(module->getContext());
  llvm::PipelineTuningOptions tuning;
  // What it makes of sums of bytes for AMDGPU, LLVM 22 fails to legalize.
  tuning.SLPVectorization = !machine_->getTargetTriple().isAMDGPU();
  llvm::PassInstrumentationCallbacks callbacks;
  SkipSlowPasses(&callbacks);
  llvm::PassBuilder builder(machine_.get(), tuning, std::nullopt, &callbacks);
  llvm::LoopAnalysisManager loop_analyses;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  // The first registration of an analysis holds.
  functions.registerPass([&] {
    return llvm::TargetLibraryAnalysis(LibraryInfo(machine_->getTargetTriple(), is_device_));
  });
  builder.registerVectorizerStartEPCallback(
      [](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) {
        passes.addPass(LimitVectorizer());
      });
  if (loops == Loops::kOfThreads)
    builder.registerLateLoopOptimizationsEPCallback(
        [](llvm::LoopPassManager& passes, llvm::OptimizationLevel) {
          passes.addPass(UnrollShortLoops());
        });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loop_analyses);
  builder.crossRegisterProxies(loop_analyses, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(*module, modules);
  if (module->getNamedMetadata(kCallsLLVM)) LowerTileCasts(module);
  diagnostics.ThrowIfAny();
}

std::string LLVMTarget::Emit(llvm::Module* module, Output output) const {
  DiagnosticScope diagnostics(module->getContext());
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (output == Output::kBitcode) {
    llvm::WriteBitcodeToFile(*module, stream);
    return bytes.str().str();
  }
  // The machine is used again: without optimisation LLVM turns fast instruction selection on, and
  // not off again.
  auto optimize = [this](bool on) {
    machine_->setOptLevel(on ? llvm::CodeGenOptLevel::Aggressive : llvm::CodeGenOptLevel::None);
    machine_->setFastISel(!on);
  };
  optimize(!SplitHugeBlocks(module));
  llvm::scope_exit again([&] { optimize(true); });
  auto passes = std::make_unique<llvm::legacy::PassManager>();
  passes->add(
      new llvm::TargetLibraryInfoWrapperPass(LibraryInfo(machine_->getTargetTriple(), is_device_)));
  auto type = output == Output::kObject ? llvm::CodeGenFileType::ObjectFile
                                        : llvm::CodeGenFileType::AssemblyFile;
  bool unsupported = machine_->addPassesToEmitFile(*passes, stream, nullptr, type);
  TERN_ICHECK(!unsupported) << triple_;
  if (!module->getNamedMetadata(kCallsLLVM)) {
    passes->run(*module);
  } else if (std::string error = RunGuarded([&] { passes->run(*module); }); !error.empty()) {
    // Nothing of it was unwound, so it stays.
    [[maybe_unused]] const auto* left = passes.release();
    TERN_THROW(ValueError) << "LLVM cannot make code of the intrinsics that are called, for "
                           << triple_ << " with -mcpu=" << cpu_ << ": " << error
                           << "; the machine may not have the instruction (-mcpu, -mattr)";
  }
  diagnostics.ThrowIfAny();
  return bytes.str().str();
}

std::unique_ptr<llvm::Module> LLVMTarget::Parse(std::string_view ir,
                                                llvm::LLVMContext& context) const {
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, error, context);
  TERN_CHECK(module) << "line " << error.getLineNo()
                     << " of the LLVM IR: " << error.getMessage().str();
  Prepare(module.get());
  return module;
}

std::string LLVMTarget::EmitText(std::string_view ir, Output output) const {
  llvm::LLVMContext context;
  return Emit(Parse(ir, context).get(), output);
}

}  // namespace tern::codegen
