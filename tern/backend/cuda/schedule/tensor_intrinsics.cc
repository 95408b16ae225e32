// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/schedule/tensor_intrinsics.h"

#include <fmt/format.h>

#include <algorithm>

#include "tern/schedule/rules/group_matmul.h"
#include "tern/schedule/rules/matrix_matmul.h"
#include "tern/schedule/tensor_intrinsic.h"
#include "tern/tir/group_intrinsics.h"

namespace tern::backend::cuda {
namespace {

constexpr const char* kLanes = "for lane in 0..32 bind(threadIdx.x) {\n";

// Where a tile of sums or of a left operand has the element (row, column), rows of 0..16.
std::string At(const std::string& row, const std::string& column) {
  return fmt::format("[{0} % 8 * 4 + {1} % 8 // 2, {1} // 8 * 4 + {0} // 8 * 2 + {1} % 2]", row,
                     column);
}
// Where a tile of a right operand has the element (k, j).
std::string RightAt(const std::string& k, const std::string& j) {
  return fmt::format("[{1} % 8 * 4 + {0} % 8 // 2, {1} // 8 * 4 + {0} // 8 * 2 + {0} % 2]", k, j);
}

void Register(const std::string& name, const std::string& params, const std::string& description,
              const std::string& implementation, const std::string& attrs = "") {
  schedule::RegisterTensorIntrinsic(
      name,
      fmt::format("func description({0}) {{\n{1}}}\nfunc implementation({0}){4} {{\n{2}{3}}}\n}}\n",
                  params, description, kLanes, implementation, attrs));
}

// Lane l gives the address of row l % 8 of tile l // 8.
void RegisterLoad(const std::string& name, const std::string& dtype, bool left, bool transposed) {
  std::string at = left ? At("i", "k") : RightAt("k", "j");
  std::string axis = left ? "i" : "j";
  bool k_first = left == transposed;  // in memory
  std::string loops = k_first ? "k, " + axis : axis + ", k";
  std::string address = transposed ? "[lane % 8 + lane // 16 * 8, ramp(lane // 8 % 2 * 8, 1, 8)]"
                                   : "[lane % 16, ramp(lane // 16 * 8, 1, 8)]";
  // A tile of memory has rows of k where the fragment wants columns of it.
  const char* load = k_first ? "warp_matrix_load_transposed" : "warp_matrix_load";
  Register(name, fmt::format("F: {0}[32, 8], S: {0}[16, 16]", dtype),
           fmt::format("for {} in 0..16, {} in 0..16 {{\nF{} = S[{}]\n}}\n", loops.substr(0, 1),
                       loops.substr(3), at, loops),
           fmt::format("F[lane, ramp(0, 1, 8)] = {}(S{})\n", load, address));
}

void RegisterMultiply(const std::string& name, const std::string& dtype) {
  std::string sum = "C" + At("i", "j");
  Register(name, fmt::format("C: float32[32, 8], A: {0}[32, 8], B: {0}[32, 8]", dtype),
           fmt::format("for i in 0..16, j in 0..16, k in 0..16 {{\n{0} = {0} + float32(A{1}) * "
                       "float32(B{2})\n}}\n",
                       sum, At("i", "k"), RightAt("k", "j")),
           "for h in 0..2 unrolled {\n"
           "C[lane, ramp(h * 4, 1, 4)] = warp_matrix_multiply(C[lane, ramp(h * 4, 1, 4)], "
           "A[lane, ramp(0, 1, 8)], B[lane, ramp(h * 4, 1, 4)])\n}\n",
           " attrs {reassociate = true}");
}

void RegisterStore(const std::string& name, const std::string& dtype) {
  auto value = [&](const std::string& sum) {
    return dtype == "float32" ? sum : dtype + "(" + sum + ")";
  };
  Register(
      name, fmt::format("D: {}[16, 16], C: float32[32, 8]", dtype),
      fmt::format("for i in 0..16, j in 0..16 {{\nD[i, j] = {}\n}}\n", value("C" + At("i", "j"))),
      fmt::format("for h in 0..2 unrolled {{\nfor g in 0..2 unrolled {{\n"
                  "for v in 0..2 vectorized {{\n"
                  "D[lane // 4 + g * 8, h * 8 + lane % 4 * 2 + v] = {}\n}}\n}}\n}}\n",
                  value("C[lane, h * 4 + g * 2 + v]")));
}

// Where a block of rows of `depth` in shared memory has the element (row, column).
std::string InBlock(const std::string& row, const std::string& column, int depth) {
  return fmt::format("{} % 64 * {} + {} % {}", row, depth, column, depth);
}

// Where four warps have the element (row, column) of a matrix of 64 rows in registers.
std::string InGroup(const std::string& row, const std::string& column) {
  return fmt::format(
      "[{0} // 16, {0} % 8 * 4 + {1} % 8 // 2, {1} // 8 * 4 + {0} % 16 // 8 * 2 + {1} % 2]", row,
      column);
}

// 64 rows, 128 bytes of steps and several blocks of columns, or a narrow one, of four warps.
void RegisterGroupMultiply(const std::string& layout, int columns, const tir::GroupType& type) {
  bool in_registers = layout[0] == 'r';
  int depth = type.depth(), block = 64 * depth, blocks = std::max(columns / 64, 1),
      right_block = std::min(columns, 64) * depth;
  std::string element = type.element.str(), sums = type.sum.str();
  auto widened = [&](const std::string& value) {
    return type.element == type.sum ? value : sums + "(" + value + ")";
  };
  auto in_block = [&](bool transposed, const std::string& row, const std::string& column) {
    return transposed ? InBlock(column, row, depth) : InBlock(row, column, depth);
  };
  std::string sum = "C" + InGroup("i", "j");
  std::string left =
      in_registers ? "A" + InGroup("i", "k") : "A[" + in_block(layout[0] == 't', "i", "k") + "]";
  std::string right = "B[j // 64, " + in_block(layout[1] == 't', "k", "j") + "]";
  std::string registers = fmt::format("C[warp, lane, ramp(0, 1, {})]", columns / 2),
              operands = in_registers ? "A[warp, lane, ramp(0, 1, 32)]"
                                      : fmt::format("A[ramp(0, 1, {})]", block);
  for (int b = 0; b < blocks; ++b)
    operands += fmt::format(", B[{}, ramp(0, 1, {})]", b, right_block);
  std::string params =
      fmt::format("C: {4}[4, 32, {0}], A: {1}[{2}], B: {1}[{3}, {5}]", columns / 2, element,
                  in_registers ? "4, 32, 32" : std::to_string(block), blocks, sums, right_block);
  std::string attrs = type.element == type.sum ? "attrs {allow_tf32 = true, reassociate = true} "
                      : type.sum.is_float()    ? "attrs {reassociate = true} "
                                               : "";
  std::string named = type.element.bits() == 16 ? layout : layout + "_" + type.name;
  schedule::RegisterTensorIntrinsic(
      fmt::format("wgmma_{}_{}_{}", layout, columns, type.name),
      fmt::format("func description({0}) {{\n"
                  "for i in 0..64, j in 0..{1}, k in 0..{9} {{\n"
                  "{2} = {2} + {3} * {4}\n}}\n}}\n"
                  "func implementation({0}) {10}{{\n"
                  "for warp in 0..4 bind(threadIdx.y) {{\n{5}"
                  "{6} = warp_matrix_multiply_group({6}, \"{7}\", {8})\n"
                  "}}\n}}\n}}\n",
                  params, columns, sum, widened(left), widened(right), kLanes, registers, named,
                  operands, depth, attrs));
}

// Where four warps have it with 8 neighbours of a row in a lane, as stores of 16 bytes want them.
std::string InRows(const std::string& row, const std::string& column) {
  return fmt::format(
      "[{0} // 16, {0} % 8 * 4 + {1} % 32 // 8, {1} // 32 * 16 + {0} % 16 // 8 * 8 + {1} % 8]", row,
      column);
}

// From one to the other. Of 32 columns of a row the four lanes q have pairs; lane q gets those of
// columns q * 8 on: a transpose of 4 x 4 pairs, by two exchanges of halves.
void RegisterGroupRows(int columns, const std::string& dtype, const std::string& suffix) {
  schedule::RegisterTensorIntrinsic(
      fmt::format("wgmma_rows_{}{}", columns, suffix),
      fmt::format("func description(D: {6}[4, 32, {0}], C: {6}[4, 32, {0}]) {{\n"
                  "for i in 0..64, j in 0..{1} {{\nD{2} = C{3}\n}}\n}}\n"
                  "func implementation(D: {6}[4, 32, {0}], C: {6}[4, 32, {0}]) {{\n"
                  "for warp in 0..4 bind(threadIdx.y) {{\n{4}"
                  "for c in 0..{5} unrolled {{\nfor h in 0..2 unrolled {{\n"
                  "for v in 0..2 unrolled {{\n"
                  "let a0 = C[warp, lane, c * 16 + h * 2 + v]\n"
                  "let a1 = C[warp, lane, c * 16 + h * 2 + v + 4]\n"
                  "let a2 = C[warp, lane, c * 16 + h * 2 + v + 8]\n"
                  "let a3 = C[warp, lane, c * 16 + h * 2 + v + 12]\n"
                  "let s01 = warp_shuffle_xor(select(lane % 2 == 1, a0, a1), 1)\n"
                  "let s23 = warp_shuffle_xor(select(lane % 2 == 1, a2, a3), 1)\n"
                  "let x0 = select(lane % 2 == 1, s01, a0)\n"
                  "let x1 = select(lane % 2 == 1, a1, s01)\n"
                  "let y0 = select(lane % 2 == 1, s23, a2)\n"
                  "let y1 = select(lane % 2 == 1, a3, s23)\n"
                  "let t0 = warp_shuffle_xor(select(lane // 2 % 2 == 1, x0, y0), 2)\n"
                  "let t1 = warp_shuffle_xor(select(lane // 2 % 2 == 1, x1, y1), 2)\n"
                  "D[warp, lane, c * 16 + h * 8 + v] = select(lane // 2 % 2 == 1, t0, x0)\n"
                  "D[warp, lane, c * 16 + h * 8 + v + 2] = select(lane // 2 % 2 == 1, t1, x1)\n"
                  "D[warp, lane, c * 16 + h * 8 + v + 4] = select(lane // 2 % 2 == 1, y0, t0)\n"
                  "D[warp, lane, c * 16 + h * 8 + v + 6] = select(lane // 2 % 2 == 1, y1, t1)\n"
                  "}}\n}}\n}}\n}}\n}}\n}}\n",
                  columns / 2, columns, InRows("i", "j"), InGroup("i", "j"), kLanes, columns / 32,
                  dtype));
}

void RegisterGroupIntrinsics() {
  for (int columns : {64, 128, 192, 256}) {
    RegisterGroupRows(columns, "float32", "");
    RegisterGroupRows(columns, "int32", "_s32");
    for (const tir::GroupType& type : tir::kGroupTypes)
      for (const char* layout : {"nt", "nn", "tn", "tt", "rn", "rt"}) {
        RegisterGroupMultiply(layout, columns, type);
        if (type.element.bits() != 16) break;  // along K alone
      }
  }
  for (int columns : tir::kNarrowColumns)
    for (const tir::GroupType& type : tir::kGroupTypes)
      for (const char* layout : {"nt", "tt"})
        if (type.element.bits() == 16) RegisterGroupMultiply(layout, columns, type);
}

// Two instructions of 32 steps, of which a lane has 8 in a row: columns of C are the rows of the
// instructions, B their left operand.
void RegisterPackedMultiply(const std::string& suffix, const std::string& dtype) {
  const char* sum = "C[j % 8 * 4 + i % 8 // 2, j // 8 * 2 + i % 2]";
  Register("mma_packed" + suffix,
           fmt::format("C: float32[32, 4], A: {0}[32, 8], B: {0}[32, 16]", dtype),
           fmt::format("for j in 0..16, i in 0..8, k in 0..32 {{\n"
                       "{0} = {0} + float32(A[i * 4 + k // 8, k % 8]) * float32(B[j % 8 * 4 + k // "
                       "8, k % 8 // 4 * 8 + k % 4 // 2 * 4 + j // 8 * 2 + k % 2])\n}}\n",
                       sum),
           "for s in 0..2 unrolled {\n"
           "C[lane, ramp(0, 1, 4)] = warp_matrix_multiply(C[lane, ramp(0, 1, 4)], "
           "B[lane, ramp(s * 8, 1, 8)], A[lane, ramp(s * 4, 1, 4)])\n}\n",
           " attrs {reassociate = true}");
}

void RegisterIntrinsics() {
  Register("mma_packed_fill", "C: float32[32, 4]",
           "for j in 0..16, i in 0..8 {\nC[j % 8 * 4 + i % 8 // 2, j // 8 * 2 + i % 2] = 0.0\n}\n",
           "for r in 0..4 unrolled {\nC[lane, r] = 0.0\n}\n");
  for (const auto& [suffix, dtype] :
       {std::pair<std::string, std::string>{"_f16", "float16"}, {"_bf16", "bfloat16"}}) {
    RegisterLoad("mma_load_a" + suffix, dtype, true, false);
    RegisterLoad("mma_load_at" + suffix, dtype, true, true);
    RegisterLoad("mma_load_b" + suffix, dtype, false, false);
    RegisterLoad("mma_load_bt" + suffix, dtype, false, true);
    RegisterMultiply("mma" + suffix, dtype);
    RegisterPackedMultiply(suffix, dtype);
    RegisterStore("mma_store" + suffix, dtype);
  }
  RegisterStore("mma_store_f32", "float32");
  for (const auto& [name, op] : {std::pair{"mma_scale", "*"}, {"mma_divide", "/"}})
    Register(
        name, "C: float32[32, 8], S: float32[16]",
        fmt::format("for i in 0..16, j in 0..16 {{\nC{0} = C{0} {1} S[i]\n}}\n", At("i", "j"), op),
        fmt::format("for r in 0..8 unrolled {{\n"
                    "C[lane, r] = C[lane, r] {} S[lane // 4 + r // 2 % 2 * 8]\n}}\n",
                    op));
  Register("mma_fill", "C: float32[32, 8]",
           fmt::format("for i in 0..16, j in 0..16 {{\nC{} = 0.0\n}}\n", At("i", "j")),
           "for r in 0..8 unrolled {\nC[lane, r] = 0.0\n}\n");
}

std::string FragmentLayout(schedule::Fragment fragment, bool transposed) {
  std::string row = transposed ? "j" : "i", column = transposed ? "i" : "j";
  // Rows and columns of the operand; a right operand has pairs of rows.
  std::string pair = fragment == schedule::Fragment::kB ? row : column,
              other = fragment == schedule::Fragment::kB ? column : row;
  return fmt::format(
      "(i, j) -> (i // 16, j // 16, {0} % 8 * 4 + {1} % 8 // 2, {2} % 16 // 8 * 4 + {3} % 16 "
      "// 8 * 2 + {1} % 2)",
      other, pair, column, row);
}

}  // namespace

void RegisterTensorCores(bool (*has_instructions)(const target::Target&)) {
  RegisterIntrinsics();
  schedule::RegisterMatrixMatmul(
      {.rule = "tensor_core_matmul",
       .description = "float16 and bfloat16 on tensor cores (mma), cp.async into shared memory",
       .attention = "tensor_core_attention",
       .prefix = "mma",
       .packed_rule = "packed_weights_matmul",
       .packed = "mma_packed",
       .lanes = 32,
       .async_copies = true,
       .layout = FragmentLayout,
       .fits = [has_instructions](const schedule::TargetInfo& target) {
         return target.target && target.target->kind->module_kind == "cuda" &&
                has_instructions(target.target);
       }});
}

void RegisterWarpGroups(bool (*has_instructions)(const target::Target&)) {
  RegisterGroupIntrinsics();
  schedule::RegisterGroupMatmul(
      {.rule = "warp_group_matmul",
       .description = "float16, bfloat16, fp8, int8 and tf32 on tensor cores by four warps "
                      "together (wgmma)",
       .attention = "warp_group_attention",
       .prefix = "wgmma",
       .multiprocessors = 132,
       .fits = [has_instructions](const schedule::TargetInfo& target) {
         return target.target && has_instructions(target.target);
       }});
}

}  // namespace tern::backend::cuda
