// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <charconv>
#include <cmath>
#include <set>

#include "tern/runtime/artifact/byte_stream.h"
#include "tern/runtime/artifact/sha256.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

// From loose to tight; names of functions bind like numbers.
constexpr int kTight = 6;
struct OpText {
  const char* text;
  int precedence;  // kTight: a call
};
constexpr OpText kIntOps[] = {{"", kTight},    {"", kTight},    {"+", 4},          {"-", 4},
                              {"*", 5},        {"//", 5},       {"%", 5},          {"div", kTight},
                              {"rem", kTight}, {"min", kTight}, {"max", kTight},   {"==", 3},
                              {"!=", 3},       {"<", 3},        {"<=", 3},         {"&&", 2},
                              {"||", 1},       {"!", kTight},   {"select", kTight}};
static_assert(std::size(kIntOps) == kNumIntOps);

bool IsIdentifier(std::string_view name) {
  auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !is_letter(name[0])) return false;
  for (char c : name)
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '.') return false;
  static const std::set<std::string_view> kWords = {"div", "rem", "min", "max", "select"};
  return !kWords.contains(name);
}

// In quotes; bytes that are no printable ASCII as \xHH.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      (quoted += '\\') += c;
    else if (c >= ' ' && c <= '~')
      quoted += c;
    else
      quoted += "\\x" + ToHex({&c, 1});
  }
  return quoted + "\"";
}

std::string NameText(std::string_view name) {
  return IsIdentifier(name) ? std::string(name) : Quoted(name);
}

// The name of item `index`, or its number where there is none.
template <class T, class Name>
std::string NameAt(const std::vector<T>& items, uint64_t index, Name&& name) {
  return index < items.size() ? NameText(name(items[index])) : "#" + std::to_string(index);
}

std::string FloatText(double number) {
  if (!std::isfinite(number)) {
    std::string bits;
    AppendLe(std::bit_cast<uint64_t>(number), &bits);
    return "bits(0x" + ToHex(bits) + ")";
  }
  char text[64];
  std::string digits(text, std::to_chars(text, text + sizeof text, number).ptr);
  return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
}

template <class Items, class Text>
std::string List(const Items& items, Text&& text) {
  std::string list;
  for (const auto& item : items) list += (list.empty() ? "" : ", ") + text(item);
  return list;
}

// Names of dims where they are given, or else of registers.
std::string ExprText(const IntExpr& expr, const std::vector<std::string>* dims) {
  struct Part {
    std::string text;
    int precedence;
  };
  std::vector<Part> stack;
  auto pop = [&stack] {
    if (stack.empty()) return Part{"?", kTight};
    Part part = std::move(stack.back());
    stack.pop_back();
    return part;
  };
  auto inside = [](const Part& part, int least) {
    return part.precedence < least ? "(" + part.text + ")" : part.text;
  };
  for (const IntToken& token : expr.tokens) {
    OpText op = kIntOps[static_cast<size_t>(token.op)];
    if (token.op == IntOp::kConst) {
      stack.push_back({std::to_string(token.value), kTight});
    } else if (token.op == IntOp::kRegister) {
      auto index = static_cast<uint64_t>(token.value);
      stack.push_back({dims ? NameAt(*dims, index, [](const auto& name) { return name; })
                            : "i" + std::to_string(index),
                       kTight});
    } else if (token.op == IntOp::kNot) {
      stack.push_back({"!" + inside(pop(), kTight), kTight});
    } else if (op.precedence == kTight) {
      std::string args;
      for (int i = ArityOf(token.op); i > 0; --i)
        args = pop().text + (args.empty() ? "" : ", ") + args;
      stack.push_back({std::string(op.text) + "(" + args + ")", kTight});
    } else {
      Part right = pop(), left = pop();
      stack.push_back(
          {inside(left, op.precedence) + " " + op.text + " " + inside(right, op.precedence + 1),
           op.precedence});
    }
  }
  return pop().text;
}

