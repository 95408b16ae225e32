// SPDX-License-Identifier: Apache-2.0
//
// What CPUs have for products of bytes and of bfloat16, and the rules that use it.
#ifndef TERN_BACKEND_CPU_SCHEDULE_DOT_INSTRUCTIONS_H_
#define TERN_BACKEND_CPU_SCHEDULE_DOT_INSTRUCTIONS_H_

#include <functional>
#include <string>

#include "tern/target/target.h"

namespace tern::backend::cpu {

// Whether a target's machine is of an architecture and has a feature, by LLVM's names.
using HasFeature = std::function<bool(const target::Target&, const std::string& architecture,
                                      const std::string& feature)>;

// By LLVM's intrinsics: the tensor intrinsics and rules of tern/schedule/rules/dot_matmul.h.
void RegisterDotInstructions(const HasFeature& has);

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_SCHEDULE_DOT_INSTRUCTIONS_H_
