// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/session.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "tern/ffi/registry.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/runtime/test_data/test_kernels.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

Tensor Vector(const std::vector<float>& values) {
  Tensor tensor = Tensor::Empty({static_cast<int64_t>(values.size())}, DataType::Float(32));
  std::copy(values.begin(), values.end(), tensor.as<float>());
  return tensor;
}
std::vector<float> Values(const Tensor& tensor) {
  std::vector<float> values;
  for (int64_t i = 0; i < tensor->num_elements(); ++i)
    values.push_back(static_cast<float>(GetElement(tensor, i)));
  return values;
}
using Floats = std::vector<float>;

std::shared_ptr<const Model> MakeModel(const std::string& text) {
  ModelParts parts{ParseProgram(text, "a.vm"), ffi::Module(ffi::Make<TestKernels>()),
                   TestKernels::Infos()};
  parts.weight = [](const Constant& constant) {
    Tensor tensor = Tensor::Empty(constant.shape, constant.dtype);
    for (int64_t i = 0; i < tensor->num_elements(); ++i)
      SetElement(tensor, i, static_cast<double>(i + 1));
    return tensor;
  };
  return std::make_shared<const Model>(std::move(parts));
}

// main of one input x and one output y, both float32[n].
std::string Main(const std::string& code, const std::string& head = "", int ints = 1) {
  return "model 1\ndim n\ninput x: float32[n]\noutput y: float32[n]\n" + head +
         "func main(i0, t0: float32[:]) -> (tensor) {\nints " + std::to_string(ints) + "\n" + code +
         "\n}\n";
}

// y = 6 * x + 1, with memory between.
const char* const kChain = R"(
t1: float32[:]
t2: float32[:]
t3: float32[:]
t4: float32[:]
t1 = alloc [i0]
call scale(t0, 2.0, t1)
t2 = alloc [i0]
call scale(t1, 3, t2)
free t1
t3 = const one
t4 = alloc [i0] output 0
call add(t2, t3, t4)
free t2
ret t4)";

TEST(Session, RunsAChain) {
  auto model = MakeModel(Main(kChain, "constant one: float32[3] splat 0x0000803f\n"));
  Session session(model);
  EXPECT_EQ(Values(session.Run({Vector({1, 2, 3})})[0]), (Floats{7, 13, 19}));
  EXPECT_EQ(Values(session.Run({Vector({0, 0, 1})})[0]), (Floats{1, 1, 7}));
  EXPECT_EQ(session.arena_bytes(), 128);
  session.Trim();
  EXPECT_EQ(session.arena_bytes(), 0);
  EXPECT_EQ(Values(session.Run({Vector({0, 0, 1})})[0]), (Floats{1, 1, 7}));
}

TEST(Session, MemoryOfLargeOutputsIsUsedAgain) {
  auto model =
      MakeModel(Main("t1: float32[:]\nt1 = alloc [i0] output 0\ncall scale(t0, 2.0, t1)\nret t1"));
  Session session(model);
  Floats ones(100000, 1.0F), threes(ones.size(), 3.0F);
  Tensor first = session.Run({Vector(ones)})[0];
  const void* place = first->data();
  Tensor second = session.Run({Vector(threes)})[0];
  EXPECT_NE(second->data(), place);  // the first one is still the caller's
  EXPECT_EQ(first.as<float>()[ones.size() - 1], 2);
  first = {};
  Tensor third = session.Run({Vector(ones)})[0];
  EXPECT_EQ(third->data(), place);
  EXPECT_EQ(second.as<float>()[0], 6);
  EXPECT_EQ(session.Run({Vector(Floats(99999, 1.0F))})[0]->num_elements(), 99999);
  Tensor view = third.View({50000}, {.offset = 50000});
  third = {};
  EXPECT_NE(session.Run({Vector(threes)})[0]->data(), place);  // a view keeps it
  EXPECT_EQ(view->num_elements(), 50000);
}

TEST(Session, KernelsAreLookedUpOnce) {
  auto kernels = ffi::Make<TestKernels>();
  ModelParts parts{
      ParseProgram(Main(kChain, "constant one: float32[3] splat 0x0000803f\n"), "a.vm"),
      ffi::Module(kernels), TestKernels::Infos()};
  auto model = std::make_shared<const Model>(std::move(parts));
  EXPECT_EQ(kernels->lookups, 0);
  Session a(model), b(model);
  for (Session* session : {&a, &b, &a}) session->Run({Vector({1, 2, 3})});
  EXPECT_EQ(kernels->lookups, 2);
}

