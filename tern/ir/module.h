// SPDX-License-Identifier: Apache-2.0
//
// A module: functions, of whichever IR, and constants.
#ifndef TERN_IR_MODULE_H_
#define TERN_IR_MODULE_H_

#include <map>
#include <string>

#include "tern/ffi/containers.h"
#include "tern/ir/constant.h"

namespace tern::ir {

using Attrs = std::map<std::string, ffi::Any, std::less<>>;

// The base of the function classes of the IRs. What modules, printers, parsers and verifiers need
// of a class is registered (tern/tir/function_kind.h); passes leave alone what they do not know.
struct BaseFuncNode : ffi::Object {
  std::string name;
  Attrs attrs;
  Span span;
};
using BaseFunc = ffi::Ref<const BaseFuncNode>;

struct IRModuleNode : ffi::Object {
  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("ir.IRModule");
    return index;
  }
  std::map<std::string, BaseFunc> functions;  // by name
  // By name. A parameter that its function calls constant, and that has the name of one, is bound
  // to it: who calls the function passes these elements.
  std::map<std::string, Constant> constants;
};

class IRModule : public ffi::Ref<const IRModuleNode> {
 public:
  IRModule() = default;
  IRModule(const ffi::Ref<const IRModuleNode>& node) : Ref(node) {}
  // Throws where two functions, or two constants, have one name.
  static IRModule Make(const std::vector<BaseFunc>& functions);
  static IRModule Make(const std::vector<BaseFunc>& functions,
                       const std::vector<Constant>& constants);
  // The same constants, with other functions.
  IRModule WithFunctions(const std::vector<BaseFunc>& functions) const;
};

}  // namespace tern::ir

namespace tern::ffi {
template <>
struct AnyTraits<ir::IRModule> : AnyTraits<Ref<const ir::IRModuleNode>> {
  static std::optional<ir::IRModule> From(const TernAny& value) {
    auto ref = AnyTraits<Ref<const ir::IRModuleNode>>::From(value);
    return ref ? std::optional<ir::IRModule>(*ref) : std::nullopt;
  }
};
}  // namespace tern::ffi

#endif  // TERN_IR_MODULE_H_
