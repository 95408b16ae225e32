// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/expr.h"

#include <cmath>

#include "tern/ffi/text.h"
#include "tern/ir/intrinsic.h"

namespace tern::ir {

const char* ExprKindName(ExprKind kind) {
  switch (kind) {
#define TERN_CASE(name)   \
  case ExprKind::k##name: \
    return #name;
    TERN_EXPR_NODES(TERN_CASE)
#undef TERN_CASE
  }
  return "?";
}

namespace {

constexpr const char* kCastHint =
    "; values of less than a byte are moved and cast, as in float32(x)";

constexpr bool IsComparison(ExprKind kind) {
  return kind >= ExprKind::kEQ && kind <= ExprKind::kGE;
}
constexpr bool IsLogic(ExprKind kind) { return kind == ExprKind::kAnd || kind == ExprKind::kOr; }
constexpr bool IsIntegerDivision(ExprKind kind) {
  return kind >= ExprKind::kTruncDiv && kind <= ExprKind::kFloorMod;
}

// The type of `a <kind> b`; throws where the operands do not fit.
DataType BinaryType(ExprKind kind, DataType a, DataType b) {
  if (a != b)
    TERN_THROW(TypeError) << "operands of " << ExprKindName(kind)
                          << " have different types: " << a.str() << " and " << b.str();
  bool comparable = a.is_integer() || a.is_float() || a.is_bool();
  bool ok = IsLogic(kind)             ? a.is_bool()
            : IsIntegerDivision(kind) ? a.is_integer()
            : kind == ExprKind::kDiv  ? a.is_float()
            : IsComparison(kind)      ? comparable
                                      : a.is_integer() || a.is_float();
  if (!ok || a.is_packed()) {
    const char* hint = a.is_packed() ? kCastHint
                       : kind == ExprKind::kDiv && a.is_integer()
                           ? "; integers divide with // or truncdiv"
                           : "";
    TERN_THROW(TypeError) << ExprKindName(kind) << " does not take " << a.str() << hint;
  }
  return IsComparison(kind) ? DataType::Bool(a.lanes()) : a;
}

bool FitsInteger(DataType dtype, int64_t value) {
  if (dtype.is_bool()) return value == 0 || value == 1;
  if (dtype.bits() == 64) return true;
  if (dtype.is_uint()) return value >= 0 && value < (int64_t{1} << dtype.bits());
  int64_t limit = int64_t{1} << (dtype.bits() - 1);
  return value >= -limit && value < limit;
}

void CheckLanes(const char* what, int64_t lanes) {
  if (std::abs(lanes) < 2 || std::abs(lanes) > DataType::kMaxLanes)
    TERN_THROW(TypeError) << what << " of " << std::abs(lanes) << " lanes; expected 2 to "
                          << DataType::kMaxLanes;
}

}  // namespace

Expr::Expr(int64_t value) : Expr(IntImmNode::Make(DataType::Int(64), value)) {}

Expr IntImmNode::Make(DataType dtype, int64_t value, Span span) {
  TERN_ICHECK((dtype.is_integer() || dtype.is_bool()) && dtype.is_scalar()) << dtype.str();
  if (!FitsInteger(dtype, value))
    TERN_THROW(TypeError) << value << " does not fit in " << dtype.str();
  auto node = ffi::Make<IntImmNode>();
  node->dtype = dtype;
  node->value = value;
  node->span = std::move(span);
  return node;
}

Expr FloatImmNode::Make(DataType dtype, double value, Span span) {
  TERN_ICHECK(dtype.is_float() && dtype.is_scalar()) << dtype.str();
  auto node = ffi::Make<FloatImmNode>();
  node->dtype = dtype;
  node->value = RoundToType(dtype, value);
  node->span = std::move(span);
  return node;
}

Expr StringImmNode::Make(std::string value, Span span) {
  auto node = ffi::Make<StringImmNode>();
  node->dtype = DataType::Handle();
  node->value = std::move(value);
  node->span = std::move(span);
  return node;
}

Var::Var(std::string name, DataType dtype, Span span) {
  auto node = ffi::Make<VarNode>();
  node->dtype = dtype;
  node->name = std::move(name);
  node->span = std::move(span);
  *this = Var(node.get());
}

template <ExprKind K>
Expr BinaryNode<K>::Make(Expr a, Expr b, Span span) {
  auto node = ffi::Make<BinaryNode<K>>();
  node->dtype = BinaryType(K, a.dtype(), b.dtype());
  node->a = std::move(a);
  node->b = std::move(b);
  node->span = std::move(span);
  return node;
}
#define TERN_INSTANTIATE(name) template struct BinaryNode<ExprKind::k##name>;
TERN_BINARY_NODES(TERN_INSTANTIATE)
#undef TERN_INSTANTIATE

Expr NotNode::Make(Expr a, Span span) {
  if (!a.dtype().is_bool()) TERN_THROW(TypeError) << "not takes bool, got " << a.dtype().str();
  auto node = ffi::Make<NotNode>();
  node->dtype = a.dtype();
  node->a = std::move(a);
  node->span = std::move(span);
  return node;
}

Expr SelectNode::Make(Expr condition, Expr true_value, Expr false_value, Span span) {
  if (!condition.dtype().is_bool() ||
      (condition.dtype().lanes() != 1 && condition.dtype().lanes() != true_value.dtype().lanes()))
    TERN_THROW(TypeError) << "the condition of select is " << condition.dtype().str()
                          << "; expected bool";
  if (true_value.dtype() != false_value.dtype())
    TERN_THROW(TypeError) << "select chooses between different types: " << true_value.dtype().str()
                          << " and " << false_value.dtype().str();
  auto node = ffi::Make<SelectNode>();
  node->dtype = true_value.dtype();
  node->condition = std::move(condition);
  node->true_value = std::move(true_value);
  node->false_value = std::move(false_value);
  node->span = std::move(span);
  return node;
}

Expr CastNode::Make(DataType dtype, Expr value, Span span) {
  DataType from = value.dtype();
  if (from == dtype) return value;
  if (from.lanes() != dtype.lanes() || from.is_handle() || dtype.is_handle() || from.is_void() ||
      dtype.is_void())
    TERN_THROW(TypeError) << "cannot convert " << from.str() << " to " << dtype.str();
  auto node = ffi::Make<CastNode>();
  node->dtype = dtype;
  node->value = std::move(value);
  node->span = std::move(span);
  return node;
}

Expr RampNode::Make(Expr base, Expr stride, int64_t lanes, Span span) {
  if (!base.dtype().is_integer() || !base.dtype().is_scalar() || base.dtype() != stride.dtype())
    TERN_THROW(TypeError) << "ramp takes a base and a stride of one integer type, got "
                          << base.dtype().str() << " and " << stride.dtype().str();
  CheckLanes("ramp", lanes);
  auto node = ffi::Make<RampNode>();
  node->dtype = base.dtype().with_lanes(static_cast<int>(lanes));
  node->base = std::move(base);
  node->stride = std::move(stride);
  node->lanes = lanes;
  node->span = std::move(span);
  return node;
}

Expr BroadcastNode::Make(Expr value, int64_t lanes, Span span) {
  if (!value.dtype().is_scalar() || value.dtype().is_handle() || value.dtype().is_packed())
    TERN_THROW(TypeError) << "broadcast takes a scalar, got " << value.dtype().str();
  CheckLanes("broadcast", lanes);
  auto node = ffi::Make<BroadcastNode>();
  node->dtype = value.dtype().with_lanes(static_cast<int>(lanes));
  node->value = std::move(value);
  node->lanes = lanes;
  node->span = std::move(span);
  return node;
}

Expr ShuffleNode::Make(std::vector<Expr> vectors, std::vector<int64_t> indices, Span span) {
  if (vectors.empty() || indices.empty() ||
      indices.size() > static_cast<size_t>(DataType::kMaxLanes))
    TERN_THROW(TypeError) << "shuffle takes vectors and the lanes to take from them, got "
                          << vectors.size() << " vectors and " << indices.size() << " lanes";
  DataType dtype = vectors[0].dtype();
  int64_t lanes = 0;
  for (const Expr& vector : vectors) {
    DataType given = vector.dtype();
    if (given.element() != dtype.element() || given.is_scalable() || given.is_handle() ||
        given.is_void())
      TERN_THROW(TypeError) << "shuffle takes scalars and fixed vectors of one type, got "
                            << dtype.str() << " and " << given.str();
    lanes += given.lanes();
  }
  for (int64_t index : indices)
    if (index < 0 || index >= lanes)
      TERN_THROW(TypeError) << "shuffle takes lane " << index << " of " << lanes;
  auto node = ffi::Make<ShuffleNode>();
  node->dtype = dtype.with_lanes(static_cast<int>(indices.size()));
  node->vectors = std::move(vectors);
  node->indices = std::move(indices);
  node->span = std::move(span);
  return node;
}

Expr LetNode::Make(Var var, Expr value, Expr body, Span span) {
  TERN_ICHECK(var.dtype() == value.dtype()) << var.name();
  auto node = ffi::Make<LetNode>();
  node->dtype = body.dtype();
  node->var = std::move(var);
  node->value = std::move(value);
  node->body = std::move(body);
  node->span = std::move(span);
  return node;
}

Expr CallNode::Make(std::string name, std::vector<Expr> args, DataType dtype, Span span) {
  const Intrinsic* intrinsic = FindIntrinsic(name);
  if (!intrinsic)
    TERN_THROW(TypeError) << "unknown function " << name << ffi::DidYouMean(name, IntrinsicNames());
  for (const Expr& arg : args)
    if (arg.dtype().is_packed() && name != kIfThenElse)
      TERN_THROW(TypeError) << name << " does not take " << arg.dtype().str() << kCastHint;
  auto node = ffi::Make<CallNode>();
  node->dtype = intrinsic->infer(args, dtype);
  node->name = std::move(name);
  node->args = std::move(args);
  node->span = std::move(span);
  return node;
}

Buffer BufferNode::Make(std::string name, DataType dtype, std::vector<Expr> shape,
                        std::vector<Expr> strides, StorageScope scope, Var data, Span span) {
  TERN_ICHECK(strides.empty() || strides.size() == shape.size()) << name;
  auto node = ffi::Make<BufferNode>();
  node->data = data ? std::move(data) : Var(name, DataType::Handle(), span);
  node->name = std::move(name);
  node->dtype = dtype;
  node->shape = std::move(shape);
  node->strides = std::move(strides);
  node->scope = scope;
  node->span = std::move(span);
  return Buffer(node.get());
}

DataType AccessType(const Buffer& buffer, const std::vector<Expr>& indices) {
  if (indices.size() != buffer->shape.size())
    TERN_THROW(TypeError) << buffer->name << " has rank " << buffer->shape.size()
                          << ", but is accessed with " << indices.size() << " indices";
  for (size_t i = 0; i < indices.size(); ++i) {
    DataType dtype = indices[i].dtype();
    if (!dtype.is_integer() || (!dtype.is_scalar() && i + 1 < indices.size()))
      TERN_THROW(TypeError) << "index " << i << " of " << buffer->name << " is " << dtype.str()
                            << "; expected an integer"
                            << (dtype.is_scalar() ? "" : " (a vector only in the last place)");
  }
  int lanes = indices.empty() ? 1 : indices.back().dtype().lanes();
  if (buffer->dtype.is_packed() && lanes != 1)
    TERN_THROW(TypeError) << "elements of " << buffer->dtype.str()
                          << " are accessed one at a time, but the index of " << buffer->name
                          << " is a vector";
  return buffer->dtype.with_lanes(lanes);
}

void CheckPredicate(const Buffer& buffer, DataType access, const Expr& predicate) {
  if (!predicate) return;
  if (access.is_scalar())
    TERN_THROW(TypeError) << "an access of one element of " << buffer->name
                          << " has no predicate; use if, or if_then_else";
  if (DataType expected = DataType::Bool().with_lanes(access.lanes());
      predicate.dtype() != expected)
    TERN_THROW(TypeError) << "the predicate of an access of " << buffer->name << " is "
                          << predicate.dtype().str() << "; expected " << expected.str();
}

Expr BufferLoadNode::Make(Buffer buffer, std::vector<Expr> indices, Span span, Expr predicate) {
  auto node = ffi::Make<BufferLoadNode>();
  node->dtype = AccessType(buffer, indices);
  CheckPredicate(buffer, node->dtype, predicate);
  node->predicate = std::move(predicate);
  node->buffer = std::move(buffer);
  node->indices = std::move(indices);
  node->span = std::move(span);
  return node;
}

std::optional<int64_t> AsConstInt(const Expr& expr) {
  const auto* imm = expr.As<IntImmNode>();
  return imm ? std::optional(imm->value) : std::nullopt;
}

bool IsConst(const Expr& expr, int64_t value) {
  std::optional<int64_t> constant = AsConstInt(expr);
  return constant && *constant == value;
}

Expr MakeConst(DataType dtype, double value, Span span) {
  if (!dtype.is_scalar())
    return BroadcastNode::Make(MakeConst(dtype.element(), value, span), dtype.lanes(), span);
  if (dtype.is_float()) return FloatImmNode::Make(dtype, value, std::move(span));
  return IntImmNode::Make(dtype, static_cast<int64_t>(value), std::move(span));
}

Expr ConstTrue() { return IntImmNode::Make(DataType::Bool(), 1); }

Expr operator+(Expr a, Expr b) { return AddNode::Make(std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return SubNode::Make(std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return MulNode::Make(std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) { return DivNode::Make(std::move(a), std::move(b)); }
Expr operator<(Expr a, Expr b) { return LTNode::Make(std::move(a), std::move(b)); }
Expr operator>=(Expr a, Expr b) { return GENode::Make(std::move(a), std::move(b)); }
Expr operator==(Expr a, Expr b) { return EQNode::Make(std::move(a), std::move(b)); }
Expr operator!=(Expr a, Expr b) { return NENode::Make(std::move(a), std::move(b)); }
Expr operator&&(Expr a, Expr b) { return AndNode::Make(std::move(a), std::move(b)); }
Expr operator||(Expr a, Expr b) { return OrNode::Make(std::move(a), std::move(b)); }
Expr FloorDiv(Expr a, Expr b) { return FloorDivNode::Make(std::move(a), std::move(b)); }
Expr FloorMod(Expr a, Expr b) { return FloorModNode::Make(std::move(a), std::move(b)); }
Expr CeilDiv(Expr a, Expr b) {
  Expr rounded = a + (b - MakeConst(b.dtype(), 1));
  return FloorDiv(std::move(rounded), std::move(b));
}

}  // namespace tern::ir
