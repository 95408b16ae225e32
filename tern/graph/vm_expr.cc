// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/vm_expr.h"

#include "tern/ir/visitor.h"
#include "tern/tir/text.h"

namespace tern::graph {
namespace {

namespace vm = runtime::vm;
using ir::Expr;

class Translation {
 public:
  explicit Translation(const DimRegisters& dims) : dims_(dims) {}

  void Append(const Expr& expr, vm::IntExpr* out) const {
    if (std::optional<int64_t> constant = ir::AsConstInt(expr)) {
      out->tokens.push_back({vm::IntOp::kConst, *constant});
      return;
    }
    if (const auto* var = expr.As<ir::VarNode>()) {
      auto it = dims_.find(var);
      TERN_ICHECK(it != dims_.end()) << "extent " << var->name << " is told by no input";
      out->tokens.push_back({vm::IntOp::kRegister, it->second});
      return;
    }
    if (const auto* node = expr.As<ir::SelectNode>()) {
      Append(node->condition, out);
      Append(node->true_value, out);
      Append(node->false_value, out);
      out->tokens.push_back({vm::IntOp::kSelect, 0});
      return;
    }
    if (const auto* node = expr.As<ir::NotNode>()) {
      Append(node->a, out);
      out->tokens.push_back({vm::IntOp::kNot, 0});
      return;
    }
    auto is_integral = [](DataType dtype) { return dtype.is_integer() || dtype.is_bool(); };
    if (const auto* node = expr.As<ir::CastNode>();
        node && is_integral(node->value.dtype()) && is_integral(expr.dtype())) {
      Append(node->value, out);
      if (!expr.dtype().is_bool() || node->value.dtype().is_bool()) return;
      out->tokens.push_back({vm::IntOp::kConst, 0});
      out->tokens.push_back({vm::IntOp::kNe, 0});
      return;
    }
    AppendBinary(expr, out);
  }

  void AppendBinary(const Expr& expr, vm::IntExpr* out) const {
    auto append = [&](const auto* node, vm::IntOp op, bool swapped = false) {
      if (!node) return false;
      Append(swapped ? node->b : node->a, out);
      Append(swapped ? node->a : node->b, out);
      out->tokens.push_back({op, 0});
      return true;
    };
    using Op = vm::IntOp;
    bool known =
        append(expr.As<ir::AddNode>(), Op::kAdd) || append(expr.As<ir::SubNode>(), Op::kSub) ||
        append(expr.As<ir::MulNode>(), Op::kMul) ||
        append(expr.As<ir::FloorDivNode>(), Op::kFloorDiv) ||
        append(expr.As<ir::FloorModNode>(), Op::kFloorMod) ||
        append(expr.As<ir::TruncDivNode>(), Op::kTruncDiv) ||
        append(expr.As<ir::TruncModNode>(), Op::kTruncMod) ||
        append(expr.As<ir::MinNode>(), Op::kMin) || append(expr.As<ir::MaxNode>(), Op::kMax) ||
        append(expr.As<ir::EQNode>(), Op::kEq) || append(expr.As<ir::NENode>(), Op::kNe) ||
        append(expr.As<ir::LTNode>(), Op::kLt) || append(expr.As<ir::LENode>(), Op::kLe) ||
        append(expr.As<ir::GTNode>(), Op::kLt, true) ||
        append(expr.As<ir::GENode>(), Op::kLe, true) || append(expr.As<ir::AndNode>(), Op::kAnd) ||
        append(expr.As<ir::OrNode>(), Op::kOr);
    TERN_CHECK(known) << "the extent " << tir::Print(expr) << " cannot be computed by a program";
  }

 private:
  const DimRegisters& dims_;
};

}  // namespace

bool IsKnownIn(const DimRegisters& dims, const Expr& expr) {
  bool known = true;
  ir::ForEachExpr(expr, [&](const Expr& part) {
    if (const auto* var = part.As<ir::VarNode>()) known = known && dims.contains(var);
  });
  return known;
}

vm::IntExpr ToVm(const DimRegisters& dims, const Expr& expr) {
  vm::IntExpr result;
  Translation(dims).Append(expr, &result);
  return result;
}

std::vector<vm::IntExpr> ToVm(const DimRegisters& dims, const std::vector<Expr>& shape) {
  std::vector<vm::IntExpr> result;
  for (const Expr& extent : shape) result.push_back(ToVm(dims, extent));
  return result;
}

}  // namespace tern::graph
