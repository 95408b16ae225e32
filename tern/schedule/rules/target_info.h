// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_TARGET_INFO_H_
#define TERN_SCHEDULE_RULES_TARGET_INFO_H_

#include "tern/target/target.h"

namespace tern::schedule {

// What rules may know of a target. Rules for many targets look at the numbers alone.
struct TargetInfo {
  target::Target target;  // for the rules of one backend, which may know their kind's attributes
  bool is_device = false;
  // Of a host, see target::DescribeMachine.
  // 0: its code generator takes no vectors. Of a device: what a thread loads or stores at once.
  int64_t vector_bytes = 0;
  int64_t vector_registers = 0;
  bool masked_vectors = false;  // loads and stores of some lanes
  int64_t l1_bytes = 0, l2_bytes = 0;
  int64_t l1_ways = 8;  // so many addresses a multiple of a page apart stay in L1
  // What a core does in a cycle: vector instructions, and bytes from L2 and from beyond it. An
  // accumulator is ready for the next FMA some cycles later.
  int64_t fma_per_cycle = 2, loads_per_cycle = 2, fma_latency = 4;
  int64_t l2_bytes_per_cycle = 24, memory_bytes_per_cycle = 8;
  int64_t threads = 0;         // 0: as many as the machine has; 1: parallel loops gain nothing
  int64_t likely_threads = 4;  // where it is not known
  int64_t thread_start_cycles = 2000;  // until they work
  // What one thread has done until then, where a nest is known by its operations alone.
  int64_t thread_start_operations = 1 << 16;
  // Threads of the largest machine: as many iterations are joined. Those of `enough_tasks` are not
  // made smaller than `task_operations`.
  int64_t most_threads = 64, enough_tasks = 16, task_operations = 1 << 14;
  // Of a device. 0: unknown, or none.
  int64_t max_threads = 0;  // of a block
  int64_t warp_size = 0;
  int64_t shared_bytes = 0;
  int64_t busy_blocks = 128;         // thread blocks that keep a large device busy
  int64_t most_grid_blocks = 65535;  // along blockIdx.y and blockIdx.z

  // A guess of M, N and K of GEMMs where they are dynamic: devices are for large ones; and of the
  // batch. Hosts have guesses of their own.
  int64_t likely_m = 2048, likely_n = 2048, likely_k = 2048, likely_batch = 4;
  // M and N down to which a plan should suit, too; 0: it is for the likely ones.
  int64_t least_m = 0, least_n = 0;
  int64_t least_batch = 1;  // smaller ones have versions of their own
  // A guess of the results of a reduction; 0: enough to fill the device.
  int64_t likely_results = 0;
  // And of its steps, or of the elements of a row of several blocks; 0: many.
  int64_t likely_steps = 0;
  // And of the results that are neighbours in memory; 0: many.
  int64_t likely_columns = 0;

  // Whether threads of blocks share memory there.
  bool has_shared_memory() const { return is_device && max_threads > 0 && shared_bytes > 0; }

  bool is_host_with_vectors() const { return !is_device && vector_bytes > 0; }

  static TargetInfo Of(const target::Target& target);
};

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_TARGET_INFO_H_
