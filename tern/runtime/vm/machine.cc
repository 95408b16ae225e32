// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/machine.h"

#include <algorithm>
#include <cstring>

#include "tern/ffi/containers.h"
#include "tern/ffi/registry.h"
#include "tern/ffi/text.h"
#include "tern/runtime/device.h"
#include "tern/runtime/plugin/plugin.h"
#include "tern/runtime/stream.h"
#include "tern/runtime/vm/bind_dims.h"
#include "tern/runtime/vm/int_value.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

constexpr size_t kMostPlans = 16, kMostGraphs = 8;
constexpr int kPoison = 0xa5;

bool IsHost(TernDevice device) { return device.type == kTernDeviceCpu; }

int64_t CountOf(const TernTensorView& view) {
  int64_t count = 1;
  for (int32_t i = 0; i < view.ndim; ++i) count *= view.shape[i];
  return count;
}

std::vector<int64_t> ShapeOf(const TernTensorView& view) {
  return {view.shape, view.shape + view.ndim};
}

const char* FirstByte(const TernTensorView& view) {
  return static_cast<const char*>(view.data) + view.byte_offset;
}

int64_t LoadInteger(DataType dtype, const char* from) {
  auto load = [&]<class T>(T value) {
    std::memcpy(&value, from, sizeof value);
    return static_cast<int64_t>(value);
  };
  bool is_signed = dtype.is_int();
  switch (dtype.bytes()) {
    case 1:
      return is_signed ? load(int8_t{}) : load(uint8_t{});
    case 2:
      return is_signed ? load(int16_t{}) : load(uint16_t{});
    case 4:
      return is_signed ? load(int32_t{}) : load(uint32_t{});
    default:
      return load(int64_t{});
  }
}

ffi::Function FindPacked(const std::string& name) {
  ffi::Function found = ffi::FindGlobal(name);
  if (!found && TryLoadPlugin(std::string_view(name).substr(0, name.find('.'))))
    found = ffi::FindGlobal(name);
  return found ? found : ffi::GetGlobal(name);  // the error
}

}  // namespace

Machine::Machine(const Model& model, SessionOptions options)
    : model_(model),
      program_(model.program()),
      options_(std::move(options)),
      frames_(program_.functions.size()) {
  for (size_t f = 0; f < program_.functions.size(); ++f) {
    const Function& function = program_.functions[f];
    Frame& frame = frames_[f];
    frame.ints.resize(function.num_ints);
    frame.tensors.resize(function.tensors.size());
    frame.lists.resize(function.num_lists);
    size_t extents = 0, args = 0;
    for (const TensorType& type : function.tensors) extents += 2 * size_t{type.rank};
    frame.extent_values.resize(extents);
    int64_t* next = frame.extent_values.data();
    for (size_t i = 0; i < function.tensors.size(); ++i) {
      const TensorType& type = function.tensors[i];
      frame.extents.push_back(next);
      TernTensorView& view = frame.tensors[i].view;
      view.device = model.device();
      view.ndim = static_cast<int32_t>(type.rank);
      view.dtype = type.dtype.raw();
      view.shape = next;
      next += 2 * size_t{type.rank};
    }
    for (const Instruction& instruction : function.code)
      args = std::max(args, instruction.args.size());
    frame.args.resize(args);
    frame.is_planned.resize(function.tensors.size());
    for (const PlannedTensor& planned : model.planned(f)) frame.is_planned[planned.tensor] = true;
    if (IsHost(model.device()) || !GetDeviceKind(model.device().type).HasGraphs()) continue;
    frame.segment_at.resize(function.code.size());
    for (const Segment& segment : FindSegments(function, frame.is_planned, model.on_host())) {
      frame.segments.push_back({segment, {}});
      frame.segment_at[segment.begin] = static_cast<uint32_t>(frame.segments.size());
    }
  }
  kept_outputs_.resize(program_.outputs.size());
}

