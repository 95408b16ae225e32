// SPDX-License-Identifier: Apache-2.0
#include "tern/compile_model.h"

#include <algorithm>
#include <map>
#include <set>

#include "tern/codegen/linkable_module.h"
#include "tern/codegen/load_linkable.h"
#include "tern/graph/transform/passes.h"
#include "tern/graph/versions.h"
#include "tern/pack_weights.h"
#include "tern/runtime/tensor.h"
#include "tern/schedule/rules/dot_matmul.h"
#include "tern/share_prepacked.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

namespace vm = runtime::vm;

// Calls of functions that have a prepacked version are calls of that one: what it needs of the
// constants is made when the model is loaded, once for each set of constants.
//
// Before:  call f(x, W, y)
// After:   call f_prepared(x, packed, y)     packed made by f_prepare(W, packed)
class PrepackedCalls {
 public:
  PrepackedCalls(vm::Program* program, const PrepackedModule& module)
      : program_(*program), meta_(module.meta) {
    for (const runtime::FunctionInfo& info : module.split) split_[info.name] = &info;
  }

  void Run() {
    for (vm::Function& function : program_.functions) {
      constant_of_.clear();
      std::vector<vm::Instruction> code;
      std::vector<size_t> moved;  // by instruction, where what replaces it begins
      for (vm::Instruction& instruction : function.code) {
        moved.push_back(code.size());
        if (instruction.op == vm::Opcode::kConst)
          constant_of_[instruction.results[0].index] = instruction.index;
        if (instruction.op == vm::Opcode::kCall) Replace(&function, &instruction, &code);
        code.push_back(std::move(instruction));
      }
      function.code = std::move(code);
      MoveJumps(&function, moved);
    }
    RemoveUnusedConstants();
    RemoveUnusedKernels();
  }

 private:
  static void MoveJumps(vm::Function* function, const std::vector<size_t>& moved) {
    for (vm::Instruction& instruction : function->code)
      if (instruction.op == vm::Opcode::kJump || instruction.op == vm::Opcode::kBranch)
        instruction.index = static_cast<uint32_t>(moved[instruction.index]);
  }

  void Replace(vm::Function* function, vm::Instruction* call, std::vector<vm::Instruction>* code) {
    auto split = split_.find(program_.kernels[call->index]);
    if (split == split_.end()) return;
    const runtime::FunctionInfo& info = *split->second;
    std::map<std::string, vm::Operand> args;
    for (size_t i = 0; i < info.params.size(); ++i) args[info.params[i].name] = call->args[i];
    const runtime::FunctionInfo& prepare = meta_.Get(info.prepare);
    vm::Prepack made = MakePrepack(prepare, args);
    for (size_t i = 0; i < prepare.params.size(); ++i) {
      const runtime::ParamInfo& param = prepare.params[i];
      if (!param.is_output) continue;
      uint32_t tensor = function->AddTensor(param.dtype, static_cast<uint32_t>(param.shape.size()));
      code->push_back({.op = vm::Opcode::kConst,
                       .index = made.constants[i],
                       .results = {vm::Operand::Tensor(tensor)}});
      args[param.name] = vm::Operand::Tensor(tensor);
    }
    const runtime::FunctionInfo& prepared = meta_.Get(info.prepared);
    call->args.clear();
    for (const runtime::ParamInfo& param : prepared.params)
      call->args.push_back(args.at(param.name));
    call->index = program_.Kernel(prepared.name);
  }

  // The call that makes what is needed.
  vm::Prepack MakePrepack(const runtime::FunctionInfo& prepare,
                          const std::map<std::string, vm::Operand>& args) {
    vm::Prepack call{.function = prepare.name, .constants = {}};
    std::vector<vm::Constant> made;
    for (const runtime::ParamInfo& param : prepare.params) {
      if (!param.is_output) {
        call.constants.push_back(constant_of_.at(args.at(param.name).index));
        continue;
      }
      vm::Constant constant{.name = param.name,
                            .dtype = param.dtype,
                            .shape = {},
                            .source = vm::ConstantSource::kMade};
      for (const std::string& extent : param.shape) constant.shape.push_back(std::stoll(extent));
      call.constants.push_back(0);
      made.push_back(std::move(constant));
    }
    return AddPrepack(prepare, std::move(call), std::move(made));
  }

