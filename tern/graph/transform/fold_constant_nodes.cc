// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "tern/codegen/load_linkable.h"
#include "tern/codegen/parallel_for.h"
#include "tern/compile.h"
#include "tern/graph/builder.h"
#include "tern/graph/lower.h"
#include "tern/graph/transform/passes.h"
#include "tern/runtime/vm/session.h"
#include "tern/tir/interpreter/interpreter.h"
#include "tern/tir/visitor.h"

namespace tern::graph {
namespace {

// Stores of all calls of a function, up to which it is interpreted: a store takes one to two
// microseconds, compiling a function 15 ms and more.
constexpr int64_t kInterpretedStores = 8192;

bool IsStatic(const Value& value) {
  return std::all_of(value->type.shape.begin(), value->type.shape.end(),
                     [](const Expr& extent) { return ir::AsConstInt(extent).has_value(); });
}

// The part of a graph that reads constants alone, as a graph without parameters. Its results are
// what the rest reads.
Function ConstantPart(const Function& function) {
  std::unordered_set<const ValueNode*> known, wanted;
  std::vector<Node> nodes;
  for (const Node& node : function->nodes) {
    bool folds = std::all_of(node->inputs.begin(), node->inputs.end(), [&](const Value& input) {
      return !input || input->constant || known.contains(input.get());
    });
    folds = folds && node->op->control == Control::kNone;
    if (folds && std::all_of(node->outputs.begin(), node->outputs.end(), IsStatic)) {
      for (const Value& output : node->outputs) known.insert(output.get());
      nodes.push_back(node);
    } else {
      for (const Value& input : node->inputs) wanted.insert(input.get());
    }
  }
  for (const Value& result : function->results) wanted.insert(result.get());
  std::vector<Value> results;
  for (const Node& node : nodes)
    for (const Value& output : node->outputs)
      if (wanted.contains(output.get())) results.push_back(output);
  return Function::Make("main", {}, std::move(nodes), std::move(results));
}

// What a function takes to interpret, and whether compiled code would compute the same bits:
// arithmetic and square roots of floats are exact in both. Integers wrap in compiled code, and are
// errors in the interpreter.
class InterpretedCost : public tir::StmtVisitor {
 public:
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

  // Stores, or kUnknown.
  int64_t Of(const tir::PrimFunc& function) {
    for (const tir::Param& param : function->params)
      if (!param.is_tensor() || !IsExact(param.buffer->dtype)) return kUnknown;
    VisitFunction(function);
    return is_known_ ? stores_ : kUnknown;
  }

 protected:
  using StmtVisitor::VisitNode;
  void VisitNode(const tir::ForNode* loop) override {
    std::optional<int64_t> extent = ir::AsConstInt(loop->extent);
    is_known_ = is_known_ && extent && *extent <= kInterpretedStores;
    if (!is_known_) return;
    int64_t outside = std::exchange(times_, times_ * *extent);
    StmtVisitor::VisitNode(loop);
    times_ = outside;
    is_known_ = is_known_ && stores_ <= kInterpretedStores;
  }
  void VisitNode(const tir::WhileNode*) override { is_known_ = false; }
  void VisitNode(const tir::BufferStoreNode* store) override {
    stores_ += times_;
    StmtVisitor::VisitNode(store);
  }
  void VisitNode(const ir::CallNode* call) override {
    is_known_ = is_known_ && call->name == "sqrt";
    StmtVisitor::VisitNode(call);
  }
  void VisitNode(const ir::CastNode* cast) override {
    is_known_ = is_known_ && IsExact(cast->dtype) == IsExact(cast->value.dtype());
    StmtVisitor::VisitNode(cast);
  }

 private:
  // Shorter floats may be computed in float32.
  static bool IsExact(DataType dtype) {
    return dtype == DataType::Float(32) || dtype == DataType::Float(64);
  }

  bool is_known_ = true;
  int64_t times_ = 1, stores_ = 0;
};

// Functions of which some are interpreted, and others were compiled.
class FoldingModule : public ffi::ModuleObj {
 public:
  FoldingModule(ir::IRModule interpreted, ffi::Module compiled)
      : interpreted_(std::move(interpreted)), compiled_(std::move(compiled)) {}

  std::string kind() const override { return "folding"; }
  uint32_t properties() const override { return kRunnable; }
  ffi::Function GetFunction(std::string_view name) override {
    if (!interpreted_->functions.contains(std::string(name)))
      return compiled_ ? compiled_->GetFunction(name) : ffi::Function();
    return ffi::Function::FromPacked(
        [module = interpreted_, name = std::string(name)](ffi::Args args) {
          tir::Interpret(module, name, {args.begin(), args.end()});
          return ffi::Any();
        });
  }
  std::vector<std::string> FunctionNames() const override { return {}; }

