// SPDX-License-Identifier: Apache-2.0
//
// A model that can run: program, host code, constants. It does not change: any number of sessions,
// on any threads, share one.
#ifndef TERN_RUNTIME_VM_MODEL_H_
#define TERN_RUNTIME_VM_MODEL_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tern/ffi/module.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/artifact/weights.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/vm/plan.h"
#include "tern/runtime/vm/prepacked_cache.h"
#include "tern/runtime/vm/program.h"

namespace tern::runtime::vm {

class Model;

struct ModelParts {
  Program program;
  ffi::Module module;                   // the host code
  std::vector<FunctionInfo> functions;  // of the host code
  std::string device = "cpu";           // the kind whose tensors its functions take
  int32_t device_id = 0;
  // A constant of kWeights, on the host and compact; called once for each. Not needed where there
  // is none.
  std::function<Tensor(const Constant&)> weight = {};
  std::shared_ptr<MappedWeights> weights = {};  // where they are of a file
  std::optional<PrepackedCache> cache = {};     // of what prepacking makes, on the host
  // A model of the same weights on the host, as one for other shapes is: constants that have the
  // same elements are one in memory. Or null.
  std::shared_ptr<const Model> relative = {};
};

// The elements of a constant that the program has itself (kInline, kSplat).
Tensor TensorOf(const Constant& constant);

class Model {
 public:
  // Verifies the program, and makes the constants.
  explicit Model(ModelParts parts);
  Model(const Model&) = delete;

  const Program& program() const { return parts_.program; }
  // Of the host code.
  const std::vector<FunctionInfo>& functions() const { return parts_.functions; }
  TernDevice device() const { return device_; }
  // Null where none but prepacking reads it.
  const Tensor& constant(size_t index) const { return constants_[index]; }
  // What an input is that is not given; null: it has to be.
  Tensor input_default(size_t input) const { return defaults_[input]; }

  // Throws where weights of the file are known to be altered, or after all were looked at.
  void CheckWeights() const {
    if (parts_.weights) parts_.weights->Check();
    if (prepacked_) parts_.cache->Check(prepacked_.get());
  }
  void CheckAllWeights() const {
    if (parts_.weights) parts_.weights->CheckAll();
    if (prepacked_) parts_.cache->CheckAll(prepacked_.get());
  }

  // A function of the host code, found at the first call.
  ffi::FunctionObj* kernel(size_t index) const {
    ffi::FunctionObj* found = kernels_[index].load(std::memory_order_acquire);
    return found ? found : FindKernel(index);
  }

  // By kernel: whether it is a function of the host, of a model on a device. Its tensors are
  // copied.
  const std::vector<bool>& on_host() const { return on_host_; }
  const FunctionInfo& info(size_t kernel) const;

  // Finds all functions, and loads the kernels of the device. Otherwise each is found when it is
  // first called; kernels that have to be compiled are so at the first call, all of them.
  void Warm() const;

  const std::vector<PlannedTensor>& planned(size_t function) const { return planned_[function]; }

 private:
  ffi::FunctionObj* FindKernel(size_t index) const;
  void MakeConstants();
  Tensor MakeConstant(const Constant& constant) const;
  // By constant. Others are for prepacking alone, and are not kept.
  std::vector<bool> ConstantsThatRunsRead() const;
  // The tensor, or that of the relative which has the same elements.
  Tensor Shared(const Tensor& tensor) const;
  void FindDefaults();
  // What the cache has, where it is what prepacking would make.
  void FindPrepacked(const std::vector<bool>& read);
  void RunPrepacking(const std::vector<bool>& read);
  void StorePrepacked();

  ModelParts parts_;
  TernDevice device_;
  std::vector<bool> on_host_;
  std::shared_ptr<MappedWeights> prepacked_;  // of the cache, or null
  std::vector<Tensor> constants_;
  std::vector<Tensor> defaults_;                     // by input
  std::vector<std::vector<PlannedTensor>> planned_;  // by function
  mutable std::mutex mutex_;
  mutable std::vector<ffi::Function> functions_;  // what kernels_ points to
  mutable std::unique_ptr<std::atomic<ffi::FunctionObj*>[]> kernels_;
  mutable bool is_prepared_ = false;
  mutable std::atomic<bool> is_warm_ = false;
};

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_MODEL_H_
