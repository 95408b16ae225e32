// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/narrow_float.h"

namespace tern::codegen {
namespace {

using llvm::IRBuilder;
using llvm::Value;

// What a float16 exponent lacks to be a float32 exponent, in place.
constexpr uint32_t kRebias = uint32_t{127 - 15} << 23;
constexpr uint32_t kFloatInfinity = 0x7f800000;

// `scalar` with the lanes of `value`.
llvm::Type* Like(Value* value, llvm::Type* scalar) {
  return value->getType()->getWithNewType(scalar);
}
Value* Bits(IRBuilder<>& b, Value* value) {
  unsigned width = value->getType()->getScalarSizeInBits();
  return b.CreateBitCast(value, Like(value, b.getIntNTy(width)));
}
Value* Constant(Value* like, uint64_t value) {
  return llvm::ConstantInt::get(like->getType(), value);
}

}  // namespace

Value* HalfToFloat(IRBuilder<>& b, Value* half) {
  Value* bits = b.CreateZExt(half, Like(half, b.getInt32Ty()));
  Value* magnitude = b.CreateAnd(bits, Constant(bits, 0x7fff));
  Value* sign = b.CreateShl(b.CreateAnd(bits, Constant(bits, 0x8000)), 16);
  llvm::Type* float_type = Like(half, b.getFloatTy());

  Value* shifted = b.CreateShl(magnitude, 13);
  Value* normal = b.CreateAdd(shifted, Constant(bits, kRebias));
  Value* special = b.CreateOr(shifted, Constant(bits, kFloatInfinity));
  // A subnormal is a count of 2^-24, exact in float.
  Value* subnormal = Bits(b, b.CreateFMul(b.CreateSIToFP(magnitude, float_type),
                                          llvm::ConstantFP::get(float_type, 0x1p-24)));
  Value* finite =
      b.CreateSelect(b.CreateICmpULT(magnitude, Constant(bits, 0x400)), subnormal, normal);
  Value* result =
      b.CreateSelect(b.CreateICmpUGE(magnitude, Constant(bits, 0x7c00)), special, finite);
  return b.CreateBitCast(b.CreateOr(result, sign), float_type);
}

Value* FloatToHalf(IRBuilder<>& b, Value* value) {
  Value* bits = Bits(b, value);
  Value* sign = b.CreateAnd(b.CreateLShr(bits, 16), Constant(bits, 0x8000));
  Value* magnitude = b.CreateAnd(bits, Constant(bits, 0x7fffffff));

  Value* odd = b.CreateAnd(b.CreateLShr(magnitude, 13), Constant(bits, 1));
  Value* biased = b.CreateAdd(b.CreateSub(magnitude, Constant(bits, kRebias - 0xfff)), odd);
  Value* normal = b.CreateLShr(biased, 13);
  // Below 2^-14: adding 0.5 leaves the count of 2^-24, rounded, in the low bits.
  llvm::Type* float_type = value->getType();
  Value* sum =
      b.CreateFAdd(b.CreateBitCast(magnitude, float_type), llvm::ConstantFP::get(float_type, 0.5));
  Value* subnormal = b.CreateSub(Bits(b, sum), Constant(bits, 0x3f000000));
  Value* finite =
      b.CreateSelect(b.CreateICmpULT(magnitude, Constant(bits, 0x38800000)), subnormal, normal);
  // 65520 and up round to infinity.
  Value* bounded = b.CreateSelect(b.CreateICmpUGE(magnitude, Constant(bits, 0x477ff000)),
                                  Constant(bits, 0x7c00), finite);
  Value* result = b.CreateSelect(b.CreateICmpUGT(magnitude, Constant(bits, kFloatInfinity)),
                                 Constant(bits, 0x7e00), bounded);
  return b.CreateTrunc(b.CreateOr(result, sign), Like(value, b.getInt16Ty()));
}

Value* BfloatToFloat(IRBuilder<>& b, Value* bfloat) {
  Value* bits = b.CreateZExt(bfloat, Like(bfloat, b.getInt32Ty()));
  return b.CreateBitCast(b.CreateShl(bits, 16), Like(bfloat, b.getFloatTy()));
}

Value* FloatToBfloat(IRBuilder<>& b, Value* value) {
  Value* bits = Bits(b, value);
  Value* high = b.CreateLShr(bits, 16);
  Value* odd = b.CreateAnd(high, Constant(bits, 1));
  Value* rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(bits, Constant(bits, 0x7fff)), odd), 16);
  Value* quiet = b.CreateOr(high, Constant(bits, 0x40));
  Value* result = b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded);
  return b.CreateTrunc(result, Like(value, b.getInt16Ty()));
}

Value* DoubleToFloatForNarrowing(IRBuilder<>& b, Value* value) {
  // Twelve bits of the mantissa, the last of which says whether anything was cut off, decide every
  // rounding to eleven bits or fewer; and a float holds them exactly wherever the narrow result is
  // not zero.
  constexpr uint64_t kCut = (uint64_t{1} << 40) - 1;
  Value* bits = Bits(b, value);
  Value* inexact = b.CreateICmpNE(b.CreateAnd(bits, Constant(bits, kCut)), Constant(bits, 0));
  Value* kept = b.CreateAnd(bits, Constant(bits, ~kCut));
  Value* sticky = b.CreateShl(b.CreateZExt(inexact, bits->getType()), 40);
  Value* marked = b.CreateBitCast(b.CreateOr(kept, sticky), value->getType());
  return b.CreateFPTrunc(marked, Like(value, b.getFloatTy()));
}

}  // namespace tern::codegen
