// SPDX-License-Identifier: Apache-2.0
//
// ai.onnx.ml: ensembles of decision trees.
#include <algorithm>
#include <cstring>

#include "tern/frontend/onnx/convert_ml.h"
#include "tern/graph/trees.h"

namespace tern::frontend::onnx {
namespace {

using graph::TreeMode;

// ---- Trees
// All nodes of all trees in one table.
struct Trees {
  struct Node {
    TreeMode mode = TreeMode::kLeaf;
    int64_t feature = 0, first = 0, second = 0;
    double split = 0;
    bool missing = false;
    std::vector<double> weights;  // of each target; of leaves
  };
  std::vector<Node> nodes;
  std::vector<int64_t> roots;

  // Of the longest way to a leaf. Throws where a way does not end.
  int64_t Depth() const {
    int64_t depth = 0;
    for (int64_t root : roots) depth = std::max(depth, DepthFrom(root, 0));
    return depth;
  }

 private:
  int64_t DepthFrom(int64_t at, int64_t so_far) const {
    TERN_CHECK(at >= 0 && at < static_cast<int64_t>(nodes.size())) << "a tree has no node " << at;
    TERN_CHECK(so_far <= graph::kMostTreeDepth)
        << "trees of a depth of more than " << graph::kMostTreeDepth << " are not supported";
    const Node& node = nodes[static_cast<size_t>(at)];
    if (node.mode == TreeMode::kLeaf) return so_far;
    return std::max(DepthFrom(node.first, so_far + 1), DepthFrom(node.second, so_far + 1));
  }
};

Value Elements(NodeContext& n, const std::vector<double>& values, std::vector<int64_t> shape,
               DataType type, const char* wish) {
  std::string bytes(values.size() * static_cast<size_t>(type.bytes()), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    if (type == DataType::Float(64)) {
      std::memcpy(&bytes[i * 8], &values[i], 8);
    } else {
      auto single = static_cast<float>(values[i]);
      std::memcpy(&bytes[i * 4], &single, 4);
    }
  }
  return n.builder().Constant(
      ir::Constant::Owned(n.builder().UnusedName(wish), type, std::move(shape), std::move(bytes)));
}

Value TreeScores(NodeContext& n, const Trees& trees, size_t targets, const std::string& aggregate) {
  n.InputType(0);
  DataType type = n.InputType(0).dtype == DataType::Float(64) ? DataType::Float(64) : kFloat;
  std::vector<int64_t> modes, features, first, second, missing;
  std::vector<double> splits, weights;
  for (const Trees::Node& node : trees.nodes) {
    modes.push_back(static_cast<int64_t>(node.mode));
    features.push_back(node.feature);
    first.push_back(node.first);
    second.push_back(node.second);
    missing.push_back(node.missing);
    splits.push_back(node.split);
    for (size_t t = 0; t < targets; ++t)
      weights.push_back(t < node.weights.size() ? node.weights[t] : 0);
  }
  auto count = static_cast<int64_t>(trees.nodes.size());
  graph::Builder& b = n.builder();
  return n.Part("tree_ensemble",
                {AsType(n, n.input(0), type), b.Ints(trees.roots, "roots"), b.Ints(modes, "modes"),
                 b.Ints(features, "features"), Elements(n, splits, {count}, type, "splits"),
                 b.Ints(first, "first"), b.Ints(second, "second"), b.Ints(missing, "missing"),
                 Elements(n, weights, {count, static_cast<int64_t>(targets)}, type, "weights")},
                {{"depth", ffi::Any(trees.Depth())}, {"aggregate", ffi::Any(aggregate)}});
}

TreeMode ModeOf(std::string_view name) {
  if (name == "LEAF") return TreeMode::kLeaf;
  if (name == "BRANCH_LEQ") return TreeMode::kLessOrEqual;
  if (name == "BRANCH_LT") return TreeMode::kLess;
  if (name == "BRANCH_GTE") return TreeMode::kGreaterOrEqual;
  if (name == "BRANCH_GT") return TreeMode::kGreater;
  if (name == "BRANCH_EQ") return TreeMode::kEqual;
  if (name == "BRANCH_NEQ") return TreeMode::kNotEqual;
  TERN_THROW(ValueError) << "there is no mode " << name;
}

// The attributes of TreeEnsembleRegressor and TreeEnsembleClassifier: nodes by tree and number.
Trees ReadTrees(const NodeContext& n, const std::string& prefix, size_t targets) {
  std::vector<int64_t> tree = IntList(n, "nodes_treeids"), id = IntList(n, "nodes_nodeids"),
                       feature = IntList(n, "nodes_featureids"),
                       first = IntList(n, "nodes_truenodeids"),
                       second = IntList(n, "nodes_falsenodeids"),
                       missing = IntList(n, "nodes_missing_value_tracks_true");
  std::vector<float> split = FloatList(n, "nodes_values");
  const Attribute* modes = n.node().Find("nodes_modes");
  size_t count = tree.size();
  for (size_t size : {id.size(), feature.size(), first.size(), second.size(), split.size(),
                      modes ? modes->strings.size() : 0})
    TERN_CHECK(size == count) << "lists of nodes are of " << count << " and " << size
                              << " elements";
  std::map<std::pair<int64_t, int64_t>, int64_t> number;
  Trees trees;
  for (size_t i = 0; i < count; ++i) {
    TERN_CHECK(number.emplace(std::pair(tree[i], id[i]), static_cast<int64_t>(i)).second)
        << "node " << id[i] << " of tree " << tree[i] << " is there twice";
    if (i == 0 || tree[i] != tree[i - 1]) trees.roots.push_back(static_cast<int64_t>(i));
  }
  auto find = [&](int64_t in, int64_t which) {
    auto it = number.find({in, which});
    TERN_CHECK(it != number.end()) << "tree " << in << " has no node " << which;
    return it->second;
  };
  for (size_t i = 0; i < count; ++i) {
    Trees::Node node;
    node.mode = ModeOf(modes->strings[i]);
    bool leaf = node.mode == TreeMode::kLeaf;
    node.feature = feature[i];
    node.split = split[i];
    node.first = leaf ? static_cast<int64_t>(i) : find(tree[i], first[i]);
    node.second = leaf ? static_cast<int64_t>(i) : find(tree[i], second[i]);
    node.missing = i < missing.size() && missing[i] != 0;
    node.weights.assign(targets, 0);
    trees.nodes.push_back(node);
  }
  std::vector<int64_t> of_tree = IntList(n, prefix + "_treeids"),
                       of_node = IntList(n, prefix + "_nodeids"), of = IntList(n, prefix + "_ids");
  std::vector<float> weights = FloatList(n, prefix + "_weights");
  for (size_t i = 0; i < weights.size(); ++i) {
    TERN_CHECK(i < of_tree.size() && i < of_node.size() && i < of.size() && of[i] >= 0 &&
               of[i] < static_cast<int64_t>(targets))
        << "weight " << i << " is of no target";
    auto at = static_cast<size_t>(find(of_tree[i], of_node[i]));
    trees.nodes[at].weights[static_cast<size_t>(of[i])] += weights[i];
  }
  return trees;
}

}  // namespace

Values TreeEnsembleRegressor(NodeContext& n) {
  int64_t targets = n.Int("n_targets", 1);
  CheckTargets(targets);
  Value scores = TreeScores(n, ReadTrees(n, "target", static_cast<size_t>(targets)),
                            static_cast<size_t>(targets), n.String("aggregate_function", "SUM"));
  std::vector<float> base = FloatList(n, "base_values");
  if (!base.empty()) scores = n.Part("add", {scores, n.Floats(base, "base_values")});
  return WithTransform(n, scores, n.String("post_transform", "NONE"));
}

Values TreeEnsembleClassifier(NodeContext& n) {
  size_t classes = NumLabels(n);
  CheckTargets(static_cast<int64_t>(classes));
  std::vector<int64_t> of = IntList(n, "class_ids");
  // Two classes may have the scores of one.
  bool one = classes == 2 && !of.empty() &&
             std::all_of(of.begin(), of.end(), [&](int64_t id) { return id == of[0]; });
  Trees trees = ReadTrees(n, "class", classes);
  if (one)
    for (Trees::Node& node : trees.nodes)
      if (!node.weights.empty()) node.weights = {node.weights[static_cast<size_t>(of[0])]};
  Value scores = TreeScores(n, trees, one ? 1 : classes, "SUM");
  std::vector<float> base = FloatList(n, "base_values");
  if (!base.empty()) scores = n.Part("add", {scores, n.Floats(base, "base_values")});
  std::string transform = n.String("post_transform", "NONE");
  if (!one) return Classified(n, scores, transform);
  // Scores of one class are probabilities where weights are not negative, or are made ones.
  std::vector<float> weights = FloatList(n, "class_weights");
  bool positive = std::all_of(weights.begin(), weights.end(), [](float w) { return w >= 0; });
  if (transform == "LOGISTIC") scores = n.Part("sigmoid", {scores});
  bool probability = transform == "LOGISTIC" || positive;
  return Classified(n, TwoScores(n, scores, probability),
                    transform == "LOGISTIC" ? "NONE" : transform);
}

// Version 5: inner nodes and leaves are two lists. A set of values is a chain of comparisons.
Values TreeEnsemble(NodeContext& n) {
  auto tensor_of = [&](const char* name) {
    const Attribute* attribute = n.node().Find(name);
    std::vector<double> values;
    if (!attribute || attribute->tensors.empty()) return values;
    const Tensor& tensor = attribute->tensors[0];
    TensorData data = tensor.Data();
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      const char* at = data.bytes.data();
      double wide = 0;
      float single = 0;
      if (tensor.type == ElemType::kDouble)
        std::memcpy(&wide, at + i * 8, 8);
      else if (tensor.type == ElemType::kUInt8)
        wide = static_cast<unsigned char>(at[i]);
      else if (tensor.type == ElemType::kFloat)
        std::memcpy(&single, at + i * 4, 4);
      else
        TERN_THROW(ValueError) << name << " of type " << NameOf(tensor.type)
                               << " are not supported";
      values.push_back(tensor.type == ElemType::kFloat ? single : wide);
    }
    return values;
  };
  std::vector<double> modes = tensor_of("nodes_modes"), splits = tensor_of("nodes_splits"),
                      members = tensor_of("membership_values"), leaf = tensor_of("leaf_weights");
  std::vector<int64_t> feature = IntList(n, "nodes_featureids"),
                       first = IntList(n, "nodes_truenodeids"),
                       second = IntList(n, "nodes_falsenodeids"),
                       first_leaf = IntList(n, "nodes_trueleafs"),
                       second_leaf = IntList(n, "nodes_falseleafs"),
                       missing = IntList(n, "nodes_missing_value_tracks_true"),
                       targets_of = IntList(n, "leaf_targetids");
  size_t count = modes.size();
  for (size_t size : {splits.size(), feature.size(), first.size(), second.size(), first_leaf.size(),
                      second_leaf.size()})
    TERN_CHECK(size == count) << "lists of nodes are of " << count << " and " << size
                              << " elements";
  TERN_CHECK(targets_of.size() == leaf.size()) << "leaves have a target and a weight each";
  int64_t targets = n.Int("n_targets", 1);
  CheckTargets(targets);
  Trees trees;
  auto inner = static_cast<int64_t>(count);
  // Numbers: the inner nodes, the leaves, then further nodes of sets.
  trees.nodes.resize(count);
  for (size_t i = 0; i < leaf.size(); ++i) {
    Trees::Node node;
    node.first = node.second = inner + static_cast<int64_t>(i);
    node.weights.assign(static_cast<size_t>(targets), 0);
    TERN_CHECK(targets_of[i] >= 0 && targets_of[i] < targets) << "leaf " << i << " has no target";
    node.weights[static_cast<size_t>(targets_of[i])] = leaf[i];
    trees.nodes.push_back(node);
  }
  const TreeMode by_number[] = {TreeMode::kLessOrEqual, TreeMode::kLess,  TreeMode::kGreaterOrEqual,
                                TreeMode::kGreater,     TreeMode::kEqual, TreeMode::kNotEqual};
  constexpr double kMember = 6;
  size_t next_member = 0;
  for (size_t i = 0; i < count; ++i) {
    int64_t yes = first[i] + (first_leaf[i] ? inner : 0),
            no = second[i] + (second_leaf[i] ? inner : 0);
    Trees::Node node{TreeMode::kEqual,
                     feature[i],
                     yes,
                     no,
                     splits[i],
                     i < missing.size() && missing[i] != 0,
                     {}};
    TERN_CHECK(modes[i] >= 0 && modes[i] <= kMember) << "there is no mode " << modes[i];
    if (modes[i] != kMember) {
      node.mode = by_number[static_cast<size_t>(modes[i])];
      trees.nodes[i] = node;
      continue;
    }
    std::vector<double> set;
    for (; next_member < members.size() && members[next_member] == members[next_member];
         ++next_member)
      set.push_back(members[next_member]);
    ++next_member;  // a NaN ends each set
    TERN_CHECK(!set.empty()) << "the set of node " << i << " is empty";
    for (size_t k = 0; k < set.size(); ++k) {
      node.split = set[k];
      node.second = k + 1 < set.size() ? static_cast<int64_t>(trees.nodes.size() + (k > 0)) : no;
      if (k == 0)
        trees.nodes[i] = node;
      else
        trees.nodes.push_back(node);
    }
  }
  trees.roots = IntList(n, "tree_roots");
  const char* aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  int64_t how = n.Int("aggregate_function", 1), transform = n.Int("post_transform", 0);
  TERN_CHECK(how >= 0 && how < 4) << "there is no aggregate_function " << how;
  Value scores = TreeScores(n, trees, static_cast<size_t>(targets), aggregates[how]);
  const char* transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"};
  TERN_CHECK(transform >= 0 && transform < 4)
      << "post_transform is NONE, SOFTMAX, LOGISTIC or SOFTMAX_ZERO, not " << transform;
  return WithTransform(n, scores, transforms[transform]);
}

}  // namespace tern::frontend::onnx
