// SPDX-License-Identifier: Apache-2.0
//
// The target kinds `cuda` and, in files of its own, `nvptx`.
#include "tern/backend/cuda/codegen/codegen_cuda.h"
#include "tern/backend/cuda/codegen/gpu_kind.h"
#include "tern/backend/cuda/codegen/nvptx_kind.h"
#include "tern/backend/cuda/common/nvrtc.h"
#include "tern/backend/cuda/schedule/architecture.h"
#include "tern/backend/cuda/schedule/tensor_intrinsics.h"
#include "tern/codegen/device_hooks.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/device_module.h"
#include "tern/target/attr_checks.h"
#include "tern/target/target.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"

namespace tern::backend::cuda {

void RegisterCodegen();

namespace {

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
  ffi::RegisterGlobal("target.build.cuda", ffi::Function::FromTyped("target.build.cuda", Build));
  RegisterNvptx();
}

}  // namespace tern::backend::cuda
