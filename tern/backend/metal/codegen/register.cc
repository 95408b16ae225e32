// SPDX-License-Identifier: Apache-2.0
//
// The target kind `metal`.
#include "tern/backend/metal/codegen/codegen_metal.h"
#include "tern/backend/metal/schedule/simdgroup_matmul.h"
#include "tern/codegen/device_hooks.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/target/attr_checks.h"
#include "tern/tir/atomics.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/print_call.h"

namespace tern::backend::metal {

void RegisterCodegen();

namespace {

constexpr int32_t kDeviceTypeMetal = 8;  // DLPack's
constexpr int kFirstWithBfloat16 = 310;
constexpr int64_t kFirstWithMatrices = 7;  // of the families

bool StoresFloat(const target::Target& target, DataType dtype) {
  return dtype == DataType::Float(16) ||
         (dtype == DataType::Bfloat16() && LanguageVersion(target) >= kFirstWithBfloat16);
}

bool HasMatrices(const target::Target& target) {
  return target::WarpSize(target) > 0 && target->GetInt("family") >= kFirstWithMatrices;
}

ffi::Module Build(const ir::IRModule& module, const target::Target& target) {
  runtime::DeviceArtifact artifact{.kind = "metal", .fmt = "metal"};
  std::string all;
  for (const auto& [name, function] : module->functions) {
    CodeGenMetal gen(target);
    gen.AddFunction(tir::AsPrimFunc(function));
    std::string source = codegen::PostProcess("metal", gen.Finish());
    all += (all.empty() ? "" : "\n") + source;
    auto library = codegen::CompileByHook("metal", source);
    if (library) artifact.fmt = "metallib";
    artifact.payload[name] = library.value_or(source);
    artifact.fmap.merge(runtime::KernelMap(gen.kernels()));
  }
  artifact.source["metal"] = all;
  return runtime::CreateDeviceModule(std::move(artifact));
}

void AddAttrs(target::TargetKind* kind) {
  auto& attrs = kind->attrs;
  attrs["msl"] = target::OneOf("msl", "3.0", {"2.4", "3.0", "3.1", "3.2"},
                               "the version of the language; bfloat16 is a type of 3.1");
  attrs["max_threads"] =
      target::IntInRange("max_threads", 256, 1, 1024, "threads in a threadgroup");
  for (const char* axis : {"max_threads_x", "max_threads_y", "max_threads_z"}) {
    attrs[axis] = target::IntInRange(axis, 256, 1, 1024, "threads in a threadgroup on one axis");
    attrs[axis].default_value = {};  // as many as in all
  }
  attrs["max_shared_memory"] =
      target::IntInRange("max_shared_memory", 32768, 0, 65536, "bytes of memory of a threadgroup");
  // No interface says what a driver takes; drivers for processors have it on their stacks.
  attrs["max_local_memory"] =
      target::IntInRange("max_local_memory", 65536, 0, 1 << 24, "bytes of memory of a thread");
  attrs["warp_size"] = target::IntInRange("warp_size", 32, 32, 32,
                                          "lanes of a SIMD-group, if warp operations are used");
  attrs["warp_size"].default_value = {};
  attrs["family"] =
      target::IntInRange("family", 1, 1, 10,
                         "the family of Apple's GPUs; from 7 on SIMD-groups multiply matrices, if "
                         "there are warp operations");
  attrs["float64"] = {.type = target::AttrSpec::Type::kBool,
                      .default_value = false,
                      .help = "always 0: Metal has no float64",
                      .check = [](const ffi::Any& value) {
                        TERN_CHECK(!value.As<bool>()) << "float64=1: Metal has no float64";
                      }};
}

// By the tables of Metal's features, in which families 7 to 9 differ in none of the other numbers.
std::map<std::string, std::string> Tags() {
  const std::map<int, std::vector<const char*>> families = {
      {7, {"m1", "m1-pro", "m1-max", "m1-ultra", "a14"}},
      {8, {"m2", "m2-pro", "m2-max", "m2-ultra", "a15", "a16"}},
      {9,
       {"m3", "m3-pro", "m3-max", "m3-ultra", "m4", "m4-pro", "m4-max", "a17-pro", "a18",
        "a18-pro"}}};
  std::map<std::string, std::string> tags;
  for (const auto& [family, chips] : families)
    for (const char* chip : chips)
      tags[std::string("apple/") + chip] =
          "metal -max_threads=1024 -msl=3.1 -warp_size=32 -family=" + std::to_string(family);
  return tags;
}

void RegisterMatrices() {
  using namespace tir::intrinsic;
  tir::KeepIntrinsics("metal", {kWarpMatrixMove, kWarpMatrixMoveTransposed, kWarpMatrixMultiply8x8},
                      [](DataType dtype) {
                        target::Target target = target::CurrentTarget();
                        return HasMatrices(target) && (dtype.element() == DataType::Float(32) ||
                                                       StoresFloat(target, dtype.element()));
                      });
  RegisterSimdgroupMatmul(HasMatrices);
}

}  // namespace

void RegisterCodegen() {
  target::TargetKind kind;
  kind.name = "metal";
  kind.role = target::Role::kDevice;
  kind.description = "the Metal Shading Language, compiled by the device's driver";
  kind.module_kind = "metal";
  kind.device = "metal";
  kind.device_type = kDeviceTypeMetal;
  kind.takes_vector = TakesVector;
  kind.scopes.push_back(ir::StorageScope::kSharedDynamic);
  kind.final_passes = {"narrow_indices"};
  kind.takes_call = [](const ir::CallNode* call) {
    if (tir::IsAtomic(call->name)) return tir::AtomicOf(call).dtype().bits() == 32;
    return call->name != tir::intrinsic::kPrint;
  };
  kind.stores = StoresFloat;
  kind.tags = Tags();
  for (const char* cases :
       {"*/float64/*", "convert/*", "many_scalars/*", "narrow_floats/*", "reinterpret/*"})
    kind.known_gaps.push_back({cases, "Metal has no float64"});
  for (const char* cases : {"atomics/int64/*", "atomics/uint64/*"})
    kind.known_gaps.push_back({cases, "Metal has atomics of 32 bits alone"});
  kind.known_gaps.push_back({"atomics_ordered/*", "atomics of Metal are relaxed"});
  AddAttrs(&kind);
  target::RegisterTargetKind(std::move(kind));
  RegisterMatrices();
  std::vector<std::string> functions = codegen::MathIntrinsics();
  functions.insert(functions.end(), {"popcount", "clz"});
  for (const std::string& name : functions)
    tir::KeepIntrinsics("metal", {name}, [name](DataType dtype) {
      return !FunctionOf(name, dtype.element()).empty();
    });
  ffi::RegisterGlobal("target.build.metal", ffi::Function::FromTyped("target.build.metal", Build));
}

}  // namespace tern::backend::metal
