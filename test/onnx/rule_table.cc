// SPDX-License-Identifier: Apache-2.0
#include "test/onnx/rule_table.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "tern/ffi/error.h"
#include "tern/graph/op.h"
#include "tern/model_report.h"
#include "test/onnx/node_cases.h"

namespace tern::test {
namespace {

// By operator, that a kernel starts with, and rule: kernels.
using RuleTable = std::map<std::string, std::map<std::string, int>>;

void AddRules(const graph::LoweredModel& lowered, const target::Target& target, RuleTable* table) {
  ModelReport report = ReportModel(lowered, target);
  for (size_t i = 0; i < report.calls.size(); ++i) {
    const KernelReport& kernel = report.kernels[report.kernel_of[i]];
    std::set<std::string> rules;
    if (kernel.is_generic) rules.insert("GENERIC");
    if (!kernel.on_host.empty()) rules.insert("on the host");
    for (const schedule::RuleResult& result : kernel.schedule.results)
      if (!result.rule.empty()) rules.insert(result.rule);
    std::map<std::string, int>& counts = (*table)[report.calls[i].ops[0]];
    for (const std::string& rule : rules) ++counts[rule];
  }
}

std::map<std::string, std::string> TextOf(const RuleTable& table, bool found_alone) {
  std::map<std::string, std::string> lines;
  for (const graph::Op* op : graph::AllOps()) {
    if (!op->compute && op->program.empty()) continue;  // a graph of others
    auto found = table.find(op->name);
    if (found == table.end()) {
      if (!found_alone) lines[op->name] = "no kernel starts with it";
      continue;
    }
    std::string& line = lines[op->name];
    for (const auto& [rule, count] : found->second)
      line += (line.empty() ? "" : ", ") + rule + " " + std::to_string(count);
    if (line.empty()) line = "no rule";
  }
  return lines;
}

constexpr const char* kReason = "  # ";

// The rules of each operator, and behind them the reason for a generic one, where there is one.
struct Pinned {
  std::map<std::string, std::string> rules, reasons;
};

Pinned Read(const std::string& path) {
  std::ifstream file(path);
  Pinned pinned;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    size_t colon = line.find(": ");
    TERN_CHECK(colon != std::string::npos) << path << ": expected OPERATOR: RULES, got " << line;
    std::string op = line.substr(0, colon), rules = line.substr(colon + 2);
    if (size_t reason = rules.find(kReason); reason != std::string::npos) {
      pinned.reasons[op] = rules.substr(reason + std::string(kReason).size());
      rules.resize(reason);
    }
    pinned.rules[op] = rules;
  }
  return pinned;
}

bool IsGeneric(const std::string& rules) { return rules.find("GENERIC") != std::string::npos; }

void Write(const std::string& path, const std::string& target,
           const std::map<std::string, std::string>& lines,
           std::map<std::string, std::string> reasons) {
  std::ofstream file(path);
  file << "# Schedule rules of kernels that start with an operator, and how many, on " << target
       << ".\n# GENERIC: a matmul, convolution, pooling or reduction that no rule for such took. "
          "TERN_UPDATE_GOLDEN=1 writes this file.\n";
  for (const auto& [op, rules] : lines) {
    file << op << ": " << rules;
    if (IsGeneric(rules) && !reasons[op].empty()) file << kReason << reasons[op];
    file << "\n";
  }
  TERN_CHECK(file.good()) << path << " cannot be written";
}

}  // namespace

size_t CompareRules(const std::vector<std::string>& folders, const target::Target& target,
                    const std::string& path, bool found_alone) {
  RuleTable table;
  size_t different = 0;
  for (const std::string& folder : folders)
    for (NodeCase& one : FindNodeCases(folder)) {
      try {
        PrepareNodeCase(folder, target, /*bind=*/false, &one);
      } catch (const Error& error) {
        if (!found_alone) continue;  // what is refused is the other tests' matter
        ++different;
        std::printf("FAIL  %s: %s\n", one.name.c_str(), error.what());
        continue;
      }
      AddRules(one.lowered, target, &table);
    }
  std::map<std::string, std::string> now = TextOf(table, found_alone);
  const char* update = std::getenv("TERN_UPDATE_GOLDEN");
  auto [pinned, reasons] = Read(path);
  if (update && std::string(update) == "1") {
    Write(path, target->str(), now, reasons);
    return different;
  }
  TERN_CHECK(!pinned.empty()) << path << " cannot be read; TERN_UPDATE_GOLDEN=1 writes it";
  std::set<std::string> ops;
  for (const auto& [op, rules] : now) ops.insert(op);
  for (const auto& [op, rules] : pinned) ops.insert(op);
  for (const std::string& op : ops) {
    // At sizes as networks have them the generic rule needs a reason.
    if (found_alone && IsGeneric(now[op]) && reasons[op].empty()) {
      ++different;
      std::printf(
          "FAIL  %s: a kernel runs by the generic rule; expected a reason, as in \"%s: %s%s"
          "matrices are small\"\n",
          op.c_str(), op.c_str(), now[op].c_str(), kReason);
    }
    if (now[op] == pinned[op]) continue;
    ++different;
    std::printf("FAIL  %s: pinned are \"%s\", there are \"%s\"\n", op.c_str(), pinned[op].c_str(),
                now[op].c_str());
  }
  std::printf("%zu operators; %zu differ from %s\n", ops.size(), different, path.c_str());
  return different;
}

}  // namespace tern::test
