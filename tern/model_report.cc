// SPDX-License-Identifier: Apache-2.0
#include "tern/model_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "tern/ffi/text.h"
#include "tern/ir/visitor.h"
#include "tern/runtime/vm/int_value.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

namespace vm = runtime::vm;

bool WantsOwnRule(schedule::BlockKind kind) {
  using schedule::BlockKind;
  return kind == BlockKind::kMatmul || kind == BlockKind::kConvolution ||
         kind == BlockKind::kPooling || kind == BlockKind::kReduction ||
         schedule::IsOfSeveralBlocks(kind);
}

const schedule::Rule* FindRule(const std::string& name) {
  for (const schedule::Rule* rule : schedule::AllRules())
    if (rule->name == name) return rule;
  return nullptr;
}

// In the order of names.
std::vector<std::string> DimNames(const ir::Expr& expr) {
  std::set<std::string> names;
  ir::ForEachExpr(expr, [&](const ir::Expr& part) {
    if (const auto* var = part.As<ir::VarNode>()) names.insert(var->name);
  });
  return {names.begin(), names.end()};
}

// Why a kernel of a model for a device runs on the host, as the operator decided when it was
// lowered; or "".
std::string WhyOnHost(const tir::PrimFunc& function, const target::Target& target) {
  auto own = function->attrs.find(tir::attr::kTarget);
  if (!target->is_device() || own == function->attrs.end() ||
      own->second.As<target::Target>()->is_device())
    return "";
  return "it is a serial program, with memory of its own";
}

KernelReport ReportKernel(const tir::PrimFunc& function, const target::Target& target) {
  KernelReport report;
  report.function = function;
  report.on_host = WhyOnHost(function, target);
  target::Target own = report.on_host.empty() ? target : target->host;
  schedule::ApplyDefaultSchedule(function.WithAttr(tir::attr::kTarget, own), &report.schedule);
  std::set<std::string> wants, convolutions;
  for (const schedule::BlockInfo& block : schedule::DescribeBlocks(function)) {
    if (WantsOwnRule(block.kind)) wants.insert(block.name);
    if (block.kind == schedule::BlockKind::kConvolution) convolutions.insert(block.name);
  }
  std::set<std::string> seen;
  std::map<std::string, bool> by_block;  // whether it is generic
  for (const schedule::RuleResult& result : report.schedule.results) {
    const schedule::Rule* rule = FindRule(result.rule);
    // Rules for any block name no kinds. What is inlined, or rewritten, runs as another block.
    bool generic = result.rule.empty() || (rule && rule->kinds.empty());
    // Where a rule for several blocks declines, each of them is asked for by itself, behind that.
    if (wants.contains(result.block)) by_block[result.block] = generic;
    if (convolutions.contains(result.block) && rule)
      report.has_plain_convolution |=
          std::find(rule->kinds.begin(), rule->kinds.end(), schedule::BlockKind::kReduction) !=
          rule->kinds.end();
    if (!rule || !seen.insert(result.rule).second) continue;
    report.rules += (report.rules.empty() ? "" : ", ") + result.rule;
  }
  for (const auto& [block, generic] : by_block) report.is_generic |= generic;
  if (!report.schedule.left_alone.empty()) report.is_generic = !wants.empty();
  return report;
}

}  // namespace

std::optional<MemoryReport> ReportMemory(const vm::Program& program,
                                         const std::vector<arith::ConstBounds>& ranges) {
  std::vector<int64_t> dims;
  for (const arith::ConstBounds& range : ranges) dims.push_back(range.hi);
  if (dims.size() != program.dims.size() ||
      std::find(dims.begin(), dims.end(), arith::ConstBounds::kPosInf) != dims.end())
    return std::nullopt;
  const vm::Function& main = program.functions.front();
  std::vector<vm::PlannedTensor> planned = vm::PlannedTensors(main, true);
  vm::Plan plan = vm::PlanFunction(main, planned, dims.data());
  // Calls before each instruction.
  std::vector<size_t> calls(main.code.size() + 1, 0);
  for (size_t i = 0; i < main.code.size(); ++i)
    calls[i + 1] = calls[i] + (main.code[i].op == vm::Opcode::kCall);
  MemoryReport report;
  report.arena_bytes = plan.bytes;
  std::map<uint32_t, uint64_t> starts, ends;  // bytes by instruction
  for (size_t i = 0; i < planned.size(); ++i) {
    const vm::Instruction& alloc = main.code[planned[i].allocations[0]];
    std::vector<int64_t> shape;
    for (const vm::IntExpr& extent : alloc.exprs) shape.push_back(vm::ValueOf(extent, dims.data()));
    uint64_t bytes = vm::TensorBytes(main.tensors[planned[i].tensor].dtype, shape.data(),
                                     static_cast<uint32_t>(shape.size()));
    const vm::Lifetime& lifetime = planned[i].lifetime;
    report.items.push_back({plan.offsets[i], bytes, calls[lifetime.first],
                            calls[std::min<size_t>(lifetime.last, main.code.size())]});
    starts[lifetime.first] += bytes;
    ends[lifetime.last] += bytes;
  }
  uint64_t live = 0;
  for (uint32_t i = 0; i <= main.code.size(); ++i) {
    if (auto it = starts.find(i); it != starts.end()) live += it->second;
    report.live_bytes = std::max(report.live_bytes, live);
    if (auto it = ends.find(i); it != ends.end()) live -= it->second;
  }
  return report;
}

