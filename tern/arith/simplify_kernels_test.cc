// SPDX-License-Identifier: Apache-2.0
//
// Indices and conditions as schedules leave them in real kernels, and as a person would write them.
#include <gtest/gtest.h>

#include <ctime>
#include <sstream>

#include "tern/arith/test_index_text.h"

namespace tern::arith {
namespace {

std::string Trim(const std::string& text) {
  size_t first = text.find_first_not_of(" \n"), last = text.find_last_not_of(" \n");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// A line is "loops | before | after".
void Check(const std::string& table) {
  std::istringstream lines(table);
  std::string line;
  while (std::getline(lines, line)) {
    if (Trim(line).empty()) continue;
    size_t first = line.find(" | "), second = line.find(" | ", first + 1);
    ASSERT_NE(second, std::string::npos) << line;
    std::string loops = Trim(line.substr(0, first)),
                before = Trim(line.substr(first + 3, second - first - 3)),
                after = Trim(line.substr(second + 3));
    IndexText text = IndexText::Parse(loops, {before});
    EXPECT_EQ(tir::Print(text.Inside().Simplify(text.exprs[0])), after) << loops << ": " << before;
  }
}

// Loops that are split and fused, and split again.
TEST(SimplifyKernels, Matmul) {
  Check(R"(
  io in 0..8, ii in 0..16             | (io * 16 + ii) // 16                                    | io
  io in 0..8, ii in 0..16             | (io * 16 + ii) % 16                                     | ii
  f in 0..4096                        | f // 64 * 64 + f % 64                                   | f
  f in 0..4096                        | (f // 64 * 64 + f % 64) // 1024                         | f // 1024
  b in 0..64, t in 0..256             | (b * 256 + t) // 1024                                   | b // 4
  b in 0..64, t in 0..256             | (b * 256 + t) % 1024                                    | b % 4 * 256 + t
  i in 0..n, j in 0..m                | (i * m + j) // m                                        | i
  i in 0..n, j in 0..m                | (i * m + j) % m                                         | j
  i in 0..n, j in 0..m                | (i * m + j) // m * m + (i * m + j) % m                  | i * m + j
  io in 0..n, ii in 0..4, j in 0..m   | ((io * 4 + ii) * m + j) // m // 4                       | io
  io in 0..n, ii in 0..4, j in 0..m   | ((io * 4 + ii) * m + j) // m % 4                        | ii
  io in 0..(n + 3) // 4, ii in 0..4   | io * 4 + ii - io * 4                                    | ii
  io in 0..(n + 31) // 32, ii in 0..32 where io * 32 + ii < n | io * 32 + ii < n && ii < n      | true
  io in 0..n // 4, ii in 0..4         | io * 4 + ii < n                                         | true
  io in 0..n, ii in 0..4              | io * 4 + ii < n * 4                                     | true
  io in 0..64, ii in 0..4             | io * 4 + ii < 200                                       | io < 50
  io in 0..(n + 15) // 16             | min(io * 16 + 16, n) - io * 16                          | min(n - io * 16, 16)
  io in 0..n // 16                    | min(io * 16 + 16, n) - io * 16                          | 16
  ko in 0..k                          | (ko + 1) * 16 - ko * 16                                 | 16
  )");
}

TEST(SimplifyKernels, Convolution) {
  Check(R"(
  oh in 0..56, r in 0..3                              | oh * 2 + r - 1 >= 0                       | oh * 2 + r >= 1
  oh in 0..56, r in 0..3                              | oh + r - 1 < 56                           | oh + r < 57
  oh in 0..56, r in 0..3                              | oh + r >= 0                               | true
  oh in 0..56, r in 0..3 where oh + r >= 1            | select(oh + r - 1 >= 0, oh + r - 1, 0)    | oh + r - 1
  oo in 0..8, oi in 0..16, ol in 0..4                 | (oo * 64 + oi * 4 + ol) // 64             | oo
  oo in 0..8, oi in 0..16, ol in 0..4                 | (oo * 64 + oi * 4 + ol) % 64 // 4         | oi
  oo in 0..8, oi in 0..16, ol in 0..4                 | (oo * 64 + oi * 4 + ol) % 4               | ol
  co in 0..16, ci in 0..4                             | (co * 4 + ci) // 8 * 8 + (co * 4 + ci) % 8 | co * 4 + ci
  co in 0..16, ci in 0..4                             | (co * 4 + ci) // 8                        | co // 2
  co in 0..16, ci in 0..4                             | (co * 4 + ci) % 8                         | co % 2 * 4 + ci
  ho in 0..14, hi in 0..4                             | min(ho * 4 + hi, 55)                      | ho * 4 + hi
  ho in 0..14, hi in 0..4, r in 0..3                  | ho * 4 + hi + r - ho * 4                  | hi + r
  ho in 0..14, r in 0..7                              | max(min(ho * 4 + r - 1, 55), 0)           | max(min(ho * 4 + r - 1, 55), 0)
  ho in 0..14, r in 0..3                              | max(min(ho * 4 + r - 1, 55), 0)           | max(ho * 4 + r - 1, 0)
  oh in 0..h, r in 0..3 where oh + r < h              | oh + r < h && r < h                       | true
  oh in 0..h, r in 0..3                               | (oh + r) * (w + 2) // (w + 2)             | oh + r
  oh in 0..h, ow in 0..w                              | (oh * w + ow) // w < h                    | true
  s in 0..3, ow in 0..56                              | (ow * 2 + s) % 2                          | s % 2
  s in 0..2, ow in 0..56                              | (ow * 2 + s) // 2                         | ow
  )");
}

TEST(SimplifyKernels, Im2col) {
  Check(R"(
  p in 0..27, c in 0..3 where p // 9 == c             | p // 9 * 9 + p % 9                        | p
  p in 0..27                                          | p // 9 * 9 + p % 9 // 3 * 3 + p % 3       | p
  p in 0..27                                          | p % 9 // 3 * 3 + p % 3                    | p % 9
  c in 0..3, r in 0..3, s in 0..3                     | (c * 9 + r * 3 + s) // 9                  | c
  c in 0..3, r in 0..3, s in 0..3                     | (c * 9 + r * 3 + s) % 9 // 3              | r
  c in 0..3, r in 0..3, s in 0..3                     | (c * 9 + r * 3 + s) // 3 % 3              | r
  c in 0..3, r in 0..3, s in 0..3                     | (c * 9 + r * 3 + s) % 3                   | s
  q in 0..3136                                        | q // 56 * 56 + q % 56                     | q
  q in 0..3136                                        | q - q // 56 * 56                          | q % 56
  q in 0..h * w                                       | q // w * w + q % w                        | q
  jo in 0..49, ji in 0..16                            | (jo * 64 + 16 + ji) // 56 * 56 + (jo * 8 + 16 + ji) % 56 | jo * 64 + ji + 16
  jo in 0..49, ji in 0..16                            | (jo * 64 + ji) // 56 * 56 + (jo * 9 + ji) % 56 | (jo * 64 + ji) // 56 * 56 + (jo * 9 + ji) % 56
  b in 0..n, q in 0..49                               | (b * 49 + q) // 7 % 7                     | q // 7
  b in 0..n, q in 0..49                               | (b * 49 + q) // 49 * 49                   | b * 49
  )");
}

TEST(SimplifyKernels, PackAndTranspose) {
  Check(R"(
  no in 0..n, ni in 0..16                             | (no * 16 + ni) // 16 * 16 + (no * 16 + ni) % 16 | no * 16 + ni
  i in 0..64, j in 0..64                              | (i * 64 + j) // 64 + (i * 64 + j) % 64 * 64     | i + j * 64
  i in 0..64, j in 0..64                              | (i // 4 * 4 + i % 4) * 64 + j                   | i * 64 + j
  f in 0..n * m                                       | f % m + f // m * m                              | f
  i in 0..n, j in 0..16                               | (j * n + i) % n * 16 + (j * n + i) // n         | i * 16 + j
  i in 0..n, j in 0..16, l in 0..4                    | ((i * 16 + j) * 4 + l) // 4 % 16                | j
  i in 0..n, j in 0..16, l in 0..4                    | ((i * 16 + j) * 4 + l) // 64                    | i
  ko in 0..(k + 15) // 16, ki in 0..16 where ko * 16 + ki < k | select(ko * 16 + ki < k, ko * 16 + ki, 0) | ko * 16 + ki
  where n % 16 == 0                                   | n // 16 * 16                                    | n
  no in 0..n // 16, ni in 0..16 where n % 16 == 0     | no * 16 + ni < n                                | true
  )");
}

TEST(SimplifyKernels, SoftmaxAndNormalisation) {
  Check(R"(
  row in 0..n, jo in 0..(m + 127) // 128, ji in 0..128 | (row * m + (jo * 128 + ji)) - row * m    | jo * 128 + ji
  row in 0..n, j in 0..m                               | (row * m + j) // m * m + j               | row * m + j
  t in 0..128, s in 0..7                               | t // 32 * 32 + t % 32                    | t
  t in 0..128                                          | t % 32 < 32 && t // 32 < 4               | true
  t in 0..256, i in 0..4                               | (i * 256 + t) * 4 // 4                   | i * 256 + t
  jo in 0..m // 4, ji in 0..4                          | select(jo * 4 + ji < m, jo * 4 + ji, 0)  | jo * 4 + ji
  jo in 0..(m + 3) // 4                                | max(min(m - jo * 4, 4), 0)               | min(m - jo * 4, 4)
  )");
}

TEST(SimplifyKernels, Attention) {
  Check(R"(
  b in 0..n, hd in 0..12, q in 0..m                    | ((b * 12 + hd) * m + q) // m             | b * 12 + hd
  b in 0..n, hd in 0..12, q in 0..m                    | ((b * 12 + hd) * m + q) // m % 12        | hd
  b in 0..n, hd in 0..12, q in 0..m                    | ((b * 12 + hd) * m + q) // m // 12       | b
  b in 0..n, hd in 0..12, q in 0..m                    | ((b * 12 + hd) * m + q) % m              | q
  q in 0..m, l in 0..q + 1                             | l <= q                                   | true
  q in 0..m, l in 0..q + 1                             | l < m                                    | true
  qo in 0..16, qi in 0..64, lo in 0..qo + 1, li in 0..64 where lo < qo | lo * 64 + li <= qo * 64 + qi | true
  qo in 0..16, qi in 0..64, lo in 0..16, li in 0..64   | qo * 64 + qi - lo * 64 >= li + qi        | qo * 64 >= lo * 64 + li
  hd in 0..12, d in 0..64                              | (hd * 64 + d) // 64 // 3                 | hd // 3
  hd in 0..12, d in 0..64                              | (hd * 64 + d) % 64 // 32                 | d // 32
  hd in 0..12, d in 0..64                              | (hd * 64 + d) // 32 % 2                  | d // 32
  q in 0..m where q < 128                              | min(q, 127)                              | q
  )");
}

// Packed layouts, padding and tails; bench/simplify.cc measures the like.
TEST(SimplifyKernels, TwelveLoops) {
  const char* loops =
      "b in 0..n, oo in 0..8, ho in 0..(h + 3) // 4, wo in 0..(w + 7) // 8, co in 0..16, r in "
      "0..3, "
      "s in 0..3, hi in 0..4, wi in 0..8, ci in 0..4, oi in 0..16, f in 0..4096 where "
      "ho * 4 + hi < h && wo * 8 + wi < w";
  const char* output =
      "(((b * 8 + (oo * 16 + oi) // 16) * h + (ho * 4 + hi)) * w + (wo * 8 + wi)) * 16 + "
      "(oo * 16 + oi) % 16";
  const char* weight =
      "((((oo * 16 + oi) // 16 * 8 + (co * 4 + ci) // 8) * 3 + r) * 3 + s) * 128 + "
      "(co * 4 + ci) % 8 * 16 + (oo * 16 + oi) % 16";
  const char* row = "((b * h + (ho * 4 + hi)) * w + (wo * 8 + wi)) // w";
  const char* row_of_image = "((b * h + (ho * 4 + hi)) * w + (wo * 8 + wi)) // w % h";
  const char* fused = "f // 512 * 512 + f // 32 % 16 * 32 + f % 32";
  IndexText text = IndexText::Parse(loops, {output, weight, row, row_of_image, fused});
  std::clock_t start = std::clock();
  Analyzer analyzer = text.Inside();
  std::vector<std::string> after;
  for (const ir::Expr& expr : text.exprs) after.push_back(tir::Print(analyzer.Simplify(expr)));
  double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(after, (std::vector<std::string>{
                       "(((b * 8 + oo) * h + ho * 4 + hi) * w + wo * 8 + wi) * 16 + oi",
                       "(((oo * 8 + co // 2) * 3 + r) * 3 + s) * 128 + (co % 2 * 4 + ci) * 16 + oi",
                       "b * h + ho * 4 + hi", "ho * 4 + hi", "f"}));
  EXPECT_LT(seconds, 0.1);  // of this thread, whatever else the machine does
}

}  // namespace
}  // namespace tern::arith
