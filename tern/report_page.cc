// SPDX-License-Identifier: Apache-2.0
//
// The report of tern explain as a page: summary, calls, kernels with their schedules, the memory
// plan as a picture, the graph. One file, without scripts from elsewhere.
#include <algorithm>
#include <cstdio>

#include "tern/report_text.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: #2563eb; --bad: #c2410c; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.target { font-family: ui-monospace, monospace; opacity: .75; }
.facts { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; padding: 0; }
.facts div { border: 1px solid var(--line); border-radius: 8px; padding: .5rem .9rem; }
.facts b { display: block; font-size: 1.2rem; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { position: sticky; top: 0; background: Canvas; }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.bar { display: inline-block; height: .6em; background: var(--accent); border-radius: 2px; }
.bad { color: var(--bad); font-weight: 600; }
pre { background: var(--soft); padding: .75rem; border-radius: 8px; overflow-x: auto; font-size: 12px; }
details { border: 1px solid var(--line); border-radius: 8px; padding: .3rem .8rem; margin: .4rem 0; }
summary { cursor: pointer; } a { color: var(--accent); text-decoration: none; }
svg { width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px; }
svg rect { fill: var(--accent); fill-opacity: .45; stroke: var(--accent); stroke-width: .5; }
)";

std::string Html(const std::string& text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string Bytes(uint64_t bytes) { return AmountText(static_cast<int64_t>(bytes), "B"); }

std::string Fact(const std::string& value, const char* name) {
  return "<div><b>" + Html(value) + "</b>" + name + "</div>";
}

double ValueOf(const ir::Expr& amount) {
  std::optional<int64_t> constant = ir::AsConstInt(amount);
  return constant ? static_cast<double>(*constant) : 0;
}

class Page {
 public:
  explicit Page(const ModelReport& report) : report_(report) {}

  std::string Write(const ReportHead& head, const std::string& graph_text) {
    text_ = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>" +
            Html(head.model) + "</title>\n<style>" + kStyle + "</style></head><body>\n<h1>" +
            Html(head.model) + "</h1>\n<div class=\"target\">" + Html(head.target) + "</div>\n";
    AddFacts();
    AddCalls();
    AddKernels();
    AddMemory();
    text_ += "<h2>Graph</h2>\n<details><summary>" + std::to_string(report_.num_nodes) +
             " nodes</summary><pre>" + Html(graph_text) + "</pre></details>\n</body></html>\n";
    return std::move(text_);
  }

 private:
  void AddFacts() {
    size_t generic = 0;
    for (const KernelReport& kernel : report_.kernels) generic += kernel.is_generic;
    text_ += "<div class=\"facts\">" + Fact(std::to_string(report_.num_nodes), "nodes") +
             Fact(std::to_string(report_.calls.size()), "kernel calls") +
             Fact(std::to_string(report_.kernels.size()), "kernels") +
             Fact(AmountText(report_.work.flops, "FLOP"), "a run") +
             Fact(AmountText(report_.work.bytes, "B"), "read and written by kernels") +
             Fact(Bytes(report_.weight_bytes), "weights");
    if (report_.memory) text_ += Fact(Bytes(report_.memory->arena_bytes), "arena");
    text_ += Fact(std::to_string(generic), "kernels under a generic rule") + "</div>\n";
  }

  void AddCalls() {
    double most = 0;
    for (const graph::Kernel& call : report_.calls) most = std::max(most, ValueOf(call.work.flops));
    text_ +=
        "<h2>Calls</h2>\n<table><tr><th class=\"n\">#</th><th>operators</th><th>kernel</th>"
        "<th>rules</th><th class=\"n\">flops</th><th></th><th class=\"n\">bytes</th>"
        "<th>first node</th><th>not fused, because</th></tr>\n";
    for (size_t i = 0; i < report_.calls.size(); ++i) {
      const graph::Kernel& call = report_.calls[i];
      const KernelReport& kernel = report_.kernels[report_.kernel_of[i]];
      int width = most > 0 ? static_cast<int>(80 * ValueOf(call.work.flops) / most) : 0;
      text_ += "<tr><td class=\"n\">" + std::to_string(i) + "</td><td>" + Html(OpsText(call)) +
               "</td><td><a href=\"#" + Html(call.name) + "\">" + Html(call.name) + "</a></td><td" +
               (kernel.is_generic ? " class=\"bad\">" : ">") +
               Html(kernel.rules.empty() ? "none" : kernel.rules) + "</td><td class=\"n\">" +
               Html(AmountText(call.work.flops, "FLOP")) +
               "</td><td><span class=\"bar\" style=\"width:" + std::to_string(width) +
               "px\"></span></td><td class=\"n\">" + Html(AmountText(call.work.bytes, "B")) +
               "</td><td>" + Html(call.label()) + "</td><td>" + Html(call.apart) + "</td></tr>\n";
    }
    text_ += "</table>\n";
  }

  void AddKernels() {
    text_ +=
        "<h2>Kernels</h2>\n<p>Loops as lowered from the graph, and the schedule that the "
        "rules chose, with the rules that were passed over.</p>\n";
    for (size_t i = 0; i < report_.kernels.size(); ++i) {
      const KernelReport& kernel = report_.kernels[i];
      auto calls = std::count(report_.kernel_of.begin(), report_.kernel_of.end(), i);
      const std::string& name = kernel.function->name;
      text_ += "<details id=\"" + Html(name) + "\"><summary><b>" + Html(name) +
               "</b>: " + std::to_string(calls) + (calls == 1 ? " call, " : " calls, ") +
               Html(kernel.rules.empty() ? "no rule" : kernel.rules) + "</summary><pre>" +
               Html(tir::Print(kernel.function)) + "</pre><pre>" + Html(kernel.schedule.str(name)) +
               "</pre></details>\n";
    }
  }

  // Calls go to the right, memory upwards.
  void AddMemory() {
    text_ += "<h2>Memory</h2>\n";
    if (!report_.memory) {
      text_ += "<p>Planned when the model runs, as it has dynamic dims.</p>\n";
      return;
    }
    const MemoryReport& memory = *report_.memory;
    text_ += "<p>Arena of " + Bytes(memory.arena_bytes) + "; at most " + Bytes(memory.live_bytes) +
             " are needed at one time. Calls from left to right, addresses upwards.</p>\n";
    if (memory.items.empty()) return;
    constexpr double kWidth = 1000, kHeight = 300;
    text_ += "<svg viewBox=\"0 0 1000 300\" role=\"img\" aria-label=\"memory plan\">\n";
    double calls = static_cast<double>(std::max<size_t>(report_.calls.size(), 1));
    double bytes = static_cast<double>(std::max<uint64_t>(memory.arena_bytes, 1));
    for (const MemoryReport::Item& item : memory.items) {
      double x = kWidth * static_cast<double>(item.first_call) / calls;
      double width = kWidth * static_cast<double>(item.last_call - item.first_call) / calls;
      double height = kHeight * static_cast<double>(item.bytes) / bytes;
      double y = kHeight - kHeight * static_cast<double>(item.offset) / bytes - height;
      char rect[200];
      std::snprintf(
          rect, sizeof(rect),
          "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>calls %zu to "
          "%zu: %s</title></rect>\n",
          x, y, std::max(width, 1.0), height, item.first_call, item.last_call,
          Bytes(item.bytes).c_str());
      text_ += rect;
    }
    text_ += "</svg>\n";
  }

  const ModelReport& report_;
  std::string text_;
};

}  // namespace

std::string ReportPage(const ModelReport& report, const ReportHead& head,
                       const std::string& graph_text) {
  return Page(report).Write(head, graph_text);
}

}  // namespace tern
