// SPDX-License-Identifier: Apache-2.0
//
// What a function makes of its constant parameters alone: it is the same at every call, and could
// be made once, before the first.
#ifndef TERN_TIR_ANALYSIS_PREPARATION_H_
#define TERN_TIR_ANALYSIS_PREPARATION_H_

#include <string>
#include <unordered_set>
#include <vector>

#include "tern/tir/function.h"

namespace tern::tir {

namespace attr {
// Array of strings: tensors among the parameters that hold the same from call to call.
inline constexpr const char* kConstants = "constants";
}  // namespace attr

// What the attribute says; none where there is no attribute.
std::vector<std::string> ConstantsOf(const PrimFunc& function);

// Statements that stand in no loop or condition, read what is constant, and write memory of the
// function's own that nothing else writes and that is not read before they are done. What they
// write is constant too, so that there may be chains of them.
class Preparation {
 public:
  explicit Preparation(const PrimFunc& function);

  // The statements, in their order.
  const std::vector<Stmt>& stmts() const { return stmts_; }
  // The buffers that they write, in the order of their allocations.
  const std::vector<Buffer>& made() const { return made_; }
  // Whether a buffer is a constant parameter, or made of such alone.
  bool IsConstant(const Buffer& buffer) const { return constant_.count(buffer->data.node()) > 0; }

 private:
  std::vector<Stmt> stmts_;
  std::vector<Buffer> made_;
  std::unordered_set<const VarNode*> constant_;  // addresses
};

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_PREPARATION_H_
