// SPDX-License-Identifier: Apache-2.0
//
// What LLVM calls where Hexagon has no instruction: division, square roots, and on older machines
// arithmetic in float64; rounded to nearest, ties to even. And what it moves memory with. The
// compiler has them as LLVM IR, builtins.ll, which make_generated.sh makes of this file.
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned char u8;

#define BUILTIN __attribute__((visibility("hidden")))
#define INTERNAL static inline __attribute__((always_inline))

// ---- Integers

INTERNAL u32 divide32(u32 n, u32 d, u32* remainder) {
  u32 quotient = 0;
  if (d != 0 && d <= n) {
    int steps = __builtin_clz(d) - __builtin_clz(n);
    d <<= steps;
    for (; steps >= 0; --steps, d >>= 1) {
      quotient <<= 1;
      if (n >= d) n -= d, quotient |= 1;
    }
  }
  *remainder = n;
  return quotient;
}

INTERNAL u64 divide64(u64 n, u64 d, u64* remainder) {
  u64 quotient = 0;
  if (d != 0 && d <= n) {
    int steps = __builtin_clzll(d) - __builtin_clzll(n);
    d <<= steps;
    for (; steps >= 0; --steps, d >>= 1) {
      quotient <<= 1;
      if (n >= d) n -= d, quotient |= 1;
    }
  }
  *remainder = n;
  return quotient;
}

INTERNAL u32 magnitude32(i32 x) { return x < 0 ? 0 - (u32)x : (u32)x; }
INTERNAL u64 magnitude64(i64 x) { return x < 0 ? 0 - (u64)x : (u64)x; }

BUILTIN u32 __hexagon_udivsi3(u32 a, u32 b) {
  u32 rest;
  return divide32(a, b, &rest);
}
BUILTIN u32 __hexagon_umodsi3(u32 a, u32 b) {
  u32 rest;
  divide32(a, b, &rest);
  return rest;
}
BUILTIN i32 __hexagon_divsi3(i32 a, i32 b) {
  u32 rest, quotient = divide32(magnitude32(a), magnitude32(b), &rest);
  return (i32)((a ^ b) < 0 ? 0 - quotient : quotient);
}
BUILTIN i32 __hexagon_modsi3(i32 a, i32 b) {
  u32 rest;
  divide32(magnitude32(a), magnitude32(b), &rest);
  return (i32)(a < 0 ? 0 - rest : rest);
}
BUILTIN u64 __hexagon_udivdi3(u64 a, u64 b) {
  u64 rest;
  return divide64(a, b, &rest);
}
BUILTIN u64 __hexagon_umoddi3(u64 a, u64 b) {
  u64 rest;
  divide64(a, b, &rest);
  return rest;
}
BUILTIN i64 __hexagon_divdi3(i64 a, i64 b) {
  u64 rest, quotient = divide64(magnitude64(a), magnitude64(b), &rest);
  return (i64)((a ^ b) < 0 ? 0 - quotient : quotient);
}
BUILTIN i64 __hexagon_moddi3(i64 a, i64 b) {
  u64 rest;
  divide64(magnitude64(a), magnitude64(b), &rest);
  return (i64)(a < 0 ? 0 - rest : rest);
}

// ---- Floats

// A finite number other than 0 is mantissa / 2^63 * 2^exponent, the first bit of the mantissa set.
// The last bit of a mantissa that is not exact is set.
typedef struct {
  i32 exponent;
  u64 mantissa;
} Parts;

// What a type of floats is made of.
typedef struct {
  int mantissa_bits;  // that are stored
  int bias;
} Format;
static const Format kSingle = {23, 127}, kDouble = {52, 1023};

