// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/file_bytes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

namespace fs = std::filesystem;

std::set<std::string> FilesIn(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

// Files of this process end at so many bytes, as on a disk that is full.
class ScopedFileLimit {
 public:
  explicit ScopedFileLimit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~ScopedFileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_;
};

TEST(ReadFile, TakesFilesAlone) {
  TempDirectory directory;
  std::string pipe = directory.File("pipe"), link = directory.File("link");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", link);
  const std::pair<std::string, std::string> refused[] = {{directory.path(), "a directory"},
                                                         {pipe, "a pipe"},
                                                         {"/dev/zero", "a device"},
                                                         {link, "a device"}};
  for (const auto& [path, what] : refused) {
    std::string error = path + ": cannot be read: it is " + what + ", and a file is expected";
    EXPECT_EQ(ErrorOf([&] { ReadFile(path); }), error);
    EXPECT_EQ(ErrorOf([&] { PartlyReadFile file(path); }), error);
  }
}

TEST(ReadFile, HasALimit) {
  TempDirectory directory;
  std::string path = directory.File("x");
  WriteFile(path, "12345");
  EXPECT_EQ(ReadFile(path, 5), "12345");
  EXPECT_EQ(ErrorOf([&] { ReadFile(path, 4); }),
            path + ": cannot be read: it has 5 bytes, and at most 4 are expected");
  WriteFile(path, "");
  EXPECT_EQ(ReadFile(path), "");
  EXPECT_EQ(PartlyReadFile(path).bytes(), "");
}

// A file without a disk's worth of bytes is no reason to ask for them.
TEST(ReadFile, NamesWhatThereIsNoMemoryFor) {
  TempDirectory directory;
  std::string path = directory.File("x");
  WriteFile(path, "");
  constexpr off_t kBytes = off_t{1} << 43;
  if (truncate(path.c_str(), kBytes) != 0) GTEST_SKIP() << "the file system has no files of 8 TB";
  rlimit before;
  getrlimit(RLIMIT_AS, &before);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end the process where there is no memory";
#endif
  rlimit limit{rlim_t{1} << 40, before.rlim_max};
  setrlimit(RLIMIT_AS, &limit);
  std::string whole = ErrorOf([&] { ReadFile(path); }),
              partly = ErrorOf([&] { PartlyReadFile file(path); });
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(whole, path + ": cannot be read: there is no memory for its 8796093022208 bytes");
  EXPECT_EQ(partly, whole);
}

TEST(PartlyReadFile, ReadsEachByteOnce) {
  TempDirectory directory;
  std::string path = directory.File("x"), old(100000, 'a');
  WriteFile(path, old);
  PartlyReadFile file(path);
  file.Need(50000, 1);
  file.Need(10, 5);
  // Written to, not replaced.
  std::ofstream(path, std::ios::binary) << std::string(100000, 'b');
  for (auto [offset, size] : {std::pair(0, 20), {49990, 100}, {0, 100000}})
    file.Need(static_cast<uint64_t>(offset), static_cast<uint64_t>(size));
  EXPECT_EQ(file.bytes()[12], 'a');
  EXPECT_EQ(file.bytes()[50000], 'a');
  EXPECT_EQ(file.bytes()[20000], 'b');
  EXPECT_EQ(file.bytes().back(), 'b');
}

TEST(PartlyReadFile, HolesTakeNoMemory) {
  TempDirectory directory;
  std::string path = directory.File("x");
  WriteFile(path, "start");
  constexpr uint64_t kBytes = uint64_t{12} << 30;
  if (truncate(path.c_str(), kBytes) != 0) GTEST_SKIP() << "the file system has no such files";
  std::ofstream(path, std::ios::binary | std::ios::in | std::ios::ate) << "end";
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  PartlyReadFile file(path);
  file.Need(0, kBytes + 3);
  EXPECT_TRUE(file.bytes().starts_with(std::string_view("start\0", 6)));
  EXPECT_TRUE(file.bytes().ends_with("end"));
  EXPECT_EQ(file.bytes()[kBytes / 2], '\0');
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "kilobytes";
}

TEST(WriteFile, ReplacesTheFile) {
  TempDirectory directory;
  std::string path = directory.File("x");
  WriteFile(path, "old");
  std::ifstream reader(path);
  WriteFile(path, "new");
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old") << "who reads the old file reads all of it";
  EXPECT_EQ(ReadFile(path), "new");
  EXPECT_EQ(FilesIn(directory.path()), std::set<std::string>{"x"});
}

TEST(WriteFile, DoesNotFollowLinks) {
  TempDirectory directory;
  std::string victim = directory.File("victim"), path = directory.File("x");
  WriteFile(victim, "precious");
  fs::create_symlink(victim, path);
  WriteFile(path, "new");
  EXPECT_EQ(ReadFile(victim), "precious");
  EXPECT_EQ(ReadFile(path), "new");
  EXPECT_FALSE(fs::is_symlink(path));
}

// What earlier versions called their temporary file can be foreseen, and led elsewhere.
TEST(WriteFile, NobodyForeseesTheTemporaryName) {
  TempDirectory directory;
  std::string victim = directory.File("victim"), path = directory.File("x");
  WriteFile(victim, "precious");
  fs::create_symlink(victim, path + "." + std::to_string(getpid()) + ".tmp");
  std::set<std::string> names;
  for (int i = 0; i < 2; ++i) {
    std::set<std::string> before = FilesIn(directory.path());
    PendingFile pending(path);
    for (const std::string& name : FilesIn(directory.path()))
      if (!before.contains(name)) names.insert(name);
    pending.Write("new");
    pending.Finish();
  }
  EXPECT_EQ(names.size(), 2u);
  EXPECT_EQ(ReadFile(victim), "precious");
}

TEST(WriteFile, LeavesNothingHalf) {
  TempDirectory directory;
  std::string path = directory.File("x");
  WriteFile(path, "old");
  {
    ScopedFileLimit limit(4096);
    EXPECT_EQ(ErrorOf([&] { WriteFile(path, std::string(8192, 'x')); }),
              path + ": cannot be written: File too large");
  }
  EXPECT_EQ(ReadFile(path), "old");
  {
    PendingFile unfinished(path);
  }
  EXPECT_EQ(FilesIn(directory.path()), std::set<std::string>{"x"});
}

TEST(WriteFile, SaysWhy) {
  TempDirectory directory;
  std::string path = directory.File("nosuch/x");
  EXPECT_EQ(ErrorOf([&] { WriteFile(path, ""); }),
            path + ": cannot be written: No such file or directory");
  EXPECT_EQ(ErrorOf([&] { WriteFile(directory.path(), ""); }),
            directory.path() + ": cannot be written: Is a directory");
}

// Names that stand for what is open are not replaced.
TEST(WriteFile, WritesToDevicesInPlace) {
  EXPECT_EQ(ErrorOf([] { WriteFile("/dev/full", "x"); }),
            "/dev/full: cannot be written: No space left on device");
  WriteFile("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  TempDirectory directory;
  std::string path = directory.File("x"), link = directory.File("link");
  fs::create_symlink("/dev/null", link);
  WriteFile(link, "x");
  EXPECT_TRUE(fs::is_symlink(link));
  int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  WriteFile("/dev/fd/" + std::to_string(file), "through the descriptor");
  close(file);
  EXPECT_EQ(ReadFile(path), "through the descriptor");
}

TEST(WriteFile, ModesAreTheUmasks) {
  TempDirectory directory;
  mode_t before = umask(022);
  WriteFile(directory.File("x"), "");
  WriteFile(directory.File("y"), "", 0700);
  umask(before);
  struct stat info;
  ASSERT_EQ(stat(directory.File("x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
  ASSERT_EQ(stat(directory.File("y").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

}  // namespace
}  // namespace tern::runtime
