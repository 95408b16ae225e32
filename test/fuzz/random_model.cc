// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/random_model.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "test/fuzz/random.h"

namespace tern::fuzz {
namespace {

std::string Number(int64_t value) { return std::to_string(value); }

// A function that the others may invoke: name(i0, i1, t0 of extent i0, t1 of extent i1).
struct Callee {
  std::string name;
  int extent = 0;  // of its result: 0 for i0, 1 for i1
};

// The body of one function. Tensors have an extent: that of the first int parameter or the second.
class FunctionMaker {
 public:
  FunctionMaker(Random* random, const std::vector<Callee>& callees, bool is_main)
      : random_(*random), callees_(callees), is_main_(is_main) {
    live_[0] = {"t0"};
    live_[1] = {"t1"};
  }

  // With its braces; `result` is what a function other than main returns.
  std::string Make(const std::string& head, int result, int most_steps) {
    int steps = 3 + Below(most_steps);
    for (int i = 0; i < steps; ++i) Step(/*depth=*/0);
    std::string last = is_main_ ? Outputs() : Result(result);
    std::string text = head + " {\nints " + Number(ints_) + "\n";
    if (lists_ > 0) text += "lists " + Number(lists_) + "\n";
    for (size_t i = 2; i < ranks_.size(); ++i) {
      std::string name = "t" + Number(static_cast<int64_t>(i));
      text += name + (table_.contains(name) ? ": int64[" : ": float32[") +
              (ranks_[i] == 2 ? ":, :" : ":") + "]\n";
    }
    return text + code_ + "ret " + last + "\n}\n";
  }

 private:
  int Below(int limit) { return static_cast<int>(random_.Below(limit)); }
  std::string NewTensor(int rank = 1) {
    ranks_.push_back(rank);
    return "t" + Number(static_cast<int64_t>(ranks_.size()) - 1);
  }
  std::string NewInt() { return "i" + Number(ints_++); }
  const std::string& Any(int extent) { return random_.Pick(live_[static_cast<size_t>(extent)]); }
  const std::string& AnyCompact(int extent) {
    for (;;)
      if (const std::string& one = Any(extent); !strided_.contains(one)) return one;
  }
  static std::string Extent(int extent) { return extent == 0 ? "i0" : "i1"; }
  void Say(const std::string& line) { code_ += line + "\n"; }
  void Fill(int extent, const std::string& to) {
    if (random_.OneIn(4))
      Say("call scale(" + Any(extent) + ", 0.5, " + to + ")");
    else
      Say("call add(" + Any(extent) + ", " + Any(extent) + ", " + to + ")");
  }

  // From here on it can be used, until `owner` is freed, which this block does.
  void Add(int extent, const std::string& tensor, const std::string& owner, bool is_writable) {
    live_[static_cast<size_t>(extent)].push_back(tensor);
    scopes_.back().push_back({tensor, owner});
    if (is_writable) writable_[static_cast<size_t>(extent)].push_back(tensor);
  }

  void Step(int depth) {
    switch (Below(depth < 2 ? 13 : 11)) {
      case 0:
      case 1:
        return Concat();
      case 2:
        return Plain();
      case 3:
        return Strided();
      case 4:
        return Reshaped();
      case 5:
      case 6:
        return Update();
      case 7:
        return Free();
      case 8:
        return Invoke();
      case 9:
        return List();
      case 10:
        return Constant();
      case 11:
        return Branch(depth);
      default:
        return Loop(depth);
    }
  }

  // Memory of the plan, or of a size that only the run knows.
  std::string Alloc(const std::string& extent) {
    std::string whole = NewTensor();
    if (random_.OneIn(6)) {
      std::string size = NewInt();
      Say(size + " = int " + extent);
      Say(whole + " = alloc [" + size + "]");
    } else {
      Say(whole + " = alloc [" + extent + "]");
    }
    return whole;
  }

  void Plain() {
    int extent = Below(2);
    std::string whole = Alloc(Extent(extent));
    if (random_.OneIn(3)) Say("copy " + AnyCompact(extent) + ", " + whole);
    Fill(extent, whole);
    Add(extent, whole, whole, true);
  }

