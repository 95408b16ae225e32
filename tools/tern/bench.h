// SPDX-License-Identifier: Apache-2.0
#ifndef TOOLS_TERN_BENCH_H_
#define TOOLS_TERN_BENCH_H_

#include <string>
#include <vector>

namespace tern::tools {

// Times the functions of .tir, .so and .tern files, on one target or several, side by side.
struct BenchOptions {
  std::vector<std::string> files;    // each is timed on each target
  std::vector<std::string> targets;  // none: the host; not of compiled files
  std::string host, entry;
  std::vector<std::string> inputs, dims;
  int repeat = 20, rounds = 5;
  bool default_schedules = true;
  bool steps = false;     // of schedules: times the function after each
  bool roofline = false;  // measures what the target reaches, and says which share of it that is
};
void Bench(const BenchOptions& options);

}  // namespace tern::tools

#endif  // TOOLS_TERN_BENCH_H_
