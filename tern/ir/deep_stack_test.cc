// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/deep_stack.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>

namespace tern::ir {
namespace {

// 16 KB of stack a level.
int64_t Count(int64_t n) {
  volatile char used[16384];
  used[n] = 1;
  return n == 0 ? 0 : used[n] + Count(n - 1);
}

constexpr int64_t kDeep = 5'000;  // 80 MB

TEST(DeepStack, HoldsDeepRecursion) {
  EXPECT_EQ(OnDeepStack([] { return Count(kDeep); }), kDeep);
}

TEST(DeepStack, HoldsItInAThreadToo) {
  int64_t sum = 0;
  std::thread([&] { sum = OnDeepStack([] { return Count(kDeep); }); }).join();
  EXPECT_EQ(sum, kDeep);
}

TEST(DeepStack, IsOneStackHoweverOftenItIsAskedFor) {
  std::string result = OnDeepStack([] {
    auto frame = [] { return static_cast<char*>(__builtin_frame_address(0)); };
    char* here = frame();
    bool same = OnDeepStack([&] { return std::abs(here - frame()) < 1 << 16; });
    return std::string(same ? "same" : "another");
  });
  EXPECT_EQ(result, "same");
}

TEST(DeepStack, ExceptionsComeOut) {
  try {
    OnDeepStack([] { throw std::runtime_error("deep inside"); });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "deep inside");
  }
  EXPECT_EQ(OnDeepStack([] { return 3; }), 3);
}

}  // namespace
}  // namespace tern::ir
