// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/runtime/cublaslt.h"

#include <cstring>
#include <memory>

#include "tern/backend/cuda/common/vendor_library.h"
#include "tern/backend/cuda/runtime/cublaslt_abi.h"
#include "tern/backend/cuda/runtime/streams.h"

namespace tern::backend::cuda {
namespace {

constexpr const char* kLibraries[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
                                      "libcublasLt.so"};
constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what NVIDIA advises for Hopper

lt::Functions Open() {
  VendorLibrary library("cuBLASLt", "which matmuls were offloaded to", kLibraries);
  lt::Functions functions;
  using namespace lt;
#define TERN_LT_FIND(name, symbol, ...) \
  functions.name = library.Find<Status (*)(__VA_ARGS__)>(symbol);
  TERN_LT_FUNCTIONS(TERN_LT_FIND)
#undef TERN_LT_FIND
  return functions;
}

const lt::Functions& Lt() {
  // If it throws, the next use tries again.
  static const lt::Functions functions = Open();
  return functions;
}

void CheckLt(lt::Status status, const char* call) {
  if (status != 0)
    TERN_THROW(RuntimeError) << call << " failed: status " << status << " of cuBLASLt";
}

// A thing of the library's, destroyed with this.
template <class T>
class Owned {
 public:
  explicit Owned(lt::Status (*destroy)(T)) : destroy_(destroy) {}
  ~Owned() {
    if (thing_) destroy_(thing_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T* address() { return &thing_; }
  T get() const { return thing_; }

 private:
  T thing_ = nullptr;
  lt::Status (*destroy_)(T);
};

// One of a device, for all. Never destroyed: the library may be gone by then.
lt::Handle HandleOf(Device* device) {
  static std::mutex mutex;
  static auto* handles = new std::map<Device*, lt::Handle>;
  std::lock_guard lock(mutex);
  lt::Handle& handle = (*handles)[device];
  if (!handle) CheckLt(Lt().Create(&handle), "cublasLtCreate");
  return handle;
}

int TypeOf(const std::string& text) {
  if (text == "gemm float32") return lt::kReal32;
  if (text == "gemm float16") return lt::kReal16;
  if (text == "gemm bfloat16") return lt::kBfloat16;
  TERN_THROW(ValueError) << "\"" << text
                         << "\" is nothing that cublaslt computes: expected \"gemm\" "
                         << "and float32, float16 or bfloat16";
}

template <class T>
T Argument(const TernLaunch& launch, int32_t i) {
  T value{};
  if (launch.arg_sizes[i] != sizeof(T))
    TERN_THROW(ValueError) << "argument " << i << " of a matmul has " << sizeof(T) << " bytes, "
                           << launch.arg_sizes[i] << " are given";
  std::memcpy(&value, launch.args[i], sizeof(T));
  return value;
}

}  // namespace

// The library has matrices by columns, so it is asked for the transpose: b^T a^T.
struct LibraryGemm::Plan {
  Plan(lt::Handle handle, int type, int64_t m, int64_t n, int64_t k)
      : desc(Lt().DestroyDesc),
        a(Lt().DestroyLayout),
        b(Lt().DestroyLayout),
        y(Lt().DestroyLayout) {
    CheckLt(Lt().CreateDesc(desc.address(), lt::kComputeFloat32, lt::kReal32),
            "cublasLtMatmulDescCreate");
    auto layout = [&](Owned<lt::Layout>& made, int64_t rows, int64_t columns) {
      CheckLt(Lt().CreateLayout(made.address(), type, static_cast<uint64_t>(rows),
                                static_cast<uint64_t>(columns), rows),
              "cublasLtMatrixLayoutCreate");
    };
    layout(b, n, k);
    layout(a, k, m);
    layout(y, n, m);
    Owned<lt::Preference> preference(Lt().DestroyPreference);
    CheckLt(Lt().CreatePreference(preference.address()), "cublasLtMatmulPreferenceCreate");
    CheckLt(Lt().SetPreference(preference.get(), lt::kMaxWorkspaceBytes, &kWorkspaceBytes,
                               sizeof(kWorkspaceBytes)),
            "cublasLtMatmulPreferenceSetAttribute");
    int found = 0;
    CheckLt(Lt().GetHeuristic(handle, desc.get(), b.get(), a.get(), y.get(), y.get(),
                              preference.get(), 1, &choice, &found),
            "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0)
      TERN_THROW(RuntimeError) << "cuBLASLt has no algorithm for a matmul of " << m << " x " << k
                               << " and " << k << " x " << n;
  }

  Owned<lt::Desc> desc;
  Owned<lt::Layout> a, b, y;
  lt::Choice choice{};
};

LibraryGemm::LibraryGemm(Device* device, const std::string& text)
    : device_(device), type_(TypeOf(text)) {}

LibraryGemm::~LibraryGemm() {
  Current current(*device_);
  plans_.clear();
  for (const auto& [stream, memory] : workspaces_) Cu().MemFree(memory);
}

LibraryGemm::Plan& LibraryGemm::PlanOf(int64_t m, int64_t n, int64_t k) {
  std::unique_ptr<Plan>& plan = plans_[{m, n, k}];
  if (!plan) plan = std::make_unique<Plan>(HandleOf(device_), type_, m, n, k);
  return *plan;
}

cu::DevicePointer LibraryGemm::WorkspaceOf(cu::Stream stream) {
  cu::DevicePointer& memory = workspaces_[stream];
  if (!memory) {
    BesideCaptures beside;
    Check(Cu().MemAlloc(&memory, kWorkspaceBytes), "cuMemAlloc");
  }
  return memory;
}

void LibraryGemm::Launch(const TernLaunch& launch) {
  if (launch.num_args != 6)
    TERN_THROW(ValueError) << "a matmul takes 6 arguments (a, b, y, m, n, k), " << launch.num_args
                           << " are given";
  auto address = [&](int32_t i) {
    return reinterpret_cast<void*>(Argument<cu::DevicePointer>(launch, i));  // NOLINT
  };
  auto m = Argument<int64_t>(launch, 3), n = Argument<int64_t>(launch, 4),
       k = Argument<int64_t>(launch, 5);
  if (m == 0 || n == 0) return;
  Current current(*device_);
  auto stream = static_cast<cu::Stream>(launch.stream);
  std::lock_guard lock(mutex_);
  Plan& plan = PlanOf(m, n, k);
  cu::DevicePointer memory = plan.choice.workspace > 0 ? WorkspaceOf(stream) : 0;
  auto* workspace = reinterpret_cast<void*>(memory);  // NOLINT: the driver's addresses are numbers
  float one = 1, zero = 0;
  CheckLt(
      Lt().Matmul(HandleOf(device_), plan.desc.get(), &one, address(1), plan.b.get(), address(0),
                  plan.a.get(), &zero, address(2), plan.y.get(), address(2), plan.y.get(),
                  plan.choice.algorithm, workspace, plan.choice.workspace, stream),
      "cublasLtMatmul");
}

}  // namespace tern::backend::cuda
