// SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver, opened at first use, and its devices.
#ifndef TERN_BACKEND_CUDA_RUNTIME_DRIVER_H_
#define TERN_BACKEND_CUDA_RUNTIME_DRIVER_H_

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "tern/backend/cuda/runtime/cuda_abi.h"
#include "tern/runtime/plugin_sdk.h"

namespace tern::backend::cuda {

// Throws with the call and what the driver says of the error.
void Check(cu::Result result, const char* call);

class Device {
 public:
  Device(cu::Device handle, int32_t number) : handle_(handle), number_(number) {}

  int32_t number() const { return number_; }
  std::string name() const;
  int Attribute(int attribute) const;
  uint64_t memory() const;
  // "sm_90": what its code is compiled for.
  std::string architecture() const;
  // The primary context, which the whole process shares; retained at first use, and kept.
  cu::Context context() {
    cu::Context context = context_.load(std::memory_order_acquire);
    return context ? context : RetainContext();
  }

 private:
  cu::Context RetainContext();

  cu::Device handle_;
  int32_t number_;
  std::mutex mutex_;  // of making the context
  std::atomic<cu::Context> context_{nullptr};
};

class Driver {
 public:
  // Opens libcuda.so.1. Where there is no driver there are no functions and no devices. Leaked:
  // the driver does not outlive its own unloading.
  static Driver& Get();

  const cu::Functions& functions() const { return functions_; }
  int32_t count() const { return static_cast<int32_t>(devices_.size()); }
  // Throws with the number of devices there are.
  Device& device(int32_t number);
  std::string version() const;

 private:
  Driver();
  void ListDevices();

  cu::Functions functions_;
  std::vector<Device*> devices_;
  std::string absence_;  // why there is no device
};

inline const cu::Functions& Cu() { return Driver::Get().functions(); }

// A device is current while this lives. Another one that was current before is so again afterwards;
// where there was none, this one stays, so that the next use finds it.
class Current {
 public:
  explicit Current(Device& device) : Current(device, Cu()) {}
  explicit Current(int32_t device) : Current(Driver::Get().device(device)) {}
  Current(Device& device, const cu::Functions& functions) {
    cu::Context wanted = device.context(), found = nullptr;
    if (functions.ContextGetCurrent(&found) != cu::kSuccess || found != wanted)
      Enter(wanted, found);
  }
  ~Current() {
    if (is_pushed_) Leave();
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  void Enter(cu::Context wanted, cu::Context found);
  static void Leave();

  bool is_pushed_ = false;
};

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_RUNTIME_DRIVER_H_
