// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/kernel_shape.h"

#include <algorithm>
#include <set>

#include "tern/ir/diagnostic.h"
#include "tern/tir/intrinsics.h"
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
  void VisitUse(const Buffer& buffer) override {
    found_ |= of_warps_.count(buffer->data.node()) > 0;
  }
  void VisitNode(const ir::CallNode* node) override {
    bool exchanges = IsWarpOperation(node);
    shape.exchanges |= exchanges;
    found_ |= exchanges || node->name == intrinsic::kBarrier || node->name == intrinsic::kLaneIndex;
    VisitChildren(node);
  }
  void VisitNode(const AllocateNode* node) override {
    ScopeOwner owner = OwnerOf(node->buffer->scope);
    if (owner == ScopeOwner::kWarp) of_warps_.insert(node->buffer->data.node());
    VisitChildren(node);
    found_ |= owner == ScopeOwner::kBlock || owner == ScopeOwner::kWarp;
  }
  void VisitNode(const LetStmtNode* node) override {
    for (Vars* vars : {&of_threads_, &of_virtual_})
      if (Depends(node->value, *vars)) vars->insert(node->var.node());
    VisitChildren(node);
  }
  void VisitNode(const BlockNode* node) override {
    VisitChildren(node);
    bool along_threads = false, along_virtual = false;
    for (const BlockIter& iter : node->iters) {
      if (iter.kind != IterKind::kReduce) continue;
      along_threads |= Depends(iter.binding, of_threads_);
      along_virtual |= Depends(iter.binding, of_virtual_);
    }
    if (!along_threads && !along_virtual) return;
    found_ |= along_threads;
    struct Scan : StmtVisitor {
      using StmtVisitor::VisitNode;
      void VisitNode(const BufferStoreNode* store) override {
        written.insert(store->buffer->data.node());
      }
      std::unordered_set<const VarNode*> written;
    } scan;
    scan.Visit(node->body);
    shape.reductions[node] = {scan.written, !along_threads};
  }
  using Vars = std::unordered_set<const ir::Node*>;
  static bool Depends(const Expr& expr, const Vars& vars) {
    bool depends = false;
    ir::ForEachExpr(expr, [&](const Expr& e) { depends |= vars.count(e.get()) > 0; });
    return depends;
  }
  void VisitNode(const ForNode* node) override {
    if (node->for_kind == ForKind::kThread && IsVirtualThread(node)) {
      of_virtual_.insert(node->var.node());
    } else if (node->for_kind == ForKind::kThread) {
      if (ThreadAxisNumber(node->thread) < kNumThreadAxesOfBlock)
        of_threads_.insert(node->var.node());
      TERN_CHECK(ir::IsConst(node->min, 0)) << ir::At(node->span) << "a thread loop starts at 0";
      ir::ForEachExpr(node->extent, [&](const Expr& expr) {
        if (expr.As<ir::BufferLoadNode>() || defined_.count(expr.get()))
          TERN_THROW(ValueError) << ir::At(node->span) << "the extent of " << node->thread
                                 << " depends on a value computed in the kernel";
      });
      shape.loops.push_back(node);
    }
    VisitChildren(node);
  }

  bool found_ = false;
  std::unordered_set<const void*> defined_;      // variables
  Vars of_threads_, of_virtual_;                 // variables that differ between threads
  std::unordered_set<const VarNode*> of_warps_;  // addresses of their memory
};

class ReboundAxisFinder : public StmtVisitor {
 public:
  std::vector<const ForNode*> found;

 private:
  using StmtVisitor::VisitNode;

  void VisitNode(const ForNode* node) override {
    bool bound = node->for_kind == ForKind::kThread;
    bool first = bound && axes_.insert(node->thread).second;
    if (bound && !first) found.push_back(node);
    VisitChildren(node);
    if (first) axes_.erase(node->thread);
  }

  std::set<std::string> axes_;  // of the loops around
};

}  // namespace

int ThreadAxisNumber(const std::string& axis) {
  for (int i = 0; i < kNumThreadAxes; ++i)
    if (axis == kAxes[i]) return i;
  TERN_ICHECK(false) << "unknown thread axis " << axis;
  return 0;
}

bool IsVirtualThreadAxis(const std::string& axis) {
  return std::find(kVirtualThreadAxes.begin(), kVirtualThreadAxes.end(), axis) !=
         kVirtualThreadAxes.end();
}
bool IsVirtualThread(const ForNode* loop) { return IsVirtualThreadAxis(loop->thread); }

const char* ThreadAxisName(int axis) { return kAxes[axis]; }

std::vector<const ForNode*> FindReboundAxes(const Stmt& stmt) {
  ReboundAxisFinder finder;
  finder.Visit(stmt);
  return finder.found;
}

KernelShape FindKernelShape(const ForNode* outermost) { return ShapeFinder(outermost).shape; }

}  // namespace tern::tir
