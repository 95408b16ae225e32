// SPDX-License-Identifier: Apache-2.0
//
// simplify: how long the indices and conditions of a convolution in 12 loops take, with split axes
// that do not divide, padding, and layouts packed by channels. The limit is on one core.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tern/arith/analyzer.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

using ir::Expr;
using ir::FloorDiv;
using ir::FloorMod;
using ir::Var;

constexpr double kMaxSeconds = 0.01;
constexpr int kRepeats = 20;

struct Convolution {
  Var n{"n"}, h{"h"}, w{"w"};
  Var b{"b"}, oo{"oo"}, oi{"oi"}, ho{"ho"}, hi{"hi"}, wo{"wo"}, wi{"wi"}, co{"co"}, ci{"ci"},
      r{"r"}, s{"s"}, f{"f"};

  arith::Analyzer Ranges() const {
    arith::Analyzer analyzer;
    for (const Var& extent : {n, h, w}) analyzer.Bind(extent, {0, arith::ConstBounds::kPosInf});
    analyzer.BindRange(b, 0, n);
    analyzer.BindRange(oo, 0, 8);
    analyzer.BindRange(ho, 0, CeilDiv(h, 4));
    analyzer.BindRange(wo, 0, CeilDiv(w, 8));
    analyzer.BindRange(co, 0, 16);
    analyzer.BindRange(r, 0, 3);
    analyzer.BindRange(s, 0, 3);
    analyzer.BindRange(hi, 0, 4);
    analyzer.BindRange(wi, 0, 8);
    analyzer.BindRange(ci, 0, 4);
    analyzer.BindRange(oi, 0, 16);
    analyzer.BindRange(f, 0, 4096);
    return analyzer;
  }

  std::vector<Expr> Expressions() const {
    Expr vo = oo * 16 + oi, vc = co * 4 + ci, vh = ho * 4 + hi, vw = wo * 8 + wi;
    Expr inside =
        vh < h && vw < w && vh + r >= 1 && vh + r - 1 < h && vw + s >= 1 && vw + s - 1 < w;
    Expr packed_in =
        (((b * 8 + FloorDiv(vc, 8)) * h + (vh + r - 1)) * w + (vw + s - 1)) * 8 + FloorMod(vc, 8);
    Expr packed_out = (((b * 8 + FloorDiv(vo, 16)) * h + vh) * w + vw) * 16 + FloorMod(vo, 16);
    Expr weight = (((FloorDiv(vo, 16) * 8 + FloorDiv(vc, 8)) * 3 + r) * 3 + s) * 128 +
                  FloorMod(vc, 8) * 16 + FloorMod(vo, 16);
    Expr pixel = (b * h + vh) * w + vw;
    return {packed_in,
            packed_out,
            weight,
            inside,
            ir::SelectNode::Make(inside, packed_in, 0),
            FloorDiv(pixel, w),
            FloorMod(pixel, w),
            FloorMod(FloorDiv(pixel, w), h),
            FloorDiv(f, 512) * 512 + FloorMod(FloorDiv(f, 32), 16) * 32 + FloorMod(f, 32),
            ir::MinNode::Make(ho * 4 + 4, h) - ho * 4,
            ir::MinNode::Make(wo * 8 + 8, w) - wo * 8,
            ho * 4 < h && wo * 8 < w};
  }
};

int Run() {
  Convolution convolution;
  std::vector<Expr> expressions = convolution.Expressions();
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    auto start = std::chrono::steady_clock::now();
    arith::Analyzer analyzer = convolution.Ranges();
    for (const Expr& expr : expressions) analyzer.Simplify(expr);
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::min(best, elapsed.count());
  }
  arith::Analyzer analyzer = convolution.Ranges();
  for (const Expr& expr : expressions)
    std::printf("  %s\n    %s\n", tir::Print(expr).c_str(),
                tir::Print(analyzer.Simplify(expr)).c_str());
  bool within = best <= kMaxSeconds;
  std::printf("%zu expressions over 12 loops: %.3f ms (limit %.0f)%s\n", expressions.size(),
              1e3 * best, 1e3 * kMaxSeconds, within ? "" : "  OVER THE LIMIT");
  return within ? 0 : 1;
}

}  // namespace
}  // namespace tern

int main() {
  try {
    return tern::Run();
  } catch (const tern::Error& error) {
    std::fprintf(stderr, "simplify: error: %s\n", error.what());
    return 2;
  }
}
