// SPDX-License-Identifier: Apache-2.0
//
// A unit beside the machine's threads that multiplies matrices. Its programs are of a format of
// their own, "emu_matrix": a text of lines, which says how the unit is set up.
//
//   emu_matrix 1
//   tile 8
#ifndef EXAMPLES_OUT_OF_TREE_BACKEND_RUNTIME_MATRIX_UNIT_H_
#define EXAMPLES_OUT_OF_TREE_BACKEND_RUNTIME_MATRIX_UNIT_H_

#include <cstdint>
#include <string_view>

#include "runtime/machine.h"

namespace emu {

struct MatrixProgram {
  int64_t tile = 0;  // rows and columns that are multiplied at once
};

// Throws where the text is no such program: it comes from a file.
MatrixProgram ReadMatrixProgram(std::string_view text);

// y[m, n] = a[m, k] b[k, n], of float32, at addresses of the device.
void Multiply(const MatrixProgram& program, Memory& memory, uint64_t a, uint64_t b, uint64_t y,
              int64_t m, int64_t n, int64_t k);

}  // namespace emu

#endif  // EXAMPLES_OUT_OF_TREE_BACKEND_RUNTIME_MATRIX_UNIT_H_
