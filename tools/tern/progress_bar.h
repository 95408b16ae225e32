// SPDX-License-Identifier: Apache-2.0
#ifndef TOOLS_TERN_PROGRESS_BAR_H_
#define TOOLS_TERN_PROGRESS_BAR_H_

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>

#include "tern/codegen/parallel_for.h"

namespace tern::tools {

// Shows how far a compilation is, while it lives: a line on the terminal that errors go to. Nothing
// where that is no terminal.
class ProgressBar {
 public:
  ProgressBar() {
    if (isatty(STDERR_FILENO)) observer_.emplace(Show);
  }
  ~ProgressBar() {
    if (observer_) std::fputs("\r\033[K", stderr);
  }
  ProgressBar(const ProgressBar&) = delete;

 private:
  static void Show(size_t done, size_t count) {
    constexpr size_t kWidth = 30;
    size_t filled = kWidth * done / count;
    std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
    std::fprintf(stderr, "\r[%s] %zu of %zu functions\033[K", bar.c_str(), done, count);
  }
  std::optional<codegen::ProgressObserver> observer_;
};

}  // namespace tern::tools

#endif  // TOOLS_TERN_PROGRESS_BAR_H_
