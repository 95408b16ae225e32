// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/verify.h"

#include <algorithm>
#include <limits>
#include <set>

#include "tern/ffi/escape_text.h"
#include "tern/ffi/text.h"
#include "tern/runtime/vm/flow.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

constexpr uint32_t kMostParams = 1 << 16;  // of a kind

using FunctionInfos = std::map<std::string_view, const FunctionInfo*>;

bool IsElementType(DataType dtype) {
  return dtype.is_packed() || (dtype.bytes() > 0 && !dtype.is_handle() && dtype.is_scalar());
}

std::string TypeText(const TensorType& type) {
  return "a " + type.dtype.str() + " tensor of rank " + std::to_string(type.rank);
}

std::string RegisterText(const Operand& operand) {
  const char* kind = operand.kind == OperandKind::kInt      ? "i"
                     : operand.kind == OperandKind::kTensor ? "t"
                                                            : "l";
  return kind + std::to_string(operand.index);
}

// "" where it is a whole expression over `registers` registers, of one value.
std::string WrongIn(const IntExpr& expr, uint64_t registers) {
  size_t depth = 0;
  for (const IntToken& token : expr.tokens) {
    auto arity = static_cast<size_t>(ArityOf(token.op));
    if (depth < arity) return "an operator lacks operands";
    depth = depth - arity + 1;
    if (depth > kMaxIntDepth)
      return "more than " + std::to_string(kMaxIntDepth) + " operands at a time";
    if (token.op == IntOp::kRegister && static_cast<uint64_t>(token.value) >= registers)
      return "there is no int register " + std::to_string(token.value);
  }
  return depth == 1 ? "" : "it has " + std::to_string(depth) + " values";
}

template <class T, class Name>
void CheckUnique(const char* what, const std::vector<T>& items, Name&& name) {
  std::set<std::string_view> names;
  for (const T& item : items)
    TERN_CHECK(names.insert(name(item)).second) << "there are two " << what << "s " << name(item);
}

// What an instruction takes. Letters: i, t, l are registers, n an int register or number; * at the
// end: any number of any operand.
struct Form {
  const char *results, *args;
  int least_exprs, most_exprs;  // -1: any number
};
constexpr Form kForms[] = {{"i", "t", 0, 0},  {"i", "", 1, 1},  {"", "", 1, -1}, {"t", "", 0, -1},
                           {"t", "t", 1, -1}, {"t", "", 0, 0},  {"", "*", 0, 0}, {"*", "*", 0, 0},
                           {"*", "*", 0, 0},  {"", "", 0, 0},   {"", "", 1, 1},  {"i", "t", 1, 1},
                           {"", "tt", 0, 0},  {"*", "*", 0, 1}, {"", "*", 0, 0}, {"", "*", 0, 0}};
static_assert(std::size(kForms) == kNumOpcodes);
constexpr Form kListForms[] = {
    {"l", "*", 0, 0}, {"i", "l", 0, 0}, {"t", "l", 1, 1}, {"", "lt", 1, 1}, {"", "l", 1, 1}};
static_assert(std::size(kListForms) == kNumListOps);

char LetterOf(const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::kInt:
      return 'i';
    case OperandKind::kTensor:
      return 't';
    case OperandKind::kList:
      return 'l';
    default:
      return 'n';
  }
}

class FunctionVerifier {
 public:
  // `read_only_params`: by function and tensor parameter, whether it may be a constant or an input;
  // those of functions that this one invokes are set.
  FunctionVerifier(const Program& program, size_t index, const FunctionInfos* infos,
                   std::vector<std::vector<bool>>* read_only_params)
      : program_(program),
        index_(index),
        function_(program.functions[index]),
        infos_(infos),
        read_only_params_(*read_only_params) {}

  // What the function says by itself.
  void CheckStructure() {
    CheckRegisters();
    for (at_ = 0; at_ < function_.code.size(); ++at_) CheckForm(function_.code[at_]);
    CheckEnd();
    CheckWrites();
  }

  // What it does with others, whose structure is right. In the order of functions.
  void CheckUses() {
    FindReadOnly();
    for (at_ = 0; at_ < function_.code.size(); ++at_) CheckTypes(function_.code[at_]);
    VisitFlow(function_, [this](uint32_t at, const RegisterSet& always, const RegisterSet&) {
      at_ = at;
      CheckReads(function_.code[at], always);
    });
  }

