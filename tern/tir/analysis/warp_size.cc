// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/warp_size.h"

#include "tern/target/target.h"

namespace tern::tir {

int64_t WarpSizeOf(const PrimFunc& function) {
  int64_t size = 32;
  if (auto it = function->attrs.find(attr::kTarget); it != function->attrs.end())
    if (int64_t of_target = target::WarpSize(it->second.As<target::Target>())) size = of_target;
  if (auto it = function->attrs.find(attr::kWarpSize); it != function->attrs.end())
    size = it->second.As<int64_t>();
  TERN_CHECK(size > 0 && size <= kMaxWarpSize && (size & (size - 1)) == 0)
      << "function " << function->name << " has warps of " << size << " threads; expected a power "
      << "of two up to " << kMaxWarpSize;
  return size;
}

}  // namespace tern::tir
