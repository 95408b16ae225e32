// SPDX-License-Identifier: Apache-2.0
//
// Executes the instructions of a model's program.
#ifndef TERN_RUNTIME_VM_MACHINE_H_
#define TERN_RUNTIME_VM_MACHINE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <optional>

#include "tern/runtime/graph.h"
#include "tern/runtime/vm/device_work.h"
#include "tern/runtime/vm/model.h"
#include "tern/runtime/vm/plan.h"
#include "tern/runtime/vm/segments.h"
#include "tern/runtime/vm/select_outputs.h"
#include "tern/runtime/vm/session.h"

namespace tern::runtime::vm {

class Machine {
 public:
  // The model outlives it.
  Machine(const Model& model, SessionOptions options);

  // When a run is to stop.
  struct Limits {
    const std::atomic<RunState>* state = nullptr;  // kCancelled
    std::optional<std::chrono::steady_clock::time_point> deadline;
  };
  // Inputs are on the model's device, compact and aligned; `outputs` are too, or null. `work` is
  // the session's on that device, whose stream is the current one; null on the host.
  std::vector<Tensor> Run(const std::vector<int64_t>& dims, const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& outputs, const Limits& limits,
                          DeviceWork* work);
  // Runs give null for the other outputs.
  void SelectOutputs(const std::vector<bool>& wanted);
  uint64_t arena_bytes() const;
  void Trim();
  void SetProfile(std::vector<CallRecord>* profile) { profile_ = profile; }
  const GraphCounts& graph_counts() const { return graph_counts_; }

 private:
  // What becomes of launches: kernels and copies.
  enum class Mode {
    kDo,
    kDescribe,  // they are not made, but added to the key
    kRecord,    // after kDescribe, of the same instructions: the stream is captured
    kRepeat,    // the same, and they are made
  };
  // All that the launches of a segment depend on.
  struct LaunchKey {
    std::vector<int64_t> launches;     // which, with shapes and numbers
    std::vector<uintptr_t> addresses;  // of memory, with offsets
  };
  struct KeptGraph {
    LaunchKey key;
    std::unique_ptr<Graph> graph;  // null: launched once
  };
  struct SegmentState {
    Segment segment;
    std::deque<KeptGraph> graphs;  // the last one used first
  };
  // What a tensor register holds. The shape and the strides stand in the frame.
  struct TensorValue {
    TernTensorView view{};
    uint64_t bytes = 0;  // of memory, from the first element on
    Tensor owner;        // of the memory, where that is the register's own
  };
  struct KeptPlan {
    std::vector<int64_t> key;       // the int parameters
    std::vector<uint64_t> offsets;  // by tensor register
    uint64_t bytes = 0;
  };
  // The registers of a function. None is active twice: functions do not invoke themselves.
  struct Frame {
    Frame() = default;
    Frame(const Frame&) = delete;  // registers have pointers into it
    std::vector<int64_t> ints;
    std::vector<TensorValue> tensors;
    std::vector<int64_t*> extents;  // by tensor: its shape, then its strides
    std::vector<int64_t> extent_values;
    std::vector<std::vector<Tensor>> lists;
    std::vector<TernAny> args;
    std::vector<bool> is_planned;  // by tensor
    std::deque<KeptPlan> plans;    // the last one used first
    Tensor arena;
    std::deque<SegmentState> segments;  // where the device has graphs
    std::vector<uint32_t> segment_at;   // by instruction: the number of the one that begins, + 1
  };

  class Recorded;

