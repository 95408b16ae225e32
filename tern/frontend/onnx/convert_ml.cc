// SPDX-License-Identifier: Apache-2.0
//
// ai.onnx.ml: classical models, as scikit-learn exports them; n-grams of ai.onnx.
#include <algorithm>
#include <cstring>

#include "tern/frontend/onnx/converter_table.h"
#include "tern/graph/op.h"
#include "tern/graph/trees.h"

namespace tern::frontend::onnx {
namespace {

using graph::TreeMode;

const DataType kFloat = DataType::Float(32);

Value AsType(NodeContext& n, const Value& x, DataType type) {
  return x->type.dtype == type ? x : n.Part("cast", {x}, {{"to", ffi::Any(type.str())}});
}
// Features of any number type are computed with as floats.
Value Features(NodeContext& n) {
  n.InputType(0);
  return AsType(n, n.input(0), kFloat);
}

std::vector<float> FloatList(const NodeContext& n, std::string_view name) {
  const Attribute* attribute = n.node().Find(name);
  return attribute ? attribute->floats : std::vector<float>();
}
std::vector<int64_t> IntList(const NodeContext& n, std::string_view name) {
  return n.Ints(name).value_or(std::vector<int64_t>());
}

Value Number(NodeContext& n, double value, const char* name) {
  return n.builder().Scalar(kFloat, value, name);
}

// ---- Preprocessing

Values ArrayFeatureExtractor(NodeContext& n) {
  auto rank = static_cast<int64_t>(n.InputType(0).rank());
  TERN_CHECK(rank > 0) << "the input is an array";
  n.InputType(1);
  graph::Builder& b = n.builder();
  Value flat = n.Part("reshape", {n.input(1), b.Ints({-1}, "shape")});
  Value chosen = n.Part("gather", {n.input(0), flat}, {{"axis", ffi::Any(rank - 1)}});
  if (rank > 1) return n.Emit("identity", {chosen});
  return n.Emit("unsqueeze", {chosen, b.Ints({0}, "axes")});
}

Values Binarizer(NodeContext& n) {
  Value x = n.input(0);
  DataType type = n.InputType(0).dtype;
  Value more =
      n.Part("greater", {x, n.builder().Scalar(type, n.Float("threshold", 0), "threshold")});
  return n.Emit("cast", {more}, {{"to", ffi::Any(type.str())}});
}

Values Scaler(NodeContext& n) {
  Value x = Features(n);
  std::vector<float> offset = FloatList(n, "offset"), scale = FloatList(n, "scale");
  if (!offset.empty()) x = n.Part("sub", {x, n.Floats(offset, "offset")});
  return scale.empty() ? n.Emit("identity", {x}) : n.Emit("mul", {x, n.Floats(scale, "scale")});
}

Values Normalizer(NodeContext& n) {
  Value x = Features(n);
  std::string norm = n.String("norm", "MAX");
  TERN_CHECK(norm == "MAX" || norm == "L1" || norm == "L2")
      << "norm is MAX, L1 or L2, not " << norm;
  if (norm != "MAX")
    return n.Emit("lp_normalization", {x},
                  {{"axis", ffi::Any(-1)}, {"p", ffi::Any(norm == "L1" ? 1 : 2)}});
  Value largest = n.Part("reduce_max", {x, n.builder().Ints({-1}, "axes")});
  return n.Emit("div", {x, largest});
}

Values Imputer(NodeContext& n) {
  Value x = n.input(0);
  DataType type = n.InputType(0).dtype;
  Value missing, with;
  if (type.is_float()) {
    with = n.Floats(FloatList(n, "imputed_value_floats"), "with");
    const Attribute* replaced = n.node().Find("replaced_value_float");
    bool is_nan = replaced && replaced->f != replaced->f;
    missing =
        is_nan
            ? n.Part("isnan", {x})
            : n.Part("equal",
                     {x, n.builder().Scalar(type, n.Float("replaced_value_float", 0), "replaced")});
  } else {
    with = n.builder().Ints(IntList(n, "imputed_value_int64s"), "with");
    Value replaced = n.builder().Ints({n.Int("replaced_value_int64", 0)}, "replaced");
    missing = n.Part("equal", {x, replaced});
  }
  return n.Emit("where", {missing, with, x});
}

Values FeatureVectorizer(NodeContext& n) {
  Values parts;
  for (size_t i = 0; i < n.inputs().size(); ++i) {
    n.InputType(i);
    parts.push_back(AsType(n, n.input(i), kFloat));
  }
  return n.Emit("concat", parts, {{"axis", ffi::Any(-1)}});
}

// A last axis with 1 where the category is.
Values OneHotEncoder(NodeContext& n) {
  std::vector<int64_t> categories = IntList(n, "cats_int64s");
  TERN_CHECK(!categories.empty()) << "categories that are strings are not supported";
  n.InputType(0);
  Value x = AsType(n, n.input(0), DataType::Int(64));
  Value column = n.Part("unsqueeze", {x, n.builder().Ints({-1}, "axes")});
  Value same = n.Part("equal", {column, n.builder().Ints(categories, "categories")});
  return n.Emit("cast", {same}, {{"to", ffi::Any(std::string("float32"))}});
}

Value LabelList(NodeContext& n, const char* what) {
  std::string ints = std::string(what) + "_int64s", floats = std::string(what) + "_floats",
              tensor = std::string(what) + "_tensor";
  if (n.Has(ints)) return n.builder().Ints(IntList(n, ints), what);
  if (n.Has(floats)) return n.Floats(FloatList(n, floats), what);
  const Attribute* given = n.node().Find(tensor);
  TERN_CHECK(given && !given->tensors.empty()) << what << " that are strings are not supported";
  return ConstantOf(&n.builder(), given->tensors[0], what, n.file_name());
}

Values LabelEncoder(NodeContext& n) {
  n.InputType(0);
  return EncodedLabels(n, n.input(0), LabelList(n, "keys"));
}

}  // namespace

Values EncodedLabels(NodeContext& n, const Value& x, const Value& keys) {
  Value values = LabelList(n, "values"), otherwise;
  DataType type = values->type.dtype;
  if (const Attribute* given = n.node().Find("default_tensor"); given && !given->tensors.empty())
    otherwise = ConstantOf(&n.builder(), given->tensors[0], "default", n.file_name());
  else if (type.is_float())
    otherwise = n.builder().Scalar(type, n.Float("default_float", 0), "default");
  else
    otherwise =
        n.builder().Scalar(type, static_cast<double>(n.Int("default_int64", -1)), "default");
  return n.Emit("lookup", {x, keys, values, otherwise});
}

namespace {

// ---- Results of models

Values WithTransform(NodeContext& n, const Value& scores, const std::string& transform) {
  if (transform == "NONE") return n.Emit("identity", {scores});
  if (transform == "SOFTMAX") return n.Emit("softmax", {scores}, {{"axis", ffi::Any(-1)}});
  if (transform == "LOGISTIC") return n.Emit("sigmoid", {scores});
  TERN_THROW(ValueError) << "post_transform " << transform
                         << " is not supported; NONE, SOFTMAX and LOGISTIC are";
}

// Labels of the largest scores, and the scores. Labels that are strings are left out by who reads
// the model: then their numbers stand for them.
Values Classified(NodeContext& n, const Value& scores, const std::string& transform) {
  Value at = n.Part("arg_max", {scores}, {{"axis", ffi::Any(1)}, {"keepdims", ffi::Any(0)}});
  std::vector<int64_t> labels = IntList(n, "classlabels_int64s");
  if (labels.empty()) labels = IntList(n, "classlabels_ints");
  TERN_CHECK(!labels.empty() || !n.wants_output(0)) << "labels that are strings are not supported";
  Value label = labels.empty() ? at : n.Part("gather", {n.builder().Ints(labels, "labels"), at});
  return {n.Part("identity", {label}), WithTransform(n, scores, transform)[0]};
}

// [-s, s] of one score, or [1 - p, p] where it is made a probability.
Value TwoScores(NodeContext& n, const Value& score, bool probability) {
  Value other = probability ? n.Part("sub", {Number(n, 1, "one"), score}) : n.Part("neg", {score});
  return n.Part("concat", {other, score}, {{"axis", ffi::Any(1)}});
}

// ---- Linear models

// Coefficients are [targets, features].
Value LinearScores(NodeContext& n, int64_t targets) {
  Value x = Features(n);
  TERN_CHECK(x->type.rank() == 2) << "features are a matrix, not "
                                  << graph::ShapeText(x->type.shape);
  std::vector<float> coefficients = FloatList(n, "coefficients"), bias = FloatList(n, "intercepts");
  auto count = static_cast<int64_t>(coefficients.size());
  TERN_CHECK(targets > 0 && count % targets == 0)
      << count << " coefficients are none of " << targets << " targets";
  Value matrix = n.Part("reshape", {n.Floats(coefficients, "coefficients"),
                                    n.builder().Ints({targets, count / targets}, "shape")});
  Values operands{x, matrix};
  if (!bias.empty()) operands.push_back(n.Floats(bias, "intercepts"));
  return n.Part("gemm", operands, {{"transB", ffi::Any(1)}});
}

Values LinearRegressor(NodeContext& n) {
  return WithTransform(n, LinearScores(n, n.Int("targets", 1)), n.String("post_transform", "NONE"));
}

Values LinearClassifier(NodeContext& n) {
  size_t classes = IntList(n, "classlabels_ints").size();
  if (const Attribute* strings = n.node().Find("classlabels_strings"))
    classes = std::max(classes, strings->strings.size());
  size_t rows = std::max<size_t>(FloatList(n, "intercepts").size(), 1);
  std::string transform = n.String("post_transform", "NONE");
  Value scores = LinearScores(n, static_cast<int64_t>(rows));
  if (rows > 1 || classes != 2) return Classified(n, scores, transform);
  // One row of coefficients for two classes.
  bool logistic = transform == "LOGISTIC";
  if (logistic) scores = n.Part("sigmoid", {scores});
  return Classified(n, TwoScores(n, scores, logistic), logistic ? "NONE" : transform);
}

// ---- Support vectors

// Kernels of each row with each support vector.
Value SupportKernels(NodeContext& n, const Value& x) {
  std::vector<float> vectors = FloatList(n, "support_vectors"),
                     params = FloatList(n, "kernel_params");
  std::optional<int64_t> features = ir::AsConstInt(x->type.shape[1]);
  auto count = static_cast<int64_t>(vectors.size());
  TERN_CHECK(features && *features > 0 && count % *features == 0)
      << count << " numbers are no support vectors";
  Value matrix = n.Part("reshape", {n.Floats(vectors, "support_vectors"),
                                    n.builder().Ints({count / *features, *features}, "shape")});
  std::string kind = n.String("kernel_type", "LINEAR");
  auto param = [&](size_t i) { return i < params.size() ? static_cast<double>(params[i]) : 0; };
  double gamma = param(0), constant = param(1), degree = param(2);
  if (kind == "RBF") {
    // |x - v|^2 from each pair.
    Value rows = n.Part("unsqueeze", {x, n.builder().Ints({1}, "axes")});
    Value difference = n.Part("sub", {rows, matrix});
    Value squares = n.Part("reduce_sum_square", {difference, n.builder().Ints({2}, "axes")},
                           {{"keepdims", ffi::Any(0)}});
    return n.Part("exp", {n.Part("mul", {squares, Number(n, -gamma, "gamma")})});
  }
  Value products = n.Part("gemm", {x, matrix}, {{"transB", ffi::Any(1)}});
  if (kind == "LINEAR") return products;
  Value scaled = n.Part("add", {n.Part("mul", {products, Number(n, gamma, "gamma")}),
                                Number(n, constant, "constant")});
  if (kind == "POLY") return n.Part("pow", {scaled, Number(n, degree, "degree")});
  TERN_CHECK(kind == "SIGMOID") << "kernel_type is LINEAR, POLY, RBF or SIGMOID, not " << kind;
  return n.Part("tanh", {scaled});
}

Values SvmRegressor(NodeContext& n) {
  Value x = Features(n);
  TERN_CHECK(x->type.rank() == 2) << "features are a matrix";
  std::vector<float> coefficients = FloatList(n, "coefficients"), rho = FloatList(n, "rho");
  Value sum;
  if (n.Int("n_supports", 0) > 0) {
    Value column = n.Part("unsqueeze",
                          {n.Floats(coefficients, "coefficients"), n.builder().Ints({1}, "axes")});
    sum = n.Part("matmul", {SupportKernels(n, x), column});
  } else {
    Value column = n.Part("unsqueeze",
                          {n.Floats(coefficients, "coefficients"), n.builder().Ints({1}, "axes")});
    sum = n.Part("matmul", {x, column});
  }
  if (!rho.empty()) sum = n.Part("add", {sum, Number(n, rho[0], "rho")});
  if (n.Int("one_class", 0)) {
    Value positive = n.Part("greater", {sum, Number(n, 0, "zero")});
    return n.Emit("where", {positive, Number(n, 1, "one"), Number(n, -1, "other")});
  }
  return WithTransform(n, sum, n.String("post_transform", "NONE"));
}

// ---- Trees

void CheckTargets(int64_t targets) {
  constexpr int64_t kMost = 1 << 12;  // each node has a weight for each
  TERN_CHECK(targets > 0 && targets <= kMost)
      << "there are 1 to " << kMost << " targets, not " << targets;
}

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
  size_t classes = IntList(n, "classlabels_int64s").size();
  if (const Attribute* strings = n.node().Find("classlabels_strings"))
    classes = std::max(classes, strings->strings.size());
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
  const char* transforms[] = {"NONE", "SOFTMAX", "LOGISTIC"};
  TERN_CHECK(transform >= 0 && transform < 3)
      << "post_transform is NONE, SOFTMAX or LOGISTIC, not " << transform;
  return WithTransform(n, scores, transforms[transform]);
}

// Its map from names to numbers is cut to the numbers.
Values ZipMap(NodeContext& n) { return n.Emit("identity", {n.input(0)}); }

}  // namespace

