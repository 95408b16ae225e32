// SPDX-License-Identifier: Apache-2.0
#include "tern/c_api_compile.h"

#include <functional>
#include <limits>
#include <memory>

#include "tern/codegen/export.h"
#include "tern/codegen/load_linkable.h"
#include "tern/codegen/plugin.h"
#include "tern/compile_model.h"
#include "tern/detect_target.h"
#include "tern/ffi/json.h"
#include "tern/ffi/text.h"
#include "tern/frontend/onnx/import.h"
#include "tern/frontend/onnx/reader.h"
#include "tern/graph/function.h"
#include "tern/graph/transform/passes.h"
#include "tern/model_report.h"
#include "tern/report_text.h"
#include "tern/runtime/artifact/value_reader.h"
#include "tern/runtime/c_api/c_api_error.h"
#include "tern/runtime/c_api/c_api_model.h"
#include "tern/runtime/c_api/c_api_module.h"
#include "tern/runtime/device.h"
#include "tern/runtime/plugin/plugin.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/specialize_model.h"
#include "tern/target_list.h"
#include "tern/tir/text.h"
#include "tern/write_model.h"

struct TernSource {
  tern::ir::IRModule module;
  // Of a model that was given as bytes: its weights lie there.
  std::shared_ptr<const std::string> bytes;

  bool is_model() const {
    auto it = module->functions.find("main");
    return it != module->functions.end() && tern::graph::AsGraph(it->second);
  }
};

struct TernExecutable {
  // One of both, for each host.
  std::vector<tern::ffi::Module> modules;
  std::vector<tern::CompiledModel> models;
  tern::runtime::ArtifactMeta meta;          // of modules
  std::shared_ptr<const std::string> bytes;  // of the source
  // Of a model that is specialized when it runs, for the one that was loaded; or none.
  std::function<std::shared_ptr<tern::runtime::vm::Specializer>(
      const std::shared_ptr<const tern::runtime::vm::Model>&)>
      make_specializer;
};

