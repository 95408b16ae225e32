// SPDX-License-Identifier: Apache-2.0
//
// What a model becomes on a target, before any code is generated: its kernels, the rules that
// schedule them, and how much they compute and move.
#ifndef TERN_MODEL_REPORT_H_
#define TERN_MODEL_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "tern/graph/lower.h"
#include "tern/runtime/vm/plan.h"
#include "tern/schedule/rules/default_schedules.h"

namespace tern {

struct KernelReport {
  tir::PrimFunc function;  // as it is before it is scheduled
  schedule::Explanation schedule;
  // "winograd, vectorize_elementwise": those that scheduled its blocks, each once. Inlining is
  // none.
  std::string rules;
  // Of a model on a device: why it runs on the host; or "".
  std::string on_host;
  // It has a matmul, convolution, pooling or reduction that no rule for such blocks took.
  bool is_generic = false;
  // It has a convolution that a rule for any reduction took.
  bool has_plain_convolution = false;
};

// Where activations lie, as the VM plans it. Known where all dims are.
struct MemoryReport {
  struct Item {
    uint64_t offset = 0, bytes = 0;
    size_t first_call = 0, last_call = 0;  // between which it is kept
  };
  std::vector<Item> items;
  uint64_t arena_bytes = 0;
  uint64_t live_bytes = 0;  // the most that is needed at one time: no plan takes less
};

struct ModelReport {
  std::vector<KernelReport> kernels;  // in the order of their first calls
  std::vector<graph::Kernel> calls;   // in the order of the program
  std::vector<size_t> kernel_of;      // by call
  size_t num_nodes = 0;               // of the graph that was lowered
  uint64_t weight_bytes = 0;          // that the kernels read
  tir::Work work;                     // of one run
  std::optional<MemoryReport> memory;
};

ModelReport ReportModel(const graph::LoweredModel& model, const target::Target& target);

// The plan of a program's main function; none where it has dynamic dims. `ranges` are those of
// dims: the plan is that of the largest extents then, and none where one has no limit.
std::optional<MemoryReport> ReportMemory(const runtime::vm::Program& program,
                                         const std::vector<arith::ConstBounds>& ranges = {});

// Of a model on a device: what runs on the host, and why; "" where nothing does.
std::string HostNote(const graph::LoweredModel& model, const target::Target& target);

// What dynamic extents cost, and what to type; "" where every kernel has a rule of its kind.
std::string DynamicNote(const graph::LoweredModel& model, const target::Target& target);

// "8.2 G", "1.3 M", or the expression where it is not constant, or what that depends on
// where it is long. `unit` is appended: "FLOP", "B".
std::string AmountText(const ir::Expr& amount, const char* unit);

}  // namespace tern

#endif  // TERN_MODEL_REPORT_H_
