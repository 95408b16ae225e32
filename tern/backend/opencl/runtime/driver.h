// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL driver, opened at first use, and its devices.
#ifndef TERN_BACKEND_OPENCL_RUNTIME_DRIVER_H_
#define TERN_BACKEND_OPENCL_RUNTIME_DRIVER_H_

#include <mutex>
#include <string>
#include <vector>

#include "tern/backend/opencl/runtime/opencl_abi.h"
#include "tern/runtime/plugin_sdk.h"

namespace tern::backend::opencl {

// Throws with the call and the error's name where `code` is not success.
void Check(cl::Int code, const char* call);

// Device memory as Tern sees it is the cl::Memory itself: that is what kernels take.
class Device {
 public:
  Device(cl::Device id, int32_t number) : id_(id), number_(number) {}

  cl::Device id() const { return id_; }
  int32_t number() const { return number_; }
  std::string Text(cl::UInt property) const;
  template <class T>
  T Number(cl::UInt property) const;
  // Made at first use, and kept.
  cl::Context context();
  // The default queue where `stream` is null.
  cl::Queue queue(void* stream);
  cl::Queue NewQueue();

 private:
  cl::Device id_;
  int32_t number_;
  std::mutex mutex_;
  cl::Context context_ = nullptr;
  cl::Queue queue_ = nullptr;
};

class Driver {
 public:
  // Opens libOpenCL.so.1 and lists the devices of all platforms, GPUs first. Where there is no
  // driver there are no functions and no devices. Leaked: drivers do not outlive their own
  // unloading.
  static Driver& Get();

  const cl::Functions& functions() const { return functions_; }
  int32_t count() const { return static_cast<int32_t>(devices_.size()); }
  // Throws with the number of devices there are.
  Device& device(int32_t number);

 private:
  Driver();
  void Open();
  void ListDevices();

  cl::Functions functions_;
  std::vector<Device*> devices_;
  std::string absence_;  // why there is no device
};

inline const cl::Functions& Cl() { return Driver::Get().functions(); }

template <class T>
T Device::Number(cl::UInt property) const {
  T value{};
  Check(Cl().GetDeviceInfo(id_, property, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

}  // namespace tern::backend::opencl

#endif  // TERN_BACKEND_OPENCL_RUNTIME_DRIVER_H_
