// SPDX-License-Identifier: Apache-2.0
//
// The operators that a block computes, as its author knows them: "conv", or "conv+relu" of one that
// inlining made of two. It is an attribute of the block (attr::kOp) that steps and passes hand on
// to the blocks that they make of it, for explanations; nothing depends on it.
//
//   block conv_c(vm: spatial(49) = m, ...) attrs {op = "conv"} {
#ifndef TERN_TIR_BLOCK_OP_H_
#define TERN_TIR_BLOCK_OP_H_

#include <string>

#include "tern/tir/stmt.h"

namespace tern::tir {

namespace attr {
// String, of a block: the operators that it computes, with + between them.
inline constexpr const char* kOp = "op";
}  // namespace attr

// "" where none is known.
std::string OpOf(const BlockNode* block);
// A block, which is not shared yet, gets the operators.
void SetOp(BlockNode* block, const std::string& op);
// The same of a statement that is a block.
Stmt WithOp(const Stmt& block, const std::string& op);
// The operators of two that become one block, each once, in the order in which they are computed.
std::string JoinOps(const std::string& first, const std::string& second);

// Tensors that are defined (builder.h) while it lives are of this operator, and so are their
// blocks. Of several scopes the outermost counts. Each thread has its own.
class OpScope {
 public:
  explicit OpScope(std::string op);
  ~OpScope();
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

  // "" outside of all scopes.
  static const std::string& current();

 private:
  bool outermost_;
};

}  // namespace tern::tir

#endif  // TERN_TIR_BLOCK_OP_H_