  vm::Prepack AddPrepack(const runtime::FunctionInfo& prepare, vm::Prepack call,
                         std::vector<vm::Constant> made) {
    auto inputs_of = [&](const vm::Prepack& one) {
      std::vector<uint32_t> inputs;
      for (size_t i = 0; i < prepare.params.size(); ++i)
        if (!prepare.params[i].is_output) inputs.push_back(one.constants[i]);
      return inputs;
    };
    for (const vm::Prepack& known : program_.prepack)
      if (known.function == call.function && inputs_of(known) == inputs_of(call)) return known;
    size_t next = 0;
    for (size_t i = 0; i < prepare.params.size(); ++i) {
      if (!prepare.params[i].is_output) continue;
      vm::Constant& constant = made[next++];
      constant.name += "_" + std::to_string(program_.prepack.size());
      call.constants[i] = static_cast<uint32_t>(program_.constants.size());
      program_.constants.push_back(std::move(constant));
    }
    program_.prepack.push_back(call);
    return call;
  }

  // `const` of what only prepacking reads now, with the registers.
  void RemoveUnusedConstants() {
    for (vm::Function& function : program_.functions) {
      std::vector<bool> read(function.tensors.size(), false);
      for (const vm::Instruction& instruction : function.code)
        for (const vm::Operand& arg : instruction.args)
          if (arg.kind == vm::OperandKind::kTensor) read[arg.index] = true;
      std::vector<vm::Instruction> code;
      std::vector<size_t> moved;
      for (vm::Instruction& instruction : function.code) {
        moved.push_back(code.size());
        if (instruction.op != vm::Opcode::kConst || read[instruction.results[0].index])
          code.push_back(std::move(instruction));
      }
      function.code = std::move(code);
      MoveJumps(&function, moved);
      Renumber(&function);
    }
  }

  static void Renumber(vm::Function* function) {
    std::vector<bool> written(function->tensors.size(), false);
    std::fill_n(written.begin(), function->params.tensors, true);
    for (const vm::Instruction& instruction : function->code)
      for (const vm::Operand& result : instruction.results)
        if (result.kind == vm::OperandKind::kTensor) written[result.index] = true;
    std::vector<uint32_t> number(written.size());
    std::vector<vm::TensorType> kept;
    for (size_t i = 0; i < written.size(); ++i) {
      number[i] = static_cast<uint32_t>(kept.size());
      if (written[i]) kept.push_back(function->tensors[i]);
    }
    function->tensors = std::move(kept);
    for (vm::Instruction& instruction : function->code)
      for (auto* operands : {&instruction.results, &instruction.args})
        for (vm::Operand& operand : *operands)
          if (operand.kind == vm::OperandKind::kTensor) operand.index = number[operand.index];
  }

  void RemoveUnusedKernels() {
    std::vector<std::string> kernels;
    kernels.swap(program_.kernels);
    for (vm::Function& function : program_.functions)
      for (vm::Instruction& instruction : function.code)
        if (instruction.op == vm::Opcode::kCall)
          instruction.index = program_.Kernel(kernels[instruction.index]);
  }

  vm::Program& program_;
  const runtime::ArtifactMeta& meta_;
  std::map<std::string, const runtime::FunctionInfo*> split_;
  std::map<uint32_t, uint32_t> constant_of_;  // by tensor register
};

// Leaves out functions that prepack what was packed already: code that nobody calls.
void RemoveUnusedPrepacking(const vm::Program& program, PrepackedModule* prepacked) {
  std::set<std::string> unused;
  for (const runtime::FunctionInfo& info : prepacked->split) unused.insert(info.prepare);
  for (const vm::Prepack& call : program.prepack) unused.erase(call.function);
  std::vector<ir::BaseFunc> functions;
  for (const auto& [name, function] : prepacked->module->functions)
    if (!unused.contains(name)) functions.push_back(function);
  prepacked->module = prepacked->module.WithFunctions(functions);
  std::erase_if(prepacked->meta.functions,
                [&](const runtime::FunctionInfo& info) { return unused.contains(info.name); });
}

// The module with the program as a function of it; kernels that it does not call are left out.
void AddAot(const target::Target& target, const ModelOptions& options, PrepackedModule* prepacked,
            CompiledModel* result) {
  AotModel aot = MakeAot({result->program, result->weights, prepacked->meta.functions, target,
                          options.aot_name, options.aot_weights});
  CompileOptions plain = options;
  plain.prepack = CompileOptions::Prepack::kNone;
  PrepackedModule added = Prepack(aot.functions, target, plain);
  std::vector<ir::BaseFunc> functions;
  for (const auto& [name, function] : prepacked->module->functions)
    if (aot.called.contains(name)) functions.push_back(function);
  for (const auto& [name, function] : added.module->functions) functions.push_back(function);
  prepacked->module = prepacked->module.WithFunctions(functions);
  prepacked->meta.functions = {added.meta.Get(options.aot_name)};
  result->meta = prepacked->meta;
  result->program = std::move(aot.program);
  result->weights = std::move(aot.program_weights);
  result->aot = {aot.called.size(), aot.memory_bytes, static_cast<int64_t>(aot.weights.size())};
  result->module = Compile(*prepacked, options);
  if (options.aot_weights == AotWeights::kLinked && !aot.weights.empty())
    codegen::HostCode(result->module).AddData(kAotWeightsSymbol, std::move(aot.weights));
}