// The pool has the n-grams of each length one behind another; ngram_counts says where a length
// starts, ngram_indexes where the count of an n-gram goes.
Values TfIdfVectorizer(NodeContext& n) {
  std::vector<int64_t> pool = IntList(n, "pool_int64s"), counts = IntList(n, "ngram_counts"),
                       outputs = IntList(n, "ngram_indexes");
  TERN_CHECK(!pool.empty()) << "a pool of strings is not supported";
  int64_t shortest = n.Int("min_gram_length", 1), longest = n.Int("max_gram_length", 1);
  auto size = static_cast<size_t>(
      outputs.empty() ? 0 : *std::max_element(outputs.begin(), outputs.end()) + 1);
  TERN_CHECK(longest > 0 && longest <= static_cast<int64_t>(counts.size()) && size > 0 &&
             size <= 1 << 20)
      << "ngram_counts has an element for each length, and ngram_indexes are not negative";
  auto width = static_cast<size_t>(longest);
  std::vector<int64_t> grams(size * width, 0), sizes(size, 0);
  size_t gram = 0;
  for (size_t length = 1; length <= counts.size(); ++length) {
    int64_t begin = counts[length - 1],
            end = length < counts.size() ? counts[length] : static_cast<int64_t>(pool.size());
    TERN_CHECK(begin >= 0 && begin <= end && end <= static_cast<int64_t>(pool.size()))
        << "ngram_counts are places in the pool";
    for (int64_t at = begin; at + static_cast<int64_t>(length) <= end;
         at += static_cast<int64_t>(length), ++gram) {
      TERN_CHECK(gram < outputs.size() && outputs[gram] >= 0)
          << "ngram_indexes has no element for n-gram " << gram;
      auto to = static_cast<size_t>(outputs[gram]);
      auto wanted = static_cast<int64_t>(length);
      if (wanted < shortest || wanted > longest) continue;
      TERN_CHECK(sizes[to] == 0) << "two n-grams are counted at " << to;
      sizes[to] = wanted;
      std::copy_n(pool.begin() + at, length, grams.begin() + static_cast<int64_t>(to * width));
    }
  }
  graph::Builder& b = n.builder();
  Value table = n.Part(
      "reshape", {b.Ints(grams, "grams"), b.Ints({static_cast<int64_t>(size), longest}, "shape")});
  Value found = n.Part("count_ngrams", {n.input(0), table, b.Ints(sizes, "sizes")},
                       {{"max_skip_count", ffi::Any(n.Int("max_skip_count", 0))}});
  std::string mode = n.String("mode", "TF");
  TERN_CHECK(mode == "TF" || mode == "IDF" || mode == "TFIDF")
      << "mode is TF, IDF or TFIDF, not " << mode;
  if (mode == "TF") return n.Emit("identity", {found});
  if (mode == "IDF") found = AsType(n, n.Part("greater", {found, Number(n, 0, "zero")}), kFloat);
  std::vector<float> given = FloatList(n, "weights"), weights(size, 1);
  for (size_t i = 0; i < std::min(given.size(), outputs.size()); ++i)
    weights[static_cast<size_t>(outputs[i])] = given[i];
  return n.Emit("mul", {found, n.Floats(weights, "weights")});
}

