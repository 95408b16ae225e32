// SPDX-License-Identifier: Apache-2.0
//
// Weights of 4 bits, unpacked to 16-bit floats. Both of a byte are computed in the halves of a
// register, with the same bits:
//
//   for e in 0..2 { W[i + e] = float16(float32((byte >> e * 4 & 15) - zero) * float32(scale)) }
//
// becomes a permutation of bytes, bits of 1024 + code (bfloat16: 128 + code), which are exact, a
// subtraction, exact too, and a multiplication, which rounds as the conversion of the product of
// float32 does.
#include <fmt/format.h>

#include "tern/arith/analyzer.h"
#include "tern/backend/cuda/codegen/codegen_cuda.h"
#include "tern/backend/cuda/codegen/gpu_kind.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/visitor.h"
#include "tern/target/target.h"

namespace tern::backend::cuda {

using codegen::Precedence;
using ir::Expr;

namespace {

constexpr int64_t kMostZero = 15, kWordBytes = 4;

std::string Definition(DataType dtype) {
  bool is_half = dtype == DataType::Float(16);
  std::string type = is_half ? "f16" : "bf16", magic = is_half ? "0x64006400" : "0x43004300";
  auto instruction = [&](const std::string& name, const std::string& operand,
                         const std::string& third) {
    return fmt::format("  asm(\"{}.rn.{}x2 %0, %1, %2{};\" : \"=r\"(both) : \"r\"(both), {}{});\n",
                       name, type, third.empty() ? "" : ", %3", operand,
                       third.empty() ? "" : ", " + third);
  };
  std::string subtract =
      is_half ? instruction("sub", "\"r\"(0x64006400u + zeros)", "")
              : instruction("fma", "\"r\"(0x3f803f80u)", "\"r\"(0xc300c300u + zeros)");
  std::string multiply = is_half ? instruction("mul", "\"r\"(scales)", "")
                                 : instruction("fma", "\"r\"(scales)", "\"r\"(0x80008000u)");
  return fmt::format(
      "static __device__ __forceinline__ unsigned int tern_unpack_{}(unsigned int word, int bytes, "
      "int zero, unsigned short scale) {{\n"
      "  unsigned int zeros = (unsigned int)zero * 0x10001u, scales = __byte_perm(scale, 0, "
      "0x1010);\n"
      "  unsigned int both = __byte_perm(word, word >> 4, bytes);\n"
      "  asm(\"lop3.b32 %0, %1, %2, %3, 234;\" : \"=r\"(both) : \"r\"(both), \"n\"(0x000f000f), "
      "\"n\"({}));\n"
      "{}{}  return both;\n}}\n",
      type, magic, subtract, multiply);
}

// Without conversions between integers that hold all values.
Expr Plain(Expr value) {
  for (const auto* cast = value.As<ir::CastNode>();
       cast && cast->dtype.is_integer() && cast->value.dtype().is_integer() &&
       cast->dtype.bits() >= cast->value.dtype().bits();
       cast = value.As<ir::CastNode>())
    value = Expr(cast->value);
  return value;
}
// x & 15
const ir::CallNode* Nibble(const Expr& value) {
  const auto* call = value.As<ir::CallNode>();
  return call && call->name == "bit_and" && ir::IsConst(call->args[1], kMostZero) ? call : nullptr;
}
// The second element may be computed of what the first one was stored to.
bool ReadsMemoryOf(const Expr& value, const ir::Buffer& buffer) {
  bool reads = false;
  ir::ForEachExpr(value, [&](const Expr& e) {
    const auto* load = e.As<ir::BufferLoadNode>();
    reads |= load && load->buffer->data.same(buffer->data);
  });
  return reads;
}
// What is converted to float32 of a type.
Expr Widened(const Expr& value, bool of_integer) {
  const auto* cast = value.As<ir::CastNode>();
  bool fits =
      cast && cast->dtype == DataType::Float(32) && cast->value.dtype().is_integer() == of_integer;
  return fits ? cast->value : Expr();
}

}  // namespace

bool CodeGenCuda::EmitLoop(const tir::ForNode* node) {
  const auto* store = node->body.As<tir::BufferStoreNode>();
  target::Target target = target::CurrentTarget();
  if (!store || !ir::IsConst(node->extent, 2) || !ir::IsConst(node->min, 0) || !target ||
      !HasTensorCores(target) || store->buffer->scope != ir::StorageScope::kLocal ||
      ReadsMemoryOf(store->value, store->buffer))
    return false;
  DataType dtype = store->buffer->dtype;
  const auto* rounded = store->value.As<ir::CastNode>();
  const auto* product = rounded ? rounded->value.As<ir::MulNode>() : nullptr;
  bool fits = product && product->dtype == DataType::Float(32) &&
              (dtype == DataType::Float(16) || dtype == DataType::Bfloat16());
  if (!fits) return false;
  arith::Analyzer analyzer;
  auto at = [&](const Expr& value, int64_t e) {
    Expr number = ir::IntImmNode::Make(node->var.dtype(), e);
    return analyzer.Simplify(ir::Substitute(value, {{node->var.node(), number}}));
  };
  auto is_fixed = [&](const Expr& value) { return !ir::UsesVar(value, node->var.node()); };
  Expr first = at(store->indices[0], 0);
  arith::ModularSet places = analyzer.Modular(first);
  bool is_pair = ir::IsConst(analyzer.Simplify(at(store->indices[0], 1) - first), 1) &&
                 places.knows_remainder(2) && places.base % 2 == 0;
  if (!is_pair) return false;
  for (bool swapped : {false, true}) {
    Expr difference = Widened(swapped ? product->b : product->a, true),
         scale = Widened(swapped ? product->a : product->b, false);
    if (!difference || !scale || scale.dtype() != dtype || !is_fixed(scale)) continue;
    Expr zero(0), code = difference;
    if (const auto* sub = difference.As<ir::SubNode>()) {
      if (!difference.dtype().is_int()) continue;  // it wraps
      code = sub->a;
      zero = sub->b;
    }
    Expr nibble = Plain(code), zero_point = Plain(zero);
    const ir::CallNode *masked = Nibble(nibble), *masked_zero = Nibble(zero_point);
    auto constant = ir::AsConstInt(zero_point);
    if (!masked || !is_fixed(zero)) continue;
    if (!masked_zero && !(constant && *constant >= 0 && *constant <= kMostZero)) continue;
    Expr field = Plain(masked->args[0]);
    const auto* shifted = field.As<ir::CallNode>();
    if (!shifted || shifted->name != "shift_right" || !ir::IsConst(at(shifted->args[1], 0), 0) ||
        !ir::IsConst(at(shifted->args[1], 1), 4))
      continue;
    Expr byte = Plain(shifted->args[0]);
    const auto* load = byte.As<ir::BufferLoadNode>();
    if (!load || load->dtype != DataType::UInt(8) || !is_fixed(byte)) continue;
    std::string bits = ElementBits(scale), word;
    if (bits.empty()) continue;
    // A byte of a word of registers.
    int64_t place = 0;
    auto number = ir::AsConstInt(load->indices[0]);
    auto size = ir::AsConstInt(load->buffer->shape[0]);
    if (load->buffer->scope == ir::StorageScope::kLocal && number && size &&
        *number / kWordBytes * kWordBytes + kWordBytes <= *size) {
      place = *number % kWordBytes;
      word = fmt::format("*(const unsigned int*)({} + {})", NameOf(load->buffer), *number - place);
    } else {
      word = Print(byte, Precedence::kConditional);
    }
    std::string name = dtype == DataType::Float(16) ? "tern_unpack_f16" : "tern_unpack_bf16";
    Line(fmt::format("*(unsigned int*)({} + {}) = {}({}, {:#x}, {}, {});", NameOf(store->buffer),
                     Print(first, Precedence::kAdditive), UseHelper(name, Definition(dtype)), word,
                     place * 0x1111 + 0x4400, Print(zero, Precedence::kConditional), bits));
    return true;
  }
  return false;
}

}  // namespace tern::backend::cuda
