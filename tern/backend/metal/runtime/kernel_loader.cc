// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "tern/backend/metal/runtime/driver.h"
#include "tern/backend/metal/runtime/plugin.h"

namespace tern::backend::metal {
namespace {

using plugin::Guard;

constexpr int kMaxBuffers = 31;
constexpr size_t kMaxInlineBytes = 4096;  // of setBytes:
constexpr UInt kStorageShared = 0, kUsageReadWrite = 3;

struct Kernel {
  Device* device;
  Ref pipeline;
  UInt max_threads, shared_bytes;
};

// ---- Programs.

// The version of the language as the source's first line has it: "// MSL 3.1"; 0: not said.
UInt LanguageVersion(const std::string& source) {
  constexpr const char kPrefix[] = "// MSL ";
  constexpr size_t kAt = sizeof kPrefix - 1;
  if (source.rfind(kPrefix, 0) != 0 || source.size() < kAt + 3) return 0;
  return (static_cast<UInt>(source[kAt] - '0') << 16) + static_cast<UInt>(source[kAt + 2] - '0');
}

class Program {
 public:
  Program(Device* device, const std::string& format) : device_(device), format_(format) {}

  void Add(const TernBlob& blob) { blobs_[blob.name] = std::string(blob.data, blob.size); }

  // Made at first use: of its own library, or of one for all kernels.
  Kernel* Get(const std::string& name) {
    auto& kernel = kernels_[name];
    if (kernel) return kernel.get();
    Pool pool;
    auto blob = blobs_.find(name);
    if (blob == blobs_.end()) blob = blobs_.find("");
    if (blob == blobs_.end()) Absent(name);
    Ref function = Ref::Take(Send<Id>(LibraryOf(blob->first), "newFunctionWithName:", Text(name)));
    if (!function) Absent(name);
    kernel = MakeKernel(name, function.get());
    return kernel.get();
  }

 private:
  [[noreturn]] void Absent(const std::string& name) const {
    TERN_THROW(ValueError) << "metal:" << device_->number() << ": the program has no kernel "
                           << name;
  }

  Id LibraryOf(const std::string& blob) {
    Ref& library = libraries_[blob];
    if (!library) library = format_ == "metal" ? CompileSource(blobs_[blob]) : Load(blobs_[blob]);
    return library.get();
  }

  Ref CompileSource(const std::string& source) {
    Ref options = Ref::Take(Send<Id>(objc.get_class("MTLCompileOptions"), "new"));
    Send<void>(options.get(), "setFastMathEnabled:", false);
    if (UInt version = LanguageVersion(source))
      Send<void>(options.get(), "setLanguageVersion:", version);
    Id error = nullptr;
    Ref library =
        Ref::Take(Send<Id>(device_->handle(), "newLibraryWithSource:options:error:", Text(source),
                           options.get(), &error));
    if (!library)
      TERN_THROW(RuntimeError) << "Metal does not compile the program for metal:"
                               << device_->number() << ":\n"
                               << MessageOf(error);
    return library;
  }

  Ref Load(const std::string& bytes) {
    auto create = Driver::Get().create_data;
    if (!create) TERN_THROW(RuntimeError) << "the system has no dispatch_data_create";
    Ref data = Ref::Take(create(bytes.data(), bytes.size(), nullptr, nullptr));  // copies
    Id error = nullptr;
    Ref library =
        Ref::Take(Send<Id>(device_->handle(), "newLibraryWithData:error:", data.get(), &error));
    if (!library)
      TERN_THROW(RuntimeError) << "metal:" << device_->number()
                               << " does not take the metallib code: " << MessageOf(error);
    return library;
  }

  std::unique_ptr<Kernel> MakeKernel(const std::string& name, Id function) {
    Id error = nullptr;
    Ref pipeline = Ref::Take(Send<Id>(
        device_->handle(), "newComputePipelineStateWithFunction:error:", function, &error));
    if (!pipeline)
      TERN_THROW(RuntimeError) << "metal:" << device_->number() << " makes no pipeline of kernel "
                               << name << ": " << MessageOf(error);
    Id made = pipeline.get();
    return std::make_unique<Kernel>(Kernel{device_, std::move(pipeline),
                                           Send<UInt>(made, "maxTotalThreadsPerThreadgroup"),
                                           Send<UInt>(made, "staticThreadgroupMemoryLength")});
  }

  Device* device_;
  std::string format_;
  std::map<std::string, std::string> blobs_;
  std::map<std::string, Ref> libraries_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

int Load(int32_t device_id, const char* fmt, const TernBlob* blobs, int32_t num_blobs, void** out) {
  return Guard([&] {
    std::string format = fmt;
    if (format != "metal" && format != "metallib")
      TERN_THROW(ValueError) << "the metal runtime does not take programs in format " << format
                             << ": metal and metallib are legal";
    auto program = std::make_unique<Program>(&Driver::Get().device(device_id), format);
    for (int32_t i = 0; i < num_blobs; ++i) program->Add(blobs[i]);
    *out = program.release();
  });
}

void Unload(void* program) { delete static_cast<Program*>(program); }

int GetKernel(void* program, const char* name, void** out) {
  return Guard([&] { *out = static_cast<Program*>(program)->Get(name); });
}

// ---- Launches.

// As docs/metal.md says: the tensors, and the bytes of the structure behind them.
struct Arguments {
  std::vector<Id> buffers;
  bool by_address = false;
  std::vector<char> bytes;

