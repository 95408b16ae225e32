// SPDX-License-Identifier: Apache-2.0
//
// tern compile: a .tir file to a file that the runtime loads, or that another tool takes.
#include "tern/compile.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "tern/codegen/device_hooks.h"
#include "tern/codegen/export.h"
#include "tern/codegen/linkable_module.h"
#include "tern/compile_model.h"
#include "tern/ffi/text.h"
#include "tern/report_text.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/artifact/npy.h"
#include "tern/runtime/vm/text.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/target_list.h"
#include "tern/write_model.h"
#include "tools/run_report.h"
#include "tools/tern/commands.h"
#include "tools/tern/progress_bar.h"
#include "tools/tern/source.h"

namespace tern::tools {
namespace {

struct NamedHook {
  std::string option, path;
  std::unique_ptr<codegen::HookLibrary> library;
};

std::vector<NamedHook> LoadHooks(const CompileOptions& options) {
  using Part = codegen::HookLibrary::Part;
  std::vector<NamedHook> hooks;
  auto load = [&](const char* option, Part part, const std::string& path) {
    if (path.empty()) return;
    try {
      hooks.push_back({option, path, std::make_unique<codegen::HookLibrary>(part, path)});
    } catch (const Error& error) {
      throw Error(error.kind(), std::string(option) + " " + error.message());
    }
  };
  load("--postproc", Part::kPostproc, options.postproc);
  load("--compile-hook", Part::kCompile, options.compile_hook);
  return hooks;
}

runtime::vm::Program ReadProgram(const std::string& path) {
  return runtime::vm::ParseProgram(runtime::ReadFile(path, runtime::kMostTextBytes), path);
}

// The weights of a model, which `files` hold.
std::vector<runtime::Weight> ReadWeights(const CompileOptions& options,
                                         std::vector<runtime::Tensor>* files) {
  std::vector<runtime::Weight> weights;
  for (const std::string& text : options.weights) {
    auto [name, path] = SplitAssignment("--weight", text);
    files->push_back(runtime::ReadNpy(path));
    const runtime::Tensor& tensor = files->back();
    weights.push_back(
        {name, tensor->dtype(), tensor->shape(), {tensor.as<char>(), tensor->num_bytes()}});
  }
  return weights;
}

// "57 calls of 32 kernels, 65 operators fused, 8.2 GFLOP, arena of 7.2 MB"
std::string SummaryOf(const CompiledModel& model) {
  size_t ops = 0;
  ir::Expr flops = 0;
  for (const graph::Kernel& call : model.calls) {
    ops += call.ops.size();
    flops = flops + call.work.flops;
  }
  std::string text =
      std::to_string(model.calls.size()) + " calls of " +
      std::to_string(model.aot ? model.aot->num_kernels : model.program.kernels.size()) +
      " kernels, " + std::to_string(ops - model.calls.size()) + " operators fused, " +
      AmountText(tir::CombineTerms(flops), "FLOP");
  if (int64_t bytes = codegen::HostCode(model.module).static_bytes())
    text += ", " + std::to_string(bytes) + " bytes of static memory";
  else if (model.aot)
    text += ", arena of " + AmountText(model.aot->memory_bytes, "B");
  else if (std::optional<MemoryReport> memory = ReportMemory(model.program, model.dim_ranges))
    text += std::string(", arena of ") + (model.program.dims.empty() ? "" : "at most ") +
            AmountText(static_cast<int64_t>(memory->arena_bytes), "B");
  return text;
}

// The file's name, as a function can have it in C.
std::string FunctionNameOf(const std::string& path) {
  std::string name;
  for (char c : std::filesystem::path(path).stem().string())
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "model_" + name : name;
}

// How the program becomes a host function, where it does.
void SetAotOptions(const CompileOptions& options, const std::vector<target::Target>& targets,
                   ModelOptions* model_options) {
  if (options.executor != "aot") return;
  const target::Target& host = targets[0]->is_device() ? targets[0]->host : targets[0];
  bool is_plain = target::HasPlainApi(host);
  model_options->aot_name = is_plain ? FunctionNameOf(options.output) : "main";
  if (!targets[0]->is_device() && (is_plain || options.output.ends_with(".so")))
    model_options->aot_weights = AotWeights::kLinked;
  TERN_CHECK(targets.size() == 1 || model_options->aot_weights == AotWeights::kArgument)
      << "-o " << options.output << ": code for several hosts is a .tern file";
}

void CheckModelOutput(const CompileOptions& options, const target::Target& target) {
  bool is_plain = target::HasPlainApi(target->is_device() ? target->host : target);
  TERN_CHECK(!is_plain || options.executor == "aot")
      << "plain functions are not for the runtime, which runs the program of a model; "
         "--executor=aot makes the program one of them";
  std::vector<const char*> endings = {".so", ".tern"};
  if (is_plain) endings = {".c", ".o", ".a"};
  bool is_legal = std::any_of(endings.begin(), endings.end(),
                              [&](const char* ending) { return options.output.ends_with(ending); });
  TERN_CHECK(is_legal) << "-o " << options.output << ": a model is a "
                       << (is_plain ? ".c, .o or .a file where its functions are plain"
                                    : ".so or .tern file");
}

graph::LoweredModel Lowered(const ir::IRModule& module, const target::Target& target,
                            const ModelOptions& options, std::set<std::string>* notes) {
  graph::LoweredModel lowered = LowerModel(module, target, options);
  for (const std::string& note : {DynamicNote(lowered, target), HostNote(lowered, target)})
    if (!note.empty()) notes->insert(note);
  return lowered;
}

// Memory that was freed is used again, in huge pages, instead of new pages that the kernel fills
// with zeros one by one: weights are copied several times, folded, packed and as they are written.
void KeepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kLarge = 1 << 30, kDefaultPad = 128 << 10;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, kLarge);  // addresses alone: pages come when they are touched
  constexpr size_t kHugePage = 2 << 20;
  std::unique_ptr<void, void (*)(void*)> grown(std::malloc(kHugePage), std::free);
  mallopt(M_TOP_PAD, kDefaultPad);
  if (!grown) return;
  auto* first = static_cast<char*>(grown.get());
  first += (kHugePage - reinterpret_cast<uintptr_t>(first) % kHugePage) % kHugePage;
  // It may lie elsewhere, or the kernel may know no huge pages: then nothing changes.
  auto* end = static_cast<char*>(sbrk(0));
  if (first < end)
    madvise(first, static_cast<size_t>(end - first) / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

// A graph: its kernels, programs and weights in one file.
void CompileGraph(const CompileOptions& options, const ir::IRModule& module) {
  KeepFreedMemory();
  std::vector<target::Target> targets = TargetsFor(options.targets, options.hosts);
  CheckModelOutput(options, targets[0]);
  bool is_legal = options.prepack.empty() || options.prepack == "load" ||
                  (options.prepack == "compile" && targets.size() == 1);
  TERN_CHECK(is_legal) << "--prepack " << options.prepack << ": weights of a model are packed "
                       << (targets.size() == 1
                               ? "at compile or load time: compile or load"
                               : "when it is loaded, where it is for several hosts");
  auto start = std::chrono::steady_clock::now();
  ModelOptions model_options;
  model_options.pack_weights = targets.size() == 1 && options.prepack != "load";
  model_options.bounds_checks = options.bounds_checks;
  model_options.default_schedules = options.default_schedules;
  model_options.fuse = options.fuse;
  model_options.strict_math = options.strict_math;
  model_options.precision = options.precision;
  model_options.offload = options.offload;
  SetAotOptions(options, targets, &model_options);
  ir::IRModule simple = OptimizeGraph(module, targets, model_options);
  std::vector<CompiledModel> models;
  std::set<std::string> notes;
  {
    ProgressBar bar;
    for (const target::Target& target : targets)
      models.push_back(
          CompileLowered(Lowered(simple, target, model_options, &notes), target, model_options));
  }
  bool is_packed = codegen::HostCode(models[0].module).is_packed();
  uint64_t bytes = 0;
  if (is_packed)
    bytes = WriteModel(models, options.output, {options.keep_source});
  else
    codegen::Export(models[0].module, models[0].meta, options.output, {options.keep_source});
  if (models[0].aot) bytes = static_cast<uint64_t>(models[0].aot->weights_bytes);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const CompiledModel& model : models) {
    std::printf("%s: %s", options.output.c_str(), SummaryOf(model).c_str());
    if (models.size() > 1) std::printf(" for %s", ffi::Join(model.meta.hosts).c_str());
    if (&model == &models.back())
      std::printf(", %s of weights, %.1f s", AmountText(static_cast<int64_t>(bytes), "B").c_str(),
                  seconds);
    std::puts("");
  }
  for (const std::string& note : notes) std::printf("note: %s\n", note.c_str());
  if (std::string note = OpenWeightsNote(models[0].program); !note.empty())
    std::printf("note: %s\n", note.c_str());
}

// What authors of kernels should know of how a target runs them.
void PrintRemarks(const ir::IRModule& module, const target::Target& target) {
  tir::MapFunctions(module, [&](const tir::PrimFunc& function) {
    bool has_target = function->attrs.count(tir::attr::kTarget) > 0;
    schedule::Explanation explanation;
    schedule::ApplyDefaultSchedule(
        has_target ? function : function.WithAttr(tir::attr::kTarget, target), &explanation);
    for (const std::string& remark : explanation.Remarks())
      std::printf("note: %s: %s\n", function->name.c_str(), remark.c_str());
    return function;
  });
}

}  // namespace

