// SPDX-License-Identifier: Apache-2.0
//
// Runs of a model, one at a time: registers, memory, plans. Cheap to make; one for each thread.
#ifndef TERN_RUNTIME_VM_SESSION_H_
#define TERN_RUNTIME_VM_SESSION_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tern/runtime/host/denormals.h"
#include "tern/runtime/host/thread_pool.h"
#include "tern/runtime/vm/model.h"
#include "tern/runtime/vm/specializer.h"

namespace tern::runtime::vm {

struct SessionOptions {
  // Threads of parallel loops, the caller's included, and the CPUs that they run on; the caller's
  // thread is bound to these during a run. With either of them, or with both, the session has
  // threads of its own; with neither it uses those of the process (NumThreads).
  int num_threads = 0;    // 0: as many as can run at once
  std::vector<int> cpus;  // empty: those of the process
  // Of the caller, and instead of these two.
  std::shared_ptr<ThreadPool> thread_pool;
  Denormals denormals = Denormals::kAsCaller;  // in kernels, on all threads
  // Bytes that a run may allocate, all together: a MemoryError beyond. 0: no limit.
  uint64_t memory_limit = 0;
  bool in_place = false;  // inputs and outputs that would have to be copied are errors
  bool graphs = true;     // launches are recorded and done again where the device can
  // Other models for shapes that come; null: none. Shared by the sessions of a model.
  std::shared_ptr<Specializer> specializer;
  bool reuse_memory = true;    // false: no two tensors share memory
  bool poison_memory = false;  // what was not written is filled with 0xa5, again when it is freed
};

struct RunOptions {
  // A run that is not over by then is stopped.
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

// What a call took, for a profile.
struct CallRecord {
  uint32_t function = 0, instruction = 0;
  double start = 0, seconds = 0;     // since the run began
  const Program* program = nullptr;  // of the model, or of one that was specialized

  // The kernel, or the function of the registry, that was called.
  const std::string& callee() const;
};

// What came of graphs, in all runs so far that were not profiled.
struct GraphCounts {
  uint64_t records = 0;   // of segments, anew or because memory of the caller changed
  uint64_t launches = 0;  // of graphs
  uint64_t calls = 0;     // kernels and copies that graphs launched
  uint64_t others = 0;    // that were launched one by one
};

// A word: some machines have no exchange of bytes.
enum class RunState : int { kIdle, kRunning, kCancelled };

class DeviceWork;
class Machine;

class Session {
 public:
  explicit Session(std::shared_ptr<const Model> model, SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;

  const Model& model() const { return *model_; }

  // Inputs and outputs in the order of the program's. An input may be on another device than the
  // model's, of any layout and alignment: it is copied where it has to be, else read where it lies.
  // A null one is the default of that input, where it has one.
  // An output that is given is written to; for others (all where `outputs` is empty, and null ones)
  // a tensor is made, on the model's device. On a device the session has a stream of its own: the
  // run comes behind what this thread gave to its current stream, and what it gives to that later
  // comes behind the run. It waits where an element is read and for outputs on the host, and
  // nowhere else. Throws where dtypes or shapes are wrong, where an
  // output overlaps an input, and where another thread is in this function of the same session.
  // Between instructions it looks whether it is to stop: then it throws a CancelledError or, after
  // its deadline, a TimeoutError; outputs of the caller have any contents then, and the session can
  // run again.
  std::vector<Tensor> Run(const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& outputs = {}, const RunOptions& options = {});

  // The same with the tensors that are bound to names, until others are (null: none). Throws where
  // there is no such name, and where dtype, rank or an extent that the model knows are wrong.
  void BindInput(std::string_view name, Tensor tensor);
  void BindOutput(std::string_view name, Tensor tensor);
  std::vector<Tensor> RunBound(const RunOptions& options = {});

  // The output of a run is the input of the next one, as keys and values of a transformer or the
  // state of a recurrent network are: the session owns their memory, and copies nothing between
  // runs. The first run reads `initial`, or else zeros; an extent that no other input tells is 0
  // then. A run for which that input is given goes on from what is given. The results of a run are
  // written again by the second one after it.
  void BindState(std::string_view input, std::string_view output, Tensor initial = {});
  // The next run is the first one again.
  void ResetStates();

  // The runs to come give these outputs, and null for others. What only others need is not
  // computed. Empty: all outputs.
  void SelectOutputs(const std::vector<std::string>& names);

  // From any thread: stops the run in progress. Returns whether there is one.
  bool Cancel();

  // The bytes that tensors between inputs and outputs take, as of the runs so far.
  uint64_t arena_bytes() const;
  // Gives that memory back; the next run takes what it needs.
  void Trim();
  // The calls of the runs to come are added to it; null: of none.
  void SetProfile(std::vector<CallRecord>* profile);
  GraphCounts graph_counts() const;

 private:
  std::vector<Tensor> RunOnce(std::vector<Tensor> inputs, std::vector<Tensor> outputs,
                              const RunOptions& options);
  // The same elements where kernels can take them.
  Tensor InPlace(size_t input, const Tensor& tensor);
  // Results into memory of the caller.
  void CopyOut(const std::vector<Tensor>& outputs, std::vector<Tensor>* results);
  void Bind(const char* what, const std::vector<Port>& ports, std::string_view name, Tensor tensor,
            std::vector<Tensor>* bound);
  // The machine of the model for these dims. Those become the dims of that model.
  Machine& MachineFor(std::vector<int64_t>* dims, const std::vector<Tensor>& inputs);
  template <class F>
  void ForEachMachine(const F& f) const;
  // Throws where a tensor would have to be copied and must not be.
  void CheckInPlace(const char* what, const Port& port, const Tensor& tensor) const;

  // An input that is the output of the run before.
  struct State {
    size_t input = 0, output = 0;
    Tensor initial;     // null: zeros
    Tensor current;     // null before the first run
    Tensor buffers[2];  // bytes that outputs are written to in turn, larger than they have to be
    int next = 0;
  };
  // The tensor that a state begins with, beside these inputs.
  Tensor InitialState(const State& state, const std::vector<Tensor>& inputs) const;
  // Memory for the output of a state that has this shape; not that of the run before.
  Tensor StateMemory(State* state, std::vector<int64_t> shape) const;

  std::shared_ptr<const Model> model_;
  SessionOptions options_;
  std::unique_ptr<DeviceWork> work_;  // on a device, from the first run on
  std::unique_ptr<Machine> machine_;
  // Of models that the specializer made.
  struct Specialized {
    std::shared_ptr<const Model> model;
    std::unique_ptr<Machine> machine;
  };
  std::vector<Specialized> specialized_;
  std::vector<CallRecord>* profile_ = nullptr;
  std::vector<Tensor> bound_inputs_, bound_outputs_;
  std::vector<bool> is_selected_;  // by output
  std::vector<State> states_;
  std::atomic<RunState> state_{RunState::kIdle};
};

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_SESSION_H_
