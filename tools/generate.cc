// SPDX-License-Identifier: Apache-2.0
#include "tools/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "tern/ffi/error.h"
#include "tern/ffi/text.h"
#include "tern/runtime/vm/session.h"
#include "tools/run_report.h"

namespace tern::tools {
namespace {

using runtime::Tensor;
using runtime::vm::Port;

constexpr const char* kTokens = "input_ids";
constexpr const char* kPositions = "position_ids";
constexpr const char* kMask = "attention_mask";

// In [0, 1), a function of the seed and a number (docs/onnx.md).
double Uniform(uint64_t seed, uint64_t number) {
  auto mix = [](uint32_t x) {
    x ^= x >> 16, x *= 0x85ebca6bU;
    x ^= x >> 13, x *= 0xc2b2ae35U;
    return x ^ x >> 16;
  };
  auto low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
  uint32_t bits = mix(mix(static_cast<uint32_t>(number) + 0x9e3779b9U) ^ low ^ mix(high));
  return (bits >> 8) * 0x1p-24;
}

// past_key_values.0.key -> present.0.key, past_3 -> present_3.
std::string PresentName(std::string name) {
  for (const char* past : {"past_key_values", "past"})
    if (size_t at = name.find(past); at != std::string::npos)
      return name.replace(at, std::string_view(past).size(), "present");
  return name;
}

std::map<std::string, std::string> FindStates(const runtime::vm::Program& program,
                                              const SessionFlags& flags) {
  std::map<std::string, std::string> states;
  for (const std::string& text : flags.states) states.insert(SplitAssignment("--state", text));
  if (!states.empty()) return states;
  for (const Port& input : program.inputs) {
    if (input.name.find("past") == std::string::npos) continue;
    std::string present = PresentName(input.name);
    bool found = std::any_of(program.outputs.begin(), program.outputs.end(),
                             [&](const Port& output) { return output.name == present; });
    TERN_CHECK(found) << "--generate: input " << input.name << " has no output " << present
                      << " beside it; name it, as in --state " << input.name << "=OUTPUT";
    states[input.name] = present;
  }
  return states;
}

// What the tokens of a step go into: [1, so many].
Tensor Row(const Port& port, const std::vector<int64_t>& elements) {
  TERN_CHECK(port.dtype.is_integer() && port.shape.size() == 2)
      << "--generate: input " << port.name << " is of " << port.dtype.str() << " and rank "
      << port.shape.size() << "; integers [1, tokens] are expected";
  Tensor tensor = Tensor::Empty({1, static_cast<int64_t>(elements.size())}, port.dtype);
  for (size_t i = 0; i < elements.size(); ++i)
    runtime::SetElement(tensor, static_cast<int64_t>(i), static_cast<double>(elements[i]));
  return tensor;
}

class Generator {
 public:
  Generator(const std::shared_ptr<const runtime::vm::Model>& model, const GenerateOptions& options,
            const SessionFlags& flags, const std::map<std::string, Tensor>& inputs)
      : program_(model->program()),
        model_(*model),
        options_(options),
        flags_(flags),
        inputs_(inputs),
        states_(FindStates(program_, flags)),
        session_(model, MakeSessionOptions(flags)) {
    for (const auto& [input, output] : states_) session_.BindState(input, output);
    TERN_CHECK(Find(program_.inputs, kTokens))
        << "--generate: the model has no input " << kTokens
        << " for the tokens; it has: " << Names(program_.inputs);
    FindScores();
  }

  std::vector<int64_t> Run() {
    std::vector<int64_t> tokens = options_.tokens, made, next = tokens;
    TERN_CHECK(!tokens.empty()) << "--generate: expected a token to begin with, as in --tokens 1,2";
    // A model that takes one token a step reads the first ones one by one.
    bool one_by_one = !states_.empty() && TokensOfStep() == 1;
    while (static_cast<int64_t>(made.size()) < options_.count) {
      std::vector<float> scores;
      if (states_.empty()) next = tokens;
      if (one_by_one)
        for (int64_t token : next) scores = Step({token});
      else
        scores = Step(next);
      for (int64_t token : tokens)
        TERN_CHECK(token >= 0 && token < static_cast<int64_t>(scores.size()))
            << "--tokens " << token << ": the model has scores for 0 to " << scores.size() - 1;
      int64_t token = ChooseToken(scores, options_, made.size());
      made.push_back(token);
      tokens.push_back(token);
      next = {token};
      if (token == options_.end_token) break;
    }
    return made;
  }

 private:
  static const Port* Find(const std::vector<Port>& ports, std::string_view name) {
    for (const Port& port : ports)
      if (port.name == name) return &port;
    return nullptr;
  }
  static std::string Names(const std::vector<Port>& ports) {
    std::vector<std::string> names;
    for (const Port& port : ports) names.push_back(port.name);
    return ffi::Join(names);
  }

