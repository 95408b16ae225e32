// SPDX-License-Identifier: Apache-2.0
//
// Modules and launches of the stand-in driver.
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "tern/backend/cuda/test/driver_state.h"
#include "tern/backend/cuda/test/ptx_text.h"
#include "tern/runtime/test_standin/tensor_map.h"

using namespace tern::backend::cuda;
using namespace tern::backend::cuda::standin;

namespace {

// The driver is not told how long an image is: a shared object says it, and PTX ends with a zero.
std::string ImageBytes(const void* image) {
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0)
    return CodeOfPtx(static_cast<const char*>(image)).value_or("");
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  size_t size = header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
  return {static_cast<const char*>(image), size};
}

// Machine code runs within its generation, on the same or a later chip; code for "sm_90a" there
// alone; PTX on whatever came later.
bool RunsHere(const std::string& arch) {
  int wanted = ArchitectureNumber(arch), here = ArchitectureNumber(Architecture());
  if (arch.ends_with('a')) return here == wanted;
  return here >= wanted && (arch.starts_with("compute_") || here / 10 == wanted / 10);
}

std::string SizesText(unsigned x, unsigned y, unsigned z) {
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

int CheckSizes(const Function& function, const Index& grid, const Index& block, unsigned shared) {
  const unsigned grids[] = {grid.x, grid.y, grid.z}, blocks[] = {block.x, block.y, block.z};
  for (int i = 0; i < 3; ++i)
    if (grids[i] < 1 || grids[i] > static_cast<unsigned>(kMaxGrid[i]) || blocks[i] < 1 ||
        blocks[i] > static_cast<unsigned>(kMaxBlock[i]))
      return Refuse(kErrorInvalidValue, "grid " + SizesText(grid.x, grid.y, grid.z) + ", block " +
                                            SizesText(block.x, block.y, block.z));
  uint64_t threads = uint64_t{block.x} * block.y * block.z;
  int most = function.kernel->max_threads ? function.kernel->max_threads : kMaxThreads;
  if (threads > kMaxThreads)
    return Refuse(kErrorInvalidValue, std::to_string(threads) + " threads in a block");
  if (threads > static_cast<uint64_t>(most))
    return Refuse(kErrorInvalidValue, std::to_string(threads) +
                                          " threads in a block, __launch_bounds__(" +
                                          std::to_string(most) + ")");
  auto fixed = static_cast<size_t>(function.kernel->shared_end - function.kernel->shared_begin);
  if (fixed + shared > static_cast<size_t>(function.dynamic_limit))
    return Refuse(kErrorInvalidValue, std::to_string(fixed + shared) + " bytes of shared memory, " +
                                          std::to_string(function.dynamic_limit) +
                                          " were asked for");
  return 0;
}

// An argument is a row of these: as aligned as any parameter.
struct alignas(64) ArgumentPart {
  char bytes[64];
};
using Arguments = std::vector<std::vector<ArgumentPart>>;

// Each argument as the kernel's signature has it; the caller's may go away.
std::shared_ptr<Arguments> CopyArguments(const tern_standin::Kernel& kernel, void** args) {
  auto copies = std::make_shared<Arguments>();
  for (int i = 0; i < kernel.num_params; ++i) {
    size_t size = kernel.params[i].size;
    copies->emplace_back((size + sizeof(ArgumentPart) - 1) / sizeof(ArgumentPart));
    std::memcpy(copies->back().data(), args[i], size);
  }
  return copies;
}

int CodeOf(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return 0;
    case Fault::kAddress:
      return kErrorIllegalAddress;
    case Fault::kMisaligned:
      return kErrorMisaligned;
    case Fault::kInstruction:
      return kErrorIllegalInstruction;
    case Fault::kStuck:
      return kErrorLaunchTimeout;
    default:
      return kErrorLaunchFailed;
  }
}

