// SPDX-License-Identifier: Apache-2.0
//
// The part of SPIR-V that is emitted here: numbers and names, as of the specification; and what the
// code generator and the runtime agree on.
//
// A tensor, argument i of a kernel, is the storage buffer at binding i of set 0; arguments without
// a binding are scalars. These are the push constants, in order, each aligned to its size and 4
// bytes at least; or, where the module has a binding behind the last argument, they are that
// buffer.
//
// A module with more tensors than a device binds has none of those: its scalars are all arguments,
// tensors as addresses, which are the members that are pointers.
//
// A module that asks for the number of blocks takes more of them on axis x than a device has, where
// there is no other axis: in rows, along axis y, of which the last may be longer than needed.
//
// Mesa's llvmpipe ends every loop of an invocation when all of them together have had kLoopLimit
// iterations, and says nothing. A module whose loops have more, a constant number, says so by the
// value of a constant (kLoopStepsSpecId). One that does not know it counts them if it is told to
// (kLoopLimitSpecId, or kLaneLoopLimitSpecId where invocations differ in what they iterate): an
// invocation that comes to that number writes 1 to the buffer at the second binding behind the last
// argument.
#ifndef TERN_BACKEND_VULKAN_COMMON_SPIRV_H_
#define TERN_BACKEND_VULKAN_COMMON_SPIRV_H_

#include <cstdint>
#include <map>

