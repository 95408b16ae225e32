// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/schedule.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/schedule/block_facts.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/tensor_intrinsic.h"
#include "tern/tir/text.h"

namespace tern::schedule {
namespace {

using namespace tern::tir;

void ExpectContains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

PrimFunc Parse(const std::string& text) {
  Initialize();
  return AsPrimFunc(ParseModule("test.tir", text)->functions.begin()->second);
}

constexpr const char* kMatmul = R"(
func matmul(A: int32[7, 5], B: int32[5, 6], C: int32[7, 6]) {
  for i in 0..7, j in 0..6, l in 0..5 {
    block matmul(vi: spatial(7) = i, vj: spatial(6) = j, vk: reduce(5) = l) {
      init { C[vi, vj] = int32(0) }
      C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    }
  }
})";

// Rows beyond the one there is would be sums in its place.
TEST(Schedule, PadsNoAxisThatTheResultDoesNotHave) {
  Schedule schedule(Parse(R"(
    func f(A: int32[4], B: int32[4, 1], C: int32[1]) {
      for i in 0..1, l in 0..4 {
        block sum(vi: spatial(1) = i, vk: reduce(4) = l) {
          init { C[0] = int32(0) }
          C[0] = C[0] + A[vk] * B[vk, vi]
        }
      }
    })"));
  try {
    schedule.PadEinsum(schedule.BlockNamed("sum"), {3, 4});
    FAIL() << "is not refused";
  } catch (const Error& error) {
    ExpectContains(error.message(), "axis vi is no axis of C");
  }
}

TEST(Schedule, NamesWhatItMakes) {
  Schedule schedule(Parse(kMatmul));
  auto [outer, inner] = schedule.Split(schedule.LoopNamed("i"), {4});
  EXPECT_EQ(outer.name(), "i_0");
  EXPECT_EQ(inner.name(), "i_1");
  EXPECT_EQ(schedule.Fuse({schedule.LoopNamed("j"), schedule.LoopNamed("l")}).name(), "j_l_fused");
  EXPECT_EQ(schedule.trace().str(), "i_0, i_1 = split(i, 4)\nj_l_fused = fuse(j, l)\n");
}

// Rules look at nests between steps.
TEST(Schedule, ANestOutlivesTheStepsThatReplaceIt) {
  Schedule schedule(Parse(kMatmul));
  Nest nest = NestOf(schedule.tree(), BlocksIn(schedule.function()->body)[0]);
  for (const char* loop : {"i", "j", "l"}) schedule.Unroll(schedule.LoopNamed(loop));
  EXPECT_FALSE(nest.root.same(schedule.function()->body));
  EXPECT_EQ(*ir::AsConstInt(nest.loops.at(2)->extent), 5);
  EXPECT_EQ(nest.block->name, "matmul");
}

constexpr const char* kTwoNests = R"(
func two(A: int32[8, 6], B: int32[8, 6], C: int32[8, 6]) {
  for i in 0..8, j in 0..6 {
    block double(vi: spatial(8) = i, vj: spatial(6) = j) {
      B[vi, vj] = A[vi, vj] * int32(2)
    }
  }
  for k in 0..8, l in 0..6 {
    block negate(vi: spatial(8) = k, vj: spatial(6) = l) {
      C[vi, vj] = int32(0) - A[vi, vj]
    }
  }
})";

TEST(StmtTree, FollowsWhatIsReplaced) {
  Stmt body = Parse(kTwoNests)->body;
  StmtTree tree(body);
  const ForNode *i = tree.LoopsNamed("i").at(0), *j = tree.LoopsNamed("j").at(0),
                *k = tree.LoopsNamed("k").at(0);
  const BlockNode* block = tree.BlocksNamed("double").at(0);
  EXPECT_EQ(tree.ParentOf(i), body.get());
  EXPECT_EQ(tree.ParentOf(body.get()), nullptr);
  EXPECT_EQ(tree.PathTo(block), (Path{body.get(), i, j, block}));
  EXPECT_TRUE(tree.IsInside(block, i));
  EXPECT_FALSE(tree.IsInside(block, k));

  // j goes; its block stays, and so does all of the other nest.
  Stmt without = ReplaceAt(tree.PathTo(j), j->body);
  tree.Update(without);
  EXPECT_TRUE(tree.IsUpToDate());
  EXPECT_TRUE(tree.LoopsNamed("j").empty());
  EXPECT_EQ(tree.BlocksNamed("double").at(0), block);
  EXPECT_EQ(tree.LoopsNamed("k").at(0), k);
  EXPECT_NE(tree.LoopsNamed("i").at(0), i);
  EXPECT_EQ(tree.PathTo(block), (Path{without.get(), tree.LoopsNamed("i").at(0), block}));

  // And back.
  tree.Update(body);
  EXPECT_TRUE(tree.IsUpToDate());
  EXPECT_EQ(tree.PathTo(block), (Path{body.get(), i, j, block}));

  // What holds nothing goes with it, also the sequence of two.
  tree.Update(RemoveAt(tree.PathTo(block)));
  EXPECT_TRUE(tree.IsUpToDate());
  EXPECT_EQ(tree.root().get(), k);
  EXPECT_FALSE(tree.Has(i));
  EXPECT_TRUE(tree.BlocksNamed("double").empty());
}

// A store beside what is removed stays, though the sequence of both goes.
TEST(StmtTree, RemovesNoStoreBesideALoop) {
  Schedule schedule(Parse(R"(
func f(A: int32[4], B: int32[1]) {
  alloc T: int32[4]
  for i in 0..4 {
    block double(v: spatial(4) = i) {
      T[v] = A[v] * int32(2)
    }
  }
  B[0] = T[3]
})"));
  schedule.ComputeInline(schedule.BlockNamed("double"));
  schedule.CheckState();
  ExpectContains(Print(schedule.function()), "B[0] = A[3] * int32(2)");
}

TEST(BlockFacts, AreDerivedFromLoopsAndPredicates) {
  auto stale = [](const std::string& loops, BlockFacts facts) {
    Schedule schedule(Parse("func f(A: int32[6], B: int32[6]) {\n  for " + loops +
                            "\n      B[v] = A[v]\n    }\n  }\n}"));
    const StmtTree& tree = schedule.tree();
    return FindStaleFact(schedule.function(), tree.PathTo(tree.BlocksNamed("b")[0]), facts);
  };
  BlockFacts all{true, true, true};
  EXPECT_EQ(stale("i in 0..6 {\n    block b(v: spatial(6) = i) {", all), "");
  EXPECT_EQ(stale("i in 0..2, j in 0..4 {\n    block b(v: spatial(6) = i * 4 + j) "
                  "where i * 4 + j < 6 {",
                  all),
            "");
  ExpectContains(
      stale("i in 0..3, j in 0..4 {\n    block b(v: spatial(6) = i + j) {", {true, false, false}),
      "affine");
  ExpectContains(stale("i in 0..2, j in 0..3 {\n    block b(v: spatial(6) = i * 3 + j) "
                       "where i * 3 + j < 4 {",
                       {true, true, false}),
                 "the predicate leaves out an instance");
  ExpectContains(stale("i in 0..5 {\n    block b(v: spatial(6) = i) {", {true, true, true}),
                 "5 of 6 instances run");
  EXPECT_EQ(stale("i in 0..5 {\n    block b(v: spatial(6) = i) {", {true, true, false}), "");
}

// The domain of a copy is what a tile needs, which is less in the last one here.
TEST(BlockFacts, HoldOfDomainsThatLoopsChange) {
  Schedule schedule(Parse(R"(
    func f(A: int32[6], B: int32[6]) {
      for o in 0..2 {
        block c(u: spatial(2) = o) {
          B[u] = A[u]
        }
        for i in 0..4 - o * 2 {
          block b(v: spatial(4 - o * 2) = i) {
            B[v + 2] = A[v]
          }
        }
      }
    })"));
  const StmtTree& tree = schedule.tree();
  EXPECT_EQ(
      FindStaleFact(schedule.function(), tree.PathTo(tree.BlocksNamed("b")[0]), {true, true, true}),
      "");
}

// The tail of the second split comes to instances of the next iteration of a loop that holds
// another block by now.
TEST(BlockFacts, HoldOfTailsInLoopsWithOtherBlocks) {
  Schedule schedule(Parse(R"(
func f(A: int32[7], C: int32[7]) {
  alloc T: int32[7]
  for i in 0..7 {
    block double(v: spatial(7) = i) {
      T[v] = A[v] * int32(2)
    }
  }
  for j in 0..7 {
    block next(v: spatial(7) = j) {
      C[v] = T[v] + int32(1)
    }
  }
})"));
  LoopRefs loops = schedule.Split(schedule.LoopNamed("j"), {1, 2});
  schedule.ComputeAt(schedule.BlockNamed("double"), loops[0]);
  schedule.Split(loops[1], {1, 2});
  schedule.CheckState();
  schedule.ComputeInline(schedule.BlockNamed("double"));
  schedule.CheckState();
}

// The axis of the tiles is bound to 0, not to the loop of one iteration that is split.
TEST(BlockFacts, HoldOfTailsOfLoopsOfOneIteration) {
  Schedule schedule(Parse(R"(
func f(A: int32[1, 4], C: int32[1, 4]) {
  for i in 0..1, j in 0..4 {
    block next(vi: spatial(1) = i, vj: spatial(4) = j) {
      C[vi, vj] = A[vi, vj] + int32(1)
    }
  }
})"));
  schedule.Blockize(schedule.LoopNamed("j"));
  schedule.Split(schedule.LoopNamed("i"), {2});
  schedule.CheckState();
}

// New blocks have loops in the order of axes.
TEST(Schedule, NewBlocksKeepTheOrderOfASum) {
  std::string conv = R"(
func f(X: float32[2, 8, 8], W: float32[4, 2, 3, 3], Y: float32[4, 6, 6]) {
  for o in 0..4, y in 0..6, x in 0..6, dx in 0..3, c in 0..2, dy in 0..3 {
    block conv(vo: spatial(4) = o, vy: spatial(6) = y, vx: spatial(6) = x, vc: reduce(2) = c,
               vdy: reduce(3) = dy, vdx: reduce(3) = dx) {
      init { Y[vo, vy, vx] = 0 }
      Y[vo, vy, vx] = Y[vo, vy, vx] + X[vc, vy + vdy, vx + vdx] * W[vo, vc, vdy, vdx]
    }
  }
})";
  auto of_conv = [](const PrimFunc& function, auto step) {
    Schedule schedule(function);
    step(&schedule, schedule.BlockNamed("conv"));
  };
  PrimFunc function = Parse(conv);
  EXPECT_THROW(
      of_conv(function, [](Schedule* s, const BlockRef& conv) { s->FlattenSpatial(conv, 1); }),
      Error);
  EXPECT_NO_THROW(of_conv(function, [](Schedule* s, const BlockRef& conv) {
    s->Im2col(conv);
  }));  // K is in the order of the loops
  PrimFunc free = function.WithAttr(attr::kReassociate, true);
  EXPECT_NO_THROW(
      of_conv(free, [](Schedule* s, const BlockRef& conv) { s->FlattenSpatial(conv, 1); }));
  EXPECT_NO_THROW(of_conv(free, [](Schedule* s, const BlockRef& conv) { s->Im2col(conv); }));
}

TEST(Schedule, RefusesWhatTextCannotSay) {
  Schedule schedule(Parse(kMatmul));
  auto refusal = [](auto f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(refusal([&] { schedule.Split(schedule.LoopNamed("i"), {}); }),
            "split(i): there is no factor");
  EXPECT_EQ(refusal([&] { schedule.Fuse({schedule.LoopNamed("i")}); }),
            "fuse(i): there are no two loops");
  EXPECT_EQ(refusal([&] { schedule.Reorder({}); }), "reorder(): there is no loop");
  EXPECT_TRUE(schedule.trace().steps.empty());
}

// Both forms of a trace do the same to the same function; to a changed one, what still applies.
TEST(Trace, IsReadBackAndReplayed) {
  Schedule schedule(Parse(kMatmul));
  auto [io, ii] = schedule.Split(schedule.LoopNamed("i"), {4}, {"io", "ii"});
  schedule.Reorder({io, schedule.LoopNamed("j"), schedule.LoopNamed("l"), ii});
  CopyRef copy =
      schedule.CacheRead(schedule.BlockNamed("matmul"), BufferRef("B"), StorageScope::kLocal);
  schedule.TransformLayout(copy, IndexMap::Parse("(k, j) -> (j, k)"));
  const Trace& trace = schedule.trace();
  EXPECT_EQ(trace.str(),
            "io, ii = split(i, 4)\nreorder(io, j, l, ii)\nB_local = cache_read(matmul, B, local)\n"
            "transform_layout(B_local, (k, j) -> (j, k))\n");
  for (const std::string& text : {trace.str(), trace.ToJson()}) {
    Schedule again(Parse(kMatmul));
    for (const Step& step : Trace::Parse(text).steps) again.Apply(step);
    EXPECT_TRUE(StructuralEqual(again.function(), schedule.function())) << text;
    EXPECT_EQ(again.trace().str(), trace.str());
  }
  std::string changed = kMatmul;
  changed.replace(changed.find("l in"), 1, "k");
  changed.replace(changed.find("= l)"), 3, "= k");
  Schedule other(Parse(changed));
  other.Apply(trace.steps[0]);
  try {
    other.Apply(trace.steps[1]);
    FAIL() << "a loop that is not there was moved";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "reorder(io, j, l, ii): there is no loop l; the loops of matmul are io, ii, j, k");
  }
}

TEST(Trace, RefusesWhatIsNone) {
  auto refusal = [](const std::string& text) -> std::string {
    try {
      Trace::Parse(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  ExpectContains(refusal("split i"), "expected a step");
  ExpectContains(refusal("[{\"args\": []}]"), "has no name");
  ExpectContains(refusal("[{\"step\": 3}]"), "expected string");
  ExpectContains(refusal("[1"), "expected");
}

TEST(TensorIntrinsic, IsTwoFunctionsOfTheSameParameters) {
  Initialize();
  auto refusal = [](const std::string& name, const std::string& text) -> std::string {
    try {
      RegisterTensorIntrinsic(name, text);
      FindTensorIntrinsic(name);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  ExpectContains(refusal("x", "func description(A: int32[4]) {\n}\n"),
                 "has no function implementation");
  ExpectContains(refusal("y",
                         "func description(A: int32[4]) {\n}\nfunc implementation(A: "
                         "int32[n]) {\n}\n"),
                 "do not have the same parameters");
  std::string empty = "func description(A: int32[4]) {\n}\nfunc implementation(A: int32[4]) {\n}\n";
  ExpectContains(refusal("f32_axpy_4", empty), "already");
  EXPECT_EQ(FindTensorIntrinsic("no such intrinsic"), nullptr);
  for (const std::string& name : TensorIntrinsicNames()) {
    if (name == "x" || name == "y") continue;
    EXPECT_EQ(FindTensorIntrinsic(name)->name, name);
  }
}

}  // namespace
}  // namespace tern::schedule
