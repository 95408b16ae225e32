// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/session.h"

#include "tern/ffi/text.h"
#include "tern/runtime/vm/bind_dims.h"
#include "tern/runtime/vm/machine.h"

namespace tern::runtime::vm {
namespace {

// Kernels may count on it.
constexpr uint64_t kAlignment = 64;

bool IsReadInPlace(const Tensor& tensor, TernDevice device) {
  const TernTensorView& view = tensor->view();
  if (view.device.type != device.type || view.device.id != device.id) return false;
  auto address = reinterpret_cast<uintptr_t>(view.data) + view.byte_offset;
  return tensor->is_row_major() && (device.type != kTernDeviceCpu || address % kAlignment == 0);
}

// The same elements where kernels can take them.
Tensor InPlace(const Tensor& tensor, TernDevice device) {
  if (IsReadInPlace(tensor, device)) return tensor;
  Tensor host =
      tensor->device().type == kTernDeviceCpu ? tensor : tensor.CopyTo({kTernDeviceCpu, 0});
  Tensor compact = Tensor::Empty(tensor->shape(), tensor->dtype());
  CopyElements(host, compact);
  return device.type == kTernDeviceCpu ? compact : compact.CopyTo(device);
}

// Into memory of the caller, which is of the same shape and dtype.
void CopyOut(const Tensor& from, const Tensor& to) {
  constexpr TernDevice kHost{kTernDeviceCpu, 0};
  Tensor host = from->device().type == kTernDeviceCpu ? from : from.CopyTo(kHost);
  if (to->device().type == kTernDeviceCpu) return CopyElements(host, to);
  TERN_CHECK(to->is_compact()) << "an output on a device must be compact";
  CopyAsync(host, to);
  // `host` must live until it is done.
  (void)to.CopyTo(kHost);
}

bool Overlap(const Tensor& a, const Tensor& b) {
  if (a->device().type != b->device().type) return false;
  auto begin = [](const Tensor& one) { return reinterpret_cast<uintptr_t>(one->data()); };
  return begin(a) < begin(b) + b->storage_bytes() && begin(b) < begin(a) + a->storage_bytes() &&
         a->num_elements() > 0 && b->num_elements() > 0;
}

// Set while a run is in progress.
class RunningGuard {
 public:
  explicit RunningGuard(std::atomic<int>* flag) : flag_(*flag) {
    TERN_CHECK(!flag_.exchange(1, std::memory_order_acquire))
        << "the session is running already: one session runs once at a time; make another one for "
           "another thread";
  }
  ~RunningGuard() { flag_.store(0, std::memory_order_release); }
  RunningGuard(const RunningGuard&) = delete;

 private:
  std::atomic<int>& flag_;
};

}  // namespace

Session::Session(std::shared_ptr<const Model> model, SessionOptions options)
    : model_(std::move(model)), machine_(std::make_unique<Machine>(*model_, options)) {}
Session::~Session() = default;

std::vector<Tensor> Session::Run(const std::vector<Tensor>& inputs,
                                 const std::vector<Tensor>& outputs) {
  RunningGuard guard(&is_running_);
  model_->CheckWeights();
  const Program& program = model_->program();
  TERN_CHECK(outputs.empty() || outputs.size() == program.outputs.size())
      << "the model has " << program.outputs.size() << " outputs, " << outputs.size()
      << " were given";
  std::vector<int64_t> dims = BindDims(program, inputs);
  std::vector<Tensor> read;
  for (const Tensor& input : inputs) read.push_back(InPlace(input, model_->device()));
  // Those of the caller that kernels write to themselves.
  std::vector<Tensor> written(program.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) continue;
    TERN_CHECK(!outputs[i]->memory().is_read_only)
        << "output " << program.outputs[i].name << ": the given tensor is read-only";
    for (size_t k = 0; k < read.size(); ++k)
      TERN_CHECK(!Overlap(outputs[i], read[k]))
          << "output " << program.outputs[i].name << " overlaps input " << program.inputs[k].name;
    if (IsReadInPlace(outputs[i], model_->device())) written[i] = outputs[i];
  }
  std::vector<Tensor> results = machine_->Run(dims, read, written);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i] || results[i].get() == outputs[i].get()) continue;
    CheckOutput(program, i, outputs[i], results[i]->shape());
    CopyOut(results[i], outputs[i]);
    results[i] = outputs[i];
  }
  model_->CheckWeights();
  return results;
}

uint64_t Session::arena_bytes() const { return machine_->arena_bytes(); }
void Session::Trim() {
  RunningGuard guard(&is_running_);
  machine_->Trim();
}
void Session::SetProfile(std::vector<CallRecord>* profile) { machine_->SetProfile(profile); }

}  // namespace tern::runtime::vm
