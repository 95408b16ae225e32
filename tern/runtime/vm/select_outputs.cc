// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/select_outputs.h"

#include <map>
#include <optional>
#include <string_view>

#include "tern/runtime/vm/flow.h"

namespace tern::runtime::vm {
namespace {

class Selector {
 public:
  Selector(const Program& program, const std::vector<FunctionInfo>& functions,
           const std::vector<bool>& wanted)
      : program_(program),
        main_(program.functions[0]),
        wanted_(wanted),
        numbers_(main_),
        sources_(ViewSources(main_)),
        is_needed_(numbers_.size()),
        is_kept_(main_.code.size()) {
    for (const FunctionInfo& info : functions) infos_[info.name] = &info;
    for (size_t i = 0; i < sources_.size(); ++i)  // to the tensor whose memory it is
      while (sources_[i] && sources_[*sources_[i]]) sources_[i] = sources_[*sources_[i]];
  }

  Selection Make() {
    // Each round adds an instruction or is the last one. Programs are mostly in the order of data
    // flow, so two rounds from the end are enough.
    for (bool changes = true; changes;) {
      changes = false;
      for (size_t i = main_.code.size(); i-- > 0;) {
        if (is_kept_[i] || !IsNeeded(main_.code[i])) continue;
        is_kept_[i] = changes = true;
        Need(main_.code[i]);
      }
    }
    Selection selection{wanted_, is_kept_, std::vector<bool>(main_.tensors.size())};
    selection.skipped.flip();
    for (size_t i = 0; i < main_.tensors.size(); ++i)
      selection.needed_tensors[i] = is_needed_[NumberOf(Operand::Tensor(static_cast<uint32_t>(i)))];
    return selection;
  }

 private:
  // All views of a tensor are one.
  size_t NumberOf(const Operand& operand) const {
    if (operand.kind == OperandKind::kTensor && sources_[operand.index])
      return numbers_.Tensor(*sources_[operand.index]);
    return numbers_.Of(operand);
  }
  bool IsNeededRegister(const Operand& operand) const {
    return operand.kind <= OperandKind::kList && is_needed_[NumberOf(operand)];
  }

  // Whether it writes what is needed, or does something beside.
  bool IsNeeded(const Instruction& instruction) const {
    switch (instruction.op) {
      case Opcode::kCheck:
      case Opcode::kCallPacked:
      case Opcode::kJump:
      case Opcode::kBranch:
      case Opcode::kRet:
      case Opcode::kFree:
        return true;
      case Opcode::kCopy:
        return IsNeededRegister(instruction.args[1]);
      case Opcode::kList:
      case Opcode::kInvoke:  // its arguments may be written
        for (const Operand& arg : instruction.args)
          if (IsNeededRegister(arg)) return true;
        break;
      case Opcode::kCall:
        return WritesNeeded(instruction);
      default:
        break;
    }
    for (const Operand& result : instruction.results)
      if (IsNeededRegister(result)) return true;
    return false;
  }

  bool WritesNeeded(const Instruction& call) const {
    auto found = infos_.find(program_.kernels[call.index]);
    for (size_t i = 0; i < call.args.size(); ++i) {
      bool is_written = found == infos_.end() || found->second->params[i].is_output;
      if (is_written && IsNeededRegister(call.args[i])) return true;
    }
    return false;
  }

  void Need(const Instruction& instruction) {
    for (const IntExpr& expr : instruction.exprs)
      for (const IntToken& token : expr.tokens)
        if (token.op == IntOp::kRegister)
          is_needed_[numbers_.Int(static_cast<size_t>(token.value))] = true;
    if (instruction.op == Opcode::kFree) return;
    for (size_t i = 0; i < instruction.args.size(); ++i) {
      const Operand& arg = instruction.args[i];
      if (arg.kind > OperandKind::kList) continue;
      if (instruction.op == Opcode::kRet && !wanted_[i]) continue;
      is_needed_[NumberOf(arg)] = true;
    }
  }

  const Program& program_;
  const Function& main_;
  const std::vector<bool>& wanted_;
  RegisterNumbers numbers_;
  std::vector<std::optional<uint32_t>> sources_;
  std::map<std::string_view, const FunctionInfo*> infos_;
  std::vector<bool> is_needed_;  // by register
  std::vector<bool> is_kept_;    // by instruction
};

}  // namespace

Selection SelectOutputs(const Program& program, const std::vector<FunctionInfo>& functions,
                        const std::vector<bool>& wanted) {
  return Selector(program, functions, wanted).Make();
}

}  // namespace tern::runtime::vm
