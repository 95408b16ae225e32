// SPDX-License-Identifier: Apache-2.0
//
// Calls of KernelWriter.
#include <fmt/format.h>

#include <map>

#include "tern/backend/webgpu/codegen/kernel_writer.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/intrinsics.h"

namespace tern::backend::webgpu {

KernelWriter::Value KernelWriter::EmitNode(const ir::CallNode* node) {
  if (node->name == ir::kIfThenElse) return EmitIfThenElse(node);
  if (node->name == tir::intrinsic::kReinterpret)
    return Reinterpret(Emit(node->args[0]), node->args[0].dtype(), node->dtype);
  Value result;
  if (EmitBitOperator(node, &result) || EmitMath(node, &result)) return result;
  Refuse("calls " + node->name + ", for which " + target_->kind->name + " has no code");
}

bool KernelWriter::EmitBitOperator(const ir::CallNode* node, Value* result) {
  static const std::map<std::string, const char*> kOperators = {
      {"bit_and", "&"}, {"bit_or", "|"}, {"bit_xor", "^"}};
  if (node->name == "shift_left" || node->name == "shift_right") {
    *result = Shift(node);
    return true;
  }
  if (node->name == "bit_not") {
    *result = Wrap({"~" + Operand(node->args[0]), false}, node->dtype);
    return true;
  }
  auto it = kOperators.find(node->name);
  if (it == kOperators.end()) return false;
  std::string first = Operand(node->args[0]);
  *result = {fmt::format("{} {} {}", first, it->second, Operand(node->args[1])), false};
  return true;
}

KernelWriter::Value KernelWriter::Shift(const ir::CallNode* node) {
  DataType dtype = node->dtype, count_type = node->args[1].dtype();
  bool is_left = node->name == "shift_left";
  Value value = AtRunTime(Emit(node->args[0]), dtype);
  Value count = count_type.bits() == 64
                    ? LowWord(node->args[1])
                    : Convert(Emit(node->args[1]), count_type, DataType::UInt(32));
  if (std::optional<int64_t> constant = ir::AsConstInt(node->args[1]))
    count = Literal(DataType::UInt(32), *constant);
  if (dtype.bits() == 64)
    return Call(is_left          ? "shift_left"
                : dtype.is_int() ? "shift_right_i64"
                                 : "shift_right_u64",
                {value, count});
  return Wrap(
      {fmt::format("{} {} {}", Operand(value), is_left ? "<<" : ">>", Operand(count)), false},
      dtype);
}

// What is exact, or as exact as the arithmetic itself.
bool KernelWriter::EmitMath(const ir::CallNode* node, Value* result) {
  static const std::map<std::string, const char*> kFunctions = {{"sqrt", "sqrt"},
                                                                {"floor", "floor"},
                                                                {"ceil", "ceil"},
                                                                {"abs", "abs"},
                                                                {"round", "round"},
                                                                {"trunc", "trunc"},
                                                                {"popcount", "countOneBits"},
                                                                {"clz", "countLeadingZeros"}};
  auto it = kFunctions.find(node->name);
  if (it == kFunctions.end()) return false;
  DataType dtype = node->args[0].dtype();
  Value value = AtRunTime(Emit(node->args[0]), dtype);
  if (dtype.bits() != 64) {
    *result = {fmt::format("{}({})", it->second, value.text)};
    return true;
  }
  Value words =
      node->name == "popcount" ? Call("count_ones", {value}) : Call("leading_zeros", {value});
  *result = Convert(words, DataType::UInt(32), dtype);
  return true;
}

}  // namespace tern::backend::webgpu
