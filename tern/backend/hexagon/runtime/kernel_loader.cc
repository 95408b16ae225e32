// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "tern/backend/hexagon/runtime/device.h"
#include "tern/backend/hexagon/runtime/elf_image.h"
#include "tern/backend/hexagon/runtime/plugin.h"
#include "tern/runtime/plugin_sdk.h"

namespace tern::backend::hexagon {
namespace {

using plugin::Guard;

constexpr size_t kSlotBytes = 8;

class Program {
 public:
  explicit Program(std::string_view file) : image_(ReadElfImage(file)) {}
  Program(const Program&) = delete;
  ~Program() {
    try {
      if (life_.executor && !life_.executor->is_dead()) life_.executor->Free(address_);
    } catch (const std::exception&) {
      // An executor that dies now has nothing left to free.
    }
  }

  // Where its symbol is in the executor that lives now, which gets the program unless it has it.
  uint32_t AddressOf(uint32_t symbol, const Device::Life& life) {
    std::scoped_lock lock(mutex_);
    if (life.number != life_.number) {
      if (life.version && image_.version > life.version)
        TERN_THROW(RuntimeError) << "the program is for hexagon -mcpu=v" << image_.version
                                 << "; the device here is a v" << life.version
                                 << " (TERN_HEXAGON_RUNNER says how it is run)";
      uint32_t address = life.executor->Alloc(image_.bytes.size(), /*is_code=*/true);
      std::string bytes = image_.At(address);
      life.executor->Write(address, bytes.data(), bytes.size());
      life_ = life;
      address_ = address;
    }
    return address_ + symbol;
  }

  struct Kernel {
    Program* program;
    std::string name;
    uint32_t symbol;
  };
  Kernel* Get(const std::string& name) {
    auto it = image_.symbols.find(name);
    if (it == image_.symbols.end()) TERN_THROW(ValueError) << "the program has no kernel " << name;
    return &kernels_.try_emplace(name, Kernel{this, name, it->second}).first->second;
  }

 private:
  ElfImage image_;
  std::map<std::string, Kernel> kernels_;
  std::mutex mutex_;
  Device::Life life_;  // that it is loaded in
  uint32_t address_ = 0;
};

int Load(int32_t, const char* fmt, const TernBlob* blobs, int32_t num_blobs, void** out) {
  return Guard([&] {
    if (std::string(fmt) != "so")
      TERN_THROW(ValueError) << "the hexagon runtime does not take programs in format " << fmt
                             << ": so is legal";
    if (num_blobs != 1)
      TERN_THROW(ValueError) << "a program for hexagon is one file, not " << num_blobs;
    *out = new Program(std::string_view(blobs[0].data, blobs[0].size));
  });
}

void Unload(void* program) { delete static_cast<Program*>(program); }

int GetKernel(void* program, const char* name, void** out) {
  return Guard([&] { *out = static_cast<Program*>(program)->Get(name); });
}

// One slot for each argument, then the numbers of blocks.
std::vector<char> Arguments(const TernLaunch& launch) {
  std::vector<char> slots((static_cast<size_t>(launch.num_args) + 3) * kSlotBytes);
  char* at = slots.data();
  for (int32_t i = 0; i < launch.num_args; ++i, at += kSlotBytes)
    std::memcpy(at, launch.args[i], launch.arg_sizes[i]);
  for (uint32_t extent : launch.grid) {
    std::memcpy(at, &extent, sizeof extent);
    at += kSlotBytes;
  }
  return slots;
}

int Launch(void* raw, const TernLaunch* launch) {
  return Guard([&] {
    auto* kernel = static_cast<Program::Kernel*>(raw);
    for (uint32_t threads : launch->block)
      if (threads != 1)
        TERN_THROW(ValueError) << "kernel " << kernel->name
                               << " is launched with blocks of threads, "
                               << "which hexagon runs as loops of the kernel";
    for (int32_t i = 0; i < launch->num_args; ++i)
      if (launch->arg_sizes[i] > kSlotBytes)
        TERN_THROW(ValueError) << "argument " << i << " of kernel " << kernel->name << " has "
                               << launch->arg_sizes[i] << " bytes";
    Device::Life life = Device::Get().Current();
    life.executor->Call(kernel->program->AddressOf(kernel->symbol, life), Arguments(*launch));
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

}  // namespace tern::backend::hexagon