namespace tern {
namespace {

using frontend::onnx::ImportOptions;
using runtime::ValueReader;
using target::Target;

ValueReader OptionsFrom(const char* options) {
  return ValueReader("options", options ? ffi::ParseJson(options) : ffi::Any(ffi::MakeMap()));
}

bool FlagOf(const ValueReader& options, std::string_view name, bool otherwise) {
  return options.Has(name) ? options.Field(name).Flag() : otherwise;
}

std::string TextOf(const ValueReader& options, std::string_view name) {
  return options.Has(name) ? options.Field(name).Text() : "";
}

std::vector<std::string> TextsOf(const ValueReader& options, std::string_view name) {
  std::vector<std::string> texts;
  if (options.Has(name))
    for (const ValueReader& item : options.Field(name).Items()) texts.push_back(item.Text());
  return texts;
}

constexpr int64_t kMostExtent = std::numeric_limits<int64_t>::max();

ImportOptions ImportOptionsFrom(const char* text) {
  ValueReader options = OptionsFrom(text);
  options.ExpectOnly({"input_shapes", "dims", "freeze"});
  ImportOptions import;
  if (FlagOf(options, "freeze", false)) import.overridable.emplace();
  if (options.Has("input_shapes")) {
    ValueReader shapes = options.Field("input_shapes");
    for (const std::string& name : shapes.Keys())
      for (const ValueReader& extent : shapes.Field(name).Items())
        import.input_shapes[name].push_back(extent.Int(-1, kMostExtent));
    for (const std::string& name : shapes.Keys()) import.input_shapes[name];  // of rank 0 too
  }
  if (options.Has("dims")) {
    ValueReader dims = options.Field("dims");
    for (const std::string& name : dims.Keys())
      import.dims[name] = dims.Field(name).Int(0, kMostExtent);
  }
  return import;
}

ModelOptions ModelOptionsFrom(const ValueReader& options) {
  ModelOptions result;
  result.bounds_checks = FlagOf(options, "bounds_checks", false);
  result.default_schedules = FlagOf(options, "default_schedules", true);
  result.fuse = FlagOf(options, "fuse", true);
  result.strict_math = FlagOf(options, "strict_math", false);
  result.precision = TextOf(options, "precision");
  if (!result.precision.empty() && result.precision != "tf32")
    graph::ParsePrecision(result.precision);
  std::string executor = TextOf(options, "executor");
  TERN_CHECK(executor.empty() || executor == "vm" || executor == "aot")
      << "executor " << executor << ": expected vm or aot";
  if (executor == "aot") result.aot_name = "main";
  result.offload = TextsOf(options, "offload");
  return result;
}

void CompileKernels(const TernSource& source, const std::vector<Target>& targets,
                    ModelOptions options, TernExecutable* result) {
  if (targets.size() > 1) options.prepack = CompileOptions::Prepack::kNone;
  std::vector<std::string> hosts;
  for (const Target& target : targets) {
    PrepackedModule prepacked = Prepack(source.module, target, options);
    result->modules.push_back(Compile(prepacked, options));
    if (hosts.empty()) result->meta = std::move(prepacked.meta);
    hosts.push_back((target->is_device() ? target->host : target)->str());
  }
  result->meta.hosts = std::move(hosts);
}

std::unique_ptr<TernExecutable> CompileSource(const TernSource& source, const char* text) {
  ValueReader options = OptionsFrom(text);
  options.ExpectOnly({"targets", "hosts", "bounds_checks", "default_schedules", "fuse",
                      "strict_math", "precision", "offload", "prepack", "executor", "specialize"});
  std::vector<Target> targets = TargetsFor(TextsOf(options, "targets"), TextsOf(options, "hosts"));
  ModelOptions compile = ModelOptionsFrom(options);
  std::string specialize = TextOf(options, "specialize");
  std::optional<runtime::vm::Specializer::When> when = runtime::vm::Specializer::Parse(specialize);
  auto result = std::make_unique<TernExecutable>();
  result->bytes = source.bytes;
  if (!source.is_model()) {
    TERN_CHECK(specialize.empty()) << "options.specialize is for models";
    CompileKernels(source, targets, compile, result.get());
    return result;
  }
  compile.pack_weights = targets.size() == 1 && FlagOf(options, "prepack", true);
  ir::IRModule graph = OptimizeGraph(source.module, targets, compile);
  for (const Target& target : targets)
    result->models.push_back(CompileModel(graph, target, compile));
  compile.pack_weights = false;
  result->make_specializer = [when, module = source.module, compile, target = targets[0]](
                                 const std::shared_ptr<const runtime::vm::Model>& model) {
    return MakeSpecializer(when, module, target, compile, model);
  };
  return result;
}

void Save(const TernExecutable& executable, const std::string& path, const char* text) {
  ValueReader options = OptionsFrom(text);
  options.ExpectOnly({"keep_source"});
  codegen::ExportOptions exports{FlagOf(options, "keep_source", false)};
  if (executable.models.empty())
    return codegen::Export(executable.modules, executable.meta, path, exports);
  TERN_CHECK(path.ends_with(".so") || path.ends_with(".tern"))
      << path << ": a model is a .so or .tern file";
  TERN_CHECK(!executable.models[0].aot || path.ends_with(".tern"))
      << path << ": a model of the executor aot is a .tern file here; tern compile makes others";
  WriteModel(executable.models, path, exports);
}

// What the loaded one reads lives as long as it does.
std::shared_ptr<const runtime::vm::Model> LoadHere(const TernExecutable& executable) {
  TERN_CHECK(!executable.models.empty())
      << "tern_executable_model: the executable has kernels, no model";
  TERN_CHECK(!executable.models[0].aot)
      << "tern_executable_model: a model of the executor aot has no program for the runtime";
  std::shared_ptr<const runtime::vm::Model> model = LoadModel(executable.models[0]);
  const runtime::vm::Model* raw = model.get();
  return {raw, [model, bytes = executable.bytes](const runtime::vm::Model*) {}};
}

void CollectSources(const ffi::Module& module, const std::string& format, std::string* text,
                    std::vector<std::string>* known) {
  for (const std::string& found : module->SourceFormats()) {
    known->push_back(found);
    if (found != format && !(format.empty() && text->empty())) continue;
    *text += module->InspectSource(found);
  }
  for (const ffi::Module& import : module->imports()) CollectSources(import, format, text, known);
}

std::string SourceText(const TernExecutable& executable, const std::string& format) {
  std::string text;
  std::vector<std::string> known;
  CollectSources(executable.models.empty() ? executable.modules[0] : executable.models[0].module,
                 format, &text, &known);
  TERN_CHECK(!text.empty()) << "there is no source of format '" << format << "'; there is "
                            << (known.empty() ? "none" : ffi::Join(known));
  return text;
}

// The schedule sections of all functions, with comments.
std::string ExplainKernels(const ir::IRModule& module, const Target& target) {
  std::string text;
  tir::MapFunctions(module, [&](const tir::PrimFunc& function) {
    schedule::Explanation explanation;
    schedule::ApplyDefaultSchedule(function.WithAttr(tir::attr::kTarget, target), &explanation);
    text += explanation.str(function->name);
    return function;
  });
  return text;
}

std::string Explain(const TernSource& source, const std::string& name, const char* text) {
  ValueReader options = OptionsFrom(text);
  options.ExpectOnly({"targets", "hosts", "bounds_checks", "default_schedules", "fuse",
                      "strict_math", "precision", "offload", "prepack", "format", "kernel"});
  Target target = TargetsFor(TextsOf(options, "targets"), TextsOf(options, "hosts"))[0];
  std::string format = options.Has("format") ? options.Field("format").Text() : "text";
  std::string kernel = TextOf(options, "kernel");
  TERN_CHECK(format == "text" || (format == "html" && source.is_model()))
      << "options.format: expected text" << (source.is_model() ? " or html" : "") << ", got '"
      << format << "'";
  TERN_CHECK(kernel.empty() || source.is_model()) << "options.kernel: " << name << " is no model";
  if (!source.is_model()) return ExplainKernels(source.module, target);
  ModelOptions model_options = ModelOptionsFrom(options);
  ir::IRModule graph = OptimizeGraph(source.module, {target}, model_options);
  ModelReport report = ReportModel(LowerModel(graph, target, model_options), target);
  if (!kernel.empty()) return KernelText(report, kernel);
  ReportHead head{name, target->str()};
  return format == "html" ? ReportPage(report, head, tir::PrintModule(graph))
                          : ReportText(report, head);
}

// The devices of a kind's plugin; nothing where it is absent.
std::optional<ffi::Any> DescribeDevices(const std::string& kind_name) {
  const runtime::DeviceKind* kind = runtime::FindDeviceKind(kind_name);
  if (!kind) return {};
  std::vector<ffi::Any> devices;
  int32_t count = 0;
  try {
    count = kind->Count();
  } catch (const Error&) {
    return {};  // a driver that is broken has none
  }
  for (int32_t id = 0; id < count; ++id) {
    std::string device = kind_name + ":" + std::to_string(id);
    ffi::Map entry = ffi::MakeMap({{"device", device}});
    try {
      ffi::Map properties = kind->Describe(id);
      if (const ffi::Any* name = properties->Find("name")) entry->items["name"] = *name;
      entry->items["target"] = DetectTarget(device)->str();
    } catch (const Error& error) {
      entry->items["error"] = error.message();
    }
    devices.emplace_back(entry);
  }
  return ffi::Any(ffi::MakeArray(std::move(devices)));
}

std::string DescribeTargets() {
  runtime::LoadAllPlugins();
  codegen::LoadAllCodegens();
  std::vector<ffi::Any> kinds;
  for (const target::TargetKind* kind : target::TargetKinds()) {
    bool is_device = kind->role == target::Role::kDevice;
    ffi::Map tags = ffi::MakeMap();
    for (const auto& [tag, text] : kind->tags) tags->items[tag] = text;
    ffi::Map entry = ffi::MakeMap({{"name", kind->name},
                                   {"description", kind->description},
                                   {"role", is_device ? "device" : "host"},
                                   {"unavailable", kind->unavailable},
                                   {"device", kind->device},
                                   {"tags", tags}});
    if (std::optional<ffi::Any> devices = DescribeDevices(kind->device))
      entry->items["devices"] = *devices;
    kinds.emplace_back(entry);
  }
  return ffi::WriteJson(ffi::Any(ffi::MakeMap({{"default_host", Target::DefaultHost()->str()},
                                               {"kinds", ffi::MakeArray(std::move(kinds))}})));
}

// Every entry of the compiler makes what is built in known first.
template <class Body>
int TryCompiler(Body&& body) noexcept {
  return runtime::Try([&] {
    Initialize();
    body();
  });
}

void Return(const std::string& text, TernAny* value) { *value = ffi::Any(text).Release(); }

}  // namespace
}  // namespace tern

