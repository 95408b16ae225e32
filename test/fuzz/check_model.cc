// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/check_model.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "tern/runtime/test_data/test_kernels.h"
#include "tern/runtime/vm/int_value.h"
#include "tern/runtime/vm/session.h"
#include "tern/runtime/vm/verify.h"

namespace tern::fuzz {
namespace {

using runtime::Tensor;
using runtime::vm::Program;
using runtime::vm::Session;

constexpr int64_t kMostElements = 1 << 12;           // of an input or a constant
constexpr uint64_t kMostBytes = uint64_t{16} << 20;  // of a run

// Small numbers, as bytes of any dtype, that differ from element to element.
Tensor Filled(const std::vector<int64_t>& shape, DataType dtype, int first) {
  Tensor tensor = Tensor::Empty(shape, dtype);
  if (dtype == DataType::Float(32)) {
    for (int64_t i = 0; i < tensor->num_elements(); ++i)
      tensor.as<float>()[i] = static_cast<float>(i + first) * 0x1p-40F;
  } else {
    for (uint64_t i = 0; i < tensor->num_bytes(); ++i)
      tensor.as<char>()[i] =
          static_cast<char>(i % static_cast<uint64_t>(std::max(dtype.bytes(), 1)) == 0
                                ? (i + static_cast<uint64_t>(first)) % 4
                                : 0);
  }
  return tensor;
}

bool IsSmall(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count) ||
        count > kMostElements)
      return false;
  return true;
}

// Names of functions are foreign: looking for one is looking for plugins.
bool CallsPacked(const Program& program) {
  for (const runtime::vm::Function& function : program.functions)
    for (const runtime::vm::Instruction& instruction : function.code)
      if (instruction.op == runtime::vm::Opcode::kCallPacked) return true;
  return false;
}

std::optional<std::vector<Tensor>> InputsOf(const Program& program,
                                            const std::vector<int64_t>& dims) {
  std::vector<Tensor> inputs;
  for (const runtime::vm::Port& port : program.inputs) {
    std::vector<int64_t> shape;
    for (const runtime::vm::IntExpr& extent : port.shape)
      shape.push_back(ValueOf(extent, dims.data()));
    if (!IsSmall(shape)) return std::nullopt;
    inputs.push_back(Filled(shape, port.dtype, static_cast<int>(inputs.size())));
  }
  return inputs;
}

struct Results {
  std::vector<Tensor> tensors;
  std::string error, kind;
  // An error that says nothing of the other run.
  bool is_stopped() const { return kind == "TimeoutError" || kind == "MemoryError"; }
};

Results RunOnce(Session* session, const std::vector<Tensor>& inputs,
                std::chrono::milliseconds time) {
  Results results;
  try {
    auto deadline = std::chrono::steady_clock::now() + time;
    results.tensors = session->Run(inputs, {}, {.deadline = deadline});
  } catch (const Error& error) {
    results.error = error.what();
    results.kind = error.kind();
  }
  return results;
}

bool AreSame(const Tensor& a, const Tensor& b) {
  return a->shape() == b->shape() && a->dtype() == b->dtype() &&
         (a->num_bytes() == 0 || std::memcmp(a->data(), b->data(), a->num_bytes()) == 0);
}

// All that `expected` has and `actual` was asked for.
std::string Compare(const std::string& what, const Results& expected, const Results& actual) {
  if (expected.is_stopped() || actual.is_stopped()) return "";
  // Without some outputs there are fewer errors.
  if (!expected.error.empty()) return "";
  if (!actual.error.empty()) return what + " fails: " + actual.error;
  for (size_t i = 0; i < expected.tensors.size(); ++i)
    if (actual.tensors[i] && !AreSame(expected.tensors[i], actual.tensors[i]))
      return "output " + std::to_string(i) + " is not the same " + what;
  return "";
}

}  // namespace

ModelCheck CheckModel(const Program& program, std::chrono::milliseconds time) {
  ModelCheck check;
  try {
    auto weight = [](const runtime::vm::Constant& constant) {
      return Filled(constant.shape, constant.dtype, 1);
    };
    bool is_small = std::all_of(program.constants.begin(), program.constants.end(),
                                [](const auto& one) { return IsSmall(one.shape); });
    if (!is_small || CallsPacked(program)) {
      VerifyProgram(program, nullptr);
      check.is_verified = true;
      return check;
    }
    auto model = std::make_shared<const runtime::vm::Model>(
        runtime::vm::ModelParts{.program = program,
                                .module = ffi::Module(ffi::Make<runtime::TestKernels>()),
                                .functions = runtime::TestKernels::Infos(),
                                .device = "cpu",
                                .weight = weight});
    check.is_verified = true;
    Session reuse(model, {.memory_limit = kMostBytes, .poison_memory = true});
    Session apart(model,
                  {.memory_limit = kMostBytes, .reuse_memory = false, .poison_memory = true});
    Session some(model, {.memory_limit = kMostBytes, .poison_memory = true});
    if (!program.outputs.empty())
      some.SelectOutputs({program.outputs[program.kernels.size() % program.outputs.size()].name});
    constexpr int64_t kExtents[][2] = {{5, 3}, {1, 40}, {64, 7}, {0, 1}};
    for (const auto& extents : kExtents) {
      std::vector<int64_t> dims;
      for (size_t i = 0; i < program.dims.size(); ++i) dims.push_back(extents[i % 2]);
      std::optional<std::vector<Tensor>> inputs = InputsOf(program, dims);
      if (!inputs) continue;
      Results expected = RunOnce(&apart, *inputs, time), actual = RunOnce(&reuse, *inputs, time);
      check.has_run = check.has_run || actual.error.empty();
      if (!actual.error.empty() && !actual.is_stopped()) check.error = actual.error;
      for (const std::string& mistake :
           {Compare("with memory that is used again", expected, actual),
            Compare("without it, of what runs with it", actual, expected),
            Compare("where it is selected", expected, RunOnce(&some, *inputs, time))})
        if (!mistake.empty()) check.mistake = mistake;
      if (actual.is_stopped()) break;  // the next one takes as long
    }
  } catch (const Error& error) {
    check.error = error.what();
  }
  return check;
}

}  // namespace tern::fuzz
