// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/metal/schedule/simdgroup_matmul.h"

#include <fmt/format.h>

#include "tern/schedule/rules/matrix_matmul.h"
#include "tern/schedule/tensor_intrinsic.h"

namespace tern::backend::metal {
namespace {

// Where a fragment has the element.
std::string At(const std::string& row, const std::string& column) {
  return fmt::format("[{} * 4 + {} // 2, {} % 2]", row, column, column);
}

constexpr const char* kOwn = "[lane, ramp(0, 1, 2)]";
constexpr const char* kPlace = "[lane // 4, ramp(lane % 4 * 2, 1, 2)]";

void Register(const std::string& name, const std::string& params, const std::string& description,
              const std::string& implementation, const std::string& attrs = "") {
  schedule::RegisterTensorIntrinsic(
      name, fmt::format("func description({0}) {{\n{1}}}\n"
                        "func implementation({0}){2} {{\n"
                        "for lane in 0..32 bind(threadIdx.x) {{\n{3}\n}}\n}}\n",
                        params, description, attrs, implementation));
}

void RegisterLoad(const std::string& name, const std::string& dtype, bool transposed) {
  std::string at = transposed ? At("j", "i") : At("i", "j");
  Register(
      name, fmt::format("F: {0}[32, 2], S: {0}[8, 8]", dtype),
      fmt::format("for i in 0..8, j in 0..8 {{\nF{} = S[i, j]\n}}\n", at),
      fmt::format("F{} = warp_matrix_move{}(S{})", kOwn, transposed ? "_transposed" : "", kPlace));
}

void RegisterMultiply(const std::string& name, const std::string& dtype) {
  auto factor = [&](const std::string& value) {
    return dtype == "float32" ? value : "float32(" + value + ")";
  };
  std::string sum = "C" + At("i", "j");
  Register(name, fmt::format("C: float32[32, 2], A: {0}[32, 2], B: {0}[32, 2]", dtype),
           fmt::format("for i in 0..8, j in 0..8, k in 0..8 {{\n{0} = {0} + {1} * {2}\n}}\n", sum,
                       factor("A" + At("i", "k")), factor("B" + At("k", "j"))),
           fmt::format("C{0} = warp_matrix_multiply_8x8(C{0}, A{0}, B{0})", kOwn),
           " attrs {reassociate = true}");
}

std::string Layout(schedule::Fragment, bool transposed) {
  return fmt::format("(i, j) -> (i // 8, j // 8, {0} % 8 * 4 + {1} % 8 // 2, {1} % 2)",
                     transposed ? "j" : "i", transposed ? "i" : "j");
}

void RegisterTensorIntrinsics() {
  for (const auto& [type, dtype] : {std::pair<std::string, std::string>{"f16", "float16"},
                                    {"bf16", "bfloat16"},
                                    {"f32", "float32"}}) {
    for (const char* side : {"a", "b"}) {
      RegisterLoad(fmt::format("simdgroup_load_{}_{}", side, type), dtype, false);
      RegisterLoad(fmt::format("simdgroup_load_{}t_{}", side, type), dtype, true);
    }
    RegisterMultiply("simdgroup_" + type, dtype);
  }
  Register("simdgroup_store_f32", "D: float32[8, 8], C: float32[32, 2]",
           fmt::format("for i in 0..8, j in 0..8 {{\nD[i, j] = C{}\n}}\n", At("i", "j")),
           fmt::format("D{} = warp_matrix_move(C{})", kPlace, kOwn));
  Register("simdgroup_fill", "C: float32[32, 2]",
           fmt::format("for i in 0..8, j in 0..8 {{\nC{} = 0.0\n}}\n", At("i", "j")),
           fmt::format("C{} = warp_matrix_move(broadcast(0.0, 2))", kOwn));
}

}  // namespace

void RegisterSimdgroupMatmul(bool (*has_matrices)(const target::Target&)) {
  RegisterTensorIntrinsics();
  schedule::RegisterMatrixMatmul(
      {.rule = "simdgroup_matmul",
       .description = "8 x 8 SIMD-group matrices, A and B in threadgroup memory",
       .prefix = "simdgroup",
       .lanes = 32,
       .layout = Layout,
       .fits =
           [has_matrices](const schedule::TargetInfo& target) {
             return target.target && target.target->kind->name == "metal" &&
                    has_matrices(target.target);
           },
       .tile = 8,
       .types = {{DataType::Float(16), "f16"},
                 {DataType::Bfloat16(), "bf16"},
                 {DataType::Float(32), "f32"}},
       .stores_rounded = false,
       .copy_lanes = 4,
       .tiles = {{64, 64, 2, 2}, {64, 32, 2, 2}, {32, 64, 2, 2}, {32, 32, 2, 2}}});
}

}  // namespace tern::backend::metal
