// SPDX-License-Identifier: Apache-2.0
//
// Threads, denormals, limits, and what is bound and selected.
#include <gtest/gtest.h>

#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "tern/ffi/registry.h"
#include "tern/runtime/host/cpus.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/runtime/test_data/test_kernels.h"
#include "tern/runtime/vm/session.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

Tensor Vector(const std::vector<float>& values, int64_t offset = 0) {
  Tensor tensor = Tensor::Empty({static_cast<int64_t>(values.size())}, DataType::Float(32),
                                {kTernDeviceCpu, 0}, {{}, offset});
  std::copy(values.begin(), values.end(), tensor.as<float>() + offset);
  return tensor;
}
using Floats = std::vector<float>;
Floats Values(const Tensor& tensor) {
  Floats values;
  for (int64_t i = 0; i < tensor->num_elements(); ++i)
    values.push_back(static_cast<float>(GetElement(tensor, i)));
  return values;
}

std::shared_ptr<const Model> MakeModel(const std::string& text) {
  return std::make_shared<const Model>(ModelParts{
      ParseProgram(text, "a.vm"), ffi::Module(ffi::Make<TestKernels>()), TestKernels::Infos()});
}

// What `body` sees is what a kernel sees. x is given back.
class Probe {
 public:
  explicit Probe(std::function<void()> body) {
    ffi::RegisterGlobal("test_vm.probe",
                        ffi::Function::FromPacked([body = std::move(body)](ffi::Args) -> ffi::Any {
                          body();
                          return {};
                        }));
  }
  ~Probe() { ffi::RemoveGlobal("test_vm.probe"); }
  Probe(const Probe&) = delete;

  static std::shared_ptr<const Model> MakeModel() {
    return vm::MakeModel(
        "model 1\ndim n\ninput x: float32[n]\noutput y: float32[n]\n"
        "func main(i0, t0: float32[:]) -> (tensor) {\ncall_packed test_vm.probe()\nret t0\n}\n");
  }
};

// The threads that run `count` pieces which wait for each other.
std::set<std::thread::id> ThreadsOf(int count, const std::function<void()>& body = [] {}) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> there{0};
  ParallelFor(count, [&](int64_t begin, int64_t end) {
    there += static_cast<int>(end - begin);
    while (there < count) std::this_thread::yield();
    std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    body();
  });
  return threads;
}

TEST(SessionOptions, ThreadsOfItsOwn) {
  std::set<std::thread::id> threads;
  Probe probe([&] { threads = ThreadsOf(3); });
  Session session(Probe::MakeModel(), {.num_threads = 3});
  session.Run({Vector({1})});
  EXPECT_EQ(threads.size(), 3);
  std::set<std::thread::id> before = threads;
  session.Run({Vector({1})});
  EXPECT_EQ(threads, before);
  EXPECT_EQ(
      ErrorOf([] { Session(Probe::MakeModel(), {.num_threads = 2000}); }),
      "a thread pool of 2000 threads; expected 1 to 1024, or 0 for as many as can run at once");
}

TEST(SessionOptions, OneThread) {
  bool is_caller = true;
  auto caller = std::this_thread::get_id();
  Probe probe([&] {
    ParallelFor(100, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() != caller) is_caller = false;
    });
  });
  Session(Probe::MakeModel(), {.num_threads = 1}).Run({Vector({1})});
  EXPECT_TRUE(is_caller);
}

TEST(SessionOptions, CpusOfAllThreads) {
  std::vector<int> all = ProcessCpus(), last = {all.back()};
  int bound = 0;
  Probe probe([&] {
    ThreadsOf(2, [&] {
      cpu_set_t mine;
      sched_getaffinity(0, sizeof mine, &mine);
      bound += CPU_COUNT(&mine) == 1 && CPU_ISSET(last[0], &mine);
    });
  });
  Session session(Probe::MakeModel(), {.num_threads = 2, .cpus = last});
  EXPECT_EQ(ProcessCpus(), all);
  session.Run({Vector({1})});
  EXPECT_EQ(bound, 2);
  EXPECT_EQ(ProcessCpus(), all);
  std::string error = ErrorOf([] { Session(Probe::MakeModel(), {.cpus = {-1}}); });
  EXPECT_TRUE(error.starts_with("there is no CPU -1: the machine has ")) << error;
}

