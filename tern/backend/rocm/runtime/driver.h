// SPDX-License-Identifier: Apache-2.0
//
// HIP's library, opened at first use, and its devices.
#ifndef TERN_BACKEND_ROCM_RUNTIME_DRIVER_H_
#define TERN_BACKEND_ROCM_RUNTIME_DRIVER_H_

#include <string>

#include "tern/backend/rocm/runtime/hip_abi.h"
#include "tern/runtime/plugin_sdk.h"

namespace tern::backend::rocm {

// Throws with the call and what HIP says of the error.
void Check(hip::Result result, const char* call);

class Driver {
 public:
  // Opens libamdhip64.so. Where it is not there, there are no functions and no devices. Leaked: the
  // library does not outlive its own unloading.
  static Driver& Get();

  const hip::Functions& functions() const { return functions_; }
  int32_t count() const { return count_; }
  // Throws with the number of devices there are.
  void CheckDevice(int32_t number) const;
  std::string version() const;

 private:
  Driver();

  hip::Functions functions_;
  int32_t count_ = 0;
  std::string absence_;  // why there is no device
};

inline const hip::Functions& Hip() { return Driver::Get().functions(); }

std::string DeviceName(int32_t device);
// "gfx90a", without the features that may follow it. Throws where HIP does not tell.
std::string Architecture(int32_t device);
int Attribute(int32_t device, int attribute);

// A device is current while this lives, and what was current before is so again afterwards.
class Current {
 public:
  explicit Current(int32_t device);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  int before_ = 0;
  bool is_changed_ = false;
};

}  // namespace tern::backend::rocm

#endif  // TERN_BACKEND_ROCM_RUNTIME_DRIVER_H_
