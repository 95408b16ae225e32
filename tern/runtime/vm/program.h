// SPDX-License-Identifier: Apache-2.0
//
// The program of a model: what a compiler writes and a session runs. Plain data: a compiler fills
// vectors. Saved as the section `model` of an artifact (EncodeProgram), shown as text (text.h),
// checked before it runs (verify.h).
//
//   main(dims, inputs):  i0.. are the dims, t0.. the inputs
//     alloc t2: float32[i0, 64]        memory of the plan
//     const t3 = weights 0
//     call  conv2d(t0, t3, t2)         a function of the host module; results are arguments
//     ret   t2
#ifndef TERN_RUNTIME_VM_PROGRAM_H_
#define TERN_RUNTIME_VM_PROGRAM_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/dtype.h"

namespace tern::runtime::vm {

// ---- Integer arithmetic

enum class IntOp : uint8_t {
  kConst,     // value
  kRegister,  // int register `value`; in the shape of a port, dim `value`
  kAdd,
  kSub,
  kMul,
  kFloorDiv,
  kFloorMod,
  kTruncDiv,
  kTruncMod,
  kMin,
  kMax,
  kEq,  // comparisons give 0 or 1
  kNe,
  kLt,
  kLe,
  kAnd,  // both operands are computed
  kOr,
  kNot,
  kSelect,  // condition, then, else
};
inline constexpr int kNumIntOps = static_cast<int>(IntOp::kSelect) + 1;
// How many operands it takes.
int ArityOf(IntOp op);

struct IntToken {
  IntOp op = IntOp::kConst;
  int64_t value = 0;
  friend bool operator==(const IntToken&, const IntToken&) = default;
};

// An int64 in postfix form: `i0 1 + 2 //`. Overflow and division by zero are errors when it is
// computed. Without tokens: not known, which only extents of the model's outputs may be.
struct IntExpr {
  std::vector<IntToken> tokens;

  static IntExpr Const(int64_t value) { return {{{IntOp::kConst, value}}}; }
  static IntExpr Register(uint32_t index) { return {{{IntOp::kRegister, index}}}; }
  static IntExpr Apply(IntOp op, std::initializer_list<IntExpr> operands);

  bool is_const() const { return tokens.size() == 1 && tokens[0].op == IntOp::kConst; }
  bool is_register() const { return tokens.size() == 1 && tokens[0].op == IntOp::kRegister; }
  friend bool operator==(const IntExpr&, const IntExpr&) = default;
};
// Of operands at a time, when an expression is computed.
inline constexpr size_t kMaxIntDepth = 32;

// ---- Registers and operands

// Each kind of register has numbers of its own: i0, t0, l0.
enum class OperandKind : uint8_t {
  kInt,     // an int64
  kTensor,  // of a type that the function declares
  kList,    // of tensors
  kConstInt,
  kConstFloat,
};
struct Operand {
  OperandKind kind = OperandKind::kInt;
  uint32_t index = 0;   // of a register
  int64_t integer = 0;  // of kConstInt
  double number = 0;    // of kConstFloat