std::string Extents(const std::vector<IntExpr>& exprs, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end && i < exprs.size(); ++i)
    text += (i == begin ? "" : ", ") + PrintIntExpr(exprs[i]);
  return "[" + text + "]";
}

std::string OperandText(const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::kInt:
      return "i" + std::to_string(operand.index);
    case OperandKind::kTensor:
      return "t" + std::to_string(operand.index);
    case OperandKind::kList:
      return "l" + std::to_string(operand.index);
    case OperandKind::kConstInt:
      return std::to_string(operand.integer);
    case OperandKind::kConstFloat:
      return FloatText(operand.number);
  }
  return "?";
}
std::string OperandsText(const std::vector<Operand>& operands) {
  return List(operands, OperandText);
}

// What follows the name of the instruction.
std::string Rest(const Program& program, const Instruction& instruction) {
  const std::vector<IntExpr>& exprs = instruction.exprs;
  std::string args = OperandsText(instruction.args), index = std::to_string(instruction.index);
  std::string values = List(exprs, PrintIntExpr);
  switch (instruction.op) {
    case Opcode::kDim:
      return args + ", " + index;
    case Opcode::kInt:
    case Opcode::kBranch:
      return values + (instruction.op == Opcode::kBranch ? ", L" + index : "");
    case Opcode::kCheck: {
      std::vector<IntExpr> shown(exprs.begin() + (exprs.empty() ? 0 : 1), exprs.end());
      return (exprs.empty() ? "?" : PrintIntExpr(exprs[0])) + ", " + Quoted(instruction.text) +
             (shown.empty() ? "" : ", " + List(shown, PrintIntExpr));
    }
    case Opcode::kAlloc:
      return Extents(exprs, 0, exprs.size()) +
             (instruction.index == 0 ? "" : " output " + std::to_string(instruction.index - 1));
    case Opcode::kView: {
      if (exprs.empty()) return args + ", ?";
      size_t rank = (exprs.size() - 1) / (instruction.index == 0 ? 1 : 2);
      return args + ", " + PrintIntExpr(exprs[0]) + ", " + Extents(exprs, 1, 1 + rank) +
             (instruction.index == 0 ? "" : ", " + Extents(exprs, 1 + rank, exprs.size()));
    }
    case Opcode::kConst:
      return NameAt(program.constants, instruction.index, [](const auto& c) { return c.name; });
    case Opcode::kCall:
      return NameAt(program.kernels, instruction.index, [](const auto& name) { return name; }) +
             "(" + args + ")";
    case Opcode::kCallPacked:
      return NameText(instruction.text) + "(" + args + ")";
    case Opcode::kInvoke:
      return NameAt(program.functions, instruction.index, [](const auto& f) { return f.name; }) +
             "(" + args + ")";
    case Opcode::kJump:
      return "L" + index;
    case Opcode::kRead:
      return args + ", " + values;
    case Opcode::kList: {
      bool is_known = instruction.index < static_cast<uint32_t>(kNumListOps);
      return (is_known ? NameOf(static_cast<ListOp>(instruction.index)) : "#" + index) + "(" +
             args + ")" + (exprs.empty() ? "" : ", " + values);
    }
    case Opcode::kCopy:
    case Opcode::kFree:
    case Opcode::kRet:
      return args;
  }
  return "";
}

std::string RankText(const TensorType& type) {
  std::string axes;
  for (uint32_t i = 0; i < type.rank && i < 64; ++i) axes += i == 0 ? ":" : ", :";
  return type.dtype.str() + "[" + axes + "]";
}

