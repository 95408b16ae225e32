// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/session.h"

#include <algorithm>

#include "tern/ffi/text.h"
#include "tern/runtime/device.h"
#include "tern/runtime/host/cpus.h"
#include "tern/runtime/vm/bind_dims.h"
#include "tern/runtime/vm/device_work.h"
#include "tern/runtime/vm/int_value.h"
#include "tern/runtime/vm/machine.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

// Kernels may count on it.
constexpr uint64_t kAlignment = 64;

// Why kernels cannot take the tensor as it is; "" where they can.
std::string WhyNotInPlace(const Tensor& tensor, TernDevice device) {
  const TernTensorView& view = tensor->view();
  if (view.device.type != device.type || view.device.id != device.id)
    return "is on " + DeviceName(view.device) + ", the model on " + DeviceName(device);
  if (!tensor->is_row_major())
    return "has strides " + ffi::ShapeText(tensor->layout().strides) + ", and is not contiguous";
  // Addresses of devices may be no numbers; what the driver gives is aligned.
  uintptr_t address = view.byte_offset;
  if (device.type == kTernDeviceCpu) address += reinterpret_cast<uintptr_t>(view.data);
  if (address % kAlignment != 0)
    return "is aligned to " + std::to_string(address & (~address + 1)) + " bytes, not to " +
           std::to_string(kAlignment);
  return "";
}

bool IsInPlace(const Tensor& tensor, TernDevice device) {
  return WhyNotInPlace(tensor, device).empty();
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
  explicit RunningGuard(std::atomic<RunState>* state) : state_(*state) {
    RunState idle = RunState::kIdle;
    TERN_CHECK(state_.compare_exchange_strong(idle, RunState::kRunning, std::memory_order_acquire))
        << "the session is running already: one session runs once at a time; make another one for "
           "another thread";
  }
  ~RunningGuard() { state_.store(RunState::kIdle, std::memory_order_release); }
  RunningGuard(const RunningGuard&) = delete;

 private:
  std::atomic<RunState>& state_;
};

size_t FindPort(const char* what, const std::vector<Port>& ports, std::string_view name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name) return i;
    names.push_back(ports[i].name);
  }
  TERN_THROW(ValueError) << "the model has no " << what << " " << name
                         << ffi::DidYouMean(std::string(name), names) << "; its " << what
                         << "s are: " << ffi::Join(names);
  __builtin_unreachable();
}

// What is known of a port before a run.
void CheckBound(const char* what, const Program& program, const Port& port, const Tensor& tensor) {
  const std::vector<int64_t>& shape = tensor->shape();
  bool fits = tensor->dtype() == port.dtype && shape.size() == port.shape.size();
  for (size_t axis = 0; fits && axis < shape.size(); ++axis)
    fits = !port.shape[axis].is_const() || shape[axis] == port.shape[axis].tokens[0].value;
  TERN_CHECK(fits) << what << " " << port.name << " is " << tensor->dtype().str() << " of shape "
                   << ffi::ShapeText(shape) << ", the model wants " << PrintPortType(program, port);
}

// Threads of the session's own, or those of the caller; null for those of the process.
std::shared_ptr<ThreadPool> PoolOf(const SessionOptions& options) {
  bool is_own = options.num_threads != 0 || !options.cpus.empty();
  TERN_CHECK(!options.thread_pool || !is_own)
      << "a session with a thread pool of the caller has no num_threads and no cpus";
  if (!is_own) return options.thread_pool;
  BoundThread tried(options.cpus);
  return MakeThreadPool(options.num_threads, options.cpus);
}

}  // namespace

Session::Session(std::shared_ptr<const Model> model, SessionOptions options)
    : model_(std::move(model)),
      options_(std::move(options)),
      machine_(std::make_unique<Machine>(*model_, options_)),
      bound_inputs_(model_->program().inputs.size()),
      bound_outputs_(model_->program().outputs.size()),
      is_selected_(model_->program().outputs.size(), true) {
  TERN_CHECK(options_.denormals != Denormals::kFlush || kFlushBits != 0)
      << "denormals cannot be flushed on this machine";
  options_.thread_pool = PoolOf(options_);
}
Session::~Session() = default;

