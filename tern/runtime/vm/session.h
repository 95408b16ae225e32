// SPDX-License-Identifier: Apache-2.0
//
// Runs of a model, one at a time: registers, memory, plans. Cheap to make; one for each thread.
#ifndef TERN_RUNTIME_VM_SESSION_H_
#define TERN_RUNTIME_VM_SESSION_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tern/runtime/vm/model.h"

namespace tern::runtime::vm {

struct SessionOptions {
  bool reuse_memory = true;    // false: no two tensors share memory
  bool poison_memory = false;  // what was not written is filled with 0xa5, again when it is freed
};

// What a call took, for a profile.
struct CallRecord {
  uint32_t function = 0, instruction = 0;
  double start = 0, seconds = 0;  // since the run began
};

class Machine;

class Session {
 public:
  explicit Session(std::shared_ptr<const Model> model, SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;

  const Model& model() const { return *model_; }

  // Inputs and outputs in the order of the program's. An input may be on another device than the
  // model's, of any layout and alignment: it is copied where it has to be, else read where it lies.
  // An output that is given is written to; for others (all where `outputs` is empty, and null ones)
  // a tensor is made, on the model's device. Throws where dtypes or shapes are wrong, where an
  // output overlaps an input, and where another thread is in this function of the same session.
  std::vector<Tensor> Run(const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& outputs = {});

  // The bytes that tensors between inputs and outputs take, as of the runs so far.
  uint64_t arena_bytes() const;
  // Gives that memory back; the next run takes what it needs.
  void Trim();
  // The calls of the runs to come are added to it; null: of none.
  void SetProfile(std::vector<CallRecord>* profile);

 private:
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Machine> machine_;
  std::atomic<int> is_running_ = 0;  // a word: some machines have no exchange of bytes
};

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_SESSION_H_
