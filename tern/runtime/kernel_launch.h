// SPDX-License-Identifier: Apache-2.0
//
// From the values of a call to what a kernel loader launches.
#ifndef TERN_RUNTIME_KERNEL_LAUNCH_H_
#define TERN_RUNTIME_KERNEL_LAUNCH_H_

#include <memory>
#include <string>

#include "tern/ffi/function.h"
#include "tern/runtime/device_artifact.h"
#include "tern/runtime/kernel_loader.h"

namespace tern::runtime {

// Of a size that is known when it is made; few elements need no heap: launches are frequent.
template <class T>
class LaunchArray {
 public:
  explicit LaunchArray(size_t size)
      : heap_(size > kInline ? new T[size] : nullptr), data_(heap_ ? heap_.get() : inline_) {}
  LaunchArray(const LaunchArray&) = delete;
  T& operator[](size_t i) { return data_[i]; }
  T* data() { return data_; }

 private:
  static constexpr size_t kInline = 16;
  T inline_[kInline];
  std::unique_ptr<T[]> heap_;
  T* data_;
};

class PackedLaunch {
 public:
  // `args`: the device id, one value per argument of the kernel, one extent per launch tag. Throws
  // on a wrong count, and on a value that the argument's type cannot hold. `name` outlives this.
  PackedLaunch(const std::string& name, const KernelInfo& info, ffi::Args args);
  PackedLaunch(const PackedLaunch&) = delete;

  int32_t device_id() const { return device_id_; }
  // Whether an extent is zero: there is nothing to do.
  bool is_empty() const;
  // On a stream of the device. An error names the kernel and the sizes.
  void Run(const KernelLoader& loader, void* kernel, void* stream);

 private:
  void SetExtent(const std::string& tag, const ffi::AnyView& value);
  std::string Sizes() const;

  const std::string& name_;
  int32_t device_id_ = 0;
  TernLaunch launch_{};
  LaunchArray<uint64_t> slots_;  // the argument's bytes, at the start of its slot
  LaunchArray<const void*> pointers_;
  LaunchArray<uint64_t> sizes_;
  LaunchArray<uint8_t> is_memory_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_KERNEL_LAUNCH_H_
