// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/int_value.h"

#include <algorithm>

#include "tern/ffi/error.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

[[noreturn]] void Overflow(const IntExpr& expr) {
  throw Error("ValueError", PrintIntExpr(expr) + ": the value does not fit in 64 bits");
}

int64_t Divide(const IntExpr& expr, IntOp op, int64_t a, int64_t b) {
  bool is_mod = op == IntOp::kFloorMod || op == IntOp::kTruncMod;
  if (b == 0) throw Error("ValueError", PrintIntExpr(expr) + ": division by zero");
  if (b == -1) {  // the one divisor that overflows
    int64_t negated = 0;
    if (is_mod) return 0;
    if (__builtin_sub_overflow(int64_t{0}, a, &negated)) Overflow(expr);
    return negated;
  }
  int64_t quotient = a / b, remainder = a % b;
  bool is_floor = op == IntOp::kFloorDiv || op == IntOp::kFloorMod;
  if (is_floor && remainder != 0 && (remainder < 0) != (b < 0)) {
    --quotient;
    remainder += b;
  }
  return is_mod ? remainder : quotient;
}

int64_t Apply(const IntExpr& expr, IntOp op, int64_t a, int64_t b) {
  int64_t value = 0;
  bool overflows = false;
  switch (op) {
    case IntOp::kAdd:
      overflows = __builtin_add_overflow(a, b, &value);
      break;
    case IntOp::kSub:
      overflows = __builtin_sub_overflow(a, b, &value);
      break;
    case IntOp::kMul:
      overflows = __builtin_mul_overflow(a, b, &value);
      break;
    case IntOp::kMin:
      return std::min(a, b);
    case IntOp::kMax:
      return std::max(a, b);
    case IntOp::kEq:
      return a == b;
    case IntOp::kNe:
      return a != b;
    case IntOp::kLt:
      return a < b;
    case IntOp::kLe:
      return a <= b;
    case IntOp::kAnd:
      return a != 0 && b != 0;
    case IntOp::kOr:
      return a != 0 || b != 0;
    default:
      return Divide(expr, op, a, b);
  }
  if (overflows) Overflow(expr);
  return value;
}

}  // namespace

int64_t ComputeInt(const IntExpr& expr, const int64_t* registers) {
  int64_t stack[kMaxIntDepth];
  size_t size = 0;
  for (const IntToken& token : expr.tokens) {
    switch (token.op) {
      case IntOp::kConst:
        stack[size++] = token.value;
        break;
      case IntOp::kRegister:
        stack[size++] = registers[token.value];
        break;
      case IntOp::kNot:
        stack[size - 1] = stack[size - 1] == 0;
        break;
      case IntOp::kSelect:
        size -= 2;
        stack[size - 1] = stack[size - 1] != 0 ? stack[size] : stack[size + 1];
        break;
      default:
        --size;
        stack[size - 1] = Apply(expr, token.op, stack[size - 1], stack[size]);
    }
  }
  return stack[0];
}

}  // namespace tern::runtime::vm
