// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/webgpu/codegen/helpers.h"

#include "tern/ffi/error.h"

namespace tern::backend::webgpu {
namespace {

struct Helper {
  const char* name;
  std::vector<const char*> uses;
  const char* text;  // "$" stands for vec2<u32>, "@" for "tern_"
};

const Helper kHelpers[] = {
    // ---- Integers of 64 bits.
    {"add", {}, R"(fn @add(a: $, b: $) -> $ {
  let low = a.x + b.x;
  return $(low, a.y + b.y + select(0u, 1u, low < a.x));
}
)"},
    {"sub", {}, R"(fn @sub(a: $, b: $) -> $ {
  return $(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}
)"},
    {"neg", {"sub"}, R"(fn @neg(a: $) -> $ {
  return @sub($(0u, 0u), a);
}
)"},
    {"mul_words", {}, R"(fn @mul_words(a: u32, b: u32) -> $ {
  let a0 = a & 0xffffu;
  let a1 = a >> 16u;
  let b0 = b & 0xffffu;
  let b1 = b >> 16u;
  let middle = a1 * b0 + ((a0 * b0) >> 16u);
  let carry = a0 * b1 + (middle & 0xffffu);
  return $(a * b, a1 * b1 + (middle >> 16u) + (carry >> 16u));
}
)"},
    {"mul", {"mul_words"}, R"(fn @mul(a: $, b: $) -> $ {
  let low = @mul_words(a.x, b.x);
  return $(low.x, low.y + a.x * b.y + a.y * b.x);
}
)"},
    {"less_u64", {}, R"(fn @less_u64(a: $, b: $) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}
)"},
    {"less_i64", {}, R"(fn @less_i64(a: $, b: $) -> bool {
  return bitcast<i32>(a.y) < bitcast<i32>(b.y) || (a.y == b.y && a.x < b.x);
}
)"},
    {"shift_left", {}, R"(fn @shift_left(a: $, count: u32) -> $ {
  let n = count & 31u;
  if ((count & 32u) != 0u) {
    return $(0u, a.x << n);
  }
  return $(a.x << n, (a.y << n) | ((a.x >> 1u) >> (31u - n)));
}
)"},
    {"shift_right_u64", {}, R"(fn @shift_right_u64(a: $, count: u32) -> $ {
  let n = count & 31u;
  if ((count & 32u) != 0u) {
    return $(a.y >> n, 0u);
  }
  return $((a.x >> n) | ((a.y << 1u) << (31u - n)), a.y >> n);
}
)"},
    {"shift_right_i64", {}, R"(fn @shift_right_i64(a: $, count: u32) -> $ {
  let n = count & 31u;
  let high = bitcast<u32>(bitcast<i32>(a.y) >> n);
  if ((count & 32u) != 0u) {
    return $(high, bitcast<u32>(bitcast<i32>(a.y) >> 31u));
  }
  return $((a.x >> n) | ((a.y << 1u) << (31u - n)), high);
}
)"},
    {"count_ones", {}, R"(fn @count_ones(a: $) -> u32 {
  return countOneBits(a.x) + countOneBits(a.y);
}
)"},
    {"leading_zeros", {}, R"(fn @leading_zeros(a: $) -> u32 {
  return select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
}
)"},
    // As many steps as there may be bits in the quotient: compilers unroll a number that they know.
    {"div_u64",
     {"leading_zeros", "less_u64", "shift_left", "sub"},
     R"(fn @div_u64(a: $, b: $) -> $ {
  if ((a.y | b.y) == 0u) {
    return $(a.x / b.x, 0u);
  }
  var quotient = $(0u, 0u);
  var rest = a;
  let bits = i32(@leading_zeros(b)) - i32(@leading_zeros(a));
  var part = @shift_left(b, u32(bits));
  for (var i = bits; i >= 0i; i--) {
    quotient = $(quotient.x << 1u, (quotient.y << 1u) | (quotient.x >> 31u));
    if (!@less_u64(rest, part)) {
      rest = @sub(rest, part);
      quotient.x |= 1u;
    }
    part = $((part.x >> 1u) | (part.y << 31u), part.y >> 1u);
  }
  return quotient;
}
)"},
    {"mod_u64", {"div_u64", "mul", "sub"}, R"(fn @mod_u64(a: $, b: $) -> $ {
  return @sub(a, @mul(@div_u64(a, b), b));
}
)"},
    {"abs_i64", {"neg"}, R"(fn @abs_i64(a: $) -> $ {
  return select(a, @neg(a), (a.y >> 31u) != 0u);
}
)"},
    {"div_i64", {"div_u64", "abs_i64", "neg"}, R"(fn @div_i64(a: $, b: $) -> $ {
  let quotient = @div_u64(@abs_i64(a), @abs_i64(b));
  return select(quotient, @neg(quotient), ((a.y ^ b.y) >> 31u) != 0u);
}
)"},
    {"mod_i64", {"div_i64", "mul", "sub"}, R"(fn @mod_i64(a: $, b: $) -> $ {
  return @sub(a, @mul(@div_i64(a, b), b));
}
)"},
    // By 2^power: what is negative is rounded up.
    {"div_power",
     {"add", "shift_right_i64", "shift_right_u64"},
     R"(fn @div_power(a: $, power: u32) -> $ {
  let sign = bitcast<u32>(bitcast<i32>(a.y) >> 31u);
  let most = @shift_right_u64($(sign, sign), 64u - max(power, 1u)) * min(power, 1u);
  return @shift_right_i64(@add(a, most), power);
}
)"},
    {"mod_power", {"div_power", "shift_left", "sub"}, R"(fn @mod_power(a: $, power: u32) -> $ {
  return @sub(a, @shift_left(@div_power(a, power), power));
}
)"},
    {"floor_div_i64", {"div_i64", "mul", "sub"}, R"(fn @floor_div_i64(a: $, b: $) -> $ {
  let quotient = @div_i64(a, b);
  let is_exact = all(@mul(quotient, b) == a);
  return select(@sub(quotient, $(1u, 0u)), quotient, is_exact || ((a.y ^ b.y) >> 31u) == 0u);
}
)"},
    {"floor_mod_i64", {"floor_div_i64", "mul", "sub"}, R"(fn @floor_mod_i64(a: $, b: $) -> $ {
  return @sub(a, @mul(@floor_div_i64(a, b), b));
}
)"},
    // ---- Conversions of them.
    {"i64", {}, R"(fn @i64(a: i32) -> $ {
  return $(bitcast<u32>(a), bitcast<u32>(a >> 31u));
}
)"},
    // What a float does not hold is rounded here, to nearest even.
    {"u64_to_f32", {"leading_zeros", "shift_left"}, R"(fn @u64_to_f32(a: $) -> f32 {
  let zeros = @leading_zeros(a);
  if (zeros >= 40u) {
    return f32(a.x);
  }
  let top = @shift_left(a, zeros);
  let rest = (top.y & 0xffu) | select(0u, 1u, top.x != 0u);
  let kept = top.y >> 8u;
  let up = rest > 128u || (((top.y & 0xffu) == 128u) && ((kept & 1u) != 0u));
  return f32(kept + select(0u, 1u, up)) * bitcast<f32>((167u - zeros) << 23u);
}
)"},
    {"i64_to_f32", {"u64_to_f32", "abs_i64"}, R"(fn @i64_to_f32(a: $) -> f32 {
  let magnitude = @u64_to_f32(@abs_i64(a));
  return select(magnitude, -magnitude, (a.y >> 31u) != 0u);
}
)"},
    {"f32_to_u64", {}, R"(fn @f32_to_u64(a: f32) -> $ {
  let whole = trunc(a);
  let high = trunc(whole * 2.3283064365386963e-10f);
  return $(u32(whole - high * 4294967296.0f), u32(high));
}
)"},
    {"f32_to_i64", {"f32_to_u64", "neg"}, R"(fn @f32_to_i64(a: f32) -> $ {
  let magnitude = @f32_to_u64(abs(a));
  return select(magnitude, @neg(magnitude), a < 0.0f);
}
)"},
    // ---- Integers of 32 bits.
    {"floor_div", {}, R"(fn @floor_div(a: i32, b: i32) -> i32 {
  let quotient = a / b;
  return select(quotient, quotient - 1i, quotient * b != a && (a ^ b) < 0i);
}
)"},
    {"floor_mod", {}, R"(fn @floor_mod(a: i32, b: i32) -> i32 {
  let rest = a % b;
  return select(rest, rest + b, rest != 0i && (rest ^ b) < 0i);
}
)"},
    // ---- Floats.
    {"is_nan", {}, R"(fn @is_nan(a: f32) -> bool {
  return (bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u;
}
)"},
};

const Helper* Find(const std::string& name) {
  for (const Helper& helper : kHelpers)
    if (name == helper.name) return &helper;
  return nullptr;
}

std::string Expand(std::string_view text) {
  std::string expanded;
  for (char c : text) {
    if (c == '$')
      expanded += "vec2<u32>";
    else if (c == '@')
      expanded += "tern_";
    else
      expanded += c;
  }
  return expanded;
}

}  // namespace

std::string Helpers::Use(const std::string& name) {
  const Helper* helper = Find(name);
  TERN_ICHECK(helper) << "there is no helper " << name;
  if (!used_.contains(name)) {
    for (const char* other : helper->uses) Use(other);
    used_.insert(name);
    definitions_.push_back(Expand(helper->text));
  }
  return "tern_" + name;
}

std::string Helpers::Definitions() const {
  std::string all;
  for (const std::string& definition : definitions_) all += "\n" + definition;
  return all;
}

std::vector<std::string> HelperNames() {
  std::vector<std::string> names;
  for (const Helper& helper : kHelpers) names.emplace_back(helper.name);
  return names;
}

}  // namespace tern::backend::webgpu
