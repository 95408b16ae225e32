// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/environment.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>

#include "tern/runtime/test_data/test_environment.h"

namespace tern::environment {
namespace {

using runtime::ErrorOf;
using runtime::ScopedVariable;
using runtime::TempDirectory;

constexpr const char* kName = "TERN_TEST_VARIABLE";

TEST(Environment, FlagsHaveSixWords) {
  for (const char* word : {"1", "true", "TRUE", "True", "on", "ON"}) {
    ScopedVariable set(kName, word);
    EXPECT_TRUE(Flag(kName, false)) << word;
  }
  for (const char* word : {"0", "false", "False", "off", "oFF"}) {
    ScopedVariable set(kName, word);
    EXPECT_FALSE(Flag(kName, true)) << word;
  }
  for (const char* word : {"yes", "2", "01", " 1", "tru", "on "}) {
    ScopedVariable set(kName, word);
    EXPECT_EQ(ErrorOf([] { Flag(kName, false); }), std::string("TERN_TEST_VARIABLE is '") + word +
                                                       "'; expected 0, 1, true, false, on or off");
  }
}

TEST(Environment, SetToNothingIsNotSet) {
  EXPECT_FALSE(Text(kName));
  EXPECT_TRUE(Flag(kName, true));
  ScopedVariable set(kName, "");
  EXPECT_FALSE(Text(kName));
  EXPECT_FALSE(TrustedText(kName));
  EXPECT_TRUE(Flag(kName, true));
  EXPECT_FALSE(Flag(kName, false));
  EXPECT_EQ(Number(kName, 0, 9, 5), 5);
}

TEST(Environment, NumbersHaveARange) {
  {
    ScopedVariable set(kName, "12");
    EXPECT_EQ(Number(kName, 1, 12, 5), 12);
    EXPECT_EQ(ErrorOf([] { Number(kName, 1, 11, 5); }),
              "TERN_TEST_VARIABLE is '12'; expected a number from 1 to 11");
  }
  for (const char* word : {"many", "3x", "99999999999999999999"}) {
    ScopedVariable set(kName, word);
    EXPECT_EQ(ErrorOf([] { Number(kName, 0, INT64_MAX, 5); }),
              std::string("TERN_TEST_VARIABLE is '") + word +
                  "'; expected a number from 0 to 9223372036854775807");
  }
}

TEST(Environment, Lists) {
  EXPECT_EQ(SplitList(""), std::vector<std::string>{});
  EXPECT_EQ(SplitList(":a::bc:"), (std::vector<std::string>{"a", "bc"}));
}

TEST(Environment, ProgramsAreFoundByPath) {
  TempDirectory directory;
  std::string file = directory.File("program");
  std::filesystem::copy("/bin/sh", file);
  ScopedVariable path("PATH", "/nonexistent:" + directory.path());
  EXPECT_EQ(FindProgram("program"), file);
  EXPECT_EQ(FindProgram(file), file);
  EXPECT_EQ(FindProgram("no-such-program"), "");
  EXPECT_EQ(FindProgram("/no/such/program"), "");
}

// What a user without rights says does not choose the code of a process that has them.
TEST(Environment, IsNotTrustedUnderSetuid) {
  TempDirectory directory;
  std::string program = directory.File("probe"), said = directory.File("said");
  std::filesystem::copy(TERN_ENVIRONMENT_PROBE, program);
  std::filesystem::copy("/bin/sh", directory.File("chosen-program"));
  constexpr uid_t kNobody = 65534;
  if (chown(program.c_str(), kNobody, static_cast<gid_t>(-1)) != 0 ||
      chmod(program.c_str(), 04755) != 0)
    GTEST_SKIP() << "SKIPPED: a file cannot be given to another user here";
  auto run = [&](const std::string& which) {
    ScopedVariable path("PATH", directory.path()), code(kName, "chosen");
    // NOLINTNEXTLINE(bugprone-command-processor): the command is this test's
    EXPECT_EQ(std::system((which + " >" + said).c_str()), 0);
    std::FILE* file = std::fopen(said.c_str(), "r");
    char text[200] = {};
    size_t size = std::fread(text, 1, sizeof text - 1, file);
    std::fclose(file);
    return std::string(text, size);
  };
  EXPECT_EQ(run(TERN_ENVIRONMENT_PROBE), "secure 0 text chosen trusted chosen program " +
                                             directory.File("chosen-program") + "\n");
  std::string secure = run(program);
  if (secure.starts_with("secure 0")) GTEST_SKIP() << "SKIPPED: mounted without setuid";
  EXPECT_EQ(secure, "secure 1 text chosen trusted - program -\n");
}

}  // namespace
}  // namespace tern::environment
