// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/codegen/rocm_kind.h"
#include "tern/backend/rocm/schedule/architecture.h"
#include "tern/target/attr_checks.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/print_call.h"

namespace tern::backend::rocm {

void RegisterCodegen();
void RegisterCodegen() {
  constexpr int32_t kDeviceTypeRocm = 10;  // DLPack's
  target::TargetKind kind;
  kind.name = kRocm;
  kind.role = target::Role::kDevice;
  kind.description = "AMD GPUs, through LLVM: no software of AMD's is needed here";
  kind.module_kind = kRocm;
  kind.device = kRocm;
  kind.device_type = kDeviceTypeRocm;
  kind.vectors = false;
  kind.move_bytes = 16;
  kind.warp_size_of = [](const target::Target& target) {
    return WaveSize(target->GetString("arch"));
  };
  kind.scopes.push_back(ir::StorageScope::kSharedDynamic);
  kind.final_passes = {"narrow_indices"};
  kind.stores = [](const target::Target&, DataType dtype) {
    return dtype == DataType::Float(16) || dtype == DataType::Bfloat16();
  };
  kind.attrs["arch"] = target::OneOf("arch", kDefaultArchitecture, Architectures(),
                                     "the generation of the GPU that code is made for");
  kind.attrs["max_threads"] =
      target::IntInRange("max_threads", 1024, 1, 1024, "threads in a block");
  for (const char* axis : {"max_threads_x", "max_threads_y", "max_threads_z"})
    kind.attrs[axis] = target::IntInRange(axis, 1024, 1, 1024, "threads in a block on one axis");
  kind.attrs["max_shared_memory"] =
      target::IntInRange("max_shared_memory", 65536, 0, 65536, "bytes of shared memory in a block");
  // Half of what the compiler can address for a lane of 64; spilled registers are there too.
  kind.attrs["max_local_memory"] =
      target::IntInRange("max_local_memory", 65536, 0, 131056, "bytes of local memory in a thread");
  kind.attrs["embed_tir"] = {target::AttrSpec::Type::kBool, false,
                             "the code object has the kernels' text besides, for simulators",
                             nullptr};
  kind.has_addresses = true;
  kind.takes_call = [](const ir::CallNode* call) {
    // There is nothing to link with.
    return call->name != tir::intrinsic::kCallExtern && call->name != tir::intrinsic::kPrint;
  };
  kind.tags = Tags();
  RegisterKind(std::move(kind));
}

}  // namespace tern::backend::rocm
