// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/program.h"

#include <algorithm>
#include <bit>

#include "tern/runtime/artifact/byte_stream.h"

namespace tern::runtime::vm {
namespace {

constexpr const char* kOpcodeNames[] = {"dim",  "int",         "check",  "alloc", "view",   "const",
                                        "call", "call_packed", "invoke", "jump",  "branch", "read",
                                        "copy", "list",        "free",   "ret"};
static_assert(std::size(kOpcodeNames) == kNumOpcodes);
constexpr const char* kListOpNames[] = {"make", "size", "get", "insert", "erase"};
static_assert(std::size(kListOpNames) == kNumListOps);

// One function says how each structure is saved: `Writer` appends what it is given, `Reader` sets
// it.
class Writer {
 public:
  explicit Writer(std::string* out) : out_(out) {}

  template <class T>
  void Int(T value) {
    AppendLe<T>(value, out_);
  }
  template <class E>
  void Enum(E value, int) {
    Int(static_cast<uint8_t>(value));
  }
  void Number(double value) { Int(std::bit_cast<uint64_t>(value)); }
  void Text(const std::string& text) { AppendSized(text, out_); }
  void Type(DataType dtype) {
    Int<uint8_t>(dtype.raw().code);
    Int<uint8_t>(dtype.raw().bits);
    Int<uint16_t>(dtype.raw().lanes);
  }
  template <class T, class Item>
  void Items(const std::vector<T>& items, Item&& item) {
    Int<uint64_t>(items.size());
    for (const T& one : items) item(one);
  }

 private:
  std::string* out_;
};

class Reader {
 public:
  explicit Reader(ByteReader* in) : in_(in) {}

  template <class T>
  void Int(T& value) {
    value = in_->Int<T>();
  }
  template <class E>
  void Enum(E& value, int count) {
    auto byte = in_->Int<uint8_t>();
    TERN_CHECK(byte < count) << "the program has the unknown code " << int{byte} << " for "
                             << (std::is_same_v<E, Opcode> ? "an instruction" : "a part of one");
    value = static_cast<E>(byte);
  }
  void Number(double& value) { value = std::bit_cast<double>(in_->Int<uint64_t>()); }
  void Text(std::string& text) { text = in_->Sized(); }
  void Type(DataType& dtype) {
    int code = in_->Int<uint8_t>(), bits = in_->Int<uint8_t>(), lanes = in_->Int<uint16_t>();
    dtype = DataType(code, bits, lanes);
    TERN_CHECK(lanes == 1 && dtype == DataType::Parse(dtype.str()))
        << "the program has a data type that is not known: code " << code << ", " << bits
        << " bits, " << lanes << " lanes";
  }
  template <class T, class Item>
  void Items(std::vector<T>& items, Item&& item) {
    // Each takes a byte at least, so that a count that is too large ends with the bytes.
    for (auto count = in_->Int<uint64_t>(); count > 0; --count) item(items.emplace_back());
  }

 private:
  ByteReader* in_;
};

template <class S>
class Format {
 public:
  explicit Format(S* s) : s_(*s) {}