// Runs tasks one after the other, on the calling thread, and counts them.
class CountingPool : public ThreadPool {
 public:
  int num_threads() const override { return 4; }
  bool Run(const std::function<void()>& task) override {
    ++loops;
    for (int i = 0; i < 4; ++i) task();
    return true;
  }
  int loops = 0;
};

TEST(SessionOptions, AThreadPoolOfTheCaller) {
  int64_t sum = 0;
  Probe probe([&] { ParallelFor(100, [&](int64_t begin, int64_t end) { sum += end - begin; }); });
  auto pool = std::make_shared<CountingPool>();
  Session session(Probe::MakeModel(), {.thread_pool = pool});
  session.Run({Vector({1})});
  EXPECT_EQ(sum, 100);
  EXPECT_EQ(pool->loops, 1);
  EXPECT_EQ(ErrorOf([&] { Session(Probe::MakeModel(), {.num_threads = 2, .thread_pool = pool}); }),
            "a session with a thread pool of the caller has no num_threads and no cpus");
}

TEST(SessionOptions, DenormalsOnAllThreads) {
  if (kFlushBits == 0) GTEST_SKIP() << "SKIPPED: this machine cannot flush denormals";
  int flushing = 0;
  Probe probe([&] { ThreadsOf(3, [&] { flushing += DenormalBits() == kFlushBits; }); });
  Session flush(Probe::MakeModel(), {.num_threads = 3, .denormals = Denormals::kFlush});
  Session keep(Probe::MakeModel(), {.num_threads = 3, .denormals = Denormals::kKeep});
  uint64_t before = DenormalBits();
  flush.Run({Vector({1})});
  EXPECT_EQ(flushing, 3);
  EXPECT_EQ(DenormalBits(), before);
  ScopedDenormals caller(Denormals::kFlush);
  flushing = 0;
  keep.Run({Vector({1})});
  EXPECT_EQ(flushing, 0);
  EXPECT_EQ(DenormalBits(), kFlushBits);
}

TEST(SessionLimits, CancelledByAnotherThread) {
  std::latch inside(1), cancelled(1);
  bool waits = true;
  Probe probe([&] {
    if (!waits) return;
    inside.count_down();
    cancelled.wait();
  });
  auto model = MakeModel(
      "model 1\ndim n\ninput x: float32[n]\noutput y: float32[n]\n"
      "func main(i0, t0: float32[:]) -> (tensor) {\nt1: float32[:]\ncall_packed test_vm.probe()\n"
      "t1 = alloc [i0] output 0\ncall scale(t0, 2, t1)\nret t1\n}\n");
  Session session(model);
  EXPECT_FALSE(session.Cancel());  // and the next run does not know of it
  std::string error;
  std::thread other([&] {
    try {
      session.Run({Vector({1})});
    } catch (const Error& thrown) {
      error = thrown.kind() + ": " + thrown.what();
    }
  });
  inside.wait();
  EXPECT_TRUE(session.Cancel());
  EXPECT_TRUE(session.Cancel());
  cancelled.count_down();
  other.join();
  EXPECT_EQ(error,
            "CancelledError: the run was cancelled\n"
            "  while running instruction 2 of main: call scale(t0, 2, t1)");
  waits = false;
  EXPECT_EQ(Values(session.Run({Vector({1})})[0]), (Floats{2}));
}

