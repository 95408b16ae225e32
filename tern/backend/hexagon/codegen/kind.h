// SPDX-License-Identifier: Apache-2.0
//
// The target kind `hexagon`: Qualcomm's DSPs, through LLVM.
#ifndef TERN_BACKEND_HEXAGON_CODEGEN_KIND_H_
#define TERN_BACKEND_HEXAGON_CODEGEN_KIND_H_

#include "tern/target/target.h"

namespace tern::backend::hexagon {

inline constexpr int32_t kDeviceTypeHexagon = 16;  // DLPack's
// The vectors that its code generator takes; without HVX, LLVM takes them apart.
inline constexpr int64_t kVectorBytes = 128;

// What the kind is, in every build.
target::TargetKind HexagonKind();
// How many bytes a vector register of the target has; 0: none.
int64_t HvxBytes(const target::Target& target);
// Registers it: with its code generator where the build has LLVM, else with the reason why there is
// none.
void RegisterCodegen();

}  // namespace tern::backend::hexagon

#endif  // TERN_BACKEND_HEXAGON_CODEGEN_KIND_H_
