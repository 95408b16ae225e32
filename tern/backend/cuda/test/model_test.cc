// SPDX-License-Identifier: Apache-2.0
//
// Models on the stand-in driver: streams, graphs, several devices, and a driver that fails at every
// call, one after another.
#include <gtest/gtest.h>

#include "tern/backend/cuda/test/standin_fixture.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/runtime/stream.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/runtime/vm/session.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = (a[i] + b[i]) * scale;
}
)";

// add(a, b, c): c = a + b, by a kernel.
class AddOnDevice : public ffi::ModuleObj {
 public:
  AddOnDevice() {
    DeviceArtifact artifact{.kind = "cuda", .fmt = "cuda"};
    artifact.fmap["vector_add"] = {{DataType::Handle(), DataType::Handle(), DataType::Handle(),
                                    DataType::Int(32), DataType::Float(32)},
                                   {"blockIdx.x", "threadIdx.x"},
                                   0};
    artifact.payload[""] = kSource;
    Import(CreateDeviceModule(artifact));
  }
  std::string kind() const override { return "test"; }
  uint32_t properties() const override { return kRunnable; }
  std::vector<std::string> FunctionNames() const override { return {"add"}; }
  ffi::Function GetFunction(std::string_view name) override {
    if (name != "add") return {};
    ffi::Function kernel = imports()[0]->GetFunction("vector_add");
    return ffi::Function::FromPacked([kernel](ffi::Args args) -> ffi::Any {
      auto view = [&](size_t i) -> const TernTensorView& { return *args[i].raw().v_tensor; };
      auto data = [&](size_t i) -> void* {
        return static_cast<char*>(view(i).data) + view(i).byte_offset;
      };
      kernel(view(2).device.id, data(0), data(1), data(2), view(2).shape[0], 1.0, 1, 64);
      return {};
    });
  }
  static std::vector<FunctionInfo> Infos() {
    ParamInfo a{"a", DataType::Float(32), true, {"n"}}, b = a, c = a;
    b.name = "b";
    c.name = "c";
    c.is_output = true;
    return {{"add", {a, b, c}}};
  }
};

// y = x + 3 w, and x + 5 w where k is not 0.
constexpr const char* kProgram = R"(model 1
dim n
input x: float32[n]
input k: int64[1]
output y: float32[n]
constant w: float32[8] weights
func main(i0, t0: float32[:], t1: int64[:]) -> (tensor) {
  ints 2
  t2: float32[:]
  t3: float32[:]
  t4: float32[:]
  t5: float32[:]
  t2 = const w
  t3 = alloc [i0]
  call add(t0, t2, t3)
  t4 = alloc [i0]
  call add(t3, t2, t4)
  i1 = read t1, 0
  branch i1 == 0, L
  call add(t4, t2, t3)
  call add(t3, t2, t4)
L:
  t5 = alloc [i0] output 0
  call add(t4, t2, t3)
  copy t3, t5
  ret t5
}
)";

std::shared_ptr<const Model> MakeModel(int32_t device_id = 0) {
  ModelParts parts{ParseProgram(kProgram, "a.vm"), ffi::Module(ffi::Make<AddOnDevice>()),
                   AddOnDevice::Infos()};
  parts.device = "cuda";
  parts.device_id = device_id;
  parts.weight = [](const Constant& constant) {
    Tensor tensor = Tensor::Empty(constant.shape, constant.dtype);
    for (int64_t i = 0; i < 8; ++i) SetElement(tensor, i, static_cast<double>(i));
    return tensor;
  };
  return std::make_shared<const Model>(std::move(parts));
}

Tensor Host(double first) {
  Tensor tensor = Tensor::Empty({8}, DataType::Float(32));
  for (int64_t i = 0; i < 8; ++i) SetElement(tensor, i, first + static_cast<double>(i));
  return tensor;
}
Tensor Flag(int64_t value) {
  Tensor tensor = Tensor::Empty({1}, DataType::Int(64));
  tensor.as<int64_t>()[0] = value;
  return tensor;
}

