// SPDX-License-Identifier: Apache-2.0
//
// The target kind `cuda`.
#include "tern/backend/cuda/codegen/codegen_cuda.h"
#include "tern/backend/cuda/common/nvrtc.h"
#include "tern/backend/cuda/schedule/architecture.h"
#include "tern/backend/cuda/schedule/tensor_core_matmul.h"
#include "tern/backend/cuda/schedule/tensor_intrinsics.h"
#include "tern/codegen/device_hooks.h"
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
constexpr int kFirstWithBfloat16 = 80, kFirstWithAsyncCopies = 80;

// What the target asks for: the source itself, or what NVRTC or whoever stands in for it makes.
std::string Emit(const std::string& source, const target::Target& target) {
  std::string format = target->GetString("emit"), arch = target->GetString("arch");
  if (format == "cuda") return source;
  if (auto code = codegen::CompileByHook("cuda", source)) return *code;
  auto output = format == "ptx" ? tern::cuda::NvrtcOutput::kPtx : tern::cuda::NvrtcOutput::kCubin;
  try {
    return tern::cuda::CompileSource(source, arch, output);
  } catch (const Error& error) {
    throw Error(error.kind(), "-emit=" + format + ": " + error.message());
  }
}

ffi::Module Build(const ir::IRModule& module, const target::Target& target) {
  CodeGenCuda gen;
  for (const auto& [name, function] : module->functions) gen.AddFunction(tir::AsPrimFunc(function));
  std::string source = codegen::PostProcess("cuda", gen.Finish());
  return runtime::CreateDeviceModule({.kind = "cuda",
                                      .fmt = target->GetString("emit"),
                                      .fmap = gen.kernels(),
                                      .payload = {{"", Emit(source, target)}},
                                      .source = {{"cuda", source}}});
}

// bfloat16 is converted by instructions since sm_80; before, it is integers.
bool Stores(const target::Target& target, DataType dtype) {
  return StoresFloat(dtype) &&
         (dtype != DataType::Bfloat16() || ArchitectureNumber(target) >= kFirstWithBfloat16);
}

// Matrices of both types, from shared memory, and copies to it.
bool HasTensorCores(const target::Target& target) {
  return ArchitectureNumber(target) >= kFirstWithAsyncCopies;
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
  kind.stores = Stores;
  kind.attrs["arch"] = target::OneOf("arch", kBaselineArchitecture, Architectures(),
                                     "the generation of the GPU that code is made for");
  kind.attrs["emit"] =
      target::OneOf("emit", "cuda", {"cuda", "ptx", "cubin"},
                    "source, which is compiled where it runs, or what NVRTC makes of it here");
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
  kind.tags = Tags();
  target::RegisterTargetKind(std::move(kind));
  tir::KeepIntrinsics("cuda", codegen::MathIntrinsics(), tir::IsWideFloat);
  tir::KeepIntrinsics("cuda", {"popcount", "clz"},
                      [](DataType dtype) { return dtype.is_integer() && dtype.bits() >= 32; });
  tir::KeepIntrinsics(
      "cuda",
      {tir::intrinsic::kAsyncCopy, tir::intrinsic::kWarpMatrixLoad,
       tir::intrinsic::kWarpMatrixLoadTransposed, tir::intrinsic::kWarpMatrixMultiply},
      [](DataType) { return HasTensorCores(target::CurrentTarget()); });
  RegisterTensorIntrinsics();
  RegisterTensorCoreMatmul(HasTensorCores);
  ffi::RegisterGlobal("target.build.cuda", ffi::Function::FromTyped("target.build.cuda", Build));
}

}  // namespace tern::backend::cuda
