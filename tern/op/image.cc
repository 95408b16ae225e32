// SPDX-License-Identifier: Apache-2.0
//
// Sampling of images [batch, channels, spatial...] at computed places.
#include <algorithm>
#include <functional>

#include "tern/op/cubic.h"
#include "tern/op/formulas.h"
#include "tern/op/register.h"
#include "tern/op/windows.h"
#include "tern/tir/text.h"

namespace tern::op {

Expr CubicWeight(const Expr& distance, double a) {
  auto number = [&](double value) { return Number(distance, value); };
  Expr d = tir::Call("abs", {distance});
  Expr near = (number(a + 2) * d - number(a + 3)) * d * d + number(1);
  Expr far = ((number(a) * d - number(5 * a)) * d + number(8 * a)) * d - number(4 * a);
  return Select(d < number(1), near, Select(d < number(2), far, number(0)));
}

namespace {

// ---- GridSample

class GridSampler {
 public:
  explicit GridSampler(const Call& c)
      : x_(c.tensor(0)),
        mode_(c.String("mode")),
        padding_(c.String("padding_mode")),
        align_(c.Flag("align_corners")) {
    TERN_CHECK(mode_ == "nearest" || mode_ == "linear" || mode_ == "cubic")
        << "mode is nearest, linear or cubic, not " << mode_;
    TERN_CHECK(padding_ == "zeros" || padding_ == "border" || padding_ == "reflection")
        << "padding_mode is zeros, border or reflection, not " << padding_;
  }

  // A neighbour along one axis: its index, what it counts, and whether it is inside (null: it is).
  struct Tap {
    Expr index, weight, inside;
  };

  std::vector<Tap> Taps(const Expr& normalized, size_t axis) const {
    const Expr& extent = x_.shape()[axis];
    Expr size = Simplified(tir::Cast(normalized.dtype(), extent));
    Expr one = Number(normalized, 1), half = Number(normalized, 0.5);
    // From [-1, 1] to pixels: their centers at the borders, or half a pixel inside.
    Expr place = align_ ? (normalized + one) * half * (size - one)
                        : ((normalized + one) * size - one) * half;
    if (mode_ == "nearest") place = tir::Call("round", {place});
    if (padding_ == "border" && mode_ != "cubic")
      place = Clamped(place, Number(place, 0), size - one);
    if (padding_ == "reflection" && mode_ != "cubic") place = Reflected(place, size);
    if (mode_ == "nearest") return {Neighbour(place, one, extent, size)};
    Expr base = tir::Call("floor", {place}), rest = place - base;
    if (mode_ == "linear")
      return {Neighbour(base, one - rest, extent, size), Neighbour(base + one, rest, extent, size)};
    std::vector<Tap> taps;
    for (int k = -1; k <= 2; ++k) {
      Expr offset = Number(place, k);
      taps.push_back(Neighbour(base + offset, CubicWeight(rest - offset, -0.75), extent, size));
    }
    return taps;
  }

 private:
  // Mirrored at the borders as often as it takes.
  Expr Reflected(const Expr& place, const Expr& size) const {
    Expr one = Number(place, 1), zero = Number(place, 0), half = Number(place, 0.5);
    Expr low = align_ ? zero : zero - half, range = align_ ? size - one : size;
    Expr from = tir::Call("abs", {place - low});
    Expr period = Max(range, one);  // of one pixel without a range
    Expr turns = tir::Call("floor", {from / period}), rest = from - turns * period;
    Expr odd = turns - Number(place, 2) * tir::Call("floor", {turns * half});
    Expr mirrored = Select(odd == zero, rest, period - rest) + low;
    return Clamped(mirrored, zero, size - one);
  }

  Tap Neighbour(const Expr& place, const Expr& weight, const Expr& extent, const Expr& size) const {
    Expr inside, at = place;
    if (padding_ == "zeros") inside = place >= Number(place, 0) && place < size;
    if (padding_ == "reflection") at = Reflected(place, size);
    // Before it is an integer: what is far away has none.
    Expr index = AsIndex(Clamped(at, Number(at, 0), size - Number(at, 1)));
    return {Clamped(index, 0, extent - 1), weight, inside};
  }

