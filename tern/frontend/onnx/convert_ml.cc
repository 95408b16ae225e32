// SPDX-License-Identifier: Apache-2.0
//
// ai.onnx.ml: classical models, as scikit-learn exports them; n-grams of ai.onnx.
#include <algorithm>
#include <cstring>

#include "tern/frontend/onnx/convert_ml.h"
#include "tern/graph/op.h"

namespace tern::frontend::onnx {
Value AsType(NodeContext& n, const Value& x, DataType type) {
  return x->type.dtype == type ? x : n.Part("cast", {x}, {{"to", ffi::Any(type.str())}});
}
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

namespace {

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
  // Rows whose largest element is 0 stay as they are.
  Value zero = Number(n, 0, "zero");
  Value by = n.Part("where", {n.Part("equal", {largest, zero}), Number(n, 1, "one"), largest});
  return n.Emit("div", {x, by});
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

// Rows of strings, of which the last is the default.
Values StringLabels(NodeContext& n, const Value& x, const Value& keys) {
  std::vector<std::string_view> strings = n.node().Find("values_strings")->strings;
  auto count = static_cast<int64_t>(strings.size());
  std::string otherwise = n.String("default_string", "_Unused");
  strings.push_back(otherwise);
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(i);
  graph::Builder& b = n.builder();
  Value none = b.Scalar(DataType::Int(64), static_cast<double>(count), "default");
  Value at = n.Part("lookup", {x, keys, b.Ints(numbers, "values"), none});
  return n.Emit("gather", {StringBytes(&b, strings, {count + 1}, "labels"), at});
}

Values EncodedLabels(NodeContext& n, const Value& x, const Value& keys) {
  if (n.Has("values_strings")) return StringLabels(n, x, keys);
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

// ---- Results of models

void CheckTargets(int64_t targets) {
  constexpr int64_t kMost = 1 << 12;  // each node has a weight for each
  TERN_CHECK(targets > 0 && targets <= kMost)
      << "there are 1 to " << kMost << " targets, not " << targets;
}

size_t NumLabels(const NodeContext& n) {
  size_t count =
      std::max(IntList(n, "classlabels_int64s").size(), IntList(n, "classlabels_ints").size());
  const Attribute* strings = n.node().Find("classlabels_strings");
  return strings ? std::max(count, strings->strings.size()) : count;
}

// A softmax of the scores that are not 0; those stay 0.
Value SoftmaxZero(NodeContext& n, const Value& scores) {
  Value axes = n.builder().Ints({-1}, "axes"), zero = Number(n, 0, "zero");
  constexpr float kLeast = 1e-7F;
  Value counts = n.Part("greater", {n.Part("abs", {scores}), Number(n, kLeast, "least")});
  Value less = n.Part("sub", {scores, n.Part("reduce_max", {scores, axes})});
  Value parts = n.Part("where", {counts, n.Part("exp", {less}), zero});
  return n.Part("div", {parts, n.Part("reduce_sum", {parts, axes})});
}

Values WithTransform(NodeContext& n, const Value& scores, const std::string& transform) {
  if (transform == "NONE") return n.Emit("identity", {scores});
  if (transform == "SOFTMAX") return n.Emit("softmax", {scores}, {{"axis", ffi::Any(-1)}});
  if (transform == "LOGISTIC") return n.Emit("sigmoid", {scores});
  if (transform == "SOFTMAX_ZERO") return n.Emit("identity", {SoftmaxZero(n, scores)});
  TERN_THROW(ValueError) << "post_transform " << transform
                         << " is not supported; NONE, SOFTMAX, SOFTMAX_ZERO and LOGISTIC are";
}

Values Classified(NodeContext& n, const Value& scores, const std::string& transform) {
  Value at = n.Part("arg_max", {scores}, {{"axis", ffi::Any(1)}, {"keepdims", ffi::Any(0)}});
  std::vector<int64_t> labels = IntList(n, "classlabels_int64s");
  if (labels.empty()) labels = IntList(n, "classlabels_ints");
  Value table;
  if (const Attribute* strings = n.node().Find("classlabels_strings"); labels.empty() && strings)
    table = StringBytes(&n.builder(), strings->strings,
                        {static_cast<int64_t>(strings->strings.size())}, "labels");
  else if (!labels.empty())
    table = n.builder().Ints(labels, "labels");
  TERN_CHECK(table) << "there are no labels of classes";
  Value label = n.Part("gather", {table, at});
  return {n.Part("identity", {label}), WithTransform(n, scores, transform)[0]};
}

Value TwoScores(NodeContext& n, const Value& score, bool probability) {
  Value other = probability ? n.Part("sub", {Number(n, 1, "one"), score}) : n.Part("neg", {score});
  return n.Part("concat", {other, score}, {{"axis", ffi::Any(1)}});
}

namespace {

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
  size_t classes = NumLabels(n);
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

// Of each class, from the scores of the pairs: Platt's probability of each pair, and what fits all
// of them best.
Value PairProbabilities(NodeContext& n, const Value& scores, size_t classes) {
  std::vector<float> prob_a = FloatList(n, "prob_a"), prob_b = FloatList(n, "prob_b");
  size_t pairs = classes * (classes - 1) / 2;
  TERN_CHECK(prob_a.size() == pairs && prob_b.size() == pairs)
      << classes << " classes have " << pairs << " of prob_a and prob_b, not " << prob_a.size()
      << " and " << prob_b.size();
  Value logit = n.Part(
      "add", {n.Part("mul", {scores, n.Floats(prob_a, "prob_a")}), n.Floats(prob_b, "prob_b")});
  Value one = Number(n, 1, "one");
  constexpr float kLeast = 1e-7F;
  Value won = n.Part("clip", {n.Part("sub", {one, n.Part("sigmoid", {logit})}),
                              Number(n, kLeast, "least"), Number(n, 1 - kLeast, "most")});
  Value both = n.Part("concat", {won, n.Part("sub", {one, won})}, {{"axis", ffi::Any(1)}});
  // Row i has the probabilities of i before others; what is on the diagonal is not read.
  auto count = static_cast<int64_t>(classes);
  std::vector<int64_t> places(classes * classes, 0);
  for (int64_t i = 0, pair = 0; i < count; ++i)
    for (int64_t j = i + 1; j < count; ++j, ++pair) {
      places[static_cast<size_t>(i * count + j)] = pair;
      places[static_cast<size_t>(j * count + i)] = pair + static_cast<int64_t>(pairs);
    }
  graph::Builder& b = n.builder();
  Value square = n.Part("gather", {both, b.Ints(places, "places")}, {{"axis", ffi::Any(1)}});
  return n.Part("couple_pairs", {n.Part("reshape", {square, b.Ints({-1, count, count}, "shape")})});
}

// Votes of each pair of classes, or the products with a row of coefficients each.
Values SvmClassifier(NodeContext& n) {
  Value x = Features(n);
  TERN_CHECK(x->type.rank() == 2) << "features are a matrix";
  std::vector<float> coefficients = FloatList(n, "coefficients"), rho = FloatList(n, "rho");
  std::vector<int64_t> counts = IntList(n, "vectors_per_class");
  size_t classes = std::max(NumLabels(n), counts.size());
  CheckTargets(static_cast<int64_t>(classes));
  std::string transform = n.String("post_transform", "NONE");
  graph::Builder& b = n.builder();
  auto matrix = [&](const std::vector<float>& elements, size_t rows, const char* name) {
    TERN_CHECK(rows > 0 && !elements.empty() && elements.size() % rows == 0)
        << elements.size() << " coefficients are none of " << rows << " rows";
    return n.Part("reshape",
                  {n.Floats(elements, name), b.Ints({static_cast<int64_t>(rows), -1}, "shape")});
  };
  if (counts.empty()) {
    Value scores = n.Part("gemm", {x, matrix(coefficients, classes, "coefficients")},
                          {{"transB", ffi::Any(1)}});
    if (!rho.empty()) scores = n.Part("add", {scores, Number(n, rho[0], "rho")});
    return Classified(n, scores, transform);
  }
  TERN_CHECK(counts.size() == classes && classes > 1)
      << "vectors_per_class has " << counts.size() << " elements, of " << classes << " classes";
  std::vector<size_t> starts{0};
  for (int64_t count : counts) {
    TERN_CHECK(count >= 0 && count < int64_t{1} << 31) << "vectors_per_class are not negative";
    starts.push_back(starts.back() + static_cast<size_t>(count));
  }
  size_t vectors = starts.back(), pairs = classes * (classes - 1) / 2;
  TERN_CHECK(coefficients.size() == vectors * (classes - 1) && rho.size() == pairs)
      << vectors << " support vectors of " << classes << " classes have " << vectors * (classes - 1)
      << " coefficients and " << pairs << " of rho, not " << coefficients.size() << " and "
      << rho.size();
  // The score of a pair is a sum over the vectors of both.
  std::vector<float> of_pairs(pairs * vectors, 0), first(classes * pairs, 0),
      second(classes * pairs, 0);
  size_t pair = 0;
  for (size_t i = 0; i < classes; ++i)
    for (size_t j = i + 1; j < classes; ++j, ++pair) {
      for (size_t v = starts[i]; v < starts[i + 1]; ++v)
        of_pairs[pair * vectors + v] = coefficients[(j - 1) * vectors + v];
      for (size_t v = starts[j]; v < starts[j + 1]; ++v)
        of_pairs[pair * vectors + v] = coefficients[i * vectors + v];
      first[i * pairs + pair] = second[j * pairs + pair] = 1;
    }
  Value scores = n.Part(
      "gemm", {SupportKernels(n, x), matrix(of_pairs, pairs, "coefficients"), n.Floats(rho, "rho")},
      {{"transB", ffi::Any(1)}});
  Value won = AsType(n, n.Part("greater", {scores, Number(n, 0, "zero")}), kFloat);
  Value lost = n.Part("sub", {Number(n, 1, "one"), won});
  ir::Attrs rows{{"transB", ffi::Any(1)}};
  Value votes = n.Part("add", {n.Part("gemm", {won, matrix(first, classes, "first")}, rows),
                               n.Part("gemm", {lost, matrix(second, classes, "second")}, rows)});
  Values labels = Classified(n, votes, "NONE");
  if (n.Has("prob_a") || n.Has("prob_b"))
    scores = PairProbabilities(n, scores, classes);
  else if (classes == 2)
    scores = TwoScores(n, scores, false);
  return {labels[0], WithTransform(n, scores, transform)[0]};
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
      {"ArrayFeatureExtractor",
       {.convert = ArrayFeatureExtractor, .convert_items = ExtractStrings}},
      {"Binarizer", {.convert = Binarizer}},
      {"FeatureVectorizer", {.convert = FeatureVectorizer}},
      {"Imputer", {.convert = Imputer}},
      {"LabelEncoder", {.convert = LabelEncoder, .convert_items = LabelEncoderOfStrings}},
      {"LinearClassifier", {.convert = LinearClassifier}},
      {"LinearRegressor", {.convert = LinearRegressor}},
      {"Normalizer", {.convert = Normalizer}},
      {"OneHotEncoder", {.convert = OneHotEncoder}},
      {"SVMClassifier", {.convert = SvmClassifier}},
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
