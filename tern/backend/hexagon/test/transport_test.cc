// SPDX-License-Identifier: Apache-2.0
//
// A process at the other end of a transport: one that talks in pieces, dies, hangs or is not there.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "tern/backend/hexagon/runtime/process_transport.h"
#include "tern/ffi/error.h"

namespace tern::backend::hexagon {
namespace {

using namespace std::chrono_literals;

std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

ProcessTransport Shell(const std::string& script, std::chrono::milliseconds limit = 20s) {
  return ProcessTransport({"/bin/sh", "-c", script}, "", limit);
}

TEST(HexagonTransport, BytesInPieces) {
  ProcessTransport transport = Shell("printf ab; sleep 0.05; printf cd; cat");
  std::string text(4, ' ');
  transport.Receive(text.data(), text.size());
  EXPECT_EQ(text, "abcd");
  transport.Send("xyz", 3);
  transport.Receive(text.data(), 1);
  transport.Receive(text.data() + 1, 2);
  EXPECT_EQ(text, "xyzd");
}

TEST(HexagonTransport, MoreThanAPipeHolds) {
  ProcessTransport transport = Shell("head -c 3000000 >/dev/null; head -c 3000000 /dev/zero");
  std::string bytes(3000000, 'x');
  transport.Send(bytes.data(), bytes.size());
  transport.Receive(bytes.data(), bytes.size());
  EXPECT_EQ(bytes, std::string(3000000, '\0'));
}

TEST(HexagonTransport, FileWithTheProgram) {
  ProcessTransport transport({"/bin/cat"}, "program", 20s);
  std::string text(7, ' ');
  transport.Receive(text.data(), text.size());
  EXPECT_EQ(text, "program");
}

// A forked child neither talks into its parent's connection nor ends the process at its other end.
TEST(HexagonTransport, ForkedChildHasNone) {
  auto transport =
      std::make_unique<ProcessTransport>(std::vector<std::string>{"/bin/cat"}, "", 20s);
  pid_t child = fork();
  if (child == 0) {
    std::string error = ErrorOf([&] { transport->Send("wrong", 5); });
    transport.reset();
    _exit(error == "the executor (/bin/cat) is gone: it has ended" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::string text = "right";
  transport->Send(text.data(), text.size());
  text = "     ";
  transport->Receive(text.data(), text.size());
  EXPECT_EQ(text, "right");
}

TEST(HexagonTransport, DeadProcess) {
  char byte;
  ProcessTransport ended = Shell("exit 3");
  EXPECT_EQ(ErrorOf([&] { ended.Receive(&byte, 1); }),
            "the executor (/bin/sh) is gone: it ended with status 3");
  EXPECT_EQ(ErrorOf([&] { ended.Receive(&byte, 1); }),
            "the executor (/bin/sh) is gone: it has ended");
  ProcessTransport crashed = Shell("printf a; kill -SEGV $$");
  EXPECT_NE(ErrorOf([&] {
              for (;;) crashed.Receive(&byte, 1);
            }).find("is gone: it was ended by a signal, Segmentation fault"),
            std::string::npos);
  // Bytes for one that is gone end nobody else.
  ProcessTransport silent = Shell("exec 0<&- 1>&-; exit 0");
  std::string bytes(1 << 20, 'x');
  EXPECT_NE(ErrorOf([&] {
              for (int i = 0; i < 100; ++i) silent.Send(bytes.data(), bytes.size());
            }).find("is gone: it ended with status 0"),
            std::string::npos);
}

TEST(HexagonTransport, HangingProcess) {
  auto start = std::chrono::steady_clock::now();
  char byte;
  ProcessTransport mute = Shell("exec sleep 100", 100ms);
  EXPECT_EQ(ErrorOf([&] { mute.Receive(&byte, 1); }),
            "the executor (/bin/sh) did not answer within 0.1 seconds and was ended");
  ProcessTransport deaf = Shell("exec sleep 100", 100ms);
  std::string bytes(16 << 20, 'x');
  EXPECT_EQ(ErrorOf([&] { deaf.Send(bytes.data(), bytes.size()); }),
            "the executor (/bin/sh) did not answer within 0.1 seconds and was ended");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 50s);
}

TEST(HexagonTransport, NoProgram) {
  EXPECT_EQ(ErrorOf([] { ProcessTransport({"/no/such/program"}, "", 1s); }),
            "cannot run /no/such/program: No such file or directory");
}

}  // namespace
}  // namespace tern::backend::hexagon
