// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/calls/lower_kernel_asserts.h"

#include <algorithm>

#include "tern/ir/diagnostic.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/atomics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/module_calls.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

Expr Text(std::string text) { return ir::StringImmNode::Make(std::move(text)); }

// For the number of an assert and two for each value in its message; 0 where there are no asserts.
int64_t CountWords(const Stmt& stmt) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const AssertNode* node) override {
      auto values = std::count_if(node->message.begin(), node->message.end(),
                                  [](const Expr& part) { return !part.As<ir::StringImmNode>(); });
      words = std::max<int64_t>(words, 1 + 2 * values);
    }
    int64_t words = 0;
  } scan;
  scan.Visit(stmt);
  return scan.words;
}

// Whether all threads must come to something in it.
bool IsCollective(const Stmt& stmt) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ir::CallNode* node) override {
      found |= node->name == intrinsic::kBarrier || IsWarpOperation(node);
      VisitChildren(node);
    }
    bool found = false;
  } scan;
  scan.Visit(stmt);
  return scan.found;
}

// Of one launch.
class KernelAsserts : public StmtMutator {
 public:
  explicit KernelAsserts(Buffer failure) : failure_(std::move(failure)) {}

  // Of each assert, what the runtime raises where its number, from 1 on, is at `failure`: a kind,
  // ": ", and the message, with "\1i" and "\1f" in place of the values that follow the number.
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const AssertNode* node, const Stmt&) override {
    return Guard(node, SeqNode::Make({}, node->span));
  }

  Stmt MutateNode(const SeqNode* node, const Stmt&) override {
    std::vector<Stmt> done;  // from the back
    for (size_t i = node->stmts.size(); i-- > 0;) {
      const auto* check = node->stmts[i].As<AssertNode>();
      if (!check) {
        done.push_back(Mutate(node->stmts[i]));
        continue;
      }
      // All threads come to the first collective statement, and to what follows it.
      auto skipped = std::find_if(done.rbegin(), done.rend(), IsCollective).base();
      std::vector<Stmt> rest(std::make_reverse_iterator(done.end()),
                             std::make_reverse_iterator(skipped));
      done.erase(skipped, done.end());
      done.push_back(Guard(check, SeqNode::Make(std::move(rest), check->span)));
    }
    return SeqNode::Make({done.rbegin(), done.rend()}, node->span);
  }

  Stmt Guard(const AssertNode* check, const Stmt& rest) {
    return IfThenElseNode::Make(check->condition, rest, Report(check), check->span);
  }

  Stmt SetWord(int64_t at, const Expr& value) const {
    return BufferStoreNode::Make(failure_, {Expr(at)}, value);
  }

  // The first one to fail says so.
  Stmt Report(const AssertNode* check) {
    const DataType int32 = DataType::Int(32);
    std::string message = check->error_kind + ": " + ir::At(check->span);
    std::vector<Stmt> stores;
    int64_t word = 1;
    for (const Expr& part : check->message) {
      if (const auto* text = part.As<ir::StringImmNode>()) {
        message += text->value;
        continue;
      }
      bool is_float = part.dtype().is_float();
      message += is_float ? "\1f" : "\1i";
      Expr wide = ir::CastNode::Make(is_float ? DataType::Float(32) : DataType::Int(64), part);
      if (is_float) {
        stores.push_back(SetWord(word, ir::CallNode::Make(intrinsic::kReinterpret, {wide}, int32)));
      } else {
        Expr high = ir::CallNode::Make("shift_right", {wide, Expr(32)});
        stores.push_back(SetWord(word, ir::CastNode::Make(int32, wide)));
        stores.push_back(SetWord(word + 1, ir::CastNode::Make(int32, high)));
      }
      word += 2;
    }
    messages_.push_back(std::move(message));
    Buffer old = ir::BufferNode::Make("old", int32, {Expr(1)}, {}, StorageScope::kLocal);
    Expr was = ir::BufferLoadNode::Make(old, {Expr(0)});
    Expr number = ir::MakeConst(int32, static_cast<int64_t>(messages_.size()));
    Expr first = ir::BufferLoadNode::Make(failure_, {Expr(0)});
    Stmt claim = EvaluateNode::Make(MakeAtomic(
        "atomic_compare_exchange", {first, ir::MakeConst(int32, 0), number}, check->span, was));
    if (stores.empty()) return AllocateNode::Make(old, claim, check->span);
    Stmt tell =
        IfThenElseNode::Make(was == ir::MakeConst(int32, 0),
                             SeqNode::Make(std::move(stores), check->span), {}, check->span);
    return AllocateNode::Make(old, SeqNode::Make({claim, tell}, check->span), check->span);
  }

  Buffer failure_;
  std::vector<std::string> messages_;
};

class Lowerer : public StmtMutator {
  using StmtMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread || IsVirtualThread(node))
      return MutateChildren(node, self);
    Expr words(CountWords(self));
    if (ir::IsConst(words, 0)) return self;
    Buffer failure = ir::BufferNode::Make("failure", DataType::Int(32), {words});
    KernelAsserts asserts(failure);
    Stmt launch = asserts.Mutate(self);
    Stmt clear = ForNode::Make(
        Var("group"), 0, 1, ForKind::kThread,
        BufferStoreNode::Make(failure, {Expr(0)}, ir::MakeConst(DataType::Int(32), 0)),
        "blockIdx.x", node->span);
    std::vector<Expr> args{
        Text("runtime.check_kernel"),
        ir::CallNode::Make(intrinsic::kTensorIn, {Text("int32"), failure->data, words})};
    for (const std::string& message : asserts.messages()) args.push_back(Text(message));
    Stmt check = EvaluateNode::Make(
        ir::CallNode::Make(intrinsic::kCallPacked, args, DataType::Void(), node->span), node->span);
    return AllocateNode::Make(failure, SeqNode::Make({clear, launch, check}, node->span),
                              node->span);
  }
};

}  // namespace

PrimFunc LowerKernelAsserts(const PrimFunc& function) {
  auto target = function->attrs.find(attr::kTarget);
  bool on_device =
      target != function->attrs.end() && target->second.As<target::Target>()->is_device();
  if (!on_device || function->attrs.count(attr::kCallingConvention)) return function;
  return function.WithBody(Lowerer().Mutate(function->body));
}

}  // namespace tern::tir
