// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/random_schedule.h"

#include <set>

#include "tern/tir/text.h"
#include "tern/tir/visitor.h"

namespace tern::fuzz {
namespace {

using namespace tern::tir;

struct Array {
  std::string name;
  std::vector<std::string> shape;
};

// Writes a function as text, stage by stage.
class ProgramWriter {
 public:
  explicit ProgramWriter(Random* random) : random_(random) {
    for (int i = 0; i < 3; ++i) extents_.push_back(std::to_string(random->Between(1, 7)));
    if (random->OneIn(3)) extents_[random->Below(3)] = "n";
    arrays_ = {
        {"A", {extents_[0], extents_[1]}}, {"B", {extents_[1], extents_[2]}}, {"V", {extents_[1]}}};
  }

  std::string Write() {
    std::string params;
    for (const Array& array : arrays_) params += Declare(array) + ", ";
    auto stages = random_->Between(1, 4);
    for (int64_t i = 0; i < stages; ++i) WriteStage();
    const Array& last = arrays_.back();
    // The last result goes out.
    body_ += Nest("out", last.shape, {},
                  "C" + Index(last.shape.size()) + " = " + last.name + Index(last.shape.size()) +
                      " + int32(1)");
    for (const std::string& alloc : allocs_) body_ = "alloc " + alloc + "\n" + body_;
    return "func f(" + params + Declare({"C", last.shape}) + ") {\n" + body_ + "}\n";
  }

 private:
  static std::string Declare(const Array& array) {
    std::string text = array.name + ": int32[";
    for (size_t d = 0; d < array.shape.size(); ++d) text += (d ? ", " : "") + array.shape[d];
    return text + "]";
  }
  // [v0, v1]
  static std::string Index(size_t rank, size_t first = 0) {
    std::string text = "[";
    for (size_t d = 0; d < rank; ++d) text += (d ? ", v" : "v") + std::to_string(first + d);
    return text + "]";
  }
  static std::string Axis(size_t d, const std::string& kind, const std::string& extent,
                          const std::string& loop) {
    return "v" + std::to_string(d) + ": " + kind + "(" + extent + ") = " + loop;
  }

  // Loops name_0, ... around a block of these axes, the last ones of which reduce.
  std::string Nest(const std::string& name, const std::vector<std::string>& spatial,
                   const std::vector<std::string>& reduce, const std::string& body,
                   const std::string& init = "", const std::string& outer = "") {
    std::string loops, axes;
    size_t d = 0;
    for (const auto* list : {&spatial, &reduce})
      for (const std::string& extent : *list) {
        bool is_outer = d == 0 && !outer.empty();
        std::string loop = is_outer ? outer : name + "_" + std::to_string(d);
        if (!is_outer) loops += "for " + loop + " in 0.." + extent + " {\n";
        axes += (d ? ", " : "") + Axis(d, list == &reduce ? "reduce" : "spatial", extent, loop);
        ++d;
      }
    std::string text = loops + "block " + name + "(" + axes + ") {\n";
    if (!init.empty()) text += "init {\n" + init + "\n}\n";
    text += body + "\n}\n";
    for (size_t i = outer.empty() ? 0 : 1; i < d; ++i) text += "}\n";
    return text;
  }

  const Array& PickArray(size_t rank) {
    std::vector<const Array*> fitting;
    for (const Array& array : arrays_)
      if (array.shape.size() == rank) fitting.push_back(&array);
    // Late ones more often, so that stages depend on one another.
    return *fitting[fitting.size() - 1 - random_->Below((random_->Below(fitting.size())) + 1)];
  }

  void Add(Array array, const std::string& text) {
    allocs_.push_back(Declare(array));
    arrays_.push_back(std::move(array));
    body_ += text;
  }

