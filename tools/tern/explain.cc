// SPDX-License-Identifier: Apache-2.0
//
// tern explain: what a model becomes on a target, and why. Nothing is compiled.
#include "tools/tern/explain.h"

#include <algorithm>
#include <cstdio>

#include "tern/compile_model.h"
#include "tern/ffi/escape_text.h"
#include "tern/ffi/text.h"
#include "tern/runtime/file_bytes.h"
#include "tern/tir/text.h"
#include "tools/tern/commands.h"
#include "tools/tern/source.h"

namespace tern::tools {
namespace {

// Columns as wide as their widest cell; the last one as long as it is.
class Table {
 public:
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  void Print() const {
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        line += row[i];
        if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
      }
      std::puts(line.c_str());
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

void PrintCalls(const ModelReport& report) {
  Table table;
  table.Add({"call", "kernel", "operators", "rules", "flops", "bytes", "first node"});
  for (size_t i = 0; i < report.calls.size(); ++i) {
    const graph::Kernel& call = report.calls[i];
    const KernelReport& kernel = report.kernels[report.kernel_of[i]];
    table.Add({std::to_string(i), call.name, OpsText(call),
               kernel.rules.empty() ? "none" : kernel.rules, AmountText(call.work.flops, "FLOP"),
               AmountText(call.work.bytes, "B"), ffi::Escaped(call.label())});
  }
  table.Print();
}

void PrintApart(const ModelReport& report) {
  bool any = false;
  for (size_t i = 0; i < report.calls.size(); ++i) {
    const graph::Kernel& call = report.calls[i];
    if (call.apart.empty()) continue;
    if (!any) std::puts("\nNot fused with what computes its input:");
    any = true;
    std::printf("  call %zu, %s '%s': %s\n", i, call.ops[0].c_str(),
                ffi::Escaped(call.label()).c_str(), ffi::Escaped(call.apart).c_str());
  }
}

void PrintGeneric(const ModelReport& report) {
  std::vector<std::string> names;
  for (const KernelReport& kernel : report.kernels)
    if (kernel.is_generic) names.push_back(kernel.function->name);
  if (names.empty()) {
    std::puts("\nEvery matmul, convolution, pooling and reduction has a rule of its kind.");
    return;
  }
  std::printf("\nGeneric rules alone, so slow (--kernel NAME says why): %s\n",
              ffi::Join(names).c_str());
}

void PrintMemory(const ModelReport& report) {
  if (!report.memory) {
    std::puts(
        "\nMemory: planned when the model runs, as it has dynamic dims (--dim, --input-shape)");
    return;
  }
  uint64_t sum = 0;
  for (const MemoryReport::Item& item : report.memory->items) sum += item.bytes;
  auto text = [](uint64_t bytes) { return AmountText(static_cast<int64_t>(bytes), "B"); };
  std::printf("\nMemory: arena of %s for %zu tensors of %s; at most %s are needed at one time\n",
              text(report.memory->arena_bytes).c_str(), report.memory->items.size(),
              text(sum).c_str(), text(report.memory->live_bytes).c_str());
}

void PrintKernel(const ModelReport& report, const std::string& name) {
  std::vector<std::string> names;
  for (const KernelReport& kernel : report.kernels) {
    names.push_back(kernel.function->name);
    if (kernel.function->name != name) continue;
    std::fputs(tir::Print(kernel.function).c_str(), stdout);
    std::fputs(("\n" + kernel.schedule.str(name)).c_str(), stdout);
    return;
  }
  TERN_THROW(ValueError) << "--kernel: the model has no kernel '" << name << "'"
                         << ffi::DidYouMean(name, names)
                         << "; without --kernel, tern explain lists them";
}

}  // namespace

std::string OpsText(const graph::Kernel& call) {
  std::string text;
  for (const std::string& op : call.ops) text += (text.empty() ? "" : " + ") + op;
  return text;
}

void Explain(const ExplainOptions& options) {
  ir::IRModule module = ReadSource(
      options.input, ParseImportOptions(options.input_shapes, options.dims, options.freeze));
  TERN_CHECK(IsModel(module)) << options.input
                              << ": no model; for the schedules of a .tir file's functions, use "
                                 "tern opt --explain-schedule";
  target::Target target = ParseTarget(options.target, options.host);
  ModelOptions model_options;
  model_options.fuse = options.fuse;
  model_options.strict_math = options.strict_math;
  ir::IRModule graph = OptimizeGraph(module, model_options);
  graph::LoweredModel lowered = LowerModel(graph, target, model_options);
  ModelReport report = ReportModel(lowered, target);
  if (!options.kernel.empty()) return PrintKernel(report, options.kernel);
  if (!options.html.empty()) {
    runtime::WriteFile(options.html,
                       ReportPage(report, options.input, target->str(), tir::PrintModule(graph)));
    std::printf("%s: %zu calls of %zu kernels\n", options.html.c_str(), report.calls.size(),
                report.kernels.size());
    return;
  }
  std::printf("%s on %s: %zu nodes, %zu calls of %zu kernels, %s, %s of weights\n\n",
              options.input.c_str(), target->str().c_str(), report.num_nodes, report.calls.size(),
              report.kernels.size(), AmountText(report.work.flops, "FLOP").c_str(),
              AmountText(static_cast<int64_t>(report.weight_bytes), "B").c_str());
  PrintCalls(report);
  PrintApart(report);
  PrintGeneric(report);
  PrintMemory(report);
  if (std::string note = OpenWeightsNote(lowered.program); !note.empty())
    std::printf("\nNote: %s\n", note.c_str());
}

}  // namespace tern::tools
