// SPDX-License-Identifier: Apache-2.0
//
// The system's C compiler, run as a program.
#ifndef TERN_BACKEND_CPU_CODEGEN_C_COMPILER_H_
#define TERN_BACKEND_CPU_CODEGEN_C_COMPILER_H_

#include <string>
#include <string_view>
#include <vector>

#include "tern/codegen/temporary_directory.h"

namespace tern::backend::cpu {

class CCompiler {
 public:
  // `command` is a program and its first arguments, separated by spaces ("gcc -m64"). Where it is
  // empty: $CC, or else the first of cc, gcc and clang that is in PATH. Throws where there is none.
  explicit CCompiler(std::string_view command = "");

  // What it compiles for, "x86_64-linux-gnu".
  std::string Triple() const;

  // The bytes of a shared object of C99 files, with `section` as runtime::kContainerSection
  // unless it is empty. Nothing of this machine's paths is in them. Throws with the compiler's
  // words.
  std::string MakeSharedObject(const std::vector<std::string>& sources,
                               std::string_view section) const;

  // The bytes of a relocatable object of one C99 file; `is_shared`: that can be part of a shared
  // library.
  std::string MakeObject(const std::string& source, bool is_shared) const;

 private:
  std::string Compile(const std::vector<std::string>& sources,
                      const std::vector<std::string>& flags,
                      const codegen::TemporaryDirectory& directory) const;

  std::vector<std::string> command_;
};

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_C_COMPILER_H_
