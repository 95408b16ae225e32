// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/outline_calls.h"

#include <algorithm>
#include <set>

#include "tern/tir/text.h"
#include "tern/tir/visitor.h"
#include "test/fuzz/random_program.h"

namespace tern::fuzz {
namespace {

using namespace tern::tir;  // the statement classes

// Stands for the call until the text is there.
constexpr const char* kMarker = "outlined_call";

// What a statement uses of the scopes around it.
class OuterUses : public StmtVisitor {
 public:
  explicit OuterUses(const Stmt& stmt) { Visit(stmt); }

  std::vector<Var> vars;
  std::vector<Buffer> buffers;
  bool has_block = false, has_thread = false, has_view = false;

 private:
  using StmtVisitor::Visit;
  using StmtVisitor::VisitNode;

  void VisitDef(const Var& var) override { defined_.insert(var.get()); }
  void VisitDef(const BufferDef& buffer) override {
    StmtVisitor::VisitDef(buffer);
    defined_.insert(buffer.get());
    defined_.insert(buffer->data.get());
  }
  void VisitUse(const Buffer& buffer) override {
    if (defined_.count(buffer.get())) return;
    if (seen_.insert(buffer.get()).second) buffers.push_back(buffer);
    for (const auto* exprs : {&buffer->shape, &buffer->strides})
      for (const Expr& expr : *exprs) Visit(expr);
  }
  void VisitNode(const VarNode* node) override {
    if (defined_.count(node) || !seen_.insert(node).second) return;
    vars.emplace_back(node);
  }
  void VisitNode(const BlockNode* node) override {
    has_block = true;
    VisitChildren(node);
  }
  void VisitNode(const ForNode* node) override {
    has_thread |= node->for_kind == ForKind::kThread;
    VisitChildren(node);
  }
  void VisitNode(const DeclBufferNode* node) override {
    has_view = true;
    VisitChildren(node);
  }

  std::set<const void*> defined_, seen_;
};

// Statements that can be a function's: calls have none of threads, and views have an address. There
// are several counters of one name.
bool CanCall(const Stmt& stmt) {
  if (stmt.As<SeqNode>() || stmt.As<AllocateNode>() || stmt.As<LetStmtNode>()) return false;
  OuterUses uses(stmt);
  bool plain = std::all_of(uses.buffers.begin(), uses.buffers.end(), [](const Buffer& buffer) {
    return !buffer->offset && buffer->strides.empty() && buffer->name != kCounterName;
  });
  return plain && !uses.has_block && !uses.has_thread && !uses.has_view;
}

class Outliner : public StmtMutator {
 public:
  explicit Outliner(int64_t chosen) : left_(chosen) {}

  Stmt Mutate(const Stmt& stmt) override {
    if (!CanCall(stmt) || left_-- != 0) return StmtMutator::Mutate(stmt);
    taken = stmt;
    return EvaluateNode::Make(
        ir::CallNode::Make("call_extern", {ir::StringImmNode::Make(kMarker)}, DataType::Void()));
  }
  using StmtMutator::Mutate;

  Stmt taken;

 private:
  int64_t left_;
};

int64_t CountCallable(const Stmt& stmt) {
  struct Counter : StmtVisitor {
    using StmtVisitor::Visit;
    void Visit(const Stmt& stmt) override {
      count += CanCall(stmt);
      StmtVisitor::Visit(stmt);
    }
    int64_t count = 0;
  } counter;
  counter.Visit(stmt);
  return counter.count;
}

}  // namespace

std::string OutlineCall(const PrimFunc& function, Random* random) {
  int64_t count = CountCallable(function->body);
  if (count == 0) return "";
  Outliner outliner(random->Below(count));
  Stmt body = outliner.Mutate(function->body);
  OuterUses uses(outliner.taken);
  std::vector<Param> params;
  std::string arguments;
  auto add = [&](const Param& param) {
    params.push_back(param);
    arguments += (arguments.empty() ? "" : ", ") + param.name();
  };
  for (const Buffer& buffer : uses.buffers) add({buffer->data, buffer});
  for (const Var& var : uses.vars) add({var, {}});
  std::string text = Print(function.WithBody(body));
  std::string marker = "call_extern(\"" + std::string(kMarker) + "\")";
  size_t at = text.find(marker);
  TERN_ICHECK(at != std::string::npos) << text;
  text.replace(at, marker.size(), "outlined(" + arguments + ")");
  return text + "\n" + Print(PrimFunc::Make("outlined", params, outliner.taken));
}

}  // namespace tern::fuzz
