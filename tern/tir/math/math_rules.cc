// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "tern/ir/intrinsic.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/functions.h"

namespace tern::tir::math {
namespace {

using Unary = Expr (*)(const Expr&);
using Binary = Expr (*)(const Expr&, const Expr&);

const std::pair<const char*, Unary> kUnary[] = {
    {"exp", Exp},
    {"exp2", Exp2},
    {"expm1", Expm1},
    {"sigmoid", Sigmoid},
    {"sinh", Sinh},
    {"cosh", Cosh},
    {"tanh", Tanh},
    {"erf", Erf},
    {"log", Log},
    {"log2", Log2},
    {"log10", Log10},
    {"log1p", Log1p},
    {"sin", Sin},
    {"cos", Cos},
    {"tan", Tan},
    {"asin", Asin},
    {"acos", Acos},
    {"atan", Atan},
    {"floor", Floor},
    {"ceil", Ceil},
    {"trunc", Trunc},
    {"round", Round},
    {"abs", Abs},
    {"popcount", PopCount},
    {"clz", CountLeadingZeros},
    {"ctz", CountTrailingZeros},
    {"rsqrt", [](const Expr& x) { return Const(x, 1) / Call("sqrt", {x}); }},
    {"isnan", [](const Expr& x) { return x != x; }},
    {"isinf",
     [](const Expr& x) {
       return Equal(Call("abs", {x}), Const(x, std::numeric_limits<double>::infinity()));
     }},
    {"isfinite",
     [](const Expr& x) {
       return Less(Call("abs", {x}), Const(x, std::numeric_limits<double>::infinity()));
     }},
};
const std::pair<const char*, Binary> kBinary[] = {
    {"pow", Pow}, {"atan2", Atan2}, {"copysign", CopySign}};

}  // namespace

Expr OfNarrowFloats(const ir::CallNode* call) {
  // The exact product and the sum would be rounded twice.
  if (call->name == "fma") return Fma(call->args[0], call->args[1], call->args[2]);
  DataType dtype = call->args[0].dtype();
  std::vector<Expr> args;
  for (const Expr& arg : call->args) args.push_back(Cast(DataType::Float(32, dtype.lanes()), arg));
  Expr result = ir::CallNode::Make(call->name, args, DataType::Void(), call->span);
  return call->dtype.is_bool() ? result : Cast(dtype, result);
}

// The sum of products of four bytes, unsigned ones of a and signed ones of b.
Expr Dot4(const Expr& a, const Expr& b, Expr sum) {
  for (int byte = 0; byte < 4; ++byte) {
    Expr left = Call("bit_and", {Call("shift_right", {a, Const(a, 8 * byte)}), Const(a, 255)});
    Expr top = Call("shift_left", {b, Const(b, 24 - 8 * byte)});
    sum = sum + left * Call("shift_right", {top, Const(b, 24)});
  }
  return sum;
}

void RegisterMathRules() {
  for (const auto& [name, function] : kUnary)
    RegisterLoweringRule(name, "", [function = function](const ir::CallNode* call) {
      return function(call->args[0]);
    });
  for (const auto& [name, function] : kBinary)
    RegisterLoweringRule(name, "", [function = function](const ir::CallNode* call) {
      return function(call->args[0], call->args[1]);
    });
  RegisterLoweringRule("fma", "", [](const ir::CallNode* call) {
    return Fma(call->args[0], call->args[1], call->args[2]);
  });
  RegisterLoweringRule("dot4", "", [](const ir::CallNode* call) {
    return Dot4(call->args[0], call->args[1], call->args[2]);
  });
  // Where nothing is done about it.
  RegisterLoweringRule("streamed", "", [](const ir::CallNode* call) { return call->args[0]; });
  for (const std::string& name : ir::IntrinsicNames())
    if (const ir::Intrinsic* intrinsic = ir::FindIntrinsic(name);
        intrinsic->lane_wise && intrinsic->one_type)
      RegisterLoweringRule(name, "", [](const ir::CallNode* call) {
        return call->args[0].dtype().is_narrow_float() ? OfNarrowFloats(call) : Expr();
      });
}

}  // namespace tern::tir::math
