// SPDX-License-Identifier: Apache-2.0
//
// Scalar and vector expressions.
//
// Every expression has a dtype. Operands of an operator have the same dtype; nothing is converted
// implicitly. The `Make` functions check this and throw TypeError; they do not simplify.
#ifndef TERN_IR_EXPR_H_
#define TERN_IR_EXPR_H_

#include <optional>
#include <string>
#include <vector>

#include "tern/ir/node.h"
#include "tern/ir/storage_scope.h"

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

namespace tern::ir {

enum class ExprKind : uint8_t {
#define TERN_KIND(name) k##name,
  TERN_EXPR_NODES(TERN_KIND)
#undef TERN_KIND
};
// "IntImm", "Add", ...
const char* ExprKindName(ExprKind kind);

struct ExprNode : Node {
  explicit ExprNode(ExprKind kind) : kind(kind) {}
  const ExprKind kind;
  DataType dtype;
};

class Expr : public ffi::Ref<const ExprNode> {
 public:
  Expr() = default;
  template <class T, class = std::enable_if_t<std::is_base_of_v<ExprNode, T>>>
  Expr(const ffi::Ref<T>& node) : Ref(node) {}
  // An int64 constant: the type of extents and indices.
  Expr(int64_t value);
  Expr(int value) : Expr(static_cast<int64_t>(value)) {}

  DataType dtype() const { return get()->dtype; }
  const Span& span() const { return get()->span; }
  // The node as a T, or null. Not of a temporary, whose node may be gone with it.
  template <class T>
  const T* As() const& {
    return get() && get()->kind == T::kKind ? static_cast<const T*>(get()) : nullptr;
  }
  template <class T>
  const T* As() const&& = delete;
};

template <ExprKind K>
struct ExprOf : ExprNode {
  static constexpr ExprKind kKind = K;
  ExprOf() : ExprNode(K) {}
};

// An integer or bool constant. uint64 is kept as the int64 of the same bits.
struct IntImmNode : ExprOf<ExprKind::kIntImm> {
  int64_t value = 0;
  TERN_FIELDS(value)
  // Throws where the value does not fit the type.
  static Expr Make(DataType dtype, int64_t value, Span span = {});
};

struct FloatImmNode : ExprOf<ExprKind::kFloatImm> {
  double value = 0;
  TERN_FIELDS(value)
  // Rounds the value to the type.
  static Expr Make(DataType dtype, double value, Span span = {});
};

// A text, for calls and messages; its dtype is handle.
struct StringImmNode : ExprOf<ExprKind::kStringImm> {
  std::string value;
  TERN_FIELDS(value)
  static Expr Make(std::string value, Span span = {});
};

// A variable: its identity is the node, its name is for people.
struct VarNode : ExprOf<ExprKind::kVar> {
  std::string name;
  TERN_FIELDS()
};

// As a field of another node, a Var is where the variable is defined; uses are Exprs.
class Var : public Expr {
 public:
  Var() = default;
  explicit Var(std::string name, DataType dtype = DataType::Int(64), Span span = {});
  explicit Var(const VarNode* node) : Expr(ffi::Ref<const VarNode>(node)) {}
  const VarNode* node() const { return static_cast<const VarNode*>(get()); }
  const std::string& name() const { return node()->name; }
};

template <ExprKind K>
struct BinaryNode : ExprOf<K> {
  Expr a, b;
  TERN_FIELDS(a, b)
  static Expr Make(Expr a, Expr b, Span span = {});
};
#define TERN_DEFINE_BINARY(name) using name##Node = BinaryNode<ExprKind::k##name>;
TERN_BINARY_NODES(TERN_DEFINE_BINARY)
#undef TERN_DEFINE_BINARY

struct NotNode : ExprOf<ExprKind::kNot> {
  Expr a;
  TERN_FIELDS(a)
  static Expr Make(Expr a, Span span = {});
};

// Where the condition is a scalar only the chosen value counts; a vector's lanes need both.
struct SelectNode : ExprOf<ExprKind::kSelect> {
  Expr condition, true_value, false_value;
  TERN_FIELDS(condition, true_value, false_value)
  static Expr Make(Expr condition, Expr true_value, Expr false_value, Span span = {});
};

// Converts as C does, except that a float out of range of the integer type is undefined, and to
// bool means "is not zero".
struct CastNode : ExprOf<ExprKind::kCast> {
  Expr value;
  TERN_FIELDS(value)
  static Expr Make(DataType dtype, Expr value, Span span = {});
};

// base, base + stride, ... (lanes of them; as of a DataType, negative for a scalable vector)
struct RampNode : ExprOf<ExprKind::kRamp> {
  Expr base, stride;
  int64_t lanes = 0;
  TERN_FIELDS(base, stride, lanes)
  static Expr Make(Expr base, Expr stride, int64_t lanes, Span span = {});
};

struct BroadcastNode : ExprOf<ExprKind::kBroadcast> {
  Expr value;
  int64_t lanes = 0;
  TERN_FIELDS(value, lanes)
  static Expr Make(Expr value, int64_t lanes, Span span = {});
};

// Lanes taken from vectors (or scalars) of one type, in a row: lane indices[i] of all of them.
// Fixed vectors only; one index gives a scalar.
struct ShuffleNode : ExprOf<ExprKind::kShuffle> {
  std::vector<Expr> vectors;
  std::vector<int64_t> indices;
  TERN_FIELDS(vectors, indices)
  static Expr Make(std::vector<Expr> vectors, std::vector<int64_t> indices, Span span = {});
};

struct LetNode : ExprOf<ExprKind::kLet> {
  Expr value;
  Var var;
  Expr body;
  TERN_FIELDS(value, var, body)
  static Expr Make(Var var, Expr value, Expr body, Span span = {});
};

// A call of a registered intrinsic (intrinsic.h).
struct CallNode : ExprOf<ExprKind::kCall> {
  std::string name;
  std::vector<Expr> args;
  TERN_FIELDS(name, args)
  // Checks the arguments against the intrinsic's registration; throws on an unknown name. `dtype`
  // is for intrinsics whose type does not follow from their arguments.
  static Expr Make(std::string name, std::vector<Expr> args, DataType dtype = DataType::Void(),
                   Span span = {});
};

struct BufferNode;

// Memory seen as an array. Its identity is the node.
class Buffer : public ffi::Ref<const BufferNode> {
 public:
  Buffer() = default;
  Buffer(const ffi::Ref<const BufferNode>& node) : Ref(node) {}
  explicit Buffer(const BufferNode* node) : Ref(node) {}
};
// As a field of another node: where the buffer comes into scope.
class BufferDef : public Buffer {
 public:
  BufferDef() = default;
  BufferDef(Buffer buffer) : Buffer(std::move(buffer)) {}
};

struct BufferNode : ffi::Object {
  std::string name;
  DataType dtype;             // of an element
  Var data;                   // the address, of dtype handle
  std::vector<Expr> shape;    // in elements
  std::vector<Expr> strides;  // empty: compact, row major
  Expr offset;                // of the first element from the address, in elements; null: 0
  int64_t alignment = 0;      // of the first element, in bytes; 0: that of the dtype
  StorageScope scope = StorageScope::kGlobal;
  Span span;

