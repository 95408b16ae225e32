// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tern::ffi {
namespace {

Function Constant(int64_t value) {
  return Function::FromTyped("constant", [value] { return value; });
}

TEST(Registry, RegistersFindsAndRemoves) {
  EXPECT_FALSE(FindGlobal("test.registry.a"));
  RegisterGlobal("test.registry.a", Constant(1));
  EXPECT_EQ(GetGlobal("test.registry.a")().As<int>(), 1);
  EXPECT_TRUE(RemoveGlobal("test.registry.a"));
  EXPECT_FALSE(RemoveGlobal("test.registry.a"));
}

TEST(Registry, RefusesATakenName) {
  RegisterGlobal("test.registry.taken", Constant(1));
  try {
    RegisterGlobal("test.registry.taken", Constant(2));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "global function test.registry.taken is already registered");
  }
  EXPECT_EQ(GetGlobal("test.registry.taken")().As<int>(), 1);
  RemoveGlobal("test.registry.taken");
}

TEST(Registry, MissingNameGivesNearOnes) {
  RegisterGlobal("test.registry.matmul", Constant(1));
  try {
    GetGlobal("test.registry.matmlu");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "KeyError");
    EXPECT_STREQ(
        error.what(),
        "no global function is named test.registry.matmlu (did you mean test.registry.matmul?)");
  }
  RemoveGlobal("test.registry.matmul");
}

TEST(Registry, ManyThreads) {
  std::atomic<int> wins{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        std::string name = "test.registry.thread." + std::to_string(i);
        try {
          RegisterGlobal(name, Constant(t));
          ++wins;
        } catch (const Error&) {
        }
        ASSERT_TRUE(FindGlobal(name));
        GlobalNames();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wins, 200);
  for (int i = 0; i < 200; ++i)
    EXPECT_TRUE(RemoveGlobal("test.registry.thread." + std::to_string(i)));
}

}  // namespace
}  // namespace tern::ffi
