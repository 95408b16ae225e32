// SPDX-License-Identifier: Apache-2.0
//
// From the values of a call to what a kernel loader launches.
#ifndef TERN_RUNTIME_KERNEL_LAUNCH_H_
#define TERN_RUNTIME_KERNEL_LAUNCH_H_

#include <memory>
#include <string>
#include <vector>

#include "tern/ffi/function.h"
#include "tern/runtime/device_artifact.h"
#include "tern/runtime/kernel_loader.h"

namespace tern::runtime {

// How a kernel is launched: what is the same at every launch.
class LaunchPlan {
 public:
  LaunchPlan(std::string name, const KernelInfo& info);
  LaunchPlan(const LaunchPlan&) = delete;

  const std::string& name() const { return name_; }

 private:
  friend class PackedLaunch;

  // A launch of no arguments and one thread, and of the plan's sizes and kinds.
  TernLaunch Empty() const;

  // How a value becomes an argument's bytes.
  enum class Form : uint8_t { kMemory, kInt, kFloat32, kFloat64, kNarrowFloat, kNone };
  struct Arg {
    DataType type;
    Form form;
    int64_t least, most;  // of kInt
  };
  struct Tag {
    std::string name;
    int place;  // of TernLaunch::grid, block and cluster, one after another
  };
  static constexpr int kDynamicShared = -1;

  static Arg ArgOf(DataType type);
  static Tag TagOf(const std::string& name);

  std::string name_;
  std::vector<Arg> args_;
  std::vector<Tag> tags_;
  std::vector<uint64_t> sizes_;
  std::vector<uint8_t> kinds_;
  uint64_t dynamic_shared_bytes_;
  uint32_t flags_ = 0;
};

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
  // on a wrong count, and on a value that the argument's type cannot hold. The plan outlives this.
  PackedLaunch(const LaunchPlan& plan, ffi::Args args);
  PackedLaunch(const PackedLaunch&) = delete;

  int32_t device_id() const { return device_id_; }
  // Whether an extent is zero: there is nothing to do.
  bool is_empty() const {
    for (int i = 0; i < 3; ++i)
      if (launch_.grid[i] == 0 || launch_.block[i] == 0) return true;
    return false;
  }
  // On a stream of the device. An error names the kernel and the sizes.
  void Run(const KernelLoader& loader, void* kernel, void* stream);

 private:
  void SetArgument(size_t i, const ffi::AnyView& value);
  void SetExtent(const LaunchPlan::Tag& tag, const ffi::AnyView& value);
  std::string Sizes() const;

  const LaunchPlan& plan_;
  int32_t device_id_ = 0;
  TernLaunch launch_;
  LaunchArray<uint64_t> slots_;  // the argument's bytes, at the start of its slot
  LaunchArray<const void*> pointers_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_KERNEL_LAUNCH_H_