  // Throws where the run is to stop. Before what may take long, and in every loop.
  void CheckLimits() const {
    if (limits_.state->load(std::memory_order_relaxed) == RunState::kCancelled || limits_.deadline)
      CheckLimitsSlowly();
  }
  void CheckLimitsSlowly() const;
  // Runs until `ret`, which is returned; `at` is always the instruction.
  const Instruction& Loop(uint32_t function, uint32_t* at) {
    *at = 0;
    return *Loop(function, at, kNoEnd);
  }
  // From `at` on; null where it came to `end`.
  const Instruction* Loop(uint32_t function, uint32_t* at, uint32_t end);
  static constexpr uint32_t kNoEnd = ~uint32_t{0};
  // "running instruction 3 of main: ...", for errors.
  std::string Running(uint32_t function, uint32_t at) const;
  // The checks that main begins with: before memory is planned for these extents.
  void CheckDims(const Frame& main) const;
  void UsePlan(uint32_t function);
  KeptPlan MakeKeptPlan(uint32_t function) const;

  // A segment, by a graph where there is one by now.
  void RunSegment(uint32_t function, SegmentState* state, uint32_t* at);
  void RecordSegment(uint32_t function, const Segment& segment, KeptGraph* kept, uint32_t* at);
  void LoopSegment(uint32_t function, const Segment& segment, Mode mode, uint32_t* at);
  void Describe(const Frame& frame, uint32_t at, const Instruction& instruction);
  void Launch(uint32_t function, uint32_t at, const Instruction& instruction);
  void DropGraphs();

  void Alloc(uint32_t function, const Instruction& instruction);
  void AllocOutput(const Instruction& instruction);
  static void View(Frame* frame, const Instruction& instruction);
  // The condition does not hold.
  [[noreturn]] static void Check(const Frame& frame, const Instruction& instruction);
  static void FillArguments(const Frame& frame, const Instruction& instruction, TernAny* arg);
  static ffi::Any Call(Frame* frame, const Instruction& instruction, ffi::FunctionObj* callee);
  // A function of the host, of a model on a device.
  void CallOnHost(Frame* frame, const Instruction& instruction);
  void CallPacked(Frame* frame, const Instruction& instruction);
  void Invoke(Frame* frame, const Instruction& instruction);
  int64_t Read(const Frame& frame, const Instruction& instruction);
  static void Copy(const Frame& frame, const Instruction& instruction);
  void List(Frame* frame, const Instruction& instruction);
  void Free(uint32_t function, const Instruction& instruction);

  // Sets the register to a tensor that it owns, or that lives longer.
  static void SetTensor(Frame* frame, uint32_t index, const Tensor& tensor, bool owns);
  void SetTyped(Frame* frame, uint32_t index, const Tensor& tensor) const;
  Tensor CopyOf(const TensorValue& value);
  // On the model's device; counted.
  Tensor NewTensor(const std::vector<int64_t>& shape, DataType dtype);
  // Throws where the run has allocated too much.
  void CountBytes(uint64_t bytes);
  // Of the model, for the caller.
  Tensor NewOutput(size_t output, const std::vector<int64_t>& shape);
  static void Poison(const TensorValue& value);
  static void ClearFrame(Frame* frame);
  void ClearFrames();
  double SecondsSinceStart() const;
  bool uses_graphs() const { return work_ && options_.graphs && !profile_; }

  const Model& model_;
  const Program& program_;
  SessionOptions options_;
  std::vector<Frame> frames_;  // by function
  const std::vector<Tensor>* given_outputs_ = nullptr;
  std::vector<Tensor> made_outputs_;
  // Memory of outputs, for when the caller has let go of it: often there are two, as the results of
  // a run are given up when those of the next are there. Taken from the system anew it would have
  // to be cleared page by page; and malloc, which keeps it, often cannot use it again, as it is
  // aligned.
  std::vector<std::array<TensorMemory, 2>> kept_outputs_;
  std::optional<Selection> selection_;  // where not all outputs are wanted
  Limits limits_;
  uint64_t run_bytes_ = 0;  // that this run has allocated
  std::vector<CallRecord>* profile_ = nullptr;
  DeviceWork* work_ = nullptr;
  Mode mode_ = Mode::kDo;
  LaunchKey key_;
  GraphCounts graph_counts_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_MACHINE_H_
