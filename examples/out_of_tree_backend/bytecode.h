// SPDX-License-Identifier: Apache-2.0
//
// The code of the device "emu": what the code generator writes and the machine runs. It has
// registers of 64 bits, as many as a kernel asks for. In a register an integer is extended to 64
// bits by its sign or by zeros, a bool is 0 or 1, a float is its bits.
//
// A kernel is a blob: Header, one Type per parameter (parameters are the first registers), padding
// to 16 bytes, instructions.
#ifndef EXAMPLES_OUT_OF_TREE_BACKEND_BYTECODE_H_
#define EXAMPLES_OUT_OF_TREE_BACKEND_BYTECODE_H_

#include <cstdint>

namespace emu {

// X(name, bits in a parameter or in memory)
// clang-format off
#define EMU_TYPES(X)                                               \
  X(I8, int8_t) X(I16, int16_t) X(I32, int32_t) X(I64, int64_t)     \
  X(U8, uint8_t) X(U16, uint16_t) X(U32, uint32_t) X(U64, uint64_t) \
  X(F32, float) X(F64, double) X(Bool, bool)
// clang-format on
enum class Type : uint8_t {
#define EMU_TYPE(name, type) k##name,
  EMU_TYPES(EMU_TYPE)
#undef EMU_TYPE
};
inline constexpr int kNumTypes = 11;

// X(name, operands): d is the register that is written, a b c are registers that are read, i is an
// immediate of 64 bits in place of b and c, t is the place of an instruction, in d.
// clang-format off
#define EMU_OPS(X)                                                                            \
  X(Const, "di")                                                                              \
  X(Move, "da")                                                                               \
  X(Index, "di")                                                                              \
  X(Add, "dab") X(Sub, "dab") X(Mul, "dab") X(Div, "dab") X(Mod, "dab") X(FloorDiv, "dab")    \
      X(FloorMod, "dab") X(Min, "dab") X(Max, "dab") X(Eq, "dab") X(Ne, "dab") X(Lt, "dab")   \
          X(Le, "dab") X(Not, "da") X(ShiftLeft, "dab") X(ShiftRight, "dab") X(BitAnd, "dab") \
              X(BitOr, "dab") X(BitXor, "dab") X(BitNot, "da") X(Sqrt, "da") X(Mac, "dabc")   \
                  X(Select, "dabc") X(Cast, "da") X(Reinterpret, "da") X(Load, "dab")         \
                      X(Store, "abc") X(Jump, "t") X(JumpUnless, "ta") X(Barrier, "") X(Halt, "")
// clang-format on
enum class Op : uint8_t {
#define EMU_OP(name, operands) k##name,
  EMU_OPS(EMU_OP)
#undef EMU_OP
};
inline constexpr const char* kOperands[] = {
#define EMU_OP(name, operands) operands,
    EMU_OPS(EMU_OP)
#undef EMU_OP
};
inline constexpr int kNumOps = sizeof kOperands / sizeof *kOperands;

// `type` is that of the operands, `to` that of the result of Cast and Reinterpret.
struct Instruction {
  Op op;
  Type type;
  Type to;
  uint8_t zero;
  uint32_t d, a, b, c;

  uint64_t immediate() const { return b | uint64_t{c} << 32; }
};
static_assert(sizeof(Instruction) == 20);

inline constexpr uint32_t kMagic = 0x31756d65;  // "emu1"
struct Header {
  uint32_t magic;
  uint32_t num_params, num_registers, num_instructions;
  uint32_t local_bytes, shared_bytes;  // of a thread, of a block
};

// Addresses: of a thread's memory, of its block's, and of allocations.
inline constexpr uint64_t kLocalBase = uint64_t{1} << 62;
inline constexpr uint64_t kSharedBase = uint64_t{1} << 61;
inline constexpr int kAllocationShift = 40;  // allocation n, from 1, is at n << 40

}  // namespace emu

#endif  // EXAMPLES_OUT_OF_TREE_BACKEND_BYTECODE_H_
