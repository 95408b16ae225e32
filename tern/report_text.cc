// SPDX-License-Identifier: Apache-2.0
#include "tern/report_text.h"

#include <algorithm>

#include "tern/ffi/escape_text.h"
#include "tern/ffi/text.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

// Columns as wide as their widest cell; the last one as long as it is.
class Table {
 public:
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string str() const {
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) {
        text += row[i];
        if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + 2, ' ');
      }
      text += "\n";
    }
    return text;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string CallsText(const ModelReport& report) {
  Table table;
  table.Add({"call", "kernel", "operators", "rules", "flops", "bytes", "first node"});
  for (size_t i = 0; i < report.calls.size(); ++i) {
    const graph::Kernel& call = report.calls[i];
    const KernelReport& kernel = report.kernels[report.kernel_of[i]];
    table.Add({std::to_string(i), call.name, OpsText(call),
               kernel.rules.empty() ? "none" : kernel.rules, AmountText(call.work.flops, "FLOP"),
               AmountText(call.work.bytes, "B"), ffi::Escaped(call.label())});
  }
  return table.str();
}

std::string ApartText(const ModelReport& report) {
  std::string text;
  for (size_t i = 0; i < report.calls.size(); ++i) {
    const graph::Kernel& call = report.calls[i];
    if (call.apart.empty()) continue;
    if (text.empty()) text = "\nNot fused with what computes its input:\n";
    text += "  call " + std::to_string(i) + ", " + call.ops[0] + " '" + ffi::Escaped(call.label()) +
            "': " + ffi::Escaped(call.apart) + "\n";
  }
  return text;
}

std::string GenericText(const ModelReport& report) {
  std::vector<std::string> names;
  for (const KernelReport& kernel : report.kernels)
    if (kernel.is_generic) names.push_back(kernel.function->name);
  if (names.empty())
    return "\nEvery matmul, convolution, pooling and reduction has a rule of its kind.\n";
  return "\nGeneric rules alone, so slow (--kernel NAME says why): " + ffi::Join(names) + "\n";
}

std::string HostText(const ModelReport& report) {
  std::string text;
  for (size_t i = 0; i < report.calls.size(); ++i)
    if (const std::string& why = report.kernels[report.kernel_of[i]].on_host; !why.empty())
      text += "  call " + std::to_string(i) + ", " + OpsText(report.calls[i]) + " '" +
              ffi::Escaped(report.calls[i].label()) + "': runs on the host because " + why + "\n";
  if (text.empty()) return "";
  return "\nOn the host, with copies of its tensors:\n" + text;
}

std::string MemoryText(const ModelReport& report) {
  if (!report.memory)
    return "\nMemory: planned when the model runs, as it has dynamic dims (--dim, "
           "--input-shape)\n";
  uint64_t sum = 0;
  for (const MemoryReport::Item& item : report.memory->items) sum += item.bytes;
  auto text = [](uint64_t bytes) { return AmountText(static_cast<int64_t>(bytes), "B"); };
  return "\nMemory: arena of " + text(report.memory->arena_bytes) + " for " +
         std::to_string(report.memory->items.size()) + " tensors of " + text(sum) + "; at most " +
         text(report.memory->live_bytes) + " are needed at one time\n";
}

// The nodes of the model that each call of a kernel computes, as comments of a .tir file.
//   # call 6: matmul 'MatMul_18', add 'Add_19'
std::string NodesText(const ModelReport& report, const std::string& kernel) {
  std::string text;
  for (size_t i = 0; i < report.calls.size(); ++i) {
    const graph::Kernel& call = report.calls[i];
    if (call.name != kernel) continue;
    std::string nodes;
    for (size_t k = 0; k < call.ops.size(); ++k) {
      const std::string& label = k == 0 ? call.label() : call.labels[k];
      nodes += (k ? ", " : "") + call.ops[k];
      if (!label.empty()) nodes += " '" + ffi::Escaped(label) + "'";
    }
    text += "# call " + std::to_string(i) + ": " + nodes + "\n";
  }
  return text;
}

}  // namespace

std::string OpsText(const graph::Kernel& call) {
  std::string text;
  for (const std::string& op : call.ops) text += (text.empty() ? "" : " + ") + op;
  return text;
}

std::string ReportText(const ModelReport& report, const ReportHead& head) {
  return head.model + " on " + head.target + ": " + std::to_string(report.num_nodes) + " nodes, " +
         std::to_string(report.calls.size()) + " calls of " +
         std::to_string(report.kernels.size()) + " kernels, " +
         AmountText(report.work.flops, "FLOP") + ", " +
         AmountText(static_cast<int64_t>(report.weight_bytes), "B") + " of weights\n\n" +
         CallsText(report) + ApartText(report) + HostText(report) + GenericText(report) +
         MemoryText(report);
}

std::string KernelText(const ModelReport& report, const std::string& kernel) {
  std::vector<std::string> names;
  for (const KernelReport& candidate : report.kernels) {
    names.push_back(candidate.function->name);
    if (candidate.function->name == kernel)
      return NodesText(report, kernel) + tir::Print(candidate.function) + "\n" +
             candidate.schedule.str(kernel);
  }
  TERN_THROW(ValueError) << "--kernel: the model has no kernel '" << kernel << "'"
                         << ffi::DidYouMean(kernel, names)
                         << "; without --kernel, tern explain lists them";
}

std::string OpenWeightsNote(const runtime::vm::Program& program) {
  // A constant of the name of an input is its default.
  auto open = std::count_if(
      program.inputs.begin(), program.inputs.end(), [&](const runtime::vm::Port& input) {
        return std::any_of(program.constants.begin(), program.constants.end(),
                           [&](const auto& constant) { return constant.name == input.name; });
      });
  if (open == 0) return "";
  return std::to_string(open) +
         " initializers are inputs too, so that runs may give them: they are not prepacked or "
         "folded into others; --freeze makes them constants";
}

}  // namespace tern
