// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/math/expr_builder.h"

#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"

namespace tern::tir::math {

Expr IntConst(DataType dtype, int64_t bits) {
  Expr scalar = ir::IntImmNode::Make(dtype.element(), bits);
  return dtype.is_scalar() ? scalar : ir::BroadcastNode::Make(scalar, dtype.lanes());
}

Expr Reinterpret(DataType dtype, Expr x) {
  return ir::CallNode::Make(intrinsic::kReinterpret, {std::move(x)}, dtype);
}

Expr ShiftLeft(Expr x, int bits) { return Call("shift_left", {x, Const(x, bits)}); }
Expr ShiftRight(Expr x, int bits) { return Call("shift_right", {x, Const(x, bits)}); }

// Hosts compute the same whether they have the instruction or not.
static bool DeviceHasFma(const Expr& x) {
  target::Target target = target::CurrentTarget();
  if (!target || !target->is_device()) return false;
  Expr call = Call("fma", {x, x, x});
  return IsKept(call.As<ir::CallNode>(), target);
}

Expr Polynomial(const Expr& x, const std::vector<double>& coefficients) {
  Expr sum = Const(x, coefficients.back());
  bool has_fma = DeviceHasFma(x);
  for (size_t i = coefficients.size() - 1; i-- > 0;) {
    Expr next = Const(x, coefficients[i]);
    sum = has_fma ? Call("fma", {sum, x, next}) : sum * x + next;
  }
  return sum;
}

const FloatFormat& FormatOf(DataType dtype) {
  static const FloatFormat kFloat32 = {23, 127, 0x1.8p23}, kFloat64 = {52, 1023, 0x1.8p52};
  TERN_ICHECK(dtype.is_float() && dtype.bits() >= 32) << dtype.str();
  return dtype.bits() == 32 ? kFloat32 : kFloat64;
}

Expr PowerOfTwo(DataType dtype, const Expr& n) {
  const FloatFormat& format = FormatOf(dtype);
  return Reinterpret(dtype, ShiftLeft(n + Const(n, format.bias), format.mantissa_bits));
}

}  // namespace tern::tir::math