 private:
  std::string Where() const {
    return "function " + function_.name +
           (at_ < function_.code.size() ? ", instruction " + std::to_string(at_) + " (" +
                                              PrintInstruction(program_, function_.code[at_]) + ")"
                                        : "");
  }
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error("ValueError", Where() + ": " + what);
  }

  void CheckRegisters() {
    at_ = function_.code.size();
    for (const KindCounts& counts : {function_.params, function_.results})
      if (std::max({counts.ints, counts.tensors, counts.lists}) > kMostParams)
        Fail("more than " + std::to_string(kMostParams) + " parameters or results");
    if (function_.params.ints > function_.num_ints ||
        function_.params.lists > function_.num_lists ||
        function_.params.tensors > function_.tensors.size())
      Fail("more parameters than registers");
    // Each register but the parameters is written, so that the file is as large.
    size_t written = 0;
    for (const Instruction& instruction : function_.code) written += instruction.results.size();
    if (function_.num_ints - function_.params.ints > written ||
        function_.num_lists - function_.params.lists > written)
      Fail("more registers than are ever written");
    for (const TensorType& type : function_.tensors) {
      if (!IsElementType(type.dtype)) Fail("a tensor cannot have elements of " + type.dtype.str());
      if (type.rank > kMaxRank)
        Fail("a tensor of rank " + std::to_string(type.rank) + "; at most " +
             std::to_string(kMaxRank) + " is allowed");
    }
  }

  void CheckRange(const Operand& operand) const {
    uint64_t count = operand.kind == OperandKind::kInt      ? function_.num_ints
                     : operand.kind == OperandKind::kTensor ? function_.tensors.size()
                     : operand.kind == OperandKind::kList   ? function_.num_lists
                                                            : ~uint64_t{0};
    if (operand.index >= count) Fail("there is no register " + RegisterText(operand));
  }

  void CheckOperands(const char* what, const std::vector<Operand>& operands,
                     std::string_view letters) const {
    for (const Operand& operand : operands) CheckRange(operand);
    if (letters == "*") return;
    std::string given;
    for (const Operand& operand : operands) given += LetterOf(operand);
    if (given != letters)
      Fail(std::string("expected ") + what + " of kind '" + std::string(letters) + "', got '" +
           given + "'");
  }

  void CheckForm(const Instruction& instruction) const {
    Form form = kForms[static_cast<size_t>(instruction.op)];
    if (instruction.op == Opcode::kList) {
      if (instruction.index >= kNumListOps) Fail("there is no such operation on lists");
      form = kListForms[instruction.index];
    }
    CheckOperands("results", instruction.results, form.results);
    CheckOperands("arguments", instruction.args, form.args);
    for (const Operand& result : instruction.results)
      if (LetterOf(result) == 'n') Fail("a number is no register to write");
    auto count = static_cast<int64_t>(instruction.exprs.size());
    if (count < form.least_exprs || (form.most_exprs >= 0 && count > form.most_exprs))
      Fail("it has " + std::to_string(count) + " expressions");
    for (const IntExpr& expr : instruction.exprs)
      if (std::string wrong = WrongIn(expr, function_.num_ints); !wrong.empty())
        Fail("expression " + PrintIntExpr(expr) + ": " + wrong);
    CheckIndex(instruction);
  }

  void CheckIndex(const Instruction& instruction) const {
    auto check = [&](const char* what, size_t count) {
      if (instruction.index >= count)
        Fail(std::string("there is no ") + what + " " + std::to_string(instruction.index));
    };
    switch (instruction.op) {
      case Opcode::kAlloc:
        if (instruction.index == 0) return;
        if (index_ != 0) Fail("only main allocates outputs of the model");
        if (instruction.index > program_.outputs.size())
          Fail("there is no output " + std::to_string(instruction.index - 1));
        return;
      case Opcode::kView:
        return check("form", 2);
      case Opcode::kConst:
        return check("constant", program_.constants.size());
      case Opcode::kCall:
        return check("kernel", program_.kernels.size());
      case Opcode::kInvoke:
        check("function", program_.functions.size());
        if (instruction.index <= index_) Fail("a function invokes functions behind it alone");
        return;
      case Opcode::kJump:
      case Opcode::kBranch:
        return check("instruction", function_.code.size());
      case Opcode::kDim:
      case Opcode::kList:
        return;  // by the type of the tensor; above
      default:
        if (instruction.index != 0) Fail("its index is not 0");
    }
  }

  void CheckEnd() {
    at_ = function_.code.size();
    if (function_.code.empty() ||
        (function_.code.back().op != Opcode::kRet && function_.code.back().op != Opcode::kJump))
      Fail("it does not end in ret or jump");
  }

  // Parameters of int stay as they are; each other register is written, and a view by views of one
  // tensor alone.
  void CheckWrites() {
    constexpr uint32_t kNone = ~uint32_t{0}, kNoView = kNone - 1;
    RegisterNumbers numbers(function_);
    std::vector<bool> written(numbers.size());
    std::vector<uint32_t> source(function_.tensors.size(), kNone);
    std::fill_n(source.begin(), function_.params.tensors, kNoView);
    for (at_ = 0; at_ < function_.code.size(); ++at_) {
      const Instruction& instruction = function_.code[at_];
      for (const Operand& result : instruction.results) {
        if (result.kind == OperandKind::kInt && result.index < function_.params.ints)
          Fail("parameter " + RegisterText(result) + " is written");
        written[numbers.Of(result)] = true;
        if (result.kind != OperandKind::kTensor) continue;
        bool is_view = instruction.op == Opcode::kView;
        uint32_t from = is_view ? instruction.args[0].index : kNoView;
        uint32_t& before = source[result.index];
        if (before != kNone && before != from)
          Fail(RegisterText(result) + " is a view of one tensor, and something else too");
        before = from;
      }
    }
    auto check = [&](Operand operand, uint32_t params, size_t count) {
      for (operand.index = params; operand.index < count; ++operand.index)
        if (!written[numbers.Of(operand)]) Fail(RegisterText(operand) + " is never written");
    };
    check(Operand::Int(0), function_.params.ints, function_.num_ints);
    check(Operand::Tensor(0), function_.params.tensors, function_.tensors.size());
    check(Operand::List(0), function_.params.lists, function_.num_lists);
    CheckNoCircle(source);
  }

  // Of views of each other.
  void CheckNoCircle(const std::vector<uint32_t>& source) const {
    std::vector<uint8_t> state(source.size());  // 1: on the way, 2: done
    for (uint32_t i = 0; i < source.size(); ++i) {
      uint32_t tensor = i;
      for (; tensor < source.size() && state[tensor] == 0; tensor = source[tensor])
        state[tensor] = 1;
      if (tensor < source.size() && state[tensor] == 1)
        Fail("t" + std::to_string(tensor) + " is a view of itself");
      for (tensor = i; tensor < source.size() && state[tensor] == 1; tensor = source[tensor])
        state[tensor] = 2;
    }
  }

  // Registers that may be constants or inputs of the model, or that lists and others hold too:
  // nobody writes to them.
  void FindReadOnly() {
    read_only_ = read_only_params_[index_];
    read_only_.resize(function_.tensors.size());
    for (const Instruction& instruction : function_.code)
      if (instruction.op == Opcode::kConst || instruction.op == Opcode::kCallPacked ||
          instruction.op == Opcode::kList)
        for (const Operand& result : instruction.results)
          if (result.kind == OperandKind::kTensor) read_only_[result.index] = true;
    std::vector<std::optional<uint32_t>> sources = ViewSources(function_);
    for (uint32_t i = 0; i < sources.size(); ++i) {
      uint32_t root = i;
      while (sources[root]) root = *sources[root];
      if (root == i) continue;
      read_only_[i] = read_only_[root];
      sources[i] = root;  // the next one gets there sooner
    }
  }

  const TensorType& TypeOf(const Operand& operand) const {
    return function_.tensors[operand.index];
  }
  void CheckType(const Operand& operand, const TensorType& expected) const {
    if (TypeOf(operand) != expected)
      Fail(RegisterText(operand) + " is " + TypeText(TypeOf(operand)) + ", expected " +
           TypeText(expected));
  }
  void CheckWritable(const Operand& operand) const {
    if (read_only_[operand.index])
      Fail(RegisterText(operand) +
           " is written, and may be a constant, an input, or held elsewhere");
  }

  void CheckTypes(const Instruction& instruction) const {
    switch (instruction.op) {
      case Opcode::kDim:
        if (instruction.index >= TypeOf(instruction.args[0]).rank)
          Fail(RegisterText(instruction.args[0]) + " has no axis " +
               std::to_string(instruction.index));
        return;
      case Opcode::kAlloc:
        CheckType(instruction.results[0], {TypeOf(instruction.results[0]).dtype,
                                           static_cast<uint32_t>(instruction.exprs.size())});
        if (instruction.index > 0)
          CheckType(instruction.results[0], OutputType(instruction.index - 1));
        return;
      case Opcode::kView: {
        uint64_t rank = TypeOf(instruction.results[0]).rank;
        if (instruction.exprs.size() != 1 + rank * (1 + instruction.index))
          Fail("it has " + std::to_string(instruction.exprs.size()) + " expressions");
        CheckType(instruction.results[0],
                  {TypeOf(instruction.args[0]).dtype, static_cast<uint32_t>(rank)});
        return;
      }
      case Opcode::kConst: {
        const Constant& constant = program_.constants[instruction.index];
        return CheckType(instruction.results[0],
                         {constant.dtype, static_cast<uint32_t>(constant.shape.size())});
      }
      case Opcode::kCall:
        return CheckCall(instruction);
      case Opcode::kCallPacked:
        if (instruction.results.size() > 1) Fail("more than one result");
        return;
      case Opcode::kInvoke:
        return CheckInvoke(instruction);
      case Opcode::kRead: {
        DataType dtype = TypeOf(instruction.args[0]).dtype;
        if ((!dtype.is_integer() && !dtype.is_bool()) || dtype.is_packed())
          Fail("only integers and bools are read");
        return;
      }
      case Opcode::kCopy:
        CheckWritable(instruction.args[1]);
        if (TypeOf(instruction.args[0]).dtype != TypeOf(instruction.args[1]).dtype)
          Fail("the tensors have different dtypes");
        return;
      case Opcode::kList:
        for (const Operand& arg : instruction.args)
          if (instruction.index == static_cast<uint32_t>(ListOp::kMake) && LetterOf(arg) != 't')
            Fail("a list is made of tensors");
        return;
      case Opcode::kFree:
        for (const Operand& arg : instruction.args)
          if (LetterOf(arg) != 't' && LetterOf(arg) != 'l')
            Fail("only tensors and lists are freed");
        return;
      case Opcode::kRet:
        CheckKinds("results", instruction.args, function_.results);
        if (index_ != 0) return;
        for (uint32_t i = 0; i < instruction.args.size(); ++i)
          CheckType(instruction.args[i], OutputType(i));
        return;
      default:
        return;
    }
  }

  TensorType OutputType(uint32_t output) const {
    const Port& port = program_.outputs[output];
    return {port.dtype, static_cast<uint32_t>(port.shape.size())};
  }

  void CheckKinds(const char* what, const std::vector<Operand>& operands,
                  const KindCounts& counts) const {
    std::string expected = std::string(counts.ints, 'i') + std::string(counts.tensors, 't') +
                           std::string(counts.lists, 'l');
    CheckOperands(what, operands, expected);
  }

  void CheckInvoke(const Instruction& instruction) const {
    const Function& callee = program_.functions[instruction.index];
    CheckKinds("arguments", instruction.args, callee.params);
    CheckKinds("results", instruction.results, callee.results);
    uint32_t tensor = 0;
    for (const Operand& arg : instruction.args) {
      if (arg.kind != OperandKind::kTensor) continue;
      CheckType(arg, callee.tensors[tensor]);
      if (read_only_[arg.index]) read_only_params_[instruction.index][tensor] = true;
      ++tensor;
    }
    for (const Instruction& last : callee.code) {
      if (last.op != Opcode::kRet) continue;
      for (uint32_t i = 0; i < instruction.results.size() && i < last.args.size(); ++i)
        if (instruction.results[i].kind == OperandKind::kTensor &&
            last.args[i].kind == OperandKind::kTensor)
          CheckType(instruction.results[i], callee.tensors[last.args[i].index]);
    }
  }

  void CheckCall(const Instruction& instruction) const {
    if (!infos_) return;
    const std::string& name = program_.kernels[instruction.index];
    auto found = infos_->find(name);
    if (found == infos_->end()) Fail("the host code has no function " + name);
    const std::vector<ParamInfo>& params = found->second->params;
    if (params.size() != instruction.args.size())
      Fail(name + " takes " + std::to_string(params.size()) + " arguments, not " +
           std::to_string(instruction.args.size()));
    for (size_t i = 0; i < params.size(); ++i) {
      const ParamInfo& param = params[i];
      const Operand& arg = instruction.args[i];
      std::string what = "argument " + param.name + " of " + name;
      if (param.is_tensor != (arg.kind == OperandKind::kTensor))
        Fail(what + " is " + (param.is_tensor ? "a tensor" : "no tensor"));
      if (param.is_tensor) {
        TensorType expected{param.dtype, static_cast<uint32_t>(param.shape.size())};
        if (TypeOf(arg) != expected)
          Fail(what + " is " + TypeText(expected) + "; " + RegisterText(arg) + " is " +
               TypeText(TypeOf(arg)));
        if (param.is_output) CheckWritable(arg);
      } else if (arg.kind == OperandKind::kList ||
                 (arg.kind == OperandKind::kConstFloat && !param.dtype.is_float())) {
        Fail(what + " is a " + param.dtype.str());
      }
    }
  }

  void CheckReads(const Instruction& instruction, const RegisterSet& always) const {
    RegisterNumbers numbers(function_);
    auto check = [&](const Operand& operand) {
      if (operand.kind <= OperandKind::kList && !always[numbers.Of(operand)])
        Fail("register " + RegisterText(operand) + " may hold no value here");
    };
    for (const Operand& arg : instruction.args) check(arg);
    for (const IntExpr& expr : instruction.exprs)
      for (const IntToken& token : expr.tokens)
        if (token.op == IntOp::kRegister) check(Operand::Int(static_cast<uint32_t>(token.value)));
  }

  const Program& program_;
  size_t index_;
  const Function& function_;
  const FunctionInfos* infos_;
  std::vector<std::vector<bool>>& read_only_params_;
  std::vector<bool> read_only_;  // by tensor register
  size_t at_ = 0;                // the instruction that is looked at
};

