// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/c_compiler.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "tern/ffi/error.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/artifact/elf_file.h"

namespace tern::backend::cpu {
namespace {

constexpr const char* kAnswer = "int answer(void) { return 42; }\n";

std::string MessageOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "nothing was thrown";
}

TEST(CCompiler, NamesTheMachineAsTheRuntimeDoes) {
  EXPECT_EQ(CCompiler().Triple(), runtime::HostTriple());
}

TEST(CCompiler, PutsTheSectionIntoTheSharedObject) {
  std::string section(100000, '\7');
  section += "end";
  std::string bytes = CCompiler().MakeSharedObject({kAnswer}, section);
  auto found = runtime::FindElfSection(bytes, runtime::kContainerSection);
  ASSERT_TRUE(found);
  EXPECT_EQ(bytes.substr(found->offset, found->size), section);
  EXPECT_EQ(found->offset % 64, 0u);
  EXPECT_FALSE(runtime::FindElfSection(CCompiler().MakeSharedObject({kAnswer}, ""),
                                       runtime::kContainerSection));
}

TEST(CCompiler, GivesTheSameBytesForTheSameInput) {
  EXPECT_EQ(CCompiler().MakeSharedObject({kAnswer}, "x"),
            CCompiler().MakeSharedObject({kAnswer}, "x"));
}

TEST(CCompiler, RepeatsWhatTheCompilerComplainedAbout) {
  std::string message =
      MessageOf([] { CCompiler().MakeSharedObject({"int f(void) { return nowhere; }"}, ""); });
  EXPECT_NE(message.find("module.c:1"), std::string::npos) << message;
  EXPECT_NE(message.find("nowhere"), std::string::npos) << message;
}

TEST(CCompiler, RefusesCodeThatCountsOnMoreThanTheRuntimePromises) {
  std::string message = MessageOf([] {
    CCompiler().MakeSharedObject({"double cbrt(double);\ndouble f(double x) { return cbrt(x); }"},
                                 "");
  });
  EXPECT_NE(message.find("cbrt"), std::string::npos) << message;
  EXPECT_NE(message.find("memcpy"), std::string::npos) << message;
}

TEST(CCompiler, AMissingProgramIsNamed) {
  std::string message = MessageOf([] { CCompiler("no-such-compiler -m64").Triple(); });
  EXPECT_NE(message.find("no-such-compiler"), std::string::npos) << message;
  EXPECT_NE(message.find("CC"), std::string::npos) << message;
}

TEST(CCompiler, TakesTheOneOfTheEnvironment) {
  const char* before = std::getenv("CC");
  std::string kept = before ? before : "";
  setenv("CC", "compiler-from-the-environment", 1);
  std::string message = MessageOf([] { CCompiler().Triple(); });
  before ? setenv("CC", kept.c_str(), 1) : unsetenv("CC");
  EXPECT_NE(message.find("compiler-from-the-environment"), std::string::npos) << message;
}

}  // namespace
}  // namespace tern::backend::cpu