class CudaModel : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TERN_CACHE", "0", 0);
    backend::cuda::OpenStandin("libcuda.so.1");
    backend::cuda::OpenStandin("libnvrtc.so.13");
  }
  static void FailAt(uint64_t call) {
    backend::cuda::FindIn<void (*)(uint64_t)>("libcuda.so.1", "tern_standin_fail_at")(call);
  }
  static void LoseAt(uint64_t call) {
    backend::cuda::FindIn<void (*)(uint64_t)>("libcuda.so.1", "tern_standin_lose_at")(call);
  }
  static std::string Failed() {
    return backend::cuda::FindIn<const char* (*)()>("libcuda.so.1", "tern_standin_failed")();
  }
  static uint64_t Objects() {
    return backend::cuda::FindIn<uint64_t (*)()>("libcuda.so.1", "tern_standin_objects")();
  }
  // x + (3 or 5) w, into memory of the host.
  static void ExpectRuns(Session* session, double first, int64_t flag) {
    Tensor y = Tensor::Empty({8}, DataType::Float(32));
    session->Run({Host(first), Flag(flag)}, {y});
    for (int64_t i = 0; i < 8; ++i)
      ASSERT_EQ(GetElement(y, i), first + static_cast<double>(i * (flag ? 6 : 4)));
  }
};

TEST_F(CudaModel, SegmentsBecomeGraphs) {
  Session session(MakeModel());
  ExpectRuns(&session, 0, 0);
  EXPECT_EQ(session.graph_counts().launches, 0u);
  EXPECT_EQ(session.graph_counts().others, 4u);
  ExpectRuns(&session, 5, 0);  // the same shapes: both segments are recorded
  EXPECT_EQ(session.graph_counts().records, 2u);
  EXPECT_EQ(session.graph_counts().launches, 2u);
  EXPECT_EQ(session.graph_counts().calls, 4u);
  ExpectRuns(&session, 7, 0);
  EXPECT_EQ(session.graph_counts().records, 2u);
  EXPECT_EQ(session.graph_counts().launches, 4u);
  EXPECT_EQ(session.graph_counts().others, 4u);
  ExpectRuns(&session, 1, 1);  // the other branch
  ExpectRuns(&session, 2, 1);
  ExpectRuns(&session, 3, 0);
  // Memory of the caller: recorded once more, and then not.
  Tensor x = Host(9).CopyTo(session.model().device());
  uint64_t records = session.graph_counts().records;
  for (int i = 0; i < 3; ++i) {
    Tensor y = session.Run({x, Flag(0)})[0].CopyTo({kTernDeviceCpu, 0});
    EXPECT_EQ(GetElement(y, 1), 13);
  }
  EXPECT_EQ(session.graph_counts().records, records + 1);
  session.Trim();
  ExpectRuns(&session, 4, 0);
}

TEST_F(CudaModel, GraphsCanBeOff) {
  Session session(MakeModel(), {.graphs = false});
  for (int i = 0; i < 3; ++i) ExpectRuns(&session, i, 1);
  EXPECT_EQ(session.graph_counts().launches, 0u);
}

// What the caller gives to its stream before and after a run is ordered with it, without waiting.
TEST_F(CudaModel, RunsAreOrderedWithTheCallersStream) {
  std::shared_ptr<const Model> model = MakeModel();
  Session session(model);
  Stream stream(model->device());
  StreamScope scope(stream);
  Tensor pinned = Tensor::EmptyPageLocked({8}, DataType::Float(32), model->device());
  Tensor x = Tensor::Empty({8}, DataType::Float(32), model->device());
  Tensor k = Flag(0).CopyTo(model->device());
  Tensor back = Tensor::EmptyPageLocked({8}, DataType::Float(32), model->device());
  for (int round = 0; round < 3; ++round) {
    for (int64_t i = 0; i < 8; ++i) SetElement(pinned, i, round);
    CopyAsync(pinned, x);
    Tensor y = session.Run({x, k})[0];
    CopyAsync(y, back);
    stream.Synchronize();
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(GetElement(back, i), round + 3 * static_cast<double>(i));
  }
}

