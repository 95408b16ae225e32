// SPDX-License-Identifier: Apache-2.0
//
// Vectors of two integers of 16 bits in a register. Machines from sm_90 on add and compare both
// halves at once, and ptxas makes one instruction of an addition and the comparison behind it
// (VIADDMNMX); for older ones the halves are written out.
#include <fmt/format.h>

#include "tern/backend/cuda/codegen/codegen_cuda.h"
#include "tern/backend/cuda/codegen/gpu_kind.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/analysis/vector_move.h"
#include "tern/tir/intrinsics.h"

namespace tern::backend::cuda {

using codegen::Code;
using codegen::Precedence;
using ir::Expr;
using ir::ExprKind;

namespace {

constexpr int64_t kBytes = 4;

bool TakesPackedCall(const ir::CallNode* call) {
  if (call->name == tir::intrinsic::kReinterpret)
    return call->args[0].dtype().is_scalar() || IsPacked(call->args[0].dtype());
  return call->name == "bit_and" || call->name == "bit_or" || call->name == "bit_xor" ||
         call->name == "bit_not" || call->name == ir::kIfThenElse;
}

// A function of two words: an instruction for both halves, or an expression of each half, x and y.
std::string Definition(const std::string& name, const std::string& instruction,
                       const std::string& type, const std::string& half) {
  return fmt::format(
      "static __device__ __forceinline__ unsigned int {0}(unsigned int a, unsigned int b) {{\n"
      "  unsigned int both;\n"
      "#if __CUDA_ARCH__ >= 900\n"
      "  asm(\"{1} %0, %1, %2;\" : \"=r\"(both) : \"r\"(a), \"r\"(b));\n"
      "#else\n"
      "  both = 0;\n"
      "  for (int i = 0; i < 32; i += 16) {{\n"
      "    {2} x = ({2})(a >> i), y = ({2})(b >> i);\n"
      "    both |= (unsigned int)(unsigned short)({3}) << i;\n"
      "  }}\n"
      "#endif\n"
      "  return both;\n"
      "}}\n",
      name, instruction, type, half);
}

// b of a sum that is a - b: of a constant, which has an opposite.
Expr Opposite(const Expr& b) {
  const auto* broadcast = b.As<ir::BroadcastNode>();
  auto value = broadcast ? ir::AsConstInt(broadcast->value) : std::nullopt;
  if (!value) return {};
  DataType dtype = broadcast->value.dtype();
  int64_t opposite =
      dtype.is_uint() ? static_cast<uint16_t>(-*value) : static_cast<int16_t>(-*value);
  return ir::BroadcastNode::Make(ir::MakeConst(dtype, opposite), b.dtype().lanes(), b.span());
}

bool IsZero(const Expr& vector) {
  const auto* broadcast = vector.As<ir::BroadcastNode>();
  return broadcast && ir::IsConst(broadcast->value, 0);
}

}  // namespace

bool IsPacked(DataType dtype) {
  return dtype.is_integer() && !dtype.is_bool() && !dtype.is_scalable() && dtype.bits() == 16 &&
         dtype.lanes() == 2;
}

bool TakesPacked(const Expr& vector) {
  if (const auto* ramp = vector.As<ir::RampNode>())  // as an index: no value is made of it
    return ramp->dtype.lanes() == 2 && ir::IsConst(ramp->stride, 1) && !IsPacked(ramp->dtype);
  if (!IsPacked(vector.dtype())) return false;
  if (const auto* load = vector.As<ir::BufferLoadNode>())
    return tir::IsAlignedVector(load->buffer, load->indices, kBytes);
  if (const auto* call = vector.As<ir::CallNode>()) return TakesPackedCall(call);
  if (const auto* select = vector.As<ir::SelectNode>())
    return select->condition.dtype().is_scalar();
  switch (vector->kind) {
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kVar:
    case ExprKind::kLet:
    case ExprKind::kBroadcast:
    case ExprKind::kShuffle:
      return true;
    default:
      return false;
  }
}

std::string CodeGenCuda::PackedFunction(const std::string& operation, DataType dtype) {
  std::string type = dtype.is_uint() ? "u16x2" : "s16x2", name = "tern_" + operation + "_" + type;
  std::string half = dtype.is_uint() ? "unsigned short" : "short";
  if (operation == "add") return UseHelper(name, Definition(name, "add." + type, half, "x + y"));
  if (operation == "max_relu")
    return UseHelper(name, Definition(name, "max." + type + ".relu", half,
                                      "x > y ? x > 0 ? x : 0 : y > 0 ? y : 0"));
  return UseHelper(name, Definition(name, operation + "." + type, half,
                                    operation == "min" ? "x < y ? x : y" : "x > y ? x : y"));
}

Code CodeGenCuda::PrintArithmetic(const char* token, Precedence level, const Expr& a,
                                  const Expr& b) {
  if (std::string sum = *token == '+' ? PrintOnePlusErf(a, b) : ""; !sum.empty()) return {sum};
  if (!IsPacked(a.dtype())) return CodeGenC::PrintArithmetic(token, level, a, b);
  std::string add = PackedFunction("add", a.dtype()), left = Print(a).text;
  bool subtracts = *token == '-';
  if (Expr opposite = subtracts ? Opposite(b) : b)
    return {fmt::format("{}({}, {})", add, left, Print(opposite).text)};
  return {fmt::format("{0}({1}, {0}(~{2}, 0x10001u))", add, left, Print(b, Precedence::kUnary))};
}

Code CodeGenCuda::PrintPackedMinMax(ExprKind kind, const Expr& a, const Expr& b) {
  const auto* inner = a.As<ir::MaxNode>();
  bool is_relu = kind == ExprKind::kMax && a.dtype().is_int() && inner && IsZero(b);
  const Expr &first = is_relu ? inner->a : a, &second = is_relu ? inner->b : b;
  std::string left = Print(first).text;
  return {fmt::format("{}({}, {})",
                      PackedFunction(kind == ExprKind::kMin ? "min"
                                     : is_relu              ? "max_relu"
                                                            : "max",
                                     a.dtype()),
                      left, Print(second).text)};
}

Code CodeGenCuda::PrintBroadcast(const ir::BroadcastNode* node) {
  if (!IsPacked(node->dtype)) return CodeGenC::PrintBroadcast(node);
  if (auto value = ir::AsConstInt(node->value))
    return {fmt::format("{:#x}u", static_cast<uint32_t>(*value & 0xffff) * 0x10001u)};
  return {"(unsigned int)(unsigned short)" + Print(node->value, Precedence::kUnary) + " * 0x10001u",
          Precedence::kMultiplicative};
}

// Halves are put together, or one of them is taken.
Code CodeGenCuda::PrintShuffle(const ir::ShuffleNode* node) {
  std::vector<std::string> halves;
  for (int64_t index : node->indices)
    for (const Expr& vector : node->vectors) {
      int64_t lanes = vector.dtype().lanes();
      if (index >= lanes) {
        index -= lanes;
        continue;
      }
      std::string from = Print(vector, Precedence::kUnary);
      halves.push_back(
          fmt::format("(unsigned short)({} >> {})", from, lanes == 1 ? 0 : index * 16));
      break;
    }
  if (node->dtype.is_scalar())
    return {"(" + ValueType(node->dtype) + ")" + halves[0], Precedence::kUnary};
  return {fmt::format("({} | (unsigned int){} << 16)", halves[0], halves[1])};
}

}  // namespace tern::backend::cuda