std::vector<Tensor> Machine::Run(const std::vector<int64_t>& dims,
                                 const std::vector<Tensor>& inputs,
                                 const std::vector<Tensor>& outputs, const Limits& limits,
                                 DeviceWork* work) {
  limits_ = limits;
  work_ = work;
  mode_ = Mode::kDo;
  run_bytes_ = 0;
  start_ = std::chrono::steady_clock::now();
  Frame& main = frames_[0];
  std::copy(dims.begin(), dims.end(), main.ints.begin());
  for (uint32_t i = 0; i < inputs.size(); ++i) SetTensor(&main, i, inputs[i], /*owns=*/false);
  given_outputs_ = &outputs;
  made_outputs_.assign(program_.outputs.size(), Tensor());
  std::vector<Tensor> results;
  try {
    uint32_t at = 0;
    CheckDims(main);
    UsePlan(0);
    const Instruction& ret = Loop(0, &at);
    for (size_t i = 0; i < ret.args.size(); ++i) {
      if (selection_ && !selection_->wanted[i]) {
        results.emplace_back();
        continue;
      }
      const TensorValue& value = main.tensors[ret.args[i].index];
      bool is_made = made_outputs_[i] && value.owner.get() == made_outputs_[i].get();
      results.push_back(is_made ? made_outputs_[i] : CopyOf(value));
    }
  } catch (...) {
    // What was started may still use memory of the caller. The first error counts.
    try {
      if (work_) work_->Wait();
    } catch (const Error&) {
    }
    ClearFrames();
    throw;
  }
  ClearFrames();
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) continue;
    const Port& port = program_.outputs[i];
    for (size_t axis = 0; axis < port.shape.size(); ++axis) {
      if (port.shape[axis].tokens.empty()) continue;
      int64_t expected = ValueOf(port.shape[axis], dims.data());
      TERN_CHECK(results[i]->shape()[axis] == expected)
          << "output " << port.name << ": dimension " << axis << " is " << results[i]->shape()[axis]
          << ", the model says " << expected;
    }
  }
  return results;
}

void Machine::CheckDims(const Frame& main) const {
  const std::vector<Instruction>& code = program_.functions[0].code;
  for (uint32_t at = 0; at < code.size(); ++at) {
    const Instruction& instruction = code[at];
    if (instruction.op != Opcode::kCheck) return;
    for (const IntExpr& expr : instruction.exprs)
      for (const IntToken& token : expr.tokens)
        if (token.op == IntOp::kRegister && token.value >= program_.functions[0].params.ints)
          return;
    if (ValueOf(instruction.exprs[0], main.ints.data()) == 0)
      WithContext(Running(0, at), [&] { Check(main, instruction); });
  }
}

void Machine::SelectOutputs(const std::vector<bool>& wanted) {
  selection_.reset();
  if (std::find(wanted.begin(), wanted.end(), false) != wanted.end())
    selection_ = vm::SelectOutputs(program_, model_.functions(), wanted);
}

void Machine::CheckLimitsSlowly() const {
  if (limits_.state->load(std::memory_order_relaxed) == RunState::kCancelled)
    TERN_THROW(CancelledError) << "the run was cancelled";
  auto now = std::chrono::steady_clock::now();
  if (limits_.deadline && now >= *limits_.deadline)
    TERN_THROW(TimeoutError) << "the run was not over at its deadline, after "
                             << std::chrono::duration<double>(now - start_).count() << " s";
}

uint64_t Machine::arena_bytes() const {
  uint64_t bytes = 0;
  for (const Frame& frame : frames_)
    if (frame.arena) bytes += frame.arena->num_bytes();
  return bytes;
}

void Machine::Trim() {
  DropGraphs();
  kept_outputs_.assign(kept_outputs_.size(), {});
  for (Frame& frame : frames_) {
    frame.arena = {};
    frame.plans.clear();
  }
}

void Machine::ClearFrame(Frame* frame) {
  for (TensorValue& value : frame->tensors) value.owner = {};
  for (std::vector<Tensor>& list : frame->lists) list.clear();
}

void Machine::ClearFrames() {
  for (Frame& frame : frames_) ClearFrame(&frame);
  given_outputs_ = nullptr;
  made_outputs_.clear();
}

// ---- Memory

Machine::KeptPlan Machine::MakeKeptPlan(uint32_t function) const {
  const Function& code = program_.functions[function];
  const Frame& frame = frames_[function];
  const std::vector<PlannedTensor>& planned = model_.planned(function);
  Plan plan = PlanFunction(code, planned, frame.ints.data(), options_.reuse_memory);
  KeptPlan kept;
  kept.key.assign(frame.ints.begin(), frame.ints.begin() + code.params.ints);
  kept.offsets.resize(code.tensors.size());
  for (size_t i = 0; i < planned.size(); ++i) kept.offsets[planned[i].tensor] = plan.offsets[i];
  kept.bytes = plan.bytes;
  return kept;
}

void Machine::UsePlan(uint32_t function) {
  Frame& frame = frames_[function];
  size_t params = program_.functions[function].params.ints;
  auto found = std::find_if(frame.plans.begin(), frame.plans.end(), [&](const KeptPlan& plan) {
    return std::equal(plan.key.begin(), plan.key.end(), frame.ints.begin(),
                      frame.ints.begin() + static_cast<std::ptrdiff_t>(params));
  });
  if (found == frame.plans.end()) {
    frame.plans.push_front(MakeKeptPlan(function));
    if (frame.plans.size() > kMostPlans) frame.plans.pop_back();
  } else if (found != frame.plans.begin()) {
    std::rotate(frame.plans.begin(), found, found + 1);
  }
  uint64_t bytes = frame.plans.front().bytes;
  if (!frame.arena || frame.arena->num_bytes() < bytes) {
    frame.arena = {};  // before the next one is there
    frame.arena = NewTensor({static_cast<int64_t>(bytes)}, DataType::UInt(8));
  }
}

