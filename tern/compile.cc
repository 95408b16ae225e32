// SPDX-License-Identifier: Apache-2.0
#include "tern/compile.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "tern/codegen/device_hooks.h"
#include "tern/codegen/parallel_for.h"
#include "tern/codegen/plugin.h"
#include "tern/ffi/registry.h"
#include "tern/ir/deep_stack.h"
#include "tern/ir/diagnostic.h"
#include "tern/runtime/device_module.h"
#include "tern/schedule/bind_threads.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analysis/preparation.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/analysis/written_memory.h"
#include "tern/tir/extern_kernel.h"
#include "tern/tir/function.h"
#include "tern/tir/function_kind.h"
#include "tern/tir/interpreter/intrinsic_reference.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/math/functions.h"
#include "tern/tir/text.h"
#include "tern/tir/transform/passes.h"
#include "tern/tir/transform/split_preparation.h"
#include "tern/tir/visitor.h"

namespace tern {

void RegisterBackends();  // generated from the directories of tern/backend

void Initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    tir::RegisterIntrinsics();
    tir::RegisterIntrinsicReferences();
    tir::math::RegisterMathRules();
    tir::RegisterPasses();
    schedule::RegisterHostRules();
    schedule::RegisterDeviceRules();
    ir::RegisterPass({"default_schedules",
                      "let the target's rules schedule functions without a schedule",
                      [](const ir::IRModule& module) {
                        return tir::MapFunctions(module, [](const tir::PrimFunc& function) {
                          return schedule::ApplyDefaultSchedule(function);
                        });
                      }});
    ir::RegisterPass(
        {"apply_schedules", "apply the schedules of functions", [](const ir::IRModule& module) {
           return tir::MapFunctions(module, schedule::ApplySchedule);
         }});
    ir::RegisterPass({"bind_threads", "bind loops of device functions to threads where no rule did",
                      [](const ir::IRModule& module) {
                        return tir::MapFunctions(module, schedule::BindThreads);
                      }});
    codegen::RegisterTargetCurrent();
    RegisterBackends();
    codegen::LookOutside();
  });
}

std::vector<std::string> LoweringPasses(const target::Target& target,
                                        const CompileOptions& options) {
  if (!target->kind->lowered) return {"verify"};
  bool is_plain = target::HasPlainApi(target->is_device() ? target->host : target);
  std::vector<std::string> passes = {"verify",
                                     "verify_faults",
                                     "apply_schedules",
                                     "verify",  // again: steps are checked one at a time
                                     "bind_threads",
                                     "initialize_empty_reductions",
                                     "pipeline_loops",
                                     "lower_thread_reductions",
                                     "lower_virtual_threads",
                                     "hoist_thread_loops",
                                     "lower_warp_memory",
                                     "insert_barriers",
                                     "serialize_threads",
                                     "decompose_reductions",
                                     "lower_blocks",
                                     "simplify",
                                     "place_allocations",
                                     "compact_allocations",
                                     "canonicalize_loops",
                                     "hoist_invariants",
                                     "partition_loops",
                                     "simplify",
                                     "unroll_loops",
                                     "vectorize_accesses",
                                     "vectorize_loops",
                                     "rewrite_unsafe_selects",
                                     "scalarize_vectors",
                                     "rewrite_storage",
                                     "flatten_buffers",
                                     "simplify",
                                     "lower_floor_division",
                                     "remove_dead_code",
                                     "split_host_device",
                                     is_plain ? "make_plain_api" : "make_packed_api",
                                     "contract_fma",
                                     "lower_intrinsics",
                                     "legalize_compute",
                                     "legalize_storage",
                                     "simplify",
                                     "verify_limits"};
  // It sees which functions have schedules of their own.
  if (options.default_schedules)
    passes.insert(std::find(passes.begin(), passes.end(), "apply_schedules"), "default_schedules");
  // Before anything relies on accesses being where they should.
  if (options.bounds_checks)
    passes.insert(std::find(passes.begin(), passes.end(), "place_allocations"),
                  "inject_bounds_checks");
  passes.insert(passes.end(), target->kind->final_passes.begin(), target->kind->final_passes.end());
  passes.push_back("eliminate_common_subexpressions");
  passes.push_back("outline_parallel_loops");
  return passes;
}

