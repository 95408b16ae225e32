// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_THREADS_SPLIT_ROLES_H_
#define TERN_TIR_TRANSFORM_THREADS_SPLIT_ROLES_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Warp specialization of kernels that have a loop with roles and bulk copies (pipeline_loops.h).
// One thread of a group of warps of its own starts the copies, as far ahead as there are tiles in
// shared memory; the others multiply. Barrier objects say which tiles are full and which are empty.
//
// Before:  for b in 0..n bind(blockIdx.x) { for threads {
//            acc = 0
//            for k in 0..m attrs {pipeline_roles = [4, 132]} {
//              if first thread { S[..] = bulk_copy(..) }   barrier("shared")
//              acc = acc + S * ..                          barrier("shared")
//            }
//            C = acc } }
// After:   for b in 0..132 bind(blockIdx.x) { for threads, and a group more {
//            if first thread { barrier_init(full[..], 1)   barrier_init(empty[..], warps) }
//            barrier("shared")
//            if thread < consumers {
//              for t in tiles of this block {
//                acc = 0
//                for k in 0..m {                           # s = (t * m + k) % 4
//                  barrier_wait(full[s], phase of s)
//                  acc = acc + S[s] * ..                   # late: ends with the next step
//                  matrix_wait(1)   barrier_arrive(empty[the s before])
//                }
//                matrix_wait(0)   barrier_arrive(empty[the last s])
//                C = acc
//              }
//            } else if first thread of the group {
//              for t, for k {
//                barrier_wait(empty[s], the phase before)
//                barrier_expect(full[s], bytes)   S[s][..] = bulk_copy(.., full[s])
//            } } } }
//
// So the copies of a tile run beside the stores of the one before it. With several groups that take
// turns, a tile is computed by the threads of one group, and the stores of a tile, and all that is
// computed of its sums, run beside the multiplications of the next one:
//
// Before:  for k in 0..m attrs {pipeline_roles = [4, 132, 2]}, of 128 threads
// After:   if group < 2 {
//            for t in tiles of this block, every second one, from the group's own number on {
//              acc = 0
//              barrier_wait(turn[group], phase of t)       # until the other one has its last step
//              for k in 0..m { .. }
//              barrier_arrive(turn[1 - group])
//              matrix_wait(0)   C = acc
//            }
//          } else if first thread of the group { as above }
//
// A group that waited for its first full tile out of turn would take one of an earlier phase for
// it: phases have a parity alone.
//
// Every wait has its arrivals,
// as both loops run the same steps: full is completed by the copies of a step, empty by the
// consumer's warps once for each.
//
// Tiles that other statements of a step read have barriers of their own, and so have those that are
// copied before the loop. With two products in a step, as of attention, the last one runs on:
//
//              wait(q_full)
//              for k {
//                wait(k_full[s])   score = 0   score = score + Q * K[s]   # late
//                matrix_wait(0)    arrive(v_empty[the s before])   arrive(k_empty[s])
//                power = exp(score - ..)   sum = sum * ..
//                wait(v_full[s])   sum = sum + power * V[s]               # late
//              }
//              matrix_wait(0)   arrive(v_empty[the last s])   arrive(q_empty)
//
// No step waits for all consumers: groups of warps drift apart, and one multiplies while another
// one computes. Where the number of steps is not constant a block has one tile; of a number of
// tiles that is not, there are as many blocks, at most 132. Throws ValueError where threads share
// other memory, or read tiles but to multiply: a barrier of all would wait for the role that is not
// there.
PrimFunc SplitRoles(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_SPLIT_ROLES_H_