void Machine::CountBytes(uint64_t bytes) {
  if (options_.memory_limit == 0) return;
  if (__builtin_add_overflow(run_bytes_, bytes, &run_bytes_) || run_bytes_ > options_.memory_limit)
    TERN_THROW(MemoryError) << "another " << bytes << " bytes are more than the "
                            << options_.memory_limit << " that the run may allocate";
}

Tensor Machine::NewTensor(const std::vector<int64_t>& shape, DataType dtype) {
  CountBytes(TensorBytes(dtype, shape.data(), static_cast<uint32_t>(shape.size())));
  return Tensor::Empty(shape, dtype, model_.device());
}

void Machine::Alloc(uint32_t function, const Instruction& instruction) {
  if (instruction.index > 0) return AllocOutput(instruction);
  Frame& frame = frames_[function];
  uint32_t index = instruction.results[0].index;
  TensorValue& value = frame.tensors[index];
  int64_t* shape = frame.extents[index];
  for (size_t i = 0; i < instruction.exprs.size(); ++i)
    shape[i] = ValueOf(instruction.exprs[i], frame.ints.data());
  auto rank = static_cast<uint32_t>(value.view.ndim);
  if (!frame.is_planned[index]) {
    Tensor made = NewTensor({shape, shape + rank}, DataType(value.view.dtype));
    SetTensor(&frame, index, made, /*owns=*/true);
  } else {
    uint64_t offset = frame.plans.front().offsets[index];
    value.bytes = TensorBytes(DataType(value.view.dtype), shape, rank);
    value.view.strides = nullptr;
    // Addresses of other devices may be no numbers.
    bool is_host = IsHost(model_.device());
    value.view.data = frame.arena.as<char>() + (is_host ? offset : 0);
    value.view.byte_offset = is_host ? 0 : offset;
  }
  if (options_.poison_memory) Poison(value);
}

void Machine::AllocOutput(const Instruction& instruction) {
  Frame& frame = frames_[0];
  size_t output = instruction.index - 1;
  std::vector<int64_t> shape;
  for (const IntExpr& extent : instruction.exprs)
    shape.push_back(ValueOf(extent, frame.ints.data()));
  Tensor tensor = (*given_outputs_)[output];
  bool is_again = mode_ == Mode::kRecord || mode_ == Mode::kRepeat;
  if (tensor)
    CheckOutput(program_, output, tensor, shape);
  else
    tensor = is_again ? made_outputs_[output] : NewOutput(output, shape);
  made_outputs_[output] = tensor;
  uint32_t index = instruction.results[0].index;
  SetTensor(&frame, index, tensor, /*owns=*/true);
  if (options_.poison_memory) Poison(frame.tensors[index]);
}

// Drivers take long to allocate, and a graph has to be recorded again where an address is new: the
// memory of the run before, where nobody has it any more.
Tensor Machine::NewOutput(size_t output, const std::vector<int64_t>& shape) {
  constexpr uint64_t kWorthKeeping = 64 << 10;  // on the host: what is less stays with malloc
  DataType dtype = program_.outputs[output].dtype;
  auto& [first, second] = kept_outputs_[output];
  uint64_t bytes = TensorBytes(dtype, shape.data(), static_cast<uint32_t>(shape.size()));
  if (!work_ && bytes < kWorthKeeping) return NewTensor(shape, dtype);
  auto fits = [&](const TensorMemory& memory) {
    return memory.data && memory.data.use_count() == 1 && memory.bytes == bytes;
  };
  if (!fits(first)) std::swap(first, second);
  if (!fits(first)) {
    first = {};
    first = NewTensor(shape, dtype)->memory();
  }
  // Another thread may have been the last to read it.
  std::atomic_thread_fence(std::memory_order_acquire);
  return Tensor(ffi::Make<TensorObj>(shape, dtype, model_.device(), TensorLayout{}, first));
}

void Machine::SetTensor(Frame* frame, uint32_t index, const Tensor& tensor, bool owns) {
  TensorValue& value = frame->tensors[index];
  const TernTensorView& view = tensor->view();
  auto rank = static_cast<size_t>(view.ndim);
  std::copy(view.shape, view.shape + rank, frame->extents[index]);
  value.view.strides = nullptr;
  if (!tensor->is_row_major()) {
    std::copy(view.strides, view.strides + rank, frame->extents[index] + rank);
    value.view.strides = frame->extents[index] + rank;
  }
  value.view.data = view.data;
  value.view.byte_offset = view.byte_offset;
  value.bytes = tensor->storage_bytes() - view.byte_offset;
  value.owner = owns ? tensor : Tensor();
}

void Machine::Poison(const TensorValue& value) {
  if (!IsHost(value.view.device) || value.view.strides) return;
  std::memset(const_cast<char*>(FirstByte(value.view)), kPoison, value.bytes);
}

