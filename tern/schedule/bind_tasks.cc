// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/bind_tasks.h"

#include "tern/ir/pass.h"
#include "tern/schedule/nest.h"
#include "tern/target/target.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {
namespace {

using namespace tern::tir;

struct Scan : StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitUse(const Buffer&) override { touches_memory = true; }
  void VisitNode(const ForNode* node) override {
    has_parallel |= node->for_kind == ForKind::kParallel;
    VisitChildren(node);
  }
  void VisitNode(const AllocateNode* node) override {
    allocations.push_back(node->buffer);
    VisitChildren(node);
  }
  bool touches_memory = false, has_parallel = false;
  std::vector<Buffer> allocations;
};
template <class T>
Scan ScanOf(const T& what) {
  Scan scan;
  scan.Visit(what);
  return scan;
}

class Binder {
 public:
  Stmt Bind(const Stmt& stmt) {
    if (const auto* let = stmt.As<LetStmtNode>(); let && !ScanOf(let->value).touches_memory)
      return LetStmtNode::Make(let->var, let->value, Bind(let->body), let->span);
    if (const auto* decl = stmt.As<DeclBufferNode>())
      return DeclBufferNode::Make(decl->buffer, Bind(decl->body), decl->span);
    if (const auto* seq = stmt.As<SeqNode>()) {
      std::vector<Stmt> stmts;
      for (const Stmt& item : seq->stmts) stmts.push_back(Bind(item));
      return SeqNode::Make(std::move(stmts), seq->span);
    }
    Scan scan = ScanOf(stmt);
    if (!scan.touches_memory) return stmt;
    if (const auto* allocation = stmt.As<AllocateNode>(); allocation && IsShared(allocation))
      return AllocateNode::Make(allocation->buffer, Bind(allocation->body), allocation->span);
    if (const auto* either = stmt.As<IfThenElseNode>();
        either && !ScanOf(either->condition).touches_memory)
      return IfThenElseNode::Make(either->condition, Bind(either->then_case),
                                  either->else_case ? Bind(either->else_case) : Stmt(),
                                  either->span);
    const auto* loop = stmt.As<ForNode>();
    if (loop && loop->for_kind == ForKind::kParallel) return Spread(loop);
    if (loop && loop->for_kind == ForKind::kSerial && scan.has_parallel)
      return loop->With(loop->min, loop->extent, Bind(loop->body));
    return Launch(Owned(stmt), Var("group"), 1);
  }

 private:
  // Several kernels may use it.
  static bool IsShared(const AllocateNode* allocation) {
    return allocation->buffer->scope == StorageScope::kGlobal &&
           ScanOf(allocation->body).has_parallel;
  }

  // Parallel loops, one right in the other, are one.
  Stmt Spread(const ForNode* outermost) {
    std::vector<const ForNode*> loops;
    Stmt body;
    for (const ForNode* loop = outermost; loop && loop->for_kind == ForKind::kParallel;
         loop = body.As<ForNode>()) {
      loops.push_back(loop);
      body = loop->body;
    }
    body = Owned(body);
    Var group("group");
    Expr rest = group, total = loops[0]->extent;
    for (size_t i = 1; i < loops.size(); ++i) total = total * loops[i]->extent;
    std::vector<Expr> values(loops.size());
    for (size_t i = loops.size(); i-- > 0;) {
      Expr offset = i == 0 ? rest : ir::FloorMod(rest, loops[i]->extent);
      values[i] = ir::IsConst(loops[i]->min, 0) ? offset : loops[i]->min + offset;
      rest = ir::FloorDiv(rest, loops[i]->extent);
    }
    for (size_t i = loops.size(); i-- > 0;)
      body = LetStmtNode::Make(loops[i]->var, values[i], body, loops[i]->span);
    return Launch(body, group, total);
  }
  static Stmt Launch(const Stmt& body, const Var& group, const Expr& count) {
    Stmt thread =
        ForNode::Make(Var("thread"), 0, 1, ForKind::kThread, body, "threadIdx.x", body.span());
    return ForNode::Make(group, 0, count, ForKind::kThread, thread, "blockIdx.x", body.span());
  }

  // What a kernel allocates is its own.
  static Stmt Owned(Stmt body) {
    for (const Buffer& buffer : ScanOf(body).allocations) {
      if (buffer->scope != StorageScope::kGlobal) continue;
      auto own = ffi::Make<BufferNode>(*buffer);
      own->scope = StorageScope::kLocal;
      body = ReplaceBuffer(body, buffer, Buffer(own));
    }
    return body;
  }
};

// Whether kernels have no more memory of their own than that, of constant sizes, when only what is
// used of each allocation is left of it.
bool FitsMemory(const PrimFunc& function, int64_t most_bytes) {
  ir::IRModule module =
      ir::RunPasses(ir::IRModule::Make({function}),
                    {"initialize_empty_reductions", "decompose_reductions", "lower_blocks",
                     "simplify", "place_allocations", "compact_allocations"});
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const AllocateNode* node) override {
      if (node->buffer->scope == StorageScope::kLocal) {
        int64_t size = node->buffer->dtype.bytes();
        for (const Expr& extent : node->buffer->shape) {
          std::optional<int64_t> number = ir::AsConstInt(extent);
          if (!number || __builtin_mul_overflow(size, *number, &size)) is_known = false;
        }
        bytes += size;
      }
      VisitChildren(node);
    }
    bool is_known = true;
    int64_t bytes = 0;
  } finder;
  for (const auto& [name, lowered] : module->functions) finder.Visit(AsPrimFunc(lowered)->body);
  return finder.is_known && finder.bytes <= most_bytes;
}

}  // namespace

std::optional<PrimFunc> BindTasks(const PrimFunc& function) {
  PrimFunc bound = function.WithBody(Binder().Bind(function->body));
  auto target = function->attrs.at(attr::kTarget).As<target::Target>();
  return FitsMemory(bound, target->GetInt("max_local_memory")) ? std::optional(bound)
                                                               : std::nullopt;
}

}  // namespace tern::schedule