TEST(Session, OutputsOfTheCaller) {
  auto model = MakeModel(Main(kChain, "constant one: float32[3] splat 0x0000803f\n"));
  Session session(model);
  Tensor y = Vector({0, 0, 0});
  Tensor result = session.Run({Vector({1, 2, 3})}, {y})[0];
  EXPECT_EQ(result.get(), y.get());
  EXPECT_EQ(Values(y), (Floats{7, 13, 19}));
  // One that kernels cannot write to: not aligned, and with strides.
  Tensor wide = Tensor::Empty({7}, DataType::Float(32));
  Tensor part = wide.View({3}, {{2}, 1});
  session.Run({Vector({1, 2, 3})}, {part});
  EXPECT_EQ(Values(part), (Floats{7, 13, 19}));
  EXPECT_EQ(ErrorOf([&] { session.Run({Vector({1, 2, 3})}, {Vector({0})}); }),
            "output y: the given tensor is float32 of shape (1), the model gives float32 of shape "
            "(3)\n  while running instruction 6 of main: t4 = alloc [i0] output 0");
  EXPECT_EQ(ErrorOf([&] { session.Run({y}, {y}); }), "output y overlaps input x");
}

TEST(Session, InputsThatKernelsCannotTake) {
  auto model = MakeModel(Main(kChain, "constant one: float32[3] splat 0x0000803f\n"));
  Session session(model);
  Tensor wide = Vector({9, 1, 9, 2, 9, 3, 9});
  EXPECT_EQ(Values(session.Run({wide.View({3}, {{2}, 1})})[0]), (Floats{7, 13, 19}));
  EXPECT_EQ(Values(session.Run({wide.View({3}, {{}, 1})})[0]), (Floats{7, 55, 13}));
}

TEST(Session, WrongInputs) {
  auto model = MakeModel(R"(model 1
dim n
input x: float32[n, 224]
input y: float32[n]
output z: float32[n, 224]
func main(i0, t0: float32[:, :], t1: float32[:]) -> (tensor) {
ret t0
})");
  Session session(model);
  auto tensor = [](std::vector<int64_t> shape, DataType dtype = DataType::Float(32)) {
    return Tensor::Empty(shape, dtype);
  };
  EXPECT_EQ(ErrorOf([&] { session.Run({tensor({1, 224})}); }),
            "the model has 2 inputs, 1 were given");
  EXPECT_EQ(ErrorOf([&] { session.Run({tensor({1, 225}), tensor({1})}); }),
            "input x: dimension 1 is 225, the model wants 224");
  EXPECT_EQ(ErrorOf([&] { session.Run({tensor({2, 224}), tensor({3})}); }),
            "input y: dimension 0 is 3, and n is 2 by input x");
  EXPECT_EQ(ErrorOf([&] { session.Run({tensor({2}), tensor({3})}); }),
            "input x has shape (2), the model wants float32[n, 224]");
  EXPECT_EQ(ErrorOf([&] { session.Run({tensor({2, 224}, DataType::Float(64)), tensor({2})}); }),
            "input x is float64, the model wants float32");
  EXPECT_EQ(ErrorOf([&] { session.Run({tensor({2, 224}), Tensor()}); }), "input y is not given");
  EXPECT_EQ(session.Run({tensor({2, 224}), tensor({2})})[0]->shape(),
            (std::vector<int64_t>{2, 224}));
}

TEST(Session, ManyShapesManyPlans) {
  auto model =
      MakeModel(Main("t1: float32[:]\nt2: float32[:]\nt1 = alloc [i0 * 2]\nt2 = view t1, "
                     "i0, [i0]\ncall scale(t0, 2, t2)\nret t2"));
  Session session(model);
  for (int round = 0; round < 2; ++round)
    for (int64_t n = 0; n < 40; ++n) {
      Tensor x = Tensor::Empty({n}, DataType::Float(32));
      for (int64_t i = 0; i < n; ++i) SetElement(x, i, static_cast<double>(i));
      Tensor y = session.Run({x})[0];
      for (int64_t i = 0; i < n; ++i) EXPECT_EQ(GetElement(y, i), 2.0 * static_cast<double>(i));
    }
}