using tern::TryCompiler;

int tern_source_read(const char* path, const char* options, TernSource** source) {
  return TryCompiler([&] {
    std::string name = path;
    tern::ImportOptions import = tern::ImportOptionsFrom(options);
    if (name.ends_with(".onnx")) {
      namespace onnx = tern::frontend::onnx;
      *source = new TernSource{onnx::Import(onnx::ReadModel(name), import), nullptr};
      return;
    }
    TERN_CHECK(import.input_shapes.empty() && import.dims.empty())
        << path << ": shapes are given for .onnx files; a .tir file has them in its text";
    *source = new TernSource{tern::tir::ParseFile(name), nullptr};
  });
}

int tern_source_parse(const char* text, uint64_t size, const char* name, TernSource** source) {
  return TryCompiler(
      [&] { *source = new TernSource{tern::tir::ParseModule(name, {text, size}), nullptr}; });
}

int tern_source_parse_onnx(const char* data, uint64_t size, const char* name, const char* options,
                           TernSource** source) {
  return TryCompiler([&] {
    namespace onnx = tern::frontend::onnx;
    tern::ImportOptions import = tern::ImportOptionsFrom(options);
    auto bytes = std::make_shared<const std::string>(data, size);
    *source = new TernSource{onnx::Import(onnx::ParseModel(*bytes, name), import), bytes};
  });
}

