// SPDX-License-Identifier: Apache-2.0
//
// Types, constants and conversions of KernelWriter.
#include <fmt/format.h>

#include <bit>

#include "tern/backend/webgpu/codegen/kernel_writer.h"

namespace tern::backend::webgpu {

namespace {

bool IsWide(DataType dtype) { return dtype.is_integer() && dtype.bits() == 64; }

}  // namespace

std::string KernelWriter::ValueType(DataType dtype) const {
  TERN_ICHECK(dtype.is_scalar()) << dtype.str() << " was not lowered: vectors are made of scalars";
  if (dtype.is_bool()) return "bool";
  if (IsWide(dtype)) return "vec2<u32>";
  if (dtype.is_integer()) return dtype.is_int() ? "i32" : "u32";
  TERN_ICHECK(dtype.is_float()) << dtype.str() << " as a value in a kernel";
  if (dtype.bits() == 64)
    Refuse("has values of " + dtype.str() + ", which WGSL does not have; compute in float32");
  return "f32";
}

KernelWriter::Value KernelWriter::Literal(DataType dtype, int64_t value) const {
  if (dtype.is_bool()) return {value ? "true" : "false"};
  auto bits = static_cast<uint64_t>(value);
  if (IsWide(dtype))
    return {fmt::format("vec2<u32>({}u, {}u)", bits & 0xffffffff, bits >> 32), true, true};
  if (dtype.is_uint()) return {fmt::format("{}u", bits & 0xffffffff), true, true};
  // A minus is an operator, and the least number has no positive one.
  if (value == INT32_MIN) return {"-2147483647i - 1i", false, true};
  return {fmt::format("{}i", value), value >= 0, true};
}

KernelWriter::Value KernelWriter::AtRunTime(const Value& value, DataType dtype) {
  if (!value.is_literal || IsWide(dtype)) return value;
  has_run_time_zero_ = true;
  Value bits = ToBits(value, dtype);
  return FromBits({fmt::format("{} | tern_zero", Operand(bits)), false}, dtype);
}

KernelWriter::Value KernelWriter::Opaque(const Value& value) {
  has_run_time_zero_ = true;
  return {fmt::format("bitcast<f32>(bitcast<u32>({}) | tern_zero)", value.text)};
}

KernelWriter::Value KernelWriter::Wrap(const Value& value, DataType dtype) {
  if (dtype.bits() >= 32 || dtype.is_bool()) return value;
  if (dtype.is_int()) return {fmt::format("extractBits({}, 0u, {}u)", value.text, dtype.bits())};
  return {fmt::format("{} & {}u", Operand(value), (1u << dtype.bits()) - 1), false};
}

KernelWriter::Value KernelWriter::Convert(const Value& given, DataType from, DataType to) {
  if (from == to) return given;
  Value value = AtRunTime(given, from);
  if (IsWide(from) || IsWide(to)) return ConvertWide(value, from, to);
  std::string type = ValueType(to);
  if (to.is_bool())
    return {
        fmt::format("{} != {}", Operand(value), from.is_float() ? "0.0f" : Literal(from, 0).text),
        false};
  // Rounded as memory would.
  if (to.is_float() && to.bits() == 16) {
    NoteFeature("shader-f16");
    return {fmt::format("f32(f16({}))", Convert(value, from, DataType::Float(32)).text)};
  }
  if (from.is_float() && to.is_float()) return value;
  if (from.is_bool())
    return {fmt::format("select({0}, {1}, {2})", to.is_float() ? "0.0f" : Literal(to, 0).text,
                        to.is_float() ? "1.0f" : Literal(to, 1).text, value.text)};
  Value converted{ValueType(from) == type ? value : Value{fmt::format("{}({})", type, value.text)}};
  if (to.is_float()) return converted;
  // A value that was extended as it should be needs nothing more.
  bool is_kept = !from.is_float() && to.bits() > from.bits() && (from.is_uint() || to.is_int());
  return is_kept ? converted : Wrap(converted, to);
}

// From and to integers of 64 bits.
KernelWriter::Value KernelWriter::ConvertWide(const Value& value, DataType from, DataType to) {
  if (IsWide(from) && IsWide(to)) return value;
  if (IsWide(to)) {
    if (from.is_float()) return Call(to.is_int() ? "f32_to_i64" : "f32_to_u64", {value});
    if (from.is_int()) return Call("i64", {value});
    Value word = Convert(value, from, DataType::UInt(32));
    return {fmt::format("vec2<u32>({}, 0u)", word.text)};
  }
  if (to.is_bool()) return {fmt::format("any({} != vec2<u32>(0u, 0u))", Operand(value))};
  if (to.is_float())
    return Convert(Call(from.is_int() ? "i64_to_f32" : "u64_to_f32", {value}), DataType::Float(32),
                   to);
  return Convert({Operand(value) + ".x"}, DataType::UInt(32), to);
}

KernelWriter::Value KernelWriter::ToBits(const Value& value, DataType dtype) {
  if (dtype.is_bool()) return {fmt::format("select(0u, 1u, {})", value.text)};
  if (IsWide(dtype) || dtype.is_uint()) return value;
  return {fmt::format("bitcast<u32>({})", value.text), true, value.is_literal};
}

// Bits above those of the type do not matter.
KernelWriter::Value KernelWriter::FromBits(const Value& bits, DataType dtype) {
  if (dtype.is_bool()) return {Operand(bits) + " != 0u", false};
  if (IsWide(dtype)) return bits;
  if (dtype.is_uint()) return dtype.bits() == 32 ? bits : Wrap(bits, dtype);
  Value value{fmt::format("bitcast<{}>({})", ValueType(dtype), bits.text)};
  return dtype.is_int() ? Wrap(value, dtype) : value;
}

KernelWriter::Value KernelWriter::Reinterpret(const Value& given, DataType from, DataType to) {
  if (from == to) return given;
  Value value = AtRunTime(given, from);
  // A half, and 16 bits of a word.
  if (from == DataType::Float(16)) {
    NoteFeature("shader-f16");
    return FromBits({fmt::format("bitcast<u32>(vec2<f16>(f16({}), 0.0h))", value.text)}, to);
  }
  Value bits = ToBits(value, from);
  if (to != DataType::Float(16)) return FromBits(bits, to);
  NoteFeature("shader-f16");
  return {fmt::format("f32(bitcast<vec2<f16>>({}).x)", bits.text)};
}

}  // namespace tern::backend::webgpu
