// SPDX-License-Identifier: Apache-2.0
//
// Running a function on made or given tensors, as the tools do: fill the inputs, call, time,
// report.
#ifndef TERN_RUNTIME_RUNNER_H_
#define TERN_RUNTIME_RUNNER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/tensor.h"

namespace tern::runtime {

struct RunOptions {
  // Parameter -> file.npy | random | ones | zeros; a number for a float scalar.
  std::map<std::string, std::string> inputs;
  // Parameter -> elements that the caller has, on the host; those have no input.
  std::map<std::string, Tensor> tensors;
  std::map<std::string, int64_t> dims;          // values of symbolic extents and integer parameters
  int64_t default_dim = 128;                    // for those not given and not implied by an input
  std::map<std::string, int64_t> default_dims;  // the same for some of them
  int64_t offset = 0;  // elements of memory before the first one of each tensor
  uint64_t seed = 0;
  int repeat = 1;
};

struct RunResult {
  std::vector<Tensor> args;  // on the host, after the call; scalars are null
  std::map<std::string, int64_t> dims;
  // Of the repeats, after one warm-up: from the call until the device has done it.
  double best_seconds = 0, median_seconds = 0, mean_seconds = 0;
  // The median of the device's own time for a call, of calls given to it one after another; nothing
  // where there is but one repeat or the device has no events.
  std::optional<double> device_seconds;
};

// The host arguments of a call: dims solved, tensors filled (outputs with zeros where no input is
// given). The same options give the same values on any machine.
std::vector<ffi::Any> MakeArguments(const FunctionInfo& function, const RunOptions& options,
                                    std::map<std::string, int64_t>* dims);

// Whether the memory before and between the elements of such a tensor is as it was made.
bool KeptUnused(const Tensor& tensor);

// Copies the tensors to `device`, calls once and copies back: that is the result. Then calls again
// to take the time. Throws where memory before or between the elements of a tensor was changed.
RunResult RunFunction(const ffi::Function& function, const FunctionInfo& info,
                      const std::string& device, const RunOptions& options);

// How far `actual` is from `expected`, both on the host and of one shape (throws otherwise). Two
// NaNs agree, as do equal infinities; a NaN or an infinity on one side alone is infinitely far.
struct MaxError {
  double absolute = 0;
  double relative = 0;  // to the expected element, where that is finite and not 0
  double scaled = 0;    // absolute / max(1, |expected|): what a tolerance is held against
};
MaxError CompareTensors(const Tensor& actual, const Tensor& expected);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_RUNNER_H_
