// SPDX-License-Identifier: Apache-2.0
//
// The target kind `webgpu`.
#include "tern/backend/webgpu/codegen/kernel_writer.h"
#include "tern/codegen/device_hooks.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/target/attr_checks.h"
#include "tern/tir/atomics.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/print_call.h"

namespace tern::backend::webgpu {

void RegisterCodegen();

namespace {

constexpr int32_t kDeviceTypeWebGpu = 15;  // DLPack's

ffi::Module Build(const ir::IRModule& module, const target::Target& target) {
  runtime::DeviceArtifact artifact{.kind = "webgpu", .fmt = "wgsl"};
  for (const auto& [name, function] : module->functions) {
    KernelWriter writer(tir::AsPrimFunc(function), target);
    std::string source = codegen::PostProcess("webgpu", writer.Write());
    artifact.payload[name] = source;
    artifact.fmap[name] = writer.info();
  }
  return runtime::CreateDeviceModule(std::move(artifact));
}

// The defaults are the limits that every device of WebGPU has.
void AddAttrs(target::TargetKind* kind) {
  auto& attrs = kind->attrs;
  attrs["max_threads"] =
      target::IntInRange("max_threads", 256, 1, 1024, "invocations in a workgroup");
  attrs["max_threads_x"] =
      target::IntInRange("max_threads_x", 256, 1, 1024, "invocations in a workgroup on axis x");
  attrs["max_threads_y"] =
      target::IntInRange("max_threads_y", 256, 1, 1024, "invocations in a workgroup on axis y");
  attrs["max_threads_z"] =
      target::IntInRange("max_threads_z", 64, 1, 1024, "invocations in a workgroup on axis z");
  attrs["max_shared_memory"] =
      target::IntInRange("max_shared_memory", 16384, 0, 1 << 20, "bytes of workgroup memory");
  // What WGSL promises for the variables of a function.
  attrs["max_local_memory"] =
      target::IntInRange("max_local_memory", 8192, 0, 8192, "bytes of memory of an invocation");
  attrs["max_buffers"] =
      target::IntInRange("max_buffers", 8, 1, 1024, "storage buffers that a kernel binds");
  attrs["float16"] = {.type = target::AttrSpec::Type::kBool,
                      .default_value = false,
                      .help = "has float16 in memory (shader-f16); else integers convert it"};
  attrs["float64"] = {.type = target::AttrSpec::Type::kBool,
                      .default_value = false,
                      .help = "always 0: WGSL has no float64",
                      .check = [](const ffi::Any& value) {
                        TERN_CHECK(!value.As<bool>()) << "float64=1: WGSL has no float64";
                      }};
}

}  // namespace

void RegisterCodegen() {
  target::TargetKind kind;
  kind.name = "webgpu";
  kind.role = target::Role::kDevice;
  kind.description = "WGSL for WebGPU, compiled and run by browsers (docs/webgpu.md)";
  kind.module_kind = "webgpu";
  kind.device = "webgpu";
  kind.device_type = kDeviceTypeWebGpu;
  kind.vectors = false;
  kind.final_passes = {"narrow_indices"};
  kind.takes_call = [](const ir::CallNode* call) {
    if (tir::IsAtomic(call->name)) return tir::AtomicOf(call).dtype().bits() == 32;
    return call->name != tir::intrinsic::kPrint;
  };
  kind.stores = [](const target::Target& target, DataType dtype) {
    return dtype == DataType::Float(16) && target->attrs.at("float16").As<bool>();
  };
  for (const char* cases :
       {"*/float64/*", "convert/*", "many_scalars/*", "narrow_floats/*", "reinterpret/*"})
    kind.known_gaps.push_back({cases, "WGSL has no float64"});
  kind.known_gaps.push_back({"many_tensors/*", "it has more tensors than WebGPU has bindings"});
  for (const char* cases : {"atomics/int64/*", "atomics/uint64/*"})
    kind.known_gaps.push_back({cases, "WGSL has atomic operations of 32 bits alone"});
  kind.known_gaps.push_back({"atomics_ordered/*", "atomic operations of WGSL are relaxed"});
  kind.known_gaps.push_back(
      {"kernels/attention_threads/*", "it needs more shared memory than WebGPU promises"});
  kind.known_gaps.push_back({"packed/*", "the browser's runtime has no tensors of 4-bit elements"});
  AddAttrs(&kind);
  target::RegisterTargetKind(std::move(kind));
  tir::KeepIntrinsics("webgpu", {"sqrt", "floor", "ceil", "trunc", "round", "abs"},
                      tir::IsWideFloat);
  tir::KeepIntrinsics("webgpu", {"popcount", "clz"},
                      [](DataType dtype) { return dtype.is_integer() && dtype.bits() >= 32; });
  ffi::RegisterGlobal("target.build.webgpu",
                      ffi::Function::FromTyped("target.build.webgpu", Build));
  std::string format = std::string(runtime::kModuleFormatPrefix) + "webgpu";
  ffi::RegisterGlobal(format, ffi::Function::FromTyped(format, [] { return std::string("wgsl"); }));
}

}  // namespace tern::backend::webgpu
