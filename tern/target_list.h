// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TARGET_LIST_H_
#define TERN_TARGET_LIST_H_

#include <string>
#include <vector>

#include "tern/target/target.h"

namespace tern {

// What one file is compiled for: the target once for every host, or several hosts. A host target is
// its own first host; no target is the default host. At least one.
std::vector<target::Target> TargetsFor(const std::vector<std::string>& targets,
                                       const std::vector<std::string>& hosts);

}  // namespace tern

#endif  // TERN_TARGET_LIST_H_
