// SPDX-License-Identifier: Apache-2.0
//
// Options of the sanitizers, for the test programs that are built with them.

// Too large an allocation fails as it does without sanitizers.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

// What drivers and the libraries they load leave behind is not ours.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libpocl\nleak:libOpenCL\nleak:libLLVM\nleak:libclang\n";
}

// A test forks while threads run, and uses threads in the child.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
