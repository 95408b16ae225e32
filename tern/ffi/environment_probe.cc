// SPDX-License-Identifier: Apache-2.0
//
// For environment_test.cc: what a process of its own sees, which may have more rights than its
// user.
#include <sys/auxv.h>

#include <cstdio>

#include "tern/ffi/environment.h"

int main() {
  using namespace tern::environment;  // NOLINT
  std::string program = FindProgram("chosen-program");
  std::printf("secure %d text %s trusted %s program %s\n", getauxval(AT_SECURE) != 0,
              Text("TERN_TEST_VARIABLE").value_or("-").c_str(),
              TrustedText("TERN_TEST_VARIABLE").value_or("-").c_str(),
              program.empty() ? "-" : program.c_str());
  // At a normal exit a sanitizer looks for leaks, which it may not in a process with more rights.
  std::fflush(stdout);
  _exit(0);
}
