// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/passes.h"

#include "tern/ir/pass.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/analysis/verify_faults.h"
#include "tern/tir/analysis/verify_limits.h"
#include "tern/tir/transform/blocks/decompose_reductions.h"
#include "tern/tir/transform/blocks/infer_block_regions.h"
#include "tern/tir/transform/blocks/initialize_empty_reductions.h"
#include "tern/tir/transform/blocks/lower_blocks.h"
#include "tern/tir/transform/calls/inject_bounds_checks.h"
#include "tern/tir/transform/calls/lower_kernel_asserts.h"
#include "tern/tir/transform/calls/make_packed_api.h"
#include "tern/tir/transform/calls/make_plain_api.h"
#include "tern/tir/transform/calls/outline_parallel_loops.h"
#include "tern/tir/transform/calls/split_host_device.h"
#include "tern/tir/transform/calls/split_preparation.h"
#include "tern/tir/transform/eliminate_common_subexpressions.h"
#include "tern/tir/transform/legalize/contract_fma.h"
#include "tern/tir/transform/legalize/legalize_compute.h"
#include "tern/tir/transform/legalize/legalize_storage.h"
#include "tern/tir/transform/legalize/lower_floor_division.h"
#include "tern/tir/transform/legalize/lower_intrinsics.h"
#include "tern/tir/transform/legalize/narrow_indices.h"
#include "tern/tir/transform/loops/canonicalize_loops.h"
#include "tern/tir/transform/loops/hoist_invariants.h"
#include "tern/tir/transform/loops/partition_loops.h"
#include "tern/tir/transform/loops/rewrite_unsafe_selects.h"
#include "tern/tir/transform/loops/scalarize_vectors.h"
#include "tern/tir/transform/loops/trim_loops.h"
#include "tern/tir/transform/loops/unroll_loops.h"
#include "tern/tir/transform/loops/vectorize_accesses.h"
#include "tern/tir/transform/loops/vectorize_loops.h"
#include "tern/tir/transform/memory/compact_allocations.h"
#include "tern/tir/transform/memory/flatten_buffers.h"
#include "tern/tir/transform/memory/hoist_allocations.h"
#include "tern/tir/transform/memory/lower_packed_elements.h"
#include "tern/tir/transform/memory/merge_shared_memory.h"
#include "tern/tir/transform/memory/place_allocations.h"
#include "tern/tir/transform/memory/rewrite_storage.h"
#include "tern/tir/transform/remove_dead_code.h"
#include "tern/tir/transform/simplify.h"
#include "tern/tir/transform/threads/hoist_thread_loops.h"
#include "tern/tir/transform/threads/insert_barriers.h"
#include "tern/tir/transform/threads/lower_thread_reductions.h"
#include "tern/tir/transform/threads/lower_virtual_threads.h"
#include "tern/tir/transform/threads/lower_warp_memory.h"
#include "tern/tir/transform/threads/lower_warp_operations.h"
#include "tern/tir/transform/threads/order_blocks.h"
#include "tern/tir/transform/threads/pipeline_loops.h"
#include "tern/tir/transform/threads/serialize_threads.h"
#include "tern/tir/transform/threads/split_roles.h"

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
  per_function("canonicalize_loops", "make loops start at 0, inline loops of one iteration",
               CanonicalizeLoops);
  per_function("compact_allocations", "shrink allocations to the region that is accessed",
               CompactAllocations);
  per_function("contract_fma", "contract a * b + c to fma in kernels with reassociate",
               ContractFma);
  per_function("decompose_reductions", "move the init of a reduction before its loops",
               DecomposeReductions);
  per_function("eliminate_common_subexpressions", "common subexpression elimination",
               EliminateCommonSubexpressions);
  per_function("flatten_buffers", "flatten buffers and accesses to one dimension", FlattenBuffers);
  per_function("hoist_allocations", "take allocations of dynamic sizes out of serial loops",
               HoistAllocations);
  per_function("hoist_invariants", "loop-invariant code motion", HoistInvariants);
  per_function("hoist_thread_loops", "move thread loops outermost in their kernels",
               HoistThreadLoops);
  per_function("infer_block_regions", "infer the read and write regions of blocks",
               InferBlockRegions);
  per_function("initialize_empty_reductions", "run the init of reductions that may be empty",
               [](const PrimFunc& function) { return InitializeEmptyReductions(function, true); });
  per_function("inject_bounds_checks", "check indices of host code at run time",
               InjectBoundsChecks);
  per_function("insert_barriers", "insert thread block barriers between conflicting accesses",
               InsertBarriers);
  per_function("legalize_compute", "compute low-precision floats in float32", LegalizeCompute);
  per_function("legalize_storage",
               "store low-precision floats as integers where the target lacks them",
               LegalizeStorage);
  per_function("lower_blocks", "replace blocks by their bodies", LowerBlocks);
  per_function("lower_floor_division", "lower // and % to truncating division", LowerFloorDivision);
  per_function("lower_intrinsics", "lower intrinsic calls to those of the code generator",
               LowerIntrinsics);
  per_function("lower_kernel_asserts", "asserts of kernels leave what the host raises afterwards",
               LowerKernelAsserts);
  per_function("lower_packed_elements", "access elements of 4 bits by their bytes",
               LowerPackedElements);
  per_function("lower_thread_reductions",
               "lower reductions across threads to shuffles and shared memory",
               LowerThreadReductions);
  per_function("lower_virtual_threads", "interleave virtual threads in their thread",
               LowerVirtualThreads);
  per_function("lower_warp_memory", "lower warp memory to registers and shuffles", LowerWarpMemory);
  per_function("lower_warp_operations", "exchange by shared memory where the target has no warps",
               LowerWarpOperations);
  ir::RegisterPass(
      {"make_packed_api", "make host functions check and unpack their arguments", MakePackedApi});
  per_function("make_plain_api", "make host functions callable without a runtime", MakePlainApi);
  per_function("merge_shared_memory", "merge dynamic shared memory of a kernel into one allocation",
               MergeSharedMemory);
  per_function("narrow_indices", "narrow indices to int32 where they provably fit", NarrowIndices);
  per_function("order_blocks", "start thread blocks with longer loops first", OrderBlocks);
  ir::RegisterPass({"outline_parallel_loops", "outline parallel loops for the thread pool",
                    OutlineParallelLoops});
  per_function("partition_loops", "split loops where a condition changes: full tiles and tails",
               PartitionLoops);
  per_function("pipeline_loops", "software pipelining: overlap stages of several iterations",
               PipelineLoops);
  per_function("place_allocations", "move allocations to the innermost scope that uses them",
               PlaceAllocations);
  per_function("remove_dead_code", "dead code elimination", RemoveDeadCode);
  per_function("rewrite_storage", "share memory between allocations that are not live at once",
               RewriteStorage);
  per_function("rewrite_unsafe_selects", "make both values of a select safe to evaluate",
               RewriteUnsafeSelects);
  per_function("scalarize_vectors", "lower vectors that the target lacks to loops over lanes",
               ScalarizeVectors);
  per_function("serialize_threads", "lower thread loops to serial loops on hosts",
               SerializeThreads);
  per_function("simplify", "simplify expressions, remove dead branches", Simplify);
  ir::RegisterPass(
      {"split_host_device", "outline thread loops as device kernels", SplitHostDevice});
  ir::RegisterPass(
      {"split_preparation", "outline what depends on constants only", SplitPreparation});
  per_function("split_roles", "give copies and multiplications to warps of their own", SplitRoles);
  per_function("trim_loops", "end loops over masked tiles where nothing is left", TrimLoops);
  ir::RegisterPass({"unroll_loops",
                    "unroll loops marked unrolled",
                    [](const ir::IRModule& module, const ir::PassValues& values) {
                      return MapFunctions(module, [max = values.GetInt("max")](const PrimFunc& f) {
                        return UnrollLoops(f, max);
                      });
                    },
                    {IntOption("max", kMaxUnrolledCopies, 1, 1 << 20,
                               "most copies of the body that a loop nest may become")}});
  per_function("vectorize_accesses", "vector loads and stores around scalar code, where aligned",
               VectorizeAccesses);
  per_function("vectorize_loops", "turn loops marked vectorized into vector code", VectorizeLoops);
  ir::RegisterPass(
      {"verify", "check that the module is well formed", [](const ir::IRModule& module) {
         Verify(module);
         return module;
       }});
  ir::RegisterPass(
      {"verify_faults", "check that nothing surely faults", [](const ir::IRModule& module) {
         VerifyFaults(module);
         return module;
       }});
  ir::RegisterPass(
      {"verify_limits", "check the limits of the target", [](const ir::IRModule& module) {
         VerifyLimits(module);
         return module;
       }});
}

}  // namespace tern::tir