namespace {

ffi::Module Build(const target::Target& target, const std::vector<ir::BaseFunc>& functions) {
  const target::TargetKind& kind = *target->kind;
  TERN_CHECK(kind.unavailable.empty())
      << "cannot compile for " << kind.name << ": " << kind.unavailable;
  target::TargetScope scope(target);
  return WithContext("generating code for " + target->str(), [&] {
    return ir::OnDeepStack([&] {
      return ffi::GetGlobal("target.build." + kind.name)(ir::IRModule::Make(functions), target)
          .As<ffi::Module>();
    });
  });
}

// One module per code: kernels that are given by the same text are built together.
std::vector<ffi::Module> BuildExternKernels(const ir::IRModule& module,
                                            const target::Target& target) {
  std::map<std::pair<std::string, std::string>, runtime::DeviceArtifact> artifacts;
  for (const auto& [name, function] : module->functions) {
    const tir::ExternKernelNode* kernel = tir::AsExternKernel(function);
    if (!kernel) continue;
    TERN_CHECK(target->is_device() && target->kind->module_kind == kernel->kind)
        << ir::At(kernel->span) << "kernel " << name << " is " << kernel->kind
        << " code, and cannot be part of a module for " << target->str();
    runtime::DeviceArtifact& artifact = artifacts[{kernel->format, kernel->code}];
    artifact.kind = kernel->kind;
    artifact.fmt = kernel->format;
    artifact.payload[""] = kernel->code;
    if (kernel->code.find('\0') == std::string::npos)
      artifact.source[kernel->format] = kernel->code;
    runtime::KernelInfo& info = artifact.fmap[name];
    for (const tir::Param& param : kernel->params)
      info.args.push_back(param.is_tensor() ? DataType::Handle() : param.var.dtype());
    info.launch_tags = kernel->launch_tags;
  }
  std::vector<ffi::Module> modules;
  for (auto& [code, artifact] : artifacts)
    modules.push_back(runtime::CreateDeviceModule(std::move(artifact)));
  return modules;
}

target::Target HostOf(const target::Target& target) {
  return target->is_device() ? target->host : target;
}

// What a function is compiled for: the device that it names itself, with the module's host, or else
// what the module is compiled for.
target::Target TargetOf(const tir::PrimFunc& function, const target::Target& target) {
  auto it = function->attrs.find(tir::attr::kTarget);
  // What takes functions as they were written takes all of them.
  if (it == function->attrs.end() || !target->kind->lowered) return target;
  auto own = it->second.As<target::Target>();
  if (own->str() == target->str() || own->str() == HostOf(target)->str()) return own;
  TERN_CHECK(own->is_device()) << ir::At(function->span) << function->name << " is for "
                               << own->str() << ", and cannot be part of a module for "
                               << target->str()
                               << ": functions name devices, which share the module's host";
  return target::Target::Parse(own->str(), HostOf(target)->str());
}

// Functions of one target, with the kernels that are given as code. What becomes of a function
// depends on that function and on those kernels alone, so functions pass through on several
// threads.
std::vector<ir::BaseFunc> LowerAlike(const std::vector<ir::BaseFunc>& group,
                                     const target::Target& target, const CompileOptions& options) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): debug builds change it
  ir::PassOptions checked = options;
#ifndef NDEBUG
  if (!checked.verify)
    checked.verify = [](const ir::IRModule& between, const std::string&) { tir::Verify(between); };
