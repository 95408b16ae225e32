// SPDX-License-Identifier: Apache-2.0
//
// LLVM's optimizer and code generators for one machine. No header of LLVM is needed to include this
// one.
#ifndef TERN_CODEGEN_LLVM_LLVM_TARGET_H_
#define TERN_CODEGEN_LLVM_LLVM_TARGET_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tern/target/target.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
}  // namespace llvm

namespace tern::codegen {

// What Tern knows about an architecture. For those that it links for, all of it; for any other
// that LLVM knows, enough to make objects.
struct HostArch {
  enum class Linker { kNone, kElf, kWasm };
  const char* name;  // as in the triple; null: another one
  Linker linker = Linker::kNone;
  const char* emulation = nullptr;     // the linker's name for it
  const char* baseline_cpu = nullptr;  // what `-mcpu=generic` means
  const char* baseline_attr = "";      // features that go with it
  // Features that bring instructions; null: none does, "": they are there always.
  const char* half_feature = nullptr;      // between float16 and float32
  const char* round_feature = nullptr;     // that round to integers
  const char* fma_feature = nullptr;       // that multiply and add at once
  const char* scalable_feature = nullptr;  // on scalable vectors
  // The calling convention wants 32-bit integers sign-extended to 64 bits.
  bool sign_extends_int = false;
  int vector_registers = 16;
  const char* tuning = nullptr;  // features that say what is slow there; null: as LLVM thinks
};
// Throws where LLVM does not know the triple, with examples of those that can be linked for.
const HostArch& GetHostArch(const std::string& triple);
int64_t PointerBytes(const std::string& triple);

class LLVMTarget {
 public:
  enum class Output { kObject, kAssembly, kBitcode };
  // Whether short loops run on cores that look ahead, or in threads that do not: these are
  // unrolled.
  enum class Loops { kOfCores, kOfThreads };

  // From the attributes mtriple, mcpu and mattr. Throws where LLVM does not know one of them, with
  // near names.
  // `-mcpu=native` means this machine's CPU with the features it really offers, which may be fewer
  // than its name promises.
  explicit LLVMTarget(const target::Target& target);
  // A device, by LLVM's names; `features` are as in mattr. Generated code can count on no function
  // there.
  LLVMTarget(const std::string& triple, const std::string& cpu, const std::string& features);
  LLVMTarget(LLVMTarget&&) noexcept;
  ~LLVMTarget();

  // Arch, system and environment without the vendor: "x86_64-linux-gnu".
  const std::string& triple() const { return triple_; }
  const std::string& cpu() const { return cpu_; }
  const HostArch& arch() const { return *arch_; }
  int64_t pointer_bytes() const;
  llvm::TargetMachine& machine() const { return *machine_; }
  // By LLVM's name, or what HostArch has in place of one.
  bool HasFeature(const char* name) const;
  // Whether code for this target could run here as far as the architecture and system go.
  bool IsHost() const;
  bool is_device() const { return is_device_; }
  // The features that the code may use and this machine lacks, by name; only for IsHost.
  std::vector<std::string> FeaturesMissingHere() const;

  // An empty module's triple and data layout are this target's afterwards.
  void Prepare(llvm::Module* module) const;
  void Optimize(llvm::Module* module, Loops loops = Loops::kOfCores) const;
  // Code generation rewrites the module on the way.
  std::string Emit(llvm::Module* module, Output output) const;
  // Reads LLVM's text form; what comes out is for this machine.
  std::unique_ptr<llvm::Module> Parse(std::string_view ir, llvm::LLVMContext& context) const;
  // Parse, then Emit.
  std::string EmitText(std::string_view ir, Output output) const;

 private:
  std::string triple_, cpu_;
  const HostArch* arch_;
  bool is_device_ = false;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_LLVM_TARGET_H_