Tensor Machine::CopyOf(const TensorValue& value) {
  const TernTensorView& view = value.view;
  DataType dtype(view.dtype);
  TensorMemory memory{std::shared_ptr<void>(view.data, [](void*) {}),
                      view.byte_offset + value.bytes};
  TensorLayout layout;
  layout.offset = dtype.is_packed() ? static_cast<int64_t>(view.byte_offset) * 2
                                    : static_cast<int64_t>(view.byte_offset) / dtype.bytes();
  if (view.strides) layout.strides.assign(view.strides, view.strides + view.ndim);
  Tensor look(ffi::Make<TensorObj>(ShapeOf(view), dtype, view.device, layout, memory));
  Tensor copy = NewTensor(look->shape(), dtype);
  if (IsHost(view.device)) {
    CopyElements(look, copy);
    return copy;
  }
  TERN_CHECK(!view.strides) << "a tensor with strides is not copied on a device";
  const DeviceKind& kind = GetDeviceKind(view.device.type);
  if (copy->num_bytes() > 0)
    kind.Copy({.src = view.data,
               .src_offset = view.byte_offset,
               .src_device = view.device,
               .dst = copy->data(),
               .dst_device = view.device,
               .bytes = copy->num_bytes(),
               .stream = CurrentStream(view.device)});
  return copy;
}

// ---- Instructions

// Adds a call to the profile, where there is one.
class Machine::Recorded {
 public:
  Recorded(Machine* machine, uint32_t function, uint32_t instruction)
      : machine_(*machine), record_{function, instruction, 0, 0, &machine->program_} {
    if (machine_.profile_) record_.start = machine_.SecondsSinceStart();
  }
  ~Recorded() {
    if (!machine_.profile_) return;
    record_.seconds = machine_.SecondsSinceStart() - record_.start;
    machine_.profile_->push_back(record_);
  }
  Recorded(const Recorded&) = delete;

 private:
  Machine& machine_;
  CallRecord record_;
};

const Instruction* Machine::Loop(uint32_t function, uint32_t* at, uint32_t end) {
  const std::vector<Instruction>& code = program_.functions[function].code;
  Frame& frame = frames_[function];
  const std::vector<bool>* skipped = function == 0 && selection_ ? &selection_->skipped : nullptr;
  bool has_segments = end == kNoEnd && !frame.segments.empty() && uses_graphs();
  try {
    while (*at != end) {
      if (has_segments && frame.segment_at[*at] > 0) {
        RunSegment(function, &frame.segments[frame.segment_at[*at] - 1], at);
        continue;
      }
      if (skipped && (*skipped)[*at]) {
        ++*at;
        continue;
      }
      const Instruction& instruction = code[*at];
      switch (instruction.op) {
        case Opcode::kDim:
          frame.ints[instruction.results[0].index] =
              frame.tensors[instruction.args[0].index].view.shape[instruction.index];
          break;
        case Opcode::kInt:
          frame.ints[instruction.results[0].index] =
              ValueOf(instruction.exprs[0], frame.ints.data());
          break;
        case Opcode::kCheck:
          if (ValueOf(instruction.exprs[0], frame.ints.data()) == 0) Check(frame, instruction);
          break;
        case Opcode::kAlloc:
          Alloc(function, instruction);
          break;
        case Opcode::kView:
          View(&frame, instruction);
          break;
        case Opcode::kConst:
          SetTensor(&frame, instruction.results[0].index, model_.constant(instruction.index),
                    /*owns=*/false);
          break;
        case Opcode::kCall:
        case Opcode::kCopy:
          Launch(function, *at, instruction);
          break;
        case Opcode::kCallPacked: {
          CheckLimits();
          Recorded record(this, function, *at);
          CallPacked(&frame, instruction);
          break;
        }
        case Opcode::kInvoke:
          Invoke(&frame, instruction);
          break;
        case Opcode::kJump:
          CheckLimits();
          *at = instruction.index;
          continue;
        case Opcode::kBranch:
          CheckLimits();
          if (ValueOf(instruction.exprs[0], frame.ints.data()) == 0) break;
          *at = instruction.index;
          continue;
        case Opcode::kRead:
          frame.ints[instruction.results[0].index] = Read(frame, instruction);
          break;
        case Opcode::kList:
          List(&frame, instruction);
          break;
        case Opcode::kFree:
          if (mode_ == Mode::kDo || mode_ == Mode::kRepeat) Free(function, instruction);
          break;
        case Opcode::kRet:
          return &instruction;
      }
      ++*at;
    }
    return nullptr;
  } catch (Error& error) {
    if (end != kNoEnd) throw;  // of a segment: the loop around it says it
    error.AddContext(Running(function, *at));
    throw;
  }
}

std::string Machine::Running(uint32_t function, uint32_t at) const {
  const Function& of = program_.functions[function];
  return "running instruction " + std::to_string(at) + " of " + of.name + ": " +
         PrintInstruction(program_, of.code[at]);
}

