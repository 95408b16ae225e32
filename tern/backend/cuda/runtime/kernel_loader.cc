// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "tern/backend/cuda/common/nvrtc.h"
#include "tern/backend/cuda/runtime/cublaslt.h"
#include "tern/backend/cuda/runtime/driver.h"
#include "tern/backend/cuda/runtime/plugin.h"
#include "tern/runtime/artifact/elf_extents.h"

namespace tern::backend::cuda {
namespace {

using plugin::Guard;

struct Kernel {
  const cu::Functions& functions = Cu();
  Device* device;
  cu::Function handle;
  unsigned max_threads = 0;  // of this kernel on its device
  // The bytes of its arguments, where the driver tells.
  std::optional<std::vector<uint64_t>> arg_sizes;
  std::atomic<bool> is_checked{false};  // whether a launch's arguments were found to be these
  std::mutex mutex;                     // of telling the driver a limit
  std::atomic<int> dynamic_limit{0};    // bytes of dynamic shared memory that it was told to allow
  std::unique_ptr<LibraryGemm> library = nullptr;  // it is a matmul of this, and has no code
};

std::optional<std::vector<uint64_t>> ArgSizes(cu::Function function) {
  if (!Cu().FuncGetParamInfo) return std::nullopt;
  std::vector<uint64_t> sizes;
  size_t offset = 0, size = 0;
  for (;;) {
    cu::Result result = Cu().FuncGetParamInfo(function, sizes.size(), &offset, &size);
    if (result == cu::kInvalidValue) return sizes;  // behind the last one
    Check(result, "cuFuncGetParamInfo");
    sizes.push_back(size);
  }
}

// A wrong argument would be read as something else. They are the same at every launch.
void CheckArguments(Kernel& kernel, const TernLaunch& launch) {
  if (!kernel.arg_sizes) return;
  const std::vector<uint64_t>& sizes = *kernel.arg_sizes;
  if (sizes.size() != static_cast<size_t>(launch.num_args))
    TERN_THROW(ValueError) << "the kernel takes " << sizes.size() << " arguments, "
                           << launch.num_args << " are given";
  for (size_t i = 0; i < sizes.size(); ++i) {
    bool is_map = launch.arg_kinds[i] == kTernArgTensorMap;
    uint64_t given = is_map ? sizeof(cu::TensorMap) : launch.arg_sizes[i];
    if (sizes[i] != given)
      TERN_THROW(ValueError) << "argument " << i << " of the kernel has " << sizes[i] << " bytes, "
                             << given << " are given";
  }
  kernel.is_checked.store(true, std::memory_order_relaxed);
}

// The driver's compiler reads to the first zero.
std::string WhyNoPtx(const std::string& code) {
  size_t last = code.find_last_not_of('\0');
  if (last == std::string::npos) return "it is empty";
  return code.find('\0') < last ? "it contains a zero" : "";
}

// Calls f(0) ... f(count - 1) on as many threads as the machine has CPUs; throws what the first of
// them throws.
template <class F>
void InParallel(size_t count, const F& f) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) try {
        f(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
  };
  std::vector<std::thread> threads;
  size_t wanted = std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  try {
    while (threads.size() + 1 < wanted) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // Those that there are, and this one, do it.
  }
  work();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

// One cu::Module per blob: a whole program, or one kernel's code.
class Program {
 public:
  explicit Program(Device* device) : device_(device) {}
  Program(const Program&) = delete;
  ~Program() {
    Current current(*device_);
    for (const auto& [name, module] : modules_) Cu().ModuleUnload(module);
  }

  void Add(const std::string& fmt, const TernBlob* blobs, size_t count) {
    if (fmt == "cuda") {
      for (size_t i = 0; i < count; ++i)
        sources_.emplace(blobs[i].name, std::string(blobs[i].data, blobs[i].size));
      return;
    }
    if (fmt == "cublaslt") {
      if (count != 1) TERN_THROW(ValueError) << "a program of cublaslt is one text";
      library_ = std::string(blobs[0].data, blobs[0].size);
      return;
    }
    for (size_t i = 0; i < count; ++i)
      modules_.emplace(blobs[i].name, FromCode(fmt, {blobs[i].data, blobs[i].size}));
  }

  void Prepare() {
    std::vector<std::string> names;
    for (const auto& [name, source] : sources_) names.push_back(name);
    Compile(names);
  }

  Kernel* Get(const std::string& name) {
    auto it = kernels_.find(name);
    if (it != kernels_.end()) return it->second.get();
    if (!library_.empty()) {
      auto kernel = std::make_unique<Kernel>();
      kernel->device = device_;
      kernel->library = std::make_unique<LibraryGemm>(device_, library_);
      return kernels_.emplace(name, std::move(kernel)).first->second.get();
    }
    for (const std::string& source : {name, std::string()})
      if (sources_.contains(source)) Compile({source});
    auto module = modules_.find(name);
    if (module == modules_.end()) module = modules_.find("");
    if (module == modules_.end())
      TERN_THROW(ValueError) << "the program has no code for kernel " << name;
    Current current(*device_);
    auto kernel = std::make_unique<Kernel>();
    kernel->device = device_;
    cu::Result found = Cu().ModuleGetFunction(&kernel->handle, module->second, name.c_str());
    if (found == cu::kNotFound)
      TERN_THROW(RuntimeError) << "cuda:" << device_->number() << ": the program has no kernel "
                               << name;
    Check(found, "cuModuleGetFunction");
    // The driver puts off loading it to the first launch otherwise, which could not be captured.
    if (Cu().FuncLoad) Check(Cu().FuncLoad(kernel->handle), "cuFuncLoad");
    int threads = 0;
    Check(Cu().FuncGetAttribute(&threads, cu::kFunctionMaxThreadsPerBlock, kernel->handle),
          "cuFuncGetAttribute");
    kernel->max_threads = static_cast<unsigned>(threads);
    kernel->arg_sizes = ArgSizes(kernel->handle);
    return kernels_.emplace(name, std::move(kernel)).first->second.get();
  }

 private:
  cu::Result Load(const std::string& code, cu::Module* module) {
    Current current(*device_);
    return Cu().ModuleLoadData(module, code.c_str());
  }

  // Compiles sources, or finds what was compiled before: once for all processes, in parallel. What
  // the driver does not take any more is compiled again.
  void Compile(const std::vector<std::string>& names) {
    // For this very chip: all of its instructions.
    std::string arch = device_->architecture(), compiler = NvrtcDescription();
    if (device_->Attribute(cu::kComputeCapabilityMajor) >= 9 && NvrtcHasSpecificArchitectures())
      arch += "a";
    struct Missing {
      std::string name, code;
      std::unique_ptr<plugin::CachedProgram> cached;
    };
    std::vector<Missing> missing;
    for (const std::string& name : names) {
      auto cached = std::make_unique<plugin::CachedProgram>(
          "cuda", std::vector<std::pair<std::string, std::string>>{
                      {"source", sources_.at(name)}, {"arch", arch}, {"compiler", compiler}});
      std::string code;
      cu::Module module = nullptr;
      if (cached->Find(&code) && Load(code, &module) == cu::kSuccess)
        Loaded(name, module);
      else
        missing.push_back({name, "", std::move(cached)});
    }
    InParallel(missing.size(), [&](size_t i) {
      missing[i].code = CompileSource(sources_.at(missing[i].name), arch, NvrtcOutput::kCubin);
    });
    for (const Missing& one : missing) {
      cu::Module module = nullptr;
      Check(Load(one.code, &module), "cuModuleLoadData");
      Loaded(one.name, module);
      one.cached->Store(one.code);
    }
  }
  void Loaded(const std::string& name, cu::Module module) {
    modules_.emplace(name, module);
    sources_.erase(name);
  }

  cu::Module FromCode(const std::string& fmt, const std::string& code) {
    std::string why = fmt == "cubin" ? plugin::WhyNoElf64(code, /*machine=*/0) : WhyNoPtx(code);
    if (!why.empty()) TERN_THROW(ValueError) << "the " << fmt << " code is damaged: " << why;
    cu::Module module = nullptr;
    if (Load(code, &module) != cu::kSuccess)
      TERN_THROW(RuntimeError) << "cuda:" << device_->number() << " (" << device_->name() << ", "
                               << device_->architecture() << ") does not take the " << fmt
                               << " code: it is for another architecture or a newer driver";
    return module;
  }

  Device* device_;
  std::string library_;                         // what a library is to compute, or ""
  std::map<std::string, std::string> sources_;  // that were not needed yet
  std::map<std::string, cu::Module> modules_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

int Load(int32_t device_id, const char* fmt, const TernBlob* blobs, int32_t num_blobs, void** out) {
  return Guard([&] {
    std::string format = fmt;
    if (format != "cuda" && format != "ptx" && format != "cubin" && format != "cublaslt")
      TERN_THROW(ValueError) << "the cuda runtime does not take programs in format " << format
                             << ": cuda, ptx, cubin and cublaslt are legal";
    auto program = std::make_unique<Program>(&Driver::Get().device(device_id));
    program->Add(format, blobs, static_cast<size_t>(num_blobs));
    *out = program.release();
  });
}

void Unload(void* program) { delete static_cast<Program*>(program); }

int Prepare(void* program) {
  return Guard([&] { static_cast<Program*>(program)->Prepare(); });
}

int GetKernel(void* program, const char* name, void** out) {
  return Guard([&] { *out = static_cast<Program*>(program)->Get(name); });
}

// The driver answers with a number; this says which limit it was.
[[noreturn]] void ExplainLaunch(const Kernel& kernel, const TernLaunch& launch, cu::Result result) {
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    auto most = static_cast<uint32_t>(kernel.device->Attribute(cu::kMaxBlockDimX + i));
    auto blocks = static_cast<uint32_t>(kernel.device->Attribute(cu::kMaxGridDimX + i));
    if (launch.block[i] > most)
      TERN_THROW(ValueError) << "block axis " << "xyz"[i] << " has " << launch.block[i]
                             << " threads; cuda:" << kernel.device->number() << " allows " << most;
    if (launch.grid[i] > blocks)
      TERN_THROW(ValueError) << "grid axis " << "xyz"[i] << " has " << launch.grid[i]
                             << " blocks; cuda:" << kernel.device->number() << " allows " << blocks;
    threads *= launch.block[i];
  }
  if (threads > kernel.max_threads)
    TERN_THROW(ValueError) << "the block has " << threads
                           << " threads; cuda:" << kernel.device->number() << " allows "
                           << kernel.max_threads << " for this kernel";
  if (launch.flags & kTernLaunchClusters)
    for (int i = 0; i < 3; ++i)
      if (launch.cluster[i] == 0 || launch.grid[i] % launch.cluster[i] != 0)
        TERN_THROW(ValueError) << "grid axis " << "xyz"[i] << " has " << launch.grid[i]
                               << " blocks, which are no whole clusters of " << launch.cluster[i];
  Check(result, launch.flags ? "cuLaunchKernelEx" : "cuLaunchKernel");
  __builtin_unreachable();
}

void AllowDynamicShared(Kernel& kernel, uint64_t bytes) {
  std::lock_guard lock(kernel.mutex);
  if (bytes <= static_cast<uint64_t>(kernel.dynamic_limit.load())) return;
  int most = kernel.device->Attribute(cu::kMaxSharedMemoryPerBlockOptin);
  if (bytes > static_cast<uint64_t>(most))
    TERN_THROW(ValueError) << "the block asks for " << bytes
                           << " bytes of shared memory; cuda:" << kernel.device->number()
                           << " allows " << most;
  auto wanted = static_cast<int>(bytes);
  Check(Cu().FuncSetAttribute(kernel.handle, cu::kFunctionMaxDynamicSharedSize, wanted),
        "cuFuncSetAttribute");
  kernel.dynamic_limit = wanted;
}

// The device's form of a description.
cu::TensorMap Encode(const cu::Functions& cu, const TernTensorMap& map) {
  if (!cu.TensorMapEncodeTiled)
    TERN_THROW(RuntimeError) << "driver " << Driver::Get().version()
                             << " makes no tensor maps; 12.0 and later do";
  int bytes = map.dtype.bits / 8;
  int type = bytes == 1   ? cu::kMap8
             : bytes == 2 ? cu::kMap16
             : bytes == 4 ? cu::kMap32
                          : cu::kMap64;
  int swizzle = map.swizzle == 128  ? cu::kSwizzle128
                : map.swizzle == 64 ? cu::kSwizzle64
                : map.swizzle == 32 ? cu::kSwizzle32
                                    : cu::kNoSwizzle;
  constexpr int kMostAxes = 5;
  uint64_t shape[kMostAxes], strides[kMostAxes];
  uint32_t box[kMostAxes], steps[kMostAxes];
  for (int i = 0; i < map.ndim; ++i) {  // the innermost axis first; it has no stride
    int from = map.ndim - 1 - i;
    shape[i] = map.shape[from];
    box[i] = map.box[from];
    steps[i] = 1;
    if (i > 0) strides[i - 1] = map.strides[from];
  }
  cu::TensorMap encoded;
  cu::Result result = cu.TensorMapEncodeTiled(&encoded, type, static_cast<uint32_t>(map.ndim),
                                              static_cast<char*>(map.memory) + map.offset, shape,
                                              strides, box, steps, 0, swizzle, cu::kPromote128, 0);
  Check(result, "cuTensorMapEncodeTiled");
  return encoded;
}

// A launch that has flags.
cu::Result LaunchWithAttributes(const cu::Functions& cu, const Kernel& kernel,
                                const TernLaunch& launch) {
  std::vector<cu::TensorMap> maps;
  auto** given = const_cast<void**>(launch.args);
  std::vector<void*> args(given, given + launch.num_args);
  if (launch.flags & kTernLaunchTensorMaps) {
    maps.reserve(args.size());
    for (size_t i = 0; i < args.size(); ++i) {
      if (launch.arg_kinds[i] != kTernArgTensorMap) continue;
      maps.push_back(Encode(cu, *static_cast<const TernTensorMap*>(args[i])));
      args[i] = &maps.back();
    }
    if (launch.flags == kTernLaunchTensorMaps)
      return cu.LaunchKernel(kernel.handle, launch.grid[0], launch.grid[1], launch.grid[2],
                             launch.block[0], launch.block[1], launch.block[2],
                             static_cast<unsigned>(launch.dynamic_shared_bytes),
                             static_cast<cu::Stream>(launch.stream), args.data(), nullptr);
  }
  if (!cu.LaunchKernelEx)
    TERN_THROW(RuntimeError) << "driver " << Driver::Get().version()
                             << " of cuda:" << kernel.device->number()
                             << " launches no clusters, and none that overlap; 11.8 and later do";
  cu::LaunchAttribute attributes[2] = {};
  cu::LaunchConfig config{.shared_bytes = static_cast<unsigned>(launch.dynamic_shared_bytes),
                          .stream = static_cast<cu::Stream>(launch.stream),
                          .attributes = attributes};
  std::copy_n(launch.grid, 3, config.grid);
  std::copy_n(launch.block, 3, config.block);
  if (launch.flags & kTernLaunchClusters) {
    cu::LaunchAttribute& attribute = attributes[config.num_attributes++];
    attribute.id = cu::kLaunchCluster;
    std::copy_n(launch.cluster, 3, attribute.cluster);
  }
  if (launch.flags & kTernLaunchOverlap) {
    cu::LaunchAttribute& attribute = attributes[config.num_attributes++];
    attribute.id = cu::kLaunchProgrammaticSerialization;
    attribute.number = 1;
  }
  return cu.LaunchKernelEx(&config, kernel.handle, args.data(), nullptr);
}

int Launch(void* raw, const TernLaunch* launch) {
  return Guard([&] {
    auto& kernel = *static_cast<Kernel*>(raw);
    const cu::Functions& cu = kernel.functions;
    if (kernel.library) return kernel.library->Launch(*launch);
    if (!kernel.is_checked.load(std::memory_order_relaxed)) CheckArguments(kernel, *launch);
    Current current(*kernel.device, cu);
    if (launch->dynamic_shared_bytes >
        static_cast<uint64_t>(kernel.dynamic_limit.load(std::memory_order_acquire)))
      AllowDynamicShared(kernel, launch->dynamic_shared_bytes);
    cu::Result result =
        launch->flags
            ? LaunchWithAttributes(cu, kernel, *launch)
            : cu.LaunchKernel(kernel.handle, launch->grid[0], launch->grid[1], launch->grid[2],
                              launch->block[0], launch->block[1], launch->block[2],
                              static_cast<unsigned>(launch->dynamic_shared_bytes),
                              static_cast<cu::Stream>(launch->stream),
                              const_cast<void**>(launch->args), nullptr);
    if (result != cu::kSuccess) ExplainLaunch(kernel, *launch, result);
  });
}

}  // namespace

const TernKernelLoader kKernelLoader = {
    .size = sizeof(TernKernelLoader),
    .version = TERN_PLUGIN_API_VERSION,
    .load = Load,
    .unload = Unload,
    .get_kernel = GetKernel,
    .launch = Launch,
    .launch_flags = kTernLaunchClusters | kTernLaunchTensorMaps | kTernLaunchOverlap,
    .prepare = Prepare,
};

}  // namespace tern::backend::cuda
