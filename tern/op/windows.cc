// SPDX-License-Identifier: Apache-2.0
#include "tern/op/windows.h"

#include "tern/tir/text.h"

namespace tern::op {

std::string AutoPad(const Call& c) {
  std::string automatic = c.String("auto_pad");
  TERN_CHECK(automatic == "NOTSET" || automatic == "VALID" || automatic == "SAME_UPPER" ||
             automatic == "SAME_LOWER" || automatic.empty())
      << "auto_pad is NOTSET, VALID, SAME_UPPER or SAME_LOWER, not " << automatic;
  return automatic;
}

namespace {

Expr Strides(const Expr& padded, int64_t stride, WindowRounding rounding) {
  Expr down = ir::FloorDiv(padded, stride), up = ir::CeilDiv(padded, stride);
  if (rounding == WindowRounding::kUp) return up;
  return rounding == WindowRounding::kDown || stride == 1 ? down : Max(down, Min(up, 0));
}

}  // namespace

Windows WindowsOf(const Call& c, const std::vector<int64_t>& kernel, WindowRounding rounding,
                  size_t first) {
  size_t dims = kernel.size();
  Windows w{kernel, IntsOr(c, "strides", dims, 1), IntsOr(c, "dilations", dims, 1), {}, {}, {}};
  std::vector<int64_t> pads = IntsOr(c, "pads", 2 * dims, 0);
  std::string automatic = AutoPad(c);
  for (size_t i = 0; i < dims; ++i) {
    TERN_CHECK(kernel[i] > 0 && w.strides[i] > 0 && w.dilations[i] > 0)
        << "extents, strides and dilations of windows are positive";
    Expr in = c.shape(0)[i + first], before = pads[i], out;
    int64_t reach = (kernel[i] - 1) * w.dilations[i] + 1;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      out = ir::CeilDiv(in, w.strides[i]);
      Expr pad = Max((out - 1) * Expr(w.strides[i]) + Expr(reach) - in, 0);
      before = Simplified(ir::FloorDiv(automatic == "SAME_LOWER" ? pad + 1 : pad, 2));
    } else {
      bool valid = automatic == "VALID";
      if (valid) before = 0;
      Expr padded = in + Expr(valid ? 0 : pads[i] + pads[i + dims]) - Expr(reach);
      out = Strides(padded, w.strides[i], rounding) + 1;
      // No window starts behind the input and its padding ahead.
      if (rounding == WindowRounding::kUp)
        out = Min(out, ir::FloorDiv(in + before - 1, w.strides[i]) + 1);
    }
    out = Simplified(out);
    if (std::optional<int64_t> extent = ir::AsConstInt(out); extent && *extent < 0)
      TERN_THROW(ValueError) << "windows of " << reach << " do not fit into an extent of "
                             << tir::Print(in) << " along axis " << i + first;
    w.in.push_back(in);
    w.before.push_back(before);
    w.out.push_back(out);
  }
  return w;
}

Expr LoadInside(const Load& load, const Exprs& ahead, const Windows& w, const Exprs& places,
                const Expr& border) {
  Exprs at = ahead;
  at.insert(at.end(), places.begin(), places.end());
  Expr inside;
  for (size_t i = 0; i < w.size(); ++i) {
    if (!w.Reaches(i)) continue;
    Expr here = places[i] >= Expr(0) && places[i] < w.in[i];
    inside = inside ? inside && here : here;
  }
  Expr element = load(at);
  return inside ? Select(inside, element, border) : element;
}

std::vector<ReduceAxis> KernelAxes(const Windows& w) {
  std::vector<ReduceAxis> axes;
  for (size_t i = 0; i < w.size(); ++i) axes.emplace_back("k" + std::to_string(i), w.kernel[i]);
  return axes;
}

Exprs Places(const Windows& w, const Vars& axes, const Exprs& kernel, size_t first) {
  Exprs places;
  for (size_t i = 0; i < w.size(); ++i) places.push_back(w.At(i, axes[i + first], kernel[i]));
  return places;
}

Exprs WindowedShape(const Expr& batch, const Expr& channels, const Windows& w) {
  Exprs shape{batch, channels};
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  return shape;
}

std::vector<graph::AttrSpec> WindowAttrs(std::vector<graph::AttrSpec> more) {
  const std::vector<graph::AttrSpec> attrs = {
      {"auto_pad", AttrKind::kString, ffi::Any(std::string("NOTSET"))},
      {"dilations", AttrKind::kInts},
      {"kernel_shape", AttrKind::kInts},
      {"pads", AttrKind::kInts},
      {"strides", AttrKind::kInts}};
  more.insert(more.end(), attrs.begin(), attrs.end());
  return more;
}

}  // namespace tern::op