  void WriteStage() {
    std::string name = "s" + std::to_string(arrays_.size());
    std::string result = "T" + std::to_string(arrays_.size());
    Array x = PickArray(2);
    const std::vector<std::string>& shape = x.shape;
    std::string here = result + "[v0, v1] = ", at = x.name + "[v0, v1]";
    switch (random_->Below(12)) {
      case 0:
        return Add({result, shape}, Nest(name, shape, {}, here + at + " * int32(3) - int32(1)"));
      case 1:
        return Add({result, {shape[1], shape[0]}},
                   Nest(name, {shape[1], shape[0]}, {}, here + x.name + "[v1, v0]"));
      case 2: {
        std::string combine =
            random_->OneIn(2) ? "max(" + result + "[v0], " + at + ")" : result + "[v0] + " + at;
        return Add({result, {shape[0]}},
                   Nest(name, {shape[0]}, {shape[1]}, result + "[v0] = " + combine,
                        result + "[v0] = int32(-100)"));
      }
      case 3: {
        const Array* y = nullptr;
        for (const Array& array : arrays_)
          if (array.shape.size() == 2 && array.shape[0] == shape[1]) y = &array;
        if (!y) return WriteStage();
        Array product{result, {shape[0], y->shape[1]}};
        std::string text =
            Nest(name, product.shape, {shape[1]},
                 here + result + "[v0, v1] + " + x.name + "[v0, v2] * " + y->name + "[v2, v1]",
                 here + "int32(0)");
        return Add(product, text);
      }
      case 4:
        return Add({result, shape}, Nest(name, shape, {},
                                         here + x.name + "[v0, max(v1 - 1, 0)] + select(v1 + 1 < " +
                                             shape[1] + ", " + x.name + "[v0, v1 + 1], int32(0))"));
      case 5: {
        // Two blocks in one loop: a row is summed, then scaled.
        std::string sum = "R" + std::to_string(arrays_.size()), loop = name + "_r";
        allocs_.push_back(sum + ": int32[" + shape[0] + "]");
        std::string text =
            "for " + loop + " in 0.." + shape[0] + " {\n" +
            Nest(name + "s", {shape[0]}, {shape[1]}, sum + "[v0] = " + sum + "[v0] + " + at,
                 sum + "[v0] = int32(0)", loop) +
            Nest(name, shape, {}, here + at + " - " + sum + "[v0]", "", loop) + "}\n";
        return Add({result, shape}, text);
      }
      case 6: {
        // Plain statements.
        std::string i = name + "_0", j = name + "_1", k = name + "_2";
        return Add({result, shape}, "for " + i + " in 0.." + shape[0] + " {\nfor " + j + " in 0.." +
                                        shape[1] + " {\n" + result + "[" + i + ", " + j +
                                        "] = " + x.name + "[" + i + ", " + j + "] + int32(" + i +
                                        ")\n}\nfor " + k + " in 1.." + shape[1] + " {\n" + result +
                                        "[" + i + ", " + k + "] = " + result + "[" + i + ", " + k +
                                        " - 1] + int32(1)" + "\n}\n}\n");
      }
      case 8: {
        // Both axes in one loop.
        std::string loop = name + "_0";
        return Add({result, shape},
                   "for " + loop + " in 0.." + shape[0] + " * " + shape[1] + " {\nblock " + name +
                       "(" + Axis(0, "spatial", shape[0], loop + " // " + shape[1]) + ", " +
                       Axis(1, "spatial", shape[1], loop + " % " + shape[1]) + ") {\n" + here + at +
                       " + int32(v1)\n}\n}\n");
      }
      case 9: {
        // Rows in pairs; the last may be alone.
        std::string outer = name + "_0", inner = name + "_1", loop = name + "_2",
                    row = outer + " * 2 + " + inner;
        return Add({result, shape},
                   "for " + outer + " in 0..(" + shape[0] + " + 1) // 2, " + inner + " in 0..2, " +
                       loop + " in 0.." + shape[1] + " {\nblock " + name + "(" +
                       Axis(0, "spatial", shape[0], row) + ", " +
                       Axis(1, "spatial", shape[1], loop) + ") where " + row + " < " + shape[0] +
                       " {\n" + here + at + " - int32(v0)\n}\n}\n");
      }
      case 10: {
        // Windows, with a border of zeros.
        std::string row = "v0 + v2 - 1", column = "v1 + v3 * 2 - 2";
        return Add(
            {result, shape},
            Nest(name, shape, {"3", "2"},
                 here + result + "[v0, v1] + select(" + row + " >= 0 && " + row + " < " + shape[0] +
                     " && " + column + " >= 0 && " + column + " < " + shape[1] + ", " + x.name +
                     "[" + row + ", " + column + "], int32(0)) * int32(v3 + 1)",
                 here + "int32(0)"));
      }
      case 7:
        // Over both of its axes, with another one.
        return Add({result, {extents_[2]}}, Nest(name, {extents_[2]}, shape,
                                                 result + "[v0] = " + result + "[v0] + " + x.name +
                                                     "[v1, v2] * int32(v0 + v2)",
                                                 result + "[v0] = int32(2)"));
      default: {
        const Array& y = PickArray(2);
        bool fits = y.shape == shape;
        return Add(
            {result, shape},
            Nest(name, shape, {}, here + at + " - " + (fits ? y.name : x.name) + "[v0, v1]"));
      }
    }
  }

