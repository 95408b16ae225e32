// SPDX-License-Identifier: Apache-2.0
//
// What a session has on a device: the stream of its work, temporary memory of kernels, and the
// memory through which inputs and outputs of the host go.
#ifndef TERN_RUNTIME_VM_DEVICE_WORK_H_
#define TERN_RUNTIME_VM_DEVICE_WORK_H_

#include <memory>
#include <optional>
#include <vector>

#include "tern/runtime/host/workspace.h"
#include "tern/runtime/stream.h"
#include "tern/runtime/tensor.h"

namespace tern::runtime::vm {

class DeviceWork {
 public:
  explicit DeviceWork(TernDevice device);
  // Waits for what is under way.
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;

  const Stream& stream() const { return stream_; }
  // Until the stream has done all.
  void Wait();

  // While it lives, what this thread gives to the device goes to the session's stream, behind what
  // the stream that was current had been given.
  class Scope {
   public:
    explicit Scope(DeviceWork* work);
    // Without `Leave`: after an error. Waits, so that nothing uses memory of the caller.
    ~Scope();
    Scope(const Scope&) = delete;
    // The stream before is current again; what it is given comes behind the session's work.
    void Leave();

   private:
    void Restore();

    DeviceWork& work_;
    void* before_;
    DeviceWorkspace* workspace_before_;
    bool is_entered_ = true;
  };

  // Input `index` on the device, of any tensor of the host: it may be used as soon as this returns.
  Tensor Upload(size_t index, const Tensor& host);
  // Output `index` on the host once Wait was called; valid until the next one.
  Tensor Download(size_t index, const Tensor& from);
  // Memory of the host for one element. It stays: where waiting failed, the copy may come later.
  char* element() { return element_; }

 private:
  // A tensor's two sides.
  struct Pair {
    Tensor host, device;
    bool is_read = false;  // the copy from the host may be under way
  };
  Tensor PageLocked(const Tensor& like) const;

  TernDevice device_;
  Stream stream_;
  std::optional<Event> before_, after_;  // where the device has events
  std::shared_ptr<DeviceWorkspace> workspace_;
  std::vector<Pair> uploads_, downloads_;
  char element_[8] = {};
};

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_DEVICE_WORK_H_
