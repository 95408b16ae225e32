// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/schedule/tensor_core_matmul.h"

#include "tern/backend/cuda/schedule/tensor_intrinsics.h"
#include "tern/schedule/rules/warp_matmul.h"

namespace tern::backend::cuda {

void RegisterTensorCoreMatmul(bool (*has_instructions)(const target::Target&)) {
  schedule::RegisterWarpMatmul(
      "tensor_core_matmul", "tiles of products of 16-bit floats are multiplied by tensor cores",
      [has_instructions](const schedule::MachineFacts& facts) {
        return facts.target && facts.target->kind->module_kind == "cuda" &&
               has_instructions(facts.target);
      },
      {.prefix = "mma",
       .tile = 16,
       .lanes = 32,
       .types = {{DataType::Float(16), "f16"}, {DataType::Bfloat16(), "bf16"}},
       .layout = FragmentLayout,
       .copy_lanes = 8,
       .tiles = {{128, 128, 2, 2}, {128, 64, 2, 2}, {64, 128, 2, 2}, {64, 64, 2, 2}},
       // Long steps, three under way, or short ones, as many as there is memory for.
       .paces = {{64, 3, 3}, {32, 4, 2}}});
}

}  // namespace tern::backend::cuda