TEST_F(CudaModel, TwoModelsOnEachOfTwoDevices) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (int32_t device : {0, 1, 0, 1})
    sessions.push_back(std::make_unique<Session>(MakeModel(device)));
  for (int round = 0; round < 3; ++round)
    for (size_t i = 0; i < sessions.size(); ++i)
      ExpectRuns(sessions[i].get(), static_cast<double>(i), round % 2);
  EXPECT_NE(ErrorOf([] { MakeModel(2); }).find("no such device: cuda:2"), std::string::npos);
}

// What a warm model has loaded, its first run does not load: so much less is there behind it.
TEST_F(CudaModel, WarmLoadsKernelsAhead) {
  ExpectRuns(std::make_unique<Session>(MakeModel()).get(), 0, 0);
  auto made_by_first_run = [](const std::shared_ptr<const Model>& model) {
    Session session(model);
    uint64_t before = Objects();
    ExpectRuns(&session, 0, 0);
    return Objects() - before;
  };
  uint64_t cold = made_by_first_run(MakeModel());
  std::shared_ptr<const Model> model = MakeModel();
  uint64_t before = Objects();
  model->Warm();
  uint64_t loaded = Objects() - before;
  EXPECT_GT(loaded, 0u);
  EXPECT_EQ(made_by_first_run(model), cold - loaded);
}

// Whichever call of the driver fails: an error that names it, nothing is left, and the session runs
// again. Where none is thrown, the work was done: what gives memory back has no way to say so.
TEST_F(CudaModel, EveryCallMayFail) {
  {
    ExpectRuns(std::make_unique<Session>(MakeModel()).get(), 0, 0);
  }
  uint64_t before = Objects();
  size_t thrown = 0;
  for (uint64_t call = 1;; ++call) {
    ASSERT_LT(call, 2000u);
    std::string error, failed;
    FailAt(call);
    {
      std::unique_ptr<Session> session;
      try {
        session = std::make_unique<Session>(MakeModel());
        for (int round = 0; round < 3; ++round) ExpectRuns(session.get(), round, 0);
        ExpectRuns(session.get(), 1, 1);
        session->Run({Host(9).CopyTo(session->model().device()), Flag(0)});
      } catch (const Error& caught) {
        error = caught.message();
      }
      failed = Failed();
      SCOPED_TRACE("call " + std::to_string(call) + ": " + failed);
      if (!error.empty()) {
        ++thrown;
        EXPECT_NE(error.find(failed), std::string::npos) << error;
        FailAt(0);
        if (session)
          for (int round = 0; round < 3; ++round) ExpectRuns(session.get(), round, 1);
      }
    }
    FailAt(0);
    EXPECT_EQ(Objects(), before) << "call " << call << ": " << failed;
    if (failed.empty() && error.empty()) break;
  }
  EXPECT_GT(thrown, 60u);
}

// A device that goes away at any call, and stays away: an error that names the call, errors from
// every later run of the session, and nothing that is left. Models elsewhere go on.
TEST_F(CudaModel, TheDeviceMayGoAwayAtEveryCall) {
  {
    ExpectRuns(std::make_unique<Session>(MakeModel()).get(), 0, 0);
  }
  uint64_t before = Objects();
  for (uint64_t call = 1;; ++call) {
    ASSERT_LT(call, 2000u);
    std::string error, failed;
    LoseAt(call);
    {
      std::unique_ptr<Session> session;
      error = ErrorOf([&] {
        session = std::make_unique<Session>(MakeModel());
        for (int round = 0; round < 3; ++round) ExpectRuns(session.get(), round, round % 2);
      });
      failed = Failed();
      SCOPED_TRACE("call " + std::to_string(call) + ": " + failed);
      if (!failed.empty() && error != "no error") {
        // That call, or the next one where nobody asks how it went.
        EXPECT_NE(error.find(": told to fail"), std::string::npos) << error;
        for (int round = 0; session && round < 2; ++round) {
          EXPECT_NE(ErrorOf([&] { ExpectRuns(session.get(), round, 0); }), "no error");
        }
      }
    }
    FailAt(0);
    EXPECT_EQ(Objects(), before) << "call " << call << ": " << failed;
    ASSERT_FALSE(HasFailure());
    if (failed.empty()) break;
  }
  Session session(MakeModel());
  ExpectRuns(&session, 3, 1);
}

}  // namespace
}  // namespace tern::runtime::vm
