// SPDX-License-Identifier: Apache-2.0
//
// Products with weights of few bits, packed along K in blocks, each with a scale and a zero point:
// [N, blocks, bytes]. g_idx says which of them an element of K has instead. Three formulas:
//
//   words    few or dynamic rows, on machines with dot products of bytes: vectors along N, weights
//            unpacked in registers, A in fixed point
//   bytes    few rows elsewhere: vectors along K, weights unpacked in registers
//   unpacked more rows, g_idx: the weights as floats, which rules pack, or compute in the copies of
//   a GEMM
#include <algorithm>

#include "tern/op/formulas.h"
#include "tern/op/quantize.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"

namespace tern::op {
namespace {

const DataType kFloat = DataType::Float(32);
const DataType kInt = DataType::Int(32);

// Rows of A for which reading B is all that takes time: it is unpacked for each of them. As bytes,
// and as words.
constexpr int64_t kFewRows = 4, kMostRows = 32;
// The same of narrow floats on devices, where matrix instructions take more.
constexpr int64_t kFewNarrowRows = 2;
// Columns whose words lie side by side: a cache line.
constexpr int64_t kPanel = 16;
// Weights whose products are summed as integers: a power of two of them, at most a block. Longer
// groups have fewer sums to scale, but their dot products wait for each other.
constexpr int64_t kLeastGroup = 16, kMostGroup = 32;
// Parts of K whose weights lie apart and are read in turns, so that the prefetcher follows several
// streams: as many as are so many lines together, at most.
constexpr int64_t kStreamedLines = 16, kMostStreams = 4;

Expr Int(int64_t value) { return tir::Const(kInt, static_cast<double>(value)); }
Expr Shifted(const Expr& x, int64_t bits) {
  return bits ? tir::Call("shift_right", {x, Int(bits)}) : x;
}
Expr Masked(const Expr& x, int64_t mask) { return tir::Call("bit_and", {x, Int(mask)}); }
Expr Streamed(const Expr& x) {
  return x.dtype().is_narrow_float() ? x : tir::Call("streamed", {x});
}
Expr LoadFlat(const Tensor& tensor, const Expr& number) {
  return tensor.At(UnflatIndex(number, tensor.shape()));
}

// How B is packed.
class Packed {
 public:
  explicit Packed(const Call& c)
      : c_(c),
        depth(c.Int("K")),
        columns(c.Int("N")),
        bits(c.Int("bits")),
        block(c.Int("block_size")) {
    TERN_CHECK(bits == 2 || bits == 4 || bits == 8) << "weights have 2, 4 or 8 bits, not " << bits;
    TERN_CHECK(depth > 0 && columns > 0 && block >= 16 && block % (8 / bits) == 0)
        << "K and N are positive, and blocks have at least 16 elements";
    each = 8 / bits;
    blocks = (depth + block - 1) / block;
    bytes = block / each;
    TERN_CHECK(c.rank(0) > 0 && c.dtype(0).is_float() && c.dtype(1) == DataType::UInt(8))
        << "A is of floats, and B of packed uint8";
    if (c.has(4)) {
      TERN_CHECK(c.dtype(4).is_integer()) << "g_idx is of integers";
      c.RequireEqual(graph::NumElements(c.shape(4)), depth,
                     "K and the number of elements of g_idx");
    }
    c.RequireEqual(c.shape(0).back(), depth, "K of both operands");
    c.RequireEqual(graph::NumElements(c.shape(1)), columns * blocks * bytes,
                   "the number of bytes of B");
    c.RequireEqual(graph::NumElements(c.shape(2)), columns * blocks, "the number of scales");
    if (c.has(3))
      c.RequireEqual(graph::NumElements(c.shape(3)),
                     columns * (has_packed_zeros() ? ZeroBytes() : blocks),
                     "the number of zero points");
    if (c.has(5))
      c.RequireEqual(graph::NumElements(c.shape(5)), columns, "the number of biases and outputs");
  }