  void FindScores() {
    auto is_state = [&](const std::string& output) {
      return std::any_of(states_.begin(), states_.end(),
                         [&](const auto& state) { return state.second == output; });
    };
    for (size_t i = program_.outputs.size(); i-- > 0;)
      if (!is_state(program_.outputs[i].name)) scores_ = i;
    for (size_t i = 0; i < program_.outputs.size(); ++i)
      if (program_.outputs[i].name == "logits") scores_ = i;
    TERN_CHECK(scores_) << "--generate: the model has no output of scores; it has: "
                        << Names(program_.outputs);
    const Port& port = program_.outputs[*scores_];
    TERN_CHECK(port.dtype.is_float() && port.shape.size() == 3)
        << "--generate: output " << port.name << " is of " << port.dtype.str() << " and rank "
        << port.shape.size() << "; scores [1, tokens, vocabulary] are expected";
  }

  // How many tokens a step has to have; nothing: any number.
  std::optional<int64_t> TokensOfStep() const {
    const Port& port = *Find(program_.inputs, kTokens);
    if (port.shape.size() != 2 || !port.shape[1].is_const()) return {};
    return port.shape[1].tokens[0].value;
  }

  // The scores of what follows these tokens, which come behind those of the steps before.
  std::vector<float> Step(const std::vector<int64_t>& tokens) {
    int64_t past = states_.empty() ? 0 : done_;
    done_ = past + static_cast<int64_t>(tokens.size());
    std::vector<Tensor> given;
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const Port& port = program_.inputs[i];
      std::vector<int64_t> elements;
      if (auto it = inputs_.find(port.name); it != inputs_.end()) {
        given.push_back(it->second);
      } else if (port.name == kTokens) {
        given.push_back(Row(port, tokens));
      } else if (port.name == kPositions) {
        elements.resize(tokens.size());
        std::iota(elements.begin(), elements.end(), past);
        given.push_back(Row(port, elements));
      } else if (port.name == kMask) {
        elements.assign(static_cast<size_t>(done_), 1);
        given.push_back(Row(port, elements));
      } else {
        TERN_CHECK(states_.contains(port.name) || model_.input_default(i))
            << "--generate: input " << port.name << " is not given; " << kTokens << ", "
            << kPositions << ", " << kMask << " and states are made";
        given.emplace_back();
      }
    }
    Tensor scores =
        session_.Run(given, {}, MakeRunOptions(flags_))[*scores_].CopyTo({kTernDeviceCpu, 0});
    const std::vector<int64_t>& shape = scores->shape();
    TERN_CHECK(shape[0] == 1 && shape[1] > 0 && shape[2] > 0)
        << "--generate: scores are " << ffi::ShapeText(shape) << "; [1, tokens, vocabulary] are "
        << "expected";
    std::vector<float> last(static_cast<size_t>(shape[2]));
    for (size_t i = 0; i < last.size(); ++i)
      last[i] = static_cast<float>(
          runtime::GetElement(scores, (shape[1] - 1) * shape[2] + static_cast<int64_t>(i)));
    return last;
  }

  const runtime::vm::Program& program_;
  const runtime::vm::Model& model_;
  const GenerateOptions& options_;
  const SessionFlags& flags_;
  const std::map<std::string, Tensor>& inputs_;
  std::map<std::string, std::string> states_;
  runtime::vm::Session session_;
  std::optional<size_t> scores_;
  int64_t done_ = 0;  // tokens that caches have
};

}  // namespace

int64_t ChooseToken(const std::vector<float>& scores, const GenerateOptions& options,
                    uint64_t step) {
  for (float score : scores) TERN_CHECK(!std::isnan(score)) << "--generate: a score is NaN";
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  // The likeliest first; of equals the first.
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  if (options.temperature == 0) return order[0];
  if (options.top_k > 0 && static_cast<size_t>(options.top_k) < order.size())
    order.resize(static_cast<size_t>(options.top_k));
  std::vector<double> weights;
  double sum = 0, most = scores[static_cast<size_t>(order[0])];
  for (int64_t token : order) {
    weights.push_back(std::exp((scores[static_cast<size_t>(token)] - most) / options.temperature));
    sum += weights.back();
  }
  double left = Uniform(options.seed, step) * sum;
  for (size_t i = 0; i < order.size(); ++i)
    if ((left -= weights[i]) < 0) return order[i];
  return order.back();
}

std::vector<int64_t> Generate(const std::shared_ptr<const runtime::vm::Model>& model,
                              const GenerateOptions& options, const SessionFlags& flags,
                              const std::map<std::string, Tensor>& inputs) {
  return Generator(model, options, flags, inputs).Run();
}

}  // namespace tern::tools
