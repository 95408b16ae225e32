// SPDX-License-Identifier: Apache-2.0
//
// The target kind `cuda`.
#include "tern/backend/cuda/codegen/codegen_cuda.h"
#include "tern/backend/cuda/schedule/tensor_core_matmul.h"
#include "tern/backend/cuda/schedule/tensor_intrinsics.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/device_module.h"
#include "tern/target/attr_checks.h"
#include "tern/target/target.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/storage_scope.h"

namespace tern::backend::cuda {

void RegisterCodegen();

namespace {

constexpr int32_t kDeviceTypeCuda = 2;  // DLPack's

ffi::Module Build(const ir::IRModule& module, const target::Target&) {
  CodeGenCuda gen;
  for (const auto& [name, function] : module->functions) gen.AddFunction(tir::AsPrimFunc(function));
  std::string source = gen.Finish();
  return runtime::CreateDeviceModule({.kind = "cuda",
                                      .fmt = "cuda",
                                      .fmap = gen.kernels(),
                                      .payload = {{"", source}},
                                      .source = {{"cuda", source}}});
}

}  // namespace

void RegisterCodegen() {
  target::TargetKind kind;
  kind.name = "cuda";
  kind.role = target::Role::kDevice;
  kind.description = "CUDA C++ for NVIDIA GPUs, compiled where it runs (NVRTC)";
  kind.module_kind = "cuda";
  kind.device = "cuda";
  kind.device_type = kDeviceTypeCuda;
  kind.vectors = false;
  kind.move_bytes = 16;
  kind.warp_size = 32;
  kind.scopes.emplace_back(tir::kDynamicShared);
  kind.final_passes = {"narrow_indices"};
  kind.stores = [](const target::Target&, DataType dtype) { return StoresFloat(dtype); };
  kind.attrs["max_threads"] =
      target::IntInRange("max_threads", 1024, 1, 1024, "threads in a block");
  const std::pair<const char*, int64_t> axes[] = {
      {"max_threads_x", 1024}, {"max_threads_y", 1024}, {"max_threads_z", 64}};
  for (const auto& [axis, most] : axes)
    kind.attrs[axis] = target::IntInRange(axis, most, 1, most, "threads in a block on one axis");
  kind.attrs["max_shared_memory"] = target::IntInRange("max_shared_memory", 49152, 0, 232448,
                                                       "bytes of shared memory in a block");
  kind.attrs["arch"] = target::IntInRange(
      "arch", 80, 50, 129, "the first architecture that code may be for: 80 is sm_80");
  kind.has_addresses = true;
  kind.tags = {
      {"nvidia/h200", "cuda -arch=90 -max_shared_memory=232448"},
      {"nvidia/rtx-4090", "cuda -arch=89 -max_shared_memory=101376"},
  };
  target::RegisterTargetKind(std::move(kind));
  tir::KeepIntrinsics("cuda", codegen::MathIntrinsics(), tir::IsWideFloat);
  tir::KeepIntrinsics("cuda", {"popcount", "clz"},
                      [](DataType dtype) { return dtype.is_integer() && dtype.bits() >= 32; });
  tir::KeepIntrinsics(
      "cuda",
      {tir::intrinsic::kAsyncCopy, tir::intrinsic::kWarpMatrixLoad,
       tir::intrinsic::kWarpMatrixLoadTransposed, tir::intrinsic::kWarpMatrixMultiply},
      [](DataType) { return true; });
  RegisterTensorIntrinsics();
  RegisterTensorCoreMatmul();
  ffi::RegisterGlobal("target.build.cuda", ffi::Function::FromTyped("target.build.cuda", Build));
}

}  // namespace tern::backend::cuda
