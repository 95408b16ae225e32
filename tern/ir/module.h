// SPDX-License-Identifier: Apache-2.0
//
// A module of functions, of whichever IR.
#ifndef TERN_IR_MODULE_H_
#define TERN_IR_MODULE_H_

#include <map>
#include <string>

#include "tern/ffi/containers.h"
#include "tern/ir/span.h"

namespace tern::ir {

using Attrs = std::map<std::string, ffi::Any, std::less<>>;

// The base of the function classes of the IRs.
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
};

class IRModule : public ffi::Ref<const IRModuleNode> {
 public:
  IRModule() = default;
  IRModule(const ffi::Ref<const IRModuleNode>& node) : Ref(node) {}
  // Throws where two functions have one name.
  static IRModule Make(const std::vector<BaseFunc>& functions);
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
