// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/text.h"

#include <algorithm>

namespace tern::ffi {
namespace {

// The number of insertions, deletions, replacements and swaps of neighbours that make `b` of `a`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

bool SameLetters(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string Join(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text.empty() ? "none" : text;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + ")";
}

std::vector<std::string> NearNames(std::string_view name,
                                   const std::vector<std::string>& candidates) {
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    // Whoever holds Shift makes one mistake, not one a letter.
    bool same = SameLetters(name, candidate);
    size_t distance = same ? 1 : EditDistance(name, candidate);
    // A third of the letters wrong is still a typing mistake; a name of which one is the start of
    // the other may be one cut short.
    bool starts = name.size() >= 3 && candidate.starts_with(name);
    if (distance <= std::max(name.size(), candidate.size()) / 3 || starts || same)
      near.emplace_back(distance, candidate);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < near.size() && i < 3; ++i) names.push_back(near[i].second);
  return names;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  std::vector<std::string> near = NearNames(name, candidates);
  return near.empty() ? "" : " (did you mean " + Join(near) + "?)";
}

}  // namespace tern::ffi
