// SPDX-License-Identifier: Apache-2.0
//
// From the Metal Shading Language to clang's C++ for OpenCL.
#ifndef TERN_BACKEND_METAL_TEST_MSL_SOURCE_H_
#define TERN_BACKEND_METAL_TEST_MSL_SOURCE_H_

#include <string>
#include <vector>

namespace tern::backend::metal::standin {

struct MslParam {
  std::string text;  // as it is declared, without the attribute
  enum Kind { kBuffer, kThreadgroup, kNumber } kind;
  unsigned index = 0;     // of a buffer
  std::string attribute;  // of a number: what it is
  std::string type;       // of a number
};

struct MslKernel {
  std::string name;
  int max_threads = 0;  // 0: as many as the device has
  std::vector<MslParam> params;
};

struct MslSource {
  std::string text;  // with the lines of the source
  std::vector<MslKernel> kernels;
  std::string errors;  // a line for each
};

// What clang does not check, as it takes it for its own language, is checked here: attributes of
// kernels, and that every pointer says where it points.
MslSource ReadMsl(const std::string& source);

}  // namespace tern::backend::metal::standin

#endif  // TERN_BACKEND_METAL_TEST_MSL_SOURCE_H_
