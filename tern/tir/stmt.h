// SPDX-License-Identifier: Apache-2.0
//
// Statements of the loop IR.
#ifndef TERN_TIR_STMT_H_
#define TERN_TIR_STMT_H_

#include <string>
#include <vector>

#include "tern/arith/range.h"
#include "tern/ir/expr.h"
#include "tern/ir/module.h"

#define TERN_STMT_NODES(X) \
  X(BufferStore)           \
  X(LetStmt)               \
  X(Allocate) X(DeclBuffer) X(For) X(While) X(IfThenElse) X(Seq) X(Assert) X(Evaluate) X(Block)

namespace tern::tir {

using ir::Buffer;
using ir::BufferDef;
using ir::BufferNode;
using ir::Expr;
using ir::ExprKind;
using ir::ScopeOwner;
using ir::Span;
using ir::StorageScope;
using ir::Var;
using ir::VarNode;

enum class StmtKind : uint8_t {
#define TERN_KIND(name) k##name,
  TERN_STMT_NODES(TERN_KIND)
#undef TERN_KIND
};
// "BufferStore", "For", ...
const char* StmtKindName(StmtKind kind);

struct StmtNode : ir::Node {
  explicit StmtNode(StmtKind kind) : kind(kind) {}
  const StmtKind kind;
};

class Stmt : public ffi::Ref<const StmtNode> {
 public:
  Stmt() = default;
  template <class T, class = std::enable_if_t<std::is_base_of_v<StmtNode, T>>>
  Stmt(const ffi::Ref<T>& node) : Ref(node) {}

  const Span& span() const { return get()->span; }
  template <class T>
  const T* As() const& {
    return get() && get()->kind == T::kKind ? static_cast<const T*>(get()) : nullptr;
  }
  template <class T>
  const T* As() const&& = delete;
};

template <StmtKind K>
struct StmtOf : StmtNode {
  static constexpr StmtKind kKind = K;
  StmtOf() : StmtNode(K) {}
};

// buffer[indices] = value. With a predicate, the lanes where it is false are not written, as of a
// BufferLoadNode.
struct BufferStoreNode : StmtOf<StmtKind::kBufferStore> {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr predicate;  // null: all lanes
  Expr value;
  TERN_FIELDS(buffer, indices, predicate, value)
  static Stmt Make(Buffer buffer, std::vector<Expr> indices, Expr value, Span span = {},
                   Expr predicate = {});
};

// let var = value; body
struct LetStmtNode : StmtOf<StmtKind::kLetStmt> {
  Expr value;
  Var var;
  Stmt body;
  TERN_FIELDS(value, var, body)
  static Stmt Make(Var var, Expr value, Stmt body, Span span = {});
};

// Memory for `buffer` while `body` runs, uninitialised.
struct AllocateNode : StmtOf<StmtKind::kAllocate> {
  BufferDef buffer;
  Stmt body;
  TERN_FIELDS(buffer, body)
  static Stmt Make(Buffer buffer, Stmt body, Span span = {});
};

// Names memory that is there already: `buffer.data` is a variable in scope.
struct DeclBufferNode : StmtOf<StmtKind::kDeclBuffer> {
  BufferDef buffer;
  Stmt body;
  TERN_FIELDS(buffer, body)
  static Stmt Make(Buffer buffer, Stmt body, Span span = {});
};

enum class ForKind { kSerial, kParallel, kVectorized, kUnrolled, kThread };
// "serial", "parallel", ...
const char* ForKindName(ForKind kind);

// for var in min..min + extent. A thread loop's iterations run at once, on the hardware axis
// `thread` ("blockIdx.x"). Annotations are wishes for passes; they never change a result.
struct ForNode : StmtOf<StmtKind::kFor> {
  Expr min, extent;
  Var var;
  ForKind for_kind = ForKind::kSerial;
  std::string thread;
  ir::Attrs annotations;
  Stmt body;
  TERN_FIELDS(min, extent, var, for_kind, thread, annotations, body)
  static Stmt Make(Var var, Expr min, Expr extent, ForKind kind, Stmt body, std::string thread = "",
                   Span span = {}, ir::Attrs annotations = {});
  // The same loop over another range, with another body.
  Stmt With(Expr new_min, Expr new_extent, Stmt new_body) const;
};

struct WhileNode : StmtOf<StmtKind::kWhile> {
  Expr condition;
  Stmt body;
  TERN_FIELDS(condition, body)
  static Stmt Make(Expr condition, Stmt body, Span span = {});
};

struct IfThenElseNode : StmtOf<StmtKind::kIfThenElse> {
  Expr condition;
  Stmt then_case, else_case;  // else_case may be null
  TERN_FIELDS(condition, then_case, else_case)
  static Stmt Make(Expr condition, Stmt then_case, Stmt else_case = {}, Span span = {});
};

// Any number of statements, none of them a Seq itself.
struct SeqNode : StmtOf<StmtKind::kSeq> {
  std::vector<Stmt> stmts;
  TERN_FIELDS(stmts)
  // Flattens nested sequences; one statement stands for itself.
  static Stmt Make(std::vector<Stmt> stmts, Span span = {});
};

// Raises a `kind` error unless the condition holds; the message is the parts in a row (texts as
// they are, integers in decimal, a handle as a description of the TernAny it points to).
struct AssertNode : StmtOf<StmtKind::kAssert> {
  Expr condition;
  std::string error_kind;
  std::vector<Expr> message;
  TERN_FIELDS(condition, error_kind, message)
  static Stmt Make(Expr condition, std::string error_kind, std::vector<Expr> message,
                   Span span = {});
};

// A call, made for its effect.
struct EvaluateNode : StmtOf<StmtKind::kEvaluate> {
  Expr value;
  TERN_FIELDS(value)
  static Stmt Make(Expr value, Span span = {});
};

// Instances that differ in a spatial axis are independent; along a reduction axis they update one
// result; along a scan axis each may need the results of those before it; nothing is said of an
// opaque axis.
enum class IterKind { kSpatial, kReduce, kScan, kOpaque };
// "spatial", "reduce", ...
const char* IterKindName(IterKind kind);

// One axis of a block: `var` runs over 0..extent; at this instance it is `binding`.
struct BlockIter {
  Expr extent, binding;
  Var var;
  IterKind kind = IterKind::kSpatial;
  TERN_FIELDS(extent, binding, var, kind)
};

using arith::Range;

// A box of a buffer's elements.
struct BufferRegion {
  Buffer buffer;
  std::vector<Range> ranges;  // one per dimension
  TERN_FIELDS(buffer, ranges)
};

// One unit of computation, its axes named: `init` (may be null) runs before the first of the
// instances along the reduction axes. An instance for which the predicate (null: true) does not
// hold is none: it neither runs nor needs its axes in their domains.
//
// Where `reads` or `writes` say anything, an instance touches nothing else of the memory that is
// defined outside of it; the interpreter checks that.
struct BlockNode : StmtOf<StmtKind::kBlock> {
  std::string name;
  std::vector<BlockIter> iters;
  Expr predicate;
  std::vector<BufferRegion> reads, writes;
  ir::Attrs annotations;
  Stmt init, body;
  TERN_FIELDS(name, iters, predicate, reads, writes, annotations, init, body)
  static Stmt Make(std::string name, std::vector<BlockIter> iters, Stmt init, Stmt body,
                   Span span = {});
  // The same block with another init and body.
  Stmt With(Stmt new_init, Stmt new_body) const;
};

}  // namespace tern::tir

#endif  // TERN_TIR_STMT_H_
