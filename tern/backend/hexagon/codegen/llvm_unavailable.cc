// SPDX-License-Identifier: Apache-2.0
//
// RegisterCodegen of a build without LLVM.
#include "tern/backend/hexagon/codegen/kind.h"
#include "tern/tir/transform/threads/serialize_threads.h"

namespace tern::backend::hexagon {

void RegisterCodegen() {
  target::TargetKind kind = HexagonKind();
  kind.unavailable = "needs LLVM; this build has TERN_LLVM=OFF";
  target::RegisterTargetKind(std::move(kind));
  tir::RunThreadsInTurn("hexagon");
}

}  // namespace tern::backend::hexagon
