// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/codegen/loop_steps.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tern/backend/vulkan/common/spirv.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/visitor.h"

namespace tern::backend::vulkan {
namespace {

// Where a number of iterations is no longer counted.
constexpr uint64_t kMany = uint64_t{1} << 40;
// A body is written no more often than this, and no more statements and loads are made in all.
constexpr int64_t kMaxCopies = 256;
constexpr int64_t kMaxCopied = 4096;

bool IsLoop(const tir::ForNode* node) { return node->for_kind != tir::ForKind::kThread; }

class Counter : public tir::StmtVisitor {
 public:
  // Bodies of innermost loops are written `copies` times.
  Counter(const tir::PrimFunc& kernel, int64_t copies) : copies_(copies) {
    for (const tir::Param& param : kernel->params)
      if (!param.is_tensor()) uniform_.insert(param.var.node());
    Visit(kernel->body);
    result_.total = is_constant_ ? std::optional(steps_) : std::nullopt;
    result_.num_loops = loops_;
    result_.is_uniform = is_uniform_ && branches_with_loops_ <= 1;
  }

  LoopSteps TakeResult() { return std::move(result_); }
  int64_t copied() const { return copied_; }

 private:
  using StmtVisitor::VisitNode;

  void VisitNode(const tir::ForNode* node) override {
    bool is_uniform = IsUniform(node->min) && IsUniform(node->extent);
    bool is_lane = node->for_kind == tir::ForKind::kThread &&
                   tir::ThreadAxisNumber(node->thread) < tir::kNumThreadAxesOfBlock;
    if (is_uniform && !is_lane) uniform_.insert(node->var.node());
    if (!IsLoop(node)) return Visit(node->body);
    is_uniform_ &= is_uniform;
    std::optional<int64_t> extent = ir::AsConstInt(node->extent);
    CountLoop(node, node->body, extent ? std::max<int64_t>(*extent, 0) : -1);
  }

  void VisitNode(const tir::WhileNode* node) override {
    is_uniform_ = false;
    CountLoop(node, node->body, -1);
  }

  // A branch that no lane takes may be passed through: its loops are counted as if one did. Where
  // lanes take several, each lane knows of its own alone.
  void VisitNode(const tir::IfThenElseNode* node) override {
    uint32_t before = loops_;
    Visit(node->then_case);
    uint32_t between = loops_;
    if (node->else_case) Visit(node->else_case);
    if (between > before) branches_with_loops_ += 1 + depth_;
    if (loops_ > between) branches_with_loops_ += 2;
  }

  void VisitNode(const tir::LetStmtNode* node) override {
    if (IsUniform(node->value)) uniform_.insert(node->var.node());
    VisitChildren(node);
  }

  void VisitNode(const tir::AllocateNode* node) override {
    allocates_ = true;
    VisitChildren(node);
  }

  void VisitNode(const tir::BufferStoreNode* node) override {
    ++statements_;
    VisitChildren(node);
  }
  void VisitNode(const ir::BufferLoadNode* node) override {
    ++statements_;
    VisitChildren(node);
  }
  void VisitNode(const ir::CallNode* node) override {
    ++statements_;
    VisitChildren(node);
  }

  // An extent of -1 is not known.
  template <class T>
  void CountLoop(const T* node, const tir::Stmt& body, int64_t extent) {
    uint64_t steps = std::exchange(steps_, 0);
    uint32_t loops = std::exchange(loops_, 0);
    int64_t statements = std::exchange(statements_, 0);
    bool allocates = std::exchange(allocates_, false);
    ++depth_;
    Visit(body);
    --depth_;
    uint64_t count = 0;
    if (extent < 0) {
      is_constant_ = false;
    } else if (const auto* loop = CopiedLoop(node); loop && extent > 0) {
      // What the copies leave over stands behind the loop.
      int64_t times = extent / copies_;
      copied_ += statements_ * ((times > 0 ? copies_ : 0) + extent % copies_);
      result_.copies[loop] = copies_;
      count = times > 1 ? static_cast<uint64_t>(times) + 1 : 0;
    } else {
      // The last time nothing is done, but the loops inside are passed through.
      auto times = static_cast<uint64_t>(extent);
      count = times > kMany / (1 + steps_) ? kMany : times * (1 + steps_) + 1 + loops_;
    }
    result_.loops[node] = 1 + loops_;
    steps_ = std::min(steps + count, kMany);
    loops_ += loops + 1;
    statements_ += statements;
    allocates_ |= allocates;
  }

  const tir::ForNode* CopiedLoop(const tir::ForNode* node) const {
    return copies_ > 1 && loops_ == 0 && !allocates_ ? node : nullptr;
  }
  static const tir::ForNode* CopiedLoop(const tir::WhileNode*) { return nullptr; }

  bool IsUniform(const ir::Expr& expr) const {
    bool is_uniform = true;
    ir::ForEachExpr(expr, [&](const ir::Expr& part) {
      const auto* var = part.As<ir::VarNode>();
      is_uniform &= !part.As<ir::BufferLoadNode>() && !part.As<ir::CallNode>() &&
                    (!var || uniform_.contains(var));
    });
    return is_uniform;
  }

  const int64_t copies_;
  LoopSteps result_;
  std::unordered_set<const ir::VarNode*> uniform_;
  bool is_constant_ = true, is_uniform_ = true, allocates_ = false;
  uint64_t steps_ = 0;  // of the statements around which no loop was left yet
  uint32_t loops_ = 0;
  int64_t statements_ = 0, copied_ = 0, branches_with_loops_ = 0, depth_ = 0;
};

}  // namespace

LoopSteps CountLoopSteps(const tir::PrimFunc& kernel) {
  LoopSteps plain = Counter(kernel, 1).TakeResult();
  if (!plain.total || *plain.total <= spirv::kLoopLimit) return plain;
  for (int64_t copies = 2; copies <= kMaxCopies; copies *= 2) {
    Counter counter(kernel, copies);
    if (counter.copied() > kMaxCopied) break;
    LoopSteps steps = counter.TakeResult();
    if (*steps.total <= spirv::kLoopLimit) return steps;
  }
  return plain;
}

}  // namespace tern::backend::vulkan
