// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/mutate_model.h"

#include <algorithm>
#include <limits>

namespace tern::fuzz {
namespace {

using namespace runtime::vm;

class Mutator {
 public:
  Mutator(Random* random, Program* program) : random_(*random), program_(*program) {}

  void Mutate() {
    if (random_.OneIn(8)) return Declarations();
    if (program_.functions.empty()) return;
    Function& function = AnyOf(&program_.functions);
    if (function.code.empty() || random_.OneIn(12)) return Registers(&function);
    if (random_.OneIn(3)) return Order(&function);
    Change(&function, &AnyOf(&function.code));
  }

 private:
  template <class T>
  T& AnyOf(std::vector<T>* items) {
    return (*items)[static_cast<size_t>(random_.Below(static_cast<int64_t>(items->size())))];
  }
  uint32_t Below(size_t count) {
    return static_cast<uint32_t>(random_.Below(static_cast<int64_t>(count)));
  }
  // Mostly of what there is.
  uint32_t Index(size_t count) { return random_.OneIn(16) ? ~uint32_t{0} : Below(count + 1); }

  int64_t AnyInteger() {
    using Limits = std::numeric_limits<int64_t>;
    static const std::vector<int64_t> values = {0,
                                                1,
                                                2,
                                                3,
                                                4,
                                                7,
                                                16,
                                                64,
                                                65,
                                                4096,
                                                -1,
                                                -2,
                                                int64_t{1} << 31,
                                                int64_t{1} << 58,
                                                Limits::max(),
                                                Limits::min(),
                                                Limits::max() / 4};
    return random_.Pick(values);
  }

  Operand AnyOperand(const Function& function) {
    switch (random_.Below(8)) {
      case 0:
      case 1:
        return Operand::Int(Index(function.num_ints));
      case 2:
        return Operand::List(Index(function.num_lists));
      case 3:
        return random_.OneIn(2) ? Operand::ConstInt(AnyInteger()) : Operand::ConstFloat(0.5);
      default:
        return Operand::Tensor(Index(function.tensors.size()));
    }
  }

  void Change(std::vector<Operand>* operands, const Function& function) {
    if (operands->empty() || random_.OneIn(8)) {
      operands->push_back(AnyOperand(function));
    } else if (random_.OneIn(8)) {
      operands->pop_back();
    } else if (random_.OneIn(4)) {
      AnyOf(operands) = AnyOperand(function);
    } else {  // another register of the kind
      Operand& operand = AnyOf(operands);
      if (operand.kind == OperandKind::kInt) operand.index = Index(function.num_ints);
      if (operand.kind == OperandKind::kTensor) operand.index = Index(function.tensors.size());
      if (operand.kind == OperandKind::kList) operand.index = Index(function.num_lists);
      if (operand.kind == OperandKind::kConstInt) operand.integer = AnyInteger();
    }
  }

  void Change(IntExpr* expr, uint32_t num_ints) {
    if (expr->tokens.empty() || random_.OneIn(6)) {
      *expr = IntExpr::Const(AnyInteger());
    } else if (random_.OneIn(6)) {
      auto op = static_cast<IntOp>(Below(kNumIntOps));
      if (ArityOf(op) != 2) op = IntOp::kMul;
      *expr = IntExpr::Apply(op, {*expr, IntExpr::Register(Index(num_ints))});
    } else {
      IntToken& token = AnyOf(&expr->tokens);
      if (token.op == IntOp::kConst)
        token.value = AnyInteger();
      else if (token.op == IntOp::kRegister && !random_.OneIn(3))
        token.value = Index(num_ints);
      else
        token.op = static_cast<IntOp>(Below(kNumIntOps));
    }
  }

  void Change(Function* function, Instruction* instruction) {
    switch (random_.Below(7)) {
      case 0:
        instruction->op = static_cast<Opcode>(Below(kNumOpcodes));
        return;
      case 1:
        instruction->index = Index(std::max<size_t>(function->code.size(), 4));
        return;
      case 2:
        return Change(&instruction->results, *function);
      case 3:
      case 4:
        return Change(&instruction->args, *function);
      case 5:
        if (instruction->exprs.empty() || random_.OneIn(8))
          instruction->exprs.push_back(IntExpr::Const(AnyInteger()));
        else if (random_.OneIn(8))
          instruction->exprs.pop_back();
        else
          Change(&AnyOf(&instruction->exprs), function->num_ints);
        return;
      default:
        instruction->text += "{}";
    }
  }

