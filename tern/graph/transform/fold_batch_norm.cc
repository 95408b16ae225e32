// SPDX-License-Identifier: Apache-2.0

#include "tern/graph/builder.h"
#include "tern/graph/transform/links.h"
#include "tern/graph/transform/passes.h"

namespace tern::graph {
namespace {

class Folder : public Rewriter {
 public:
  explicit Folder(const Function& function) : links_(function) {}

 protected:
  std::vector<Value> Rewrite(Builder& builder, const Node& node,
                             const std::vector<Value>& inputs) override {
    if (node->op->name != "batch_normalization") return builder.Copy(node, inputs);
    for (size_t i = 1; i < 5; ++i)
      if (!inputs[i]->constant) return builder.Copy(node, inputs);
    Value epsilon = builder.Scalar(inputs[4]->type.dtype, Epsilon(node), "epsilon");
    Value deviation = builder.Add("sqrt", {builder.Add("add", {inputs[4], epsilon})});
    Value factor = builder.Add("div", {inputs[1], deviation});
    if (const Node conv = FoldableConv(node)) return Folded(builder, node, conv, inputs, factor);
    Value summand = builder.Add("sub", {inputs[2], builder.Add("mul", {inputs[3], factor})});
    size_t rank = inputs[0]->type.rank();
    Value scaled = builder.Add("mul", {inputs[0], PerChannel(builder, factor, rank)});
    return {builder.Add("add", {scaled, PerChannel(builder, summand, rank)}, {}, Names(node))};
  }

 private:
  static double Epsilon(const Node& node) {
    auto it = node->attrs.find("epsilon");
    return it == node->attrs.end() ? 1e-5 : it->second.As<double>();
  }
  static Builder::Options Names(const Node& node) {
    return {node->label, {node->outputs[0]->name}, node->span};
  }

  // The convolution before, where nobody else reads it and its weights are constants.
  Node FoldableConv(const Node& node) const {
    auto it = links_.makers.find(node->inputs[0].get());
    if (it == links_.makers.end() || it->second->op->name != "conv") return {};
    const Node& conv = it->second;
    if (links_.uses.at(node->inputs[0].get()) != 1 || !conv->inputs[1]->constant) return {};
    if (conv->inputs.size() > 2 && conv->inputs[2] && !conv->inputs[2]->constant) return {};
    return conv;
  }

  // The convolution with weights and bias that do the rest too; the old one is read by nobody.
  std::vector<Value> Folded(Builder& builder, const Node& node, const Node& conv,
                            const std::vector<Value>& inputs, const Value& factor) {
    Value weights = Map(conv->inputs[1]);
    Value scaled = builder.Add("mul", {weights, PerOutput(builder, factor, weights->type.rank())});
    Value bias = inputs[3];  // the mean, which is subtracted
    if (conv->inputs.size() > 2 && conv->inputs[2])
      bias = builder.Add("sub", {inputs[3], Map(conv->inputs[2])});
    Value summand = builder.Add("sub", {inputs[2], builder.Add("mul", {bias, factor})});
    return builder.Add(*conv->op, {Map(conv->inputs[0]), scaled, summand}, conv->attrs,
                       {conv->label, {node->outputs[0]->name}, node->span});
  }

  // [C] as [C, 1, 1], beside a tensor of that rank whose channels are axis 1, or axis 0.
  static Value PerChannel(Builder& builder, const Value& vector, size_t rank) {
    if (rank <= 2) return vector;
    std::vector<int64_t> axes;
    for (size_t i = 1; i < rank - 1; ++i) axes.push_back(static_cast<int64_t>(i));
    return builder.Add("unsqueeze", {vector, builder.Ints(axes, "axes")});
  }
  static Value PerOutput(Builder& builder, const Value& vector, size_t rank) {
    return PerChannel(builder, vector, rank + 1);
  }

  Links links_;
};

}  // namespace

Function FoldBatchNorm(const Function& function) {
  return RemoveDeadNodes(Folder(function).Run(function));
}

}  // namespace tern::graph