  template <class E>
  void Expr(E& expr) {
    s_.Items(expr.tokens, [&](auto& token) {
      s_.Enum(token.op, kNumIntOps);
      if (token.op <= IntOp::kRegister) s_.Int(token.value);
    });
  }
  template <class E>
  void Exprs(E& exprs) {
    s_.Items(exprs, [&](auto& expr) { Expr(expr); });
  }
  template <class O>
  void Operands(O& operands) {
    s_.Items(operands, [&](auto& operand) {
      s_.Enum(operand.kind, static_cast<int>(OperandKind::kConstFloat) + 1);
      switch (operand.kind) {
        case OperandKind::kConstInt:
          return s_.Int(operand.integer);
        case OperandKind::kConstFloat:
          return s_.Number(operand.number);
        default:
          return s_.Int(operand.index);
      }
    });
  }
  template <class I>
  void Instruction(I& instruction) {
    s_.Enum(instruction.op, kNumOpcodes);
    s_.Int(instruction.index);
    Operands(instruction.results);
    Operands(instruction.args);
    Exprs(instruction.exprs);
    s_.Text(instruction.text);
  }
  template <class C>
  void Counts(C& counts) {
    s_.Int(counts.ints);
    s_.Int(counts.tensors);
    s_.Int(counts.lists);
  }
  template <class F>
  void Function(F& function) {
    s_.Text(function.name);
    Counts(function.params);
    Counts(function.results);
    s_.Int(function.num_ints);
    s_.Int(function.num_lists);
    s_.Items(function.tensors, [&](auto& type) {
      s_.Type(type.dtype);
      s_.Int(type.rank);
    });
    s_.Items(function.code, [&](auto& instruction) { Instruction(instruction); });
  }
  template <class P>
  void Ports(P& ports) {
    s_.Items(ports, [&](auto& port) {
      s_.Text(port.name);
      s_.Type(port.dtype);
      Exprs(port.shape);
    });
  }
  template <class C>
  void Constant(C& constant) {
    s_.Text(constant.name);
    s_.Type(constant.dtype);
    s_.Items(constant.shape, [&](auto& extent) { s_.Int(extent); });
    s_.Enum(constant.source, static_cast<int>(ConstantSource::kMade) + 1);
    s_.Text(constant.data);
  }
  template <class P>
  void Program(P& program) {
    s_.Items(program.dims, [&](auto& name) { s_.Text(name); });
    Ports(program.inputs);
    Ports(program.outputs);
    s_.Items(program.constants, [&](auto& constant) { Constant(constant); });
    s_.Items(program.prepack, [&](auto& prepack) {
      s_.Text(prepack.function);
      s_.Items(prepack.constants, [&](auto& index) { s_.Int(index); });
    });
    s_.Items(program.kernels, [&](auto& name) { s_.Text(name); });
    s_.Items(program.functions, [&](auto& function) { Function(function); });
  }

 private:
  S& s_;
};

}  // namespace

int ArityOf(IntOp op) {
  switch (op) {
    case IntOp::kConst:
    case IntOp::kRegister:
      return 0;
    case IntOp::kNot:
      return 1;
    case IntOp::kSelect:
      return 3;
    default:
      return 2;
  }
}

IntExpr IntExpr::Apply(IntOp op, std::initializer_list<IntExpr> operands) {
  TERN_ICHECK(static_cast<int>(operands.size()) == ArityOf(op) && operands.size() > 0);
  IntExpr result;
  for (const IntExpr& operand : operands)
    result.tokens.insert(result.tokens.end(), operand.tokens.begin(), operand.tokens.end());
  result.tokens.push_back({op, 0});
  return result;
}

bool operator==(const Operand& a, const Operand& b) {
  return a.kind == b.kind && a.index == b.index && a.integer == b.integer &&
         std::bit_cast<uint64_t>(a.number) == std::bit_cast<uint64_t>(b.number);
}

const char* NameOf(Opcode op) { return kOpcodeNames[static_cast<size_t>(op)]; }
const char* NameOf(ListOp op) { return kListOpNames[static_cast<size_t>(op)]; }

uint32_t Program::Kernel(std::string_view name) {
  auto found = std::find(kernels.begin(), kernels.end(), name);
  auto index = static_cast<uint32_t>(found - kernels.begin());
  if (found == kernels.end()) kernels.emplace_back(name);
  return index;
}

std::string EncodeProgram(const Program& program) {
  std::string bytes;
  Writer writer(&bytes);
  writer.Int<uint32_t>(kProgramVersion);
  Format(&writer).Program(program);
  return bytes;
}

Program DecodeProgram(std::string_view bytes) {
  ByteReader in(bytes, "the program");
  auto version = in.Int<uint32_t>();
  TERN_CHECK(version == kProgramVersion)
      << "version " << version << " of the program is not supported: this runtime reads version "
      << kProgramVersion;
  Reader reader(&in);
  Program program;
  Format(&reader).Program(program);
  in.ExpectEnd();
  return program;
}

}  // namespace tern::runtime::vm
