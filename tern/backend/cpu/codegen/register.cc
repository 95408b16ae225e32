// SPDX-License-Identifier: Apache-2.0
//
// The CPU's target kinds.
#include "tern/backend/cpu/codegen/c_module.h"
#include "tern/backend/cpu/codegen/llvm_kind.h"
#include "tern/backend/cpu/schedule/tensor_intrinsics.h"

namespace tern::backend::cpu {

void RegisterCodegen();
void RegisterCodegen() {
  RegisterC();
  RegisterLLVM();
  RegisterVectorIntrinsics();
}

}  // namespace tern::backend::cpu
