// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/passes.h"

#include "tern/ir/pass.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/analysis/verify_faults.h"
#include "tern/tir/analysis/verify_limits.h"
#include "tern/tir/transform/canonicalize_loops.h"
#include "tern/tir/transform/compact_allocations.h"
#include "tern/tir/transform/contract_products.h"
#include "tern/tir/transform/decompose_reductions.h"
#include "tern/tir/transform/eliminate_common_subexpressions.h"
#include "tern/tir/transform/flatten_buffers.h"
#include "tern/tir/transform/hoist_invariants.h"
#include "tern/tir/transform/hoist_thread_loops.h"
#include "tern/tir/transform/infer_block_regions.h"
#include "tern/tir/transform/initialize_empty_reductions.h"
#include "tern/tir/transform/inject_bounds_checks.h"
#include "tern/tir/transform/insert_barriers.h"
#include "tern/tir/transform/legalize_compute.h"
#include "tern/tir/transform/legalize_storage.h"
#include "tern/tir/transform/lower_blocks.h"
#include "tern/tir/transform/lower_floor_division.h"
#include "tern/tir/transform/lower_intrinsics.h"
#include "tern/tir/transform/lower_thread_reductions.h"
#include "tern/tir/transform/lower_virtual_threads.h"
#include "tern/tir/transform/lower_warp_memory.h"
#include "tern/tir/transform/make_packed_api.h"
#include "tern/tir/transform/make_plain_api.h"
#include "tern/tir/transform/merge_shared_memory.h"
#include "tern/tir/transform/move_vectors.h"
#include "tern/tir/transform/narrow_indices.h"
#include "tern/tir/transform/outline_parallel_loops.h"
#include "tern/tir/transform/partition_loops.h"
#include "tern/tir/transform/pipeline_loops.h"
#include "tern/tir/transform/place_allocations.h"
#include "tern/tir/transform/remove_dead_code.h"
#include "tern/tir/transform/rewrite_storage.h"
#include "tern/tir/transform/rewrite_unsafe_selects.h"
#include "tern/tir/transform/scalarize_vectors.h"
#include "tern/tir/transform/serialize_threads.h"
#include "tern/tir/transform/simplify.h"
#include "tern/tir/transform/split_host_device.h"
#include "tern/tir/transform/split_preparation.h"
#include "tern/tir/transform/unroll_loops.h"
#include "tern/tir/transform/vectorize_loops.h"