#endif
  std::vector<std::string> passes = LoweringPasses(target, options);
  std::vector<ir::BaseFunc> functions, kernels, lowered;
  for (const ir::BaseFunc& function : group)
    (tir::AsExternKernel(function) ? kernels : functions).push_back(function);
  // Whoever looks at the module between passes wants to see all of it.
  bool is_watched = options.verify || options.print || options.timing;
  if (is_watched || functions.size() < 2) {
    ir::IRModule module = ir::RunPasses(ir::IRModule::Make(group), passes, checked);
    for (const auto& [name, function] : module->functions) lowered.push_back(function);
    return lowered;
  }
  std::vector<ir::IRModule> modules(functions.size());
  try {
    codegen::ParallelFor(functions.size(), [&](size_t i) {
      std::vector<ir::BaseFunc> alone = kernels;
      alone.push_back(functions[i]);
      modules[i] = ir::RunPasses(ir::IRModule::Make(alone), passes, checked);
    });
  } catch (const Error&) {
    // Passes that check report what is wrong with all functions.
    ir::RunPasses(ir::IRModule::Make(group), passes, checked);
    throw;
  }
  lowered = kernels;
  for (const ir::IRModule& module : modules)
    for (const auto& [name, function] : module->functions)
      if (!tir::AsExternKernel(function)) lowered.push_back(function);
  return lowered;
}

tir::PrimFunc WithoutAttr(const tir::PrimFunc& function, const char* key) {
  auto copy = ffi::Make<tir::PrimFuncNode>(*function);
  copy->attrs.erase(key);
  return tir::PrimFunc(copy);
}

// A function of a host, compiled as it was written, and its parts, scheduled as those of one whose
// constants cost nothing.
std::vector<ir::BaseFunc> SplitFunction(const tir::PrimFunc& function, const target::Target& target,
                                        const CompileOptions& options) {
  std::vector<std::string> passes = {"apply_schedules", "split_preparation"};
  if (options.default_schedules) passes.insert(passes.begin(), "default_schedules");
  ir::IRModule split = ir::RunPasses(
      ir::IRModule::Make({function.WithAttr(tir::attr::kTarget, target)}), passes, {});
  bool names_target = function->attrs.count(tir::attr::kTarget) > 0;
  tir::PrimFunc whole = WithoutAttr(function, tir::attr::kConstants);
  std::vector<ir::BaseFunc> functions;
  for (const auto& [name, base] : split->functions) {
    tir::PrimFunc part = tir::AsPrimFunc(base);
    if (name != function->name) {
      functions.emplace_back(names_target ? part : WithoutAttr(part, tir::attr::kTarget));
      continue;
    }
    for (const char* kept : {tir::attr::kPrepare, tir::attr::kPrepared})
      if (auto it = part->attrs.find(kept); it != part->attrs.end())
        whole = whole.WithAttr(kept, it->second);
  }
  functions.emplace_back(whole);
  return functions;
}

std::string TextAttr(const tir::PrimFunc& function, const char* key) {
  auto it = function->attrs.find(key);
  return it == function->attrs.end() ? "" : it->second.As<std::string>();
}

}  // namespace

ir::IRModule WithPreparation(const ir::IRModule& module, const target::Target& target,
                             const CompileOptions& options) {
  Initialize();
  auto has_constants = [](const ir::BaseFunc& function) {
    return tir::IfPrimFunc(function) && function->attrs.count(tir::attr::kConstants) > 0;
  };
  if (!target->kind->lowered ||
      std::none_of(module->functions.begin(), module->functions.end(),
                   [&](const auto& entry) { return has_constants(entry.second); }))
    return module;
  tir::Verify(module);
  std::vector<ir::BaseFunc> written;
  for (const auto& [name, function] : module->functions) written.push_back(function);
  std::vector<std::vector<ir::BaseFunc>> parts(written.size());
  codegen::ParallelFor(written.size(), [&](size_t i) {
    if (!has_constants(written[i])) {
      parts[i] = {written[i]};
      return;
    }
    tir::PrimFunc function = tir::AsPrimFunc(written[i]);
    target::Target own = TargetOf(function, target);
    if (options.prepare_constants && !own->is_device())
      parts[i] = SplitFunction(function, own, options);
    else
      parts[i] = {WithoutAttr(function, tir::attr::kConstants)};
  });
  std::vector<ir::BaseFunc> functions;
  for (const std::vector<ir::BaseFunc>& part : parts)
    functions.insert(functions.end(), part.begin(), part.end());
  return module.WithFunctions(functions);
}

