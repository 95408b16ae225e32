// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/memory/rewrite_storage.h"

#include <algorithm>
#include <optional>
#include <set>

#include "tern/tir/analysis/allocation_lifetimes.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

constexpr int64_t kMinBytes = 64;  // less than that may live in registers

// An allocation at its place in the memory of another one, or of its own.
struct Member {
  const AllocationLifetime* lifetime;
  int64_t bytes, alignment, offset = 0;
};
struct Pool {
  std::vector<Member> members;  // the first is the largest
};

std::optional<int64_t> ConstantBytes(const Buffer& buffer) {
  int64_t bytes = buffer->dtype.bytes();
  for (const Expr& extent : buffer->shape) {
    std::optional<int64_t> value = ir::AsConstInt(extent);
    if (!value || *value < 0 || __builtin_mul_overflow(bytes, *value, &bytes)) return {};
  }
  return bytes;
}

// Loops are vectors of so many lanes at most: longer ones are what an instruction has in a register
// of its own, as a tile of a matrix.
constexpr int64_t kMostLanes = 128;

// The buffers that are loaded and stored as such registers.
std::set<const ir::BufferNode*> FindRegisters(const Stmt& body) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ir::BufferLoadNode* node) override {
      Note(node->buffer, node->indices);
      VisitChildren(node);
    }
    void VisitNode(const BufferStoreNode* node) override {
      Note(node->buffer, node->indices);
      VisitChildren(node);
    }
    void Note(const Buffer& buffer, const std::vector<Expr>& indices) {
      if (!indices.empty() && indices.back().dtype().lanes() > kMostLanes)
        found.insert(buffer.get());
    }
    std::set<const ir::BufferNode*> found;
  } finder;
  finder.Visit(body);
  return finder.found;
}

class StoragePlan {
 public:
  explicit StoragePlan(const PrimFunc& function) : lifetimes_(FindAllocationLifetimes(function)) {
    std::set<const ir::BufferNode*> registers = FindRegisters(function->body);
    std::vector<Member> members;
    for (const AllocationLifetime& lifetime : lifetimes_.all) {
      const Buffer& buffer = lifetime.allocation->buffer;
      bool may_move = buffer->scope == StorageScope::kLocal ||
                      (buffer->scope == StorageScope::kGlobal && !lifetime.in_launch);
      std::optional<int64_t> bytes = ConstantBytes(buffer);
      if (may_move && registers.count(buffer.get()) == 0 && !lifetime.escapes &&
          lifetime.last >= lifetime.first && bytes && *bytes >= kMinBytes &&
          buffer->strides.empty() && !buffer->offset)
        members.push_back(
            {&lifetime, *bytes, std::max<int64_t>(buffer->alignment, buffer->dtype.bytes())});
    }
    std::stable_sort(members.begin(), members.end(),
                     [](const Member& a, const Member& b) { return a.bytes > b.bytes; });
    for (Member& member : members) Place(member);
    std::erase_if(pools_, [](const Pool& pool) { return pool.members.size() == 1; });
  }

  const std::vector<Pool>& pools() const { return pools_; }

 private:
  void Place(const Member& member) {
    for (Pool& pool : pools_) {
      if (!MayShare(*pool.members[0].lifetime, *member.lifetime)) continue;
      for (int64_t offset : OffsetsToTry(pool, member)) {
        Member placed = member;
        placed.offset = offset;
        if (!Fits(pool, placed)) continue;
        pool.members.push_back(placed);
        return;
      }
    }
    pools_.push_back({{member}});
  }

  static bool MayShare(const AllocationLifetime& a, const AllocationLifetime& b) {
    const Buffer &x = a.allocation->buffer, &y = b.allocation->buffer;
    // Compilers of kernels keep an array of one type in registers.
    return a.frame == b.frame && x->scope == y->scope && (!a.in_launch || x->dtype == y->dtype);
  }

