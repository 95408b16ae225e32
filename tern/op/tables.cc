// SPDX-License-Identifier: Apache-2.0
//
// Operators that look elements up in tables: dictionaries, decision trees, n-grams.
#include "tern/graph/trees.h"
#include "tern/op/formulas.h"
#include "tern/op/register.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

using graph::kMostTreeDepth;
using graph::TreeMode;

// values[k] for the last k whose key is x; else the default.
Tensors Lookup(Call& c) {
  const Tensor &x = c.tensor(0), &keys = c.tensor(1), &values = c.tensor(2);
  CheckRank(c, 1, 1);
  CheckRank(c, 2, 1);
  TERN_CHECK(keys.dtype() == x.dtype() && c.dtype(3) == values.dtype())
      << "keys are of the input's type, and the default of the values'";
  c.RequireEqual(keys.shape()[0], values.shape()[0], "the number of keys and values");
  Tensor found = Compute(c.name("found"), x.shape(), [&](const Vars& axes) {
    ReduceAxis k("k", keys.shape()[0]);
    Expr value = x.At(Indices(axes)), key = keys(k), same = value == key;
    // A NaN is a key like others.
    if (x.dtype().is_float())
      same = same || (tir::Call("isnan", {value}) && tir::Call("isnan", {key}));
    return tir::MaxOf(Select(same, k, Expr(-1)), {k});
  });
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Expr at = found.At(Indices(axes));
    Expr value = values(Clamped(at, 0, values.shape()[0] - 1));
    return Select(at >= Expr(0), value, c.Scalar(3));
  })};
}

// ---- Trees

// Whether a row goes on with the first child of a node.
Expr Goes(const Expr& mode, const Expr& value, const Expr& split) {
  auto is = [&](TreeMode which) { return mode == Expr(static_cast<int64_t>(which)); };
  return (is(TreeMode::kLessOrEqual) && split >= value) || (is(TreeMode::kLess) && value < split) ||
         (is(TreeMode::kGreaterOrEqual) && value >= split) ||
         (is(TreeMode::kGreater) && split < value) || (is(TreeMode::kEqual) && value == split) ||
         (is(TreeMode::kNotEqual) && value != split);
}

// All nodes of all trees are one table; a leaf is its own child. `depth` steps lead from the roots
// to leaves.
Tensors TreeEnsemble(Call& c) {
  const Tensor& x = c.tensor(0);
  enum Input { kX, kRoots, kModes, kFeatures, kSplits, kFirst, kSecond, kMissing, kWeights };
  CheckRank(c, kX, 2);
  CheckFloat(c, kX);
  for (size_t i = kRoots; i <= kMissing; ++i) {
    CheckRank(c, i, 1);
    TERN_CHECK(c.dtype(i) == (i == kSplits ? x.dtype() : DataType::Int(64)))
        << "tables of trees are of int64, and splits of the input's type";
    if (i > kModes) c.RequireEqual(c.shape(i)[0], c.shape(kModes)[0], "the number of nodes");
  }
  CheckRank(c, kWeights, 2);
  TERN_CHECK(c.dtype(kWeights) == x.dtype()) << "weights are of the input's type";
  c.RequireEqual(c.shape(kWeights)[0], c.shape(kModes)[0], "the number of nodes");
  int64_t depth = c.Int("depth");
  TERN_CHECK(depth >= 0 && depth <= kMostTreeDepth)
      << "trees are of a depth of up to " << kMostTreeDepth << ", not " << depth;
  std::string how = c.String("aggregate");
  Expr rows = x.shape()[0], trees = c.shape(kRoots)[0], nodes = c.shape(kModes)[0];
  Tensor at = Compute(c.name("at0"), {rows, trees},
                      [&](Var, Var t) { return Clamped(c.tensor(kRoots)(t), 0, nodes - 1); });
  for (int64_t step = 1; step <= depth; ++step) {
    Tensor before = at;
    at = Compute(c.name() + "_at" + std::to_string(step), {rows, trees}, [&](Var n, Var t) {
      Expr node = before(n, t);
      Expr feature = Clamped(c.tensor(kFeatures)(node), 0, x.shape()[1] - 1);
      Expr value = x(n, feature), split = c.tensor(kSplits)(node);
      Expr missing = tir::Call("isnan", {value}) && c.tensor(kMissing)(node) != Expr(0);
      Expr goes = Goes(c.tensor(kModes)(node), value, split) || missing;
      return Clamped(Select(goes, c.tensor(kFirst)(node), c.tensor(kSecond)(node)), 0, nodes - 1);
    });
  }
  TERN_CHECK(how == "SUM" || how == "AVERAGE" || how == "MIN" || how == "MAX")
      << "aggregate is SUM, AVERAGE, MIN or MAX, not " << how;
  Exprs shape{rows, c.shape(kWeights)[1]};
  bool average = how == "AVERAGE";
  Tensor all = Compute(average ? c.name("sums") : c.name(), shape, [&](Var n, Var target) {
    ReduceAxis t("t", trees);
    Expr weight = c.tensor(kWeights)(at(n, t), target);
    return how == "MIN"   ? tir::MinOf(weight, {t})
           : how == "MAX" ? tir::MaxOf(weight, {t})
                          : tir::Sum(weight, {t});
  });
  if (!average) return {all};
  return {Compute(c.name(), shape, [&](Var n, Var target) {
    return all(n, target) / Simplified(tir::Cast(x.dtype(), trees));
  })};
}