namespace tern::backend::vulkan::spirv {

inline constexpr uint32_t kMagic = 0x07230203;
inline constexpr uint32_t kVersion = 0x00010300;  // 1.3: what every Vulkan since 1.1 takes

// X(name, number, operands). Of the operands each letter is one: t the type of the result, r the
// result, i an id, n a number, s a text, v the value of a constant; A an addressing model, L a
// memory model, E an execution model, C a capability, S a storage class, D a decoration with its
// numbers, M an execution mode, G an instruction of GLSL.std.450, F flags, of which none is ever
// set, V how memory is aligned, if that is said; * any number of the one before.
#define TERN_SPIRV_OPS(X)                   \
  X(Name, 5, "is")                          \
  X(Extension, 10, "s")                     \
  X(ExtInstImport, 11, "rs")                \
  X(ExtInst, 12, "triGi*")                  \
  X(MemoryModel, 14, "AL")                  \
  X(EntryPoint, 15, "Eisi*")                \
  X(ExecutionMode, 16, "iMn*")              \
  X(Capability, 17, "C")                    \
  X(TypeVoid, 19, "r")                      \
  X(TypeBool, 20, "r")                      \
  X(TypeInt, 21, "rnn")                     \
  X(TypeFloat, 22, "rn")                    \
  X(TypeVector, 23, "rin")                  \
  X(TypeArray, 28, "rii")                   \
  X(TypeRuntimeArray, 29, "ri")             \
  X(TypeStruct, 30, "ri*")                  \
  X(TypePointer, 32, "rSi")                 \
  X(TypeFunction, 33, "rii*")               \
  X(ConstantTrue, 41, "tr")                 \
  X(ConstantFalse, 42, "tr")                \
  X(Constant, 43, "trv")                    \
  X(SpecConstant, 50, "trv")                \
  X(SpecConstantComposite, 51, "tri*")      \
  X(Function, 54, "trFi")                   \
  X(FunctionEnd, 56, "")                    \
  X(Variable, 59, "trS")                    \
  X(Load, 61, "triV")                       \
  X(Store, 62, "iiV")                       \
  X(AccessChain, 65, "trii*")               \
  X(Decorate, 71, "iD")                     \
  X(MemberDecorate, 72, "inD")              \
  X(CompositeExtract, 81, "trin*")          \
  X(ConvertFToU, 109, "tri")                \
  X(ConvertFToS, 110, "tri")                \
  X(ConvertSToF, 111, "tri")                \
  X(ConvertUToF, 112, "tri")                \
  X(UConvert, 113, "tri")                   \
  X(SConvert, 114, "tri")                   \
  X(FConvert, 115, "tri")                   \
  X(Bitcast, 124, "tri")                    \
  X(FNegate, 127, "tri")                    \
  X(IAdd, 128, "trii")                      \
  X(FAdd, 129, "trii")                      \
  X(ISub, 130, "trii")                      \
  X(FSub, 131, "trii")                      \
  X(IMul, 132, "trii")                      \
  X(FMul, 133, "trii")                      \
  X(UDiv, 134, "trii")                      \
  X(SDiv, 135, "trii")                      \
  X(FDiv, 136, "trii")                      \
  X(UMod, 137, "trii")                      \
  X(LogicalEqual, 164, "trii")              \
  X(LogicalNotEqual, 165, "trii")           \
  X(LogicalOr, 166, "trii")                 \
  X(LogicalAnd, 167, "trii")                \
  X(LogicalNot, 168, "tri")                 \
  X(Select, 169, "triii")                   \
  X(IEqual, 170, "trii")                    \
  X(INotEqual, 171, "trii")                 \
  X(UGreaterThan, 172, "trii")              \
  X(SGreaterThan, 173, "trii")              \
  X(UGreaterThanEqual, 174, "trii")         \
  X(SGreaterThanEqual, 175, "trii")         \
  X(ULessThan, 176, "trii")                 \
  X(SLessThan, 177, "trii")                 \
  X(ULessThanEqual, 178, "trii")            \
  X(SLessThanEqual, 179, "trii")            \
  X(FOrdEqual, 180, "trii")                 \
  X(FUnordNotEqual, 183, "trii")            \
  X(FOrdLessThan, 184, "trii")              \
  X(FOrdGreaterThan, 186, "trii")           \
  X(FOrdLessThanEqual, 188, "trii")         \
  X(FOrdGreaterThanEqual, 190, "trii")      \
  X(ShiftRightLogical, 194, "trii")         \
  X(ShiftRightArithmetic, 195, "trii")      \
  X(ShiftLeftLogical, 196, "trii")          \
  X(BitwiseOr, 197, "trii")                 \
  X(BitwiseXor, 198, "trii")                \
  X(BitwiseAnd, 199, "trii")                \
  X(Not, 200, "tri")                        \
  X(BitFieldInsert, 201, "triiii")          \
  X(BitFieldSExtract, 202, "triii")         \
  X(BitFieldUExtract, 203, "triii")         \
  X(BitCount, 205, "tri")                   \
  X(ControlBarrier, 224, "iii")             \
  X(AtomicLoad, 227, "triii")               \
  X(AtomicExchange, 229, "triiii")          \
  X(AtomicCompareExchange, 230, "triiiiii") \
  X(AtomicIAdd, 234, "triiii")              \
  X(AtomicSMin, 236, "triiii")              \
  X(AtomicUMin, 237, "triiii")              \
  X(AtomicSMax, 238, "triiii")              \
  X(AtomicUMax, 239, "triiii")              \
  X(AtomicAnd, 240, "triiii")               \
  X(AtomicOr, 241, "triiii")                \
  X(AtomicXor, 242, "triiii")               \
  X(Phi, 245, "tri*")                       \
  X(LoopMerge, 246, "iiF")                  \
  X(SelectionMerge, 247, "iF")              \
  X(Label, 248, "r")                        \
  X(Branch, 249, "i")                       \
  X(BranchConditional, 250, "iii")          \
  X(Return, 253, "")                        \
  X(GroupNonUniformAll, 334, "trii")        \
  X(GroupNonUniformAny, 335, "trii")        \
  X(GroupNonUniformBallot, 339, "trii")     \
  X(GroupNonUniformShuffle, 345, "triii")

enum class Op : uint16_t {
#define TERN_SPIRV_OP(name, number, operands) k##name = number,
  TERN_SPIRV_OPS(TERN_SPIRV_OP)
#undef TERN_SPIRV_OP
};

// An instruction that Tern makes, by its line of TERN_SPIRV_OPS.
struct OpInfo {
  const char* name;
  const char* operands;
};
// Null: Tern makes none with this number.
inline const OpInfo* FindOp(uint32_t number) {
  static const std::map<uint32_t, OpInfo> kOps = {
#define TERN_SPIRV_OP(name, number, operands) {number, {"Op" #name, operands}},
      TERN_SPIRV_OPS(TERN_SPIRV_OP)
#undef TERN_SPIRV_OP
  };
  auto it = kOps.find(number);
  return it == kOps.end() ? nullptr : &it->second;
}

#define TERN_SPIRV_CAPABILITIES(X)  \
  X(Shader, 1)                      \
  X(Float16, 9)                     \
  X(Float64, 10)                    \
  X(Int64, 11)                      \
  X(Int16, 22)                      \
  X(Int8, 39)                       \
  X(GroupNonUniform, 61)            \
  X(GroupNonUniformVote, 62)        \
  X(GroupNonUniformBallot, 64)      \
  X(GroupNonUniformShuffle, 65)     \
  X(StorageBuffer16BitAccess, 4433) \
  X(StorageBuffer8BitAccess, 4448)  \
  X(DenormPreserve, 4464)           \
  X(SignedZeroInfNanPreserve, 4466) \
  X(RoundingModeRTE, 4467)          \
  X(PhysicalStorageBufferAddresses, 5347)

enum class Capability : uint32_t {
#define TERN_SPIRV_CAPABILITY(name, number) k##name = number,
  TERN_SPIRV_CAPABILITIES(TERN_SPIRV_CAPABILITY)
#undef TERN_SPIRV_CAPABILITY
};

#define TERN_SPIRV_STORAGE_CLASSES(X) \
  X(Input, 1)                         \
  X(Workgroup, 4)                     \
  X(Function, 7)                      \
  X(PushConstant, 9)                  \
  X(StorageBuffer, 12)                \
  X(PhysicalStorageBuffer, 5349)

enum class StorageClass : uint32_t {
#define TERN_SPIRV_STORAGE_CLASS(name, number) k##name = number,
  TERN_SPIRV_STORAGE_CLASSES(TERN_SPIRV_STORAGE_CLASS)
#undef TERN_SPIRV_STORAGE_CLASS
};

#define TERN_SPIRV_DECORATIONS(X) \
  X(SpecId, 1)                    \
  X(Block, 2)                     \
  X(ArrayStride, 6)               \
  X(BuiltIn, 11)                  \
  X(Aliased, 20)                  \
  X(Coherent, 23)                 \
  X(NonWritable, 24)              \
  X(Binding, 33)                  \
  X(DescriptorSet, 34)            \
  X(Offset, 35)                   \
  X(NoContraction, 42)

enum class Decoration : uint32_t {
#define TERN_SPIRV_DECORATION(name, number) k##name = number,
  TERN_SPIRV_DECORATIONS(TERN_SPIRV_DECORATION)
#undef TERN_SPIRV_DECORATION
};

#define TERN_SPIRV_BUILT_INS(X) \
  X(NumWorkgroups, 24)          \
  X(WorkgroupSize, 25)          \
  X(WorkgroupId, 26)            \
  X(LocalInvocationId, 27)      \
  X(SubgroupLocalInvocationId, 41)

enum class BuiltIn : uint32_t {
#define TERN_SPIRV_BUILT_IN(name, number) k##name = number,
  TERN_SPIRV_BUILT_INS(TERN_SPIRV_BUILT_IN)
#undef TERN_SPIRV_BUILT_IN
};

#define TERN_SPIRV_EXECUTION_MODES(X) \
  X(LocalSize, 17)                    \
  X(DenormPreserve, 4459)             \
  X(SignedZeroInfNanPreserve, 4461)   \
  X(RoundingModeRTE, 4462)

enum class ExecutionMode : uint32_t {
#define TERN_SPIRV_EXECUTION_MODE(name, number) k##name = number,
  TERN_SPIRV_EXECUTION_MODES(TERN_SPIRV_EXECUTION_MODE)
#undef TERN_SPIRV_EXECUTION_MODE
};

// Instructions of the set GLSL.std.450.
#define TERN_SPIRV_GLSL(X) \
  X(RoundEven, 2)          \
  X(Trunc, 3)              \
  X(FAbs, 4)               \
  X(Floor, 8)              \
  X(Ceil, 9)               \
  X(Sqrt, 31)              \
  X(FindUMsb, 75)

enum class Glsl : uint32_t {
#define TERN_SPIRV_GLSL_OP(name, number) k##name = number,
  TERN_SPIRV_GLSL(TERN_SPIRV_GLSL_OP)
#undef TERN_SPIRV_GLSL_OP
};

enum class Scope : uint32_t { kDevice = 1, kWorkgroup = 2, kSubgroup = 3 };

// Of an access to memory: a number of bytes follows.
inline constexpr uint32_t kAligned = 0x2;

// Of memory: what is ordered, and how.
inline constexpr uint32_t kAcquireRelease = 0x8, kUniformMemory = 0x40, kWorkgroupMemory = 0x100;

inline constexpr uint32_t kAddressingLogical = 0, kAddressing64 = 5348, kMemoryModelGlsl450 = 1,
                          kModelGlCompute = 5;

// Ids of the constants that a pipeline is made with: the size of a block, where the module does not
// say it, and how many lanes a warp has, where it matters.
inline constexpr uint32_t kBlockSpecIds[] = {0, 1, 2}, kWarpSizeSpecId = 3;
// And of loops: how many iterations all of them have, if that is more than kLoopLimit; how many of
// them an invocation counts before it complains, 0 for any number.
inline constexpr uint32_t kLoopStepsSpecId = 4, kLoopLimitSpecId = 5, kLaneLoopLimitSpecId = 6;

// Up to so many iterations of all loops of an invocation are right with every driver.
inline constexpr uint32_t kLoopLimit = 65535;

}  // namespace tern::backend::vulkan::spirv

#endif  // TERN_BACKEND_VULKAN_COMMON_SPIRV_H_