  static Operand Int(uint32_t index) { return {OperandKind::kInt, index, 0, 0}; }
  static Operand Tensor(uint32_t index) { return {OperandKind::kTensor, index, 0, 0}; }
  static Operand List(uint32_t index) { return {OperandKind::kList, index, 0, 0}; }
  static Operand ConstInt(int64_t value) { return {OperandKind::kConstInt, 0, value, 0}; }
  static Operand ConstFloat(double value) { return {OperandKind::kConstFloat, 0, 0, value}; }
  // Numbers by their bits.
  friend bool operator==(const Operand& a, const Operand& b);
};

// ---- Instructions

enum class Opcode : uint8_t {
  // results | args | exprs | index, text
  kDim,    // i | t | | axis: an extent
  kInt,    // i | | value |
  kCheck,  // | | condition, values... | text: the error where the condition is 0; each {} in it
           // is one of the values
  kAlloc,  // t | | shape... | 0: memory of the plan; k + 1: the model's output k (in main)
  kView,   // t | t | offset, shape..., strides... | 0: compact, no strides; 1: strides. All in
           // elements, from the first one of the tensor; of the same dtype
  kConst,  // t | | | constant
  kCall,   // | any... | | kernel: a function of the host module. Tensors that it writes are args
  kCallPacked,  // one or none | any... | | text: a registered function
  kInvoke,      // any... | any... | | function, behind this one. Ints, then tensors, then lists
  kJump,        // | | | the instruction to go on with
  kBranch,      // | | condition | goes on there where the condition is not 0
  kRead,        // i | t | element | an element of integers or bools; waits for the device
  kCopy,        // | from t, to t | | all elements, of compact tensors of one dtype and count
  kList,        // see ListOp | | | ListOp
  kFree,        // | t or l... | | not used from here on, and no view of it
  kRet,         // | ints, then tensors, then lists | |
};
inline constexpr int kNumOpcodes = static_cast<int>(Opcode::kRet) + 1;
// "alloc"
const char* NameOf(Opcode op);

enum class ListOp : uint8_t {
  kMake,    // l | t...: copies of the tensors
  kSize,    // i | l
  kGet,     // t | l | place
  kInsert,  // | l, t | place, which may be the end: a copy of the tensor
  kErase,   // | l | place
};
inline constexpr int kNumListOps = static_cast<int>(ListOp::kErase) + 1;
const char* NameOf(ListOp op);

struct Instruction {
  Opcode op = Opcode::kRet;
  uint32_t index = 0;
  std::vector<Operand> results, args;
  std::vector<IntExpr> exprs;
  std::string text;
  friend bool operator==(const Instruction&, const Instruction&) = default;
};

struct TensorType {
  DataType dtype;
  uint32_t rank = 0;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// So many of each kind.
struct KindCounts {
  uint32_t ints = 0, tensors = 0, lists = 0;
  friend bool operator==(const KindCounts&, const KindCounts&) = default;
};

struct Function {
  std::string name;
  KindCounts params;                     // the first registers of each kind
  KindCounts results;                    // of each `ret`
  uint32_t num_ints = 0, num_lists = 0;  // registers
  std::vector<TensorType> tensors;       // one for each register
  std::vector<Instruction> code;

  uint32_t AddInt() { return num_ints++; }
  uint32_t AddTensor(DataType dtype, uint32_t rank) {
    tensors.push_back({dtype, rank});
    return static_cast<uint32_t>(tensors.size() - 1);
  }
  uint32_t AddList() { return num_lists++; }
  friend bool operator==(const Function&, const Function&) = default;
};

// ---- The whole

// An input or output.
struct Port {
  std::string name;
  DataType dtype;
  std::vector<IntExpr> shape;  // over dims
  friend bool operator==(const Port&, const Port&) = default;
};

enum class ConstantSource : uint8_t {
  kWeights,  // of that name in the artifact's weights
  kInline,   // `data`, little endian: what is used as an index, a shape or a condition
  kSplat,    // `data`, the bytes of one element, in all of them
  kMade,     // by one of `prepack`
};
struct Constant {
  std::string name;
  DataType dtype;
  std::vector<int64_t> shape;
  ConstantSource source = ConstantSource::kWeights;
  std::string data = {};
  friend bool operator==(const Constant&, const Constant&) = default;
};

// A call when the model is loaded, once: of a function of the host module, with constants. Those of
// kMade among them are written, in the order of these calls; nothing else is.
struct Prepack {
  std::string function;
  std::vector<uint32_t> constants;
  friend bool operator==(const Prepack&, const Prepack&) = default;
};

// A constant of the name, dtype and shape of an input is its default, which it has where it is not
// given.
struct Program {
  // Extents that the inputs tell: each is the whole extent of an axis of some input.
  std::vector<std::string> dims;
  std::vector<Port> inputs, outputs;
  std::vector<Constant> constants;
  std::vector<Prepack> prepack;
  std::vector<std::string> kernels;  // functions of the host module
  // The first one is main: its parameters are the dims and the inputs, its results the outputs.
  std::vector<Function> functions;

  // The kernel's index; adds it where it is new.
  uint32_t Kernel(std::string_view name);
  friend bool operator==(const Program&, const Program&) = default;
};

// The section of an artifact that has the program.
inline constexpr const char* kModelSection = "model";
// Of the encoding: a runtime reads this one and those before it.
inline constexpr uint32_t kProgramVersion = 1;

std::string EncodeProgram(const Program& program);
// Throws where the bytes are not what EncodeProgram writes. What the program says is for
// VerifyProgram to look at.
Program DecodeProgram(std::string_view bytes);

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_PROGRAM_H_