  void Order(Function* function) {
    std::vector<Instruction>& code = function->code;
    size_t from = Below(code.size()), to = Below(code.size());
    switch (random_.Below(4)) {
      case 0:
        code.erase(code.begin() + static_cast<std::ptrdiff_t>(from));
        return;
      case 1: {
        Instruction copy = code[from];
        code.insert(code.begin() + static_cast<std::ptrdiff_t>(to), std::move(copy));
        return;
      }
      case 2: {
        Instruction branch;
        branch.op = random_.OneIn(2) ? Opcode::kJump : Opcode::kBranch;
        branch.index = Index(code.size());
        if (branch.op == Opcode::kBranch) branch.exprs = {IntExpr::Register(Index(2))};
        code.insert(code.begin() + static_cast<std::ptrdiff_t>(to), std::move(branch));
        return;
      }
      default:
        std::swap(code[from], code[to]);
    }
  }

  DataType AnyType() {
    static const std::vector<DataType> types = {DataType::Float(32), DataType::Float(64),
                                                DataType::Int(64),   DataType::Int(8),
                                                DataType::Bool(),    DataType::Float(16)};
    return random_.Pick(types);
  }

  void Change(TensorType* type) {
    if (random_.OneIn(2))
      type->dtype = AnyType();
    else
      type->rank = Index(3);
  }

  void Registers(Function* function) {
    switch (random_.Below(4)) {
      case 0:
        if (!function->tensors.empty()) Change(&AnyOf(&function->tensors));
        return;
      case 1:
        function->num_ints = Index(function->num_ints);
        return;
      case 2:
        AnyCount(random_.OneIn(2) ? &function->params : &function->results) = Index(3);
        return;
      default:
        function->tensors.push_back({AnyType(), Index(3)});
    }
  }
  uint32_t& AnyCount(KindCounts* counts) {
    int64_t kind = random_.Below(3);
    return kind == 0 ? counts->ints : kind == 1 ? counts->tensors : counts->lists;
  }

  void Declarations() {
    std::vector<Port>& ports = random_.OneIn(2) ? program_.inputs : program_.outputs;
    switch (random_.Below(6)) {
      case 0:
        if (!ports.empty()) AnyOf(&ports).dtype = AnyType();
        return;
      case 1:
        if (ports.empty() || AnyOf(&ports).shape.empty()) return;
        return Change(&ports[0].shape.emplace_back(IntExpr::Register(0)), 2);
      case 2:
        if (ports.empty() || ports[0].shape.empty()) return;
        return Change(&AnyOf(&ports[0].shape), static_cast<uint32_t>(program_.dims.size()));
      case 3:
        if (!program_.constants.empty()) Change(&AnyOf(&program_.constants));
        return;
      case 4:
        if (!program_.prepack.empty() && !program_.prepack[0].constants.empty())
          AnyOf(&program_.prepack[0].constants) = Index(program_.constants.size());
        return;
      default:
        if (program_.functions.size() > 1)
          std::swap(AnyOf(&program_.functions), program_.functions[1]);
    }
  }
  void Change(Constant* constant) {
    switch (random_.Below(4)) {
      case 0:
        constant->source = static_cast<ConstantSource>(Below(4));
        return;
      case 1:
        constant->data.resize(Below(24));
        return;
      case 2:
        constant->dtype = AnyType();
        return;
      default:
        if (constant->shape.empty() || random_.OneIn(4))
          constant->shape.push_back(AnyInteger());
        else
          AnyOf(&constant->shape) = AnyInteger();
    }
  }

  Random& random_;
  Program& program_;
};

}  // namespace

void MutateModel(Random* random, Program* program) { Mutator(random, program).Mutate(); }

}  // namespace tern::fuzz
