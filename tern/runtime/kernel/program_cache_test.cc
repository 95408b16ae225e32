// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/kernel/program_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kPlenty = 1 << 20;

std::string OnlyFile(const TempDirectory& directory) {
  auto it = fs::directory_iterator(directory.path());
  return it == fs::directory_iterator() ? "" : it->path().string();
}

TEST(ProgramCache, KeysTellPartsApart) {
  auto key = ProgramCache::KeyOf;
  EXPECT_EQ(key("k", {{"a", "b"}}), key("k", {{"a", "b"}}));
  EXPECT_EQ(key("k", {{"a", "b"}}).size(), 64u);
  EXPECT_NE(key("k", {{"a", "b"}}), key("j", {{"a", "b"}}));
  EXPECT_NE(key("k", {{"a", "b"}}), key("k", {{"a", "c"}}));
  EXPECT_NE(key("k", {{"a", "b"}}), key("k", {{"ab", ""}}));
  EXPECT_NE(key("k", {{"a", "b"}, {"c", "d"}}), key("k", {{"c", "d"}, {"a", "b"}}));
}

TEST(ProgramCache, FindsWhatWasStored) {
  TempDirectory directory;
  ProgramCache cache(directory.File("new/place"), kPlenty);
  std::string key = ProgramCache::KeyOf("k", {{"source", "x"}}), value("a\0b", 3);
  EXPECT_EQ(cache.Find(key), std::nullopt);
  cache.Store(key, value);
  EXPECT_EQ(cache.Find(key), value);
  EXPECT_EQ(ProgramCache(directory.File("new/place"), kPlenty).Find(key), value);
  cache.Store(key, "other");
  EXPECT_EQ(cache.Find(key), "other");
}

TEST(ProgramCache, DamagedAndForeignFilesAreNotThere) {
  TempDirectory directory;
  ProgramCache cache(directory.path(), kPlenty);
  cache.Store("key", "value");
  std::string path = OnlyFile(directory), bytes = ReadFile(path);
  std::string damaged = bytes;
  damaged.back() ^= 1;
  for (const std::string& wrong :
       {damaged, bytes.substr(0, bytes.size() - 1), bytes.substr(0, 5), std::string()}) {
    WriteFile(path, wrong);
    EXPECT_EQ(cache.Find("key"), std::nullopt);
  }
  cache.Store("key", "again");  // replaced
  EXPECT_EQ(cache.Find("key"), "again");
  // A value under another key.
  fs::copy_file(path, directory.File("other.bin"));
  EXPECT_EQ(cache.Find("other"), std::nullopt);
  chmod(path.c_str(), 0666);
  EXPECT_EQ(cache.Find("key"), std::nullopt);
}

TEST(ProgramCache, TheOldestIsRemoved) {
  TempDirectory directory;
  ProgramCache cache(directory.path(), 10000);
  std::string value(3000, 'x');
  using std::chrono::hours;
  for (const char* key : {"a", "b", "c"}) cache.Store(key, value);
  auto now = fs::file_time_type::clock::now();
  fs::last_write_time(directory.File("a.bin"), now - hours(3));
  fs::last_write_time(directory.File("b.bin"), now - hours(2));
  fs::last_write_time(directory.File("c.bin"), now - hours(1));
  EXPECT_TRUE(cache.Find("a"));  // used now
  cache.Store("d", value);
  EXPECT_FALSE(cache.Find("b"));
  EXPECT_FALSE(cache.Find("c"));
  EXPECT_TRUE(cache.Find("a"));
  EXPECT_TRUE(cache.Find("d"));
  cache.Store("e", std::string(10001, 'x'));  // more than all may have
  EXPECT_FALSE(cache.Find("e"));
}

TEST(ProgramCache, SmallStoresSeldomLookAtAllFiles) {
  TempDirectory directory;
  ProgramCache cache(directory.path(), kPlenty);
  std::string stale = directory.File("stale.bin");
  WriteFile(stale, std::string(kPlenty + 1, 'x'));
  fs::last_write_time(stale, fs::file_time_type::clock::now() - std::chrono::hours(1));
  int stores = 0;
  for (; fs::exists(stale) && stores < 4096; ++stores) cache.Store(std::to_string(stores), "x");
  EXPECT_GT(stores, 64);
  EXPECT_LT(stores, 1024);
}

TEST(ProgramCache, TheEnvironmentSaysWhere) {
  TempDirectory directory;
  ScopedVariable on("TERN_CACHE", "1"), place("TERN_CACHE_DIR", directory.path());
  ProgramCache::FromEnvironment()->Store("key", "value");
  EXPECT_EQ(OnlyFile(directory), directory.File("key.bin"));
  {
    ScopedVariable none("TERN_CACHE_DIR", ""), xdg("XDG_CACHE_HOME", directory.File("xdg"));
    ProgramCache::FromEnvironment()->Store("key", "value");
    EXPECT_TRUE(fs::exists(directory.File("xdg/tern/key.bin")));
    ScopedVariable relative("XDG_CACHE_HOME", "here"), home("HOME", directory.File("home"));
    ProgramCache::FromEnvironment()->Store("key", "value");
    EXPECT_TRUE(fs::exists(directory.File("home/.cache/tern/key.bin")));
    ScopedVariable homeless("HOME", "");
    EXPECT_FALSE(ProgramCache::FromEnvironment());
  }
  {
    ScopedVariable off("TERN_CACHE", "off");
    EXPECT_FALSE(ProgramCache::FromEnvironment());
  }
  ScopedVariable much("TERN_CACHE_MB", "much");
  EXPECT_EQ(ErrorOf([] { ProgramCache::FromEnvironment(); }),
            "TERN_CACHE_MB is 'much'; expected a number from 0 to 1099511627776");
}

TEST(ProgramCache, APlaceThatCannotBeWrittenIsNoError) {
  ProgramCache cache("/proc/nonexistent", kPlenty);
  cache.Store("key", "value");
  EXPECT_EQ(cache.Find("key"), std::nullopt);
}

TEST(ProgramCache, ThreadsStoreAndFind) {
  TempDirectory directory;
  ProgramCache cache(directory.path(), 50000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) {
        std::string key = "key" + std::to_string(j % 10),
                    value(2000, static_cast<char>('a' + j % 10));
        cache.Store(key, value);
        if (auto found = cache.Find(key)) {
          EXPECT_EQ(*found, value);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tern::runtime
