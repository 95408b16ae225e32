// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>

#include "tern/backend/opencl/runtime/driver.h"
#include "tern/backend/opencl/runtime/plugin.h"

namespace tern::backend::opencl {
namespace {

using plugin::Guard;

// What a program is built with, on any device and on processors.
constexpr const char* kBuildOptions = "-cl-std=CL1.2";
constexpr const char* kCpuBuildOptions = "-cl-std=CL1.2 -DTERN_CPU";
constexpr cl::UInt kDims = 3;
// Source, and binaries as drivers make them: of GPUs and CPUs, and of FPGAs by their vendors'
// tools.
constexpr const char* kFormats[] = {"cl", "clbin", "xclbin", "awsxclbin", "aocx"};

// Argument values live in the kernel object until it is enqueued, so setting and enqueueing are one
// step under a lock.
struct Kernel {
  Device* device;
  cl::Kernel handle;
  cl::UInt num_args = 0;
  size_t max_threads = 0;  // of this kernel on its device
  std::mutex mutex;

  Kernel(Device* device, cl::Kernel handle) : device(device), handle(handle) {}
  Kernel(const Kernel&) = delete;
  ~Kernel() { Cl().ReleaseKernel(handle); }
};

// One cl::Program per blob: a whole program, or one kernel's code.
class Program {
 public:
  explicit Program(Device* device)
      : device_(device),
        is_cpu_((device->Number<cl::Bits>(cl::kDeviceType) & cl::kDeviceTypeCpu) != 0) {}
  Program(const Program&) = delete;
  ~Program() {
    kernels_.clear();
    for (const auto& [name, program] : programs_) Cl().ReleaseProgram(program);
  }

  void Add(const std::string& fmt, const TernBlob& blob) {
    std::string code(blob.data, blob.size);
    programs_.emplace(blob.name, fmt == "cl" ? FromSource(code) : FromBinary(fmt, code));
  }

  Kernel* Get(const std::string& name) {
    auto it = kernels_.find(name);
    if (it != kernels_.end()) return it->second.get();
    auto program = programs_.find(name);
    if (program == programs_.end()) program = programs_.find("");
    if (program == programs_.end())
      TERN_THROW(ValueError) << "the program has no code for kernel " << name;
    cl::Int code = cl::kSuccess;
    cl::Kernel handle = Cl().CreateKernel(program->second, name.c_str(), &code);
    if (code != cl::kSuccess)
      TERN_THROW(RuntimeError) << "opencl:" << device_->number() << ": the program has no kernel "
                               << name;
    auto kernel = std::make_unique<Kernel>(device_, handle);
    Check(Cl().GetKernelInfo(handle, cl::kKernelNumArgs, sizeof kernel->num_args, &kernel->num_args,
                             nullptr),
          "clGetKernelInfo");
    Check(Cl().GetKernelWorkGroupInfo(handle, device_->id(), cl::kKernelWorkGroupSize,
                                      sizeof kernel->max_threads, &kernel->max_threads, nullptr),
          "clGetKernelWorkGroupInfo");
    return kernels_.emplace(name, std::move(kernel)).first->second.get();
  }

 private:
  // A program is compiled once for all processes. What the driver does not take any more is
  // compiled again. Drivers for processors compile a kernel when it is launched, for the size of
  // its work groups, and keep that themselves; for a binary they would compile all kernels, for any
  // size.
  cl::Program FromSource(const std::string& source) {
    plugin::CachedProgram cached("opencl", {{"source", source},
                                            {"options", BuildOptions()},
                                            {"device", device_->Text(cl::kDeviceName)},
                                            {"vendor", device_->Text(cl::kDeviceVendor)},
                                            {"version", device_->Text(cl::kDeviceVersion)},
                                            {"driver", device_->Text(cl::kDriverVersion)}});
    std::string binary;
    if (cached.Find(&binary))
      if (cl::Program program = TryBinary(binary)) return program;
    cl::Int code = cl::kSuccess;
    const char* text = source.data();
    size_t size = source.size();
    cl::Program program = Cl().CreateProgramWithSource(device_->context(), 1, &text, &size, &code);
    Check(code, "clCreateProgramWithSource");
    if (!Build(program)) FailToBuild(program);
    if (is_cpu_) return program;
    binary = BinaryOf(program);
    if (!binary.empty()) cached.Store(binary);
    return program;
  }

  cl::Program FromBinary(const std::string& fmt, const std::string& binary) {
    if (cl::Program program = TryBinary(binary)) return program;
    TERN_THROW(RuntimeError) << "opencl:" << device_->number() << " ("
                             << device_->Text(cl::kDeviceName) << ") does not take the " << fmt
                             << " binary: it is for another device or driver";
  }

  // Null where the driver does not take it.
  cl::Program TryBinary(const std::string& binary) {
    cl::Int code = cl::kSuccess, status = cl::kSuccess;
    const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
    size_t size = binary.size();
    cl::Device id = device_->id();
    cl::Program program =
        Cl().CreateProgramWithBinary(device_->context(), 1, &id, &size, &bytes, &status, &code);
    if (code != cl::kSuccess) return nullptr;
    if (status == cl::kSuccess && Build(program)) return program;
    Cl().ReleaseProgram(program);
    return nullptr;
  }

  bool Build(cl::Program program) {
    cl::Device id = device_->id();
    return Cl().BuildProgram(program, 1, &id, BuildOptions(), nullptr, nullptr) == cl::kSuccess;
  }

