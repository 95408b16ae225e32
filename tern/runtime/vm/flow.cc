// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/flow.h"

#include <algorithm>

#include "tern/ffi/error.h"

namespace tern::runtime::vm {
namespace {

// Bits of all blocks together.
constexpr uint64_t kMostState = uint64_t{1} << 30;

bool EndsBlock(Opcode op) {
  return op == Opcode::kJump || op == Opcode::kBranch || op == Opcode::kRet;
}

// Before an instruction; `always` is a subset of `sometimes`.
struct State {
  RegisterSet always, sometimes;
};

class Flow {
 public:
  explicit Flow(const Function& function)
      : function_(function), numbers_(function), views_(function.tensors.size()) {
    std::vector<std::optional<uint32_t>> sources = ViewSources(function);
    for (uint32_t i = 0; i < sources.size(); ++i)
      if (sources[i]) views_[*sources[i]].push_back(i);
    FindBlocks();
    Solve();
  }

  void Visit(const FlowVisitor& visit) {
    for (size_t b = 0; b < starts_.size(); ++b) {
      if (!reached_[b]) continue;
      State state = states_[b];
      for (uint32_t at = starts_[b]; at < EndOf(b); ++at) {
        visit(at, state.always, state.sometimes);
        Step(function_.code[at], &state);
      }
    }
  }

  // All that hold a value are looked at where blocks begin and end, others where they are written
  // or freed: a function of one block takes time in proportion to its code.
  std::vector<Lifetime> Lifetimes() {
    std::vector<Lifetime> lifetimes(function_.tensors.size());
    auto extend = [&](size_t tensor, uint32_t at) {
      lifetimes[tensor].first = std::min(lifetimes[tensor].first, at);
      lifetimes[tensor].last = std::max(lifetimes[tensor].last, at);
    };
    auto extend_all = [&](const RegisterSet& sometimes, uint32_t at) {
      for (size_t i = 0; i < lifetimes.size(); ++i)
        if (sometimes[numbers_.Tensor(i)]) extend(i, at);
    };
    for (size_t b = 0; b < starts_.size(); ++b) {
      if (!reached_[b]) continue;
      State state = states_[b];
      extend_all(state.sometimes, starts_[b]);
      for (uint32_t at = starts_[b]; at < EndOf(b); ++at) {
        const Instruction& instruction = function_.code[at];
        if (instruction.op == Opcode::kFree)
          for (const Operand& arg : instruction.args)
            if (arg.kind == OperandKind::kTensor) extend(arg.index, at);
        for (const Operand& result : instruction.results)
          if (result.kind == OperandKind::kTensor) extend(result.index, at);
        Step(instruction, &state);
      }
      extend_all(state.sometimes, EndOf(b) - 1);
    }
    return lifetimes;
  }

 private:
  uint32_t EndOf(size_t block) const {
    return block + 1 < starts_.size() ? starts_[block + 1]
                                      : static_cast<uint32_t>(function_.code.size());
  }

  void FindBlocks() {
    const std::vector<Instruction>& code = function_.code;
    std::vector<bool> starts(code.size() + 1);
    starts[0] = true;
    for (size_t i = 0; i < code.size(); ++i) {
      if (EndsBlock(code[i].op)) starts[i + 1] = true;
      if (code[i].op == Opcode::kJump || code[i].op == Opcode::kBranch)
        starts[code[i].index] = true;
    }
    block_at_.resize(code.size());
    for (uint32_t i = 0; i < code.size(); ++i) {
      if (starts[i]) starts_.push_back(i);
      block_at_[i] = starts_.size() - 1;
    }
    TERN_CHECK(starts_.size() * numbers_.size() <= kMostState)
        << "function " << function_.name << " has " << numbers_.size() << " registers and "
        << starts_.size() << " blocks, which are too many together";
  }

