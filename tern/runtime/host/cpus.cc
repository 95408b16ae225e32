// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host/cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tern/ffi/error.h"
#include "tern/ffi/text.h"

namespace tern::runtime {
namespace {

std::vector<int> CpusOf(pid_t thread) {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(thread, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

// Returns 0 or why not.
int Bind(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) CPU_SET(static_cast<unsigned>(cpu), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

bool HasWord(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// A hierarchy of control groups that limits CPUs.
struct Hierarchy {
  bool is_v2 = false;
  std::string root, folder;  // what of the hierarchy is mounted, and where
};

// By /proc/self/mountinfo: "36 35 98:0 /root /folder options... - type source options".
std::vector<Hierarchy> FindHierarchies(const std::string& root) {
  std::ifstream file(root + "/proc/self/mountinfo");
  std::vector<Hierarchy> found;
  for (std::string line; std::getline(file, line);) {
    size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream mount(line), system(line.substr(dash + 3));
    std::string skipped, type, options;
    Hierarchy one;
    mount >> skipped >> skipped >> skipped >> one.root >> one.folder;
    system >> type >> skipped >> options;
    one.is_v2 = type == "cgroup2";
    if (one.is_v2 || (type == "cgroup" && HasWord(options, "cpu"))) found.push_back(one);
  }
  return found;
}

// The group of this process, by /proc/self/cgroup: "4:cpu,cpuacct:/a/b" or "0::/a/b".
std::string GroupIn(const Hierarchy& hierarchy, const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    if (hierarchy.is_v2 ? !controllers.empty() : !HasWord(controllers, "cpu")) continue;
    std::string group = line.substr(second + 1);
    if (group.find("/..") != std::string::npos) return "";  // outside of what is mounted
    if (hierarchy.root == "/") return group;
    bool is_below = group == hierarchy.root || group.starts_with(hierarchy.root + "/");
    return is_below ? group.substr(hierarchy.root.size()) : "";
  }
  return "";
}

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<double> QuotaOf(const std::string& folder, bool is_v2) {
  std::string text = is_v2 ? FirstLine(folder + "/cpu.max")
                           : FirstLine(folder + "/cpu.cfs_quota_us") + " " +
                                 FirstLine(folder + "/cpu.cfs_period_us");
  std::istringstream numbers(text);
  double quota = 0, period = 0;  // "max" is no number
  if (!(numbers >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

std::vector<int> ProcessCpus() { return CpusOf(getpid()); }

std::optional<double> CpuQuota(const std::string& root) {
  std::optional<double> least;
  for (const Hierarchy& hierarchy : FindHierarchies(root)) {
    std::string group = GroupIn(hierarchy, root);
    for (;;) {
      std::optional<double> quota = QuotaOf(root + hierarchy.folder + group, hierarchy.is_v2);
      if (quota) least = std::min(*quota, least.value_or(*quota));
      size_t slash = group.rfind('/');
      if (slash == std::string::npos) break;
      group.resize(slash);
    }
  }
  return least;
}

int RunnableThreads(size_t num_cpus, std::optional<double> quota) {
  auto count = static_cast<double>(std::max<size_t>(num_cpus, 1));
  if (quota) count = std::clamp(std::ceil(*quota), 1.0, count);
  return static_cast<int>(count);
}

void BindThread(const std::vector<int>& cpus) {
  auto count = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  for (int cpu : cpus)
    TERN_CHECK(cpu >= 0 && cpu < std::min(count, CPU_SETSIZE))
        << "there is no CPU " << cpu << ": the machine has " << count << ", from 0 on";
  int reason = Bind(cpus);
  TERN_CHECK(reason == 0) << "no thread can be bound to CPUs "
                          << ffi::ShapeText({cpus.begin(), cpus.end()}) << ": "
                          << std::strerror(reason);
}

BoundThread::BoundThread(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  before_ = CpusOf(0);
  BindThread(cpus);
}

BoundThread::~BoundThread() {
  if (!before_.empty()) Bind(before_);
}

}  // namespace tern::runtime