  static Buffer Make(std::string name, DataType dtype, std::vector<Expr> shape,
                     std::vector<Expr> strides = {}, StorageScope scope = StorageScope::kGlobal,
                     Var data = {}, Span span = {});
};

// The type of an access with these indices; throws TypeError where they do not fit the buffer.
DataType AccessType(const Buffer& buffer, const std::vector<Expr>& indices);

// Throws TypeError unless `predicate`, of an access of type `access`, is null or has a bool for
// each lane of a vector.
void CheckPredicate(const Buffer& buffer, DataType access, const Expr& predicate);

// A vector index in the last place loads a vector. With a predicate, the lanes where it is false
// are not read: they are 0, and their indices may be anything.
struct BufferLoadNode : ExprOf<ExprKind::kBufferLoad> {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr predicate;  // null: all lanes
  TERN_FIELDS(buffer, indices, predicate)
  static Expr Make(Buffer buffer, std::vector<Expr> indices, Span span = {}, Expr predicate = {});
};

// The value of an integer or bool constant; none for other expressions.
std::optional<int64_t> AsConstInt(const Expr& expr);
bool IsConst(const Expr& expr, int64_t value);
// A constant of a numeric type, broadcast to its lanes.
Expr MakeConst(DataType dtype, double value, Span span = {});
Expr ConstTrue();

// Operators for building IR in C++; comparisons make expressions too.
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  // of floats
Expr operator<(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);
Expr FloorDiv(Expr a, Expr b);
Expr FloorMod(Expr a, Expr b);
Expr CeilDiv(Expr a, Expr b);

}  // namespace tern::ir

#endif  // TERN_IR_EXPR_H_