  void Solve() {
    reached_.resize(starts_.size());
    states_.resize(starts_.size());
    if (starts_.empty()) return;
    State entry{RegisterSet(numbers_.size()), RegisterSet(numbers_.size())};
    auto define = [&](size_t number) { entry.always[number] = entry.sometimes[number] = true; };
    for (uint32_t i = 0; i < function_.params.ints; ++i) define(numbers_.Int(i));
    for (uint32_t i = 0; i < function_.params.tensors; ++i) define(numbers_.Tensor(i));
    for (uint32_t i = 0; i < function_.params.lists; ++i) define(numbers_.List(i));
    std::vector<bool> waiting(starts_.size());
    Merge(0, entry, &waiting);
    for (bool again = true; again;) {
      again = false;
      for (size_t b = 0; b < starts_.size(); ++b) {
        if (!waiting[b]) continue;
        waiting[b] = false;
        again = true;
        State state = states_[b];
        for (uint32_t at = starts_[b]; at < EndOf(b); ++at) Step(function_.code[at], &state);
        const Instruction& last = function_.code[EndOf(b) - 1];
        if (last.op == Opcode::kJump || last.op == Opcode::kBranch)
          Merge(block_at_[last.index], state, &waiting);
        if (last.op != Opcode::kJump && last.op != Opcode::kRet && b + 1 < starts_.size())
          Merge(b + 1, state, &waiting);
      }
    }
  }

  void Merge(size_t block, const State& from, std::vector<bool>* waiting) {
    State& to = states_[block];
    if (!reached_[block]) {
      reached_[block] = true;
      to = from;
      (*waiting)[block] = true;
      return;
    }
    for (size_t i = 0; i < numbers_.size(); ++i) {
      bool always = to.always[i] && from.always[i],
           sometimes = to.sometimes[i] || from.sometimes[i];
      if (always == to.always[i] && sometimes == to.sometimes[i]) continue;
      to.always[i] = always;
      to.sometimes[i] = sometimes;
      (*waiting)[block] = true;
    }
  }

  void Step(const Instruction& instruction, State* state) const {
    if (instruction.op == Opcode::kFree)
      for (const Operand& arg : instruction.args) Set(arg, false, state);
    for (const Operand& result : instruction.results) Set(result, true, state);
  }

  void Set(const Operand& operand, bool holds, State* state) const {
    size_t number = numbers_.Of(operand);
    state->always[number] = state->sometimes[number] = holds;
    if (operand.kind == OperandKind::kTensor) DropViews(operand.index, state);
  }
  // Views of views too: a chain of views has no circle.
  void DropViews(uint32_t tensor, State* state) const {
    std::vector<uint32_t> rest = views_[tensor];
    while (!rest.empty()) {
      uint32_t view = rest.back();
      rest.pop_back();
      size_t number = numbers_.Tensor(view);
      state->always[number] = state->sometimes[number] = false;
      rest.insert(rest.end(), views_[view].begin(), views_[view].end());
    }
  }

  const Function& function_;
  RegisterNumbers numbers_;
  std::vector<std::vector<uint32_t>> views_;  // by tensor, those that are views of it
  std::vector<uint32_t> starts_;              // of blocks
  std::vector<size_t> block_at_;              // by instruction
  std::vector<bool> reached_;                 // by block
  std::vector<State> states_;                 // by block, before its first instruction
};

}  // namespace

std::vector<std::optional<uint32_t>> ViewSources(const Function& function) {
  std::vector<std::optional<uint32_t>> sources(function.tensors.size());
  for (const Instruction& instruction : function.code)
    if (instruction.op == Opcode::kView)
      sources[instruction.results[0].index] = instruction.args[0].index;
  return sources;
}

void VisitFlow(const Function& function, const FlowVisitor& visit) { Flow(function).Visit(visit); }

std::vector<Lifetime> TensorLifetimes(const Function& function) {
  return Flow(function).Lifetimes();
}

}  // namespace tern::runtime::vm
