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

// What Tern knows about an architecture it makes shared objects for; all are 64-bit, little endian
// and use ELF.
struct ElfMachine {
  const char* arch;              // as in the triple
  const char* emulation;         // the linker's name for it
  const char* baseline_cpu;      // what `-mcpu=generic` means
  const char* baseline_attr;     // features that go with it
  const char* half_feature;      // the feature that brings instructions between float16 and float32
  const char* round_feature;     // that brings rounding to integers
  const char* fma_feature;       // that brings fused multiply-add
  const char* scalable_feature;  // that brings scalable vectors; null: none does
  bool sign_extends_int;  // the calling convention wants 32-bit integers sign-extended to 64 bits
};
// Throws on a triple of another architecture or object format, with what is legal.
const ElfMachine& GetElfMachine(const std::string& triple);

class LLVMTarget {
 public:
  enum class Output { kObject, kAssembly, kBitcode };

  // From the attributes mtriple, mcpu and mattr. Throws where LLVM does not know one of them, with
  // near names.
  // `-mcpu=native` means this machine's CPU with the features it really offers, which may be fewer
  // than its name promises.
  explicit LLVMTarget(const target::Target& target);
  LLVMTarget(LLVMTarget&&) noexcept;
  ~LLVMTarget();

  // Arch, system and environment without the vendor: "x86_64-linux-gnu".
  const std::string& triple() const { return triple_; }
  const std::string& cpu() const { return cpu_; }
  const ElfMachine& elf() const { return *elf_; }
  llvm::TargetMachine& machine() const { return *machine_; }
  bool HasFeature(std::string_view name) const;
  // Whether code for this target could run here as far as the architecture and system go.
  bool IsHost() const;
  // The features that the code may use and this machine lacks, by name; only for IsHost.
  std::vector<std::string> FeaturesMissingHere() const;

  // An empty module's triple and data layout are this target's afterwards.
  void Prepare(llvm::Module* module) const;
  void Optimize(llvm::Module* module) const;
  // Code generation rewrites the module on the way.
  std::string Emit(llvm::Module* module, Output output) const;
  // Reads LLVM's text form; what comes out is for this machine.
  std::unique_ptr<llvm::Module> Parse(std::string_view ir, llvm::LLVMContext& context) const;
  // Parse, then Emit.
  std::string EmitText(std::string_view ir, Output output) const;

 private:
  std::string triple_, cpu_;
  const ElfMachine* elf_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_LLVM_TARGET_H_