void CheckPorts(const Program& program) {
  std::vector<bool> told(program.dims.size());
  for (const Port& port : program.inputs)
    for (const IntExpr& extent : port.shape)
      if (extent.is_register() && static_cast<uint64_t>(extent.tokens[0].value) < told.size())
        told[static_cast<size_t>(extent.tokens[0].value)] = true;
  for (size_t i = 0; i < told.size(); ++i)
    TERN_CHECK(told[i]) << "no input tells the dim " << program.dims[i]
                        << ": it must be the whole extent of an axis";
  auto check = [&](const char* what, const std::vector<Port>& ports, bool may_be_open) {
    for (const Port& port : ports) {
      TERN_CHECK(IsElementType(port.dtype) && port.shape.size() <= kMaxRank)
          << what << " " << port.name << ": a tensor of " << port.dtype.str() << " of rank "
          << port.shape.size() << " is not supported";
      for (const IntExpr& extent : port.shape) {
        std::string wrong =
            extent.tokens.empty() && may_be_open ? "" : WrongIn(extent, program.dims.size());
        TERN_CHECK(wrong.empty()) << what << " " << port.name << ": extent " << PrintIntExpr(extent)
                                  << ": " << wrong;
      }
    }
  };
  check("input", program.inputs, false);
  check("output", program.outputs, true);
}