// Tensors stay float32: the graph is as it was, and kernels are told.
bool UsesTf32(const ModelOptions& options) { return options.precision == "tf32"; }

}  // namespace

ir::IRModule OptimizeGraph(const ir::IRModule& module, const std::vector<target::Target>& targets,
                           const ModelOptions& options) {
  Initialize();
  auto found = module->functions.find("main");
  TERN_CHECK(found != module->functions.end() && graph::AsGraph(found->second))
      << "the module has no graph of the name main";
  // Rounded to the same integers as of floats, but for what is within an error of half of one.
  bool integers = !options.strict_math && !targets.empty() &&
                  std::all_of(targets.begin(), targets.end(), schedule::HasDotMatmul);
  std::vector<std::string> passes =
      graph::GraphPasses({integers, UsesTf32(options) ? "" : options.precision, options.offload});
  ir::IRModule result = ir::RunPasses(module, passes, options);
  bool has_versions = result->functions.size() > 1;
  return has_versions ? graph::ShareConstants(result) : result;
}

graph::LoweredModel LowerModel(const ir::IRModule& module, const target::Target& target,
                               const ModelOptions& options) {
  graph::Function main = graph::AsGraph(module->functions.at("main"));
  return graph::LowerGraph(main, graph::VersionsOf(module, main),
                           {options.fuse, !options.strict_math, target, UsesTf32(options)});
}

CompiledModel CompileLowered(graph::LoweredModel lowered, const target::Target& target,
                             const ModelOptions& options) {
  CompiledModel result{{},
                       {},
                       std::move(lowered.program),
                       std::move(lowered.weights),
                       std::move(lowered.calls),
                       std::move(lowered.dim_ranges)};
  ModelOptions kernels = options;
  kernels.prepack = CompileOptions::Prepack::kOnly;
  // A program of copies and views alone has no kernel, but a file has code.
  if (lowered.kernels->functions.empty())
    lowered.kernels =
        tir::ParseModule("none.tir", "func none(nothing: int64[1]) { nothing[0] = 0 }");
  PrepackedModule prepacked = Prepack(lowered.kernels, target, kernels);
  result.meta = prepacked.meta;
  PrepackedCalls(&result.program, prepacked).Run();
  SharePrepacked(lowered.kernels, target, kernels, &result.program);
  bool is_aot = !options.aot_name.empty();
  if (options.pack_weights || is_aot)
    PackWeights(lowered.kernels, target, kernels, is_aot ? kAnyGrowth : kMostPackedGrowth, &result);
  if (is_aot) {
    AddAot(target, kernels, &prepacked, &result);
  } else {
    RemoveUnusedPrepacking(result.program, &prepacked);
    result.meta = prepacked.meta;
    result.module = Compile(prepacked, kernels);
  }
  return result;
}

CompiledModel CompileModel(const ir::IRModule& module, const target::Target& target,
                           const ModelOptions& options) {
  return CompileLowered(LowerModel(OptimizeGraph(module, {target}, options), target, options),
                        target, options);
}

std::shared_ptr<const vm::Model> LoadModel(const CompiledModel& model, int32_t device_id,
                                           std::shared_ptr<const vm::Model> relative) {
  std::map<std::string, ir::Constant> weights;
  for (const ir::Constant& constant : model.weights) weights[constant->name] = constant;
  vm::ModelParts parts;
  parts.program = model.program;
  parts.module = codegen::LoadLinkable(model.module);
  parts.functions = model.meta.functions;
  parts.device = model.meta.device;
  parts.device_id = device_id;
  parts.relative = std::move(relative);
  parts.weight = [&](const vm::Constant& constant) {
    const ir::Constant& data = weights.at(constant.name);
    runtime::Tensor tensor = runtime::Tensor::Empty(constant.shape, constant.dtype);
    data->CopyTo(tensor->data());
    return tensor;
  };
  return std::make_shared<vm::Model>(std::move(parts));
}

}  // namespace tern
