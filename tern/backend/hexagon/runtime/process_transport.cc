// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/hexagon/runtime/process_transport.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "tern/ffi/error.h"

extern char** environ;

namespace tern::backend::hexagon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kProgramFile = 3;  // in the process

// A descriptor of this process that closes itself.
struct File {
  explicit File(int number) : number(number) {}
  File(const File&) = delete;
  ~File() {
    if (number >= 0) close(number);
  }
  int number;
};

[[noreturn]] void ThrowSystem(const std::string& what) {
  TERN_THROW(RuntimeError) << what << ": " << std::strerror(errno);
}

int FileWith(std::string_view bytes) {
  File file(memfd_create("tern-executor", MFD_CLOEXEC));
  if (file.number < 0) ThrowSystem("the executor's program has no file");
  while (!bytes.empty()) {
    ssize_t written = write(file.number, bytes.data(), bytes.size());
    if (written < 0) ThrowSystem("the executor's program has no file");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  // No number that the process has standard files at, or that a file is moved to itself by, which
  // would leave it closed.
  int number = fcntl(file.number, F_DUPFD_CLOEXEC, kProgramFile + 1);
  if (number < 0) ThrowSystem("the executor's program has no file");
  return number;
}

}  // namespace

// All there are in this process, for forked children to forget. A child that kept its copy of a
// connection could talk into its parent's, and the executor would not end with the parent.
class Transports {
 public:
  // Leaked, as those who use it may be.
  static Transports& Get() {
    static auto* transports = new Transports;
    return *transports;
  }
  void Add(ProcessTransport* transport) {
    std::scoped_lock lock(mutex_);
    all_.insert(transport);
  }
  void Remove(ProcessTransport* transport) {
    std::scoped_lock lock(mutex_);
    all_.erase(transport);
  }

 private:
  Transports() {
    pthread_atfork([] { Get().mutex_.lock(); }, [] { Get().mutex_.unlock(); },
                   [] {
                     for (ProcessTransport* transport : Get().all_) transport->Forget();
                     Get().mutex_.unlock();
                   });
  }

  std::mutex mutex_;
  std::set<ProcessTransport*> all_;
};

ProcessTransport::ProcessTransport(std::vector<std::string> command, std::string_view program,
                                   std::chrono::milliseconds limit)
    : command_(std::move(command)), limit_(limit) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    ThrowSystem("no connection to an executor");
  File mine(ends[0]), other(ends[1]), file(program.empty() ? -1 : FileWith(program));
  if (file.number >= 0) command_.push_back("/proc/self/fd/" + std::to_string(kProgramFile));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, other.number, 0);
  posix_spawn_file_actions_adddup2(&actions, other.number, 1);
  if (file.number >= 0) posix_spawn_file_actions_adddup2(&actions, file.number, kProgramFile);
  std::vector<char*> arguments;
  for (std::string& word : command_) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  errno = posix_spawn(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (errno != 0) ThrowSystem("cannot run " + command_[0]);
  socket_ = std::exchange(mine.number, -1);
  Transports::Get().Add(this);
}

ProcessTransport::~ProcessTransport() {
  Transports::Get().Remove(this);
  End();
  if (socket_ >= 0) close(socket_);
}

void ProcessTransport::Forget() {
  if (socket_ >= 0) close(socket_);
  socket_ = process_ = -1;
}

std::string ProcessTransport::End() {
  if (process_ < 0) return "it has ended";
  kill(process_, SIGKILL);  // does nothing to one that has ended, and waits to be asked how
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (WIFEXITED(status)) return "it ended with status " + std::to_string(WEXITSTATUS(status));
  int signal = WTERMSIG(status);
  return std::string("it was ended by a signal, ") + strsignal(signal);
}

// A process that closed its connection is about to end; how it does is told by then.
void ProcessTransport::ThrowGone() {
  for (int i = 0; process_ >= 0 && i < 100; ++i) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid != 0)
      break;
    poll(nullptr, 0, 10);
  }
  TERN_THROW(RuntimeError) << "the executor (" << command_[0] << ") is gone: " << End();
}

void ProcessTransport::Wait(short events, Clock::time_point deadline) {
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd file = {socket_, events, 0};
    int ready = left.count() > 0
                    ? poll(&file, 1, static_cast<int>(std::min<int64_t>(left.count(), 1 << 30)))
                    : 0;
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) ThrowSystem("waiting for the executor");
    if (ready == 0) {
      End();
      TERN_THROW(RuntimeError) << "the executor (" << command_[0] << ") did not answer within "
                               << static_cast<double>(limit_.count()) / 1000
                               << " seconds and was ended";
    }
  }
}

void ProcessTransport::Send(const void* data, size_t bytes) {
  if (process_ < 0) ThrowGone();
  Clock::time_point deadline = Clock::now() + limit_;
  for (const char* at = static_cast<const char*>(data); bytes > 0;) {
    Wait(POLLOUT, deadline);
    ssize_t sent = send(socket_, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent <= 0) ThrowGone();
    at += sent;
    bytes -= static_cast<size_t>(sent);
    deadline = Clock::now() + limit_;
  }
}

void ProcessTransport::Receive(void* data, size_t bytes) {
  if (process_ < 0) ThrowGone();
  Clock::time_point deadline = Clock::now() + limit_;
  for (char* at = static_cast<char*>(data); bytes > 0;) {
    Wait(POLLIN, deadline);
    ssize_t received = recv(socket_, at, bytes, MSG_DONTWAIT);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (received <= 0) ThrowGone();
    at += received;
    bytes -= static_cast<size_t>(received);
    deadline = Clock::now() + limit_;
  }
}

}  // namespace tern::backend::hexagon
