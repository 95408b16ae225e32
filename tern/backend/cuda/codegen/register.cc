// SPDX-License-Identifier: Apache-2.0
//
// The target kinds `cuda` and, in files of its own, `nvptx`.
#include "tern/backend/cuda/codegen/codegen_cuda.h"
#include "tern/backend/cuda/codegen/gpu_kind.h"
#include "tern/backend/cuda/codegen/nvptx_kind.h"
#include "tern/backend/cuda/common/nvrtc.h"
#include "tern/backend/cuda/op/cublaslt.h"
#include "tern/backend/cuda/schedule/architecture.h"
#include "tern/backend/cuda/schedule/tensor_intrinsics.h"
#include "tern/codegen/device_hooks.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/target/attr_checks.h"
#include "tern/target/target.h"
#include "tern/tir/bulk_intrinsics.h"
#include "tern/tir/group_intrinsics.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"

namespace tern::backend::cuda {

void RegisterCodegen();

namespace {

// Instructions of this one generation: code for others cannot have them. CUDA C++ is compiled for
// the machine that it comes to, so a target that says sm_90 means later ones, too.
bool HasWarpGroups(const target::Target& target) {
  return target->kind->name == "cuda" && target->GetString("arch") == "sm_90a";
}

struct Code {
  std::string format, bytes;
};

// What a hook makes of the source, or else what the target asks for: the source itself, or what
// NVRTC makes of it.
Code Emit(const std::string& source, const target::Target& target) {
  std::string format = target->GetString("emit"), arch = target->GetString("arch");
  if (auto code = codegen::CompileByHook("cuda", source))
    return {format == "cuda" ? CompiledFormat(*code) : format, *code};
  if (format == "cuda") return {format, source};
  auto output = format == "ptx" ? tern::backend::cuda::NvrtcOutput::kPtx
                                : tern::backend::cuda::NvrtcOutput::kCubin;
  try {
    return {format, tern::backend::cuda::CompileSource(source, arch, output)};
  } catch (const Error& error) {
    throw Error(error.kind(), "-emit=" + format + ": " + error.message());
  }
}

// More kernels than this are a program each, which the machine that runs them compiles in parallel.
// A program costs some 10 ms beside its kernels.
constexpr size_t kMostInOneProgram = 8;

std::string SourceOf(const tir::PrimFunc& kernel) {
  CodeGenCuda gen;
  gen.AddFunction(kernel);
  return gen.Finish();
}

ffi::Module Build(const ir::IRModule& module, const target::Target& target) {
  CodeGenCuda gen;
  for (const auto& [name, function] : module->functions) gen.AddFunction(tir::AsPrimFunc(function));
  std::string written = gen.Finish(), source = codegen::PostProcess("cuda", written);
  Code code = Emit(source, target);
  runtime::DeviceArtifact artifact{.kind = "cuda",
                                   .fmt = code.format,
                                   .fmap = gen.kernels(),
                                   .payload = {},
                                   .source = {{"cuda", source}}};
  bool is_as_written = code.format == "cuda" && code.bytes == written;  // by no hook
  if (is_as_written && artifact.fmap.size() > kMostInOneProgram)
    for (const auto& [name, function] : module->functions)
      artifact.payload[name] = SourceOf(tir::AsPrimFunc(function));
  else
    artifact.payload[""] = code.bytes;
  return runtime::CreateDeviceModule(std::move(artifact));
}

}  // namespace

void RegisterCodegen() {
  target::TargetKind kind = GpuKind("cuda");
  kind.description = "CUDA C++ for NVIDIA GPUs, compiled where it runs (NVRTC)";
  kind.attrs["emit"] =
      target::OneOf("emit", "cuda", {"cuda", "ptx", "cubin"},
                    "source, which is compiled where it runs, or what NVRTC makes of it here");
  kind.tags = Tags();
  target::RegisterTargetKind(std::move(kind));
  tir::KeepIntrinsics("cuda", codegen::MathIntrinsics(), tir::IsWideFloat);
  tir::KeepIntrinsics("cuda", {"popcount", "clz"},
                      [](DataType dtype) { return dtype.is_integer() && dtype.bits() >= 32; });
  KeepTensorCores("cuda");
  RegisterTensorCores(HasTensorCores);
  RegisterCublasLt();
  tir::KeepIntrinsics(
      "cuda",
      {tir::intrinsic::kWarpMatrixMultiplyGroup, tir::intrinsic::kWarpMatrixMultiplyGroupAsync,
       tir::intrinsic::kThreadRegisters},
      [](DataType) { return HasWarpGroups(target::CurrentTarget()); });
  RegisterWarpGroups(HasWarpGroups);
  ffi::RegisterGlobal("target.build.cuda", ffi::Function::FromTyped("target.build.cuda", Build));
  RegisterNvptx();
}

}  // namespace tern::backend::cuda