INTERNAL u64 single_bits(float x) {
  u32 bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
INTERNAL float single_of(u64 bits) {
  u32 narrow = (u32)bits;
  float x;
  __builtin_memcpy(&x, &narrow, 4);
  return x;
}
INTERNAL u64 double_bits(double x) {
  u64 bits;
  __builtin_memcpy(&bits, &x, 8);
  return bits;
}
INTERNAL double double_of(u64 bits) {
  double x;
  __builtin_memcpy(&x, &bits, 8);
  return x;
}

INTERNAL u64 infinity(Format f) { return (u64)(2 * f.bias + 1) << f.mantissa_bits; }
INTERNAL u64 not_a_number(Format f) { return infinity(f) | 1ull << (f.mantissa_bits - 1); }
INTERNAL u64 sign_bit(Format f) { return infinity(f) + (1ull << f.mantissa_bits); }

// `magnitude` is finite and not 0.
INTERNAL Parts unpack(Format f, u64 magnitude) {
  u64 fraction = magnitude & ((1ull << f.mantissa_bits) - 1);
  i32 exponent = (i32)(magnitude >> f.mantissa_bits);
  if (exponent != 0)
    fraction |= 1ull << f.mantissa_bits;
  else
    exponent = 1;
  int shift = __builtin_clzll(fraction);
  Parts parts = {exponent - f.bias + 63 - f.mantissa_bits - shift, fraction << shift};
  return parts;
}

INTERNAL u64 shift_right_sticky(u64 x, int by) {
  if (by == 0) return x;
  if (by > 63) return x != 0;
  return x >> by | ((x << (64 - by)) != 0);
}

// Rounds.
INTERNAL u64 pack(Format f, Parts parts) {
  i32 exponent = parts.exponent + f.bias;
  if (exponent > 2 * f.bias) return infinity(f);
  u64 mantissa = parts.mantissa;
  if (exponent <= 0) {
    mantissa = shift_right_sticky(mantissa, 1 - exponent);
    exponent = 0;
  } else {
    --exponent;  // the first bit of the mantissa adds one
  }
  int dropped = 63 - f.mantissa_bits;
  u64 rest = mantissa << (64 - dropped), half = 1ull << 63;
  mantissa >>= dropped;
  mantissa += rest > half || (rest == half && (mantissa & 1));
  return ((u64)exponent << f.mantissa_bits) + mantissa;
}

INTERNAL u64 divide(Format f, u64 a, u64 b) {
  u64 sign = (a ^ b) & sign_bit(f), inf = infinity(f);
  a &= ~sign_bit(f), b &= ~sign_bit(f);
  if (a > inf || b > inf || (a == inf && b == inf) || (a == 0 && b == 0)) return not_a_number(f);
  if (a == inf || b == 0) return sign | inf;
  if (b == inf || a == 0) return sign;
  Parts x = unpack(f, a), y = unpack(f, b);
  int spare = 63 - f.mantissa_bits;
  u64 rest = x.mantissa >> spare, divisor = y.mantissa >> spare, quotient = 0;
  Parts result = {x.exponent - y.exponent, 0};
  if (rest < divisor) rest <<= 1, --result.exponent;
  int bits = f.mantissa_bits + 4;
  for (int i = 0; i < bits; ++i) {
    quotient <<= 1;
    if (rest >= divisor) rest -= divisor, quotient |= 1;
    rest <<= 1;
  }
  result.mantissa = quotient << (64 - bits) | (rest != 0);
  return sign | pack(f, result);
}

INTERNAL u64 square_root(Format f, u64 a) {
  if ((a & ~sign_bit(f)) == 0) return a;
  if (a > infinity(f)) return not_a_number(f);  // negative, or no number
  if (a == infinity(f)) return a;
  Parts x = unpack(f, a);
  // Two bits of the number give one of the root.
  u64 radicand = x.mantissa;
  if (x.exponent & 1)
    --x.exponent;
  else
    radicand >>= 1;
  u64 root = 0, rest = 0;
  int bits = f.mantissa_bits + 4;
  for (int i = 0; i < bits; ++i) {
    rest = rest << 2 | radicand >> 62;
    radicand <<= 2;
    u64 trial = root << 2 | 1;
    root <<= 1;
    if (rest >= trial) rest -= trial, root |= 1;
  }
  Parts result = {x.exponent >> 1, root << (64 - bits) | (rest != 0)};
  return pack(f, result);
}

INTERNAL u64 add(Format f, u64 a, u64 b) {
  u64 mask = ~sign_bit(f), inf = infinity(f);
  if ((a & mask) < (b & mask)) {
    u64 other = a;
    a = b, b = other;
  }
  u64 sign = a & sign_bit(f), differ = (a ^ b) & sign_bit(f);
  u64 large = a & mask, small = b & mask;
  if (large > inf || (large == inf && small == inf && differ)) return not_a_number(f);
  if (large == inf) return a;
  if (small == 0) return large == 0 && differ ? 0 : a;
  Parts x = unpack(f, large), y = unpack(f, small);
  int distance = x.exponent - y.exponent;
  u64 first = x.mantissa >> 1, second = shift_right_sticky(y.mantissa >> 1, distance);
  u64 sum = differ ? first - second : first + second;
  if (sum == 0) return 0;
  int shift = __builtin_clzll(sum);
  Parts result = {x.exponent + 1 - shift, sum << shift};
  return sign | pack(f, result);
}

INTERNAL u64 multiply(Format f, u64 a, u64 b) {
  u64 sign = (a ^ b) & sign_bit(f), inf = infinity(f);
  a &= ~sign_bit(f), b &= ~sign_bit(f);
  if (a > inf || b > inf || (a == inf && b == 0) || (a == 0 && b == inf)) return not_a_number(f);
  if (a == inf || b == inf) return sign | inf;
  if (a == 0 || b == 0) return sign;
  Parts x = unpack(f, a), y = unpack(f, b);
  u64 x1 = x.mantissa >> 32, x0 = (u32)x.mantissa, y1 = y.mantissa >> 32, y0 = (u32)y.mantissa;
  u64 low = x0 * y0, middle = x1 * y0 + (low >> 32), other = x0 * y1 + (u32)middle;
  u64 high = x1 * y1 + (middle >> 32) + (other >> 32);
  Parts result = {x.exponent + y.exponent + 1, high};
  u64 rest = other << 32 | (u32)low;
  if (!(high >> 63)) {
    result.mantissa = high << 1 | rest >> 63;
    rest <<= 1, --result.exponent;
  }
  result.mantissa |= rest != 0;
  return sign | pack(f, result);
}

BUILTIN float __hexagon_divsf3(float a, float b) {
  return single_of(divide(kSingle, single_bits(a), single_bits(b)));
}
BUILTIN double __hexagon_divdf3(double a, double b) {
  return double_of(divide(kDouble, double_bits(a), double_bits(b)));
}
BUILTIN float __hexagon_sqrtf(float a) { return single_of(square_root(kSingle, single_bits(a))); }
BUILTIN double sqrt(double a) { return double_of(square_root(kDouble, double_bits(a))); }
BUILTIN double __hexagon_adddf3(double a, double b) {
  return double_of(add(kDouble, double_bits(a), double_bits(b)));
}
BUILTIN double __hexagon_subdf3(double a, double b) {
  return double_of(add(kDouble, double_bits(a), double_bits(b) ^ sign_bit(kDouble)));
}
BUILTIN double __hexagon_muldf3(double a, double b) {
  return double_of(multiply(kDouble, double_bits(a), double_bits(b)));
}

// ---- Memory

// A test runs the rest on its own machine, which has these.
#ifdef __hexagon__

INTERNAL void copy_up(u8* to, const u8* from, u32 bytes) {
  if ((((u32)to | (u32)from) & 7) == 0)
    for (; bytes >= 8; bytes -= 8, to += 8, from += 8) *(u64*)to = *(const u64*)from;
  for (; bytes; --bytes) *to++ = *from++;
}

BUILTIN void* memcpy(void* to, const void* from, u32 bytes) {
  copy_up(to, from, bytes);
  return to;
}
BUILTIN void __hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void* to, const void* from,
                                                                   u32 bytes) {
  copy_up(to, from, bytes);
}
BUILTIN void* memmove(void* to, const void* from, u32 bytes) {
  if ((u32)to - (u32)from >= bytes) {
    copy_up(to, from, bytes);
  } else {
    for (u8* t = to; bytes; --bytes) t[bytes - 1] = ((const u8*)from)[bytes - 1];
  }
  return to;
}
BUILTIN void* memset(void* to, int value, u32 bytes) {
  for (u8* at = to; bytes; --bytes) *at++ = (u8)value;
  return to;
}

#endif  // __hexagon__