TEST(SessionLimits, ALoopEndsAtTheDeadline) {
  // As many rounds as there are elements.
  auto model = MakeModel(
      "model 1\ndim n\ninput x: float32[n]\noutput y: float32[n]\n"
      "func main(i0, t0: float32[:]) -> (tensor) {\nints 2\ni1 = int 0\nL:\ni1 = int i1 + 1\n"
      "branch i1 < 1 || 2 <= i0, L\nret t0\n}\n");
  Session session(model);
  auto now = std::chrono::steady_clock::now();
  try {
    session.Run({Vector({1, 2})}, {}, {.deadline = now + std::chrono::milliseconds(20)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "TimeoutError");
    EXPECT_TRUE(error.message().starts_with("the run was not over at its deadline, after 0.0"))
        << error.message();
  }
  EXPECT_GE(std::chrono::steady_clock::now(), now + std::chrono::milliseconds(20));
  EXPECT_EQ(Values(session.Run({Vector({1})}, {}, {.deadline = now + std::chrono::hours(1)})[0]),
            (Floats{1}));
}

TEST(SessionLimits, Memory) {
  auto model = MakeModel(
      "model 1\ndim n\ninput x: float32[n]\noutput y: float32[n]\n"
      "func main(i0, t0: float32[:]) -> (tensor) {\nt1: float32[:]\nt2: float32[:]\n"
      "t1 = alloc [i0 * i0]\nt2 = alloc [i0] output 0\ncall scale(t0, 2, t2)\nret t2\n}\n");
  Session session(model, {.memory_limit = 160});
  EXPECT_EQ(Values(session.Run({Vector({1, 2})})[0]), (Floats{2, 4}));
  std::string error = ErrorOf([&] { session.Run({Vector(Floats(1000))}); });
  EXPECT_TRUE(
      error.starts_with("another 4000000 bytes are more than the 160 that the run may allocate"))
      << error;
  EXPECT_EQ(Values(session.Run({Vector({1, 2})})[0]), (Floats{2, 4}));
}

// y = 2 x, z = 3 * 2 x; and w, from a branch of its own.
const char* const kThreeOutputs = R"(model 1
dim n
input x: float32[n]
output y: float32[n]
output z: float32[n]
output w: float32[4]
func main(i0, t0: float32[:]) -> (tensor, tensor, tensor) {
ints 2
t1: float32[:]
t2: float32[:]
t3: float32[:]
t4: float32[:]
t5: float32[:]
t6: float32[:]
i1 = dim t0, 0
t1 = alloc [i1] output 0
call scale(t0, 2, t1)
t2 = alloc [i0 * 2]
t3 = view t2, i0, [i0]
call scale(t1, 3, t3)
t4 = alloc [i0] output 1
call scale(t3, 1, t4)
t5 = alloc [4]
call scale(t0, 5, t5)
t6 = alloc [4] output 2
call add(t5, t5, t6)
free t2, t5
ret t1, t4, t6
}
)";

TEST(SessionOutputs, WhatIsNotSelectedIsNotComputed) {
  auto model = MakeModel(kThreeOutputs);
  for (bool poison : {false, true}) {
    Session session(model, {.poison_memory = poison});
    std::vector<CallRecord> profile;
    session.SetProfile(&profile);
    EXPECT_EQ(Values(session.Run({Vector({1, 2, 3, 4})})[2]), (Floats{10, 20, 30, 40}));
    EXPECT_EQ(profile.size(), 5);
    // w fails where n is not 4.
    EXPECT_NE(ErrorOf([&] { session.Run({Vector({1, 2})}); }), "no error");
    session.SelectOutputs({"y"});
    profile.clear();
    std::vector<Tensor> results = session.Run({Vector({1, 2})});
    EXPECT_EQ(profile.size(), 1);
    EXPECT_EQ(Values(results[0]), (Floats{2, 4}));
    EXPECT_FALSE(results[1] || results[2]);
    session.SelectOutputs({"z"});
    results = session.Run({Vector({1, 2})});
    EXPECT_EQ(Values(results[1]), (Floats{6, 12}));
    EXPECT_FALSE(results[0] || results[2]);
    EXPECT_EQ(ErrorOf([&] { session.SelectOutputs({"v"}); }),
              "the model has no output v; its outputs are: y, z, w");
    EXPECT_FALSE(session.Run({Vector({1, 2})})[0]);
    session.SelectOutputs({});
    EXPECT_EQ(Values(session.Run({Vector({1, 2, 3, 4})})[0]), (Floats{2, 4, 6, 8}));
  }
}

