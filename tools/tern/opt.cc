// SPDX-License-Identifier: Apache-2.0
//
// tern opt: text IR in, passes, text IR out.
#include <cstdio>

#include "tern/ffi/json.h"
#include "tern/ffi/text.h"
#include "tern/frontend/onnx/converters.h"
#include "tern/graph/op.h"
#include "tern/ir/pass.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/schedule.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/json.h"
#include "tern/tir/text.h"
#include "tools/tern/commands.h"
#include "tools/tern/source.h"

namespace tern::tools {
namespace {

void ListPasses() {
  for (const std::string& name : ir::PassNames()) {
    const ir::Pass& pass = ir::GetPass(name);
    std::printf("%-32s %s\n", name.c_str(), pass.description.c_str());
    for (const ir::PassOption& option : pass.options) {
      std::string value = option.name + "=" + ffi::WriteJson(option.default_value);
      std::printf("    %-16s %s\n", value.c_str(), option.help.c_str());
    }
  }
}

void ListRules() {
  for (const schedule::Rule* rule : schedule::AllRules()) {
    std::string kinds;
    for (schedule::BlockKind kind : rule->kinds)
      kinds += (kinds.empty() ? "" : ", ") + std::string(schedule::BlockKindName(kind));
    std::printf("%-26s %3d  %s: %s\n", rule->name.c_str(), rule->priority,
                kinds.empty() ? "any block" : kinds.c_str(), rule->description.c_str());
  }
}

void ListOps() {
  for (const graph::Op* op : graph::AllOps()) {
    std::vector<std::string> attrs;
    for (const graph::AttrSpec& attr : op->attrs) attrs.push_back(attr.name);
    std::string signature = op->name + "(" + ffi::Join(op->inputs) + ")" +
                            (attrs.empty() ? "" : " {" + ffi::Join(attrs) + "}");
    std::printf("%s\n    %s\n", signature.c_str(), op->summary.c_str());
  }
}

// docs/onnx_operators.md.
void ListOnnxOps() {
  std::puts(
      "# Operators of ONNX\n\nWhat `tern opt --list-onnx` prints: the operators of each domain "
      "that models may have, "
      "and what they become:\nan operator of graphs, or several of them.");
  for (std::string_view domain : frontend::onnx::SupportedDomains()) {
    std::vector<std::string_view> names = frontend::onnx::SupportedOperators(domain);
    std::printf("\n## %s\n\n%zu operators.\n\n| operator | becomes |\n|---|---|\n",
                std::string(domain.empty() ? "ai.onnx" : domain).c_str(), names.size());
    for (std::string_view name : names) {
      frontend::onnx::ConverterEntry entry = frontend::onnx::FindConverter(domain, name);
      std::string becomes =
          entry.same ? std::string("`") + entry.same + "`: " + graph::GetOp(entry.same).summary
                     : std::string("by its attributes and opset");
      std::printf("| %s | %s |\n", std::string(name).c_str(), becomes.c_str());
    }
  }
}

// Schedule sections, with comments.
void ExplainSchedules(const ir::IRModule& module) {
  tir::MapFunctions(module, [](const tir::PrimFunc& function) {
    schedule::Explanation explanation;
    schedule::ApplyDefaultSchedule(function, &explanation);
    std::fputs(explanation.str(function->name).c_str(), stdout);
    return function;
  });
}

// What was given to `flag`, once or several times.
std::vector<std::string> PassList(const char* flag, const std::vector<std::string>& given) {
  std::vector<std::string> passes;
  for (const std::string& text : given) {
    std::vector<std::string> names =
        WithContext(std::string("reading ") + flag, [&] { return ir::SplitPassList(text); });
    passes.insert(passes.end(), names.begin(), names.end());
  }
  return passes;
}

// The one function that has a schedule, with the first steps of that alone.
ir::IRModule WithStep(const ir::IRModule& module, int64_t step) {
  int scheduled = 0;
  ir::IRModule result = tir::MapFunctions(module, [&](const tir::PrimFunc& function) {
    if (!schedule::HasSchedule(function)) return function;
    ++scheduled;
    return schedule::WithFirstSteps(function, step);
  });
  TERN_CHECK(scheduled == 1) << "--step: steps are counted in one schedule, and the file has "
                             << scheduled << " for this target";
  return result;
}

// The one function of a module, for what is of one function.
tir::PrimFunc OnlyFunction(const ir::IRModule& module, const char* flag) {
  std::vector<tir::PrimFunc> functions;
  tir::MapFunctions(module, [&](const tir::PrimFunc& function) {
    functions.push_back(function);
    return function;
  });
  TERN_CHECK(functions.size() == 1)
      << flag << ": a trace is of one function, and the file has " << functions.size();
  return functions[0];
}

ir::IRModule WithTrace(const ir::IRModule& module, const std::string& path) {
  schedule::Trace trace = WithContext("reading " + path, [&] {
    return schedule::Trace::Parse(runtime::ReadFile(path, runtime::kMostTextBytes));
  });
  OnlyFunction(module, "--replay");
  return tir::MapFunctions(module, [&](const tir::PrimFunc& function) {
    return schedule::WithSchedule(function, trace);
  });
}

}  // namespace

void Opt(const OptOptions& options) {
  if (options.list) return ListPasses();
  if (options.list_rules) return ListRules();
  if (options.list_ops) return ListOps();
  if (options.list_onnx) return ListOnnxOps();
  TERN_CHECK(!options.input.empty()) << "opt: no input file; see tern opt --help";
  ir::IRModule module = ReadSource(options.input);
  if (!options.target.empty() || options.explain_schedule) {
    target::Target target = ParseTarget(options.target);
    module = tir::MapFunctions(module, [&](const tir::PrimFunc& function) {
      return function.WithAttr(tir::attr::kTarget, target);
    });
  }
  if (!options.replay.empty()) module = WithTrace(module, options.replay);
  if (options.step) module = WithStep(module, *options.step);
  if (!options.trace.empty()) {
    schedule::Schedule done = schedule::ScheduleOf(OnlyFunction(module, "--trace"));
    runtime::WriteFile(options.trace, done.trace().ToJson());
  }
  if (options.explain_schedule) return ExplainSchedules(module);
  std::vector<std::pair<std::string, double>> timing;
  ir::PassOptions pass_options;
  pass_options.print_after = PassList("--print-after", options.print_after);
  pass_options.print = [](const ir::IRModule& module, const std::string& pass) {
    std::fprintf(stderr, "# after %s\n%s\n", pass.c_str(), tir::PrintModule(module).c_str());
  };
  if (!options.no_verify)
    pass_options.verify = [](const ir::IRModule& module, const std::string& pass) {
      if (pass.empty()) return tir::Verify(module);
      WithContext("verifying what pass " + pass + " made", [&] { tir::Verify(module); });
    };
  pass_options.timing = &timing;
  std::vector<std::string> passes = PassList("--passes", options.passes);
  if (options.schedule || !options.replay.empty()) passes.insert(passes.begin(), "apply_schedules");
  module = ir::RunPasses(module, passes, pass_options);
  std::fputs((options.json ? tir::ModuleToJson(module) : tir::PrintModule(module)).c_str(), stdout);
  if (options.timing)
    for (const auto& [name, seconds] : timing)
      std::fprintf(stderr, "%-32s %8.3f ms\n", name.c_str(), 1e3 * seconds);
}

}  // namespace tern::tools
