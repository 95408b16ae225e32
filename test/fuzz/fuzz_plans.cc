// SPDX-License-Identifier: Apache-2.0
//
// fuzz_plans [--seed S] [--count N]: random programs of models, with views, branches and loops, run
// with and without memory that is used again. What was not written, or was freed, is poisoned; the
// results are the same bits.
#include <cstdio>
#include <cstring>

#include "tern/runtime/test_data/test_kernels.h"
#include "tern/runtime/vm/session.h"
#include "tern/runtime/vm/text.h"
#include "test/fuzz/random.h"

namespace tern::fuzz {
namespace {

using runtime::Tensor;
using runtime::vm::Session;

// Tensors of main are float32 of n elements, or of some times n, of which views of n elements are
// used.
class ProgramMaker {
 public:
  explicit ProgramMaker(uint64_t seed) : random_(seed) {}

  std::string Make() {
    live_ = {"t0"};
    int steps = 5 + Below(40);
    for (int i = 0; i < steps; ++i) Step(/*depth=*/0);
    std::string y = NewTensor();
    code_ += y + " = alloc [i0] output 0\n";
    code_ += "call scale(" + Any() + ", 1, " + y + ")\n";
    for (const std::string& one : live_) code_ += "call add(" + one + ", " + y + ", " + y + ")\n";
    code_ += "ret " + y + "\n";
    std::string text = "model 1\ndim n\ninput x: float32[n]\noutput y: float32[n]\n";
    text += "func main(i0, t0: float32[:]) -> (tensor) {\nints " + std::to_string(ints_) + "\n";
    for (int i = 1; i < tensors_; ++i) text += "t" + std::to_string(i) + ": float32[:]\n";
    return text + code_ + "}\n";
  }

 private:
  int Below(int limit) { return static_cast<int>(random_.Below(limit)); }
  std::string NewTensor() { return "t" + std::to_string(tensors_++); }
  const std::string& Any() {
    return live_[static_cast<size_t>(Below(static_cast<int>(live_.size())))];
  }

  void Step(int depth) {
    switch (Below(depth < 2 ? 6 : 4)) {
      case 0:
      case 1:
        return Allocate();
      case 2:
        return Update();
      case 3:
        return Free();
      case 4:
        return Branch(depth);
      default:
        return Loop(depth);
    }
  }

  // A tensor of one or more pieces, all written; one piece is used from then on.
  void Allocate() {
    std::string whole = NewTensor();
    int pieces = 1 + Below(3);
    code_ += whole + " = alloc [i0 * " + std::to_string(pieces) + "]\n";
    std::vector<std::string> views;
    for (int i = 0; i < pieces; ++i) {
      views.push_back(NewTensor());
      code_ += views.back() + " = view " + whole + ", i0 * " + std::to_string(i) + ", [i0]\n";
      code_ += "call add(" + Any() + ", " + Any() + ", " + views.back() + ")\n";
    }
    std::string used = views[static_cast<size_t>(Below(pieces))];
    live_.push_back(used);
    owners_[used] = whole;
    scopes_.back().push_back(used);
  }

  void Update() {
    if (Any() == "t0") return;
    const std::string& to = Any();
    if (to != "t0") code_ += "call add(" + Any() + ", " + Any() + ", " + to + ")\n";
  }

  // Of this block alone: what another one made, it may need.
  void Free() {
    std::vector<std::string>& mine = scopes_.back();
    if (mine.empty()) return;
    size_t at = static_cast<size_t>(Below(static_cast<int>(mine.size())));
    Drop(mine[at]);
    mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void Drop(const std::string& used) {
    code_ += "free " + owners_[used] + "\n";
    std::erase(live_, used);
  }

  void Block(int depth) {
    scopes_.emplace_back();
    int steps = 1 + Below(5);
    for (int i = 0; i < steps; ++i) Step(depth + 1);
    for (const std::string& used : scopes_.back()) Drop(used);
    scopes_.pop_back();
  }
  void Branch(int depth) {
    std::string label = "L" + std::to_string(labels_++);
    code_ += "branch i0 % 3 == " + std::to_string(Below(3)) + ", " + label + "\n";
    Block(depth);
    code_ += label + ":\n";
  }
  void Loop(int depth) {
    std::string label = "L" + std::to_string(labels_++), count = "i" + std::to_string(ints_++);
    code_ += count + " = int 0\n" + label + ":\n";
    Block(depth);
    code_ += count + " = int " + count + " + 1\nbranch " + count + " < " +
             std::to_string(1 + Below(3)) + ", " + label + "\n";
  }

  Random random_;
  std::string code_;
  int tensors_ = 1, ints_ = 1, labels_ = 0;
  std::vector<std::string> live_;
  std::vector<std::vector<std::string>> scopes_ = {{}};
  std::map<std::string, std::string> owners_;
};

bool SameResults(const std::shared_ptr<const runtime::vm::Model>& model) {
  Session reuse(model, {.reuse_memory = true, .poison_memory = true});
  Session apart(model, {.reuse_memory = false, .poison_memory = true});
  for (int64_t n : {1, 5, 40}) {
    Tensor x = Tensor::Empty({n}, DataType::Float(32));
    for (int64_t i = 0; i < n; ++i) SetElement(x, i, static_cast<double>(i + 1) * 0x1p-40);
    Tensor a = reuse.Run({x})[0], b = apart.Run({x})[0];
    if (std::memcmp(a->data(), b->data(), a->num_bytes()) != 0) return false;
  }
  return true;
}

int Main(int argc, char** argv) {
  uint64_t seed = 1, count = 1000;
  for (int i = 1; i + 1 < argc; i += 2) {
    uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seed") == 0) seed = value;
    if (std::strcmp(argv[i], "--count") == 0) count = value;
  }
  for (uint64_t i = 0; i < count; ++i) {
    std::string text = ProgramMaker(seed + i).Make();
    try {
      auto model = std::make_shared<const runtime::vm::Model>(runtime::vm::ModelParts{
          runtime::vm::ParseProgram(text, "program"),
          ffi::Module(ffi::Make<runtime::TestKernels>()), runtime::TestKernels::Infos()});
      if (SameResults(model)) continue;
      std::printf("seed %s: results differ\n%s", std::to_string(seed + i).c_str(), text.c_str());
    } catch (const Error& error) {
      std::printf("seed %s: %s\n%s", std::to_string(seed + i).c_str(), error.what(), text.c_str());
    }
    return 1;
  }
  std::printf("%s programs\n", std::to_string(count).c_str());
  return 0;
}

}  // namespace
}  // namespace tern::fuzz

int main(int argc, char** argv) { return tern::fuzz::Main(argc, argv); }
