// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/block_op.h"

#include <sstream>

namespace tern::tir {
namespace {
thread_local std::string current_op;
}  // namespace

std::string OpOf(const BlockNode* block) {
  auto it = block->annotations.find(attr::kOp);
  return it == block->annotations.end() ? "" : it->second.As<std::string>();
}

void SetOp(BlockNode* block, const std::string& op) {
  if (op.empty())
    block->annotations.erase(attr::kOp);
  else
    block->annotations[attr::kOp] = op;
}

Stmt WithOp(const Stmt& block, const std::string& op) {
  if (OpOf(block.As<BlockNode>()) == op) return block;
  auto copy = ffi::Make<BlockNode>(*block.As<BlockNode>());
  SetOp(copy.get(), op);
  return copy;
}

std::string JoinOps(const std::string& first, const std::string& second) {
  std::string joined = first;
  std::istringstream others(second);
  for (std::string op; std::getline(others, op, '+');)
    if (("+" + joined + "+").find("+" + op + "+") == std::string::npos)
      joined += (joined.empty() ? "" : "+") + op;
  return joined;
}

OpScope::OpScope(std::string op) : outermost_(current_op.empty()) {
  if (outermost_) current_op = std::move(op);
}
OpScope::~OpScope() {
  if (outermost_) current_op.clear();
}
const std::string& OpScope::current() { return current_op; }

}  // namespace tern::tir