  [[noreturn]] void FailToBuild(cl::Program program) {
    cl::Device id = device_->id();
    size_t size = 0;
    Cl().GetProgramBuildInfo(program, id, cl::kProgramBuildLog, 0, nullptr, &size);
    std::string log(size, '\0');
    Cl().GetProgramBuildInfo(program, id, cl::kProgramBuildLog, size, log.data(), nullptr);
    Cl().ReleaseProgram(program);
    TERN_THROW(RuntimeError) << "opencl:" << device_->number() << " ("
                             << device_->Text(cl::kDeviceName)
                             << ") does not compile the program:\n"
                             << log.c_str();
  }

  // What the driver made of a program for its one device; "" where it does not tell.
  static std::string BinaryOf(cl::Program program) {
    size_t size = 0;
    if (Cl().GetProgramInfo(program, cl::kProgramBinarySizes, sizeof size, &size, nullptr) !=
        cl::kSuccess)
      return "";
    std::string binary(size, '\0');
    char* bytes = binary.data();
    if (Cl().GetProgramInfo(program, cl::kProgramBinaries, sizeof bytes, &bytes, nullptr) !=
        cl::kSuccess)
      return "";
    return binary;
  }

  const char* BuildOptions() const { return is_cpu_ ? kCpuBuildOptions : kBuildOptions; }

  Device* device_;
  const bool is_cpu_;
  std::map<std::string, cl::Program> programs_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

int Load(int32_t device_id, const char* fmt, const TernBlob* blobs, int32_t num_blobs, void** out) {
  return Guard([&] {
    std::string format = fmt;
    if (std::find(std::begin(kFormats), std::end(kFormats), format) == std::end(kFormats))
      TERN_THROW(ValueError) << "the opencl runtime does not take programs in format " << format
                             << ": cl, clbin, xclbin, awsxclbin and aocx are legal";
    auto program = std::make_unique<Program>(&Driver::Get().device(device_id));
    for (int32_t i = 0; i < num_blobs; ++i) program->Add(format, blobs[i]);
    *out = program.release();
  });
}

void Unload(void* program) { delete static_cast<Program*>(program); }

int GetKernel(void* program, const char* name, void** out) {
  return Guard([&] { *out = static_cast<Program*>(program)->Get(name); });
}

// Drivers answer too large a work group with a number; this says which limit it was.
void CheckLimits(const Kernel& kernel, const TernLaunch& launch) {
  size_t per_axis[kDims] = {};
  Check(Cl().GetDeviceInfo(kernel.device->id(), cl::kDeviceMaxWorkItemSizes, sizeof per_axis,
                           per_axis, nullptr),
        "clGetDeviceInfo");
  uint64_t threads = 1;
  for (cl::UInt i = 0; i < kDims; ++i) {
    if (launch.block[i] > per_axis[i])
      TERN_THROW(ValueError) << "block axis " << "xyz"[i] << " has " << launch.block[i]
                             << " threads; opencl:" << kernel.device->number() << " allows "
                             << per_axis[i] << " (CL_DEVICE_MAX_WORK_ITEM_SIZES)";
    threads *= launch.block[i];
  }
  if (threads > kernel.max_threads)
    TERN_THROW(ValueError) << "the block has " << threads
                           << " threads; opencl:" << kernel.device->number() << " allows "
                           << kernel.max_threads << " for this kernel (CL_KERNEL_WORK_GROUP_SIZE)";
  if (launch.dynamic_shared_bytes == 0) return;
  auto shared = kernel.device->Number<cl::Bits>(cl::kDeviceLocalMemSize);
  if (launch.dynamic_shared_bytes > shared)
    TERN_THROW(ValueError) << "the block asks for " << launch.dynamic_shared_bytes
                           << " bytes of shared memory; opencl:" << kernel.device->number()
                           << " allows " << shared << " (CL_DEVICE_LOCAL_MEM_SIZE)";
}

int Launch(void* raw, const TernLaunch* launch) {
  return Guard([&] {
    auto& kernel = *static_cast<Kernel*>(raw);
    CheckLimits(kernel, *launch);
    // Dynamic shared memory, where it is asked for, is the argument behind the others.
    auto num_args = static_cast<cl::UInt>(launch->num_args);
    bool has_dynamic = launch->dynamic_shared_bytes > 0;
    cl::UInt given = num_args + has_dynamic;
    if (given != kernel.num_args)
      TERN_THROW(TypeError) << "the kernel takes " << kernel.num_args << " arguments, " << given
                            << " are given";
    size_t global[kDims], local[kDims];
    for (cl::UInt i = 0; i < kDims; ++i) {
      local[i] = launch->block[i];
      global[i] = size_t{launch->grid[i]} * launch->block[i];
    }
    cl::Queue queue = kernel.device->queue(launch->stream);
    std::lock_guard lock(kernel.mutex);
    for (int32_t i = 0; i < launch->num_args; ++i)
      Check(Cl().SetKernelArg(kernel.handle, static_cast<cl::UInt>(i), launch->arg_sizes[i],
                              launch->args[i]),
            ("clSetKernelArg(" + std::to_string(i) + ")").c_str());
    if (has_dynamic)
      Check(Cl().SetKernelArg(kernel.handle, num_args, launch->dynamic_shared_bytes, nullptr),
            "clSetKernelArg of the shared memory");
    Check(Cl().EnqueueNDRangeKernel(queue, kernel.handle, kDims, nullptr, global, local, 0, nullptr,
                                    nullptr),
          "clEnqueueNDRangeKernel");
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

}  // namespace tern::backend::opencl
