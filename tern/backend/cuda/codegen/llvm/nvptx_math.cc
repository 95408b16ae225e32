// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/codegen/llvm/nvptx_math.h"

#include "tern/backend/cuda/codegen/nvptx_kind.h"
#include "tern/codegen/llvm/llvm_intrinsics.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/math/expr_builder.h"

namespace tern::backend::cuda {
namespace {

using ir::Expr;
using tir::math::Call;
using tir::math::Const;
using tir::math::Lets;

// Off by 2^-22 of the result at most.
constexpr const char *kPower = "llvm.nvvm.ex2.approx",
                     *kPowerOrZero = "llvm.nvvm.ex2.approx.ftz";  // subnormals are 0

Expr PowerOfTwo(const char* intrinsic, const Expr& x) {
  return ir::CallNode::Make(codegen::kLLVMCallPure, {ir::StringImmNode::Make(intrinsic), x},
                            x.dtype());
}

// exp(x) = 2^n * 2^(x * log2(e) - n). The rest is a small number where x is one with a finite
// result, and makes the result what it is where x is not: infinite, 0 or NaN.
Expr Exp(const Expr& x) {
  constexpr double kLog2E = 0x1.715476p0, kLog2ERest = 1.9259629911266175e-8;
  constexpr double kToInteger = 0x1.8p23;  // added, what is behind the point is rounded off
  constexpr double kLeast = -104, kMost = 127;
  Lets let;
  Expr low = let(tir::math::Max(x, Const(x, kLeast)));
  Expr whole = Call("fma", {low, Const(x, kLog2E), Const(x, kToInteger)}) - Const(x, kToInteger);
  Expr n = let(tir::math::Min(whole, Const(x, kMost)));
  Expr rest = let(Call("fma", {x, Const(x, kLog2E), Const(x, -1) * n}));
  Expr exact = Call("fma", {x, Const(x, kLog2ERest), rest});
  return let.In(PowerOfTwo(kPowerOrZero, exact) * PowerOfTwo(kPower, n));
}

void Register(const char* function, Expr (*rule)(const Expr&)) {
  tir::RegisterLoweringRule(function, kNvptx, [rule](const ir::CallNode* call) {
    const Expr& x = call->args[0];
    return x.dtype() == DataType::Float(32) ? rule(x) : Expr();
  });
}

}  // namespace

void RegisterNvptxMath() {
  Register("exp", Exp);
  Register("exp2", [](const Expr& x) { return PowerOfTwo(kPower, x); });
}

}  // namespace tern::backend::cuda
