// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/linker.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "tern/codegen/llvm/llvm_target.h"
#include "tern/compile.h"

namespace tern::codegen {
namespace {

class LinkElfTest : public ::testing::Test {
 protected:
  static std::string Object(const std::string& ir) {
    return Target().EmitText(ir, LLVMTarget::Output::kObject);
  }
  static std::string Link(const std::vector<std::string>& objects) {
    return LinkElfSharedObject(objects, Target().arch().emulation);
  }
  static std::string Failure(const std::vector<std::string>& objects) {
    try {
      Link(objects);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  }

 private:
  static LLVMTarget Target() {
    Initialize();
    return LLVMTarget(target::Target::Parse("llvm"));
  }
};

constexpr const char* kAnswer = "define i32 @answer() {\n  ret i32 42\n}\n";

TEST_F(LinkElfTest, SameObjectsGiveSameBytes) {
  std::string object = Object(kAnswer);
  std::string first = Link({object});
  EXPECT_EQ(first.substr(1, 3), "ELF");
  EXPECT_EQ(first, Link({object}));
  EXPECT_EQ(first.find(std::filesystem::temp_directory_path().string()), std::string::npos);
}

TEST_F(LinkElfTest, ManyThreadsCanLink) {
  std::string object = Object(kAnswer);
  std::string expected = Link({object});
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::string& result : results) threads.emplace_back([&] { result = Link({object}); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_EQ(result, expected);
}

TEST_F(LinkElfTest, UndefinedSymbolsAreNamed) {
  std::string object = Object(
      "declare void @missing_one()\n"
      "declare void @missing_two()\n"
      "declare ptr @memcpy(ptr, ptr, i64)\n"
      "define ptr @f(ptr %p) {\n"
      "  call void @missing_one()\n"
      "  call void @missing_two()\n"
      "  %q = call ptr @memcpy(ptr %p, ptr %p, i64 1)\n"
      "  ret ptr %q\n"
      "}\n");
  std::string failure = Failure({object});
  EXPECT_NE(failure.find("missing_one, missing_two"), std::string::npos) << failure;
}

TEST_F(LinkElfTest, AllowedSymbolsMayStayUndefined) {
  std::string object = Object(
      "declare ptr @dlopen(ptr, i32)\n"
      "define ptr @f() {\n"
      "  %q = call ptr @dlopen(ptr null, i32 1)\n"
      "  ret ptr %q\n"
      "}\n");
  EXPECT_EQ(Failure({object}), "");
}

TEST_F(LinkElfTest, LinkerErrorsAreThrownAndTheLinkerGoesOn) {
  std::string object = Object(kAnswer);
  std::string failure = Failure({object, object});
  EXPECT_NE(failure.find("duplicate symbol: answer"), std::string::npos) << failure;
  EXPECT_EQ(failure.find(std::filesystem::temp_directory_path().string()), std::string::npos)
      << failure;
  EXPECT_NE(Failure({"this is no object"}), "");
  EXPECT_EQ(Failure({object}), "");
}

}  // namespace
}  // namespace tern::codegen