void PrintFunction(const Program& program, const Function& function, std::string* out) {
  auto tensor = [&](uint32_t i) {
    return "t" + std::to_string(i) + ": " +
           (i < function.tensors.size() ? RankText(function.tensors[i]) : "?");
  };
  std::vector<std::string> params, results;
  for (uint32_t i = 0; i < function.params.ints; ++i) params.push_back("i" + std::to_string(i));
  for (uint32_t i = 0; i < function.params.tensors; ++i) params.push_back(tensor(i));
  for (uint32_t i = 0; i < function.params.lists; ++i) params.push_back("l" + std::to_string(i));
  for (uint32_t i = 0; i < function.results.ints; ++i) results.emplace_back("int");
  for (uint32_t i = 0; i < function.results.tensors; ++i) results.emplace_back("tensor");
  for (uint32_t i = 0; i < function.results.lists; ++i) results.emplace_back("list");
  auto self = [](const std::string& text) { return text; };
  *out += "\nfunc " + NameText(function.name) + "(" + List(params, self) + ") -> (" +
          List(results, self) + ") {\n";
  if (function.num_ints > function.params.ints)
    *out += "  ints " + std::to_string(function.num_ints) + "\n";
  if (function.num_lists > function.params.lists)
    *out += "  lists " + std::to_string(function.num_lists) + "\n";
  for (auto i = function.params.tensors; i < function.tensors.size(); ++i)
    *out += "  " + tensor(i) + "\n";
  std::set<uint32_t> targets;
  for (const Instruction& instruction : function.code)
    if (instruction.op == Opcode::kJump || instruction.op == Opcode::kBranch)
      targets.insert(instruction.index);
  for (uint32_t i = 0; i < function.code.size(); ++i) {
    if (targets.contains(i)) *out += "L" + std::to_string(i) + ":\n";
    *out += "  " + PrintInstruction(program, function.code[i]) + "\n";
  }
  *out += "}\n";
}

std::string ConstantText(const Constant& constant) {
  std::string text = "constant " + NameText(constant.name) + ": " + constant.dtype.str() + "[" +
                     List(constant.shape, [](int64_t extent) { return std::to_string(extent); }) +
                     "] ";
  switch (constant.source) {
    case ConstantSource::kWeights:
      return text + "weights";
    case ConstantSource::kInline:
      return text + "= 0x" + ToHex(constant.data);
    case ConstantSource::kSplat:
      return text + "splat 0x" + ToHex(constant.data);
    case ConstantSource::kMade:
      return text + "made";
  }
  return text;
}

}  // namespace

std::string PrintIntExpr(const IntExpr& expr) { return ExprText(expr, nullptr); }

std::string PrintExtent(const Program& program, const IntExpr& extent) {
  return ExprText(extent, &program.dims);
}

std::string PrintPortType(const Program& program, const Port& port) {
  return port.dtype.str() + "[" +
         List(port.shape, [&](const IntExpr& extent) { return PrintExtent(program, extent); }) +
         "]";
}

std::string PrintInstruction(const Program& program, const Instruction& instruction) {
  std::string results = OperandsText(instruction.results), rest = Rest(program, instruction);
  return results + (results.empty() ? "" : " = ") + NameOf(instruction.op) +
         (rest.empty() ? "" : " ") + rest;
}

std::string PrintProgram(const Program& program) {
  std::string out = "model " + std::to_string(kProgramVersion) + "\n";
  for (const std::string& dim : program.dims) out += "dim " + NameText(dim) + "\n";
  for (const Port& port : program.inputs)
    out += "input " + NameText(port.name) + ": " + PrintPortType(program, port) + "\n";
  for (const Port& port : program.outputs)
    out += "output " + NameText(port.name) + ": " + PrintPortType(program, port) + "\n";
  for (const Constant& constant : program.constants) out += ConstantText(constant) + "\n";
  for (const Prepack& prepack : program.prepack)
    out += "prepack " + NameText(prepack.function) + "(" +
           List(prepack.constants,
                [&](uint32_t i) {
                  return NameAt(program.constants, i, [](const auto& c) { return c.name; });
                }) +
           ")\n";
  for (const Function& function : program.functions) PrintFunction(program, function, &out);
  return out;
}

}  // namespace tern::runtime::vm
