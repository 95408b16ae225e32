// SPDX-License-Identifier: Apache-2.0
//
// Programs as text, a statement a line:
//
//   model 1
//   dim n
//   input x: float32[n, 4]
//   output y: float32[n, 8]
//   constant w: float32[4, 8] weights
//   constant p: float32[1, 4, 8] made
//   prepack matmul_prepare(w, p)
//
//   func main(i0, t0: float32[:, :]) -> (tensor) {
//     t1: float32[:, :]
//     t2: float32[:, :, :]
//     t2 = const p
//     t1 = alloc [i0, 8] output 0
//     call matmul_prepared(t0, t2, t1)
//     ret t1
//   }
//
// Names that are no identifiers stand in quotes; from # to the end of a line is a comment.
#ifndef TERN_RUNTIME_VM_TEXT_H_
#define TERN_RUNTIME_VM_TEXT_H_

#include <string>
#include <string_view>

#include "tern/runtime/vm/program.h"

namespace tern::runtime::vm {

// Of a verified program, which is read back as it was.
std::string PrintProgram(const Program& program);
// "i0 * 2 + 1"
std::string PrintIntExpr(const IntExpr& expr);
// Of a port, over the names of dims: "n * 2".
std::string PrintExtent(const Program& program, const IntExpr& extent);
// "float32[n, 4]"
std::string PrintPortType(const Program& program, const Port& port);
// One line, without those of its registers: "t1 = alloc [i0, 8]".
std::string PrintInstruction(const Program& program, const Instruction& instruction);

// Throws with the place ("prog.vm:3:5: error: ..."). Kernels are those that are called, in order of
// appearance.
Program ParseProgram(std::string_view text, const std::string& file);

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_TEXT_H_