void tern_source_free(TernSource* source) { delete source; }

int tern_source_is_model(TernSource* source, int32_t* is_model) {
  return TryCompiler([&] { *is_model = source->is_model(); });
}

int tern_source_print(TernSource* source, const char* passes, TernAny* text) {
  return TryCompiler([&] {
    tern::ir::IRModule module = source->module;
    if (passes) module = tern::ir::RunPasses(module, tern::ir::SplitPassList(passes), {});
    tern::Return(tern::tir::PrintModule(module), text);
  });
}

int tern_compile(TernSource* source, const char* options, TernExecutable** executable) {
  return TryCompiler([&] { *executable = tern::CompileSource(*source, options).release(); });
}

void tern_executable_free(TernExecutable* executable) { delete executable; }

int tern_executable_save(TernExecutable* executable, const char* path, const char* options) {
  return TryCompiler([&] { tern::Save(*executable, path, options); });
}

int tern_executable_module(TernExecutable* executable, TernModule** module) {
  return TryCompiler([&] {
    TERN_CHECK(!executable->modules.empty())
        << "tern_executable_module: the executable is a model: use tern_executable_model";
    *module = new TernModule{tern::codegen::LoadLinkable(executable->modules[0]), executable->meta};
  });
}

int tern_executable_model(TernExecutable* executable, TernModel** model) {
  return TryCompiler([&] {
    std::shared_ptr<const tern::runtime::vm::Model> loaded = tern::LoadHere(*executable);
    *model = tern::runtime::WrapModel(loaded, executable->make_specializer(loaded));
  });
}

int tern_executable_source(TernExecutable* executable, const char* format, TernAny* text) {
  return TryCompiler([&] { tern::Return(tern::SourceText(*executable, format), text); });
}

int tern_explain(TernSource* source, const char* name, const char* options, TernAny* text) {
  return TryCompiler([&] { tern::Return(tern::Explain(*source, name, options), text); });
}

int tern_targets(TernAny* json) {
  return TryCompiler([&] { tern::Return(tern::DescribeTargets(), json); });
}

int tern_codegen_load(const char* name) {
  return TryCompiler([&] { tern::codegen::LoadCodegen(name); });
}

const TernCompilerApi* tern_compiler_api() {
  static const TernCompilerApi api = {
      sizeof(TernCompilerApi), tern_source_read,     tern_source_parse,      tern_source_parse_onnx,
      tern_source_free,        tern_source_is_model, tern_source_print,      tern_compile,
      tern_executable_free,    tern_executable_save, tern_executable_module, tern_executable_model,
      tern_executable_source,  tern_explain,         tern_targets,           tern_codegen_load};
  return &api;
}
