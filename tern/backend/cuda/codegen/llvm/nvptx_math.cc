// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/codegen/llvm/nvptx_math.h"

#include "tern/backend/cuda/codegen/nvptx_kind.h"
#include "tern/codegen/llvm/llvm_intrinsics.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/math/machine_power.h"

namespace tern::backend::cuda {
namespace {

using ir::Expr;

// Off by 2^-22.5 of the result at most.
constexpr const char *kPower = "llvm.nvvm.ex2.approx",
                     *kPowerOrZero = "llvm.nvvm.ex2.approx.ftz";  // subnormals are 0
constexpr const char* kReciprocal = "llvm.nvvm.rcp.approx.ftz.f";
constexpr const char* kSaturatedFma = "llvm.nvvm.fma.rn.sat.f";  // 0 for NaN

Expr Instruction(const char* intrinsic, std::vector<Expr> args) {
  DataType dtype = args[0].dtype();
  args.insert(args.begin(), ir::StringImmNode::Make(intrinsic));
  return ir::CallNode::Make(codegen::kLLVMCallPure, std::move(args), dtype);
}

tir::math::MachinePower Machine() {
  return {.power = [](const Expr& x) { return Instruction(kPowerOrZero, {x}); },
          .saturated_fma =
              [](const Expr& x, const Expr& scale, const Expr& offset) {
                return Instruction(kSaturatedFma, {x, scale, offset});
              },
          .reciprocal = [](const Expr& x) { return Instruction(kReciprocal, {x}); }};
}

void Register(const char* function, Expr (*rule)(const Expr&)) {
  tir::RegisterLoweringRule(function, kNvptx, [rule](const ir::CallNode* call) {
    const Expr& x = call->args[0];
    return x.dtype() == DataType::Float(32) ? rule(x) : Expr();
  });
}

}  // namespace

void RegisterNvptxMath() {
  Register("exp", [](const Expr& x) { return ExpByPower(x, Machine()); });
  Register("exp2", [](const Expr& x) { return Instruction(kPower, {x}); });
  Register("erf", [](const Expr& x) { return ErfByPower(x, Machine()); });
  Register("tanh", [](const Expr& x) { return TanhByPower(x, Machine()); });
}

}  // namespace tern::backend::cuda
