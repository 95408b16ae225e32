// SPDX-License-Identifier: Apache-2.0
//
// A convolution as the sum of products of an image, seen through windows that move by one, and of
// weights.
#ifndef TERN_SCHEDULE_WINDOW_CONVOLUTION_H_
#define TERN_SCHEDULE_WINDOW_CONVOLUTION_H_

#include <vector>

#include "tern/schedule/cook_toom.h"
#include "tern/schedule/new_block.h"

namespace tern::schedule {

// An axis of the result and one that is summed over: together they say where the image is read.
struct Window {
  const tir::BlockIter *position = nullptr, *inside = nullptr;
  int64_t size = 0;      // of the window
  MinimalFilter filter;  // of the tiles' size
  tir::Expr tiles;       // how many
  tir::Var at{"at"};     // in the image
};

struct WindowConvolution {
  tir::Buffer result;
  std::vector<tir::Expr> place;  // of the result
  tir::Expr initial;             // what the sums are added to; null for 0
  tir::Expr image, weights;      // factors; the image is one of Window::at
  std::vector<Window> windows;
  FusedAxes images, channels, outputs;
};

// A float that is 0.
bool IsZero(const tir::Expr& value);

// Refuses what is none. The filters are of tiles of m results.
WindowConvolution ReadWindowConvolution(const tir::BlockNode* block, int64_t m);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_WINDOW_CONVOLUTION_H_
