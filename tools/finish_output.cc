// SPDX-License-Identifier: Apache-2.0
#include "tools/finish_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tern/ffi/escape_text.h"

namespace tern::tools {

std::string ErrorText(const std::exception& error) {
  return ffi::Escaped(error.what(), /*keep_lines=*/true);
}

int FinishOutput(const char* program, int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  // What failed before has left no reason, so that one more character is to give it.
  std::clearerr(stdout);
  if (errno == 0 && std::fputc('\n', stdout) != EOF) std::fflush(stdout);
  std::fprintf(stderr, "%s: error: the output cannot be written%s%s\n", program, errno ? ": " : "",
               errno ? std::strerror(errno) : "");
  return status == 0 ? 1 : status;
}

}  // namespace tern::tools
