// SPDX-License-Identifier: Apache-2.0
//
// Options of the sanitizers, for the programs that are built with them.

// Too large an allocation fails as it does without sanitizers. What is found ends the program by a
// signal, so that no test takes it for an error that is expected. Tests preload a library of ours.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:abort_on_error=1:verify_asan_link_order=0";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1:abort_on_error=1"; }

// Nothing is printed where nothing was found: tests read the output.
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }

// What drivers and the libraries they load leave behind is not ours.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libpocl\nleak:libOpenCL\nleak:libLLVM\nleak:libclang\nleak:libvulkan\n";
}

// A test forks while threads run, and uses threads in the child; another asks for too much memory.
extern "C" const char* __tsan_default_options() {
  return "die_after_fork=0:allocator_may_return_null=1";
}
