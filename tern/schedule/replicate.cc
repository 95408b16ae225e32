// SPDX-License-Identifier: Apache-2.0
//
// replicate: buffers have several copies of each element, so that each thread that needs one can
// keep its own.
//
//   for i { m[i] = f(i) }
//   for i, j { B[i, j] = A[i, j] - m[i] }
//   ->  replicate(m, 4, (j) -> (j % 4))
//   for i, q { m[i, q] = f(i) }
//   for i, j { B[i, j] = A[i, j] - m[i, j % 4] }
//
// A block that writes such a buffer does so for every copy, and reads that copy of the others: all
// copies have the value that the one element had. Which copy others read does not matter: that of
// the last index of what they store, where it is the number of a copy, or that which the map says.
#include <algorithm>

#include "tern/ir/structural.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analyzed_mutator.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

class Replicator : public AnalyzedMutator {
 public:
  Replicator(const std::vector<Buffer>& buffers, int64_t copies, const IndexMap& reader)
      : copies_(copies), reader_(reader) {
    for (const Buffer& buffer : buffers) {
      if (!buffer->strides.empty()) Refuse(buffer->name + " has strides; replicate it before");
      auto replicated = ffi::Make<BufferNode>(*buffer);
      replicated->shape.emplace_back(copies);
      replicated_.emplace_back(buffer, Buffer(replicated.get()));
    }
  }

  static std::string LoopName(const BlockNode* block) { return block->name + "_q"; }
  std::vector<std::string> loops;  // new ones

 private:
  using AnalyzedMutator::MutateNode;

  // The buffer with copies, or null.
  Buffer Of(const Buffer& buffer) const {
    for (const auto& [old, replicated] : replicated_)
      if (old.same(buffer)) return replicated;
    return {};
  }
  std::vector<Expr> At(const Buffer& buffer, const std::vector<Expr>& indices) {
    if (!copy_) Refuse(buffer->name + " is accessed outside of blocks");
    std::vector<Expr> at;
    for (const Expr& index : indices) at.push_back(Mutate(index));
    at.push_back(copy_);
    return at;
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    Buffer buffer = Of(node->buffer);
    if (!buffer) return MutateChildren(node, self);
    return ir::BufferLoadNode::Make(buffer, At(buffer, node->indices), node->span);
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    Buffer buffer = Of(node->buffer);
    if (!buffer) return MutateChildren(node, self);
    return BufferStoreNode::Make(buffer, At(buffer, node->indices), Mutate(node->value),
                                 node->span);
  }
  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    Buffer buffer = Of(node->buffer);
    if (!buffer) return AnalyzedMutator::MutateNode(node, self);
    return AllocateNode::Make(buffer, Mutate(node->body), node->span);
  }

  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    size_t own = 0, stored = 0;
    bool touches = false, is_one = true;
    Expr last;  // index of what is stored
    for (const Access& access : AccessesOf(self)) {
      bool has_copies = Of(access.buffer).get() != nullptr;
      touches |= has_copies;
      if (!access.store) continue;
      Expr index = access.indices.empty() ? Expr() : access.indices.back();
      is_one &= index.get() && (!last.get() || ir::StructuralEqual(index, last));
      ++stored;
      own += has_copies;
      last = index;
    }
    if (!touches) return self;
    if (!BlocksIn(node->body).empty()) Refuse("block " + node->name + " has others inside of it");
    if (own > 0 && own < stored)
      Refuse("block " + node->name + " writes other buffers, too, which have no copies");
    auto block = CopyBlock(node);
    if (own == 0) {
      copy_ = CopyReadBy(node, is_one ? last : Expr());
      Stmt result = MutateChildren(block.get(), Stmt(block));
      copy_ = {};
      return result;
    }
    Var loop(LoopName(node)), axis("vq");
    loops.push_back(loop.name());
    block->iters.push_back({Expr(copies_), loop, axis, IterKind::kSpatial});
    copy_ = axis;
    Stmt result = MutateChildren(block.get(), Stmt(block));
    copy_ = {};
    return ForNode::Make(loop, 0, copies_, ForKind::kSerial, result, "", node->span);
  }
  Expr CopyReadBy(const BlockNode* node, const Expr& at) const {
    if (!at)
      Refuse("block " + node->name + " reads copies, and stores elements at several last indices");
    arith::Analyzer analyzer = analyzer_;
    for (const BlockIter& iter : node->iters)
      analyzer.BindRange(iter.var, ir::IntImmNode::Make(iter.var.dtype(), 0), iter.extent);
    auto is_copy = [&](const Expr& index) {
      return analyzer.CanProve(Expr(-1) < index) && analyzer.CanProve(index < Expr(copies_));
    };
    if (is_copy(at)) return at;
    Expr copy = reader_.Apply({at}, analyzer)[0];
    if (!is_copy(copy))
      Refuse("it is not known that block " + node->name + " reads one of the " +
             std::to_string(copies_) + " copies");
    return copy;
  }

  std::vector<std::pair<Buffer, Buffer>> replicated_;
  int64_t copies_;
  const IndexMap& reader_;
  Expr copy_;  // that the block at hand accesses
};

}  // namespace

void Schedule::Replicate(const BufferRefs& of, int64_t copies, const IndexMap& reader) {
  Names args;
  for (const BufferRef& buffer : of) args.push_back(buffer.name());
  args.push_back(std::to_string(copies));
  args.push_back(reader.str());
  Do("replicate", args, [&] {
    CheckFactor("the number of copies", copies);
    if (reader.vars.size() != 1 || reader.indices.size() != 1)
      Refuse("which copy is read is said as (j) -> (j % 4)");
    std::vector<Buffer> buffers;
    for (const BufferRef& buffer : of) {
      buffers.push_back(Temporary(buffer)->buffer);
      CheckPlainMemory(function_, buffers.back());
    }
    Replicator replicator(buffers, copies, reader);
    Stmt body = replicator.Mutate(function_->body);
    for (const std::string& loop : replicator.loops) CheckNewLoop(loop);
    SetBody(body);
  });
}

}  // namespace tern::schedule
