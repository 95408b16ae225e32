// SPDX-License-Identifier: Apache-2.0
//
// From CUDA C++ to what the machine's C++ compiler takes, with cuda_language.h and ptx.h before it.
#ifndef TERN_BACKEND_CUDA_TEST_SOURCE_REWRITER_H_
#define TERN_BACKEND_CUDA_TEST_SOURCE_REWRITER_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tern::backend::cuda::standin {

struct KernelHead {
  std::string name, max_threads;  // the latter as it is written; "0": not given
};

struct Rewritten {
  std::string text;                 // with the lines of the source
  std::vector<KernelHead> kernels;  // that are extern "C": the others have no name to be found by
  std::string errors;               // in NVRTC's manner, a line for each
};

// Shared memory is a section for each kernel, dynamic shared memory a pointer, and inline PTX calls
// of functions. `instructions` are those that there are: "__ptx_cvt_f32_f16".
Rewritten Rewrite(const std::string& source, const std::string& file,
                  const std::set<std::string>& instructions);

// The text of one asm statement, from its parenthesis on, as a call for each instruction.
struct AsmStatement {
  std::string text, error;
};
AsmStatement RewriteAsm(std::string_view inside, const std::set<std::string>& instructions);

}  // namespace tern::backend::cuda::standin

#endif  // TERN_BACKEND_CUDA_TEST_SOURCE_REWRITER_H_