ModelReport ReportModel(const graph::LoweredModel& model, const target::Target& target) {
  ModelReport report;
  report.calls = model.calls;
  report.num_nodes = static_cast<size_t>(model.num_nodes);
  for (const ir::Constant& constant : model.weights) report.weight_bytes += constant->data().size();
  std::map<std::string, size_t> numbers;
  std::vector<ir::Expr> flops, bytes;
  for (const graph::Kernel& call : model.calls) {
    auto [it, is_new] = numbers.try_emplace(call.name, report.kernels.size());
    if (is_new)
      report.kernels.push_back(
          ReportKernel(tir::AsPrimFunc(model.kernels->functions.at(call.name)), target));
    report.kernel_of.push_back(it->second);
    flops.push_back(call.work.flops);
    bytes.push_back(call.work.bytes);
  }
  report.work = {tir::AddAmounts(flops), tir::AddAmounts(bytes)};
  report.memory = ReportMemory(model.program, model.dim_ranges);
  return report;
}

std::string HostNote(const graph::LoweredModel& model, const target::Target& target) {
  std::set<std::string> ops;
  for (const graph::Kernel& call : model.calls) {
    auto function = tir::AsPrimFunc(model.kernels->functions.at(call.name));
    if (!WhyOnHost(function, target).empty()) ops.insert(call.ops.begin(), call.ops.end());
  }
  if (ops.empty()) return "";
  return ffi::Join({ops.begin(), ops.end()}) + (ops.size() == 1 ? " runs" : " run") +
         " on the host, with copies of tensors: each is a serial program, with memory of its own";
}

std::string DynamicNote(const graph::LoweredModel& model, const target::Target& target) {
  if (model.program.dims.empty()) return "";
  std::set<std::string> seen, dims, kernels;
  for (const graph::Kernel& call : model.calls) {
    if (ir::AsConstInt(call.work.flops) || !seen.insert(call.name).second) continue;
    tir::PrimFunc function = tir::AsPrimFunc(model.kernels->functions.at(call.name));
    KernelReport kernel = ReportKernel(function, target);
    if (!kernel.is_generic && !kernel.has_plain_convolution) continue;
    kernels.insert(call.ops[0]);
    for (const std::string& name : DimNames(call.work.flops))
      if (std::find(model.program.dims.begin(), model.program.dims.end(), name) !=
          model.program.dims.end())
        dims.insert(name);
  }
  if (dims.empty()) return "";
  std::string one, any;  // options for one extent, and for any
  for (const std::string& dim : dims) {
    one += "--dim " + dim + "=64 ";
    any += (any.empty() ? "" : " ") + ("--dim " + dim) +
           (dims.size() == 1 ? "=64,128,1..512" : "=64,1..512");
  }
  return "kernels of " + ffi::Join({kernels.begin(), kernels.end()}) +
         " are slower than for known extents, as " + ffi::Join({dims.begin(), dims.end()}) +
         (dims.size() == 1 ? " is" : " are") + " dynamic; " + one +
         (dims.size() == 1 ? "compiles for one extent, " : "compiles for one shape, ") + any +
         " for any, with versions";
}

std::string AmountText(const ir::Expr& amount, const char* unit) {
  std::optional<int64_t> constant = ir::AsConstInt(amount);
  if (!constant) {
    constexpr size_t kLong = 120;
    std::string text = tir::Print(amount) + " " + unit;
    return text.size() <= kLong ? text : unit + (" by " + ffi::Join(DimNames(amount)));
  }
  double value = static_cast<double>(*constant);
  const char* prefix = "";
  for (const char* next : {"k", "M", "G", "T", "P"}) {
    if (value < 1000) break;
    value /= 1000;
    prefix = next;
  }
  char text[48];
  std::snprintf(text, sizeof(text), "%.*f %s%s", *prefix && value < 100 ? 1 : 0, value, prefix,
                unit);
  return text;
}

}  // namespace tern
