// SPDX-License-Identifier: Apache-2.0
//
// The target kind `opencl`.
#include "tern/backend/opencl/codegen/codegen_opencl.h"
#include "tern/codegen/device_hooks.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/target/attr_checks.h"
#include "tern/target/target.h"
#include "tern/tir/intrinsic_rules.h"

namespace tern::backend::opencl {

void RegisterCodegen();

namespace {

constexpr int32_t kDeviceTypeOpenCL = 4;  // DLPack's

bool HasFp16(const target::Target& target) { return target->GetInt("fp16") != 0; }

ffi::Module Build(const ir::IRModule& module, const target::Target& target) {
  CodeGenOpenCL gen(HasFp16(target));
  for (const auto& [name, function] : module->functions) gen.AddFunction(tir::AsPrimFunc(function));
  std::string source = codegen::PostProcess("opencl", gen.Finish());
  auto binary = codegen::CompileByHook("opencl", source);
  return runtime::CreateDeviceModule({.kind = "opencl",
                                      .fmt = binary ? "clbin" : "cl",
                                      .fmap = gen.kernels(),
                                      .payload = {{"", binary.value_or(source)}},
                                      .source = {{"cl", source}}});
}

}  // namespace

void RegisterCodegen() {
  target::TargetKind kind;
  kind.name = "opencl";
  kind.role = target::Role::kDevice;
  kind.description = "OpenCL C 1.2, compiled by the device's driver";
  kind.module_kind = "opencl";
  kind.device = "opencl";
  kind.device_type = kDeviceTypeOpenCL;
  kind.takes_vector = TakesVector;
  kind.scopes.push_back(ir::StorageScope::kSharedDynamic);
  kind.final_passes = {"narrow_indices"};
  kind.computes = [](const target::Target& target, DataType dtype) {
    return dtype == DataType::Float(16) && HasFp16(target);
  };
  kind.stores = [](const target::Target&, DataType dtype) { return dtype == DataType::Float(16); };
  kind.attrs["max_threads"] =
      target::IntInRange("max_threads", 256, 1, 4096, "work items in a work group");
  for (const char* axis : {"max_threads_x", "max_threads_y", "max_threads_z"}) {
    kind.attrs[axis] =
        target::IntInRange(axis, 256, 1, 4096, "work items in a work group on one axis");
    kind.attrs[axis].default_value = {};  // as many as in all
  }
  kind.attrs["max_shared_memory"] = target::IntInRange("max_shared_memory", 32768, 0, 1 << 20,
                                                       "bytes of local memory in a work group");
  // No interface says what a driver takes; drivers for processors have it on their stacks.
  kind.attrs["max_local_memory"] = target::IntInRange("max_local_memory", 65536, 0, 1 << 24,
                                                      "bytes of private memory of a work item");
  // The driver's compiler unrolls too, where that is of use (CodeGenOpenCL::UnrollHint).
  kind.attrs["unrolled_statements"] = target::IntInRange(
      "unrolled_statements", 8, 1, 1 << 20,
      "statements that an unrolled loop may become; others are the driver's to unroll");
  kind.attrs["fp16"] = target::IntInRange(
      "fp16", 0, 0, 1, "1: the device has cl_khr_fp16, and float16 is computed in");
  kind.attrs["processor"] = target::IntInRange(
      "processor", 0, 0, 1,
      "1: the device is a processor: an iteration of a host's parallel loop is a work group of one "
      "item");
  // Of a processor; what a group has of its own is private memory.
  kind.machine = [](const target::Target&) {
    return target::Machine{.vector_bytes = 32, .l2_bytes = 64 << 10};
  };
  kind.tags = {
      {"arm/mali-g78", "opencl -max_threads=512 -max_shared_memory=32768 -fp16=1"},
      {"intel/arc-a770", "opencl -max_threads=1024 -max_shared_memory=65536 -fp16=1"},
      {"qualcomm/adreno-740", "opencl -max_threads=1024 -max_shared_memory=32768 -fp16=1"},
  };
  kind.known_gaps.push_back({"atomics_ordered/*", "atomic operations of OpenCL C 1.2 are relaxed"});
  target::RegisterTargetKind(std::move(kind));
  tir::KeepIntrinsics("opencl", codegen::MathIntrinsics(), tir::IsWideFloat);
  tir::KeepIntrinsics("opencl", {"popcount", "clz"},
                      [](DataType dtype) { return dtype.is_integer(); });
  ffi::RegisterGlobal("target.build.opencl",
                      ffi::Function::FromTyped("target.build.opencl", Build));
}

}  // namespace tern::backend::opencl