// ---- N-grams

// How often each n-gram occurs in a sequence, or in each of several. Its items may be up to
// max_skip_count others apart, always as many; single items are counted once.
Tensors CountNgrams(Call& c) {
  const Tensor &x = c.tensor(0), &grams = c.tensor(1), &sizes = c.tensor(2);
  TERN_CHECK(x.rank() == 1 || x.rank() == 2) << "the input is a sequence, or a batch of them";
  CheckRank(c, 1, 2);
  CheckRank(c, 2, 1);
  TERN_CHECK(x.dtype().is_integer() && grams.dtype() == DataType::Int(64) &&
             sizes.dtype() == DataType::Int(64))
      << "items are integers";
  c.RequireEqual(grams.shape()[0], sizes.shape()[0], "the number of n-grams");
  int64_t longest = StaticExtent(grams.shape()[1], "the length of n-grams"),
          skips = c.Int("max_skip_count");
  TERN_CHECK(skips >= 0 && longest > 0) << "max_skip_count is not negative";
  Expr length = x.shape().back();
  Exprs shape(x.shape().begin(), x.shape().end() - 1);
  shape.push_back(grams.shape()[0]);
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    ReduceAxis place("p", length), skip("s", skips + 1);
    const Var& gram = axes.back();
    Expr size = sizes(gram);
    Expr same = Expr(0) < size && (Expr(skip) == Expr(0) || Expr(1) < size);
    for (int64_t k = 0; k < longest; ++k) {
      Expr at = place + Expr(k) * (skip + Expr(1));
      Exprs in(axes.begin(), axes.end() - 1);
      in.push_back(Min(at, length - 1));
      Expr here = at < length && AsIndex(x.At(std::move(in))) == grams(gram, Expr(k));
      same = same && (Expr(k) >= size || here);
    }
    DataType type = DataType::Float(32);
    return tir::Sum(Select(same, tir::Const(type, 1), tir::Const(type, 0)), {place, skip});
  })};
}

}  // namespace

void RegisterTableOps() {
  RegisterOp({.name = "lookup",
              .summary = "the value of the key that x is, or the default",
              .inputs = {"x", "keys", "values", "default"},
              .compute = Lookup});
  RegisterOp({.name = "tree_ensemble",
              .summary = "weights of the leaves of decision trees that rows of x lead to",
              .inputs = {"x", "roots", "modes", "features", "splits", "first", "second", "missing",
                         "weights"},
              .attrs = {{"depth", AttrKind::kInt, {}, true},
                        {"aggregate", AttrKind::kString, ffi::Any(std::string("SUM"))}},
              .compute = TreeEnsemble});
  RegisterOp({.name = "count_ngrams",
              .summary = "how often n-grams occur in sequences",
              .inputs = {"x", "grams", "sizes"},
              .attrs = {{"max_skip_count", AttrKind::kInt, ffi::Any(0)}},
              .compute = CountNgrams});
}

}  // namespace tern::op