  const Tensor& x_;
  std::string mode_, padding_;
  bool align_;
};

Tensors GridSample(Call& c) {
  const Tensor &x = c.tensor(0), &grid = c.tensor(1);
  CheckFloat(c, 0);
  CheckFloat(c, 1);
  TERN_CHECK(x.rank() >= 3 && grid.rank() == x.rank())
      << "the input is [batch, channels, spatial...] and the grid [batch, out..., spatial axes]";
  size_t dims = x.rank() - 2;
  c.RequireEqual(grid.shape()[0], x.shape()[0], "the batch of input and grid");
  c.RequireEqual(grid.shape().back(), static_cast<int64_t>(dims), "the number of coordinates");
  GridSampler sampler(c);
  Exprs shape{x.shape()[0], x.shape()[1]};
  shape.insert(shape.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    struct Term {
      Exprs at;
      Expr weight, inside;
    };
    std::vector<Term> terms{{{axes[0], axes[1]}, {}, {}}};
    for (size_t i = 0; i < dims; ++i) {
      Exprs in{axes[0]};
      in.insert(in.end(), axes.begin() + 2, axes.end());
      // Coordinates of the last axis are first.
      in.emplace_back(static_cast<int64_t>(dims - 1 - i));
      std::vector<GridSampler::Tap> taps = sampler.Taps(grid.At(std::move(in)), i + 2);
      std::vector<Term> next;
      for (const Term& term : terms)
        for (const GridSampler::Tap& tap : taps) {
          Term more = term;
          more.at.push_back(tap.index);
          more.weight = more.weight ? more.weight * tap.weight : tap.weight;
          if (tap.inside) more.inside = more.inside ? more.inside && tap.inside : tap.inside;
          next.push_back(std::move(more));
        }
      terms = std::move(next);
    }
    Expr sum;
    for (const Term& term : terms) {
      Expr value = x.At(term.at), zero = Number(value, 0);
      if (terms.size() > 1) value = value * Converted(x.dtype(), term.weight);
      if (term.inside) value = Select(term.inside, value, zero);
      sum = sum ? sum + value : value;
    }
    return sum;
  })};
}

Tensors AffineGrid(Call& c) {
  const Tensor& theta = c.tensor(0);
  CheckFloat(c, 0);
  CheckRank(c, 0, 3);
  Exprs size;
  for (const Expr& extent : c.content(1)) size.push_back(AsIndex(extent));
  TERN_CHECK(size.size() == 4 || size.size() == 5)
      << "size is [batch, channels, spatial...] of two or three spatial axes";
  auto dims = static_cast<int64_t>(size.size()) - 2;
  c.RequireEqual(theta.shape()[0], size[0], "the batch of theta and size");
  c.RequireEqual(theta.shape()[1], dims, "the number of rows of theta");
  c.RequireEqual(theta.shape()[2], dims + 1, "the number of columns of theta");
  Exprs shape{size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.emplace_back(dims);
  bool align = c.Flag("align_corners");
  DataType type = theta.dtype();
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Expr sum = theta(axes[0], axes.back(), Expr(dims));
    for (int64_t k = 0; k < dims; ++k) {
      // Coordinate 0 is of the last axis.
      Expr i = tir::Cast(type, axes[static_cast<size_t>(dims - k)]);
      Expr extent = tir::Cast(type, size[static_cast<size_t>(dims + 1 - k)]);
      Expr one = tir::Const(type, 1), two = tir::Const(type, 2);
      Expr at = align ? i * two / Max(extent - one, one) - one : (i * two + one) / extent - one;
      sum = sum + theta(axes[0], axes.back(), Expr(k)) * at;
    }
    return sum;
  })};
}

// ---- Regions