TEST(SessionOutputs, TensorsBoundToNames) {
  Session session(MakeModel(kThreeOutputs));
  EXPECT_EQ(ErrorOf([&] { session.RunBound(); }), "input x is not given");
  Tensor x = Vector({1, 2, 3, 4}), z = Vector({0, 0, 0, 0});
  session.BindInput("x", x);
  session.BindOutput("z", z);
  std::vector<Tensor> results = session.RunBound();
  EXPECT_EQ(results[1].get(), z.get());
  EXPECT_EQ(Values(z), (Floats{6, 12, 18, 24}));
  EXPECT_EQ(Values(results[0]), (Floats{2, 4, 6, 8}));
  SetElement(x, 0, 10);
  session.RunBound();
  EXPECT_EQ(Values(z), (Floats{60, 12, 18, 24}));
  session.BindOutput("z", Tensor());
  EXPECT_NE(session.RunBound()[1].get(), z.get());
  EXPECT_EQ(ErrorOf([&] { session.BindInput("y", x); }),
            "the model has no input y; its inputs are: x");
  EXPECT_EQ(ErrorOf([&] { session.BindOutput("w", Vector({1, 2})); }),
            "output w is float32 of shape (2), the model wants float32[4]");
  EXPECT_EQ(ErrorOf([&] { session.BindInput("x", Tensor::Empty({4}, DataType::Int(32))); }),
            "input x is int32 of shape (4), the model wants float32[n]");
}

TEST(SessionInputs, AConstantOfTheNameIsTheDefault) {
  // The one of u has another shape, and is none.
  auto model = MakeModel(
      "model 1\ninput x: float32[2]\ninput u: float32[2]\noutput y: float32[2]\n"
      "constant x: float32[2] splat 0x0000803f\nconstant u: float32[3] splat 0x0000803f\n"
      "func main(t0: float32[:], t1: float32[:]) -> (tensor) {\nt2: float32[:]\n"
      "t2 = alloc [2] output 0\ncall add(t0, t1, t2)\nret t2\n}\n");
  EXPECT_TRUE(model->input_default(0));
  EXPECT_FALSE(model->input_default(1));
  Session session(model);
  EXPECT_EQ(Values(session.Run({Tensor(), Vector({1, 2})})[0]), (Floats{2, 3}));
  EXPECT_EQ(Values(session.Run({Vector({5, 5}), Vector({1, 2})})[0]), (Floats{6, 7}));
  session.BindInput("u", Vector({3, 4}));
  EXPECT_EQ(Values(session.RunBound()[0]), (Floats{4, 5}));
  EXPECT_EQ(ErrorOf([&] { session.Run({Tensor(), Tensor()}); }), "input u is not given");
}

TEST(SessionOutputs, NothingIsCopiedWhereThatIsAsked) {
  Session session(MakeModel(kThreeOutputs), {.in_place = true});
  Tensor x = Vector({1, 2, 3, 4});
  EXPECT_EQ(Values(session.Run({x}, {Vector({0, 0, 0, 0}), Tensor(), Tensor()})[0]),
            (Floats{2, 4, 6, 8}));
  const std::string rest = ": the session would have to copy it, and is told not to";
  EXPECT_EQ(ErrorOf([&] { session.Run({Vector({1, 2, 3, 4}, 1)}); }),
            "input x is aligned to 4 bytes, not to 64" + rest);
  Tensor strided = Tensor::Empty({4}, DataType::Float(32), {kTernDeviceCpu, 0}, {{2}, 0});
  EXPECT_EQ(ErrorOf([&] { session.Run({x}, {Tensor(), strided, Tensor()}); }),
            "output z has strides (2), and is not contiguous" + rest);
  EXPECT_EQ(ErrorOf([&] { session.BindInput("x", strided); }),
            "input x has strides (2), and is not contiguous" + rest);
}

}  // namespace
}  // namespace tern::runtime::vm
