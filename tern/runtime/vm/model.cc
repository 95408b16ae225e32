// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/model.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "tern/ffi/text.h"
#include "tern/runtime/device.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/runtime/vm/verify.h"

namespace tern::runtime::vm {
namespace {

// The calls that prepack, those that need most memory for themselves first: little else is there at
// that time.
std::vector<Prepack> PrepackingOrder(const Program& program, const std::vector<bool>& read) {
  auto bytes_of = [&](const Prepack& call) {
    int64_t bytes = 0;
    for (uint32_t index : call.constants) {
      const Constant& constant = program.constants[index];
      int64_t elements = 1;
      for (int64_t extent : constant.shape) elements *= extent;
      if (!read[index]) bytes += constant.dtype.BytesOf(elements);
    }
    return bytes;
  };
  std::vector<Prepack> calls = program.prepack;
  std::vector<bool> seen(read.size(), false);
  for (const Prepack& call : calls)
    for (uint32_t index : call.constants) {
      if (program.constants[index].source != ConstantSource::kMade) continue;
      if (seen[index]) return calls;  // one reads what another made
      seen[index] = true;
    }
  std::stable_sort(calls.begin(), calls.end(),
                   [&](const Prepack& a, const Prepack& b) { return bytes_of(a) > bytes_of(b); });
  return calls;
}

}  // namespace

Tensor TensorOf(const Constant& constant) {
  Tensor tensor = Tensor::Empty(constant.shape, constant.dtype);
  size_t step = constant.data.size();
  if (step == 0) return tensor;
  for (uint64_t at = 0; at < tensor->num_bytes(); at += step)
    std::memcpy(tensor.as<char>() + at, constant.data.data(), step);
  return tensor;
}

Model::Model(ModelParts parts)
    : parts_(std::move(parts)),
      device_{GetDeviceKind(parts_.device).device_type(), parts_.device_id} {
  VerifyProgram(parts_.program, &parts_.functions);
  for (size_t i = 0; i < parts_.program.functions.size(); ++i)
    planned_.push_back(PlannedTensors(parts_.program.functions[i], i == 0));
  kernels_ = std::make_unique<std::atomic<ffi::FunctionObj*>[]>(parts_.program.kernels.size());
  for (size_t i = 0; i < parts_.program.kernels.size(); ++i) {
    const std::string device = device_.type == kTernDeviceCpu ? "" : info(i).device;
    on_host_.push_back(!device.empty() && GetDeviceKind(device).device_type() == kTernDeviceCpu);
  }
  MakeConstants();
  FindDefaults();
}

const FunctionInfo& Model::info(size_t kernel) const {
  const std::string& name = parts_.program.kernels[kernel];
  auto found = std::find_if(parts_.functions.begin(), parts_.functions.end(),
                            [&](const FunctionInfo& function) { return function.name == name; });
  TERN_CHECK(found != parts_.functions.end()) << "the model has no function " << name;
  return *found;
}

void Model::FindDefaults() {
  const Program& program = parts_.program;
  for (const Port& input : program.inputs) {
    Tensor& found = defaults_.emplace_back();
    for (size_t i = 0; i < program.constants.size(); ++i) {
      const Constant& constant = program.constants[i];
      bool fits = constant.name == input.name && constant.dtype == input.dtype &&
                  constant.shape.size() == input.shape.size();
      for (size_t axis = 0; fits && axis < constant.shape.size(); ++axis)
        fits = input.shape[axis] == IntExpr::Const(constant.shape[axis]);
      if (fits) found = constants_[i];
    }
  }
}

std::vector<bool> Model::ConstantsThatRunsRead() const {
  const Program& program = parts_.program;
  std::vector<bool> read(program.constants.size(), false);
  for (const Function& function : program.functions)
    for (const Instruction& instruction : function.code)
      if (instruction.op == Opcode::kConst) read[instruction.index] = true;
  for (size_t i = 0; i < read.size(); ++i)  // defaults
    for (const Port& input : program.inputs)
      if (program.constants[i].name == input.name) read[i] = true;
  return read;
}

Tensor Model::MakeConstant(const Constant& constant) const {
  Tensor tensor;
  if (constant.source == ConstantSource::kMade) {
    if (prepacked_) return prepacked_->Get(constant.name);
    return Tensor::Empty(constant.shape, constant.dtype, device_);
  }
  if (constant.source == ConstantSource::kWeights) {
    TERN_CHECK(parts_.weight) << "the model has no weights, and its program wants "
                              << constant.name;
    tensor = parts_.weight(constant);
    TERN_CHECK(tensor->shape() == constant.shape && tensor->dtype() == constant.dtype &&
               tensor->is_row_major())
        << "weight " << constant.name << ": expected " << constant.dtype.str() << " of shape "
        << ffi::ShapeText(constant.shape) << ", got " << tensor->dtype().str() << " of shape "
        << ffi::ShapeText(tensor->shape());
  } else {
    tensor = TensorOf(constant);
  }
  bool is_there = tensor->device().type == device_.type && tensor->device().id == device_.id;
  return is_there ? Shared(tensor) : tensor.CopyTo(device_);
}

void Model::MakeConstants() {
  std::vector<bool> read = ConstantsThatRunsRead();
  FindPrepacked(read);
  constants_.resize(read.size());
  for (size_t i = 0; i < read.size(); ++i)
    if (read[i]) constants_[i] = MakeConstant(parts_.program.constants[i]);
  if (!prepacked_ && !parts_.program.prepack.empty()) {
    RunPrepacking(read);
    StorePrepacked();
    for (Tensor& constant : constants_)
      if (constant) constant = Shared(constant);
  }
  parts_.relative.reset();
}

Tensor Model::Shared(const Tensor& tensor) const {
  constexpr uint64_t kWorthwhile = 4096;  // bytes
  if (!parts_.relative || device_.type != kTernDeviceCpu || tensor->num_bytes() < kWorthwhile)
    return tensor;
  for (const Tensor& other : parts_.relative->constants_)
    if (other && other->dtype() == tensor->dtype() && other->shape() == tensor->shape() &&
        other->device().type == kTernDeviceCpu &&
        std::memcmp(other.as<char>(), tensor.as<char>(), tensor->num_bytes()) == 0)
      return other;
  return tensor;
}

void Model::RunPrepacking(const std::vector<bool>& read) {
  std::vector<Prepack> calls = PrepackingOrder(parts_.program, read);
  // What runs do not read is there from the first call that does to the last.
  std::vector<size_t> last(constants_.size());
  for (size_t i = 0; i < calls.size(); ++i)
    for (uint32_t index : calls[i].constants) last[index] = i;
  for (size_t i = 0; i < calls.size(); ++i)
    WithContext("preparing weights by " + calls[i].function, [&] {
      ffi::Function function = parts_.module->GetFunction(calls[i].function);
      TERN_CHECK(function) << "the host code has no function " << calls[i].function;
      std::vector<ffi::AnyView> args;
      for (uint32_t index : calls[i].constants) {
        if (!constants_[index]) constants_[index] = MakeConstant(parts_.program.constants[index]);
        args.push_back(ffi::CallArgument(constants_[index]).view());
      }
      function.CallPacked(args);
      for (uint32_t index : calls[i].constants)
        if (!read[index] && last[index] == i) constants_[index] = {};
    });
}

void Model::FindPrepacked(const std::vector<bool>& read) {
  if (device_.type != kTernDeviceCpu || parts_.program.prepack.empty()) parts_.cache.reset();
  if (!parts_.cache) return;
  std::shared_ptr<MappedWeights> found = parts_.cache->Find();
  if (!found) return;
  std::map<std::string_view, const WeightsTable::Entry*> entries;
  for (const WeightsTable::Entry& entry : found->table().entries) entries[entry.name] = &entry;
  for (size_t i = 0; i < read.size(); ++i) {
    const Constant& constant = parts_.program.constants[i];
    if (constant.source != ConstantSource::kMade || !read[i]) continue;
    auto entry = entries.find(constant.name);
    if (entry == entries.end() || entry->second->dtype != constant.dtype ||
        entry->second->shape != constant.shape)
      return;
  }
  prepacked_ = found;
}

void Model::StorePrepacked() {
  if (!parts_.cache) return;
  // What was made of weights that were altered must not stay.
  CheckAllWeights();
  std::vector<Weight> made;
  for (size_t i = 0; i < constants_.size(); ++i) {
    const Constant& constant = parts_.program.constants[i];
    if (constant.source == ConstantSource::kMade && constants_[i])
      made.push_back({constant.name,
                      constant.dtype,
                      constant.shape,
                      {constants_[i].as<char>(), constants_[i]->num_bytes()}});
  }
  prepacked_ = parts_.cache->Store(made);
  for (size_t i = 0; prepacked_ && i < constants_.size(); ++i)
    if (parts_.program.constants[i].source == ConstantSource::kMade && constants_[i])
      constants_[i] = prepacked_->Get(parts_.program.constants[i].name);
}

void Model::Warm() const {
  if (is_warm_.load(std::memory_order_acquire)) return;
  for (size_t i = 0; i < parts_.program.kernels.size(); ++i) kernel(i);
  LoadKernels(parts_.module, device_);
  is_warm_.store(true, std::memory_order_release);
}

ffi::FunctionObj* Model::FindKernel(size_t index) const {
  std::lock_guard lock(mutex_);
  if (ffi::FunctionObj* found = kernels_[index].load(std::memory_order_relaxed)) return found;
  if (!is_prepared_ && device_.type != kTernDeviceCpu) PrepareKernels(parts_.module, device_);
  is_prepared_ = true;
  const std::string& name = parts_.program.kernels[index];
  ffi::Function function = parts_.module->GetFunction(name);
  TERN_CHECK(function) << "the host code has no function " << name;
  functions_.push_back(function);
  kernels_[index].store(function.get(), std::memory_order_release);
  return function.get();
}

}  // namespace tern::runtime::vm
