// SPDX-License-Identifier: Apache-2.0
//
// The base of all IR nodes. An IR derives its own classes of nodes, and says of what kinds they are
// (expressions in expr.h, statements in tern/tir/stmt.h).
//
// A node class names its fields once, with TERN_FIELDS. Visitors, mutators, structural equality and
// hashing (visitor.h, mutator.h, structural.h), and the JSON form (tern/tir/json.h) are derived
// from that list. Nodes are immutable once shared.
#ifndef TERN_IR_NODE_H_
#define TERN_IR_NODE_H_

#include <string_view>
#include <tuple>
#include <utility>

#include "tern/ffi/any.h"
#include "tern/ir/span.h"

namespace tern::ir {

struct Node : ffi::Object {
  // A let holds what follows it, and that the next let.
  static constexpr bool kFormsChains = true;
  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("ir.Node");
    return index;
  }

  Span span;
};

// Names a node's fields, in the order in which names they define come into scope.
#define TERN_FIELDS(...)                                        \
  static constexpr std::string_view kFieldNames = #__VA_ARGS__; \
  auto fields() const { return std::tie(__VA_ARGS__); }         \
  auto fields() { return std::tie(__VA_ARGS__); }
// A struct that is a field itself, such as a range, names its own.
template <class T>
concept HasFields = requires(const T& value) { value.fields(); };

// Calls `f` with the name and the value of each field, in their order.
template <HasFields T, class F>
void ForEachField(const T& value, F&& f) {
  std::string_view names = T::kFieldNames;
  auto next = [&] {
    size_t end = names.find(", ");
    std::string_view name = names.substr(0, end);
    names.remove_prefix(end == names.npos ? names.size() : end + 2);
    return name;
  };
  std::apply([&](const auto&... field) { (f(next(), field), ...); }, value.fields());
}

}  // namespace tern::ir

#endif  // TERN_IR_NODE_H_