KernelError Execute(Driver& driver, Function* function, const Index& grid, const Index& block,
                    unsigned shared, Arguments& copies) {
  if (!driver.functions.contains(function))
    return {kErrorLaunchFailed, "the kernel's module was unloaded"};
  std::vector<void*> pointers;
  for (auto& copy : copies) pointers.push_back(copy.data());
  const Module& module = *function->module;
  auto check = [&](const void* address, size_t bytes) -> std::string {
    std::string why;
    const Allocation* found = driver.Find(reinterpret_cast<uint64_t>(address), bytes, &why);
    if (!found) return why;
    if (found->device < 0 || found->device == module.device) return "";
    return "of device " + std::to_string(found->device);
  };
  Failure failure = RunGrid({.image = module.image.get(),
                             .kernel = function->kernel,
                             .grid = grid,
                             .block = block,
                             .dynamic_shared_bytes = shared,
                             .args = pointers.data(),
                             .check_global = check});
  return {CodeOf(failure.fault), failure.text};
}

Function* CheckFunction(Driver& driver, cu::Function handle) {
  auto* function = reinterpret_cast<Function*>(handle);
  if (driver.functions.contains(function)) return function;
  Misuse(kErrorInvalidHandle, "the kernel is not one, or its module was unloaded");
  return nullptr;
}

int Launch(Driver& driver, Context* context, cu::Function handle, const cu::LaunchConfig& config,
           void** args, void** extra) {
  Function* function = CheckFunction(driver, handle);
  Stream* stream = CheckStream(driver, context, config.stream);
  if (!function || !stream) return int{kErrorInvalidHandle};
  if (function->module->device != context->device)
    return Misuse(kErrorInvalidContext, "the kernel is of another device than the current context");
  Index grid{config.grid[0], config.grid[1], config.grid[2]},
      block{config.block[0], config.block[1], config.block[2]};
  unsigned shared = config.shared_bytes;
  if (int code = CheckSizes(*function, grid, block, shared)) return code;
  if (extra || (!args && function->kernel->num_params > 0))
    return Misuse(kErrorInvalidValue, "no arguments");
  for (int i = 0; i < function->kernel->num_params; ++i)
    if (!args[i] || reinterpret_cast<uintptr_t>(args[i]) % function->kernel->params[i].alignment)
      return Misuse(kErrorInvalidValue,
                    "argument " + std::to_string(i) + " is null or not aligned");
  auto copies = CopyArguments(*function->kernel, args);
  driver.Enqueue(*stream, NodeKind::kKernel, [&driver, function, grid, block, shared, copies] {
    return Execute(driver, function, grid, block, shared, *copies);
  });
  return 0;
}

int CheckAttribute(const cu::LaunchConfig& config, const cu::LaunchAttribute& attribute) {
  if (attribute.id == cu::kLaunchProgrammaticSerialization)
    return attribute.number == 0 || attribute.number == 1
               ? 0
               : Misuse(kErrorInvalidValue, "serialization is allowed or not: 1 or 0");
  if (attribute.id != cu::kLaunchCluster)
    return Misuse(kErrorInvalidValue,
                  "attribute " + std::to_string(attribute.id) + " is not known here");
  constexpr unsigned kMaxBlocks = 8;
  unsigned blocks = 1;
  for (int i = 0; i < 3; ++i) {
    unsigned size = attribute.cluster[i];
    if (size == 0 || config.grid[i] % size != 0)
      return Refuse(kErrorInvalidValue, "the grid has no whole clusters");
    blocks *= size;
  }
  return blocks <= kMaxBlocks
             ? 0
             : Refuse(kErrorInvalidValue, std::to_string(blocks) + " blocks in a cluster");
}

}  // namespace