  // Pieces of one tensor, each written where it lies; some of them, and of views of them, are used.
  void Concat() {
    int extent = Below(2), pieces = 1 + Below(3);
    std::string size = Extent(extent);
    std::string whole = Alloc(size + " * " + Number(pieces));
    std::vector<std::string> views;
    for (int i = 0; i < pieces; ++i) {
      views.push_back(NewTensor());
      Say(views.back() + " = view " + whole + ", " + size + " * " + Number(i) + ", [" + size + "]");
      Fill(extent, views.back());
    }
    std::string used = random_.Pick(views);
    if (random_.OneIn(2)) {
      std::string again = NewTensor();
      Say(again + " = view " + used + ", 0, [" + size + "]");
      used = again;
    }
    Add(extent, used, whole, true);
  }

  // Every second element.
  void Strided() {
    int extent = Below(2);
    std::string size = Extent(extent), whole = Alloc(size + " * 2"), first = NewTensor(),
                second = NewTensor(), used = NewTensor();
    Say(first + " = view " + whole + ", 0, [" + size + "]");
    Fill(extent, first);
    Say(second + " = view " + whole + ", " + size + ", [" + size + "]");
    Fill(extent, second);
    Say(used + " = view " + whole + ", 0, [" + size + "], [2]");
    strided_.insert(used);
    Add(extent, used, whole, false);
  }

  // Of the weights, or of what is made of them, from an element that a constant tells.
  void Constant() {
    int extent = Below(2);
    std::string table = NewTensor(), at = NewInt(), whole = NewTensor(), used = NewTensor();
    table_.insert(table);
    Say(table + " = const places");
    Say(at + " = read " + table + ", " + Number(Below(2)));
    Say(whole + " = const " + (random_.OneIn(2) ? "p" : "q"));
    Say(used + " = view " + whole + ", " + at + ", [" + Extent(extent) + "]");
    Add(extent, used, whole, false);
  }

  // Through a view of rank 2, and an empty one.
  void Reshaped() {
    int extent = Below(2);
    std::string size = Extent(extent), whole = Alloc(size), square = NewTensor(2),
                used = NewTensor(), empty = NewTensor();
    Fill(extent, whole);
    Say(square + " = view " + whole + ", 0, [" + size + ", 1]");
    Say(used + " = view " + square + ", 0, [" + size + "]");
    Say(empty + " = view " + square + ", 0, [0]");
    Add(extent, used, whole, true);
  }

  void Update() {
    int extent = Below(2);
    const std::vector<std::string>& tensors = writable_[static_cast<size_t>(extent)];
    if (!tensors.empty()) Fill(extent, random_.Pick(tensors));
  }

  void Invoke() {
    if (callees_.empty()) return;
    const Callee& callee = random_.Pick(callees_);
    std::string result = NewTensor();
    Say(result + " = invoke " + callee.name + "(i0, i1, " + AnyCompact(0) + ", " + AnyCompact(1) +
        ")");
    Add(callee.extent, result, result, false);
  }

  // Copies of tensors, of which one comes back.
  void List() {
    int extent = Below(2), count = 1 + Below(3);
    std::string list = "l" + Number(lists_++), made, result = NewTensor(), size = NewInt();
    for (int i = 0; i < count; ++i) made += (i ? ", " : "") + Any(extent);
    Say(list + " = list make(" + made + ")");
    if (random_.OneIn(2))
      Say("list insert(" + list + ", " + Any(extent) + "), " + Number(Below(count)));
    if (count > 1 && random_.OneIn(2)) Say("list erase(" + list + "), 0");
    Say(size + " = list size(" + list + ")");
    Say(result + " = list get(" + list + "), " + size + " - 1");
    if (random_.OneIn(2)) Say("free " + list);
    Add(extent, result, result, false);
  }