const ConverterTable& MlTable() {
  static const ConverterTable table = {
      {"ArrayFeatureExtractor", {.convert = ArrayFeatureExtractor}},
      {"Binarizer", {.convert = Binarizer}},
      {"FeatureVectorizer", {.convert = FeatureVectorizer}},
      {"Imputer", {.convert = Imputer}},
      {"LabelEncoder", {.convert = LabelEncoder, .convert_items = LabelEncoderOfStrings}},
      {"LinearClassifier", {.convert = LinearClassifier}},
      {"LinearRegressor", {.convert = LinearRegressor}},
      {"Normalizer", {.convert = Normalizer}},
      {"OneHotEncoder", {.convert = OneHotEncoder}},
      {"SVMRegressor", {.convert = SvmRegressor}},
      {"Scaler", {.convert = Scaler}},
      {"TreeEnsemble", {.convert = TreeEnsemble}},
      {"TreeEnsembleClassifier", {.convert = TreeEnsembleClassifier}},
      {"TreeEnsembleRegressor", {.convert = TreeEnsembleRegressor}},
      {"ZipMap", {.convert = ZipMap}},
  };
  return table;
}

// ---- ai.onnx.preview.training

namespace {

// The rate and the count of steps, then weights, gradients and each state of all tensors.
Values OptimizerStep(NodeContext& n, const char* op, size_t kinds) {
  TERN_CHECK(n.inputs().size() > 2 && (n.inputs().size() - 2) % kinds == 0)
      << "expected the rate, the count, and " << kinds << " inputs for each tensor";
  size_t count = (n.inputs().size() - 2) / kinds, results = kinds - 1;
  ir::Attrs attrs = n.AttrsFor(graph::GetOp(op));
  Values outputs(count * results);
  for (size_t i = 0; i < count; ++i) {
    Values inputs{n.input(0), n.input(1)};
    for (size_t k = 0; k < kinds; ++k) inputs.push_back(n.input(2 + k * count + i));
    Values made = n.builder().Add(graph::GetOp(op), inputs, attrs, {});
    for (size_t k = 0; k < results; ++k) outputs[k * count + i] = made[k];
  }
  return outputs;
}
Values Adagrad(NodeContext& n) { return OptimizerStep(n, "adagrad", 3); }
Values Adam(NodeContext& n) { return OptimizerStep(n, "adam", 4); }
Values Momentum(NodeContext& n) { return OptimizerStep(n, "momentum", 3); }

}  // namespace

const ConverterTable& TrainingTable() {
  static const ConverterTable table = {
      {"Adagrad", {.convert = Adagrad}},
      {"Adam", {.convert = Adam}},
      {"Momentum", {.convert = Momentum}},
  };
  return table;
}

}  // namespace tern::frontend::onnx