void CheckMain(const Program& program) {
  TERN_CHECK(!program.functions.empty()) << "the program has no function";
  const Function& main = program.functions[0];
  KindCounts params{static_cast<uint32_t>(program.dims.size()),
                    static_cast<uint32_t>(program.inputs.size()), 0};
  KindCounts results{0, static_cast<uint32_t>(program.outputs.size()), 0};
  TERN_CHECK(main.params == params && main.results == results &&
             main.tensors.size() >= program.inputs.size())
      << "function " << main.name << " takes the " << program.dims.size() << " dims and "
      << program.inputs.size() << " inputs of the model, and gives its " << program.outputs.size()
      << " outputs";
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const Port& port = program.inputs[i];
    TERN_CHECK(
        (main.tensors[i] == TensorType{port.dtype, static_cast<uint32_t>(port.shape.size())}))
        << "input " << port.name << ": t" << i << " of " << main.name << " is "
        << TypeText(main.tensors[i]);
  }
}

// Of the elements; throws where 64 bits cannot count them.
uint64_t BytesOf(const Constant& constant) {
  int64_t count = 1;
  for (int64_t extent : constant.shape)
    TERN_CHECK(extent >= 0 && !__builtin_mul_overflow(count, extent, &count))
        << "constant " << constant.name << ": shape " << ffi::ShapeText(constant.shape)
        << " is not legal";
  TERN_CHECK(count <= std::numeric_limits<int64_t>::max() / 16)
      << "constant " << constant.name << " has too many elements";
  return static_cast<uint64_t>(constant.dtype.BytesOf(count));
}

