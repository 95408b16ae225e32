// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analyzed_mutator.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Accesses of one buffer are of another one, where the map says.
class LayoutChanger : public AnalyzedMutator {
 public:
  LayoutChanger(const Buffer& old, const Buffer& buffer, const IndexMap& map)
      : old_(old), buffer_(buffer), map_(map) {}

 private:
  using AnalyzedMutator::MutateNode;
  std::vector<Expr> Mapped(const std::vector<Expr>& indices) {
    std::vector<Expr> at;
    for (const Expr& index : indices) {
      if (!index.dtype().is_scalar()) Refuse(old_->name + " is accessed as a vector");
      at.push_back(Mutate(index));
    }
    return map_.Apply(at, analyzer_);
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    if (!node->buffer.same(old_)) return MutateChildren(node, self);
    return ir::BufferLoadNode::Make(buffer_, Mapped(node->indices), node->span);
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    if (!node->buffer.same(old_)) return MutateChildren(node, self);
    return BufferStoreNode::Make(buffer_, Mapped(node->indices), Mutate(node->value), node->span);
  }
  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    if (!node->buffer.same(old_)) return AnalyzedMutator::MutateNode(node, self);
    return AllocateNode::Make(buffer_, Mutate(node->body), node->span);
  }
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    for (const BlockIter& iter : node->iters)
      analyzer_.BindRange(iter.var, ir::IntImmNode::Make(iter.var.dtype(), 0), iter.extent);
    Stmt bare = Touches(self, old_) ? Stmt(CopyBlock(node)) : self;
    return MutateChildren(bare.As<BlockNode>(), bare);
  }

  const Buffer &old_, &buffer_;
  const IndexMap& map_;
};

}  // namespace

void Schedule::TransformLayout(const BufferRef& of, const IndexMap& map) {
  Do("transform_layout", {of.name(), map.str()}, [&] {
    const AllocateNode* allocation = Temporary(of);
    const Buffer& old = allocation->buffer;
    if (!old->strides.empty()) Refuse(of.name() + " has strides; change its layout before");
    Buffer buffer =
        BufferNode::Make(old->name, old->dtype, map.ShapeOf(old->shape), {}, old->scope, old->data);
    SetBody(LayoutChanger(old, buffer, map).Mutate(function_->body));
  });
}

}  // namespace tern::schedule
