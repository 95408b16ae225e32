// SPDX-License-Identifier: Apache-2.0
//
// The cases of the conformance suite: programs x types x sizes. Comments in a program say which:
//
//   # cts: dtypes float32 int32          one variant each, with the type in place of $T
//   # cts: dims n=1 k=1 | n=7 k=3        one case each: extents and scalars
//   # cts: with s=0.5 k=3                values of scalars in all cases, not part of their names
//   # cts: offset 3                      tensors start so many elements into their memory
//   # cts: smoke float32 n=7 k=3         a case of the smoke tier; several with |
#ifndef TOOLS_TERN_CTS_CASES_H_
#define TOOLS_TERN_CTS_CASES_H_

#include <string>
#include <vector>

#include "tern/runtime/runner.h"
#include "tools/tern/cts/suite_files.h"

namespace tern::tools {

struct Case {
  std::string name;  // "matmul/float32/k=3/n=7"
  runtime::RunOptions run;
  bool smoke = false;
};

// A program in one type: compiled once, run for each of its cases.
struct Variant {
  std::string name;  // "matmul/float32"
  std::string text;
  std::vector<Case> cases;
};

// The variants of one file. Throws on a comment that cannot be read.
std::vector<Variant> ReadVariants(const SuiteFile& file);

}  // namespace tern::tools

#endif  // TOOLS_TERN_CTS_CASES_H_