void CheckConstants(const Program& program) {
  for (const Constant& constant : program.constants) {
    TERN_CHECK(IsElementType(constant.dtype) && constant.shape.size() <= kMaxRank)
        << "constant " << constant.name << ": a tensor of " << constant.dtype.str() << " of rank "
        << constant.shape.size() << " is not supported";
    uint64_t bytes = BytesOf(constant), expected = 0;
    if (constant.source == ConstantSource::kInline) expected = bytes;
    if (constant.source == ConstantSource::kSplat) {
      TERN_CHECK(!constant.dtype.is_packed()) << "constant " << constant.name << ": elements of "
                                              << constant.dtype.str() << " cannot be a splat";
      expected = static_cast<uint64_t>(constant.dtype.bytes());
    }
    TERN_CHECK(constant.data.size() == expected)
        << "constant " << constant.name << " has " << constant.data.size() << " bytes, expected "
        << expected;
  }
}

void CheckPrepackCall(const Program& program, const Prepack& prepack, const FunctionInfo& info) {
  TERN_CHECK(info.params.size() == prepack.constants.size())
      << "prepack: " << info.name << " takes " << info.params.size() << " arguments, not "
      << prepack.constants.size();
  for (size_t i = 0; i < info.params.size(); ++i) {
    const ParamInfo& param = info.params[i];
    const Constant& constant = program.constants[prepack.constants[i]];
    TERN_CHECK(param.is_tensor && param.dtype == constant.dtype &&
               param.shape.size() == constant.shape.size())
        << "prepack: argument " << param.name << " of " << info.name << " is not what constant "
        << constant.name << " is";
    TERN_CHECK(!param.is_output || constant.source == ConstantSource::kMade)
        << "prepack: " << info.name << " writes to constant " << constant.name
        << ", which is not made";
  }
}

