// SPDX-License-Identifier: Apache-2.0
//
// The target kind `vulkan`.
#include <cstring>

#include "tern/backend/vulkan/codegen/disassemble.h"
#include "tern/backend/vulkan/codegen/kernel_writer.h"
#include "tern/backend/vulkan/common/spirv.h"
#include "tern/codegen/device_hooks.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/target/attr_checks.h"
#include "tern/tir/analysis/warp_size.h"
#include "tern/tir/atomics.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/print_call.h"

namespace tern::backend::vulkan {

void RegisterCodegen();

namespace {

constexpr int32_t kDeviceTypeVulkan = 7;  // DLPack's

// What hooks make of a kernel's SPIR-V.
std::string ChangedByHooks(const std::string& kernel, std::string code) {
  using codegen::CodeForm;
  code = codegen::PostProcess("vulkan", code, CodeForm::kBinary);
  code = codegen::CompileByHook("vulkan", code, CodeForm::kBinary).value_or(code);
  uint32_t magic = 0;
  if (code.size() >= sizeof magic) std::memcpy(&magic, code.data(), sizeof magic);
  TERN_CHECK(magic == spirv::kMagic && code.size() % sizeof magic == 0)
      << "kernel " << kernel << ": what a hook made of its code, " << code.size()
      << " bytes, is no SPIR-V";
  return code;
}

ffi::Module Build(const ir::IRModule& module, const target::Target& target) {
  runtime::DeviceArtifact artifact{.kind = "vulkan", .fmt = "spv"};
  for (const auto& [name, function] : module->functions) {
    KernelWriter writer(tir::AsPrimFunc(function), target);
    artifact.payload[name] = ChangedByHooks(name, writer.Write());
    artifact.fmap[name] = writer.info();
  }
  return runtime::CreateDeviceModule(std::move(artifact));
}

target::AttrSpec Feature(bool otherwise, const char* help) {
  return {.type = target::AttrSpec::Type::kBool, .default_value = otherwise, .help = help};
}

void AddAttrs(target::TargetKind* kind) {
  auto& attrs = kind->attrs;
  attrs["max_threads"] =
      target::IntInRange("max_threads", 256, 1, 4096, "invocations in a workgroup");
  for (const char* axis : {"max_threads_x", "max_threads_y", "max_threads_z"}) {
    attrs[axis] = target::IntInRange(axis, 256, 1, 4096, "invocations in a workgroup on one axis");
    attrs[axis].default_value = {};  // as many as in all
  }
  attrs["max_shared_memory"] = target::IntInRange("max_shared_memory", 32768, 0, 1 << 20,
                                                  "bytes of shared memory in a workgroup");
  // No interface says what a driver takes; drivers for processors have it on their stacks.
  attrs["max_local_memory"] =
      target::IntInRange("max_local_memory", 65536, 0, 1 << 24, "bytes of memory of an invocation");
  attrs["max_push_constants"] =
      target::IntInRange("max_push_constants", 128, 0, 4096,
                         "bytes of push constants; scalars that need more are in a buffer");
  attrs["max_buffers"] = target::IntInRange(
      "max_buffers", 16, 0, 1 << 20, "tensors that a kernel binds; one with more has addresses");
  attrs["addresses"] = Feature(true, "has addresses of tensors (bufferDeviceAddress)");
  attrs["warp_size"] = target::IntInRange("warp_size", 32, 1, tir::kMaxWarpSize,
                                          "lanes of a subgroup, if warp operations are used");
  attrs["warp_size"].default_value = {};
  attrs["int64"] = Feature(true, "computes with integers of 64 bits (shaderInt64)");
  attrs["float64"] = Feature(true, "computes with float64 (shaderFloat64)");
  attrs["float16"] = Feature(false, "converts float16 itself (shaderFloat16); else integers do it");
  attrs["int8"] = Feature(true, "has shared memory of 8-bit elements (shaderInt8)");
  attrs["int16"] = Feature(true, "has shared memory of 16-bit elements (shaderInt16)");
  attrs["storage8"] = Feature(true, "has tensors of 8-bit elements (storageBuffer8BitAccess)");
  attrs["storage16"] = Feature(true, "has tensors of 16-bit elements (storageBuffer16BitAccess)");
  attrs["float_controls"] =
      Feature(true, "keeps NaN, infinities and the sign of zero, and rounds to nearest even");
}

}  // namespace

void RegisterCodegen() {
  target::TargetKind kind;
  kind.name = "vulkan";
  kind.role = target::Role::kDevice;
  kind.description = "SPIR-V 1.3 for Vulkan, compiled by the device's driver";
  kind.module_kind = "vulkan";
  kind.device = "vulkan";
  kind.device_type = kDeviceTypeVulkan;
  kind.vectors = false;
  kind.final_passes = {"narrow_indices"};
  kind.takes_call = [](const ir::CallNode* call) {
    if (tir::IsAtomic(call->name)) return tir::AtomicOf(call).dtype().bits() == 32;
    return call->name != tir::intrinsic::kPrint;
  };
  kind.stores = [](const target::Target& target, DataType dtype) {
    return dtype == DataType::Float(16) && target->attrs.at("float16").As<bool>();
  };
  kind.tags = {
      {"amd/rx-7900-xtx-vulkan", "vulkan -max_threads=1024 -max_shared_memory=65536 -float16=1"},
      {"arm/mali-g715", "vulkan -max_threads=1024 -float64=0 -float16=1"},
      {"qualcomm/adreno-750", "vulkan -max_threads=1024 -float64=0 -float16=1"},
      {"intel/arc-b580", "vulkan -max_threads=1024 -max_shared_memory=65536 -float64=0 -float16=1"},
      {"nvidia/h200-vulkan",
       "vulkan -max_threads=1024 -max_shared_memory=49152 "
       "-max_push_constants=256 -warp_size=32"},
  };
  AddAttrs(&kind);
  for (const char* cases : {"atomics/int64/*", "atomics/uint64/*", "atomics_float/float64/*"})
    kind.known_gaps.push_back({cases, "Vulkan 1.1 has atomic operations of 32 bits alone"});
  kind.known_gaps.push_back({"atomics_ordered/*", "atomic operations of Vulkan are relaxed"});
  target::RegisterTargetKind(std::move(kind));
  tir::KeepIntrinsics("vulkan", {"sqrt", "floor", "ceil", "trunc", "round", "abs", "copysign"},
                      tir::IsWideFloat);
  tir::KeepIntrinsics("vulkan", {"popcount", "clz"},
                      [](DataType dtype) { return dtype.is_integer() && dtype.bits() == 32; });
  ffi::RegisterGlobal("target.build.vulkan",
                      ffi::Function::FromTyped("target.build.vulkan", Build));
  ffi::RegisterGlobal("disassemble.spv",
                      ffi::Function::FromTyped("disassemble.spv", [](ffi::Bytes bytes) {
                        return Disassemble(bytes.data);
                      }));
}

}  // namespace tern::backend::vulkan