  Expr Byte(const Expr& n, const Expr& number) const {
    const Tensor& b = c_.tensor(1);
    Expr all(blocks * bytes);
    return tir::Cast(kInt, b.rank() == 2 ? b.At({n, number}) : LoadFlat(b, n * all + number));
  }
  Expr Scale(const Expr& n, const Expr& number) const {
    return LoadFlat(c_.tensor(2), n * Expr(blocks) + number);
  }
  // The code of 0 of a block, as int32 or a float.
  Expr Zero(const Expr& n, const Expr& number) const {
    if (!c_.has(3)) return Int(middle());
    if (!has_packed_zeros()) return LoadFlat(c_.tensor(3), n * Expr(blocks) + number);
    Expr byte = LoadFlat(c_.tensor(3), n * Expr(ZeroBytes()) + ir::FloorDiv(number, each));
    return Field(tir::Cast(kInt, byte), number);
  }
  // Field number % each of an int32.
  Expr Field(const Expr& byte, const Expr& number) const {
    if (bits == 8) return byte;
    Expr shift = tir::Cast(kInt, ir::FloorMod(number, each) * Expr(bits));
    return Masked(tir::Call("shift_right", {byte, shift}), (1 << bits) - 1);
  }
  // Field h of each byte of a word.
  Expr FieldsOf(const Expr& word, int64_t h) const {
    if (bits == 8) return word;
    auto bytes = static_cast<uint32_t>((1 << bits) - 1) * 0x01010101u;
    return Masked(Shifted(word, h * bits), static_cast<int32_t>(bytes));
  }

  int64_t middle() const { return 1 << (bits - 1); }
  bool has_packed_zeros() const { return c_.has(3) && c_.dtype(3) == DataType::UInt(8); }
  // Of A, as float32; 0 behind its end.
  Expr Element(const Exprs& at, const Expr& k) const {
    Expr element = Converted(kFloat, c_.tensor(0).At(WithIndex(at, at.size() - 1, k)));
    return depth == blocks * block ? element : Select(k < Expr(depth), element, Number(element, 0));
  }
  Tensor WithBias(const Tensor& sums, const Exprs& shape,
                  const std::function<Expr(const Vars&)>& at) const {
    return Compute(c_.name(), shape, [&](const Vars& axes) {
      Expr sum = at(axes);
      if (c_.has(5)) sum = sum + Converted(sums.dtype(), c_.tensor(5).At({axes.back()}));
      return Converted(c_.dtype(0), sum);
    });
  }

 private:
  int64_t ZeroBytes() const { return (blocks + each - 1) / each; }
  const Call& c_;

