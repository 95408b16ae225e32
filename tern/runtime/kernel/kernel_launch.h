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
    // Values of this type index, from the least one to so many above it, have the argument's bytes.
    int32_t type_index;
    uint64_t least, range;
    Form form;
  };
  struct Tag {
    uint16_t offset;  // of its member of TernLaunch
    bool is_dynamic_shared, is_cluster;
  };
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
  // Of messages, apart from what each launch reads.
  std::vector<DataType> types_;
  std::vector<std::string> tag_names_;
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
        pointers_(plan.sizes_.size()) {
    size_t num_args = plan.args_.size(), num_tags = plan.tags_.size();
    if (args.size() != 1 + num_args + num_tags) [[unlikely]]
      FailCount(args.size());
    const ffi::AnyView* value = args.data();
    std::optional<int32_t> device_id = value->TryAs<int32_t>();
    if (!device_id || *device_id < 0) [[unlikely]]
      FailDevice(*value);
    device_id_ = *device_id;
    // Little endian: the low bytes of a value come first.
    const void** pointer = pointers_.data();
    for (const LaunchPlan::Arg& arg : plan.args_) {
      const TernAny& raw = (++value)->raw();
      *pointer = &raw.v_int;
      if (raw.type_index != arg.type_index ||
          static_cast<uint64_t>(raw.v_int) - arg.least > arg.range) [[unlikely]]
        SetOther(arg, *value, pointer);
      ++pointer;
    }
    for (const LaunchPlan::Tag& tag : plan.tags_) SetExtent(tag, *++value);
    launch_.args = pointers_.data();
    if (!plan.maps_.empty()) [[unlikely]]
      SetMaps();
  }
  PackedLaunch(const PackedLaunch&) = delete;

  int32_t device_id() const { return device_id_; }
  // Whether an extent is zero: there is nothing to do.
  bool is_empty() const { return is_empty_; }
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
  // A value whose bytes are not the argument's.
  void SetOther(const LaunchPlan::Arg& arg, const ffi::AnyView& value, const void** pointer);

  void SetMaps();

  void SetExtent(const LaunchPlan::Tag& tag, const ffi::AnyView& value) {
    std::optional<uint32_t> extent = value.TryAs<uint32_t>();
    if (!extent) [[unlikely]]
      FailExtent(tag, value);
    if (tag.is_dynamic_shared) [[unlikely]] {
      // A kernel that takes such memory gets some: plugins tell by that whether it does.
      launch_.dynamic_shared_bytes += *extent > 0 ? *extent : 1;
      return;
    }
    std::memcpy(reinterpret_cast<char*>(&launch_) + tag.offset, &*extent, sizeof *extent);
    is_empty_ |= *extent == 0 && !tag.is_cluster;
  }

  [[noreturn]] void Fail(const std::string& what, const std::string& expected,
                         const ffi::AnyView& value) const;
  [[noreturn]] void FailDevice(const ffi::AnyView& value) const;
  [[noreturn]] void FailExtent(const LaunchPlan::Tag& tag, const ffi::AnyView& value) const;
  [[noreturn]] void FailCount(size_t count) const;
  [[noreturn]] void FailLaunch(const Error& error) const;
  std::string Sizes() const;

  const LaunchPlan& plan_;
  int32_t device_id_ = 0;
  bool is_empty_ = false;
  TernLaunch launch_;
  size_t num_slots_ = 0;
  LaunchArray<uint64_t> slots_;  // of arguments that are no bytes of values
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
