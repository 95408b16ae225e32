// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/kernel_shape.h"

#include "tern/tir/intrinsics.h"
#include "tern/tir/storage_scope.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

constexpr std::array<const char*, kNumThreadAxes> kAxes = {
    "threadIdx.x", "threadIdx.y", "threadIdx.z", "blockIdx.x", "blockIdx.y", "blockIdx.z"};

class ShapeFinder : public StmtVisitor {
 public:
  explicit ShapeFinder(const ForNode* outermost) {
    VisitStmt(outermost, [&] { VisitNode(outermost); });
  }
  KernelShape shape;

 private:
  using StmtVisitor::Visit;
  using StmtVisitor::VisitNode;

  void Visit(const Stmt& stmt) override {
    VisitStmt(stmt.get(), [&] { StmtVisitor::Visit(stmt); });
  }
  // A statement is collective if something in it is.
  template <class F>
  void VisitStmt(const StmtNode* stmt, F&& visit) {
    bool outer = std::exchange(found_, false);
    visit();
    if (found_) shape.collective.insert(stmt);
    found_ |= outer;
  }

  void VisitDef(const Var& var) override { defined_.insert(var.node()); }
  void VisitNode(const EvaluateNode* node) override { found_ |= IsBarrier(node->value); }
  void VisitNode(const AllocateNode* node) override {
    VisitChildren(node);
    found_ |= IsSharedScope(node->buffer->scope);
  }
  void VisitNode(const ForNode* node) override {
    if (node->for_kind == ForKind::kThread) {
      TERN_CHECK(ir::IsConst(node->min, 0)) << node->span.str() << ": a thread loop starts at 0";
      ir::ForEachExpr(node->extent, [&](const Expr& expr) {
        if (expr.As<ir::BufferLoadNode>() || defined_.count(expr.get()))
          TERN_THROW(ValueError) << node->span.str() << ": the extent of " << node->thread
                                 << " depends on a value computed in the kernel";
      });
      shape.loops.push_back(node);
    }
    VisitChildren(node);
  }

  bool found_ = false;
  std::unordered_set<const void*> defined_;  // variables
};

}  // namespace

int ThreadAxisNumber(const std::string& axis) {
  for (int i = 0; i < kNumThreadAxes; ++i)
    if (axis == kAxes[i]) return i;
  TERN_ICHECK(false) << "unknown thread axis " << axis;
  return 0;
}

const char* ThreadAxisName(int axis) { return kAxes[axis]; }

KernelShape FindKernelShape(const ForNode* outermost) { return ShapeFinder(outermost).shape; }

}  // namespace tern::tir
