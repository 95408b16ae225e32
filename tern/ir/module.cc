// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/module.h"

namespace tern::ir {

IRModule IRModule::Make(const std::vector<BaseFunc>& functions) {
  auto node = ffi::Make<IRModuleNode>();
  for (const BaseFunc& function : functions)
    TERN_CHECK(node->functions.emplace(function->name, function).second)
        << "function " << function->name << " is defined twice";
  return IRModule(node);
}

}  // namespace tern::ir
