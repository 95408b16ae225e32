// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/passes.h"

#include "tern/ir/pass.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/analysis/verify_limits.h"
#include "tern/tir/transform/decompose_reductions.h"
#include "tern/tir/transform/flatten_buffers.h"
#include "tern/tir/transform/insert_barriers.h"
#include "tern/tir/transform/lower_blocks.h"
#include "tern/tir/transform/lower_floor_division.h"
#include "tern/tir/transform/lower_thread_reductions.h"
#include "tern/tir/transform/lower_virtual_threads.h"
#include "tern/tir/transform/lower_warp_memory.h"
#include "tern/tir/transform/make_packed_api.h"
#include "tern/tir/transform/merge_shared_memory.h"
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
  per_function("insert_barriers", "threads wait before they touch what others wrote",
               InsertBarriers);
  per_function("lower_blocks", "blocks are replaced by their bodies", LowerBlocks);
  per_function("lower_floor_division", "// and % are truncating where operands are not negative",
               LowerFloorDivision);
  per_function("lower_thread_reductions", "threads combine what they reduced, one writes it",
               LowerThreadReductions);
  per_function("lower_virtual_threads", "virtual threads are interleaved in their threads",
               LowerVirtualThreads);
  per_function("lower_warp_memory", "memory of warps is in the registers of their lanes",
               LowerWarpMemory);
  per_function("make_packed_api", "host functions check and unpack their arguments", MakePackedApi);
  per_function("merge_shared_memory", "kernels have one piece of shared memory", MergeSharedMemory);
  per_function("serialize_threads", "on a host, thread loops are serial loops", SerializeThreads);
  per_function("simplify", "expressions are simple, dead branches are gone", Simplify);
  ir::RegisterPass({"split_host_device", "thread loops are kernels of their own", SplitHostDevice});
  per_function("unroll_loops", "unrolled loops are straight code", UnrollLoops);
  per_function("vectorize_loops", "vectorized loops are vector code", VectorizeLoops);
  ir::RegisterPass({"verify", "the module is well formed", [](const ir::IRModule& module) {
                      Verify(module);
                      return module;
                    }});
  ir::RegisterPass({"verify_limits", "the targets take all of it", [](const ir::IRModule& module) {
                      VerifyLimits(module);
                      return module;
                    }});
}

}  // namespace tern::tir
