// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_FUSE_AXES_H_
#define TERN_SCHEDULE_RULES_FUSE_AXES_H_

#include <optional>
#include <string>
#include <vector>

#include "tern/schedule/rules/function_view.h"
#include "tern/schedule/rules/target_info.h"

namespace tern::schedule {

// Axes that are neighbours in memory wherever they are used become one axis, and so do the
// dimensions that they index: the rules then see one long axis where there were several short ones,
// or ones of unknown length.
//
// Before:  X, Y: float32[n, c, h, w], scale: float32[c]
//          for i in 0..n, j in 0..c, k in 0..h, l in 0..w {
//            block b(vi: spatial(n) = i, vj: spatial(c) = j, vk: spatial(h) = k,
//                    vl: spatial(w) = l) { Y[vi, vj, vk, vl] = X[vi, vj, vk, vl] * scale[vj] } }
// After:   let h_w = h * w
//          X, Y: float32[n, c, h_w]
//          for i in 0..n, j in 0..c, k_l in 0..h_w {
//            block b(vi: spatial(n) = i, vj: spatial(c) = j, vk_vl: spatial(h_w) = k_l) {
//              Y[vi, vj, vk_vl] = X[vi, vj, vk_vl] * scale[vj] } }
//
// Both axes are spatial, or both reduce; their loops stand one in the other, and hold one block;
// both cover their dimensions, and are used as whole indices alone. One of the extents is dynamic,
// or both are M, N or K of a GEMM, or the inner one is contiguous and no whole number of a host's
// vectors ([128, 32, 3] of gelu is [12288]). Dimensions of extent 1 of operands of GEMMs
// and reductions are dropped.
// Constant tensors keep their shapes.
//
// On hosts, rows of a GEMM become one axis though they are more than indices, as those of attention
// under a causal mask are, whose heads share keys: vj <= vi is vj <= vm_vi % n.
struct FusedAxes : FunctionView {
  std::vector<std::string> notes;  // "axes vk, vl are one axis, vk_vl (b, last)"
};
// Nothing where there are none.
std::optional<FusedAxes> FuseAxes(const tir::PrimFunc& function, const TargetInfo& target);

// Reductions without those of their axes that have one element: convolutions whose windows have
// one, where they are GEMMs then, and sums over [n, 1].
//
// Before:  for .., c in 0..64, dy in 0..1, dx in 0..1 { block b(.., vdy: reduce(1) = dy, ..) {
//            Y[vn, vo, vy, vx] += X[vn, vc, vy + vdy, vx + vdx] * W[vo, vc, vdy, vdx] } }
// After:   for .., c in 0..64 { block b(..) {
//            Y[vn, vo, vy, vx] += X[vn, vc, vy, vx] * W[vo, vc, 0, 0] } }
tir::PrimFunc DropUnitReductions(const tir::PrimFunc& function);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_FUSE_AXES_H_