namespace tern::tir {

namespace {

ir::PassOption IntOption(const char* name, int64_t default_value, int64_t low, int64_t high,
                         const std::string& help) {
  return {name, default_value, help + ", " + std::to_string(low) + " to " + std::to_string(high),
          [=](const ffi::Any& value) {
            auto number = value.As<int64_t>();
            TERN_CHECK(number >= low && number <= high)
                << number << " is out of range; expected " << low << " to " << high;
          }};
}

}  // namespace

void RegisterPasses() {
  auto per_function = [](const char* name, const char* description,
                         PrimFunc (*pass)(const PrimFunc&)) {
    ir::RegisterPass({name, description,
                      [pass](const ir::IRModule& module) { return MapFunctions(module, pass); }});
  };
  per_function("canonicalize_loops", "loops start at 0 and run more than once", CanonicalizeLoops);
  per_function("compact_allocations", "allocations are as large as what is accessed of them",
               CompactAllocations);
  per_function("contract_products", "products are added by fma where last digits are free",
               ContractProducts);
  per_function("decompose_reductions", "reductions are initialised before their loops",
               DecomposeReductions);
  per_function("eliminate_common_subexpressions", "values are computed once",
               EliminateCommonSubexpressions);
  per_function("flatten_buffers", "every access has one index", FlattenBuffers);
  per_function("hoist_invariants", "what is the same in all iterations is done before a loop",
               HoistInvariants);
  per_function("hoist_thread_loops", "thread loops stand around the rest of their kernels",
               HoistThreadLoops);
  per_function("infer_block_regions", "every block says what it reads and writes",
               InferBlockRegions);
  per_function("initialize_empty_reductions", "reductions without a step have their init",
               [](const PrimFunc& function) { return InitializeEmptyReductions(function, true); });
  per_function("inject_bounds_checks", "accesses of host code are checked", InjectBoundsChecks);
  per_function("insert_barriers", "threads wait before they touch what others wrote",
               InsertBarriers);
  per_function("legalize_compute", "narrow floats are computed in float32", LegalizeCompute);
  per_function("legalize_storage", "narrow floats are integers where the target cannot store them",
               LegalizeStorage);
  per_function("lower_blocks", "blocks are replaced by their bodies", LowerBlocks);
  per_function("lower_floor_division", "// and % are truncating where operands are not negative",
               LowerFloorDivision);
  per_function("lower_intrinsics", "calls are those that the code generator takes",
               LowerIntrinsics);
  per_function("lower_thread_reductions", "threads combine what they reduced, one writes it",
               LowerThreadReductions);
  per_function("lower_virtual_threads", "virtual threads are interleaved in their threads",
               LowerVirtualThreads);
  per_function("lower_warp_memory", "memory of warps is in the registers of their lanes",
               LowerWarpMemory);
  ir::RegisterPass(
      {"make_packed_api", "host functions check and unpack their arguments", MakePackedApi});
  per_function("make_plain_api", "host functions are called without a runtime", MakePlainApi);
  per_function("merge_shared_memory", "kernels have one piece of shared memory", MergeSharedMemory);
  per_function("move_vectors", "elements side by side are copied at once where they are aligned",
               MoveVectors);
  per_function("narrow_indices", "indices are int32 where they provably fit", NarrowIndices);
  ir::RegisterPass(
      {"outline_parallel_loops", "parallel loops run on several threads", OutlineParallelLoops});
  per_function("partition_loops", "loops are split where conditions start and cease to hold",
               PartitionLoops);
  per_function("pipeline_loops", "pipelined loops run statements of several iterations at once",
               PipelineLoops);
  per_function("place_allocations", "allocations stand around the statements that use them",
               PlaceAllocations);
  per_function("remove_dead_code", "what nobody can observe is gone", RemoveDeadCode);
  per_function("rewrite_storage", "allocations that are not needed at once share memory",
               RewriteStorage);
  per_function("rewrite_unsafe_selects", "both values of a select may be evaluated",
               RewriteUnsafeSelects);
  per_function("scalarize_vectors", "vectors that the target does not take are loops over lanes",
               ScalarizeVectors);
  per_function("serialize_threads", "on a host, thread loops are serial loops", SerializeThreads);
  per_function("simplify", "expressions are simple, dead branches are gone", Simplify);
  ir::RegisterPass({"split_host_device", "thread loops are kernels of their own", SplitHostDevice});
  ir::RegisterPass({"split_preparation", "what is made of constants is a function of its own",
                    SplitPreparation});
  ir::RegisterPass({"unroll_loops",
                    "unrolled loops are straight code",
                    [](const ir::IRModule& module, const ir::PassValues& values) {
                      return MapFunctions(module, [max = values.GetInt("max")](const PrimFunc& f) {
                        return UnrollLoops(f, max);
                      });
                    },
                    {IntOption("max", kMaxUnrolledCopies, 1, 1 << 20,
                               "copies that a nest of loops may become")}});
  per_function("vectorize_loops", "vectorized loops are vector code", VectorizeLoops);
  ir::RegisterPass({"verify", "the module is well formed", [](const ir::IRModule& module) {
                      Verify(module);
                      return module;
                    }});
  ir::RegisterPass({"verify_faults", "nothing surely faults", [](const ir::IRModule& module) {
                      VerifyFaults(module);
                      return module;
                    }});
  ir::RegisterPass({"verify_limits", "the targets take all of it", [](const ir::IRModule& module) {
                      VerifyLimits(module);
                      return module;
                    }});
}

}  // namespace tern::tir
