// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "tern/backend/rocm/runtime/driver.h"
#include "tern/backend/rocm/runtime/plugin.h"
#include "tern/runtime/artifact/elf_extents.h"

namespace tern::backend::rocm {
namespace {

using plugin::Guard;

struct Kernel {
  int32_t device;
  hip::Function handle;
  unsigned max_threads = 0;  // of this kernel on its device
};

// One hip::Module per blob: a whole program, or one kernel's code.
class Program {
 public:
  explicit Program(int32_t device) : device_(device) {}
  Program(const Program&) = delete;
  ~Program() {
    Current current(device_);
    for (const auto& [name, module] : modules_) Hip().ModuleUnload(module);
  }

  void Add(const TernBlob& blob) {
    constexpr uint16_t kMachineAmdGpu = 224;
    if (std::string why = plugin::WhyNoElf64({blob.data, blob.size}, kMachineAmdGpu); !why.empty())
      TERN_THROW(ValueError) << "the hsaco code is no code object for an AMD GPU: " << why;
    // The library reads 8-byte fields of the file.
    code_.push_back(std::make_unique<uint64_t[]>(blob.size / 8 + 1));
    std::copy_n(blob.data, blob.size, reinterpret_cast<char*>(code_.back().get()));
    Current current(device_);
    hip::Module module = nullptr;
    hip::Result result = Hip().ModuleLoadData(&module, code_.back().get());
    if (result == hip::kNoBinaryForGpu || result == hip::kInvalidImage)
      TERN_THROW(RuntimeError) << "rocm:" << device_ << " (" << DeviceName(device_)
                               << ") does not take the hsaco code: it is for another architecture";
    Check(result, "hipModuleLoadData");
    modules_.emplace(blob.name, module);
  }

  Kernel* Get(const std::string& name) {
    auto it = kernels_.find(name);
    if (it != kernels_.end()) return it->second.get();
    auto module = modules_.find(name);
    if (module == modules_.end()) module = modules_.find("");
    if (module == modules_.end())
      TERN_THROW(ValueError) << "the program has no code for kernel " << name;
    Current current(device_);
    auto kernel = std::make_unique<Kernel>();
    kernel->device = device_;
    if (Hip().ModuleGetFunction(&kernel->handle, module->second, name.c_str()) != hip::kSuccess)
      TERN_THROW(RuntimeError) << "rocm:" << device_ << ": the program has no kernel " << name;
    int threads = 0;
    Check(Hip().FuncGetAttribute(&threads, hip::kFunctionMaxThreadsPerBlock, kernel->handle),
          "hipFuncGetAttribute");
    kernel->max_threads = static_cast<unsigned>(threads);
    return kernels_.emplace(name, std::move(kernel)).first->second.get();
  }

 private:
  int32_t device_;
  std::vector<std::unique_ptr<uint64_t[]>> code_;
  std::map<std::string, hip::Module> modules_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

int Load(int32_t device_id, const char* fmt, const TernBlob* blobs, int32_t num_blobs, void** out) {
  return Guard([&] {
    if (std::string(fmt) != "hsaco")
      TERN_THROW(ValueError) << "the rocm runtime does not take programs in format " << fmt
                             << ": hsaco is legal";
    Driver::Get().CheckDevice(device_id);
    auto program = std::make_unique<Program>(device_id);
    for (int32_t i = 0; i < num_blobs; ++i) program->Add(blobs[i]);
    *out = program.release();
  });
}

void Unload(void* program) { delete static_cast<Program*>(program); }

int GetKernel(void* program, const char* name, void** out) {
  return Guard([&] { *out = static_cast<Program*>(program)->Get(name); });
}

// HIP answers with a number; this says which limit it was.
[[noreturn]] void ExplainLaunch(const Kernel& kernel, const TernLaunch& launch,
                                hip::Result result) {
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    auto most = static_cast<uint32_t>(Attribute(kernel.device, hip::kMaxBlockDimX + i));
    auto blocks = static_cast<uint32_t>(Attribute(kernel.device, hip::kMaxGridDimX + i));
    if (launch.block[i] > most)
      TERN_THROW(ValueError) << "block axis " << "xyz"[i] << " has " << launch.block[i]
                             << " threads; rocm:" << kernel.device << " allows " << most;
    if (launch.grid[i] > blocks)
      TERN_THROW(ValueError) << "grid axis " << "xyz"[i] << " has " << launch.grid[i]
                             << " blocks; rocm:" << kernel.device << " allows " << blocks;
    threads *= launch.block[i];
  }
  if (threads > kernel.max_threads)
    TERN_THROW(ValueError) << "the block has " << threads << " threads; rocm:" << kernel.device
                           << " allows " << kernel.max_threads << " for this kernel";
  Check(result, "hipModuleLaunchKernel");
  __builtin_unreachable();
}

int Launch(void* raw, const TernLaunch* launch) {
  return Guard([&] {
    auto& kernel = *static_cast<Kernel*>(raw);
    Current current(kernel.device);
    auto** args = const_cast<void**>(launch->args);
    hip::Result result = Hip().ModuleLaunchKernel(
        kernel.handle, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
        launch->block[1], launch->block[2], static_cast<unsigned>(launch->dynamic_shared_bytes),
        static_cast<hip::Stream>(launch->stream), args, nullptr);
    if (result != hip::kSuccess) ExplainLaunch(kernel, *launch, result);
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
};

}  // namespace tern::backend::rocm
