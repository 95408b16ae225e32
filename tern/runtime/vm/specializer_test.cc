// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/specializer.h"

#include <gtest/gtest.h>

#include <latch>

#include "tern/runtime/test_data/test_environment.h"
#include "tern/runtime/test_data/test_kernels.h"
#include "tern/runtime/vm/session.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

using Dims = std::vector<int64_t>;
using When = Specializer::When;

// y is one element, `value` in hexadecimal, which says which model ran; z is 5.
std::shared_ptr<const Model> Filling(const std::string& value, const std::string& extent) {
  bool is_general = extent == "n";
  std::string text =
      std::string("model 1\n") + (is_general ? "dim n\n" : "") + "input x: float32[" + extent +
      "]\noutput y: float32[1]\noutput z: float32[1]\n" + "constant c: float32[1] splat " + value +
      "\nconstant d: float32[1] splat 0x0000a040\n" + "func main(" + (is_general ? "i0, " : "") +
      "t0: float32[:]) -> (tensor, tensor) {\nt1: float32[:]\nt2: float32[:]\n"
      "t3: float32[:]\nt4: float32[:]\nt1 = const c\nt2 = const d\n"
      "t3 = alloc [1] output 0\nt4 = alloc [1] output 1\ncopy t1, t3\ncopy t2, t4\n"
      "ret t3, t4\n}\n";
  return std::make_shared<const Model>(ModelParts{
      ParseProgram(text, "a.vm"), ffi::Module(ffi::Make<TestKernels>()), TestKernels::Infos()});
}

std::shared_ptr<const Model> General() { return Filling("0x0000803f", "n"); }
std::shared_ptr<const Model> For(const Dims& dims) {
  return Filling("0x00000040", std::to_string(dims[0]));
}

Tensor Vector(int64_t size) {
  Tensor tensor = Tensor::Empty({size}, DataType::Float(32));
  std::fill_n(tensor.as<float>(), size, 0.0F);
  return tensor;
}
float Result(Session& session, int64_t size) {
  return session.Run({Vector(size)})[0].as<float>()[0];
}

TEST(Specializer, LazyCompilesWhatComesAgainOnAnotherThread) {
  std::latch may_compile(1);
  std::thread::id thread = std::this_thread::get_id();
  auto specializer = std::make_shared<Specializer>(When::kLazy, std::vector<std::string>{"n"},
                                                   [&](const Dims& dims) {
                                                     may_compile.wait();
                                                     thread = std::this_thread::get_id();
                                                     return For(dims);
                                                   });
  Session session(General(), {.specializer = specializer});
  EXPECT_EQ(Result(session, 3), 1);
  EXPECT_TRUE(specializer->All().empty());  // it may never come again
  EXPECT_EQ(Result(session, 3), 1);
  EXPECT_EQ(Result(session, 3), 1);  // still being compiled
  ASSERT_EQ(specializer->All().size(), 1);
  EXPECT_EQ(specializer->Describe(specializer->All()[0]), "n = 3: not compiled yet");
  may_compile.count_down();
  specializer->Wait();
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_EQ(Result(session, 3), 2);
  EXPECT_EQ(Result(session, 4), 1);  // another shape
  EXPECT_TRUE(specializer->Describe(specializer->All()[0]).starts_with("n = 3: compiled in "));
}

TEST(Specializer, EagerCompilesBeforeTheFirstRunOnce) {
  int count = 0;
  auto specializer = std::make_shared<Specializer>(When::kEager, std::vector<std::string>{"n"},
                                                   [&](const Dims& dims) {
                                                     ++count;
                                                     return For(dims);
                                                   });
  Session first(General(), {.specializer = specializer}),
      second(General(), {.specializer = specializer});
  EXPECT_EQ(Result(first, 3), 2);
  EXPECT_EQ(Result(second, 3), 2);
  EXPECT_EQ(count, 1);
}

TEST(Specializer, TheNinthShapeTakesTheGeneralModel) {
  auto specializer =
      std::make_shared<Specializer>(When::kEager, std::vector<std::string>{"n"}, For);
  Session session(General(), {.specializer = specializer});
  for (int64_t n = 1; n <= 8; ++n) EXPECT_EQ(Result(session, n), 2);
  EXPECT_EQ(specializer->num_refused(), 0);
  EXPECT_EQ(Result(session, 9), 1);
  EXPECT_EQ(Result(session, 9), 1);
  EXPECT_EQ(specializer->num_refused(), 2);
  EXPECT_EQ(specializer->All().size(), 8);
  EXPECT_EQ(Result(session, 1), 2);
}

TEST(Specializer, TheGeneralModelGoesOnWhereCompilingFails) {
  for (When when : {When::kLazy, When::kEager}) {
    int count = 0;
    auto specializer = std::make_shared<Specializer>(
        when, std::vector<std::string>{"n"}, [&](const Dims&) -> std::shared_ptr<const Model> {
          ++count;
          TERN_THROW(ValueError) << "no such luck";
        });
    Session session(General(), {.specializer = specializer});
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(Result(session, 3), 1);
      specializer->Wait();
    }
    EXPECT_EQ(count, 1);  // it is not tried again
    EXPECT_EQ(specializer->Describe(specializer->All()[0]),
              "n = 3: the general model goes on, as compiling failed: no such luck");
  }
}

TEST(Specializer, WhatASessionWasToldHoldsForAllModels) {
  auto specializer =
      std::make_shared<Specializer>(When::kEager, std::vector<std::string>{"n"}, For);
  Session session(General(), {.specializer = specializer});
  Result(session, 3);
  session.SelectOutputs({"z"});
  for (int64_t n : {3, 4}) {  // one that was there, and one that comes later
    std::vector<Tensor> results = session.Run({Vector(n)});
    EXPECT_FALSE(results[0]);
    EXPECT_EQ(results[1].as<float>()[0], 5);
  }
  // Wrong inputs are errors of the general model.
  EXPECT_THROW(session.Run({Tensor::Empty({2, 2}, DataType::Float(32))}), Error);
}

TEST(Specializer, WhatHasNotBegunIsGivenUpAtTheEnd) {
  std::latch began(1);
  int count = 0;
  {
    Specializer specializer(When::kLazy, {"n"}, [&](const Dims& dims) {
      if (count++ == 0) began.count_down();
      return For(dims);
    });
    for (int64_t n = 1; n <= 8; ++n)
      for (int i = 0; i < 2; ++i) specializer.Find({n});
    began.wait();
  }
  EXPECT_GE(count, 1);
  EXPECT_EQ(Specializer::Parse("lazy"), When::kLazy);
  EXPECT_EQ(Specializer::Parse("off"), std::nullopt);
  EXPECT_EQ(ErrorOf([] { Specializer::Parse("always"); }),
            "specialize: expected off, lazy or eager, got \"always\"");
}

}  // namespace
}  // namespace tern::runtime::vm
