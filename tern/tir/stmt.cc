// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/stmt.h"

namespace tern::tir {
namespace {

template <class T>
ffi::Ref<T> New(Span span) {
  auto node = ffi::Make<T>();
  node->span = std::move(span);
  return node;
}

void CheckCondition(const Expr& condition, const char* what) {
  if (condition.dtype() != DataType::Bool())
    TERN_THROW(TypeError) << "the condition of " << what << " is " << condition.dtype().str()
                          << "; expected bool";
}

}  // namespace

const char* StmtKindName(StmtKind kind) {
  switch (kind) {
#define TERN_CASE(name)   \
  case StmtKind::k##name: \
    return #name;
    TERN_STMT_NODES(TERN_CASE)
#undef TERN_CASE
  }
  return "?";
}

const char* ForKindName(ForKind kind) {
  switch (kind) {
    case ForKind::kSerial:
      return "serial";
    case ForKind::kParallel:
      return "parallel";
    case ForKind::kVectorized:
      return "vectorized";
    case ForKind::kUnrolled:
      return "unrolled";
    case ForKind::kThread:
      return "thread";
  }
  return "?";
}

const char* IterKindName(IterKind kind) {
  switch (kind) {
    case IterKind::kSpatial:
      return "spatial";
    case IterKind::kReduce:
      return "reduce";
    case IterKind::kScan:
      return "scan";
    case IterKind::kOpaque:
      return "opaque";
  }
  return "?";
}

Stmt BufferStoreNode::Make(Buffer buffer, std::vector<Expr> indices, Expr value, Span span,
                           Expr predicate) {
  DataType expected = ir::AccessType(buffer, indices);
  if (value.dtype() != expected)
    TERN_THROW(TypeError) << "cannot store " << value.dtype().str() << " in " << buffer->name
                          << ", which holds " << expected.str();
  ir::CheckPredicate(buffer, expected, predicate);
  auto node = New<BufferStoreNode>(std::move(span));
  node->buffer = std::move(buffer);
  node->indices = std::move(indices);
  node->predicate = std::move(predicate);
  node->value = std::move(value);
  return node;
}

Stmt LetStmtNode::Make(Var var, Expr value, Stmt body, Span span) {
  if (var.dtype() != value.dtype())
    TERN_THROW(TypeError) << var.name() << " is " << var.dtype().str() << ", but its value is "
                          << value.dtype().str();
  auto node = New<LetStmtNode>(std::move(span));
  node->var = std::move(var);
  node->value = std::move(value);
  node->body = std::move(body);
  return node;
}

Stmt AllocateNode::Make(Buffer buffer, Stmt body, Span span) {
  auto node = New<AllocateNode>(std::move(span));
  node->buffer = std::move(buffer);
  node->body = std::move(body);
  return node;
}

Stmt DeclBufferNode::Make(Buffer buffer, Stmt body, Span span) {
  auto node = New<DeclBufferNode>(std::move(span));
  node->buffer = std::move(buffer);
  node->body = std::move(body);
  return node;
}

Stmt ForNode::Make(Var var, Expr min, Expr extent, ForKind kind, Stmt body, std::string thread,
                   Span span, ir::Attrs annotations) {
  if (!var.dtype().is_integer() || var.dtype() != min.dtype() || var.dtype() != extent.dtype())
    TERN_THROW(TypeError) << "loop variable " << var.name() << " is " << var.dtype().str()
                          << ", but it runs from " << min.dtype().str() << " over an extent of "
                          << extent.dtype().str();
  TERN_ICHECK((kind == ForKind::kThread) == !thread.empty()) << var.name();
  auto node = New<ForNode>(std::move(span));
  node->var = std::move(var);
  node->min = std::move(min);
  node->extent = std::move(extent);
  node->for_kind = kind;
  node->thread = std::move(thread);
  node->annotations = std::move(annotations);
  node->body = std::move(body);
  return node;
}

Stmt ForNode::With(Expr new_min, Expr new_extent, Stmt new_body) const {
  return Make(var, std::move(new_min), std::move(new_extent), for_kind, std::move(new_body), thread,
              span, annotations);
}

Stmt WhileNode::Make(Expr condition, Stmt body, Span span) {
  CheckCondition(condition, "while");
  auto node = New<WhileNode>(std::move(span));
  node->condition = std::move(condition);
  node->body = std::move(body);
  return node;
}

Stmt IfThenElseNode::Make(Expr condition, Stmt then_case, Stmt else_case, Span span) {
  CheckCondition(condition, "if");
  auto node = New<IfThenElseNode>(std::move(span));
  node->condition = std::move(condition);
  node->then_case = std::move(then_case);
  node->else_case = std::move(else_case);
  return node;
}

Stmt SeqNode::Make(std::vector<Stmt> stmts, Span span) {
  std::vector<Stmt> flat;
  for (Stmt& stmt : stmts) {
    if (const auto* seq = stmt.As<SeqNode>())
      flat.insert(flat.end(), seq->stmts.begin(), seq->stmts.end());
    else
      flat.push_back(std::move(stmt));
  }
  if (flat.size() == 1) return flat[0];
  auto node = New<SeqNode>(std::move(span));
  node->stmts = std::move(flat);
  return node;
}

Stmt AssertNode::Make(Expr condition, std::string error_kind, std::vector<Expr> message,
                      Span span) {
  CheckCondition(condition, "assert");
  auto node = New<AssertNode>(std::move(span));
  node->condition = std::move(condition);
  node->error_kind = std::move(error_kind);
  node->message = std::move(message);
  return node;
}

Stmt EvaluateNode::Make(Expr value, Span span) {
  auto node = New<EvaluateNode>(std::move(span));
  node->value = std::move(value);
  return node;
}

Stmt BlockNode::Make(std::string name, std::vector<BlockIter> iters, Stmt init, Stmt body,
                     Span span) {
  for (const BlockIter& iter : iters)
    if (iter.var.dtype() != iter.extent.dtype() || iter.var.dtype() != iter.binding.dtype())
      TERN_THROW(TypeError) << "axis " << iter.var.name() << " of block " << name << " is "
                            << iter.var.dtype().str() << " over an extent of "
                            << iter.extent.dtype().str() << ", bound to "
                            << iter.binding.dtype().str();
  auto node = New<BlockNode>(std::move(span));
  node->name = std::move(name);
  node->iters = std::move(iters);
  node->init = std::move(init);
  node->body = std::move(body);
  return node;
}

Stmt BlockNode::With(Stmt new_init, Stmt new_body) const {
  auto copy = ffi::Make<BlockNode>(*this);
  copy->init = std::move(new_init);
  copy->body = std::move(new_body);
  return copy;
}

}  // namespace tern::tir
