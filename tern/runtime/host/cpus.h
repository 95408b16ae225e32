// SPDX-License-Identifier: Apache-2.0
//
// The CPUs that this process may use: by its affinity, and by the quotas of its control groups, as
// containers set them.
#ifndef TERN_RUNTIME_HOST_CPUS_H_
#define TERN_RUNTIME_HOST_CPUS_H_

#include <optional>
#include <string>
#include <vector>

namespace tern::runtime {

// Those of the process's first thread, wherever the caller has been bound to; in order. Empty where
// the system does not tell.
std::vector<int> ProcessCpus();

// How many CPUs' time the control groups of the process may take together (cpu.max of version 2,
// cpu.cfs_quota_us of version 1; the least of all groups above too); none where there is no limit.
// `root` stands before the paths of /proc and /sys.
std::optional<double> CpuQuota(const std::string& root = "");

// How many threads can run at once on so many CPUs: no more than the quota, rounded up; at least 1.
int RunnableThreads(size_t num_cpus, std::optional<double> quota);

// Binds the calling thread. Throws where a CPU is not there or not allowed.
void BindThread(const std::vector<int>& cpus);

// The calling thread is bound while this lives, and then to what it was bound to before. Nothing
// happens where `cpus` is empty.
class BoundThread {
 public:
  explicit BoundThread(const std::vector<int>& cpus);
  ~BoundThread();
  BoundThread(const BoundThread&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_HOST_CPUS_H_
