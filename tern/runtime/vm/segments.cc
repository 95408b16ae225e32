// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/segments.h"

#include "tern/runtime/vm/flow.h"

namespace tern::runtime::vm {
namespace {

bool IsStraight(const Instruction& instruction, const std::vector<bool>& is_planned,
                const std::vector<bool>& on_host) {
  switch (instruction.op) {
    case Opcode::kDim:
    case Opcode::kInt:
    case Opcode::kCheck:
    case Opcode::kView:
    case Opcode::kConst:
    case Opcode::kCopy:
    case Opcode::kFree:
      return true;
    case Opcode::kCall:
      return !on_host[instruction.index];
    case Opcode::kAlloc:
      return instruction.index > 0 || is_planned[instruction.results[0].index];
    default:
      return false;
  }
}

class Finder {
 public:
  Finder(const Function& function, const std::vector<bool>& is_planned,
         const std::vector<bool>& on_host)
      : function_(function),
        is_planned_(is_planned),
        on_host_(on_host),
        numbers_(function),
        used_(numbers_.size()),
        is_target_(function.code.size()) {}

  std::vector<Segment> Run() {
    for (const Instruction& instruction : function_.code)
      if (instruction.op == Opcode::kJump || instruction.op == Opcode::kBranch)
        is_target_[instruction.index] = true;
    for (uint32_t at = 0; at < function_.code.size(); ++at) {
      const Instruction& instruction = function_.code[at];
      bool straight = IsStraight(instruction, is_planned_, on_host_);
      if (!straight || is_target_[at] || Overwrites(instruction)) End(at);
      if (!straight) {
        begin_ = at + 1;
        continue;
      }
      Use(instruction);
      launches_ += instruction.op == Opcode::kCall || instruction.op == Opcode::kCopy;
    }
    End(static_cast<uint32_t>(function_.code.size()));
    return std::move(found_);
  }

 private:
  bool Overwrites(const Instruction& instruction) const {
    for (const Operand& result : instruction.results)
      if (used_[numbers_.Of(result)]) return true;
    return false;
  }

  void Use(const Instruction& instruction) {
    for (const auto* operands : {&instruction.results, &instruction.args})
      for (const Operand& operand : *operands)
        if (operand.kind != OperandKind::kConstInt && operand.kind != OperandKind::kConstFloat)
          used_[numbers_.Of(operand)] = true;
    for (const IntExpr& expr : instruction.exprs)
      for (const IntToken& token : expr.tokens)
        if (token.op == IntOp::kRegister)
          used_[numbers_.Int(static_cast<size_t>(token.value))] = true;
  }

  void End(uint32_t at) {
    if (launches_ >= kFewestLaunches) found_.push_back({begin_, at, launches_});
    begin_ = at;
    launches_ = 0;
    used_.assign(used_.size(), false);
  }

  const Function& function_;
  const std::vector<bool>& is_planned_;
  const std::vector<bool>& on_host_;
  RegisterNumbers numbers_;
  RegisterSet used_;
  std::vector<bool> is_target_;
  std::vector<Segment> found_;
  uint32_t begin_ = 0, launches_ = 0;
};

}  // namespace

std::vector<Segment> FindSegments(const Function& function, const std::vector<bool>& is_planned,
                                  const std::vector<bool>& on_host) {
  return Finder(function, is_planned, on_host).Run();
}

}  // namespace tern::runtime::vm
