// SPDX-License-Identifier: Apache-2.0
#include "tern/compile.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "tern/codegen/compiled_function.h"
#include "tern/codegen/device_hooks.h"
#include "tern/codegen/parallel_for.h"
#include "tern/codegen/plugin.h"
#include "tern/codegen/undefined_symbols.h"
#include "tern/ffi/registry.h"
#include "tern/graph/function.h"
#include "tern/graph/transform/passes.h"
#include "tern/ir/deep_stack.h"
#include "tern/ir/diagnostic.h"
#include "tern/op/register.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/runtime/kernel/program_cache.h"
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
#include "tern/tir/transform/calls/split_preparation.h"
#include "tern/tir/transform/passes.h"
#include "tern/tir/visitor.h"

namespace tern {

void RegisterBackends();  // generated from the directories of tern/backend

namespace {
ir::IRModule PrepackConstants(const ir::IRModule& module, const ir::PassValues& values);
}  // namespace

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
    ir::RegisterPass(
        {"prepack_constants",
         "split host functions with constants: prepacking, once, and the rest",
         PrepackConstants,
         {{"split", true, "whether they are split, true or false", nullptr},
          {"whole", true, "whether the function stays too, true or false", nullptr},
          {"default_schedules", true, "whether rules schedule, true or false", nullptr}}});
    graph::RegisterGraphFunctions();
    graph::RegisterGraphPasses();
    op::RegisterOps();
    codegen::RegisterTargetCurrent();
    RegisterBackends();
    codegen::LookOutside();
  });
}

namespace {

// What a pass of the pipeline depends on.
struct PipelineFacts {
  const target::Target& target;
  const CompileOptions& options;
  bool is_plain;  // the host's functions are called without a runtime
};

struct PipelinePass {
  const char* name;
  bool (*runs)(const PipelineFacts&) = nullptr;  // null: always
};

struct PipelinePhase {
  const char* name;
  std::vector<PipelinePass> passes;
};

const std::vector<PipelinePhase>& Pipeline() {
  static const std::vector<PipelinePhase> phases = {
      {"check", {{"verify"}, {"verify_faults"}}},
      {"schedule",
       {{"default_schedules", [](const PipelineFacts& f) { return f.options.default_schedules; }},
        {"apply_schedules"},
        {"verify"}}},  // again: steps are checked one at a time
      {"threads",
       {{"bind_threads"},
        {"initialize_empty_reductions"},
        {"pipeline_loops"},
        {"lower_thread_reductions"},
        {"lower_virtual_threads"},
        {"hoist_thread_loops"},
        {"lower_warp_memory"},
        {"lower_warp_operations"},
        {"insert_barriers"},
        {"split_roles"},
        {"serialize_threads"},
        {"order_blocks"}}},
      {"blocks", {{"decompose_reductions"}, {"lower_blocks"}, {"simplify"}}},
      {"loops",
       {// Before anything relies on accesses being where they should.
        {"inject_bounds_checks", [](const PipelineFacts& f) { return f.options.bounds_checks; }},
        {"lower_packed_elements"},
        {"place_allocations"},
        {"compact_allocations"},
        {"hoist_allocations"},
        {"canonicalize_loops"},
        {"hoist_invariants"},
        {"partition_loops"},
        {"trim_loops"},
        {"simplify"},
        {"unroll_loops"},
        {"vectorize_accesses"},
        {"vectorize_loops"},
        {"rewrite_unsafe_selects"},
        {"scalarize_vectors"}}},
      {"memory",
       {{"rewrite_storage"},
        {"merge_shared_memory"},
        {"flatten_buffers"},
        {"simplify"},
        {"lower_floor_division"},
        {"remove_dead_code"}}},
      {"calls",
       {{"lower_kernel_asserts"},
        {"split_host_device"},
        {"make_plain_api", [](const PipelineFacts& f) { return f.is_plain; }},
        {"make_packed_api", [](const PipelineFacts& f) { return !f.is_plain; }}}},
      {"legalize",
       {{"contract_fma"},
        {"lower_intrinsics"},
        {"legalize_compute"},
        {"legalize_storage"},
        {"simplify"},
        {"verify_limits"}}},
      {"target", {}},
      {"finish", {{"eliminate_common_subexpressions"}, {"outline_parallel_loops"}}}};
  return phases;
}

}  // namespace

std::vector<Phase> LoweringPhases(const target::Target& target, const CompileOptions& options) {
  if (!target->kind->lowered) return {{"check", {"verify"}}};
  PipelineFacts facts{target, options,
                      target::HasPlainApi(target->is_device() ? target->host : target)};
  std::vector<Phase> phases;
  for (const PipelinePhase& phase : Pipeline()) {
    phases.push_back({phase.name, {}});
    for (const PipelinePass& pass : phase.passes)
      if (!pass.runs || pass.runs(facts)) phases.back().passes.emplace_back(pass.name);
    if (phases.back().name == "target") phases.back().passes = target->kind->final_passes;
  }
  return phases;
}