  // The start, and where the others start or end.
  static std::vector<int64_t> OffsetsToTry(const Pool& pool, const Member& member) {
    std::vector<int64_t> offsets = {0};
    for (const Member& other : pool.members) {
      offsets.push_back(other.offset);
      int64_t end = other.offset + other.bytes;
      offsets.push_back((end + member.alignment - 1) / member.alignment * member.alignment);
    }
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    return offsets;
  }

  bool Fits(const Pool& pool, const Member& member) const {
    if (member.offset % member.alignment != 0 ||
        member.offset + member.bytes > pool.members[0].bytes)
      return false;
    return std::all_of(pool.members.begin(), pool.members.end(), [&](const Member& other) {
      bool apart = member.offset + member.bytes <= other.offset ||
                   other.offset + other.bytes <= member.offset;
      bool in_place =
          member.offset == other.offset && (MayReplace(other, member) || MayReplace(member, other));
      return apart || in_place || !member.lifetime->Overlaps(*other.lifetime);
    });
  }
  bool MayReplace(const Member& input, const Member& output) const {
    return lifetimes_.in_place.count({input.lifetime->allocation->buffer->data.node(),
                                      output.lifetime->allocation->buffer->data.node()}) > 0;
  }

  AllocationLifetimes lifetimes_;
  std::vector<Pool> pools_;
};

class StorageRewriter : public StmtMutator {
 public:
  explicit StorageRewriter(const StoragePlan& plan) {
    for (const Pool& pool : plan.pools()) {
      const Member& largest = pool.members[0];
      auto memory = ffi::Make<BufferNode>(*largest.lifetime->allocation->buffer);
      int64_t alignment = memory->alignment;
      for (const Member& member : pool.members)
        if (member.alignment > memory->dtype.bytes())
          alignment = std::max(alignment, member.alignment);
      memory->alignment = alignment;
      Buffer whole(memory.get());
      for (const Member& member : pool.members) {
        const AllocateNode* allocation = member.lifetime->allocation;
        roles_[allocation] =
            &member == &largest ? Buffer() : View(allocation->buffer, whole, member.offset);
        new_buffers_[allocation->buffer.get()] = &member == &largest ? whole : roles_[allocation];
      }
      memory_[largest.lifetime->frame].push_back({whole, largest.lifetime->allocation->span});
    }
  }

  PrimFunc Run(const PrimFunc& function) {
    if (roles_.empty()) return function;
    return function.WithBody(WithMemory(nullptr, Mutate(function->body)));
  }

 private:
  using StmtMutator::MutateNode;

  struct Memory {
    Buffer buffer;
    Span span;
  };

  static Buffer View(const Buffer& buffer, const Buffer& memory, int64_t offset) {
    auto view = ffi::Make<BufferNode>(*buffer);
    view->data = memory->data;
    if (offset) view->offset = Expr(offset / buffer->dtype.bytes());
    return Buffer(view.get());
  }

  Stmt WithMemory(const StmtNode* frame, Stmt body) {
    auto it = memory_.find(frame);
    if (it == memory_.end()) return body;
    for (size_t i = it->second.size(); i-- > 0;)
      body = AllocateNode::Make(it->second[i].buffer, body, it->second[i].span);
    return body;
  }

  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    auto role = roles_.find(node);
    if (role == roles_.end()) return MutateChildren(node, self);
    Stmt body = Mutate(node->body);
    return role->second ? DeclBufferNode::Make(role->second, body, node->span) : body;
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    if (!memory_.count(node)) return result;
    auto loop = ffi::Make<ForNode>(*result.As<ForNode>());
    loop->body = WithMemory(node, loop->body);
    return Stmt(loop);
  }
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    if (!memory_.count(node)) return result;
    auto block = ffi::Make<BlockNode>(*result.As<BlockNode>());
    block->body = WithMemory(node, block->body);
    return Stmt(block);
  }

  std::unordered_map<const StmtNode*, Buffer> roles_;  // of allocations; null: the memory itself
  std::unordered_map<const StmtNode*, std::vector<Memory>> memory_;  // by frame
};

}  // namespace

PrimFunc RewriteStorage(const PrimFunc& function) {
  StoragePlan plan(function);
  return StorageRewriter(plan).Run(function);
}

}  // namespace tern::tir
