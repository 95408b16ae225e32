// SPDX-License-Identifier: Apache-2.0
//
// From the values of a call to what a kernel loader launches.
#ifndef TERN_RUNTIME_KERNEL_KERNEL_LAUNCH_H_
#define TERN_RUNTIME_KERNEL_KERNEL_LAUNCH_H_

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tern/ffi/function.h"
#include "tern/runtime/kernel/device_artifact.h"
#include "tern/runtime/kernel/kernel_loader.h"

namespace tern::runtime {

// How a kernel is launched: what is the same at every launch.
class LaunchPlan {
 public:
  LaunchPlan(std::string name, const KernelInfo& info);
  LaunchPlan(const LaunchPlan&) = delete;

  const std::string& name() const { return name_; }

 private:
  friend class PackedLaunch;

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
  // A tensor map, but for its memory, which an argument is, and its first extent, which may be one.
  struct Map {
    std::vector<uint64_t> shape, strides;
    std::vector<uint32_t> box;
    size_t arg;
    std::optional<size_t> first_extent;
    TernTensorMap value;
  };

  static Arg ArgOf(DataType type);
  static Tag TagOf(const std::string& name);

  std::string name_;
  std::vector<Arg> args_;
  std::vector<Tag> tags_;
  std::vector<Map> maps_;  // behind the arguments
  std::vector<uint64_t> sizes_;
  std::vector<uint8_t> kinds_;
  TernLaunch launch_;  // without arguments and of one thread
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

// Its functions are inlined into the one caller: they are much of what a launch costs.
class PackedLaunch {
 public:
  // `args`: the device id, one value per argument of the kernel, one extent per launch tag. Throws
  // on a wrong count, and on a value that the argument's type cannot hold. The plan outlives this.
  PackedLaunch(const LaunchPlan& plan, ffi::Args args)
      : plan_(plan),
        launch_(plan.launch_),
        slots_(plan.args_.size()),
        pointers_(plan.args_.size() + plan.maps_.size()) {
    size_t num_args = plan.args_.size(), num_tags = plan.tags_.size();
    if (args.size() != 1 + num_args + num_tags) [[unlikely]]
      FailCount(args.size());
    std::optional<int32_t> device_id = args[0].TryAs<int32_t>();
    if (!device_id || *device_id < 0) [[unlikely]]
      Fail("device id", "a number of a device", args[0]);
    device_id_ = *device_id;
    for (size_t i = 0; i < num_args; ++i) SetArgument(i, args[1 + i]);
    for (size_t i = 0; i < num_tags; ++i) SetExtent(plan.tags_[i], args[1 + num_args + i]);
    launch_.args = pointers_.data();
    if (!plan.maps_.empty()) [[unlikely]]
      SetMaps();
  }
  PackedLaunch(const PackedLaunch&) = delete;

  int32_t device_id() const { return device_id_; }
  // Whether an extent is zero: there is nothing to do.
  bool is_empty() const {
    for (int i = 0; i < 3; ++i)
      if (launch_.grid[i] == 0 || launch_.block[i] == 0) return true;
    return false;
  }
  // On a stream of the device. An error names the kernel and the sizes.
  void Run(const KernelLoader& loader, void* kernel, void* stream) {
    launch_.stream = stream;
    try {
      loader.Launch(kernel, launch_);
    } catch (const Error& error) {
      FailLaunch(error);
    }
  }

 private:
  void SetArgument(size_t i, const ffi::AnyView& value) {
    const LaunchPlan::Arg& arg = plan_.args_[i];
    pointers_[i] = &slots_[i];
    if (arg.form == LaunchPlan::Form::kMemory && value.type_index() == kTernOpaquePtr) [[likely]] {
      void* pointer = value.raw().v_ptr;
      std::memcpy(&(slots_[i] = 0), &pointer, sizeof pointer);
      return;
    }
    std::optional<int64_t> number;
    if (arg.form == LaunchPlan::Form::kInt) number = value.TryAs<int64_t>();
    if (number && *number >= arg.least && *number <= arg.most)
      slots_[i] = static_cast<uint64_t>(*number);  // little endian: the low bytes come first
    else
      SetOther(i, value);
  }
  // What is neither memory nor an integer in its range.
  void SetOther(size_t i, const ffi::AnyView& value);

  void SetMaps();

  void SetExtent(const LaunchPlan::Tag& tag, const ffi::AnyView& value) {
    std::optional<uint32_t> extent = value.TryAs<uint32_t>();
    if (!extent) [[unlikely]]
      Fail("extent of " + tag.name, "a size of 32 bits", value);
    if (tag.place < 3 && tag.place >= 0)
      launch_.grid[tag.place] = *extent;
    else if (tag.place < 6 && tag.place >= 0)
      launch_.block[tag.place - 3] = *extent;
    else if (tag.place >= 0)
      launch_.cluster[tag.place - 6] = *extent;
    else  // A kernel that takes such memory gets some: plugins tell by that whether it does.
      launch_.dynamic_shared_bytes += *extent > 0 ? *extent : 1;
  }

  [[noreturn]] void Fail(const std::string& what, const std::string& expected,
                         const ffi::AnyView& value) const;
  [[noreturn]] void FailCount(size_t count) const;
  [[noreturn]] void FailLaunch(const Error& error) const;
  std::string Sizes() const;

  const LaunchPlan& plan_;
  int32_t device_id_ = 0;
  TernLaunch launch_;
  LaunchArray<uint64_t> slots_;  // the argument's bytes, at the start of its slot
  LaunchArray<const void*> pointers_;
  // Of a launch that has some: the maps, and the shapes of those whose first extent is an argument.
  struct Maps {
    std::vector<TernTensorMap> values;
    std::vector<std::vector<uint64_t>> shapes;
  };
  std::unique_ptr<Maps> maps_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_KERNEL_KERNEL_LAUNCH_H_