void Machine::Launch(uint32_t function, uint32_t at, const Instruction& instruction) {
  Frame& frame = frames_[function];
  if (mode_ == Mode::kDescribe) return Describe(frame, at, instruction);
  CheckLimits();
  graph_counts_.others += mode_ != Mode::kRecord;
  if (instruction.op == Opcode::kCopy) return Copy(frame, instruction);
  Recorded record(this, function, at);
  if (model_.on_host()[instruction.index])
    CallOnHost(&frame, instruction);
  else
    Call(&frame, instruction, model_.kernel(instruction.index));
}

// Waits for the tensors that the function reads, and until those that it writes are on the device.
void Machine::CallOnHost(Frame* frame, const Instruction& instruction) {
  const FunctionInfo& info = model_.info(instruction.index);
  std::vector<TernAny> args(instruction.args.size());
  FillArguments(*frame, instruction, args.data());
  std::vector<Tensor> here(args.size());
  const DeviceKind& kind = GetDeviceKind(model_.device().type);
  auto copy = [&](size_t i, bool is_result) {
    const TernTensorView& view = frame->tensors[instruction.args[i].index].view;
    TERN_CHECK(!view.strides) << "only compact tensors are copied";
    TernCopy wanted{.src = view.data,
                    .src_offset = view.byte_offset,
                    .src_device = view.device,
                    .dst = here[i]->data(),
                    .dst_device = {kTernDeviceCpu, 0},
                    .bytes = here[i]->num_bytes(),
                    .stream = CurrentStream(view.device)};
    if (is_result) {
      wanted = {.src = here[i]->data(),
                .src_device = {kTernDeviceCpu, 0},
                .dst = view.data,
                .dst_offset = view.byte_offset,
                .dst_device = view.device,
                .bytes = wanted.bytes,
                .stream = wanted.stream};
    }
    if (wanted.bytes > 0) kind.Copy(wanted);
  };
  for (size_t i = 0; i < args.size(); ++i) {
    if (instruction.args[i].kind != OperandKind::kTensor) continue;
    const TernTensorView& view = frame->tensors[instruction.args[i].index].view;
    here[i] = Tensor::Empty(ShapeOf(view), DataType(view.dtype));
    CountBytes(here[i]->num_bytes());
    if (!info.params[i].is_output) copy(i, /*is_result=*/false);
    args[i].v_tensor = const_cast<TernTensorView*>(&here[i]->view());
  }
  work_->Wait();
  TernAny result{};
  ffi::FunctionObj* callee = model_.kernel(instruction.index);
  ffi::CheckCall(callee->safe_call()(callee->header(), args.data(),
                                     static_cast<int32_t>(args.size()), &result));
  for (size_t i = 0; i < args.size(); ++i)
    if (here[i] && info.params[i].is_output) copy(i, /*is_result=*/true);
  work_->Wait();
}

// ---- Graphs

void Machine::Describe(const Frame& frame, uint32_t at, const Instruction& instruction) {
  key_.launches.push_back(at);
  for (const Operand& arg : instruction.args) {
    if (arg.kind == OperandKind::kInt) key_.launches.push_back(frame.ints[arg.index]);
    if (arg.kind != OperandKind::kTensor) continue;
    const TernTensorView& view = frame.tensors[arg.index].view;
    key_.launches.insert(key_.launches.end(), view.shape, view.shape + view.ndim);
    key_.launches.push_back(view.strides != nullptr);
    if (view.strides)
      key_.launches.insert(key_.launches.end(), view.strides, view.strides + view.ndim);
    key_.addresses.push_back(reinterpret_cast<uintptr_t>(view.data));
    key_.addresses.push_back(view.byte_offset);
  }
}

void Machine::LoopSegment(uint32_t function, const Segment& segment, Mode mode, uint32_t* at) {
  mode_ = mode;
  *at = segment.begin;
  try {
    Loop(function, at, segment.end);
  } catch (...) {
    mode_ = Mode::kDo;
    throw;
  }
  mode_ = Mode::kDo;
}