// Averages or maxima over points of a grid in each bin of each region.
Tensors RoiAlign(Call& c) {
  const Tensor &x = c.tensor(0), &rois = c.tensor(1), &batch = c.tensor(2);
  CheckFloat(c, 0);
  CheckRank(c, 0, 4);
  CheckRank(c, 1, 2);
  CheckRank(c, 2, 1);
  TERN_CHECK(rois.dtype() == x.dtype() && batch.dtype().is_integer())
      << "rois are of the input's type, and batch_indices of integers";
  c.RequireEqual(rois.shape()[1], 4, "the number of coordinates of a region");
  c.RequireEqual(rois.shape()[0], batch.shape()[0], "the number of regions");
  std::string mode = c.String("mode"), how = c.String("coordinate_transformation_mode");
  TERN_CHECK(mode == "avg" || mode == "max") << "mode is avg or max, not " << mode;
  TERN_CHECK(how == "half_pixel" || how == "output_half_pixel")
      << "coordinate_transformation_mode is half_pixel or output_half_pixel, not " << how;
  int64_t height = c.Int("output_height"), width = c.Int("output_width"),
          sampling = c.Int("sampling_ratio");
  TERN_CHECK(height > 0 && width > 0 && sampling >= 0)
      << "output_height and output_width are positive, and sampling_ratio is not negative";
  auto number = [&](double value) { return tir::Const(x.dtype(), value); };
  double offset = how == "half_pixel" ? 0.5 : 0, scale = c.Float("spatial_scale");
  Expr zero = number(0), one = number(1);
  // Along one axis: where the region starts, how large a bin is, and how many points it has.
  struct Side {
    Expr start, bin, points;
  };
  auto side_of = [&](const Expr& roi, int64_t first, int64_t bins) {
    Expr start = rois(roi, Expr(first)) * number(scale) - number(offset);
    Expr end = rois(roi, Expr(first + 2)) * number(scale) - number(offset);
    Expr size = end - start;
    if (offset == 0) size = Max(size, one);
    Expr bin = size / number(static_cast<double>(bins));
    Expr points = sampling ? number(static_cast<double>(sampling)) : tir::Call("ceil", {bin});
    return Side{start, bin, points};
  };
  // Without a ratio a bin has as many points as it has pixels: at most those of the input.
  auto most = [&](size_t axis) { return sampling ? Expr(sampling) : x.shape()[axis] + Expr(1); };
  auto value_at = [&](const Exprs& image, const Expr& y, const Expr& z) {
    // One axis: the two neighbours and how much the second counts.
    struct Between {
      Expr low, high, rest, inside;
    };
    auto between = [&](const Expr& place, size_t axis) {
      const Expr& extent = x.shape()[axis];
      Expr size = Simplified(tir::Cast(x.dtype(), extent));
      Expr inside = place >= zero - one && size >= place;
      Expr at = Clamped(place, zero, size - one), base = tir::Call("floor", {at});
      Expr low = Clamped(AsIndex(base), 0, extent - 1);
      return Between{low, Min(low + Expr(1), extent - 1), at - base, inside};
    };
    Between b = between(y, 2), r = between(z, 3);
    auto load = [&](const Expr& row, const Expr& column) {
      return x(image[0], image[1], row, column);
    };
    Expr parts[] = {load(b.low, r.low) * (one - b.rest) * (one - r.rest),
                    load(b.low, r.high) * (one - b.rest) * r.rest,
                    load(b.high, r.low) * b.rest * (one - r.rest),
                    load(b.high, r.high) * b.rest * r.rest};
    Expr value = mode == "avg" ? parts[0] + parts[1] + parts[2] + parts[3]
                               : Max(Max(parts[0], parts[1]), Max(parts[2], parts[3]));
    return Select(b.inside && r.inside, value, zero);
  };
  Exprs shape{rois.shape()[0], x.shape()[1], height, width};
  auto pooled = [&](const std::string& name, bool average) {
    return Compute(name, shape, [&](const Vars& axes) {
      ReduceAxis i("i", most(2)), j("j", most(3));
      Side rows = side_of(axes[0], 1, height), columns = side_of(axes[0], 0, width);
      auto place = [&](const Side& side, const Expr& bin, const Expr& point) {
        return side.start + Converted(x.dtype(), bin) * side.bin +
               (Converted(x.dtype(), point) + number(0.5)) * side.bin / side.points;
      };
      Exprs image{GuardedIndex(AsIndex(batch(axes[0])), x.shape()[0]), axes[1]};
      Expr value = value_at(image, place(rows, axes[2], i), place(columns, axes[3], j));
      tir::Reduction all = average ? tir::Sum(value, {i, j}) : tir::MaxOf(value, {i, j});
      if (!sampling)
        all.values[0] = Select(Converted(x.dtype(), Expr(i)) < rows.points &&
                                   Converted(x.dtype(), Expr(j)) < columns.points,
                               value, all.identities[0]);
      return all;
    });
  };
  if (mode == "max") return {pooled(c.name(), false)};
  Tensor sums = pooled(c.name("sums"), true);
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Side rows = side_of(axes[0], 1, height), columns = side_of(axes[0], 0, width);
    return sums.At(Indices(axes)) / Max(rows.points * columns.points, one);
  })};
}

