// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/preparation.h"

#include <algorithm>

#include "tern/ffi/containers.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/memory_effects.h"
#include "tern/tir/analysis/written_memory.h"
#include "tern/tir/transform/calls/outline.h"

namespace tern::tir {
namespace {

using Places = std::unordered_set<const VarNode*>;

// A statement that stands in no loop.
struct Leaf {
  Stmt stmt;
  Places touched, written;  // addresses
  bool movable = false;     // it does nothing but compute, with extents of constants
};

bool ComputesOnly(const Stmt& stmt) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const EvaluateNode*) override { effects = true; }
    void VisitNode(const AssertNode*) override { effects = true; }
    void VisitNode(const DeclBufferNode*) override { effects = true; }
    void VisitNode(const ir::CallNode* node) override {
      effects |= !ir::FindIntrinsic(node->name)->pure;
      VisitChildren(node);
    }
    bool effects = false;
  } scan;
  scan.Visit(stmt);
  return !scan.effects;
}

class Finder {
 public:
  explicit Finder(const PrimFunc& function) : memory_(function) {
    std::vector<std::string> names = ConstantsOf(function);
    for (const Param& param : function->params) {
      if (!param.is_tensor()) continue;
      if (std::find(names.begin(), names.end(), param.name()) == names.end()) continue;
      constant_.insert(param.var.node());
      for (const Expr& extent : param.buffer->shape)
        if (const auto* var = extent.As<VarNode>()) known_.insert(var);
    }
    for (const Param& param : function->params) known_.erase(param.var.node());
    given_ = FindWrittenMemory(ir::IRModule::Make({function}), function).given;
    if (!constant_.empty()) Walk(function->body);
  }

  void Run() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (const Buffer& buffer : temporaries_) {
        const VarNode* place = buffer->data.node();
        if (!made_.count(place) || StaysMade(place)) continue;
        made_.erase(place);
        changed = true;
      }
    }
  }

  std::vector<Stmt> stmts() const {
    std::vector<Stmt> stmts;
    for (const Leaf& leaf : leaves_)
      if (IsPrepared(leaf)) stmts.push_back(leaf.stmt);
    return stmts;
  }
  std::vector<Buffer> made() const {
    std::vector<Buffer> made;
    for (const Buffer& buffer : temporaries_)
      if (made_.count(buffer->data.node())) made.push_back(buffer);
    return made;
  }
  Places constant() const {
    Places all = constant_;
    all.insert(made_.begin(), made_.end());
    return all;
  }

 private:
  void Walk(const Stmt& stmt) {
    if (const auto* seq = stmt.As<SeqNode>()) {
      for (const Stmt& part : seq->stmts) Walk(part);
    } else if (const auto* alloc = stmt.As<AllocateNode>()) {
      const VarNode* place = alloc->buffer->data.node();
      if (memory_.IsTemporary(place) && !given_.count(place)) {
        temporaries_.push_back(alloc->buffer);
        made_.insert(place);
      }
      Walk(alloc->body);
    } else if (const auto* let = stmt.As<LetStmtNode>()) {
      Walk(let->body);
    } else if (const auto* decl = stmt.As<DeclBufferNode>()) {
      Walk(decl->body);
    } else {
      Add(stmt);
    }
  }

  void Add(const Stmt& stmt) {
    Leaf leaf{stmt, {}, {}, false};
    CaptureScan scan;
    scan.Visit(stmt);
    for (const Buffer& buffer : scan.buffers) leaf.touched.insert(buffer->data.node());
    Places written = memory_.WritesOf(stmt).places;
    for (const VarNode* place : leaf.touched)
      if (written.count(place)) leaf.written.insert(place);
    leaf.movable = !leaf.written.empty() && !written.count(nullptr) && scan.handles.empty() &&
                   ComputesOnly(stmt) &&
                   std::all_of(scan.scalars.begin(), scan.scalars.end(),
                               [&](const Var& var) { return known_.count(var.node()) > 0; });
    leaves_.push_back(std::move(leaf));
  }

  bool IsPrepared(const Leaf& leaf) const {
    auto is_made = [&](const VarNode* place) { return made_.count(place) > 0; };
    auto is_constant = [&](const VarNode* place) {
      return constant_.count(place) > 0 || is_made(place);
    };
    return leaf.movable && std::all_of(leaf.written.begin(), leaf.written.end(), is_made) &&
           std::all_of(leaf.touched.begin(), leaf.touched.end(), is_constant);
  }

  // Written by what is prepared alone, and read by others only behind that.
  bool StaysMade(const VarNode* place) const {
    bool written = false, read = false;
    for (const Leaf& leaf : leaves_) {
      bool prepared = IsPrepared(leaf);
      if (leaf.written.count(place)) {
        if (!prepared || read) return false;
        written = true;
      }
      read = read || (!prepared && leaf.touched.count(place));
    }
    return written;
  }

  MemoryEffects memory_;
  Places constant_, known_;  // parameters; their extents
  Places given_;             // to others, who may write
  Places made_;
  std::vector<Buffer> temporaries_;
  std::vector<Leaf> leaves_;
};

}  // namespace

std::vector<std::string> ConstantsOf(const PrimFunc& function) {
  std::vector<std::string> names;
  auto it = function->attrs.find(attr::kConstants);
  if (it == function->attrs.end()) return names;
  for (const ffi::Any& name : *it->second.As<ffi::Array>()) names.push_back(name.As<std::string>());
  return names;
}

Preparation::Preparation(const PrimFunc& function) {
  if (!function->attrs.count(attr::kConstants) || !TensorsAreDistinct(function)) return;
  Finder finder(function);
  finder.Run();
  stmts_ = finder.stmts();
  made_ = finder.made();
  constant_ = finder.constant();
}

}  // namespace tern::tir