// A segment is launched kernel by kernel where its shapes are new, recorded when they come again,
// and is one launch from then on. Other addresses are recorded again, into the same executable.
void Machine::RunSegment(uint32_t function, SegmentState* state, uint32_t* at) {
  const Segment& segment = state->segment;
  std::deque<KeptGraph>& graphs = state->graphs;
  key_.launches.clear();
  key_.addresses.clear();
  LoopSegment(function, segment, Mode::kDescribe, at);
  auto is_same = [&](const KeptGraph& kept) { return kept.key.launches == key_.launches; };
  auto found = std::find_if(graphs.begin(), graphs.end(), [&](const KeptGraph& kept) {
    return is_same(kept) && kept.key.addresses == key_.addresses;
  });
  // Of other addresses: two are kept, for who gives two buffers in turn; then the older changes.
  if (found == graphs.end() && std::count_if(graphs.begin(), graphs.end(), is_same) > 1)
    found = std::prev(std::find_if(graphs.rbegin(), graphs.rend(), is_same).base());
  if (found == graphs.end()) {
    found = std::find_if(graphs.begin(), graphs.end(), is_same);
    if (found != graphs.end() && found->graph) {
      graphs.push_front({{key_.launches, {}}, nullptr});
      if (graphs.size() > kMostGraphs) graphs.pop_back();
      found = graphs.begin();
    }
  }
  if (found == graphs.end()) {
    LoopSegment(function, segment, Mode::kRepeat, at);
    graphs.push_front({key_, nullptr});
    if (graphs.size() > kMostGraphs) graphs.pop_back();
    return;
  }
  if (found != graphs.begin()) std::rotate(graphs.begin(), found, found + 1);
  KeptGraph& kept = graphs.front();
  CheckLimits();
  try {
    if (!kept.graph || kept.key.addresses != key_.addresses)
      RecordSegment(function, segment, &kept, at);
    kept.graph->Launch();
  } catch (Error& error) {
    error.AddContext("as a graph of instructions " + std::to_string(segment.begin) + " to " +
                     std::to_string(segment.end - 1) + " of " + program_.functions[function].name);
    throw;
  }
  ++graph_counts_.launches;
  graph_counts_.calls += segment.launches;
}

void Machine::RecordSegment(uint32_t function, const Segment& segment, KeptGraph* kept,
                            uint32_t* at) {
  model_.Warm();  // code cannot be loaded in a recording
  for (bool is_done = false; !is_done;) {
    Capture capture(work_->stream());
    LoopSegment(function, segment, Mode::kRecord, at);
    try {
      if (kept->graph)
        kept->graph->Update(capture);
      else
        kept->graph = std::make_unique<Graph>(capture);
      is_done = true;
    } catch (const Error& error) {
      if (!kept->graph || error.kind() != "ValueError") throw;
      kept->graph.reset();  // other kernels, as of another alignment: a new one
    }
  }
  kept->key.addresses = key_.addresses;
  ++graph_counts_.records;
}

void Machine::DropGraphs() {
  for (Frame& frame : frames_)
    for (SegmentState& state : frame.segments) state.graphs.clear();
}

void Machine::View(Frame* frame, const Instruction& instruction) {
  const TensorValue& from = frame->tensors[instruction.args[0].index];
  uint32_t index = instruction.results[0].index;
  TensorValue& to = frame->tensors[index];
  DataType dtype(to.view.dtype);
  auto rank = static_cast<uint32_t>(to.view.ndim);
  int64_t *shape = frame->extents[index], *strides = shape + rank;
  const int64_t* ints = frame->ints.data();
  int64_t offset = ValueOf(instruction.exprs[0], ints);
  for (uint32_t i = 0; i < rank; ++i) shape[i] = ValueOf(instruction.exprs[1 + i], ints);
  uint64_t bytes = TensorBytes(dtype, shape, rank);
  int64_t last = offset;  // element
  bool fits = offset >= 0 && (!dtype.is_packed() || offset % 2 == 0);
  if (instruction.index == 0) {
    TERN_CHECK(!from.view.strides) << "a view without strides, of a tensor that has some";
    fits = fits && !__builtin_add_overflow(last, CountOf(to.view) - 1, &last);
  } else {
    for (uint32_t i = 0; i < rank; ++i) {
      strides[i] = ValueOf(instruction.exprs[1 + rank + i], ints);
      int64_t steps = 0;
      fits = fits && strides[i] >= 0 &&
             !__builtin_mul_overflow(std::max<int64_t>(shape[i] - 1, 0), strides[i], &steps) &&
             !__builtin_add_overflow(last, steps, &last);
    }
  }
  constexpr int64_t kMost = int64_t{1} << 58;
  bool is_empty = bytes == 0;
  fits = fits && last < kMost &&
         (is_empty || static_cast<uint64_t>(dtype.BytesOf(last + 1)) <= from.bytes);
  TERN_CHECK(fits) << "a view of shape " << ffi::ShapeText(ShapeOf(to.view)) << " at element "
                   << offset << " is not within a tensor of " << from.bytes << " bytes";
  auto skipped = is_empty ? uint64_t{0} : static_cast<uint64_t>(dtype.BytesOf(offset));
  bool is_host = IsHost(from.view.device);
  to.view.data = static_cast<char*>(from.view.data) + (is_host ? skipped : 0);
  to.view.byte_offset = from.view.byte_offset + (is_host ? 0 : skipped);
  to.view.strides = instruction.index == 0 ? nullptr : strides;
  to.bytes = from.bytes - skipped;
  if (instruction.index == 0) to.bytes = bytes;
}

