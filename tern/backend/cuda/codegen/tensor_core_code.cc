// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/codegen/tensor_core_code.h"

#include <fmt/format.h>

namespace tern::backend::cuda {
namespace {

Helper Define(const std::string& name, const std::string& params, const std::string& body) {
  return {name, fmt::format("static __device__ __forceinline__ void {}({}) {{\n{}}}\n", name,
                            params, body)};
}

// Machines before sm_80 have no asynchronous copies: theirs are done at once.
Helper DefineAsync(const std::string& name, const std::string& params, const std::string& body,
                   const std::string& otherwise) {
  std::string other = otherwise.empty() ? "" : "#else\n" + otherwise;
  return Define(name, params, "#if __CUDA_ARCH__ >= 800\n" + body + other + "#endif\n");
}

constexpr const char* kSharedAddress =
    "  unsigned int address = (unsigned int)__cvta_generic_to_shared({});\n";

// Copies of 16 bytes can bypass L1 (cp.async.cg).
const char* CacheOf(int bytes) { return bytes == 16 ? "cg" : "ca"; }
const char* WordOf(int bytes) {
  return bytes == 16 ? "uint4" : bytes == 8 ? "uint2" : "unsigned int";
}

}  // namespace

Helper LoadMatrixHelper(bool transposed) {
  return Define(
      transposed ? "tern_ldmatrix_trans" : "tern_ldmatrix", "void* to, const void* row",
      "  unsigned int* r = (unsigned int*)to;\n" +
          fmt::format(fmt::runtime(kSharedAddress), "row") +
          fmt::format("  asm volatile(\"ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{%0, %1, %2, "
                      "%3}}, [%4];\" : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3]) : "
                      "\"r\"(address) : \"memory\");\n",
                      transposed ? ".trans" : ""));
}

Helper MultiplyHelper(DataType operand) {
  std::string type = operand == DataType::Bfloat16() ? "bf16" : "f16";
  return Define(
      "tern_mma_" + type, "float* to, const float* c, const void* left, const void* right",
      "  const unsigned int* a = (const unsigned int*)left;\n"
      "  const unsigned int* b = (const unsigned int*)right;\n" +
          fmt::format(
              "  asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.{0}.{0}.f32 {{%0, %1, "
              "%2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%10, %11, %12, %13}};\" : "
              "\"=f\"(to[0]), \"=f\"(to[1]), \"=f\"(to[2]), \"=f\"(to[3]) : \"r\"(a[0]), "
              "\"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]), "
              "\"f\"(c[0]), \"f\"(c[1]), \"f\"(c[2]), \"f\"(c[3]));\n",
              type));
}

// A matrix descriptor: 8 rows of 128 bytes are a swizzled tile of 1024. Of rows along k the tiles
// follow each other by `stride`; of columns along k, tiles of 8 k do, and blocks of 64 columns by
// `leading`. Offsets are in units of 16 bytes.
Helper GroupMultiplyHelper(const tir::GroupType& type, const std::string& layout, int columns) {
  bool is_wide = type.element.bits() == 16;  // operands may be transposed
  bool a_transposed = layout[0] == 't', b_transposed = layout[1] == 'n';  // K is not innermost
  bool in_registers = layout[0] == 'r';
  int registers = columns / 2;
  std::string sums, names;
  for (int i = 0; i < registers; ++i) {
    sums += fmt::format("{}\"+{}\"(c[{}])", i ? ", " : "", type.sum.is_float() ? "f" : "r", i);
    names += fmt::format("{}%{}", i ? ", " : "", i);
  }
  // Of an instruction: 32 bytes of a row, or 16 rows.
  auto step = [](bool transposed) { return transposed ? 16 * 128 / 16 : 32 / 16; };
  auto descriptor = [](const char* name, const char* operand) {
    return fmt::format(
        "  unsigned long long {} = 1ull << 62 | 64ull << 32 | 512ull << 16 |\n"
        "      ((unsigned int)__cvta_generic_to_shared({}) & 0x3ffff) >> 4;\n",
        name, operand);
  };
  std::string take_left, left, a, transpose_a;
  if (in_registers) {
    take_left =
        "  const unsigned short* e = (const unsigned short*)left;\n"
        "  unsigned int a[16];\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < 16; ++i) a[i] = e[i * 2] | (unsigned int)e[i * 2 + 1] << 16;\n";
    left = "\"r\"(a[k * 4]), \"r\"(a[k * 4 + 1]), \"r\"(a[k * 4 + 2]), \"r\"(a[k * 4 + 3])";
    a = fmt::format("{{%{}, %{}, %{}, %{}}}", registers, registers + 1, registers + 2,
                    registers + 3);
  } else {
    take_left = descriptor("a", "left");
    left = fmt::format("\"l\"(a + k * {})", step(a_transposed));
    a = fmt::format("%{}", registers);
    transpose_a = fmt::format(", {:d}", a_transposed);
  }
  // Whether it adds to c; signs of the operands; whether they are transposed.
  std::string flags = "1";
  if (type.sum.is_float()) flags += ", 1, 1";
  if (is_wide) flags += fmt::format("{}, {:d}", transpose_a, b_transposed);
  return Define(
      fmt::format("tern_wgmma_{}_{}_{}", type.name, layout, columns),
      fmt::format("{}* c, const void* left, const void* right",
                  type.sum.is_float() ? "float" : "int"),
      take_left + descriptor("b", "right") +
          "  asm volatile(\"wgmma.fence.sync.aligned;\" : : : \"memory\");\n"
          "#pragma unroll\n"
          "  for (int k = 0; k < 4; ++k)\n" +
          fmt::format("    asm volatile(\"wgmma.mma_async.sync.aligned.m64n{0}k{1}.{2}.{3}.{3} "
                      "{{{4}}}, {5}, %{6}, {7};\" : {8} : {9}, \"l\"(b + k * {10}));\n",
                      columns, type.depth() / 4, type.sum.is_float() ? "f32" : "s32", type.name,
                      names, a, registers + (in_registers ? 4 : 1), flags, sums, left,
                      step(b_transposed)) +
          "  asm volatile(\"wgmma.commit_group.sync.aligned;\" : : : \"memory\");\n");
}

Helper SwizzleHelper(int bytes) {
  std::string name = bytes == 2 ? "tern_swizzle" : fmt::format("tern_swizzle_{}", bytes * 8);
  int shift = bytes == 1 ? 4 : bytes == 2 ? 3 : 2;  // elements of 16 bytes; a row has 8 times that
  return {name, fmt::format("static __device__ __forceinline__ int {}(int i) {{\n"
                            "  return i ^ (i >> {} & 7) << {};\n}}\n",
                            name, shift + 3, shift)};
}

Helper MatrixWaitHelper(int64_t groups) {
  return Define(
      fmt::format("tern_wait_wgmma_{}", groups), "",
      fmt::format("  asm volatile(\"wgmma.wait_group.sync.aligned {};\" : : : \"memory\");\n",
                  groups));
}

Helper MatrixFenceHelper() {
  return Define("tern_fence_wgmma", "",
                "  asm volatile(\"fence.proxy.async.shared::cta;\" : : : \"memory\");\n");
}

Helper AsyncCopyHelper(int bytes) {
  return DefineAsync(
      fmt::format("tern_copy_async_{}", bytes), "void* to, const void* from",
      fmt::format(fmt::runtime(kSharedAddress), "to") +
          fmt::format("  asm volatile(\"cp.async.{}.shared.global [%0], [%1], {};\" : : "
                      "\"r\"(address), \"l\"(from) : \"memory\");\n",
                      CacheOf(bytes), bytes),
      fmt::format("  *({0}*)to = *(const {0}*)from;\n", WordOf(bytes)));
}

Helper AsyncCopyOrZeroHelper(int bytes) {
  return DefineAsync(
      fmt::format("tern_copy_async_{}_or_zero", bytes), "void* to, const void* from, bool there",
      fmt::format(fmt::runtime(kSharedAddress), "to") +
          fmt::format("  asm volatile(\"cp.async.{}.shared.global [%0], [%1], {}, %2;\" : : "
                      "\"r\"(address), \"l\"(from), \"r\"(there ? {} : 0) : \"memory\");\n",
                      CacheOf(bytes), bytes, bytes),
      fmt::format("  {0} zero = {{}};\n  *({0}*)to = there ? *(const {0}*)from : zero;\n",
                  WordOf(bytes)));
}

Helper AsyncCommitHelper() {
  return DefineAsync("tern_commit_async", "",
                     "  asm volatile(\"cp.async.commit_group;\" : : : \"memory\");\n", "");
}

Helper AsyncWaitHelper(int64_t groups) {
  return DefineAsync(
      fmt::format("tern_wait_async_{}", groups), "",
      fmt::format("  asm volatile(\"cp.async.wait_group {};\" : : : \"memory\");\n", groups), "");
}

}  // namespace tern::backend::cuda
