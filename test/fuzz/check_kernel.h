// SPDX-License-Identifier: Apache-2.0
//
// All that must hold for a kernel that the rules schedule: it verifies, and computes what the
// interpreter computes of the kernel as written, to the last bit where it does not say
// `reassociate`; and in any case the same bits in every run, on any number of threads.
#ifndef TEST_FUZZ_CHECK_KERNEL_H_
#define TEST_FUZZ_CHECK_KERNEL_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tern/ir/module.h"
#include "tern/target/target.h"
#include "test/fuzz/check_program.h"
#include "test/fuzz/random_kernel.h"

namespace tern::fuzz {

struct KernelTargets {
  std::vector<target::Target> interpreted;  // scheduled and bound to threads, then interpreted
  std::vector<target::Target> compiled;     // to code, which is not run
  std::vector<target::Target> run;
};

// What devices said that they cannot do, and how often.
using Refusals = std::map<std::string, int>;

// The first failure, if any. An error of a device that is no error of ours (no float64, say) is no
// failure; of a host every error is. `stage` follows what is being checked.
std::optional<Failure> CheckKernel(const RandomKernel& kernel, const ir::IRModule& module,
                                   const KernelTargets& targets, Refusals* refusals,
                                   std::string* stage);

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_CHECK_KERNEL_H_
