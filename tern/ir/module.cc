// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/module.h"

namespace tern::ir {

IRModule IRModule::Make(const std::vector<BaseFunc>& functions) { return Make(functions, {}); }

IRModule IRModule::Make(const std::vector<BaseFunc>& functions,
                        const std::vector<Constant>& constants) {
  auto node = ffi::Make<IRModuleNode>();
  for (const BaseFunc& function : functions)
    TERN_CHECK(node->functions.emplace(function->name, function).second)
        << "function " << function->name << " is defined twice";
  for (const Constant& constant : constants)
    TERN_CHECK(node->constants.emplace(constant->name, constant).second)
        << "constant " << constant->name << " is defined twice";
  return IRModule(node);
}

IRModule IRModule::WithFunctions(const std::vector<BaseFunc>& functions) const {
  auto node = ffi::Make<IRModuleNode>(*Make(functions));
  node->constants = get()->constants;
  return IRModule(node);
}

}  // namespace tern::ir