// The largest in each bin of each region, of whole pixels.
Tensors MaxRoiPool(Call& c) {
  const Tensor &x = c.tensor(0), &rois = c.tensor(1);
  CheckFloat(c, 0);
  CheckRank(c, 0, 4);
  CheckRank(c, 1, 2);
  TERN_CHECK(rois.dtype() == x.dtype()) << "rois are of the input's type";
  c.RequireEqual(rois.shape()[1], 5, "the number of a region's batch and coordinates");
  std::vector<int64_t> pooled = IntsOr(c, "pooled_shape", 2, 1);
  TERN_CHECK(pooled[0] > 0 && pooled[1] > 0) << "pooled_shape is positive";
  auto number = [&](double value) { return tir::Const(x.dtype(), value); };
  double scale = c.Float("spatial_scale");
  Exprs shape{rois.shape()[0], x.shape()[1], pooled[0], pooled[1]};
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    ReduceAxis i("i", x.shape()[2]), j("j", x.shape()[3]);
    auto inside = [&](const Expr& pixel, size_t dim) {
      auto edge = [&](int64_t at) {
        return tir::Call("round", {rois(axes[0], Expr(at)) * number(scale)});
      };
      auto first = static_cast<int64_t>(dim == 0 ? 2 : 1);
      Expr start = edge(first), size = Max(edge(first + 2) - start + number(1), number(1));
      Expr bin = size / number(static_cast<double>(pooled[dim]));
      Expr k = Converted(x.dtype(), axes[dim + 2]), at = Converted(x.dtype(), pixel);
      Expr low = start + tir::Call("floor", {k * bin});
      Expr high = start + tir::Call("ceil", {(k + number(1)) * bin});
      return at >= low && at < high;
    };
    Expr image = GuardedIndex(AsIndex(rois(axes[0], Expr(0))), x.shape()[0]);
    tir::Reduction all = tir::MaxOf(x(image, axes[1], i, j), {i, j});
    all.values[0] = Select(inside(i, 0) && inside(j, 1), all.values[0], all.identities[0]);
    return all;
  })};
}

// ---- Columns

// Blocks of columns [batch, channels * block, positions], added where they come from.
Tensors Col2Im(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckRank(c, 0, 3);
  std::vector<int64_t> image = c.Ints(1), block = c.Ints(2);
  size_t dims = image.size();
  TERN_CHECK(dims > 0 && block.size() == dims) << "image and block have as many extents";
  std::vector<int64_t> strides = IntsOr(c, "strides", dims, 1),
                       dilations = IntsOr(c, "dilations", dims, 1),
                       pads = IntsOr(c, "pads", 2 * dims, 0);
  Exprs blocks, positions;
  for (size_t i = 0; i < dims; ++i) {
    TERN_CHECK(image[i] > 0 && block[i] > 0 && strides[i] > 0 && dilations[i] > 0)
        << "extents, strides and dilations are positive";
    int64_t count =
        (image[i] + pads[i] + pads[i + dims] - dilations[i] * (block[i] - 1) - 1) / strides[i] + 1;
    TERN_CHECK(count > 0) << "blocks do not fit into the image along axis " << i;
    blocks.emplace_back(block[i]);
    positions.emplace_back(count);
  }
  Expr each = graph::NumElements(blocks);
  c.RequireEqual(x.shape()[2], graph::NumElements(positions), "the number of columns");
  Expr channels = Simplified(ir::FloorDiv(x.shape()[1], each));
  c.RequireEqual(x.shape()[1], Simplified(channels * each), "channels times the size of a block");
  Exprs shape{x.shape()[0], channels};
  for (int64_t extent : image) shape.emplace_back(extent);
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    std::vector<ReduceAxis> over = ReduceAxes(blocks);
    Expr inside;
    Exprs position;
    for (size_t i = 0; i < dims; ++i) {
      Expr from = axes[i + 2] + Expr(pads[i]) - Expr(over[i]) * Expr(dilations[i]);
      Expr at = strides[i] == 1 ? from : ir::FloorDiv(from, strides[i]);
      Expr here = at >= Expr(0) && at < positions[i];
      if (strides[i] > 1) here = here && ir::FloorMod(from, strides[i]) == Expr(0);
      inside = inside ? inside && here : here;
      position.push_back(at);
    }
    Expr row = axes[1] * each + FlatIndex({over.begin(), over.end()}, blocks);
    return tir::Sum(x(axes[0], row, FlatIndex(position, positions)), over).Where(inside);
  })};
}

