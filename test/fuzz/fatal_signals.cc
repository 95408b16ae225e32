// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/fatal_signals.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace tern::fuzz {
namespace {

void Write(const std::string& text) {
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void OnFatalSignal(int) {
  const Progress& progress = CurrentProgress();
  char line[64];
  std::snprintf(line, sizeof line,
                "seed %llu: crashed, stage: ", static_cast<unsigned long long>(progress.seed));
  Write(line);
  Write(progress.stage);
  Write("\n");
  Write(progress.text);
  _exit(1);
}

}  // namespace

Progress& CurrentProgress() {
  static Progress progress;
  return progress;
}

// A stack of its own, so that endless recursion is reported too.
void CatchFatalSignals() {
  CurrentProgress();
  static char stack[1 << 16];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_handler = OnFatalSignal;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGABRT}) sigaction(signal, &action, nullptr);
}

}  // namespace tern::fuzz