std::vector<std::string> LoweringPasses(const target::Target& target,
                                        const CompileOptions& options) {
  std::vector<std::string> passes;
  for (const Phase& phase : LoweringPhases(target, options))
    passes.insert(passes.end(), phase.passes.begin(), phase.passes.end());
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

bool IsForDevice(const tir::PrimFunc& function) {
  auto it = function->attrs.find(tir::attr::kTarget);
  return it != function->attrs.end() && it->second.As<target::Target>()->is_device();
}

tir::PrimFunc WithoutAttr(const tir::PrimFunc& function, const char* key) {
  auto copy = ffi::Make<tir::PrimFuncNode>(*function);
  copy->attrs.erase(key);
  return tir::PrimFunc(copy);
}

std::string TextAttr(const tir::PrimFunc& function, const char* key) {
  auto it = function->attrs.find(key);
  return it == function->attrs.end() ? "" : it->second.As<std::string>();
}

// Host functions that say what is constant: as they were written, and their parts, scheduled as
// those of one whose constants cost nothing.
ir::IRModule PrepackConstants(const ir::IRModule& module, const ir::PassValues& values) {
  std::vector<std::string> passes = {"apply_schedules", "split_preparation"};
  if (values.GetBool("default_schedules")) passes.insert(passes.begin(), "default_schedules");
  std::vector<ir::BaseFunc> written;
  for (const auto& [name, function] : module->functions) written.push_back(function);
  std::vector<std::vector<ir::BaseFunc>> made(written.size());
  codegen::ParallelFor(written.size(), [&](size_t i) {
    tir::PrimFunc function = tir::IfPrimFunc(written[i]);
    if (!function || !function->attrs.count(tir::attr::kConstants)) {
      made[i] = {written[i]};
      return;
    }
    tir::PrimFunc whole = WithoutAttr(function, tir::attr::kConstants);
    bool has_parts = false;
    if (values.GetBool("split") && !IsForDevice(function)) {
      ir::IRModule split = ir::RunPasses(ir::IRModule::Make({function}), passes);
      has_parts = split->functions.size() > 1;
      for (const auto& [name, part] : split->functions) {
        if (name != function->name) {
          made[i].push_back(part);
          continue;
        }
        for (const char* kept : {tir::attr::kPrepare, tir::attr::kPrepared})
          if (auto it = part->attrs.find(kept); it != part->attrs.end())
            whole = whole.WithAttr(kept, it->second);
      }
    }
    if (!has_parts || values.GetBool("whole")) made[i].emplace_back(whole);
  });
  std::vector<ir::BaseFunc> functions;
  for (const std::vector<ir::BaseFunc>& of_one : made)
    functions.insert(functions.end(), of_one.begin(), of_one.end());
  return module.WithFunctions(functions);
}

runtime::ArtifactMeta Describe(const ir::IRModule& module, const target::Target& target) {
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
    if (const std::string& device =
            function->attrs.at(tir::attr::kTarget).As<target::Target>()->kind->device;
        device != meta.device)
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

ir::IRModule LowerPrepacked(const PrepackedModule& prepacked, const CompileOptions& options) {
  const target::Target& target = prepacked.target;
  // Those of one target pass through its passes together, with the kernels that are given as code.
  std::map<std::string, std::pair<target::Target, std::vector<ir::BaseFunc>>> groups;
  std::vector<ir::BaseFunc> compiled;
  groups[target->str()].first = target;
  for (const auto& [name, base] : prepacked.module->functions) {
    if (tir::AsExternKernel(base)) {
      groups[target->str()].second.push_back(base);
      continue;
    }
    const codegen::CompiledFunctionNode* found = codegen::AsCompiledFunction(base);
    if (found && !found->code.empty()) {
      compiled.push_back(base);
      continue;
    }
    tir::PrimFunc function = found ? found->written() : tir::IfPrimFunc(base);
    TERN_CHECK(function) << ir::At(base->span) << name << " is "
                         << tir::FunctionKindOf(base).description
                         << ", which must be lowered to functions of the loop IR first";
    auto own = function->attrs.at(tir::attr::kTarget).As<target::Target>();
    auto& group = groups[own->str()];
    group.first = own;
    group.second.push_back(function);
  }
  std::vector<ir::BaseFunc> lowered = std::move(compiled);
  for (const auto& [text, group] : groups) {
    if (group.second.empty()) continue;
    for (const ir::BaseFunc& function : LowerAlike(group.second, group.first, options))
      lowered.push_back(function);
  }
  return ir::IRModule::Make(lowered);
}

ir::IRModule WithTargets(const ir::IRModule& module, const target::Target& target) {
  std::vector<ir::BaseFunc> functions;
  for (const auto& [name, base] : module->functions) {
    tir::PrimFunc function = tir::IfPrimFunc(base);
    if (function) function = function.WithAttr(tir::attr::kTarget, TargetOf(function, target));
    functions.push_back(function ? function : base);
  }
  return module.WithFunctions(functions);
}

// prepack_constants, where a function has constants.
ir::IRModule RunPrepack(const ir::IRModule& module, const target::Target& target,
                        const CompileOptions& options) {
  bool has_constants =
      std::any_of(module->functions.begin(), module->functions.end(), [](const auto& entry) {
        return tir::IfPrimFunc(entry.second) && entry.second->attrs.count(tir::attr::kConstants);
      });
  if (!has_constants || !target->kind->lowered) return module;
  auto flag = [](const char* name, bool value) {
    return std::string(name) + "=" + (value ? "true" : "false");
  };
  using Prepack = CompileOptions::Prepack;
  std::string pass = "prepack_constants{" + flag("split", options.prepack != Prepack::kNone) + "," +
                     flag("whole", options.prepack != Prepack::kOnly) + "," +
                     flag("default_schedules", options.default_schedules) + "}";
  return ir::RunPasses(module, {"verify", pass});
}

// Code of functions that is on disk, found by the functions as they were written.
class CodeCache {
 public:
  CodeCache(const target::Target& target, const CompileOptions& options)
      : target_(target), options_(options) {
    // Whoever looks at the module between passes wants passes to run.
    bool is_watched = options.verify || options.print || options.timing;
    if (is_watched || !target->kind->lowered || target->is_device()) return;
    cache_ = runtime::ProgramCache::FromEnvironment();
    if (cache_) around_ = codegen::CacheKeyOf(target);
    if (around_.empty()) cache_.reset();
  }

  explicit operator bool() const { return cache_.has_value(); }

  // "" for a function whose code depends on more than itself.
  std::string KeyOf(const tir::PrimFunc& function) const {
    auto own = function->attrs.at(tir::attr::kTarget).As<target::Target>();
    if (own->str() != target_->str() ||
        tir::CallingConventionOf(function) != tir::CallingConvention::kAsWritten)
      return "";
    if (!codegen::FindExternCalls(ir::IRModule::Make({function})).empty()) return "";
    std::string options = std::to_string(options_.bounds_checks) +
                          std::to_string(options_.default_schedules) +
                          std::to_string(static_cast<int>(options_.prepack));
    return runtime::ProgramCache::KeyOf(
        "function", {{"tir", tir::Print(function)}, {"options", options}, {"around", around_}});
  }
  static std::string CodeKey(const std::string& key, const std::string& name) {
    return runtime::ProgramCache::KeyOf("code", {{"function", key}, {"name", name}});
  }

  // The function, or what it was split into, with their descriptions; nothing where some is not
  // there. Code that prepacks is made where it is needed: not for weights packed at compile time.
  std::optional<std::pair<std::vector<ir::BaseFunc>, std::vector<runtime::FunctionInfo>>> Find(
      const tir::PrimFunc& function, const std::string& key) const {
    std::optional<std::string> described = key.empty() ? std::nullopt : cache_->Find(key);
    if (!described) return std::nullopt;
    std::vector<runtime::FunctionInfo> infos = runtime::ReadMeta(*described).functions;
    std::vector<ir::BaseFunc> found;
    for (const runtime::FunctionInfo& info : infos) {
      std::optional<std::string> code = cache_->Find(CodeKey(key, info.name));
      bool is_found = code && !code->empty();
      if (!is_found && info.name != tir::PrepareName(function->name)) return std::nullopt;
      auto node = ffi::Make<codegen::CompiledFunctionNode>();
      node->name = info.name;
      node->attrs[tir::attr::kTarget] = target_;
      node->span = function->span;
      if (is_found) node->code = std::move(*code);
      node->written = [function, key, name = info.name, target = target_, options = options_] {
        ir::IRModule parts = RunPrepack(ir::IRModule::Make({function}), target, options);
        return tir::AsPrimFunc(parts->functions.at(name))
            .WithAttr(codegen::attr::kCacheKey, CodeKey(key, name));
      };
      node->lower = [written = node->written, target = target_, options = options_] {
        return LowerAgain(written(), target, options);
      };
      found.emplace_back(node);
    }
    return std::pair(std::move(found), std::move(infos));
  }

  void Store(const std::string& key, const runtime::ArtifactMeta& meta) const {
    // Of a function that was described, and then interpreted at compile time, there is no code.
    std::string described = runtime::WriteMeta(meta);
    if (cache_->Find(key) != described) cache_->Store(key, described);
  }

 private:
  static std::vector<tir::PrimFunc> LowerAgain(const tir::PrimFunc& function,
                                               const target::Target& target,
                                               const CompileOptions& options) {
    ir::IRModule module = LowerPrepacked({ir::IRModule::Make({function}), target, {}, {}}, options);
    std::vector<tir::PrimFunc> lowered;
    for (const auto& [name, base] : module->functions) lowered.push_back(tir::AsPrimFunc(base));
    return lowered;
  }

  target::Target target_;
  CompileOptions options_;
  std::optional<runtime::ProgramCache> cache_;
  std::string around_;
};

// The same as Prepack without a cache, but with functions whose code was found in place of those
// that would be compiled.
PrepackedModule PrepackOrFind(const ir::IRModule& module, const target::Target& target,
                              const CompileOptions& options) {
  PrepackedModule result{WithTargets(module, target), target, {}, {}};
  CodeCache cache(target, options);
  bool has_others = std::any_of(module->functions.begin(), module->functions.end(),
                                [](const auto& entry) { return !tir::IfPrimFunc(entry.second); });
  if (!cache || has_others) {
    result.module = RunPrepack(result.module, target, options);
    result.meta = Describe(result.module, target);
    return result;
  }
  tir::Verify(result.module);
  std::vector<tir::PrimFunc> written;
  for (const auto& [name, base] : result.module->functions)
    written.push_back(tir::AsPrimFunc(base));
  std::vector<std::vector<ir::BaseFunc>> made(written.size());
  std::vector<runtime::ArtifactMeta> metas(written.size());
  codegen::ParallelFor(written.size(), [&](size_t i) {
    std::string key = cache.KeyOf(written[i]);
    if (auto found = cache.Find(written[i], key)) {
      made[i] = std::move(found->first);
      metas[i].functions = std::move(found->second);
      return;
    }
    ir::IRModule alone = RunPrepack(ir::IRModule::Make({written[i]}), target, options);
    metas[i] = Describe(alone, target);
    for (const auto& [name, base] : alone->functions) {
      tir::PrimFunc part = tir::AsPrimFunc(base);
      if (!key.empty())
        part = part.WithAttr(codegen::attr::kCacheKey, CodeCache::CodeKey(key, name));
      made[i].emplace_back(part);
    }
    if (!key.empty()) cache.Store(key, metas[i]);
  });
  std::vector<ir::BaseFunc> functions;
  result.meta = Describe(ir::IRModule::Make({}), target);
  for (size_t i = 0; i < made.size(); ++i) {
    functions.insert(functions.end(), made[i].begin(), made[i].end());
    for (runtime::FunctionInfo& info : metas[i].functions)
      result.meta.functions.push_back(std::move(info));
  }
  std::sort(result.meta.functions.begin(), result.meta.functions.end(),
            [](const runtime::FunctionInfo& a, const runtime::FunctionInfo& b) {
              return a.name < b.name;
            });
  result.module = result.module.WithFunctions(functions);
  return result;
}

}  // namespace

PrepackedModule Prepack(const ir::IRModule& module, const target::Target& target,
                        const CompileOptions& options) {
  Initialize();
  PrepackedModule result = PrepackOrFind(module, target, options);
  std::vector<ir::BaseFunc> split;
  for (const auto& [name, function] : module->functions)
    if (!result.module->functions.count(name))
      split.emplace_back(tir::AsPrimFunc(function)
                             .WithAttr(tir::attr::kPrepare, tir::PrepareName(name))
                             .WithAttr(tir::attr::kPrepared, tir::PreparedName(name)));
  if (!split.empty())
    result.split = Describe(WithTargets(ir::IRModule::Make(split), target), target).functions;
  return result;
}

ir::IRModule SplitConstants(const ir::IRModule& module, const target::Target& target,
                            const CompileOptions& options) {
  Initialize();
  return RunPrepack(WithTargets(module, target), target, options);
}

ir::IRModule Lower(const ir::IRModule& module, const target::Target& target,
                   const CompileOptions& options) {
  return LowerPrepacked({SplitConstants(module, target, options), target, {}, {}}, options);
}

ffi::Module Compile(const ir::IRModule& module, const target::Target& target,
                    const CompileOptions& options) {
  return Compile(Prepack(module, target, options), options);
}

runtime::ArtifactMeta DescribeModule(const ir::IRModule& module, const target::Target& target,
                                     const CompileOptions& options) {
  return Prepack(module, target, options).meta;
}

ffi::Module Compile(const PrepackedModule& prepacked, const CompileOptions& options) {
  const target::Target& target = prepacked.target;
  TERN_CHECK(!prepacked.module->functions.empty())
      << "there is nothing to compile: the module has no function";
  ir::IRModule lowered = LowerPrepacked(prepacked, options);
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

}  // namespace tern
