// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/loosen_allocations.h"

#include "tern/tir/visitor.h"
#include "test/fuzz/random_program.h"

namespace tern::fuzz {
namespace {

using namespace tern::tir;  // the statement classes

// Whether the memory has another name too.
bool IsViewed(const Buffer& buffer, const Stmt& body) {
  struct ViewFinder : StmtVisitor {
    using StmtVisitor::VisitDef;
    void VisitDef(const BufferDef& view) override { found |= view->data.node() == address; }
    const VarNode* address = nullptr;
    bool found = false;
  } finder;
  finder.address = buffer->data.node();
  finder.Visit(body);
  return finder.found;
}

class Loosener : public StmtMutator {
 public:
  explicit Loosener(Random* random) : random_(random) {}

 private:
  using StmtMutator::MutateNode;

  // ---- larger

  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    const Buffer& buffer = node->buffer;
    bool fixed = buffer->name == kCounterName || buffer->shape.empty() ||
                 !buffer->strides.empty() || IsViewed(buffer, node->body);
    if (fixed || random_->OneIn(3)) return MutateChildren(node, self);
    int64_t start = random_->Below(3);
    auto larger = ffi::Make<ir::BufferNode>(*buffer);
    larger->shape[0] = larger->shape[0] + Expr(start + random_->Below(20));
    if (std::optional<int64_t> extent = ir::AsConstInt(buffer->shape[0]))
      larger->shape[0] = Expr(*extent + start + random_->Below(20));
    starts_[buffer.get()] = start;
    new_buffers_[buffer.get()] = Buffer(larger.get());
    return AllocateNode::Make(Buffer(larger.get()), Mutate(node->body), node->span);
  }
  std::vector<Expr> Moved(const Buffer& buffer, const std::vector<Expr>& indices) {
    std::vector<Expr> moved;
    for (const Expr& index : indices) moved.push_back(Mutate(index));
    auto start = static_cast<double>(starts_.at(buffer.get()));
    moved[0] = moved[0] + ir::MakeConst(moved[0].dtype(), start);
    return moved;
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    if (!starts_.count(node->buffer.get())) return MutateChildren(node, self);
    return ir::BufferLoadNode::Make(MutateUse(node->buffer), Moved(node->buffer, node->indices), {},
                                    MutateOptional(node->predicate));
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    if (!starts_.count(node->buffer.get())) return MutateChildren(node, self);
    return BufferStoreNode::Make(MutateUse(node->buffer), Moved(node->buffer, node->indices),
                                 Mutate(node->value), {}, MutateOptional(node->predicate));
  }

  // ---- further out

  // Takes the allocation that `stmt` begins with off it, perhaps.
  Buffer TakeOff(Stmt* stmt) {
    const auto* allocation = stmt->As<AllocateNode>();
    if (!allocation || allocation->buffer->name == kCounterName || random_->OneIn(2)) return {};
    Buffer buffer = allocation->buffer;
    *stmt = Stmt(allocation->body);
    return buffer;
  }
  static Stmt Around(const Buffer& buffer, const Stmt& stmt) {
    return buffer ? AllocateNode::Make(buffer, stmt) : stmt;
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    if (node->for_kind != ForKind::kSerial && node->for_kind != ForKind::kUnrolled) return result;
    auto loop = ffi::Make<ForNode>(*result.As<ForNode>());
    Buffer taken = TakeOff(&loop->body);
    return Around(taken, Stmt(loop));
  }
  Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    auto branch = ffi::Make<IfThenElseNode>(*result.As<IfThenElseNode>());
    Buffer taken = TakeOff(&branch->then_case);
    return Around(taken, Stmt(branch));
  }
  Stmt MutateNode(const SeqNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    const auto* seq = result.As<SeqNode>();
    if (!seq) return result;
    std::vector<Stmt> stmts = seq->stmts;
    std::vector<Buffer> taken;
    for (Stmt& stmt : stmts)
      if (Buffer buffer = TakeOff(&stmt)) taken.push_back(buffer);
    result = SeqNode::Make(std::move(stmts));
    for (const Buffer& buffer : taken) result = Around(buffer, result);
    return result;
  }

  Random* random_;
  std::unordered_map<const BufferNode*, int64_t> starts_;  // of the larger ones
};

}  // namespace

Stmt LoosenAllocations(const Stmt& stmt, Random* random) { return Loosener(random).Mutate(stmt); }

}  // namespace tern::fuzz
