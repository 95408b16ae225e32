// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/metal/codegen/matrices.h"

#include "tern/arith/linear_sum.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/visitor.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::backend::metal {
namespace {

using ir::Expr;

bool IsMatrixCall(const Expr& expr) {
  const auto* call = expr.As<ir::CallNode>();
  return call && tir::IsWarpMatrixOperation(call);
}

bool Uses(const Expr& expr, const ir::Var& var) {
  bool uses = false;
  ir::ForEachExpr(expr, [&](const Expr& e) { uses |= e.get() == var.get(); });
  return uses;
}

// The memory that operations on matrices keep them in.
struct Finder : tir::StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitNode(const tir::BufferStoreNode* node) override {
    if (IsMatrixCall(node->value)) {
      Note(node->buffer);
      for (const Expr& arg : node->value.As<ir::CallNode>()->args)
        if (const auto* load = arg.As<ir::BufferLoadNode>()) Note(load->buffer);
    }
    VisitChildren(node);
  }
  void Note(const ir::Buffer& buffer) {
    if (buffer->scope == ir::StorageScope::kLocal) found.insert(buffer.get());
  }
  std::unordered_set<const ir::BufferNode*> found;
};

struct Checker : tir::StmtVisitor {
  explicit Checker(const std::unordered_set<const ir::BufferNode*>& matrices)
      : matrices(matrices) {}
  using StmtVisitor::VisitNode;
  void VisitNode(const tir::BufferStoreNode* node) override {
    if (IsMatrixCall(node->value)) return;
    Refuse(node->buffer, node->span);
    VisitChildren(node);
  }
  void VisitNode(const ir::BufferLoadNode* node) override {
    Refuse(node->buffer, node->span);
    VisitChildren(node);
  }
  void Refuse(const ir::Buffer& buffer, const ir::Span& span) const {
    TERN_CHECK(!matrices.contains(buffer.get()))
        << ir::At(span) << buffer->name
        << " is a matrix of a SIMD-group, whose elements Metal gives to operations on matrices "
           "alone";
  }
  const std::unordered_set<const ir::BufferNode*>& matrices;
};

}  // namespace

void Matrices::Begin(const tir::PrimFunc& kernel) {
  struct Scan : tir::StmtVisitor {
    explicit Scan(Matrices* matrices) : of(matrices) {}
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::ForNode* node) override {
      if (node->for_kind == tir::ForKind::kThread && node->thread == "threadIdx.x" &&
          ir::IsConst(node->extent, kLanes))
        of->lane_ = node->var;
      of->known_.BindRange(node->var, node->min, node->extent);
      VisitChildren(node);
    }
    void VisitNode(const tir::LetStmtNode* node) override {
      Expr value = ir::Substitute(node->value, of->values_);
      if (of->lane_.get() && Uses(value, of->lane_)) of->values_[node->var.node()] = value;
      VisitChildren(node);
    }
    Matrices* of;
  };
  *this = {};
  Finder finder;
  finder.Visit(kernel->body);
  matrices_ = std::move(finder.found);
  if (matrices_.empty()) return;
  Checker(matrices_).Visit(kernel->body);
  Scan(this).Visit(kernel->body);
}

Expr Matrices::Number(const ir::Buffer& buffer, const Expr& index) const {
  const auto* ramp = index.As<ir::RampNode>();
  TERN_CHECK(ramp && ir::IsConst(ramp->stride, 1) &&
             known_.Modular(ramp->base).knows_remainder(kElements) &&
             known_.Modular(ramp->base).base % kElements == 0)
      << ir::At(index.span()) << "a matrix of " << buffer->name
      << " is two elements of each lane in a row, from a multiple of two on";
  return known_.Simplify(ir::FloorDiv(ramp->base, ir::MakeConst(ramp->base.dtype(), kElements)));
}

Expr Matrices::Between(const Expr& from, const Expr& to) const {
  return arith::SubtractSums(known_, arith::AsInt64(to), arith::AsInt64(from));
}

Expr Matrices::InLane(const Expr& expr, int64_t lane) const {
  ir::VarMap at = {{lane_.node(), ir::MakeConst(lane_.dtype(), lane)}};
  return known_.Simplify(ir::Substitute(ir::Substitute(expr, values_), at));
}

Matrices::Tile Matrices::TileAt(const ir::Buffer& buffer, const Expr& index) const {
  auto check = [&](bool holds) {
    TERN_CHECK(holds) << ir::At(index.span()) << "the lanes' places in " << buffer->name
                      << " are not shown to be those of a tile of 8 x 8: lane l of 32, of axis "
                         "threadIdx.x, has the element (l // 4, l % 4 * 2) and the one beside it";
  };
  const auto* ramp = index.As<ir::RampNode>();
  check(ramp && ramp->lanes == kElements && ir::IsConst(ramp->stride, 1) && lane_.get());
  Expr first = InLane(ramp->base, 0), row = Between(first, InLane(ramp->base, 4));
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    Expr offset = Expr(lane / 4) * row + Expr(lane % 4 * 2);
    check(ir::IsConst(Between(offset, Between(first, InLane(ramp->base, lane))), 0));
  }
  return {first, row};
}

}  // namespace tern::backend::metal
