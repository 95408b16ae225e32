// SPDX-License-Identifier: Apache-2.0
//
// A code generator from outside that makes modules of nothing, and those that must be refused, one
// per macro of the list in CMakeLists.txt.
#include "tern/codegen/kernel_info.h"
#include "tern/codegen/plugin_sdk.h"
#include "tern/runtime/kernel/device_module.h"

#ifdef TERN_OTHER_TERN
#undef TERN_CODEGEN_INTERFACE
#define TERN_CODEGEN_INTERFACE "headers 0, compiler 0"
#endif

namespace {

using namespace tern;

const std::string kName = TERN_TEST_CODEGEN;

target::TargetKind Kind() {
  target::TargetKind kind;
  kind.name = kName;
  kind.role = target::Role::kDevice;
  kind.description = "for tests";
  kind.module_kind = kind.device = kName;
  kind.device_type = 98;
  kind.tags = {{kName + "/small", kName}};
  kind.attrs["max_threads"] = {.type = target::AttrSpec::Type::kInt, .default_value = 64};
#ifdef TERN_NO_LIMITS
  kind.attrs.erase("max_threads");
#endif
#ifdef TERN_TAKEN_TAG
  kind.tags = {{"pebble/small", kName}};
#endif
#ifdef TERN_DEFAULT_HOST
  kind.role = target::Role::kHost;
  kind.host_rank = 1000;
#endif
  return kind;
}

ffi::Module Build(const ir::IRModule& module, const target::Target&) {
  runtime::DeviceArtifact artifact{.kind = kName, .fmt = kName, .payload = {{"", "nothing"}}};
  for (const auto& [name, function] : module->functions)
    artifact.fmap[name] = codegen::DescribeKernel(tir::AsPrimFunc(function));
  return runtime::CreateDeviceModule(std::move(artifact));
}

}  // namespace

TERN_CODEGEN_PLUGIN(registrar) {
  TERN_ICHECK(registrar.name() == kName);
  // Its own names are not there yet, and asking for them does not load it again.
  TERN_CHECK(!ir::FindIntrinsic(kName + ".half")) << "half is there too early";
  registrar.AddTargetKind(Kind(), Build);
  std::string half = kName + ".half";
#ifdef TERN_FOREIGN_NAME
  half = "half";
#endif
  registrar.AddIntrinsic(
      {.name = half,
       .signature = half + "(x: float) -> float",
       .infer = [](const std::vector<ir::Expr>& args, DataType) { return args.at(0).dtype(); },
       .lane_wise = true},
      [](DataType, const tir::Lane* args) { return tir::Lane{.f = args[0].f / 2}; });
  registrar.AddLoweringRule(half, "", [](const ir::CallNode* call) {
    return call->args[0] * ir::MakeConst(call->dtype, 0.5);
  });
  registrar.AddPass(
      {kName + ".nothing", "nothing changes", [](const ir::IRModule& module) { return module; }});
  registrar.AddScheduleRule({.name = kName + ".one_block",
                             .description = "all on the threads of one block",
                             .apply = [](schedule::Schedule* schedule, const auto& block, auto&) {
                               schedule->Bind(block.axes.at(0).loop, "threadIdx.x");
                             }});
#ifdef TERN_FOREIGN_RULE
  registrar.AddLoweringRule("exp", "llvm", [](const ir::CallNode* call) { return call->args[0]; });
#endif
#ifdef TERN_FAILS_LATE
  throw std::runtime_error("this code generator always fails");
#endif
}
