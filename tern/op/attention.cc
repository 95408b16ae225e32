// SPDX-License-Identifier: Apache-2.0
//
// Parts of attention: what is masked, and positions as rotations.
#include <limits>

#include "tern/op/formulas.h"
#include "tern/op/register.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

// Scores [batch, heads..., queries, keys] plus a mask, and -infinity at keys that a query does not
// see. Query i is at position i + offset: the keys of `past` are ahead of it, or of each of the
// batch seqlens - queries.
Tensors AttentionMask(Call& c) {
  const Tensor& scores = c.tensor(0);
  CheckFloat(c, 0);
  TERN_CHECK(scores.rank() >= 3) << "scores are [batch, heads..., queries, keys]";
  Expr queries = scores.shape()[scores.rank() - 2], keys = scores.shape().back();
  int64_t left = c.Int("left_window"), right = c.Int("right_window");
  bool causal = c.Flag("causal");
  if (c.has(2)) {
    CheckRank(c, 2, 1);
    TERN_CHECK(c.dtype(2).is_integer()) << "seqlens are integers";
    c.RequireEqual(c.shape(2)[0], scores.shape()[0], "the batch of scores and seqlens");
  }
  if (c.has(3)) CheckRank(c, 3, 4);
  Exprs mask_shape = scores.shape();
  if (c.has(1)) {
    const Exprs& shape = c.shape(1);
    TERN_CHECK(!shape.empty() && (c.dtype(1).is_bool() || c.dtype(1).is_float()))
        << "a mask is of bools or floats";
    // It may have fewer keys: those behind are masked.
    mask_shape.back() = shape.back();
    RequireBroadcast(c, 1, mask_shape);
  }
  return {Compute(c.name(), scores.shape(), [&](const Vars& axes) {
    Exprs at = Indices(axes);
    const Var& key = axes.back();
    Expr value = scores.At(at), seen;
    auto add = [&](const Expr& condition) { seen = seen ? seen && condition : condition; };
    Expr length = c.has(2) ? AsIndex(c.tensor(2)(axes[0])) : keys;
    if (causal || left >= 0 || right >= 0) {
      Expr offset = c.has(3) ? c.shape(3)[2] : c.has(2) ? length - queries : Expr(0);
      Expr place = axes[axes.size() - 2] + offset;
      if (causal) add(place >= key);
      if (left >= 0) add(key + Expr(left) >= place);
      if (right >= 0) add(place + Expr(right) >= key);
    }
    if (c.has(2)) add(key < length);
    if (c.has(1)) {
      const Tensor& mask = c.tensor(1);
      Exprs in = at;
      if (!graph::SameExtent(mask.shape().back(), keys) && !ir::IsConst(mask.shape().back(), 1)) {
        add(key < mask.shape().back());
        in.back() = Min(key, mask.shape().back() - 1);
      }
      Expr element = graph::BroadcastLoad(mask, in, mask_shape);
      if (mask.dtype().is_bool())
        add(element);
      else
        value = value + Converted(value.dtype(), element);
    }
    if (!seen) return value;
    return Select(seen, value, Number(value, -std::numeric_limits<double>::infinity()));
  })};
}

