// SPDX-License-Identifier: Apache-2.0
//
// The Metal framework, opened at first use, and its devices.
#ifndef TERN_BACKEND_METAL_RUNTIME_DRIVER_H_
#define TERN_BACKEND_METAL_RUNTIME_DRIVER_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tern/backend/metal/runtime/objc.h"
#include "tern/runtime/plugin_sdk.h"

namespace tern::backend::metal {

// A queue, and what was given to it and not looked at since.
class Stream {
 public:
  explicit Stream(Ref queue) : queue_(std::move(queue)) {}

  // Gives a command buffer, as `encode` fills it, to the queue.
  Ref Submit(const std::function<void(Id commands)>& encode);
  // Waits for all that was given. Throws what went wrong with any of it since the last time.
  void Drain();

 private:
  // Forgets what is done and went well.
  void Forget();

  Ref queue_;
  std::mutex mutex_;
  std::vector<Ref> pending_;
};

// Waits for a command buffer. Throws what went wrong.
void WaitFor(Id commands);

// Device memory as Tern sees it is the MTLBuffer itself, which the host can access too.
class Device {
 public:
  Device(Ref handle, int32_t number) : handle_(std::move(handle)), number_(number) {}

  Id handle() const { return handle_.get(); }
  int32_t number() const { return number_; }
  std::string name() const;
  UInt Number(const char* property) const { return Send<UInt>(handle(), property); }
  bool IsOfFamily(Int family) const;
  // What all kernels may have at most; a kernel's own limit may be lower.
  UInt max_threads() const;
  // The default one where `stream` is null.
  Stream& stream(void* stream);
  std::unique_ptr<Stream> NewStream() const;

 private:
  Ref handle_;
  int32_t number_;
  std::mutex mutex_;
  std::unique_ptr<Stream> default_stream_;
};

enum Family : Int {
  kFirstApple = 1001,
  kApple4 = 1004,
  kApple7 = 1007,
  kLastApple = 1010,
  kMac2 = 2002,
  kMetal3 = 5001
};

class Driver {
 public:
  // Opens libobjc and the framework and lists the devices. Where they are not there are no devices.
  // Leaked: drivers do not outlive their own unloading.
  static Driver& Get();

  int32_t count() const { return static_cast<int32_t>(devices_.size()); }
  // Throws with the number of devices there are.
  Device& device(int32_t number);
  // Of the system's library for data; may be null.
  Id (*create_data)(const void* bytes, size_t size, void* queue, void* destructor) = nullptr;

 private:
  Driver();
  void Open();
  void ListDevices();

  void* devices_function_ = nullptr;
  bool is_default_ = false;  // the function gives one device, not a list
  std::vector<Device*> devices_;
  std::string absence_;  // why there is no device
};

}  // namespace tern::backend::metal

#endif  // TERN_BACKEND_METAL_RUNTIME_DRIVER_H_
