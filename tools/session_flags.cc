// SPDX-License-Identifier: Apache-2.0
#include "tools/session_flags.h"

#include <sstream>

#include "tools/run_report.h"

namespace tern::tools {
namespace {

// "0-3,6" -> {0, 1, 2, 3, 6}
std::vector<int> ParseCpus(const std::string& text) {
  constexpr int64_t kMost = 1 << 16;
  std::vector<int> cpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    size_t dash = part.find('-');
    auto number = [&](const std::string& digits) {
      bool is_number = !digits.empty() && digits.size() < 8 &&
                       digits.find_first_not_of("0123456789") == std::string::npos;
      return is_number ? ParseInteger("--cpus", digits) : -1;
    };
    int64_t first = number(part.substr(0, dash));
    int64_t last = dash == std::string::npos ? first : number(part.substr(dash + 1));
    TERN_CHECK(first >= 0 && first <= last && last <= kMost)
        << "--cpus: expected CPUs as in 0-3,6, got \"" << part << "\"";
    for (int64_t cpu = first; cpu <= last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

}  // namespace

runtime::vm::SessionOptions MakeSessionOptions(const SessionFlags& flags) {
  runtime::vm::SessionOptions options;
  TERN_CHECK(flags.threads >= 0 && flags.threads <= runtime::kMaxThreads)
      << "--threads: expected 1 to " << runtime::kMaxThreads << ", got " << flags.threads;
  options.num_threads = flags.threads;
  options.cpus = ParseCpus(flags.cpus);
  TERN_CHECK(flags.denormals.empty() || flags.denormals == "flush" || flags.denormals == "keep")
      << "--denormals: expected flush or keep, got \"" << flags.denormals << "\"";
  if (!flags.denormals.empty())
    options.denormals =
        flags.denormals == "flush" ? runtime::Denormals::kFlush : runtime::Denormals::kKeep;
  TERN_CHECK(flags.graphs.empty() || flags.graphs == "on" || flags.graphs == "off")
      << "--graphs: expected on or off, got \"" << flags.graphs << "\"";
  options.graphs = flags.graphs != "off";
  return options;
}

runtime::vm::RunOptions MakeRunOptions(const SessionFlags& flags) {
  using Clock = std::chrono::steady_clock;
  constexpr double kLongest = 1e9;
  TERN_CHECK(flags.timeout >= 0 && flags.timeout <= kLongest)
      << "--timeout: expected seconds, got " << flags.timeout;
  runtime::vm::RunOptions options;
  if (flags.timeout > 0)
    options.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(flags.timeout));
  return options;
}

}  // namespace tern::tools