ir::IRModule Lower(const ir::IRModule& written, const target::Target& target,
                   const CompileOptions& options) {
  ir::IRModule module = WithPreparation(written, target, options);
  // Those of one target pass through its passes together, with the kernels that are given as code.
  std::map<std::string, std::pair<target::Target, std::vector<ir::BaseFunc>>> groups;
  groups[target->str()].first = target;
  for (const auto& [name, base] : module->functions) {
    if (tir::AsExternKernel(base)) {
      groups[target->str()].second.push_back(base);
      continue;
    }
    tir::PrimFunc function = tir::IfPrimFunc(base);
    TERN_CHECK(function) << ir::At(base->span) << name << " is "
                         << tir::FunctionKindOf(base).description
                         << ", which must be lowered to functions of the loop IR first";
    target::Target own = TargetOf(function, target);
    auto& group = groups[own->str()];
    group.first = own;
    group.second.push_back(function.WithAttr(tir::attr::kTarget, own));
  }
  std::vector<ir::BaseFunc> lowered;
  for (const auto& [text, group] : groups) {
    if (group.second.empty()) continue;
    for (const ir::BaseFunc& function : LowerAlike(group.second, group.first, options))
      lowered.push_back(function);
  }
  return ir::IRModule::Make(lowered);
}

ffi::Module Compile(const ir::IRModule& module, const target::Target& target,
                    const CompileOptions& options) {
  TERN_CHECK(!module->functions.empty())
      << "there is nothing to compile: the module has no function";
  ir::IRModule lowered = Lower(module, target, options);
  // Functions of one target are built together, in the order of their names.
  std::map<std::string, std::pair<target::Target, std::vector<ir::BaseFunc>>> devices;
  std::vector<ir::BaseFunc> host_functions;
  for (const auto& [name, function] : lowered->functions) {
    if (tir::AsExternKernel(function)) {
      // Code generators know nothing of them, except one that takes modules as they were written.
      if (!target->kind->lowered) host_functions.push_back(function);
      continue;
    }
    auto function_target = function->attrs.at(tir::attr::kTarget).As<target::Target>();
    if (!function_target->is_device()) {
      host_functions.push_back(function);
      continue;
    }
    auto& group = devices[function_target->str()];
    group.first = function_target;
    group.second.push_back(function);
  }
  ffi::Module root = Build(HostOf(target), host_functions);
  for (const auto& [name, group] : devices) root->Import(Build(group.first, group.second));
  if (target->kind->lowered)
    for (const ffi::Module& kernels : BuildExternKernels(lowered, target)) root->Import(kernels);
  return root;
}

runtime::ArtifactMeta DescribeModule(const ir::IRModule& written, const target::Target& target,
                                     const CompileOptions& options) {
  ir::IRModule module = WithPreparation(written, target, options);
  runtime::ArtifactMeta meta;
  meta.target = target->str();
  meta.hosts = {HostOf(target)->str()};
  meta.device = target->kind->device;
  for (const auto& [name, base] : module->functions) {
    tir::PrimFunc function = tir::IfPrimFunc(base);
    if (!function) continue;
    tir::WrittenMemory written =
        ir::OnDeepStack([&] { return tir::FindWrittenMemory(module, function); });
    runtime::FunctionInfo info{name, {}};
    if (const std::string& device = TargetOf(function, target)->kind->device; device != meta.device)
      info.device = device;
    info.prepare = TextAttr(function, tir::attr::kPrepare);
    info.prepared = TextAttr(function, tir::attr::kPrepared);
    for (const tir::Param& param : function->params) {
      runtime::ParamInfo described{param.name(), param.var.dtype(), param.is_tensor(), {}, false};
      if (param.is_tensor()) {
        described.dtype = param.buffer->dtype;
        for (const ir::Expr& extent : param.buffer->shape)
          described.shape.push_back(tir::Print(extent));
        for (const ir::Expr& stride : param.buffer->strides)
          described.strides.push_back(tir::Print(stride));
        described.is_output = written.stored.count(param.var.node()) > 0;
      }
      info.params.push_back(std::move(described));
    }
    meta.functions.push_back(std::move(info));
  }
  return meta;
}

}  // namespace tern
