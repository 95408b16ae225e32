// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/kernel_launch.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>

#include "tern/ffi/float16.h"
#include "tern/runtime/tensor.h"

namespace tern::runtime {
namespace {

[[noreturn]] void Fail(const std::string& kernel, const std::string& what,
                       const std::string& expected, const ffi::AnyView& value) {
  throw Error("TypeError", "kernel " + kernel + ": " + what + ": expected " + expected + ", got " +
                               ffi::Describe(value.raw()));
}

template <class T>
uint64_t Slot(T value) {
  uint64_t slot = 0;
  std::memcpy(&slot, &value, sizeof value);
  return slot;
}

}  // namespace

LaunchPlan::Arg LaunchPlan::ArgOf(DataType type) {
  Arg arg{type, Form::kNone, std::numeric_limits<int64_t>::min(),
          std::numeric_limits<int64_t>::max()};
  if (!type.is_scalar()) return arg;
  if (type.is_handle()) {
    arg.form = Form::kMemory;
  } else if (type.is_float()) {
    arg.form = type.is_narrow_float() ? Form::kNarrowFloat
               : type.bits() == 32    ? Form::kFloat32
                                      : Form::kFloat64;
  } else {
    arg.form = Form::kInt;
    // 64 bits hold every bit pattern: a uint64 comes as an int64.
    if (type.is_bool()) {
      arg.least = 0;
      arg.most = 1;
    } else if (type.bits() < 64) {
      int64_t range = int64_t{1} << (type.is_uint() ? type.bits() : type.bits() - 1);
      arg.least = type.is_uint() ? 0 : -range;
      arg.most = range - 1;
    }
  }
  return arg;
}

LaunchPlan::Tag LaunchPlan::TagOf(const std::string& name) {
  if (name == kDynamicSharedTag) return {name, kDynamicShared};
  int first = name.starts_with("blockIdx") ? 0 : name.starts_with("threadIdx") ? 3 : 6;
  return {name, first + name.back() - 'x'};
}

LaunchPlan::LaunchPlan(std::string name, const KernelInfo& info)
    : name_(std::move(name)), dynamic_shared_bytes_(info.dynamic_shared_bytes) {
  for (DataType type : info.args) {
    args_.push_back(ArgOf(type));
    sizes_.push_back(static_cast<uint64_t>(type.bytes()));
    kinds_.push_back(type.is_handle() ? kTernArgMemory : kTernArgNumber);
  }
  for (const std::string& tag : info.launch_tags) {
    tags_.push_back(TagOf(tag));
    if (tags_.back().place >= 6) flags_ |= kTernLaunchClusters;
  }
}

TernLaunch LaunchPlan::Empty() const {
  return {.grid = {1, 1, 1},
          .block = {1, 1, 1},
          .dynamic_shared_bytes = dynamic_shared_bytes_,
          .num_args = static_cast<int32_t>(args_.size()),
          .arg_sizes = sizes_.data(),
          .arg_is_memory = kinds_.data(),
          .size = sizeof(TernLaunch),
          .version = TERN_PLUGIN_API_VERSION,
          .arg_kinds = kinds_.data(),
          .cluster = {1, 1, 1},
          .flags = flags_};
}

PackedLaunch::PackedLaunch(const LaunchPlan& plan, ffi::Args args)
    : plan_(plan), launch_(plan.Empty()), slots_(plan.args_.size()), pointers_(plan.args_.size()) {
  size_t num_args = plan.args_.size(), num_tags = plan.tags_.size();
  if (args.size() != 1 + num_args + num_tags) [[unlikely]]
    TERN_THROW(TypeError) << "kernel " << plan.name_ << ": expected " << 1 + num_args + num_tags
                          << " values (the device id, " << num_args << " arguments, " << num_tags
                          << " launch extents), got " << args.size();
  std::optional<int32_t> device_id = args[0].TryAs<int32_t>();
  if (!device_id || *device_id < 0) [[unlikely]]
    Fail(plan.name_, "device id", "a number of a device", args[0]);
  device_id_ = *device_id;
  for (size_t i = 0; i < num_args; ++i) SetArgument(i, args[1 + i]);
  for (size_t i = 0; i < num_tags; ++i) SetExtent(plan.tags_[i], args[1 + num_args + i]);
  launch_.args = pointers_.data();
}

void PackedLaunch::SetArgument(size_t i, const ffi::AnyView& value) {
  using Form = LaunchPlan::Form;
  const LaunchPlan::Arg& arg = plan_.args_[i];
  pointers_[i] = &slots_[i];
  switch (arg.form) {
    case Form::kMemory:
      if (std::optional<void*> pointer = value.TryAs<void*>()) [[likely]] {
        slots_[i] = Slot(*pointer);
        return;
      }
      break;
    case Form::kInt:
      if (std::optional<int64_t> number = value.TryAs<int64_t>();
          number && *number >= arg.least && *number <= arg.most) [[likely]] {
        slots_[i] = static_cast<uint64_t>(*number);  // little endian: the low bytes come first
        return;
      }
      break;
    case Form::kNone:
      break;
    default:
      if (std::optional<double> number = value.TryAs<double>()) [[likely]] {
        auto narrow = static_cast<float>(*number);
        slots_[i] = arg.form == Form::kFloat64   ? Slot(*number)
                    : arg.form == Form::kFloat32 ? Slot(narrow)
                                                 : Slot(NarrowFloat(arg.type, narrow));
        return;
      }
  }
  Fail(plan_.name_, "argument " + std::to_string(i),
       arg.form == Form::kMemory ? "a buffer" : arg.type.str(), value);
}

void PackedLaunch::SetExtent(const LaunchPlan::Tag& tag, const ffi::AnyView& value) {
  std::optional<int64_t> extent = value.TryAs<int64_t>();
  if (!extent || *extent < 0 || *extent > std::numeric_limits<uint32_t>::max()) [[unlikely]]
    Fail(plan_.name_, "extent of " + tag.name, "a size of 32 bits", value);
  if (tag.place == LaunchPlan::kDynamicShared) {
    // A kernel that takes such memory gets some: plugins tell by that whether it does.
    launch_.dynamic_shared_bytes += std::max<uint64_t>(static_cast<uint64_t>(*extent), 1);
    return;
  }
  auto size = static_cast<uint32_t>(*extent);
  if (tag.place < 3)
    launch_.grid[tag.place] = size;
  else if (tag.place < 6)
    launch_.block[tag.place - 3] = size;
  else
    launch_.cluster[tag.place - 6] = size;
}

std::string PackedLaunch::Sizes() const {
  std::ostringstream out;
  auto axes = [&](const char* what, const uint32_t (&sizes)[3]) {
    out << what << " (" << sizes[0] << ", " << sizes[1] << ", " << sizes[2] << ")";
  };
  axes("grid", launch_.grid);
  axes(", block", launch_.block);
  if (launch_.flags & kTernLaunchClusters) axes(", cluster", launch_.cluster);
  if (launch_.dynamic_shared_bytes > 0)
    out << ", " << launch_.dynamic_shared_bytes << " bytes of dynamic shared memory";
  return out.str();
}

void PackedLaunch::Run(const KernelLoader& loader, void* kernel, void* stream) {
  launch_.stream = stream;
  try {
    loader.Launch(kernel, launch_);
  } catch (const Error& error) {
    throw Error(error.kind(), "kernel " + plan_.name_ + ": " + Sizes() + ": " + error.message());
  }
}

}  // namespace tern::runtime