  // Of this block alone: what another one made, it may need.
  void Free() {
    std::vector<Made>& mine = scopes_.back();
    if (mine.empty()) return;
    size_t at = static_cast<size_t>(Below(static_cast<int>(mine.size())));
    Made one = mine[at];
    mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(at));
    Drop(one);
  }
  struct Made {
    std::string tensor, owner;
  };
  void Drop(const Made& one) {
    Say("free " + one.owner);
    for (size_t extent : {0, 1}) {
      std::erase(live_[extent], one.tensor);
      std::erase(writable_[extent], one.tensor);
    }
  }

  void Block(int depth) {
    scopes_.emplace_back();
    int steps = 1 + Below(5);
    for (int i = 0; i < steps; ++i) Step(depth + 1);
    for (const Made& one : scopes_.back()) Drop(one);
    scopes_.pop_back();
  }
  void Branch(int depth) {
    std::string label = "L" + Number(labels_++);
    Say("branch i" + Number(Below(2)) + " % 3 == " + Number(Below(3)) + ", " + label);
    Block(depth);
    Say(label + ":");
  }
  void Loop(int depth) {
    std::string label = "L" + Number(labels_++), count = NewInt();
    Say(count + " = int 0");
    Say(label + ":");
    Block(depth);
    Say(count + " = int " + count + " + 1");
    Say("branch " + count + " < " + Number(1 + Below(3)) + ", " + label);
  }

  // The sum of all that is left, in the model's memory, and a view of memory of the plan.
  std::string Outputs() {
    std::string y = NewTensor(), z = NewTensor(), w = NewTensor();
    Say(y + " = alloc [i0] output 0");
    Sum(0, y);
    std::string whole = Alloc("i1 * 2");
    Say(z + " = view " + whole + ", i1, [i1]");
    Sum(1, z);
    int extent = Below(2);  // one of them, whatever it is, as it is
    Say(w + " = view " + AnyCompact(extent) + ", 0, [0]");
    return y + ", " + z + ", " + Any(0) + ", " + w;
  }
  std::string Result(int extent) {
    std::string sum = Alloc(Extent(extent));
    Sum(extent, sum);
    if (random_.OneIn(2)) return sum;
    std::string view = NewTensor();
    Say(view + " = view " + sum + ", 0, [" + Extent(extent) + "]");
    return view;
  }
  void Sum(int extent, const std::string& to) {
    Say("call scale(" + Any(extent) + ", 1, " + to + ")");
    for (const std::string& one : live_[static_cast<size_t>(extent)])
      Say("call add(" + one + ", " + to + ", " + to + ")");
  }

  Random& random_;
  const std::vector<Callee>& callees_;
  bool is_main_;
  std::string code_;
  std::vector<int> ranks_ = {1, 1};  // of tensor registers
  int ints_ = 2, lists_ = 0, labels_ = 0;
  std::array<std::vector<std::string>, 2> live_, writable_;  // by extent
  std::set<std::string> strided_, table_;                    // with strides; of indices
  std::vector<std::vector<Made>> scopes_ = {{}};
};

}  // namespace

std::string RandomModel(uint64_t seed, int most_steps) {
  Random random(seed);
  std::vector<Callee> callees;
  std::string functions;
  for (int64_t i = random.Below(3); i > 0; --i) {  // each may invoke those behind it
    Callee one{"f" + Number(i), static_cast<int>(random.Below(2))};
    functions =
        FunctionMaker(&random, callees, false)
            .Make("func " + one.name + "(i0, i1, t0: float32[:], t1: float32[:]) -> (tensor)",
                  one.extent, 8) +
        functions;
    callees.push_back(one);
  }
  return "model 1\ndim n\ndim m\ninput x: float32[n]\ninput u: float32[m]\n"
         "output y: float32[n]\noutput z: float32[m]\noutput v: float32[n]\noutput w: float32[0]\n"
         "constant p: float32[96] weights\nconstant q: float32[96] made\nprepack twice(p, q)\n"
         "constant places: int64[2] = 0x00000000000000000700000000000000\n" +
         FunctionMaker(&random, callees, true)
             .Make(
                 "func main(i0, i1, t0: float32[:], t1: float32[:]) -> (tensor, tensor, tensor, "
                 "tensor)",
                 0, most_steps) +
         functions;
}

}  // namespace tern::fuzz
