// SPDX-License-Identifier: Apache-2.0
//
// The windows that convolutions and poolings move over an input [batch, channels, spatial...].
#ifndef TERN_OP_WINDOWS_H_
#define TERN_OP_WINDOWS_H_

#include "tern/op/formulas.h"

namespace tern::op {

// The windows of a convolution or a pooling along the spatial axes.
struct Windows {
  std::vector<int64_t> kernel, strides, dilations;
  Exprs before, in, out;  // padding ahead, and extents of the input and the result

  size_t size() const { return kernel.size(); }
  // Where element `k` of the window that belongs to output `o` is, along axis `i`.
  Expr At(size_t i, const Expr& o, const Expr& k) const {
    Expr at = strides[i] == 1 ? o : o * Expr(strides[i]);
    if (kernel[i] > 1) at = at + (dilations[i] == 1 ? k : k * Expr(dilations[i]));
    return ir::IsConst(before[i], 0) ? at : at - before[i];
  }
  // Whether windows of axis `i` may reach beyond the input.
  bool Reaches(size_t i) const {
    if (!ir::IsConst(before[i], 0)) return true;
    Expr last = (out[i] - 1) * Expr(strides[i]) + Expr((kernel[i] - 1) * dilations[i]);
    std::optional<int64_t> beyond = ir::AsConstInt(Simplified(last - in[i]));
    return !beyond || *beyond >= 0;
  }
};

// Throws where it is none of NOTSET, VALID, SAME_UPPER and SAME_LOWER.
std::string AutoPad(const Call& c);

// How the number of strides is rounded that fit into an input less a window. An input that is
// smaller than the window has a negative one: toward zero, one window fits that is cut off.
enum class WindowRounding { kDown, kUp, kTowardZero };

// By the attributes of the call; `kernel` has an extent for each spatial axis, of which `first` is
// the first of the input.
Windows WindowsOf(const Call& c, const std::vector<int64_t>& kernel, WindowRounding rounding,
                  size_t first = 2);

// The element of the input there, by `load(indices)`; `border` outside of it.
Expr LoadInside(const Load& load, const Exprs& ahead, const Windows& w, const Exprs& places,
                const Expr& border);

// Axes of a reduction over a window.
std::vector<ReduceAxis> KernelAxes(const Windows& w);
// Where element `kernel` of the window of output `axes` is; `first` is the first spatial one.
Exprs Places(const Windows& w, const Vars& axes, const Exprs& kernel, size_t first = 2);
// Of the results: batch, channels, and one extent for each window.
Exprs WindowedShape(const Expr& batch, const Expr& channels, const Windows& w);

inline constexpr const char* kWindowShape = "the input is [batch, channels, spatial...]";
// The attributes of windows, behind others.
std::vector<graph::AttrSpec> WindowAttrs(std::vector<graph::AttrSpec> more);

}  // namespace tern::op

#endif  // TERN_OP_WINDOWS_H_