template <class F>
void Session::ForEachMachine(const F& f) const {
  f(*machine_);
  for (const Specialized& one : specialized_) f(*one.machine);
}

Machine& Session::MachineFor(std::vector<int64_t>* dims, const std::vector<Tensor>& inputs) {
  if (!options_.specializer) return *machine_;
  std::shared_ptr<const Model> model = options_.specializer->Find(*dims);
  if (!model) return *machine_;
  auto known = std::find_if(specialized_.begin(), specialized_.end(),
                            [&](const Specialized& one) { return one.model == model; });
  if (known == specialized_.end()) {
    auto machine = std::make_unique<Machine>(*model, options_);
    machine->SelectOutputs(is_selected_);
    machine->SetProfile(profile_);
    known = specialized_.insert(specialized_.end(), {model, std::move(machine)});
  }
  *dims = BindDims(model->program(), inputs);
  return *known->machine;
}

void Session::CheckInPlace(const char* what, const Port& port, const Tensor& tensor) const {
  if (!options_.in_place) return;
  std::string why = WhyNotInPlace(tensor, model_->device());
  TERN_CHECK(why.empty()) << what << " " << port.name << " " << why
                          << ": the session would have to copy it, and is told not to";
}

std::vector<Tensor> Session::Run(const std::vector<Tensor>& inputs,
                                 const std::vector<Tensor>& outputs, const RunOptions& options) {
  RunningGuard guard(&state_);
  return RunOnce(inputs, outputs, options);
}

std::vector<Tensor> Session::RunBound(const RunOptions& options) {
  RunningGuard guard(&state_);
  return RunOnce(bound_inputs_, bound_outputs_, options);
}

std::vector<Tensor> Session::RunOnce(std::vector<Tensor> inputs, std::vector<Tensor> outputs,
                                     const RunOptions& options) {
  model_->CheckWeights();
  const Program& program = model_->program();
  if (!states_.empty() && inputs.size() == program.inputs.size())
    for (State& state : states_)
      if (!inputs[state.input])
        inputs[state.input] = state.current ? state.current : InitialState(state, inputs);
  for (size_t i = 0; i < std::min(inputs.size(), program.inputs.size()); ++i)
    if (!inputs[i]) inputs[i] = model_->input_default(i);
  TERN_CHECK(outputs.empty() || outputs.size() == program.outputs.size())
      << "the model has " << program.outputs.size() << " outputs, " << outputs.size()
      << " were given";
  std::vector<int64_t> dims = BindDims(program, inputs);
  if (!states_.empty()) outputs.resize(program.outputs.size());
  for (State& state : states_) {
    std::vector<int64_t> shape;
    for (const IntExpr& extent : program.outputs[state.output].shape)
      if (!extent.tokens.empty()) shape.push_back(ValueOf(extent, dims.data()));
    // Where extents depend on data, a run makes the tensor itself.
    bool is_known = shape.size() == program.outputs[state.output].shape.size();
    if (!outputs[state.output] && is_selected_[state.output] && is_known)
      outputs[state.output] = StateMemory(&state, std::move(shape));
  }
  Machine& machine = MachineFor(&dims, inputs);
  std::optional<DeviceWork::Scope> on_stream;
  if (model_->device().type != kTernDeviceCpu) {
    if (!work_) work_ = std::make_unique<DeviceWork>(model_->device());
    on_stream.emplace(work_.get());
  }
  std::vector<Tensor> read;
  for (size_t i = 0; i < inputs.size(); ++i) {
    CheckInPlace("input", program.inputs[i], inputs[i]);
    read.push_back(InPlace(i, inputs[i]));
  }
  // Those of the caller that kernels write to themselves.
  std::vector<Tensor> written(program.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i] || !is_selected_[i]) continue;
    TERN_CHECK(!outputs[i]->memory().is_read_only)
        << "output " << program.outputs[i].name << ": the given tensor is read-only";
    for (size_t k = 0; k < read.size(); ++k)
      TERN_CHECK(!Overlap(outputs[i], read[k]))
          << "output " << program.outputs[i].name << " overlaps input " << program.inputs[k].name;
    CheckInPlace("output", program.outputs[i], outputs[i]);
    if (IsInPlace(outputs[i], model_->device())) written[i] = outputs[i];
  }
  UseThreadPool pool(options_.thread_pool.get());
  BoundThread bound(options_.cpus);
  ScopedDenormals denormals(options_.denormals);
  std::vector<Tensor> results =
      machine.Run(dims, read, written, {&state_, options.deadline}, work_.get());
  CopyOut(outputs, &results);
  if (on_stream) on_stream->Leave();
  model_->CheckWeights();
  for (State& state : states_)
    if (results[state.output]) state.current = results[state.output];
  return results;
}

