// SPDX-License-Identifier: Apache-2.0
#ifndef TOOLS_TERN_READ_NPZ_H_
#define TOOLS_TERN_READ_NPZ_H_

#include <string>
#include <utility>
#include <vector>

#include "tern/runtime/tensor.h"

namespace tern::tools {

// The arrays of a file that numpy.savez or numpy.savez_compressed wrote, by name, in their order.
// Throws where the file is no such archive.
std::vector<std::pair<std::string, runtime::Tensor>> ReadNpz(const std::string& path);

}  // namespace tern::tools

#endif  // TOOLS_TERN_READ_NPZ_H_
