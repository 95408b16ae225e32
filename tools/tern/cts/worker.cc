// SPDX-License-Identifier: Apache-2.0
#include "tools/tern/cts/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#include "tern/ffi/error.h"

namespace tern::tools {
namespace {

using Clock = std::chrono::steady_clock;

// "signal 11 (Segmentation fault)"; a shell says 128 + 11.
std::string EndText(int status) {
  int signal = WIFSIGNALED(status)                              ? WTERMSIG(status)
               : WIFEXITED(status) && WEXITSTATUS(status) > 128 ? WEXITSTATUS(status) - 128
                                                                : 0;
  if (signal) return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

// The group of the process that runs, for the handler below; 0: none.
std::atomic<pid_t> running_group{0};

// The terminal's signals reach this process alone: the worker has a group of its own.
void EndWithWorker(int number) {
  if (pid_t group = running_group) kill(-group, SIGKILL);
  signal(number, SIG_DFL);
  raise(number);
}

// A program in a process group of its own, and the lines that it prints.
class Process {
 public:
  explicit Process(const std::vector<std::string>& command) {
    int ends[2];
    TERN_CHECK(pipe2(ends, O_CLOEXEC) == 0) << "no pipe: " << std::strerror(errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    for (int number : {SIGINT, SIGTERM, SIGHUP})
      if (signal(number, EndWithWorker) == SIG_IGN) signal(number, SIG_IGN);
    std::fflush(nullptr);
    int error = posix_spawn(&pid_, words[0], &actions, &attributes, words.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = ends[0];
    if (error) close(output_);
    TERN_CHECK(!error) << "cannot start " << command[0] << ": " << std::strerror(error);
    running_group = pid_;
  }
  ~Process() {
    if (pid_) End();
    close(output_);
  }
  Process(const Process&) = delete;

  // Nothing at the end of the output, or where the deadline has passed: see is_late.
  std::optional<std::string> NextLine(std::optional<Clock::time_point> deadline) {
    size_t end;
    while ((end = buffer_.find('\n')) == std::string::npos) {
      if (!Wait(deadline)) return std::nullopt;
      char bytes[4096];
      ssize_t size = read(output_, bytes, sizeof bytes);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return std::nullopt;
      buffer_.append(bytes, static_cast<size_t>(size));
    }
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
  }
  bool is_late() const { return is_late_; }

  // Waits for its end, and ends what it started; the status is wait's.
  int End() {
    if (is_late_) kill(-pid_, SIGKILL);
    HasEnded(/*options=*/0);
    // Nobody else can have its number before it is waited for.
    kill(-pid_, SIGKILL);
    running_group = 0;
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }

 private:
  bool HasEnded(int options) const {
    siginfo_t info = {};
    while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | options) < 0 &&
           errno == EINTR) {
    }
    return info.si_pid == pid_;
  }

  // Whether there is something to read. What the process started may keep its output open when it
  // has ended: so that is asked for too.
  bool Wait(std::optional<Clock::time_point> deadline) {
    constexpr int kMilliseconds = 100;
    while (true) {
      bool has_ended = HasEnded(WNOHANG);
      pollfd output = {output_, POLLIN, 0};
      int ready = poll(&output, 1, has_ended ? 0 : kMilliseconds);
      if (ready > 0) return true;
      TERN_CHECK(ready == 0 || errno == EINTR) << "poll: " << std::strerror(errno);
      if (ready == 0 && has_ended) return false;
      is_late_ = deadline && Clock::now() >= *deadline;
      if (is_late_) return false;
    }
  }

  pid_t pid_ = 0;
  int output_ = -1;
  std::string buffer_;
  bool is_late_ = false;
};

// A line that is a report.
struct ReportLine {
  enum Kind { kBegins, kOk, kFailed, kAdds } kind = kBegins;
  size_t call = 0;
  std::string text;
};

// Nothing where the line is no report.
std::optional<ReportLine> ReadReport(std::string_view line) {
  constexpr std::string_view kCall = "call ";
  constexpr std::pair<std::string_view, ReportLine::Kind> kKinds[] = {
      {" ok: ", ReportLine::kOk},
      {" failed: ", ReportLine::kFailed},
      {" adds: ", ReportLine::kAdds}};
  if (!line.starts_with(kCall)) return std::nullopt;
  line.remove_prefix(kCall.size());
  ReportLine report;
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), report.call);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  if (line == " begins") return report;
  for (const auto& [word, kind] : kKinds) {
    if (!line.starts_with(word)) continue;
    report.kind = kind;
    report.text = line.substr(word.size());
    return report;
  }
  if (line != " ok") return std::nullopt;
  report.kind = ReportLine::kOk;
  return report;
}

// Starts the worker once, for the calls from `first` on; returns the first that it has not come to.
size_t RunOnce(const Worker& worker, size_t first, std::vector<CallReport>* reports) {
  auto deadline = [&] {
    return worker.timeout ? std::optional(Clock::now() + std::chrono::seconds(worker.timeout))
                          : std::nullopt;
  };
  Process process(worker.command(first));
  auto limit = deadline();
  std::string refusal;
  size_t begun = first, done = first;  // behind the last call that was begun, and that ended
  while (std::optional<std::string> line = process.NextLine(limit)) {
    std::optional<ReportLine> report = ReadReport(*line);
    if (!report || report->call > reports->size() - first) continue;
    std::string* error = &refusal;
    if (report->call > 0) {
      begun = first + report->call;
      if (report->kind != ReportLine::kBegins) done = begun;
      error = &(*reports)[begun - 1].error;
    }
    if (report->kind == ReportLine::kFailed) *error = report->text;
    if (report->kind == ReportLine::kAdds) *error += "\n" + report->text;
    if (report->kind == ReportLine::kOk && report->call > 0)
      (*reports)[begun - 1].note = report->text;
    limit = deadline();
  }
  int status = process.End();
  if (!refusal.empty()) TERN_THROW(RuntimeError) << refusal;
  auto end = [&](const std::string& place) {
    return worker.name + (process.is_late() ? " was stopped " + place + " after " +
                                                  std::to_string(worker.timeout) + " s (--timeout)"
                                            : " ended " + place + " with " + EndText(status));
  };
  if (begun == first) TERN_THROW(RuntimeError) << end("before its first call");
  bool is_broken = process.is_late() || !WIFEXITED(status) || WEXITSTATUS(status) > 1;
  std::string* error = &(*reports)[begun - 1].error;
  if (begun > done)
    *error = end("in this call");
  else if (is_broken && error->empty())
    *error = end("after this call");
  return begun;
}

}  // namespace

std::vector<CallReport> RunCalls(const Worker& worker, size_t count) {
  std::vector<CallReport> reports(count);
  for (size_t first = 0; first < count;) first = RunOnce(worker, first, &reports);
  return reports;
}

CallReporter::CallReporter() : output_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)) {
  TERN_CHECK(output_ >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
      << "no standard output: " << std::strerror(errno);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void CallReporter::Refuse(const std::string& why) { WriteFailure(why); }

void CallReporter::Begin() {
  ++call_;
  Write("begins");
}

void CallReporter::End(const CallReport& report) {
  if (report.error.empty())
    Write(report.note.empty() ? "ok" : "ok: " + report.note);
  else
    WriteFailure(report.error);
}

void CallReporter::WriteFailure(const std::string& why) const {
  std::istringstream lines(why);
  const char* word = "failed: ";
  for (std::string line; std::getline(lines, line); word = "adds: ") Write(word + line);
}

void CallReporter::Write(const std::string& text) const {
  std::string line = "call " + std::to_string(call_) + " " + text + "\n";
  for (std::string_view rest = line; !rest.empty();) {
    ssize_t written = write(output_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    TERN_CHECK(written > 0) << "cannot report: " << std::strerror(errno);
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace tern::tools