  Random* random_;
  std::vector<std::string> extents_, allocs_;
  std::vector<Array> arrays_;
  std::string body_;
};

struct Names : StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitNode(const ForNode* node) override {
    loops.push_back(node->var.name());
    around.push_back(node->var.name());
    VisitChildren(node);
    around.pop_back();
  }
  void VisitNode(const BlockNode* node) override {
    blocks.push_back(node->name);
    for (const std::string& loop : around) loops.push_back(node->name + "." + loop);
    VisitChildren(node);
  }
  void VisitNode(const AllocateNode* node) override {
    temporaries.push_back(node->buffer->name);
    VisitChildren(node);
  }
  void VisitNode(const ir::BufferLoadNode* node) override {
    buffers.insert(node->buffer->name);
    VisitChildren(node);
  }
  void VisitNode(const BufferStoreNode* node) override {
    buffers.insert(node->buffer->name);
    VisitChildren(node);
  }
  std::vector<std::string> loops, blocks, temporaries, around;
  std::set<std::string> buffers;
};

}  // namespace

PrimFunc MakeBlockProgram(Random* random) {
  std::string text = ProgramWriter(random).Write();
  return AsPrimFunc(ParseModule("program.tir", text)->functions.begin()->second);
}

std::string MakeStep(const PrimFunc& function, Random* random) {
  Names names;
  names.Visit(function->body);
  names.loops.emplace_back("missing");
  names.blocks.emplace_back("missing");
  names.temporaries.emplace_back("missing");
  std::vector<std::string> buffers(names.buffers.begin(), names.buffers.end());
  buffers.emplace_back("missing");
  auto loop = [&] { return random->Pick(names.loops); };
  auto block = [&] { return random->Pick(names.blocks); };
  auto number = [&](int64_t most) { return std::to_string(random->Between(1, most)); };
  auto call = [](const char* name, const std::vector<std::string>& args) {
    std::string text = name;
    for (size_t i = 0; i < args.size(); ++i) text += (i ? ", " : "(") + args[i];
    return text + ")";
  };
  std::vector<std::string> scopes = {"global", "local"};
  std::vector<std::string> maps = {
      "(i, j) -> (j, i)",       "(i, j) -> (i // 2, j, i % 2)", "(i, j) -> (i, j // 3, j % 3)",
      "(i) -> (i // 4, i % 4)", "(i, j) -> (i * 7 + j)",        "(i, j) -> (i + j, i)"};
  std::vector<std::string> tails = {"loop", "guard", "mask", "mask", "exact"};
  std::vector<std::string> sizes = {"n", "n + 1", "(n + 1) // 2", "max(n, 2) - 3", "missing"};
  switch (random->Below(24)) {
    case 0:
      return call("split", {loop(), number(4), "tail = " + random->Pick(tails)});
    case 1:
      return call("split", {loop(), random->OneIn(3) ? random->Pick(sizes) : number(4)});
    case 2:
      return call("split", {loop(), number(3), "2"});
    case 3: {
      auto first = random->Below(static_cast<int64_t>(names.loops.size()));
      return call("fuse", {names.loops[first], names.loops[(first + 1) % names.loops.size()]});
    }
    case 4:
      return call("parallel", {loop()});
    case 5:
      return call("vectorize", {loop()});
    case 6:
      return random->OneIn(3) ? call("bind", {loop(), random->OneIn(2) ? "vthread.x" : "vthread.y"})
                              : call("unroll", {loop()});
    case 7: {
      std::vector<std::string> some = {loop(), loop()};
      if (random->OneIn(2)) some.push_back(loop());
      return call("reorder", some);
    }
    case 8:
      return call("loop_partition", {loop(), number(5)});
    case 9:
    case 10:
      return call("compute_at", {block(), loop()});
    case 11:
    case 12:
      return call("reverse_compute_at", {block(), loop()});
    case 13:
      return call("compute_inline", {block()});
    case 14:
      return call("reverse_compute_inline", {block()});
    case 15:
      return call("cache_read", {block(), random->Pick(buffers), random->Pick(scopes)});
    case 16:
      return call("cache_write", {block(), random->Pick(buffers), random->Pick(scopes)});
    case 17:
      return random->OneIn(2)
                 ? call("set_scope", {random->Pick(names.temporaries), random->Pick(scopes)})
                 : call("storage_align", {random->Pick(names.temporaries), "0", number(8), "0"});
    case 18:
      return random->OneIn(3)
                 ? call("set_dtype",
                        {random->Pick(names.temporaries), random->OneIn(2) ? "int64" : "float64"})
                 : call("transform_layout", {random->Pick(names.temporaries), random->Pick(maps)});
    case 19:
      return random->OneIn(2) ? call("decompose_reduction", {block(), loop()})
                              : call("blockize", {loop()});
    case 20:
      return call("rfactor", {loop()});
    case 21:
      return call("flatten_spatial", {block(), number(8)});
    case 22:
      return call("fuse_siblings", {loop(), loop()});
    default:
      return random->OneIn(2) ? call("pad_einsum", {block(), number(4), number(4), number(4)})
                              : call("pipeline", {loop(), "0", "1"});
  }
}

}  // namespace tern::fuzz