void Compile(const CompileOptions& options) {
  TERN_CHECK(options.weights.empty() || !options.program.empty())
      << "--weight is for models: there is no --program";
  ir::IRModule module = ReadSource(
      options.input,
      ParseImportOptions(options.input_shapes, options.dims, options.freeze, options.bound));
  if (IsModel(module)) return CompileGraph(options, module);
  TERN_CHECK(options.precision.empty() && options.offload.empty())
      << "--precision and --offload are for models";
  tern::CompileOptions compile_options;
  compile_options.bounds_checks = options.bounds_checks;
  compile_options.default_schedules = options.default_schedules;
  std::vector<target::Target> targets = TargetsFor(options.targets, options.hosts);
  TERN_CHECK(options.prepack != "compile" && options.prepack != "load")
      << "--prepack " << options.prepack << " is for models";
  // Machines differ in what they prepack, and functions are described once for all.
  using Prepacking = tern::CompileOptions::Prepack;
  TERN_CHECK(targets.size() == 1 || options.prepack.empty() || options.prepack == "none")
      << "--prepack " << options.prepack << ": a file for several hosts has no prepacked functions";
  compile_options.prepack = targets.size() > 1 || options.prepack == "none" ? Prepacking::kNone
                            : options.prepack == "only"                     ? Prepacking::kOnly
                                                                            : Prepacking::kBeside;
  std::vector<NamedHook> hooks = LoadHooks(options);
  std::vector<ffi::Module> compiled;
  runtime::ArtifactMeta meta;
  std::vector<std::string> hosts;
  for (const target::Target& target : targets) {
    PrepackedModule prepacked = Prepack(module, target, compile_options);
    compiled.push_back(tern::Compile(prepacked, compile_options));
    if (hosts.empty()) meta = std::move(prepacked.meta);
    hosts.push_back((target->is_device() ? target->host : target)->str());
  }
  meta.hosts = std::move(hosts);
  if (targets[0]->is_device() && options.default_schedules) PrintRemarks(module, targets[0]);
  for (const NamedHook& hook : hooks)
    TERN_CHECK(hook.library->calls() > 0)
        << hook.option << " " << hook.path << ": nothing asked for it: target " << targets[0]->str()
        << " makes no code of a device that this hook is for (docs/hooks.md)";
  codegen::ExportOptions export_options{options.keep_source};
  if (options.program.empty())
    return codegen::Export(compiled, std::move(meta), options.output, export_options);
  std::vector<runtime::Tensor> files;
  std::vector<codegen::HostModel> models;
  for (size_t i = 0; i < compiled.size(); ++i) {
    models.push_back({compiled[i], meta, ReadProgram(options.program)});
    models.back().meta.hosts = {meta.hosts[i]};
  }
  codegen::ExportModel(std::move(models), ReadWeights(options, &files), options.output,
                       export_options);
}

}  // namespace tern::tools