void CheckPrepack(const Program& program, const FunctionInfos* infos) {
  std::vector<bool> made(program.constants.size());
  for (const Prepack& prepack : program.prepack) {
    const FunctionInfo* info = nullptr;
    if (infos) {
      auto found = infos->find(prepack.function);
      TERN_CHECK(found != infos->end())
          << "prepack: the host code has no function " << prepack.function;
      info = found->second;
    }
    for (uint32_t index : prepack.constants)
      TERN_CHECK(index < made.size()) << "prepack: there is no constant " << index;
    if (info) CheckPrepackCall(program, prepack, *info);
    for (size_t i = 0; i < prepack.constants.size(); ++i) {
      uint32_t index = prepack.constants[i];
      bool is_written = info ? info->params[i].is_output : !made[index];
      if (program.constants[index].source != ConstantSource::kMade) continue;
      TERN_CHECK(is_written != made[index])
          << "prepack: constant " << program.constants[index].name
          << (is_written ? " is made twice" : " is used before it is made");
      made[index] = true;
    }
  }
  for (size_t i = 0; i < made.size(); ++i)
    TERN_CHECK(made[i] || program.constants[i].source != ConstantSource::kMade)
        << "constant " << program.constants[i].name << " is never made";
}

}  // namespace

void VerifyProgram(const Program& program, const std::vector<FunctionInfo>* functions) {
  auto self = [](const std::string& name) { return std::string_view(name); };
  auto name = [](const auto& item) { return std::string_view(item.name); };
  CheckUnique("dim", program.dims, self);
  CheckUnique("input", program.inputs, name);
  CheckUnique("output", program.outputs, name);
  CheckUnique("constant", program.constants, name);
  CheckUnique("function", program.functions, name);
  FunctionInfos infos;
  if (functions)
    for (const FunctionInfo& info : *functions) infos.emplace(info.name, &info);
  CheckPorts(program);
  CheckConstants(program);
  CheckPrepack(program, functions ? &infos : nullptr);
  CheckMain(program);
  // What main gets is not to be written.
  std::vector<std::vector<bool>> read_only(program.functions.size());
  std::vector<FunctionVerifier> verifiers;
  for (size_t i = 0; i < program.functions.size(); ++i) {
    verifiers.emplace_back(program, i, functions ? &infos : nullptr, &read_only);
    verifiers.back().CheckStructure();
    read_only[i].resize(program.functions[i].params.tensors, i == 0);
  }
  for (FunctionVerifier& verifier : verifiers) verifier.CheckUses();
}

}  // namespace tern::runtime::vm
