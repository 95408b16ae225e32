// SPDX-License-Identifier: Apache-2.0
//
// Which registers hold a value where, along all paths through a function.
#ifndef TERN_RUNTIME_VM_FLOW_H_
#define TERN_RUNTIME_VM_FLOW_H_

#include <functional>
#include <optional>
#include <vector>

#include "tern/runtime/vm/program.h"

namespace tern::runtime::vm {

// Numbers for all registers of a function: ints, then tensors, then lists.
class RegisterNumbers {
 public:
  explicit RegisterNumbers(const Function& function)
      : tensors_(function.num_ints),
        lists_(tensors_ + function.tensors.size()),
        size_(lists_ + function.num_lists) {}
  size_t Int(size_t index) const { return index; }
  size_t Tensor(size_t index) const { return tensors_ + index; }
  size_t List(size_t index) const { return lists_ + index; }
  size_t Of(const Operand& operand) const {
    if (operand.kind == OperandKind::kInt) return Int(operand.index);
    return operand.kind == OperandKind::kTensor ? Tensor(operand.index) : List(operand.index);
  }
  size_t size() const { return size_; }

 private:
  size_t tensors_, lists_, size_;
};

using RegisterSet = std::vector<bool>;

// For each tensor register the one that it is a view of, by `view`; none where it is no view.
std::vector<std::optional<uint32_t>> ViewSources(const Function& function);

// Calls `visit` with each instruction that can be reached, in the order of the code, and the
// registers that hold a value before it: on every path there, and on some path. A register that is
// freed or written holds none from there on, nor does a view of it. Every operand is a register of
// the function, and every jump within it. Throws where there are too many branches and registers.
using FlowVisitor =
    std::function<void(uint32_t at, const RegisterSet& always, const RegisterSet& sometimes)>;
void VisitFlow(const Function& function, const FlowVisitor& visit);

// The first and last instruction between which a tensor register may hold a value; the last one
// is the one that frees or overwrites it, or the last of the function.
struct Lifetime {
  uint32_t first = ~uint32_t{0}, last = 0;
  bool Overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};
// Of all tensor registers but views; of those that never hold one, `first` is above `last`.
std::vector<Lifetime> TensorLifetimes(const Function& function);

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_FLOW_H_
