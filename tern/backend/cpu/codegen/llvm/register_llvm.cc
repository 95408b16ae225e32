// SPDX-License-Identifier: Apache-2.0
//
// RegisterLLVM of a build with LLVM.
#include <unistd.h>

#include <map>
#include <mutex>

#include "tern/backend/cpu/codegen/llvm/host_cpu.h"
#include "tern/backend/cpu/codegen/llvm/llvm_module.h"
#include "tern/backend/cpu/codegen/llvm_kind.h"
#include "tern/backend/cpu/schedule/dot_instructions.h"
#include "tern/backend/cpu/schedule/tensor_intrinsics.h"
#include "tern/codegen/llvm/byte_dots.h"
#include "tern/codegen/llvm/llvm_intrinsics.h"
#include "tern/codegen/llvm/llvm_target.h"
#include "tern/ffi/registry.h"
#include "tern/tir/intrinsic_rules.h"

namespace tern::backend::cpu {

namespace {

// Without the instruction LLVM would call a function of the C library, which generated code has
// not.
void KeepWithFeature(const char* intrinsic, const char* codegen::HostArch::* feature) {
  tir::KeepIntrinsics("llvm", {intrinsic}, [feature](DataType dtype) {
    if (!tir::IsWideFloat(dtype)) return false;
    codegen::LLVMTarget target(target::CurrentTarget());
    return target.HasFeature(target.arch().*feature);
  });
}

// Those of this machine, where the system knows them.
void SetCaches(int64_t* l1_bytes, int64_t* l2_bytes) {
  // 0 or -1: not known.
  if (int64_t bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0) *l1_bytes = bytes;
  if (int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0) *l2_bytes = bytes;
}

// Data caches of a core, L1 and L2, of CPUs that have others than most; -l2_bytes says otherwise.
struct KnownCaches {
  std::string_view cpu;
  int64_t l1_kib, l2_kib;
};
constexpr KnownCaches kKnownCaches[] = {
    {"skylake-avx512", 32, 1024}, {"cascadelake", 32, 1024},    {"cooperlake", 32, 1024},
    {"icelake-server", 48, 1280}, {"sapphirerapids", 48, 2048}, {"emeraldrapids", 48, 2048},
    {"graniterapids", 48, 2048},  {"znver4", 32, 1024},         {"znver5", 48, 1024},
    {"neoverse-n1", 64, 1024},    {"neoverse-v1", 64, 1024},    {"neoverse-v2", 64, 2048}};

// Caches of this machine's CPU are as the system says.
target::Machine KnownMachine(const target::Target& target) {
  codegen::LLVMTarget described(target);
  target::Machine machine;
  machine.vector_registers = described.arch().vector_registers;
  if (described.HasFeature("avx2")) machine.vector_bytes = 32;
  if (described.HasFeature("avx512f")) {
    machine.vector_bytes = 64;
    machine.vector_registers = 32;
  }
  // AVX-512 has masks for vectors of all sizes and elements with these two; RVV always. LLVM uses
  // those of SVE for scalable vectors alone, which no schedule makes.
  machine.masked_vectors = (described.HasFeature("avx512bw") && described.HasFeature("avx512vl")) ||
                           (described.triple().starts_with("riscv") && described.HasFeature("v"));
  std::string cpu = target->GetString("mcpu");
  if (cpu == "native") SetCaches(&machine.l1_bytes, &machine.l2_bytes);
  for (const KnownCaches& known : kKnownCaches)
    if (known.cpu == cpu) {
      machine.l1_bytes = known.l1_kib << 10;
      machine.l2_bytes = known.l2_kib << 10;
    }
  return machine;
}

// The target of this very machine.
ffi::Map DetectLLVM(int64_t) {
  HostCpu cpu = DescribeHostCpu();
  ffi::Map attributes = ffi::MakeMap({{"mcpu", cpu.name}});
  if (!cpu.features.empty()) attributes->items["mattr"] = cpu.features;
  int64_t l1_bytes = 0, l2_bytes = 0;
  SetCaches(&l1_bytes, &l2_bytes);
  if (l1_bytes > 0) attributes->items["l1_bytes"] = l1_bytes;
  if (l2_bytes > 0) attributes->items["l2_bytes"] = l2_bytes;
  return attributes;
}

// Rules ask often, and a machine of LLVM's takes time to make: answers are kept.
template <class Answer>
class Answers {
 public:
  template <class F>
  Answer Get(const std::string& question, F&& find) {
    std::scoped_lock lock(mutex_);
    if (auto it = answers_.find(question); it != answers_.end()) return it->second;
    return answers_[question] = find();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
};

bool HasFeatureOf(const target::Target& target, const std::string& architecture,
                  const std::string& feature) {
  if (target->kind->name != "llvm") return false;
  static auto* const answers = new Answers<bool>;
  return answers->Get(target->str() + " " + architecture + " " + feature, [&] {
    codegen::LLVMTarget machine(target);
    const char* name = machine.arch().name;
    return name && name == architecture && machine.HasFeature(feature.c_str());
  });
}

target::Machine MachineOf(const target::Target& target) {
  static auto* const answers = new Answers<target::Machine>;
  return answers->Get(target->str(), [&] { return KnownMachine(target); });
}

}  // namespace

void RegisterLLVM() {
  codegen::RegisterLLVMIntrinsics();
  RegisterDotIntrinsics();
  RegisterDotInstructions(HasFeatureOf);
  target::TargetKind kind = LLVMKind();
  kind.intrinsic_namespaces = {codegen::kLLVMNamespace};
  // Without instructions LLVM would call functions of a compiler's library.
  kind.stores = [](const target::Target& target, DataType dtype) {
    if (dtype != DataType::Float(16)) return false;
    codegen::LLVMTarget machine(target);
    return machine.HasFeature(machine.arch().half_feature);
  };
  kind.pointer_bytes = [](const target::Target& target) {
    return codegen::PointerBytes(target->GetString("mtriple"));
  };
  kind.machine = MachineOf;
  target::RegisterTargetKind(std::move(kind));
  for (const char* intrinsic : {"floor", "ceil", "trunc", "round"})
    KeepWithFeature(intrinsic, &codegen::HostArch::round_feature);
  KeepWithFeature("fma", &codegen::HostArch::fma_feature);
  tir::KeepIntrinsics("llvm", {"sqrt", "copysign"}, tir::IsWideFloat);
  tir::KeepIntrinsics("llvm", {"abs", "popcount", "clz", "ctz"},
                      [](DataType dtype) { return dtype.is_integer() || tir::IsWideFloat(dtype); });
  tir::KeepIntrinsics("llvm", {"streamed"},
                      [](DataType dtype) { return !dtype.is_narrow_float(); });
  tir::KeepIntrinsics("llvm", {"dot4"}, [](DataType dtype) {
    return codegen::HasByteDots(codegen::LLVMTarget(target::CurrentTarget()), dtype.lanes());
  });
  ffi::RegisterGlobal("target.build.llvm",
                      ffi::Function::FromTyped("target.build.llvm", BuildLLVM));
  ffi::RegisterGlobal("target.cache_key.llvm",
                      ffi::Function::FromTyped("target.cache_key.llvm", LLVMCacheKey));
  ffi::RegisterGlobal("target.detect.llvm",
                      ffi::Function::FromTyped("target.detect.llvm", DetectLLVM));
}

}  // namespace tern::backend::cpu