 private:
  ir::IRModule interpreted_;
  ffi::Module compiled_;
};

// Small functions that are not called often are interpreted, which takes less time than compiling
// them. The others are compiled for the baseline of this machine's architecture.
ffi::Module MakeRunnable(const LoweredModel& lowered, const target::Target& host,
                         const CompileOptions& options) {
  std::map<std::string, int64_t> calls;
  for (const Kernel& call : lowered.calls) ++calls[call.name];
  std::vector<ir::BaseFunc> interpreted, compiled;
  for (const auto& [name, base] : lowered.kernels->functions) {
    tir::PrimFunc function = tir::IfPrimFunc(base);
    bool is_small = function && InterpretedCost().Of(function) <=
                                    kInterpretedStores / std::max<int64_t>(calls[name], 1);
    (is_small ? interpreted : compiled).push_back(base);
  }
  ffi::Module code;
  if (!compiled.empty())
    code = codegen::LoadLinkable(Compile(ir::IRModule::Make(compiled), host, options));
  if (interpreted.empty()) return code;
  return ffi::Module(ffi::Make<FoldingModule>(ir::IRModule::Make(interpreted), std::move(code)));
}

// Run on this machine, with the same bits as on any other.
std::vector<runtime::Tensor> RunHere(const Function& function) {
  LoweredModel lowered = LowerGraph(function, {.fuse = true, .reassociate = false});
  CompileOptions options;
  options.prepack = CompileOptions::Prepack::kNone;
  options.default_schedules = false;
  target::Target host = target::Target::DefaultHost();
  // Copies: kernels count on aligned elements, which those of a file may not be.
  std::vector<runtime::Tensor> copies(lowered.weights.size());
  codegen::ParallelFor(copies.size(), [&](size_t i) {
    const ir::Constant& constant = lowered.weights[i];
    copies[i] = runtime::Tensor::Empty(constant->shape, constant->dtype);
    constant->CopyTo(copies[i]->data());
  });
  std::map<std::string, runtime::Tensor> weights;
  for (size_t i = 0; i < copies.size(); ++i)
    weights[lowered.weights[i]->name] = std::move(copies[i]);
  runtime::vm::ModelParts parts;
  parts.program = std::move(lowered.program);
  if (!lowered.calls.empty()) {  // there is more than views
    parts.functions = DescribeModule(lowered.kernels, host, options).functions;
    parts.module = MakeRunnable(lowered, host, options);
  }
  parts.weight = [&](const runtime::vm::Constant& constant) {
    return weights.at(constant.name).Reshape(constant.shape);
  };
  runtime::vm::Session session(std::make_shared<runtime::vm::Model>(std::move(parts)));
  return session.Run({});
}

// Constants in place of the nodes of a constant part. What only that part reads is left out.
class Replacer : public Rewriter {
 public:
  Replacer(const Function& part, const std::vector<runtime::Tensor>& results) {
    for (const Node& node : part->nodes) nodes_.insert(node.get());
    std::vector<std::string> bytes(results.size());
    codegen::ParallelFor(results.size(), [&](size_t i) {
      bytes[i].assign(results[i].as<const char>(), results[i]->num_bytes());
    });
    for (size_t i = 0; i < results.size(); ++i)
      folded_[part->results[i].get()] = std::move(bytes[i]);
  }

 protected:
  std::vector<Value> Rewrite(Builder& builder, const Node& node,
                             const std::vector<Value>& inputs) override {
    if (!nodes_.contains(node.get())) return builder.Copy(node, inputs);
    std::vector<Value> outputs;
    for (const Value& output : node->outputs) {
      auto it = folded_.find(output.get());
      outputs.push_back(it == folded_.end() ? Value()
                                            : Constant(builder, output, std::move(it->second)));
    }
    return outputs;
  }

 private:
  static Value Constant(Builder& builder, const Value& output, std::string bytes) {
    std::vector<int64_t> shape;
    for (const Expr& extent : output->type.shape) shape.push_back(*ir::AsConstInt(extent));
    return builder.Constant(ir::Constant::Owned(
        builder.UnusedName(output->name), output->type.dtype, std::move(shape), std::move(bytes)));
  }

  std::unordered_set<const NodeNode*> nodes_;
  std::map<const ValueNode*, std::string> folded_;  // elements
};

}  // namespace

Function FoldConstantNodes(const Function& function) {
  Function part = ConstantPart(function);
  if (part->results.empty()) return function;
  return RemoveDeadNodes(Replacer(part, RunHere(part)).Run(function));
}

}  // namespace tern::graph