// Cut, or padded with zeros, at both ends.
Tensors CenterCropPad(Call& c) {
  const Tensor& x = c.tensor(0);
  std::vector<int64_t> axes;
  if (c.HasAttr("axes"))
    axes = c.Ints("axes");
  else
    for (int64_t i = 0; i < c.rank(0); ++i) axes.push_back(i);
  const Content& wanted = c.content(1);
  TERN_CHECK(wanted.size() == axes.size())
      << wanted.size() << " extents for " << axes.size() << " axes";
  Exprs shape = x.shape(), shift(x.rank(), Expr(0));
  for (size_t k = 0; k < axes.size(); ++k) {
    auto i = static_cast<size_t>(c.AxisOf(axes[k], c.rank(0)));
    shape[i] = Simplified(AsIndex(wanted[k]));
    // Of what is cut, and of what is added, the smaller half is ahead.
    Expr cut = x.shape()[i] - shape[i];
    shift[i] = Simplified(
        Select(cut >= Expr(0), ir::FloorDiv(cut, 2), Expr(0) - ir::FloorDiv(Expr(0) - cut, 2)));
  }
  return {Compute(c.name(), shape, [&](const Vars& out) {
    Exprs at;
    Expr inside;
    for (size_t i = 0; i < out.size(); ++i) {
      if (graph::SameExtent(shape[i], x.shape()[i])) {
        at.emplace_back(out[i]);
        continue;
      }
      Expr from = out[i] + shift[i], here = from >= Expr(0) && from < x.shape()[i];
      inside = inside ? inside && here : here;
      at.push_back(Clamped(from, 0, x.shape()[i] - 1));
    }
    Expr value = x.At(std::move(at));
    if (!inside || x.dtype().is_bool()) return value;
    return Select(inside, value, Number(value, 0));
  })};
}

}  // namespace

void RegisterImageOps() {
  RegisterOp({.name = "grid_sample",
              .summary = "x at the places of a grid, by interpolation",
              .inputs = {"x", "grid"},
              .attrs = {{"align_corners", AttrKind::kInt, ffi::Any(0)},
                        {"mode", AttrKind::kString, ffi::Any(std::string("linear"))},
                        {"padding_mode", AttrKind::kString, ffi::Any(std::string("zeros"))}},
              .compute = GridSample});
  RegisterOp({.name = "affine_grid",
              .summary = "the grid of an affine transformation",
              .inputs = {"theta", "size"},
              .attrs = {{"align_corners", AttrKind::kInt, ffi::Any(0)}},
              .compute = AffineGrid});
  RegisterOp({.name = "roi_align",
              .summary = "averages or maxima over bins of regions, by interpolation",
              .inputs = {"x", "rois", "batch_indices"},
              .attrs = {{"coordinate_transformation_mode", AttrKind::kString,
                         ffi::Any(std::string("half_pixel"))},
                        {"mode", AttrKind::kString, ffi::Any(std::string("avg"))},
                        {"output_height", AttrKind::kInt, ffi::Any(1)},
                        {"output_width", AttrKind::kInt, ffi::Any(1)},
                        {"sampling_ratio", AttrKind::kInt, ffi::Any(0)},
                        {"spatial_scale", AttrKind::kFloat, ffi::Any(1.0)}},
              .compute = RoiAlign});
  RegisterOp({.name = "max_roi_pool",
              .summary = "the largest of bins of regions, of whole pixels",
              .inputs = {"x", "rois"},
              .attrs = {{"pooled_shape", AttrKind::kInts, {}, true},
                        {"spatial_scale", AttrKind::kFloat, ffi::Any(1.0)}},
              .compute = MaxRoiPool});
  RegisterOp({.name = "col2im",
              .summary = "blocks of columns, added where they come from in an image",
              .inputs = {"x", "image_shape", "block_shape"},
              .attrs = {{"dilations", AttrKind::kInts},
                        {"pads", AttrKind::kInts},
                        {"strides", AttrKind::kInts}},
              .compute = Col2Im});
  RegisterOp({.name = "center_crop_pad",
              .summary = "x cut or padded at both ends to a shape",
              .inputs = {"x", "shape"},
              .attrs = {{"axes", AttrKind::kInts}},
              .compute = CenterCropPad});
}

}  // namespace tern::op