TEST(Session, WeightsAndWhatIsMadeOfThem) {
  auto model =
      MakeModel(Main("t1: float32[:]\nt2: float32[:]\nt1 = const p\nt2 = alloc [i0]\ncall "
                     "add(t0, t1, t2)\nret t2",
                     "constant w: float32[3] weights\nconstant p: float32[3] made\n"
                     "prepack twice(w, p)\n"));
  Session session(model);
  EXPECT_EQ(Values(session.Run({Vector({10, 20, 30})})[0]), (Floats{12, 24, 36}));
  std::string error = ErrorOf([&] { session.Run({Vector({1})}); });
  EXPECT_NE(error.find("expected extent 1, got 3"), std::string::npos) << error;
  EXPECT_NE(error.find("while running instruction 2 of main: call add(t0, t1, t2)"),
            std::string::npos)
      << error;
}

TEST(Session, BranchesLoopsAndChecks) {
  // Adds x to itself n times; refuses 5.
  auto model = MakeModel(Main(R"(
t1: float32[:]
t2: float32[:]
t3: float32[:]
check i0 != 5, "n is {}, and twice that is {}", i0, i0 * 2
t1 = alloc [i0]
copy t0, t1
i1 = int 1
L: 
branch i0 <= i1, E
t2 = alloc [i0]
call add(t0, t1, t2)
copy t2, t1
free t2
i1 = int i1 + 1
jump L
E:
t3 = view t1, 0, [i0]
ret t3)",
                              "", 2));
  Session session(model);
  EXPECT_EQ(Values(session.Run({Vector({1, 2, 3})})[0]), (Floats{3, 6, 9}));
  EXPECT_EQ(Values(session.Run({Vector({7})})[0]), (Floats{7}));
  std::string error = ErrorOf([&] { session.Run({Vector({1, 2, 3, 4, 5})}); });
  EXPECT_TRUE(error.starts_with("n is 5, and twice that is 10\n")) << error;
}

TEST(Session, FunctionsReadsAndPackedCalls) {
  ffi::RegisterGlobal("test_vm.count", ffi::Function::FromPacked([](ffi::Args args) -> ffi::Any {
                        return args[0].raw().v_tensor->shape[0] - args[1].As<int64_t>();
                      }));
  // The last n - 1 elements, doubled, by a function that allocates what it returns; then `at`[1]
  // zeros in front of it.
  auto model = MakeModel(R"(model 1
dim n
input x: float32[n]
output y: float32[?]
constant at: int64[2] = 0x00000000000000000100000000000000
func main(i0, t0: float32[:]) -> (tensor) {
ints 3
t1: float32[:]
t2: float32[:]
t3: int64[:]
t4: float32[:]
i1 = call_packed test_vm.count(t0, 1)
t1 = view t0, 1, [i1]
t2 = invoke twice_of(i1, t1)
t3 = const at
i2 = read t3, 1
t4 = view t2, i2, [i1 - i2]
ret t4
}
func twice_of(i0, t0: float32[:]) -> (tensor) {
t1: float32[:]
t1 = alloc [i0]
call scale(t0, 2, t1)
ret t1
})");
  Session session(model);
  EXPECT_EQ(Values(session.Run({Vector({1, 2, 3})})[0]), (Floats{6}));
  EXPECT_EQ(Values(session.Run({Vector({1, 2, 3, 4})})[0]), (Floats{6, 8}));
  std::string error = ErrorOf([&] { session.Run({Vector({1})}); });
  EXPECT_NE(error.find("shape (-1) has a negative extent"), std::string::npos) << error;
  ffi::RemoveGlobal("test_vm.count");
  error = ErrorOf([&] { session.Run({Vector({1, 2})}); });
  EXPECT_NE(error.find("test_vm.count"), std::string::npos) << error;
}

TEST(Session, Lists) {
  auto model = MakeModel(Main(R"(
lists 1
t1: float32[:]
t2: float32[:]
t1 = alloc [i0]
call scale(t0, 2, t1)
l0 = list make(t0, t1)
call scale(t0, 5, t1)
list insert(l0, t1), 1
list erase(l0), 0
i1 = list size(l0)
check i1 == 2, "size {}", i1
t2 = list get(l0), i1 - 1
ret t2)",
                              "", 2));
  Session session(model);
  EXPECT_EQ(Values(session.Run({Vector({1, 2})})[0]), (Floats{2, 4}));
}