 public:
  int64_t depth, columns, bits, block, each = 1, blocks = 0, bytes = 0;
};

Exprs WithLast(Exprs shape, const Expr& last) {
  shape.back() = last;
  return shape;
}

// ---- By words

bool HasByteDots() {
  target::Target target = target::CurrentTarget();
  Expr word = tir::Const(DataType::Int(32, 4), 0), dot = tir::Call("dot4", {word, word, word});
  return target && tir::IsKept(dot.As<ir::CallNode>(), target);
}

// A byte has `each` weights, a word four bytes:
//   y[n] = sum over groups g of
//            (step[g] * sum over words w, h of fields[n, w, h] . fixed[w, h] - zero * total[g])
//            * scale[n, block of g]
// where A is step * fixed of 23 bits, as bytes: `parts` of them, whose products are summed one by
// one, each sum an exact int32. A group is a block, or a part of it.
Tensor ByWords(const Call& c, const Packed& b, const Exprs& shape) {
  bool is_exact = c.Int("accuracy_level") != 4;
  int64_t group = kLeastGroup;
  while (group < kMostGroup && b.block % (2 * group) == 0) group *= 2;
  int64_t words = group / (4 * b.each), groups = b.blocks * b.block / group;
  int64_t streams = kMostStreams;
  while (streams > 1 && (b.blocks % streams != 0 || words * streams > kStreamedLines)) streams /= 2;
  int64_t stream_groups = groups / streams, stream_blocks = b.blocks / streams;
  int64_t parts = !is_exact ? 1 : c.dtype(0).bits() <= 16 ? 2 : 3;
  // Less than what the bytes hold, as it may be rounded up.
  int64_t most = parts == 1 ? 0x7f : parts == 2 ? 0x7f7f : 0x7f0000;
  const int64_t signs = 0x808080;  // of signed bytes as they are stored
  Exprs group_shape = WithLast(shape, groups), element_shape = group_shape;
  element_shape.emplace_back(group);
  Tensor elements = Compute(c.name("elements"), element_shape, [&](const Vars& axes) {
    Exprs at(axes.begin(), axes.end() - 1);
    return b.Element(at, at.back() * Expr(group) + axes.back());
  });
  auto of_group = [&](const char* name, auto reduce) {
    return Compute(c.name(name), group_shape, [&](const Vars& axes) {
      ReduceAxis e("e", group);
      Exprs at = Indices(axes);
      at.push_back(e);
      return reduce(elements.At(at), e);
    });
  };
  Tensor totals =
      of_group("totals", [](const Expr& x, const ReduceAxis& e) { return tir::Sum(x, {e}); });
  Tensor largest = of_group("largest", [](const Expr& x, const ReduceAxis& e) {
    return tir::MaxOf(tir::Call("abs", {x}), {e});
  });
  // Elements of a word, by their place in it.
  Exprs word_shape = WithLast(shape, groups * words), fixed_shape{4, b.each};
  fixed_shape.insert(fixed_shape.end(), word_shape.begin(), word_shape.end());
  Tensor fixed = Compute(c.name("fixed"), fixed_shape, [&](const Vars& axes) {
    Exprs at(axes.begin() + 2, axes.end());
    Expr w = at.back();
    at.back() = ir::FloorDiv(w, words);
    Expr size = largest.At(at);
    // What is less is 0.
    Expr inverse = Select(Number(size, 1e-30) < size,
                          Number(size, static_cast<double>(most)) / size, Number(size, 0));
    at.push_back((ir::FloorMod(w, words) * Expr(4) + axes[0]) * Expr(b.each) + axes[1]);
    Expr value = tir::Cast(kInt, tir::Call("round", {elements.At(at) * inverse}));
    return tir::Call("bit_xor", {value + Int(signs), Int(signs)});
  });
  Exprs a_shape = fixed_shape;
  a_shape[0] = parts;
  // Which part is a shift, so that all of them are one loop.
  Tensor a_words = Compute(c.name("a_words"), a_shape, [&](const Vars& axes) {
    Expr word = Int(0), shift = tir::Cast(kInt, axes[0] * Expr(8));
    for (int64_t byte = 0; byte < 4; ++byte) {
      Expr value = fixed.At(WithIndex(Indices(axes), 0, byte));
      Expr part = Masked(tir::Call("shift_right", {value, shift}), 255);
      word = tir::Call("bit_or", {word, tir::Call("shift_left", {part, Int(8 * byte)})});
    }
    return word;
  });
  // Of the weights, the same from call to call: [stream, panel, part of K of the stream, ...,
  // column].
  Expr panels((b.columns + kPanel - 1) / kPanel);
  auto of_panel = [&](const char* name, const Exprs& part, auto value) {
    Exprs extents{streams, panels};
    extents.insert(extents.end(), part.begin(), part.end());
    extents.emplace_back(kPanel);
    return Compute(c.name(name), extents, [&](const Vars& axes) {
      Expr n = axes[1] * Expr(kPanel) + axes.back();
      Expr found = value(n, axes[0] * part[0] + axes[2], axes);
      return b.columns % kPanel == 0 ? found : Select(n < Expr(b.columns), found, Number(found, 0));
    });
  };
  Tensor codes = of_panel(
      "codes", {stream_groups, words}, [&](const Expr& n, const Expr& group, const Vars& axes) {
        Expr word = Int(0);
        for (int64_t byte = 0; byte < 4; ++byte) {
          Expr number = (group * Expr(words) + axes[3]) * Expr(4) + Expr(byte);
          Expr shifted = tir::Call("shift_left", {b.Byte(n, number), Int(8 * byte)});
          word = tir::Call("bit_or", {word, shifted});
        }
        return word;
      });
  Tensor scales =
      of_panel("scales", {stream_blocks},
               [&](const Expr& n, const Expr& block, const Vars&) { return b.Scale(n, block); });
  Tensor zeros;
  if (c.has(3))
    zeros = of_panel("zeros", {stream_blocks}, [&](const Expr& n, const Expr& block, const Vars&) {
      return Converted(c.dtype(3), b.Zero(n, block));
    });
  // Rows inside of panels: a panel stays in the caches.
  Exprs sums_shape{panels};
  sums_shape.insert(sums_shape.end(), shape.begin(), shape.end());
  sums_shape.back() = kPanel;
  // Of the g-th group of a stream.
  auto term = [&](const Vars& axes, int64_t stream, const Expr& g) {
    Expr panel = axes[0], lane = axes.back(), group_of_k = Expr(stream * stream_groups) + g;
    Exprs row(axes.begin() + 1, axes.end()), sums_of;  // of each part
    for (int64_t part = 0; part < parts; ++part) {
      Expr sum = Int(0);
      for (int64_t w = 0; w < words; ++w)
        for (int64_t place = 0; place < b.each; ++place) {
          Exprs at{part, place};
          for (const Expr& index : WithLast(row, group_of_k * Expr(words) + Expr(w)))
            at.push_back(index);
          Expr word = Streamed(codes.At({stream, panel, g, w, lane}));
          sum = tir::Call("dot4", {b.FieldsOf(word, place), a_words.At(at), sum});
        }
      sums_of.push_back(sum);
    }
    // Two parts of the largest group are less than 2^31; the third comes in as a float.
    Expr total = sums_of[0];
    if (parts > 1) total = tir::Call("shift_left", {sums_of[1], Int(8)}) + total;
    total = tir::Cast(kFloat, total);
    if (parts > 2) total = tir::Cast(kFloat, sums_of[2]) * tir::Const(kFloat, 65536) + total;
    Exprs at_group = WithLast(row, group_of_k);
    Exprs at_block{stream, panel, ir::FloorDiv(g, b.block / group), lane};
    Expr step = largest.At(at_group) * tir::Const(kFloat, 1.0 / static_cast<double>(most));
    Expr zero = zeros ? Converted(kFloat, zeros.At(at_block))
                      : tir::Const(kFloat, static_cast<double>(b.middle()));
    Expr value = total * step - zero * totals.At(at_group);
    return value * Converted(kFloat, Streamed(scales.At(at_block)));
  };
  Tensor sums = Compute(c.name("sums"), sums_shape, [&](const Vars& axes) {
    ReduceAxis g("g", stream_groups);
    Expr sum = term(axes, 0, g);
    for (int64_t stream = 1; stream < streams; ++stream) sum = sum + term(axes, stream, g);
    return tir::Sum(sum, {g});
  });
  return b.WithBias(sums, shape, [&](const Vars& axes) {
    Exprs at{ir::FloorDiv(axes.back(), kPanel)};
    at.insert(at.end(), axes.begin(), axes.end());
    return sums.At(WithLast(at, ir::FloorMod(axes.back(), kPanel)));
  });
}

// ---- By bytes

// A byte has `each` weights:
//   y[n] = sum over bytes k of (sum over h of a[k, h] * code[n, k, h] - zero * sum of a[k, ..])
//                              * scale[n, block of k]
// A is taken apart before, so that vectors run along the bytes of B as they are in memory.
Tensor ByBytes(const Call& c, const Packed& b, const Exprs& shape) {
  Expr all(b.blocks * b.bytes);
  Exprs parts_shape{b.each};
  parts_shape.insert(parts_shape.end(), shape.begin(), shape.end());
  parts_shape.back() = all;
  Tensor parts = Compute(c.name("parts"), parts_shape, [&](const Vars& axes) {
    return b.Element({axes.begin() + 1, axes.end()}, axes.back() * Expr(b.each) + axes[0]);
  });
  // Where the code of 0 is the same everywhere it is a factor of these.
  Tensor totals = Compute(c.name("totals"), WithLast(shape, all), [&](const Vars& axes) {
    Exprs at{0};
    at.insert(at.end(), axes.begin(), axes.end());
    Expr sum = parts.At(at);
    for (int64_t h = 1; h < b.each; ++h) sum = sum + parts.At(WithIndex(at, 0, h));
    return c.has(3) ? sum : sum * Number(sum, static_cast<double>(b.middle()));
  });
  Tensor sums = Compute(c.name("sums"), shape, [&](const Vars& axes) {
    ReduceAxis k("k", all);
    const Expr& n = axes.back();
    Expr number = ir::FloorDiv(k, b.bytes), byte = b.Byte(n, k);
    Exprs row = WithLast(Indices(axes), k);
    Expr total = totals.At(row);
    if (c.has(3)) total = total * Converted(kFloat, b.Zero(n, number));
    Expr sum = Number(total, 0) - total;
    for (int64_t h = 0; h < b.each; ++h) {
      Expr code = Shifted(byte, h * b.bits);
      if (h + 1 < b.each) code = Masked(code, (1 << b.bits) - 1);
      Exprs at{h};
      at.insert(at.end(), row.begin(), row.end());
      sum = sum + parts.At(at) * tir::Cast(kFloat, code);
    }
    return tir::Sum(sum * Converted(kFloat, b.Scale(n, number)), {k});
  });
  return b.WithBias(sums, shape, [&](const Vars& axes) { return sums.At(Indices(axes)); });
}

// ---- Unpacked

Tensor Unpacked(const Call& c, const Packed& b, const Exprs& shape) {
  const Tensor& a = c.tensor(0);
  DataType wide = a.dtype().is_narrow_float() ? kFloat : a.dtype();
  Tensor weights = Compute(c.name("weights"), {b.columns, b.depth}, [&](const Vars& axes) {
    const Expr& n = axes[0];
    Expr number = ir::FloorDiv(axes[1], b.block), inner = ir::FloorMod(axes[1], b.block);
    Expr byte = b.Byte(n, number * Expr(b.bytes) + ir::FloorDiv(inner, b.each));
    // Which block's scale and zero point an element of K has; what is given is not trusted.
    if (c.has(4)) {
      Expr given = tir::Cast(DataType::Int(64), LoadFlat(c.tensor(4), axes[1]));
      number = Clamped(given, Expr(0), Expr(b.blocks - 1));
    }
    Expr code = b.Field(byte, inner), zero = b.Zero(n, number);
    Expr value = zero.dtype() == kInt ? tir::Cast(wide, code - zero)
                                      : tir::Cast(wide, code) - Converted(wide, zero);
    return Converted(a.dtype(), value * Converted(wide, b.Scale(n, number)));
  });
  bool is_last = !c.has(5) && wide == a.dtype();
  Tensor sums = Compute(is_last ? c.name() : c.name("sums"), shape, [&](const Vars& axes) {
    ReduceAxis k("k", b.depth);
    return tir::Sum(Converted(wide, a.At(WithLast(Indices(axes), k))) *
                        Converted(wide, weights.At({axes.back(), k})),
                    {k});
  });
  if (is_last) return sums;
  return b.WithBias(sums, shape, [&](const Vars& axes) { return sums.At(Indices(axes)); });
}

Tensors MatMulNBits(Call& c) {
  Packed b(c);
  Exprs shape = WithLast(c.shape(0), b.columns);
  std::optional<int64_t> rows =
      ir::AsConstInt(Simplified(graph::NumElements(c.shape(0), 0, c.shape(0).size() - 1)));
  if (c.has(4)) return {Unpacked(c, b, shape)};
  if ((!rows || *rows <= kMostRows) && b.block % kLeastGroup == 0 && HasByteDots())
    return {ByWords(c, b, shape)};
  target::Target target = target::CurrentTarget();
  bool is_for_matrices = target && target->is_device() && c.dtype(0).is_narrow_float();
  if (rows && *rows <= (is_for_matrices ? kFewNarrowRows : kFewRows)) return {ByBytes(c, b, shape)};
  return {Unpacked(c, b, shape)};
}

}  // namespace

void RegisterMatMulNBits() {
  RegisterOp({.name = "matmul_nbits",
              .summary = "product with weights of 2, 4 or 8 bits, in blocks along K",
              .inputs = {"a", "b", "scales", "zero_points?", "g_idx?", "bias?"},
              .attrs = {{"K", AttrKind::kInt, {}, true},
                        {"N", AttrKind::kInt, {}, true},
                        {"bits", AttrKind::kInt, ffi::Any(4)},
                        {"block_size", AttrKind::kInt, {}, true},
                        {"accuracy_level", AttrKind::kInt, ffi::Any(0)}},
              .compute = MatMulNBits});
}

}  // namespace tern::op