Tensor Session::InPlace(size_t input, const Tensor& tensor) {
  if (IsInPlace(tensor, model_->device())) return tensor;
  Tensor host =
      tensor->device().type == kTernDeviceCpu ? tensor : tensor.CopyTo({kTernDeviceCpu, 0});
  if (work_) return work_->Upload(input, host);
  Tensor compact = Tensor::Empty(tensor->shape(), tensor->dtype());
  CopyElements(host, compact);
  return compact;
}

void Session::CopyOut(const std::vector<Tensor>& outputs, std::vector<Tensor>* results) {
  std::vector<std::pair<Tensor, Tensor>> copies;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor& result = (*results)[i];
    if (!outputs[i] || !result || result.get() == outputs[i].get()) continue;
    CheckOutput(model_->program(), i, outputs[i], result->shape());
    copies.emplace_back(work_ ? work_->Download(i, result) : result, outputs[i]);
    result = outputs[i];
  }
  if (work_ && !copies.empty()) work_->Wait();
  for (const auto& [from, to] : copies) {
    if (to->device().type == kTernDeviceCpu) {
      CopyElements(from, to);
      continue;
    }
    TERN_CHECK(to->is_compact()) << "an output on a device must be compact";
    CopyAsync(from, to);
    GetDeviceKind(to->device().type).Synchronize(to->device().id, CurrentStream(to->device()));
  }
}

GraphCounts Session::graph_counts() const {
  GraphCounts sum;
  ForEachMachine([&](const Machine& machine) {
    const GraphCounts& one = machine.graph_counts();
    sum.records += one.records, sum.launches += one.launches;
    sum.calls += one.calls, sum.others += one.others;
  });
  return sum;
}

Tensor Session::InitialState(const State& state, const std::vector<Tensor>& inputs) const {
  if (state.initial) return state.initial;
  const Program& program = model_->program();
  std::vector<int64_t> dims(program.dims.size(), 0), shape;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<IntExpr>& extents = program.inputs[i].shape;
    if (!inputs[i] || inputs[i]->shape().size() != extents.size()) continue;
    for (size_t axis = 0; axis < extents.size(); ++axis)
      if (extents[axis].is_register())
        dims[static_cast<size_t>(extents[axis].tokens[0].value)] = inputs[i]->shape()[axis];
  }
  const Port& port = program.inputs[state.input];
  for (const IntExpr& extent : port.shape) shape.push_back(ValueOf(extent, dims.data()));
  Tensor zeros = Tensor::Empty(shape, port.dtype);
  std::fill_n(zeros.as<char>(), zeros->num_bytes(), '\0');
  return model_->device().type == kTernDeviceCpu ? zeros : zeros.CopyTo(model_->device());
}