// Pairs of elements of each head, rotated by an angle that the position says. The input is
// [batch, heads, length, size], or [batch, length, heads * size].
Tensors RotaryEmbedding(Call& c) {
  const Tensor &x = c.tensor(0), &cos = c.tensor(1), &sin = c.tensor(2);
  CheckFloat(c, 0);
  TERN_CHECK(x.rank() == 3 || x.rank() == 4)
      << "the input is [batch, heads, length, size] or [batch, length, heads * size]";
  bool flat = x.rank() == 3, interleaved = c.Flag("interleaved");
  int64_t heads = c.Int("num_heads");
  TERN_CHECK(!flat || heads > 0) << "num_heads is needed where heads are no axis";
  int64_t size = StaticExtent(x.shape().back(), "the size of heads");
  if (flat) {
    TERN_CHECK(size % heads == 0) << size << " elements are not " << heads << " heads";
    size /= heads;
  }
  int64_t rotated = c.Int("rotary_embedding_dim") ? c.Int("rotary_embedding_dim") : size;
  TERN_CHECK(rotated > 0 && rotated % 2 == 0 && rotated <= size)
      << "an even number of elements, at most " << size << ", is rotated, not " << rotated;
  bool by_position = c.has(3);
  for (size_t i = 1; i < 3; ++i) {
    CheckRank(c, i, by_position ? 2 : 3);
    c.RequireEqual(c.shape(i).back(), rotated / 2, "half of what is rotated, and the caches' size");
  }
  Expr length = x.shape()[flat ? 1 : 2];
  bool one_offset = by_position && c.rank(3) == 1;
  if (by_position) {
    TERN_CHECK(c.dtype(3).is_integer()) << "positions are integers";
    if (one_offset) {
      c.RequireEqual(c.shape(3)[0], 1, "the number of offsets");
    } else {
      CheckRank(c, 3, 2);
      c.RequireEqual(c.shape(3)[1], length, "the length of input and positions");
    }
  } else {
    for (size_t i = 1; i < 3; ++i)
      c.RequireEqual(c.shape(i)[1], length, "the length of input and caches");
  }
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Expr d = flat ? ir::FloorMod(axes[2], size) : Expr(axes[3]);
    Expr s = axes[flat ? 1 : 2];
    int64_t step = interleaved ? 1 : rotated / 2;
    Expr first = interleaved ? ir::FloorMod(d, 2) == Expr(0) : d < Expr(step);
    Expr pair = interleaved ? ir::FloorDiv(d, 2) : ir::FloorMod(d, step);
    pair = Min(pair, rotated / 2 - 1);
    Expr other = Select(first, Expr(step), Expr(-step));
    Expr turns = d < Expr(rotated);
    auto cached = [&](const Tensor& cache) {
      if (!by_position) return cache(axes[0], s, pair);
      Expr place = one_offset                      ? AsIndex(c.tensor(3)(0)) + s
                   : ir::IsConst(c.shape(3)[0], 1) ? AsIndex(c.tensor(3)(0, s))
                                                   : AsIndex(c.tensor(3)(axes[0], s));
      return cache(GuardedIndex(place, cache.shape()[0]), pair);
    };
    DataType type = SumType(x.dtype());
    Exprs at = Indices(axes);
    Expr value = Converted(type, x.At(at));
    at.back() = at.back() + Select(turns, other, Expr(0));
    Expr partner = Converted(type, x.At(at));
    Expr signed_partner = Select(first, Number(partner, 0) - partner, partner);
    Expr result =
        value * Converted(type, cached(cos)) + signed_partner * Converted(type, cached(sin));
    return Converted(x.dtype(), rotated == size ? result : Select(turns, result, value));
  })};
}

}  // namespace

void RegisterAttentionOps() {
  RegisterOp({.name = "attention_mask",
              .summary = "scores plus a mask; -infinity at keys that a query does not see",
              .inputs = {"scores", "mask?", "seqlens?", "past?"},
              .attrs = {{"causal", AttrKind::kInt, ffi::Any(0)},
                        {"left_window", AttrKind::kInt, ffi::Any(-1)},
                        {"right_window", AttrKind::kInt, ffi::Any(-1)}},
              .compute = AttentionMask});
  RegisterOp({.name = "rotary_embedding",
              .summary = "pairs of elements rotated by an angle that the position says",
              .inputs = {"x", "cos", "sin", "positions?"},
              .attrs = {{"interleaved", AttrKind::kInt, ffi::Any(0)},
                        {"num_heads", AttrKind::kInt, ffi::Any(0)},
                        {"rotary_embedding_dim", AttrKind::kInt, ffi::Any(0)}},
              .compute = RotaryEmbedding});
}

}  // namespace tern::op
