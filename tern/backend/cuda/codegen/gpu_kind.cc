// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/codegen/gpu_kind.h"

#include <utility>

#include "tern/backend/cuda/schedule/architecture.h"
#include "tern/target/attr_checks.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"

namespace tern::backend::cuda {
namespace {

constexpr int32_t kDeviceTypeCuda = 2;  // DLPack's
constexpr int kFirstWithBfloat16 = 80, kFirstWithAsyncCopies = 80;

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
  kind.takes_vector = TakesPacked;
  kind.move_bytes = 16;
  kind.warp_size = 32;
  kind.scopes.push_back(ir::StorageScope::kSharedDynamic);
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
  // Of every compute capability.
  kind.attrs["max_local_memory"] = target::IntInRange("max_local_memory", 524288, 0, 524288,
                                                      "bytes of local memory in a thread");
  kind.has_addresses = true;
  kind.takes_call = [](const ir::CallNode* call) {
    return call->name != tir::intrinsic::kCallExtern;  // there is nothing to link with
  };
  return kind;
}

std::string CompiledFormat(const std::string& code) {
  // An ELF file, or several of them, packed.
  bool is_binary = code.starts_with(
                       "\x7f"
                       "ELF") ||
                   code.starts_with("\x50\xed\x55\xba");
  return is_binary ? "cubin" : "ptx";
}

bool HasTensorCores(const target::Target& target) {
  return ArchitectureNumber(target) >= kFirstWithAsyncCopies;
}

void KeepTensorCores(const char* kind) {
  using namespace tir::intrinsic;
  tir::KeepIntrinsics(kind,
                      {kAsyncCopy, kWarpMatrixLoad, kWarpMatrixLoadTransposed, kWarpMatrixMultiply},
                      [](DataType) { return HasTensorCores(target::CurrentTarget()); });
}

}  // namespace tern::backend::cuda
