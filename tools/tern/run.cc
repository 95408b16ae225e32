// SPDX-License-Identifier: Apache-2.0
//
// tern run: compile in memory where needed, fill the inputs, call, compare, report.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/compile_model.h"
#include "tern/runtime/artifact/npy.h"
#include "tern/runtime/vm/load_model.h"
#include "tern/specialize_model.h"
#include "tern/tir/analysis/preparation.h"
#include "tern/tir/attributes.h"
#include "tern/tir/text.h"
#include "tools/run_model.h"
#include "tools/run_report.h"
#include "tools/tern/commands.h"
#include "tools/tern/reference.h"
#include "tools/tern/source.h"

namespace tern::tools {
namespace {

runtime::RunOptions MakeRunOptions(const RunOptions& options) {
  runtime::RunOptions run;
  run.seed = options.seed;
  run.offset = options.offset;
  run.repeat = options.repeat;
  for (const std::string& text : options.inputs)
    run.inputs.insert(SplitAssignment("--input", text));
  for (const std::string& text : options.dims) {
    auto [name, value] = SplitAssignment("--dim", text);
    run.dims[name] = ParseInteger("--dim", value);
  }
  return run;
}

// What is run: a module with the description of its functions, and their source where there is one.
struct Program {
  ir::IRModule source;
  ffi::Module module;
  runtime::ArtifactMeta meta;
  std::string where;  // the device, or the kind of a host target
};

// The function that is run, without the others of its file: functions do not call each other, and
// each costs time to compile. A part of a prepacked one is found once it is compiled, among all.
ir::IRModule OnlyEntry(ir::IRModule module, const std::string& entry) {
  auto found = module->functions.find(entry);
  if (found == module->functions.end()) return module;
  return module.WithFunctions({found->second});
}

Program Load(const RunOptions& options) {
  Program program;
  if (options.input.ends_with(".so") || options.input.ends_with(".tern")) {
    TERN_CHECK(options.target.empty()) << "--target: " << options.input << " is compiled already";
    runtime::Artifact artifact = runtime::Artifact::Open(options.input);
    program.meta = artifact.meta();
    program.module = artifact.Load();
    program.where = program.meta.device + ":0";
    return program;
  }
  target::Target target = ParseTarget(options.target, options.host);
  program.source = OnlyEntry(ReadSource(options.input), options.entry);
  tern::CompileOptions compile_options;
  compile_options.bounds_checks = options.bounds_checks;
  compile_options.default_schedules = options.default_schedules;
  PrepackedModule prepacked = Prepack(program.source, target, compile_options);
  program.meta = prepacked.meta;
  program.module = codegen::LoadLinkable(tern::Compile(prepacked, compile_options));
  program.where = target->is_device() ? program.meta.device + ":0" : target->kind->name;
  return program;
}

// Sums in another order, and by other formulas, differ by so much more (docs/numerics.md).
constexpr double kReassociatedTolerance = 10;

// Products of operands with 13 bits fewer.
constexpr double kTf32Tolerance = 300;

bool HasFlag(const ir::IRModule& module, const std::string& function, const char* flag) {
  auto found = module->functions.find(function);
  return found != module->functions.end() && tir::HasFlag(tir::AsPrimFunc(found->second), flag);
}

// The constants of the module that parameters of a function, or of the one that it is a part of,
// are bound to.
std::map<std::string, runtime::Tensor> BoundTensors(const Program& program,
                                                    const runtime::FunctionInfo& info) {
  std::map<std::string, runtime::Tensor> tensors;
  if (!program.source) return tensors;
  std::string written = info.name;
  for (const runtime::FunctionInfo& whole : program.meta.functions)
    if (info.name == whole.prepare || info.name == whole.prepared) written = whole.name;
  auto found = program.source->functions.find(written);
  if (found == program.source->functions.end()) return tensors;
  for (const std::string& name : tir::ConstantsOf(tir::AsPrimFunc(found->second))) {
    auto constant = program.source->constants.find(name);
    bool takes = std::any_of(info.params.begin(), info.params.end(),
                             [&](const runtime::ParamInfo& param) { return param.name == name; });
    if (!takes || constant == program.source->constants.end()) continue;
    runtime::Tensor tensor =
        runtime::Tensor::Empty(constant->second->shape, constant->second->dtype);
    constant->second->CopyTo(tensor->data());
    tensors[name] = tensor;
  }
  return tensors;
}

// Against the interpreter, or one tensor against a file.
std::vector<Comparison> Check(const std::string& check, const Program& program,
                              const runtime::FunctionInfo& info, const runtime::RunResult& result,
                              const runtime::RunOptions& run) {
  std::vector<Comparison> outputs;
  if (check == "interp") {
    outputs = CompareResults(info, result, RunReference(program.source, info, run));
  } else {
    auto [name, path] = SplitAssignment("--check", check);
    runtime::Tensor actual = FindTensor(info, result, "--check", name);
    outputs = {{name, runtime::CompareTensors(actual, runtime::ReadNpy(path)),
                Tolerance(actual->dtype())}};
  }
  for (const auto& [flag, factor] : {std::pair{tir::attr::kReassociate, kReassociatedTolerance},
                                     {tir::attr::kAllowTf32, kTf32Tolerance}})
    if (program.source && HasFlag(program.source, info.name, flag))
      for (Comparison& output : outputs) output.tolerance *= factor;
  return outputs;
}

// Prints what came of one function; returns whether it is right as far as was asked.
bool RunOne(const RunOptions& options, const Program& program, const runtime::FunctionInfo& info,
            runtime::RunOptions run) {
  run.tensors = BoundTensors(program, info);
  AddDefaultArguments(program.source, info.name, &run);
  ffi::Function function = options.prepare ? PreparingFunction(program.module, program.meta, info)
                                           : program.module->GetFunction(info.name);
  runtime::RunResult result =
      runtime::RunFunction(function, info, program.meta.DeviceOf(info), run);
  std::string where = info.device.empty() ? program.where : info.device + ":0";
  std::printf("%s\n", SummaryLine(info, where, result, options.summary).c_str());
  if (run.repeat > 1) std::printf("%s\n", TimesLine(run.repeat, result).c_str());
  for (const std::string& text : options.outputs) {
    auto [name, path] = SplitAssignment("--output", text);
    runtime::WriteNpy(path, FindTensor(info, result, "--output", name));
  }
  if (options.check.empty()) return true;
  bool right = true;
  for (const Comparison& output : Check(options.check, program, info, result, run)) {
    std::printf("%s\n", ErrorLine(output.name, output.error, output.tolerance).c_str());
    right = right && output.within();
  }
  return right;
}

bool IsSpecialized(const RunOptions& options) {
  return runtime::vm::Specializer::Parse(options.specialize).has_value();
}

// With `specializer` one for the model, as --specialize says.
std::shared_ptr<const runtime::vm::Model> CompileInMemory(
    const RunOptions& options, const target::Target& target, int device_id,
    bool is_reference = false, std::shared_ptr<runtime::vm::Specializer>* specializer = nullptr) {
  frontend::onnx::ImportOptions import =
      ImportOptionsFor(options.input_shapes, options.dims, options.inputs);
  if (IsSpecialized(options)) {
    import.input_shapes = ParseImportOptions(options.input_shapes, {}).input_shapes;
    import.dims.clear();
  }
  ModelOptions compile;
  compile.bounds_checks = options.bounds_checks;
  compile.default_schedules = options.default_schedules;
  if (!is_reference) {
    compile.precision = options.precision;
    compile.offload = options.offload;
  }
  ir::IRModule source = ReadSource(options.input, import);
  std::shared_ptr<const runtime::vm::Model> model =
      LoadModel(CompileModel(source, target, compile), device_id);
  if (specializer)
    *specializer = MakeSpecializer(runtime::vm::Specializer::Parse(options.specialize), source,
                                   target, compile, model);
  return model;
}

// Of the range of an output: so much as some ten roundings of the type in a row.
double PrecisionTolerance(const std::string& precision) { return precision == "bf16" ? 0.1 : 0.02; }
// Prints the tokens that follow those given.
int GenerateTokens(const RunOptions& options,
                   const std::shared_ptr<const runtime::vm::Model>& model) {
  TERN_CHECK(options.check.empty() && options.outputs.empty() && !options.profile &&
             options.trace.empty() && options.repeat == 1)
      << "--generate prints tokens: --check, --output, --profile, --trace and --repeat are for "
         "single runs";
  TERN_CHECK(options.generate.temperature >= 0)
      << "--temperature " << options.generate.temperature << ": expected 0 or more";
  std::map<std::string, runtime::Tensor> inputs;
  for (const std::string& text : options.inputs) {
    auto [name, path] = SplitAssignment("--input", text);
    inputs[name] = runtime::ReadNpy(path);
  }
  GenerateOptions generate = options.generate;
  generate.seed = options.seed;
  auto start = std::chrono::steady_clock::now();
  std::vector<int64_t> made = Generate(model, generate, options.session, inputs);
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  std::string ids;
  for (int64_t token : made) ids += (ids.empty() ? "" : ",") + std::to_string(token);
  std::printf("tokens: %s\n%zu tokens, %.3g ms a token\n", ids.c_str(), made.size(),
              time.count() / static_cast<double>(made.size()));
  return 0;
}

// An .onnx file is a model, and so is a compiled file with a program.
std::optional<int> RunIfModel(const RunOptions& options) {
  bool is_source = options.input.ends_with(".onnx");
  std::optional<runtime::Artifact> artifact;
  if (options.input.ends_with(".so") || options.input.ends_with(".tern"))
    artifact = runtime::Artifact::Open(options.input);
  if (!is_source && !(artifact && runtime::vm::HasModel(*artifact))) return {};
  TERN_CHECK(is_source || (options.precision.empty() && options.offload.empty()))
      << "--precision and --offload: " << options.input << " is compiled already";
  TERN_CHECK(is_source || options.target.empty())
      << "--target: " << options.input << " is compiled already";
  TERN_CHECK(is_source || !IsSpecialized(options))
      << "--specialize: " << options.input << " is compiled already";
  TERN_CHECK(options.generate.count == 0 || !IsSpecialized(options))
      << "--generate: each token has a shape of its own, for which --specialize is of no use";
  TERN_CHECK(options.entry.empty() && !options.prepare)
      << options.input << " is a model: --entry and --prepare are for functions";
  ModelRunOptions run{MakeRunOptions(options)};
  for (const std::string& text : options.outputs)
    run.outputs.push_back(SplitAssignment("--output", text));
  bool checks_host = options.check == "host";
  TERN_CHECK(!checks_host || is_source) << "--check host needs the .onnx file, not a compiled one";
  if (!options.check.empty() && !checks_host)
    run.checks = {SplitAssignment("--check", options.check)};
  run.profile = options.profile;
  run.trace = options.trace;
  run.session = options.session;
  bool generates = options.generate.count > 0;
  if (!is_source && generates)
    return GenerateTokens(options, runtime::vm::LoadModel(*artifact, options.session.device));
  if (!is_source) return RunModel(*artifact, run) ? 0 : 1;
  target::Target target = ParseTarget(options.target, options.host);
  std::shared_ptr<const runtime::vm::Model> model =
      CompileInMemory(options, target, options.session.device, false, &run.specializer);
  if (generates) return GenerateTokens(options, model);
  if (checks_host) run.reference = CompileInMemory(options, target::Target::DefaultHost(), 0, true);
  if (!options.precision.empty()) run.range_tolerance = PrecisionTolerance(options.precision);
  std::erase_if(run.run.dims, [&](const auto& dim) {  // those that were compiled in
    const std::vector<std::string>& left = model->program().dims;
    return std::find(left.begin(), left.end(), dim.first) == left.end();
  });
  return RunModel(std::filesystem::path(options.input).stem().string(), model, run) ? 0 : 1;
}

}  // namespace

int Run(const RunOptions& options) {
  bool checks_file = options.check.find('=') != std::string::npos;
  TERN_CHECK(options.check.empty() || options.check == "interp" || options.check == "host" ||
             checks_file)
      << "--check " << options.check << ": expected interp, host or NAME=file.npy";
  const GenerateOptions& generate = options.generate;
  TERN_CHECK(generate.count > 0 || (generate.tokens.empty() && generate.temperature == 0 &&
                                    generate.top_k == 0 && generate.end_token < 0))
      << "--tokens, --temperature, --top-k and --end-token are for --generate";
  if (std::optional<int> status = RunIfModel(options)) return *status;
  TERN_CHECK(generate.count == 0) << options.input << " is no model: --generate is for models";
  TERN_CHECK(!options.profile && options.trace.empty() && !options.session.any())
      << options.input << " is no model: " << kModelFlags << " are for models";
  TERN_CHECK(options.check != "host") << "--check host is for models";
  TERN_CHECK(options.precision.empty() && options.offload.empty() && options.specialize.empty())
      << "--precision, --offload and --specialize are for models";
  Program program = Load(options);
  TERN_CHECK(options.check != "interp" || program.source)
      << "--check interp needs the .tir file, not a compiled one";
  runtime::RunOptions run = MakeRunOptions(options);
  std::vector<runtime::FunctionInfo> chosen = program.meta.functions;
  std::erase_if(chosen, [parts = program.meta.PartNames()](const runtime::FunctionInfo& function) {
    return parts.contains(function.name);
  });
  if (!options.entry.empty()) chosen = {FindEntry(program.meta, options.entry)};
  bool right = true;
  for (const runtime::FunctionInfo& info : chosen)
    right = RunOne(options, program, info, run) && right;
  return right ? 0 : 1;
}

}  // namespace tern::tools
