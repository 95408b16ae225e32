// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host/cpus.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tern/ffi/error.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

// Files of /proc and /sys as a system shows them.
class System {
 public:
  System& Add(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_.path() + path).parent_path());
    WriteFile(root_.path() + path, text);
    return *this;
  }
  std::optional<double> Quota() const { return CpuQuota(root_.path()); }

 private:
  TempDirectory root_;
};

constexpr const char* kMountV2 =
    "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

TEST(CpuQuota, NoneWhereThereIsNoControlGroup) {
  EXPECT_EQ(System().Quota(), std::nullopt);
  EXPECT_EQ(System().Add("/proc/self/mountinfo", "junk\n").Quota(), std::nullopt);
}

TEST(CpuQuota, TheLeastOfTheGroupAndThoseAbove) {
  System system;
  system.Add("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda rw\n" + std::string(kMountV2))
      .Add("/proc/self/cgroup", "0::/a/b\n")
      .Add("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(system.Quota(), std::nullopt);
  system.Add("/sys/fs/cgroup/a/cpu.max", "350000 100000\n");
  EXPECT_EQ(system.Quota(), 3.5);
  system.Add("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(system.Quota(), 0.5);
}

TEST(CpuQuota, InAContainerWithANamespaceOfItsOwn) {
  System system;
  system.Add("/proc/self/mountinfo", kMountV2)
      .Add("/proc/self/cgroup", "0::/\n")
      .Add("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(system.Quota(), 2);
}

TEST(CpuQuota, Version1) {
  System system;
  system
      .Add("/proc/self/mountinfo",
           "31 30 0:27 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
           "32 30 0:28 /docker/x /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n")
      .Add("/proc/self/cgroup", "4:memory:/docker/x\n5:cpuacct,cpu:/docker/x/inner\n")
      .Add("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
      .Add("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(system.Quota(), std::nullopt);
  system.Add("/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "150000\n")
      .Add("/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(system.Quota(), 1.5);
}

// The group that /proc names is that of the host, and not below what is mounted.
TEST(CpuQuota, AGroupOutsideOfWhatIsMounted) {
  System system;
  system
      .Add("/proc/self/mountinfo",
           "32 30 0:28 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n")
      .Add("/proc/self/cgroup", "5:cpu:/docker/xyz\n")
      .Add("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n")
      .Add("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n")
      .Add("/sys/fs/cgroup/cpu/yz/cpu.cfs_quota_us", "1\n");
  EXPECT_EQ(system.Quota(), 2);
  system.Add("/proc/self/cgroup", "5:cpu:/../../docker/x\n");
  EXPECT_EQ(system.Quota(), 2);
}

TEST(RunnableThreads, RoundsUpAndStaysWithinTheCpus) {
  EXPECT_EQ(RunnableThreads(8, std::nullopt), 8);
  EXPECT_EQ(RunnableThreads(8, 2.0), 2);
  EXPECT_EQ(RunnableThreads(8, 2.5), 3);
  EXPECT_EQ(RunnableThreads(8, 0.1), 1);
  EXPECT_EQ(RunnableThreads(2, 16.0), 2);
  EXPECT_EQ(RunnableThreads(0, std::nullopt), 1);
}

TEST(BoundThread, IsAsBeforeAfterwards) {
  std::vector<int> all = ProcessCpus();
  ASSERT_FALSE(all.empty());
  {
    BoundThread bound({all.back()});
    EXPECT_EQ(ProcessCpus(), std::vector<int>{all.back()});  // this is the first thread
    EXPECT_EQ(ErrorOf([] { BindThread({0, 100000}); }).substr(0, 22), "there is no CPU 100000");
  }
  EXPECT_EQ(ProcessCpus(), all);
}

}  // namespace
}  // namespace tern::runtime
