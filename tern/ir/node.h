// SPDX-License-Identifier: Apache-2.0
//
// The base of all IR nodes, and the list of their kinds.
//
// A node class names its fields once, with TERN_FIELDS. Visitors, mutators, structural equality and
// hashing (visitor.h, mutator.h, structural.h) are derived from that list. Nodes are immutable once
// shared.
#ifndef TERN_IR_NODE_H_
#define TERN_IR_NODE_H_

#include <tuple>

#include "tern/ffi/any.h"
#include "tern/ir/span.h"

// The operators with two operands of one type. Arithmetic gives that type, comparison bool, logic
// takes and gives bool.
#define TERN_ARITHMETIC_NODES(X) \
  X(Add) X(Sub) X(Mul) X(Div) X(TruncDiv) X(TruncMod) X(FloorDiv) X(FloorMod) X(Min) X(Max)
#define TERN_COMPARISON_NODES(X) X(EQ) X(NE) X(LT) X(LE) X(GT) X(GE)
#define TERN_BINARY_NODES(X) TERN_ARITHMETIC_NODES(X) TERN_COMPARISON_NODES(X) X(And) X(Or)

#define TERN_EXPR_NODES(X) \
  X(IntImm)                \
  X(FloatImm)              \
  X(StringImm)             \
  X(Var)                   \
  TERN_BINARY_NODES(X)     \
  X(Not) X(Select) X(Cast) X(Ramp) X(Broadcast) X(Shuffle) X(Let) X(Call) X(BufferLoad)

// Statements, defined in tern/tir/stmt.h.
#define TERN_STMT_NODES(X) \
  X(BufferStore)           \
  X(LetStmt)               \
  X(Allocate) X(DeclBuffer) X(For) X(While) X(IfThenElse) X(Seq) X(Assert) X(Evaluate) X(Block)

namespace tern::ir {

enum class NodeKind : uint8_t {
#define TERN_KIND(name) k##name,
  TERN_EXPR_NODES(TERN_KIND) TERN_STMT_NODES(TERN_KIND)
#undef TERN_KIND
};

struct Node : ffi::Object {
  // A let holds what follows it, and that the next let.
  static constexpr bool kFormsChains = true;
  explicit Node(NodeKind kind) : kind(kind) {}
  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("ir.Node");
    return index;
  }

  const NodeKind kind;
  Span span;
};

// Names a node's fields, in the order in which names they define come into scope.
#define TERN_FIELDS(...)                                \
  auto fields() const { return std::tie(__VA_ARGS__); } \
  auto fields() { return std::tie(__VA_ARGS__); }
// A struct that is a field itself, such as a range, names its own.
template <class T>
concept HasFields = requires(const T& value) { value.fields(); };

}  // namespace tern::ir

#endif  // TERN_IR_NODE_H_
