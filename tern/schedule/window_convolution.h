// SPDX-License-Identifier: Apache-2.0
//
// A stride-1 convolution as Winograd's algorithm reads it: input windows times weights, summed over
// taps and channels.
#ifndef TERN_SCHEDULE_WINDOW_CONVOLUTION_H_
#define TERN_SCHEDULE_WINDOW_CONVOLUTION_H_

#include <vector>

#include "tern/schedule/cook_toom.h"
#include "tern/schedule/new_block.h"

namespace tern::schedule {

// A dimension of the window: the axis of the output pixels and that of the taps, whose sum indexes
// the input.
struct Window {
  const tir::BlockIter *position = nullptr, *inside = nullptr;
  int64_t size = 0;           // taps
  WinogradTransforms filter;  // F(m, size)
  tir::Expr tiles;            // of m output pixels
  tir::Var at{"at"};          // pixel + tap
};

struct WindowConvolution {
  tir::Buffer result;
  std::vector<tir::Expr> place;  // indices of the result
  tir::Expr initial;             // of the accumulators; null for 0
  tir::Expr input, weights;      // operands; the input is indexed by Window::at
  std::vector<Window> windows;
  FusedAxes batch, channels, outputs;
};

// A float that is 0.
bool IsZero(const tir::Expr& value);

// Refuses what is none. The filters are F(m, r).
WindowConvolution ReadWindowConvolution(const tir::BlockNode* block, int64_t m);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_WINDOW_CONVOLUTION_H_
