// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/codegen/architecture.h"

#include <utility>

#include "tern/target/attr_checks.h"

namespace tern::backend::cuda {
namespace {

constexpr int32_t kDeviceTypeCuda = 2;  // DLPack's
constexpr int kFirstWithBfloat16 = 80;

// bfloat16 is converted by instructions since sm_80; before, it is integers.
bool Stores(const target::Target& target, DataType dtype) {
  return StoresFloat(dtype) &&
         (dtype != DataType::Bfloat16() || ArchitectureNumber(target) >= kFirstWithBfloat16);
}

}  // namespace

bool StoresFloat(DataType dtype) {
  return dtype == DataType::Float(16) || dtype == DataType::Bfloat16();
}

target::TargetKind GpuKind(const char* name) {
  target::TargetKind kind;
  kind.name = name;
  kind.role = target::Role::kDevice;
  kind.module_kind = "cuda";
  kind.device = "cuda";
  kind.device_type = kDeviceTypeCuda;
  kind.vectors = false;
  kind.move_bytes = 16;
  kind.warp_size = 32;
  kind.final_passes = {"narrow_indices"};
  kind.stores = Stores;
  kind.attrs["arch"] = target::OneOf("arch", kBaselineArchitecture, Architectures(),
                                     "the generation of the GPU that code is made for");
  kind.attrs["max_threads"] =
      target::IntInRange("max_threads", 1024, 1, 1024, "threads in a block");
  const std::pair<const char*, int64_t> axes[] = {
      {"max_threads_x", 1024}, {"max_threads_y", 1024}, {"max_threads_z", 64}};
  for (const auto& [axis, most] : axes)
    kind.attrs[axis] = target::IntInRange(axis, most, 1, most, "threads in a block on one axis");
  // What all architectures from the baseline on have.
  kind.attrs["max_shared_memory"] = target::IntInRange("max_shared_memory", 101376, 0, 232448,
                                                       "bytes of shared memory in a block");
  kind.has_addresses = true;
  return kind;
}

std::vector<std::string> Architectures() {
  return {"sm_70",   "sm_72",  "sm_75",   "sm_80",  "sm_86",   "sm_87",
          "sm_89",   "sm_90",  "sm_90a",  "sm_100", "sm_100a", "sm_103",
          "sm_103a", "sm_120", "sm_120a", "sm_121", "sm_121a"};
}

int ArchitectureNumber(const target::Target& target) {
  return std::stoi(target->GetString("arch").substr(3));
}

std::map<std::string, std::string> Tags() {
  const std::pair<const char*, const char*> chips[] = {
      {"v100", "sm_70"},       {"t4", "sm_75"},          {"a100", "sm_80"},  {"a10", "sm_86"},
      {"rtx-3090", "sm_86"},   {"jetson-orin", "sm_87"}, {"l4", "sm_89"},    {"l40s", "sm_89"},
      {"rtx-4090", "sm_89"},   {"h100", "sm_90a"},       {"h200", "sm_90a"}, {"b200", "sm_100a"},
      {"rtx-5090", "sm_120a"},
  };
  const std::map<std::string, int> shared_memory = {
      {"sm_70", 98304},   {"sm_75", 65536},    {"sm_80", 166912},
      {"sm_86", 101376},  {"sm_87", 166912},   {"sm_89", 101376},
      {"sm_90a", 232448}, {"sm_100a", 232448}, {"sm_120a", 101376}};
  std::map<std::string, std::string> tags;
  for (const auto& [chip, arch] : chips)
    tags[std::string("nvidia/") + chip] =
        std::string("cuda -arch=") + arch +
        " -max_shared_memory=" + std::to_string(shared_memory.at(arch));
  return tags;
}

}  // namespace tern::backend::cuda
