// SPDX-License-Identifier: Apache-2.0
//
// What the compiler learns: the kind "emu", its tags, the intrinsic emu.mac, and the code
// generator.
#include "codegen/codegen_emu.h"
#include "tern/codegen/plugin_sdk.h"
#include "tern/runtime/kernel/device_module.h"

namespace {

using namespace tern;

constexpr int32_t kDeviceType = 12;  // DLPack's for extension devices
constexpr const char* kMac = "emu.mac";

ffi::Module Build(const ir::IRModule& module, const target::Target&) {
  runtime::DeviceArtifact artifact{.kind = "emu", .fmt = "emu"};
  for (const auto& [name, function] : module->functions) {
    emu::KernelWriter writer(tir::AsPrimFunc(function));
    artifact.fmap[name] = writer.info();
    artifact.payload[name] = writer.Blob();
    artifact.source["asm"] += writer.Text();
  }
  return runtime::CreateDeviceModule(std::move(artifact));
}

target::AttrSpec Limit(int64_t otherwise, int64_t least, const char* help) {
  return {.type = target::AttrSpec::Type::kInt,
          .default_value = otherwise,
          .help = help,
          .check = [least](const ffi::Any& value) {
            TERN_CHECK(value.As<int64_t>() >= least) << "expected at least " << least;
          }};
}

// emu.mac(a, b, c) = a * b + c, rounded twice, as the machine does it.
ir::Intrinsic Mac() {
  return {.name = kMac,
          .signature = "emu.mac(a: T, b: T, c: T) -> T",
          .infer =
              [](const std::vector<ir::Expr>& args, DataType) {
                if (args.size() != 3 || args[0].dtype() != args[1].dtype() ||
                    args[0].dtype() != args[2].dtype())
                  TERN_THROW(TypeError) << "emu.mac takes three values of one type";
                return args[0].dtype();
              },
          .lane_wise = true,
          .one_type = true,
          .may_fault = false};
}

tir::Lane MacReference(DataType dtype, const tir::Lane* args) {
  tir::Lane product = tir::BinaryLane(ir::ExprKind::kMul, dtype, args[0], args[1]);
  return tir::BinaryLane(ir::ExprKind::kAdd, dtype, product, args[2]);
}

}  // namespace

TERN_CODEGEN_PLUGIN(registrar) {
  target::TargetKind kind;
  kind.name = kind.module_kind = kind.device = "emu";
  kind.role = target::Role::kDevice;
  kind.description = "an emulated device with a bytecode of its own";
  kind.device_type = kDeviceType;
  kind.vectors = false;
  kind.intrinsic_namespaces = {"emu"};
  kind.attrs["max_threads"] = Limit(256, 1, "threads of a block");
  kind.attrs["max_shared_memory"] = Limit(65536, 0, "bytes of shared memory of a block");
  for (const char* cases : {"asserts/*", "atomics/*", "atomics_float/*", "atomics_ordered/*"})
    kind.known_gaps.push_back({cases, "the device has no atomic operations"});
  kind.tags = {{"example/emu-small", "emu -max_threads=32 -max_shared_memory=4096"}};
  registrar.AddTargetKind(std::move(kind), Build);

  emu::RegisterMatrixUnit();
  registrar.AddIntrinsic(Mac(), MacReference);
  registrar.KeepIntrinsics("emu", {kMac},
                           [](DataType dtype) { return !dtype.is_float() || dtype.bits() >= 32; });
  // What it is elsewhere.
  registrar.AddLoweringRule(kMac, "", [](const ir::CallNode* call) {
    return call->args[0] * call->args[1] + call->args[2];
  });
}