Tensor Session::StateMemory(State* state, std::vector<int64_t> shape) const {
  const Port& port = model_->program().outputs[state->output];
  TensorBytes(port.dtype, shape.data(), static_cast<uint32_t>(shape.size()));  // throws: too large
  int64_t needed = 1;
  for (int64_t extent : shape) needed *= extent;
  Tensor& buffer = state->buffers[state->next];
  // What the run reads is in the other one, unless that is the caller's.
  state->next = 1 - state->next;
  // Twice as much: a cache that grows by a token a run is seldom allocated again.
  if (!buffer || buffer->num_elements() < needed)
    buffer = Tensor::Empty({std::max<int64_t>(buffer ? needed * 2 : needed, 1)}, port.dtype,
                           model_->device());
  return buffer.View(std::move(shape), {});
}

void Session::BindState(std::string_view input, std::string_view output, Tensor initial) {
  RunningGuard guard(&state_);
  const Program& program = model_->program();
  State state{.input = FindPort("input", program.inputs, input),
              .output = FindPort("output", program.outputs, output)};
  const Port &from = program.outputs[state.output], &to = program.inputs[state.input];
  bool fits = from.dtype == to.dtype && from.shape.size() == to.shape.size();
  for (size_t axis = 0; fits && axis < to.shape.size(); ++axis)
    fits = !from.shape[axis].is_const() || !to.shape[axis].is_const() ||
           from.shape[axis] == to.shape[axis];
  TERN_CHECK(fits) << "output " << output << " is " << PrintPortType(program, from)
                   << " and cannot be input " << input << ", which is "
                   << PrintPortType(program, to);
  for (const State& other : states_)
    TERN_CHECK(other.input == state.input || other.output != state.output)
        << "output " << output << " is the state of input " << program.inputs[other.input].name;
  if (initial) CheckBound("input", program, to, initial);
  state.initial = std::move(initial);
  std::erase_if(states_, [&](const State& other) { return other.input == state.input; });
  states_.push_back(std::move(state));
}

void Session::ResetStates() {
  RunningGuard guard(&state_);
  for (State& state : states_) state.current = {};
}

void Session::BindInput(std::string_view name, Tensor tensor) {
  Bind("input", model_->program().inputs, name, std::move(tensor), &bound_inputs_);
}

void Session::BindOutput(std::string_view name, Tensor tensor) {
  Bind("output", model_->program().outputs, name, std::move(tensor), &bound_outputs_);
}

void Session::Bind(const char* what, const std::vector<Port>& ports, std::string_view name,
                   Tensor tensor, std::vector<Tensor>* bound) {
  RunningGuard guard(&state_);
  size_t index = FindPort(what, ports, name);
  if (tensor) {
    CheckBound(what, model_->program(), ports[index], tensor);
    CheckInPlace(what, ports[index], tensor);
  }
  (*bound)[index] = std::move(tensor);
}

void Session::SelectOutputs(const std::vector<std::string>& names) {
  RunningGuard guard(&state_);
  const std::vector<Port>& outputs = model_->program().outputs;
  std::vector<bool> selected(outputs.size(), names.empty());
  for (const std::string& name : names) selected[FindPort("output", outputs, name)] = true;
  ForEachMachine([&](Machine& machine) { machine.SelectOutputs(selected); });
  is_selected_ = std::move(selected);
}

bool Session::Cancel() {
  RunState running = RunState::kRunning;
  bool is_first = state_.compare_exchange_strong(running, RunState::kCancelled);
  return is_first || running == RunState::kCancelled;
}

uint64_t Session::arena_bytes() const {
  uint64_t sum = 0;
  ForEachMachine([&](const Machine& machine) { sum += machine.arena_bytes(); });
  return sum;
}
void Session::Trim() {
  RunningGuard guard(&state_);
  ForEachMachine([](Machine& machine) { machine.Trim(); });
}
void Session::SetProfile(std::vector<CallRecord>* profile) {
  profile_ = profile;
  ForEachMachine([&](Machine& machine) { machine.SetProfile(profile); });
}

const std::string& CallRecord::callee() const {
  const Instruction& call = program->functions[function].code[instruction];
  return call.op == Opcode::kCall ? program->kernels[call.index] : call.text;
}

}  // namespace tern::runtime::vm
