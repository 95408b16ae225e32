// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/calls/outline_parallel_loops.h"

#include <algorithm>

#include "tern/tir/analysis/operation_estimate.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/calls/outline.h"

namespace tern::tir {
namespace {

constexpr int64_t kSlotBytes = 8;
// About as many operations as a core does while threads begin with a loop.
constexpr int64_t kLeastOperations = 1 << 15;

// The same loop, one iteration after another.
Stmt Serial(const ForNode* node, const Stmt& body) {
  auto copy = ffi::Make<ForNode>(*node);
  copy->for_kind = ForKind::kSerial;
  copy->body = body;
  return Stmt(copy);
}

class Serializer : public StmtMutator {
  using StmtMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kParallel) return MutateChildren(node, self);
    return Serial(node, Mutate(node->body));
  }
};

class Outliner : public StmtMutator {
 public:
  Outliner(PrimFunc function, std::vector<ir::BaseFunc>* bodies)
      : function_(std::move(function)),
        env_(function_->params[0].var),
        faults_(function_),
        bodies_(bodies) {}

  PrimFunc Run() { return function_.WithBody(Mutate(function_->body)); }

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kParallel) return MutateChildren(node, self);
    Stmt loop = Serial(node, Serializer().Mutate(node->body));
    CaptureScan scan;
    scan.Visit(loop);
    std::vector<Var> captures = CapturesOf(scan);
    bool fits = std::all_of(captures.begin(), captures.end(),
                            [](const Var& var) { return var.dtype().is_scalar(); });
    if (!fits) return loop;
    std::string name = function_->name + "_parallel" + (count_ ? "_" + std::to_string(count_) : "");
    ++count_;
    Expr extent = ir::CastNode::Make(DataType::Int(64), node->extent);
    Expr operations = EstimateOperations(loop, kLeastOperations, faults_);
    bool may_be_short = operations.get() && !ir::AsConstInt(operations);
    bodies_->push_back(MakeBody(name, loop, scan.buffers, captures, may_be_short));

    std::vector<Expr> args{env_, ir::StringImmNode::Make(name), extent};
    args.insert(args.end(), captures.begin(), captures.end());
    if (may_be_short) {
      Expr is_short = operations < Expr(kLeastOperations);
      args[2] = ir::SelectNode::Make(is_short, Expr(1), extent);
      args.push_back(ir::SelectNode::Make(is_short, extent, Expr(1)));
    }
    return EvaluateNode::Make(
        ir::CallNode::Make(intrinsic::kParallelFor, args, DataType::Void(), node->span),
        node->span);
  }

  // Addresses, then scalars. The environment comes as a parameter.
  std::vector<Var> CapturesOf(const CaptureScan& scan) const {
    std::vector<Var> captures;
    auto add = [&](const Var& var) {
      bool known = var.same(env_) || std::any_of(captures.begin(), captures.end(),
                                                 [&](const Var& old) { return old.same(var); });
      if (!known) captures.push_back(var);
    };
    for (const Buffer& buffer : scan.buffers) add(buffer->data);
    for (const Var& var : scan.handles) add(var);
    for (const Var& var : scan.scalars) add(var);
    return captures;
  }

  PrimFunc MakeBody(const std::string& name, const Stmt& loop, const std::vector<Buffer>& buffers,
                    const std::vector<Var>& captures, bool may_be_short) const {
    CaptureRenamer renamer;
    Var env = renamer.Rename(env_, env_.name());
    Var begin("begin"), end("end"), slots("captures", DataType::Handle()), step("step");
    std::vector<Var> own_vars;
    for (const Var& var : captures) own_vars.push_back(renamer.Rename(var, var.name()));
    std::vector<Buffer> own_buffers;
    for (const Buffer& buffer : buffers) own_buffers.push_back(renamer.Rename(buffer));

    Stmt renamed = renamer.Mutate(loop);
    const auto* own_loop = renamed.As<ForNode>();
    DataType dtype = own_loop->var.dtype();
    auto iteration = [&](const Expr& piece) {
      return ir::CastNode::Make(dtype, may_be_short ? piece * step : piece);
    };
    Expr first = iteration(begin);
    Expr min = ir::IsConst(own_loop->min, 0) ? first : own_loop->min + first;
    Stmt body = own_loop->With(min, iteration(end) - first, own_loop->body);
    for (size_t i = own_buffers.size(); i-- > 0;)
      body = DeclBufferNode::Make(own_buffers[i], body, own_buffers[i]->span);
    if (may_be_short) own_vars.push_back(step);
    for (size_t i = own_vars.size(); i-- > 0;) {
      const Var& var = own_vars[i];
      Expr slot = static_cast<int64_t>(i) * kSlotBytes;
      body = LetStmtNode::Make(var,
                               ir::CallNode::Make(intrinsic::kPtrLoad, {slots, slot}, var.dtype()),
                               body, var.span());
    }
    ir::Attrs attrs = function_->attrs;
    attrs[attr::kCallingConvention] = CallingConventionName(CallingConvention::kParallel);
    return PrimFunc::Make(name, {{env, {}}, {begin, {}}, {end, {}}, {slots, {}}}, body,
                          std::move(attrs), loop->span);
  }

  PrimFunc function_;
  Var env_;
  FaultAnalysis faults_;
  std::vector<ir::BaseFunc>* bodies_;
  int count_ = 0;
};

}  // namespace

ir::IRModule OutlineParallelLoops(const ir::IRModule& module) {
  return OutlineFunctions(module, [](const PrimFunc& function, std::vector<ir::BaseFunc>* bodies) {
    bool is_packed = CallingConventionOf(function) == CallingConvention::kPacked;
    return is_packed ? Outliner(function, bodies).Run() : function;
  });
}

}  // namespace tern::tir
