// SPDX-License-Identifier: Apache-2.0
//
// Machine code of this machine, made callable in this process. No header of LLVM is needed to
// include this one.
#ifndef TERN_BACKEND_CPU_CODEGEN_LLVM_JIT_H_
#define TERN_BACKEND_CPU_CODEGEN_LLVM_JIT_H_

#include <memory>
#include <string>
#include <vector>

namespace llvm::orc {
class LLJIT;
}

namespace tern::backend::cpu {

class Jit {
 public:
  // `objects` are relocatable; they find memcpy, memmove and memset here, and nothing else. Each is
  // linked when something of it is first looked up. A debugger is told of it where it has debug
  // information; with TERN_JIT_PERF=1 in the environment, `perf inject --jit` is too.
  explicit Jit(const std::vector<std::string>& objects);
  ~Jit();

  // The address of a symbol; throws where there is none or it cannot be linked.
  void* Lookup(const std::string& symbol);

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_LLVM_JIT_H_