  void Append(const void* value, uint64_t size) {
    size_t at = (bytes.size() + size - 1) / size * size;
    bytes.resize(at + size);
    std::memcpy(bytes.data() + at, value, size);
  }
};

Arguments ReadArguments(const Kernel& kernel, const TernLaunch& launch) {
  Arguments arguments;
  for (int32_t i = 0; i < launch.num_args; ++i) {
    if (!launch.arg_is_memory[i]) continue;
    Id buffer = nullptr;
    std::memcpy(&buffer, launch.args[i], sizeof(Id));
    if (!buffer) TERN_THROW(ValueError) << "argument " << i << " is a tensor without memory";
    arguments.buffers.push_back(buffer);
  }
  bool has_numbers = static_cast<int32_t>(arguments.buffers.size()) < launch.num_args;
  arguments.by_address = arguments.buffers.size() + has_numbers > kMaxBuffers;
  if (arguments.by_address && !kernel.device->IsOfFamily(kMetal3))
    TERN_THROW(ValueError) << "the kernel has " << arguments.buffers.size()
                           << " tensors; metal:" << kernel.device->number()
                           << ", which is no Metal 3 device, takes " << kMaxBuffers - has_numbers;
  if (arguments.by_address)
    for (Id buffer : arguments.buffers) {
      auto address = Send<uint64_t>(buffer, "gpuAddress");
      arguments.Append(&address, sizeof address);
    }
  for (int32_t i = 0; i < launch.num_args; ++i)
    if (!launch.arg_is_memory[i]) arguments.Append(launch.args[i], launch.arg_sizes[i]);
  // A structure is a multiple of what its members are aligned to.
  arguments.bytes.resize((arguments.bytes.size() + 7) / 8 * 8);
  return arguments;
}

void CheckLimits(const Kernel& kernel, const TernLaunch& launch) {
  uint64_t threads = 1;
  for (uint32_t extent : launch.block) threads *= extent;
  if (threads > kernel.max_threads)
    TERN_THROW(ValueError) << "the block has " << threads
                           << " threads; metal:" << kernel.device->number() << " allows "
                           << kernel.max_threads
                           << " for this kernel (maxTotalThreadsPerThreadgroup)";
  uint64_t shared = kernel.shared_bytes + launch.dynamic_shared_bytes;
  uint64_t limit = kernel.device->Number("maxThreadgroupMemoryLength");
  if (shared > limit)
    TERN_THROW(ValueError) << "the block asks for " << shared
                           << " bytes of shared memory; metal:" << kernel.device->number()
                           << " allows " << limit << " (maxThreadgroupMemoryLength)";
}

void SetBytes(const Kernel& kernel, const Arguments& arguments, Id encoder, UInt index) {
  const void* bytes = arguments.bytes.data();
  UInt size = arguments.bytes.size();
  if (!arguments.by_address && size <= kMaxInlineBytes)
    return Send<void>(encoder, "setBytes:length:atIndex:", bytes, size, index);
  // The command buffer holds it.
  Ref buffer = Ref::Take(Send<Id>(
      kernel.device->handle(), "newBufferWithBytes:length:options:", bytes, size, kStorageShared));
  Send<void>(encoder, "setBuffer:offset:atIndex:", buffer.get(), UInt{0}, index);
}

void SetArguments(const Kernel& kernel, const Arguments& arguments, Id encoder) {
  UInt index = 0;
  for (Id buffer : arguments.buffers)
    if (arguments.by_address)
      Send<void>(encoder, "useResource:usage:", buffer, kUsageReadWrite);
    else
      Send<void>(encoder, "setBuffer:offset:atIndex:", buffer, UInt{0}, index++);
  if (!arguments.bytes.empty()) SetBytes(kernel, arguments, encoder, index);
}

void Encode(const Kernel& kernel, const TernLaunch& launch, const Arguments& arguments,
            Id commands) {
  Id encoder = Send<Id>(commands, "computeCommandEncoder");
  Send<void>(encoder, "setComputePipelineState:", kernel.pipeline.get());
  SetArguments(kernel, arguments, encoder);
  if (launch.dynamic_shared_bytes > 0)  // in multiples of 16
    Send<void>(encoder, "setThreadgroupMemoryLength:atIndex:",
               static_cast<UInt>((launch.dynamic_shared_bytes + 15) / 16 * 16), UInt{0});
  Send<void>(encoder, "dispatchThreadgroups:threadsPerThreadgroup:",
             Size{launch.grid[0], launch.grid[1], launch.grid[2]},
             Size{launch.block[0], launch.block[1], launch.block[2]});
  Send<void>(encoder, "endEncoding");
}

int Launch(void* raw, const TernLaunch* launch) {
  return Guard([&] {
    auto& kernel = *static_cast<Kernel*>(raw);
    CheckLimits(kernel, *launch);
    Arguments arguments = ReadArguments(kernel, *launch);
    kernel.device->stream(launch->stream).Submit([&](Id commands) {
      Encode(kernel, *launch, arguments, commands);
    });
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

}  // namespace tern::backend::metal