TEST(Session, ViewsStayWithinTheirTensor) {
  auto run = [](const std::string& view, const std::string& rank) {
    auto model = MakeModel(Main("t1: float32[:]\nt2: float32[" + rank +
                                "]\nt1 = alloc [i0]\nt2 = " + view + "\nret t1"));
    return ErrorOf([&] { Session(model).Run({Vector({1, 2, 3, 4})}); });
  };
  EXPECT_EQ(run("view t1, 0, [2, 2]", ":, :"), "no error");
  EXPECT_EQ(run("view t1, 1, [2, 2], [1, 1]", ":, :"), "no error");
  EXPECT_EQ(run("view t1, 99, [0]", ":"), "no error");
  for (const char* view : {"view t1, 1, [4]", "view t1, -1, [2]", "view t1, 0, [-1]",
                           "view t1, 0, [3], [2]", "view t1, 9223372036854775807, [4]",
                           "view t1, 0, [4], [9223372036854775807]", "view t1, 0, [2], [-1]"})
    EXPECT_NE(run(view, ":"), "no error") << view;
}

TEST(Session, OverflowAndDivisionAreErrors) {
  auto run = [](const std::string& expr) {
    auto model = MakeModel(Main("i1 = int " + expr + "\nret t0", "", 2));
    return ErrorOf([&] { Session(model).Run({Vector({1, 2, 3, 4})}); });
  };
  EXPECT_EQ(run("(i0 - 11) // 2 + (i0 - 11) % 2"), "no error");
  EXPECT_NE(run("i0 * 9223372036854775807").find("does not fit in 64 bits"), std::string::npos);
  EXPECT_NE(run("7 // (i0 - 4)").find("division by zero"), std::string::npos);
  EXPECT_NE(run("div(-9223372036854775807 - 1, 3 - i0)").find("does not fit"), std::string::npos);
  EXPECT_EQ(run("rem(-9223372036854775807 - 1, 3 - i0)"), "no error");
  auto value = [](const std::string& expr, int64_t expected) {
    auto model = MakeModel(Main(
        "i1 = int " + expr + "\ncheck i1 == " + std::to_string(expected) + ", \"{}\", i1\nret t0",
        "", 2));
    EXPECT_EQ(ErrorOf([&] { Session(model).Run({Vector({1, 2, 3, 4})}); }), "no error") << expr;
  };
  value("(i0 - 11) // 2", -4);
  value("(i0 - 11) % 2", 1);
  value("div(i0 - 11, 2)", -3);
  value("rem(i0 - 11, 2)", -1);
  value("select(i0 == 4 && !(i0 < 4) || i0 != 4, min(i0, 3), max(i0, 3))", 3);
  value("select(i0 <= 3, 1, 2)", 2);
}

TEST(Session, OneRunAtATime) {
  static std::latch* inside = nullptr;
  static std::latch* done = nullptr;
  std::latch first(1), second(1);
  inside = &first;
  done = &second;
  ffi::RegisterGlobal("test_vm.wait", ffi::Function::FromPacked([](ffi::Args) -> ffi::Any {
                        inside->count_down();
                        done->wait();
                        return {};
                      }));
  auto model = MakeModel(Main("call_packed test_vm.wait()\nret t0"));
  Session session(model);
  std::thread other([&] { session.Run({Vector({1})}); });
  first.wait();
  EXPECT_EQ(ErrorOf([&] { session.Run({Vector({1})}); }),
            "the session is running already: one session runs once at a time; make another one for "
            "another thread");
  second.count_down();
  other.join();
  ffi::RemoveGlobal("test_vm.wait");
  EXPECT_NE(ErrorOf([&] { session.Run({Vector({1})}); }).find("test_vm.wait"), std::string::npos);
}

TEST(Session, SessionsShareAModel) {
  auto model = MakeModel(Main(kChain, "constant one: float32[3] splat 0x0000803f\n"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      Session session(model);
      for (int k = 0; k < 100; ++k)
        EXPECT_EQ(Values(session.Run({Vector({1, 2, 3})})[0]), (Floats{7, 13, 19}));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Session, Profile) {
  auto model = MakeModel(Main(kChain, "constant one: float32[3] splat 0x0000803f\n"));
  Session session(model);
  std::vector<CallRecord> profile;
  session.SetProfile(&profile);
  session.Run({Vector({1, 2, 3})});
  ASSERT_EQ(profile.size(), 3);
  EXPECT_EQ(profile[1].instruction, 3);
  EXPECT_GE(profile[1].start, profile[0].start + profile[0].seconds);
}

}  // namespace
}  // namespace tern::runtime::vm
