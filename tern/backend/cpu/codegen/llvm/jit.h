// SPDX-License-Identifier: Apache-2.0
//
// Machine code of this machine, made callable in this process. No header of LLVM is needed to
// include this one.
#ifndef TERN_BACKEND_CPU_CODEGEN_LLVM_JIT_H_
#define TERN_BACKEND_CPU_CODEGEN_LLVM_JIT_H_

#include <memory>
#include <string>

namespace llvm::orc {
class LLJIT;
}

namespace tern::backend::cpu {

class Jit {
 public:
  // `object` is relocatable; it finds memcpy, memmove and memset here, and nothing else. It is
  // linked when something is first looked up. A debugger is told of it where it has debug
  // information; with TERN_JIT_PERF=1 in the environment, `perf inject --jit` is too.
  explicit Jit(const std::string& object);
  ~Jit();

  // The address of a symbol; throws where there is none or it cannot be linked.
  void* Lookup(const std::string& symbol);

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_LLVM_JIT_H_