TERN_STANDIN_API cuModuleLoadData(cu::Module* out, const void* given) {
  return Call(
      "cuModuleLoadData", kInit | kCurrent | kNoCapture, [&](Driver& driver, Context* context) {
        if (!out || !given) return Misuse(kErrorInvalidValue, "no image");
        std::string bytes = ImageBytes(given);
        if (bytes.empty())
          return Refuse(kErrorInvalidImage, "neither machine code nor PTX of the stand-in NVRTC");
        std::string why;
        auto image = Image::Open(bytes, &why);
        if (!image) return Refuse(kErrorInvalidImage, why);
        std::string arch = image->info()->arch;
        if (!RunsHere(arch))
          return Refuse(kErrorNoBinary,
                        "the code is for " + arch + ", the device is " + Architecture());
        auto* module = new Module{context->device, std::move(image), {}};
        driver.modules.insert(module);
        *out = reinterpret_cast<cu::Module>(module);
        return 0;
      });
}

TERN_STANDIN_API cuModuleUnload(cu::Module handle) {
  return Call("cuModuleUnload", kInit | kCurrent | kNoCapture, [&](Driver& driver, Context*) {
    auto* module = reinterpret_cast<Module*>(handle);
    if (!driver.modules.contains(module))
      return Misuse(kErrorInvalidHandle, "not a module, or unloaded");
    driver.DrainDevice(module->device);
    for (const auto& [name, function] : module->functions) driver.functions.erase(function.get());
    driver.modules.erase(module);
    delete module;
    return 0;
  });
}

TERN_STANDIN_API cuModuleGetFunction(cu::Function* out, cu::Module handle, const char* name) {
  return Call("cuModuleGetFunction", kInit | kCurrent, [&](Driver& driver, Context*) {
    auto* module = reinterpret_cast<Module*>(handle);
    if (!driver.modules.contains(module))
      return Misuse(kErrorInvalidHandle, "not a module, or unloaded");
    for (int i = 0; i < module->image->info()->num_kernels; ++i) {
      const tern_standin::Kernel& kernel = module->image->info()->kernels[i];
      if (std::strcmp(kernel.name, name) != 0) continue;
      auto& function = module->functions[name];
      if (!function) function = std::make_unique<Function>(Function{module, &kernel});
      driver.functions.insert(function.get());
      *out = reinterpret_cast<cu::Function>(function.get());
      return 0;
    }
    return Refuse(kErrorNotFound, std::string("no kernel ") + name);
  });
}

TERN_STANDIN_API cuFuncLoad(cu::Function handle) {
  return Call("cuFuncLoad", kInit | kCurrent | kNoCapture, [&](Driver& driver, Context*) {
    return CheckFunction(driver, handle) ? 0 : int{kErrorInvalidHandle};
  });
}

TERN_STANDIN_API cuFuncGetAttribute(int* value, int attribute, cu::Function handle) {
  return Call("cuFuncGetAttribute", kInit | kCurrent, [&](Driver& driver, Context*) {
    Function* function = CheckFunction(driver, handle);
    if (!function) return int{kErrorInvalidHandle};
    if (attribute != cu::kFunctionMaxThreadsPerBlock)
      return Misuse(kErrorInvalidValue,
                    "attribute " + std::to_string(attribute) + " is not known here");
    *value = function->kernel->max_threads ? function->kernel->max_threads : kMaxThreads;
    return 0;
  });
}

TERN_STANDIN_API cuFuncGetParamInfo(cu::Function handle, size_t index, size_t* offset,
                                    size_t* size) {
  return Call("cuFuncGetParamInfo", kInit, [&](Driver& driver, Context*) {
    Function* function = CheckFunction(driver, handle);
    if (!function) return int{kErrorInvalidHandle};
    if (index >= static_cast<size_t>(function->kernel->num_params))
      return Refuse(kErrorInvalidValue, "no such parameter");
    *offset = 0;
    for (size_t i = 0; i <= index; ++i) {
      const tern_standin::Param& param = function->kernel->params[i];
      if (i > 0) *offset += function->kernel->params[i - 1].size;
      *offset = (*offset + param.alignment - 1) / param.alignment * param.alignment;
      *size = param.size;
    }
    return 0;
  });
}

