// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/passes.h"

#include "tern/ir/pass.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/transform/decompose_reductions.h"
#include "tern/tir/transform/flatten_buffers.h"
#include "tern/tir/transform/legalize_compute.h"
#include "tern/tir/transform/legalize_storage.h"
#include "tern/tir/transform/lower_blocks.h"
#include "tern/tir/transform/lower_floor_division.h"
#include "tern/tir/transform/lower_intrinsics.h"
#include "tern/tir/transform/make_packed_api.h"
#include "tern/tir/transform/serialize_threads.h"
#include "tern/tir/transform/simplify.h"
#include "tern/tir/transform/split_host_device.h"
#include "tern/tir/transform/unroll_loops.h"
#include "tern/tir/transform/vectorize_loops.h"

namespace tern::tir {

void RegisterPasses() {
  auto per_function = [](const char* name, const char* description,
                         PrimFunc (*pass)(const PrimFunc&)) {
    ir::RegisterPass({name, description,
                      [pass](const ir::IRModule& module) { return MapFunctions(module, pass); }});
  };
  per_function("decompose_reductions", "reductions are initialised before their loops",
               DecomposeReductions);
  per_function("flatten_buffers", "every access has one index", FlattenBuffers);
  per_function("legalize_compute", "narrow floats are computed in float32", LegalizeCompute);
  per_function("legalize_storage", "narrow floats are integers where the target cannot store them",
               LegalizeStorage);
  per_function("lower_blocks", "blocks are replaced by their bodies", LowerBlocks);
  per_function("lower_floor_division", "// and % are truncating where operands are not negative",
               LowerFloorDivision);
  per_function("lower_intrinsics", "calls are those that the code generator takes",
               LowerIntrinsics);
  per_function("make_packed_api", "host functions check and unpack their arguments", MakePackedApi);
  per_function("serialize_threads", "on a host, thread loops are serial loops", SerializeThreads);
  per_function("simplify", "expressions are simple, dead branches are gone", Simplify);
  ir::RegisterPass({"split_host_device", "thread loops are kernels of their own", SplitHostDevice});
  per_function("unroll_loops", "unrolled loops are straight code", UnrollLoops);
  per_function("vectorize_loops", "vectorized loops are vector code", VectorizeLoops);
  ir::RegisterPass({"verify", "the module is well formed", [](const ir::IRModule& module) {
                      Verify(module);
                      return module;
                    }});
}

}  // namespace tern::tir