void Machine::Check(const Frame& frame, const Instruction& instruction) {
  std::string message;
  size_t value = 1;
  std::string_view rest = instruction.text;
  while (!rest.empty()) {
    size_t end = rest.find("{}");
    if (end == std::string_view::npos || value >= instruction.exprs.size()) end = rest.size();
    message += rest.substr(0, end);
    rest.remove_prefix(end);
    if (rest.empty()) break;
    message += std::to_string(ValueOf(instruction.exprs[value++], frame.ints.data()));
    rest.remove_prefix(2);
  }
  throw Error("ValueError", message);
}

double Machine::SecondsSinceStart() const {
  if (work_) work_->Wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Machine::FillArguments(const Frame& frame, const Instruction& instruction, TernAny* arg) {
  for (const Operand& operand : instruction.args) {
    switch (operand.kind) {
      case OperandKind::kTensor:
        *arg++ = {kTernTensorView,
                  0,
                  {.v_tensor = const_cast<TernTensorView*>(&frame.tensors[operand.index].view)}};
        break;
      case OperandKind::kInt:
        *arg++ = {kTernInt, 0, {.v_int = frame.ints[operand.index]}};
        break;
      case OperandKind::kConstInt:
        *arg++ = {kTernInt, 0, {.v_int = operand.integer}};
        break;
      case OperandKind::kConstFloat:
        *arg++ = {kTernFloat, 0, {.v_float = operand.number}};
        break;
      case OperandKind::kList:
        ++arg;  // CallPacked has set it
        break;
    }
  }
}

ffi::Any Machine::Call(Frame* frame, const Instruction& instruction, ffi::FunctionObj* callee) {
  FillArguments(*frame, instruction, frame->args.data());
  TernAny result{};
  ffi::CheckCall(callee->safe_call()(callee->header(), frame->args.data(),
                                     static_cast<int32_t>(instruction.args.size()), &result));
  return ffi::Any::Adopt(result);
}

void Machine::CallPacked(Frame* frame, const Instruction& instruction) {
  ffi::Function callee = FindPacked(instruction.text);
  std::vector<ffi::Any> lists;
  for (size_t i = 0; i < instruction.args.size(); ++i) {
    const Operand& operand = instruction.args[i];
    if (operand.kind != OperandKind::kList) continue;
    const std::vector<Tensor>& list = frame->lists[operand.index];
    lists.emplace_back(ffi::MakeArray({list.begin(), list.end()}));
    frame->args[i] = lists.back().raw();
  }
  ffi::Any result = Call(frame, instruction, callee.get());
  if (instruction.results.empty()) return;
  const Operand& to = instruction.results[0];
  if (to.kind == OperandKind::kInt) {
    frame->ints[to.index] = result.As<int64_t>();
  } else if (to.kind == OperandKind::kTensor) {
    SetTyped(frame, to.index, result.As<Tensor>());
  } else {
    std::vector<Tensor> list;
    for (const ffi::Any& item : *result.As<ffi::Array>()) list.push_back(item.As<Tensor>());
    frame->lists[to.index] = std::move(list);
  }
}

// Of a tensor whose type nobody knew before.
void Machine::SetTyped(Frame* frame, uint32_t index, const Tensor& tensor) const {
  const TernTensorView& view = frame->tensors[index].view;
  TERN_CHECK(tensor && tensor->dtype() == DataType(view.dtype) && tensor->view().ndim == view.ndim)
      << "expected a " << DataType(view.dtype).str() << " tensor of rank " << view.ndim << ", got "
      << (tensor ? tensor->dtype().str() + " of shape " + ffi::ShapeText(tensor->shape()) : "none");
  TERN_CHECK(tensor->device().type == model_.device().type)
      << "expected a tensor on " << DeviceName(model_.device()) << ", got one on "
      << DeviceName(tensor->device());
  SetTensor(frame, index, tensor, /*owns=*/true);
}

void Machine::Invoke(Frame* frame, const Instruction& instruction) {
  Frame& callee = frames_[instruction.index];
  KindCounts place;
  for (const Operand& arg : instruction.args) {
    if (arg.kind == OperandKind::kInt) {
      callee.ints[place.ints++] = frame->ints[arg.index];
    } else if (arg.kind == OperandKind::kList) {
      callee.lists[place.lists++] = frame->lists[arg.index];
    } else {
      const TensorValue& from = frame->tensors[arg.index];
      uint32_t index = place.tensors++;
      auto rank = static_cast<size_t>(from.view.ndim);
      TensorValue& to = callee.tensors[index];
      int64_t* shape = callee.extents[index];
      std::copy(from.view.shape, from.view.shape + rank, shape);
      if (from.view.strides) std::copy(from.view.strides, from.view.strides + rank, shape + rank);
      to.view.data = from.view.data;
      to.view.byte_offset = from.view.byte_offset;
      to.view.strides = from.view.strides ? shape + rank : nullptr;
      to.bytes = from.bytes;
      to.owner = {};  // the caller's
    }
  }
  uint32_t at = 0;
  UsePlan(instruction.index);
  const Instruction& ret = Loop(instruction.index, &at);
  for (size_t i = 0; i < ret.args.size(); ++i) {
    const Operand &from = ret.args[i], &to = instruction.results[i];
    if (from.kind == OperandKind::kInt) {
      frame->ints[to.index] = callee.ints[from.index];
    } else if (from.kind == OperandKind::kList) {
      frame->lists[to.index] = callee.lists[from.index];
    } else {
      const TensorValue& value = callee.tensors[from.index];
      SetTensor(frame, to.index, value.owner ? value.owner : CopyOf(value), /*owns=*/true);
    }
  }
  ClearFrame(&callee);
}

int64_t Machine::Read(const Frame& frame, const Instruction& instruction) {
  const TensorValue& value = frame.tensors[instruction.args[0].index];
  int64_t element = ValueOf(instruction.exprs[0], frame.ints.data());
  DataType dtype(value.view.dtype);
  TERN_CHECK(!value.view.strides) << "only compact tensors are read";
  TERN_CHECK(element >= 0 && element < CountOf(value.view))
      << "a tensor of shape " << ffi::ShapeText(ShapeOf(value.view)) << " has no element "
      << element;
  auto size = static_cast<uint64_t>(dtype.bytes());
  uint64_t offset = static_cast<uint64_t>(element) * size;
  if (IsHost(value.view.device)) return LoadInteger(dtype, FirstByte(value.view) + offset);
  TERN_ICHECK(work_);
  char* bytes = work_->element();
  const DeviceKind& kind = GetDeviceKind(value.view.device.type);
  void* stream = CurrentStream(value.view.device);
  kind.Copy({.src = value.view.data,
             .src_offset = value.view.byte_offset + offset,
             .src_device = value.view.device,
             .dst = bytes,
             .dst_device = {kTernDeviceCpu, 0},
             .bytes = size,
             .stream = stream});
  kind.Synchronize(value.view.device.id, stream);
  return LoadInteger(dtype, bytes);
}

void Machine::Copy(const Frame& frame, const Instruction& instruction) {
  const TernTensorView& from = frame.tensors[instruction.args[0].index].view;
  const TernTensorView& to = frame.tensors[instruction.args[1].index].view;
  TERN_CHECK(!from.strides && !to.strides) << "only compact tensors are copied";
  TERN_CHECK(CountOf(from) == CountOf(to))
      << "a tensor of shape " << ffi::ShapeText(ShapeOf(from))
      << " has not as many elements as one of " << ffi::ShapeText(ShapeOf(to));
  auto bytes = static_cast<uint64_t>(DataType(from.dtype).BytesOf(CountOf(from)));
  if (bytes == 0) return;
  if (IsHost(from.device)) {
    std::memmove(const_cast<char*>(FirstByte(to)), FirstByte(from), bytes);
    return;
  }
  GetDeviceKind(from.device.type)
      .Copy({.src = from.data,
             .src_offset = from.byte_offset,
             .src_device = from.device,
             .dst = to.data,
             .dst_offset = to.byte_offset,
             .dst_device = to.device,
             .bytes = bytes,
             .stream = CurrentStream(from.device)});
}

void Machine::List(Frame* frame, const Instruction& instruction) {
  auto op = static_cast<ListOp>(instruction.index);
  auto copy = [&](const Operand& arg) { return CopyOf(frame->tensors[arg.index]); };
  if (op == ListOp::kMake) {
    std::vector<Tensor> list;
    for (const Operand& arg : instruction.args) list.push_back(copy(arg));
    frame->lists[instruction.results[0].index] = std::move(list);
    return;
  }
  std::vector<Tensor>& list = frame->lists[instruction.args[0].index];
  auto size = static_cast<int64_t>(list.size());
  if (op == ListOp::kSize) {
    frame->ints[instruction.results[0].index] = size;
    return;
  }
  int64_t place = ValueOf(instruction.exprs[0], frame->ints.data());
  TERN_CHECK(place >= 0 && place < size + (op == ListOp::kInsert))
      << "a list of " << size << " tensors has no place " << place;
  auto at = list.begin() + place;
  if (op == ListOp::kGet)
    SetTyped(frame, instruction.results[0].index, *at);
  else if (op == ListOp::kInsert)
    list.insert(at, copy(instruction.args[1]));
  else
    list.erase(at);
}

void Machine::Free(uint32_t function, const Instruction& instruction) {
  Frame& frame = frames_[function];
  for (const Operand& arg : instruction.args) {
    if (arg.kind == OperandKind::kList) {
      frame.lists[arg.index].clear();
      continue;
    }
    // One that no selected output needs was never set.
    if (function == 0 && selection_ && !selection_->needed_tensors[arg.index]) continue;
    TensorValue& value = frame.tensors[arg.index];
    if (options_.poison_memory && frame.is_planned[arg.index]) Poison(value);
    value.owner = {};
  }
}

}  // namespace tern::runtime::vm