TERN_STANDIN_API cuFuncSetAttribute(cu::Function handle, int attribute, int value) {
  return Call("cuFuncSetAttribute", kInit | kCurrent, [&](Driver& driver, Context*) {
    Function* function = CheckFunction(driver, handle);
    if (!function) return int{kErrorInvalidHandle};
    if (attribute != cu::kFunctionMaxDynamicSharedSize)
      return Misuse(kErrorInvalidValue,
                    "attribute " + std::to_string(attribute) + " is not known here");
    auto fixed = static_cast<int>(function->kernel->shared_end - function->kernel->shared_begin);
    if (value < 0 || value + fixed > kOptinShared)
      return Refuse(kErrorInvalidValue, std::to_string(value) + " bytes of dynamic shared memory");
    function->dynamic_limit = std::max(kStaticShared, value + fixed);
    return 0;
  });
}

TERN_STANDIN_API cuLaunchKernel(cu::Function handle, unsigned grid_x, unsigned grid_y,
                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                unsigned block_z, unsigned shared, cu::Stream stream, void** args,
                                void** extra) {
  return Call("cuLaunchKernel", kInit | kCurrent, [&](Driver& driver, Context* context) {
    return Launch(driver, context, handle,
                  {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream}, args,
                  extra);
  });
}

// Blocks of a cluster run as all others; nothing begins before what is ahead of it has ended.
TERN_STANDIN_API cuLaunchKernelEx(const cu::LaunchConfig* config, cu::Function handle, void** args,
                                  void** extra) {
  return Call("cuLaunchKernelEx", kInit | kCurrent, [&](Driver& driver, Context* context) {
    for (unsigned i = 0; i < config->num_attributes; ++i)
      if (int code = CheckAttribute(*config, config->attributes[i])) return code;
    return Launch(driver, context, handle, *config, args, extra);
  });
}

// The rules of the driver API's documentation, as far as copies of tiles need them.
TERN_STANDIN_API cuTensorMapEncodeTiled(cu::TensorMap* out, int type, uint32_t axes, void* memory,
                                        const uint64_t* shape, const uint64_t* strides,
                                        const uint32_t* box, const uint32_t* steps, int interleave,
                                        int swizzle, int promotion, int fill) {
  return Call("cuTensorMapEncodeTiled", kInit, [&](Driver&, Context*) {
    tern::standin::TensorMap map;
    static_assert(sizeof map <= sizeof *out);
    map.magic = tern::standin::TensorMap::kMagic;
    map.memory = static_cast<const char*>(memory);
    map.element_bytes = type == cu::kMap8 ? 1 : type == cu::kMap16 ? 2 : type == cu::kMap32 ? 4 : 8;
    map.swizzle = static_cast<uint8_t>(swizzle ? 16 << swizzle : 0);
    if (axes < 1 || axes > tern::standin::TensorMap::kMostAxes || interleave || promotion > 3 ||
        fill || swizzle > 3)
      return Refuse(kErrorInvalidValue, "a tensor map of these axes or options");
    map.axes = static_cast<uint8_t>(axes);
    if (reinterpret_cast<uintptr_t>(memory) % 16)
      return Refuse(kErrorInvalidValue, "the tensor's address is no multiple of 16");
    for (uint32_t i = 0; i < axes; ++i) {
      if (shape[i] == 0 || shape[i] > uint64_t{1} << 32 || box[i] == 0 || box[i] > 256 ||
          steps[i] != 1)
        return Refuse(kErrorInvalidValue, "a size of the tensor or of its box");
      map.shape[i] = shape[i];
      map.box[i] = static_cast<uint16_t>(box[i]);
      if (i + 1 == axes) continue;
      if (strides[i] % 16 || strides[i] >= uint64_t{1} << 40)
        return Refuse(kErrorInvalidValue, "a stride is no multiple of 16 bytes");
      map.strides[i] = strides[i];
    }
    uint32_t row = box[0] * map.element_bytes;
    if (row % 16 || (map.swizzle && row > map.swizzle))
      return Refuse(kErrorInvalidValue, "rows of the box have " + std::to_string(row) + " bytes");
    std::memset(out, 0, sizeof *out);
    std::memcpy(out, &map, sizeof map);
    return 0;
  });
}
