// SPDX-License-Identifier: Apache-2.0
#include "runtime/matrix_unit.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "tern/ffi/error.h"

namespace emu {
namespace {

constexpr std::string_view kHead = "emu_matrix 1\ntile ";
constexpr int64_t kLargestTile = 64;

float* Matrix(Memory& memory, uint64_t address, int64_t rows, int64_t columns) {
  TERN_CHECK(rows >= 0 && columns >= 0 && rows < 1 << 20 && columns < 1 << 20)
      << "emu: a matrix of " << rows << " x " << columns << " does not fit";
  auto bytes = static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns) * sizeof(float);
  return reinterpret_cast<float*>(memory.At(address, bytes));
}

}  // namespace

MatrixProgram ReadMatrixProgram(std::string_view text) {
  MatrixProgram program;
  bool is_sound = text.starts_with(kHead);
  if (is_sound) {
    text.remove_prefix(kHead.size());
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), program.tile);
    is_sound = error == std::errc() && std::string_view(end, text.data() + text.size()) == "\n" &&
               program.tile >= 1 && program.tile <= kLargestTile;
  }
  TERN_CHECK(is_sound)
      << "the program is not one of the matrix unit's: expected \"emu_matrix 1\" and "
      << "a line \"tile N\", 1 to " << kLargestTile;
  return program;
}

void Multiply(const MatrixProgram& program, Memory& memory, uint64_t a, uint64_t b, uint64_t y,
              int64_t m, int64_t n, int64_t k) {
  const float *left = Matrix(memory, a, m, k), *right = Matrix(memory, b, k, n);
  float* result = Matrix(memory, y, m, n);
  int64_t tile = program.tile;
  for (int64_t row = 0; row < m; row += tile)
    for (int64_t column = 0; column < n; column += tile)
      for (int64_t i = row; i < std::min(m, row + tile); ++i)
        for (int64_t j = column; j < std::min(n, column + tile); ++j) {
          float sum = 0;
          for (int64_t s = 0; s < k; ++s) sum += left[i * k + s] * right[s * n + j];
          result[i * n + j] = sum;
        }
}

}  // namespace emu
