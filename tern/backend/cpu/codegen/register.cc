// SPDX-License-Identifier: Apache-2.0
//
// The CPU's target kinds.
#include "tern/backend/cpu/codegen/c_module.h"
#include "tern/backend/cpu/codegen/llvm_kind.h"

namespace tern::backend::cpu {

void RegisterCodegen();
void RegisterCodegen() {
  RegisterC();
  RegisterLLVM();
}

}  // namespace tern::backend::cpu
