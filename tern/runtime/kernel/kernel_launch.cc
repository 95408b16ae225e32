// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/kernel/kernel_launch.h"

#include <cstddef>
#include <limits>
#include <sstream>

#include "tern/ffi/float16.h"
#include "tern/runtime/tensor.h"

namespace tern::runtime {
namespace {

template <class T>
uint64_t Slot(T value) {
  uint64_t slot = 0;
  std::memcpy(&slot, &value, sizeof value);
  return slot;
}

}  // namespace

LaunchPlan::Arg LaunchPlan::ArgOf(DataType type) {
  constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
  constexpr int32_t kNoValue = -1;
  Arg arg{.type_index = kNoValue, .least = 0, .range = kAny, .form = Form::kNone};
  if (!type.is_scalar()) return arg;
  if (type.is_handle()) {
    arg.form = Form::kMemory;
    arg.type_index = kTernOpaquePtr;
  } else if (type.is_float()) {
    arg.form = type.is_narrow_float() ? Form::kNarrowFloat
               : type.bits() == 32    ? Form::kFloat32
                                      : Form::kFloat64;
    if (arg.form == Form::kFloat64) arg.type_index = kTernFloat;
  } else {
    arg.form = Form::kInt;
    arg.type_index = type.is_bool() ? kTernBool : kTernInt;
    // 64 bits hold every bit pattern: a uint64 comes as an int64.
    if (type.is_bool()) {
      arg.range = 1;
    } else if (type.bits() < 64) {
      arg.range = (uint64_t{1} << type.bits()) - 1;
      if (!type.is_uint()) arg.least = -(uint64_t{1} << (type.bits() - 1));
    }
  }
  return arg;
}

LaunchPlan::Tag LaunchPlan::TagOf(const std::string& name) {
  if (name == kDynamicSharedTag) return {0, true, false};
  bool is_cluster = name.starts_with("clusterIdx");
  size_t first = name.starts_with("blockIdx")    ? offsetof(TernLaunch, grid)
                 : name.starts_with("threadIdx") ? offsetof(TernLaunch, block)
                                                 : offsetof(TernLaunch, cluster);
  size_t axis = static_cast<size_t>(name.back() - 'x') * sizeof(uint32_t);
  return {static_cast<uint16_t>(first + axis), false, is_cluster};
}

LaunchPlan::LaunchPlan(std::string name, const KernelInfo& info) : name_(std::move(name)) {
  for (DataType type : info.args) {
    args_.push_back(ArgOf(type));
    types_.push_back(type);
    sizes_.push_back(static_cast<uint64_t>(type.bytes()));
    kinds_.push_back(type.is_handle() ? kTernArgMemory : kTernArgNumber);
  }
  for (const TensorMapInfo& info_of : info.tensor_maps) {
    Map& map = maps_.emplace_back();
    map.shape.assign(info_of.shape.begin(), info_of.shape.end());
    map.strides.assign(info_of.strides.begin(), info_of.strides.end());
    map.box.assign(info_of.box.begin(), info_of.box.end());
    map.arg = static_cast<size_t>(info_of.arg);
    if (info_of.first_extent) map.first_extent = static_cast<size_t>(*info_of.first_extent);
    sizes_.push_back(sizeof(TernTensorMap));
    kinds_.push_back(kTernArgTensorMap);
    map.value = {.memory = nullptr,
                 .offset = 0,
                 .dtype = info_of.dtype.raw(),
                 .ndim = static_cast<int32_t>(info_of.shape.size()),
                 .swizzle = static_cast<int32_t>(info_of.swizzle),
                 .shape = map.shape.data(),
                 .strides = map.strides.data(),
                 .box = map.box.data()};
  }
  bool has_clusters = false;
  for (const std::string& tag : info.launch_tags) {
    tags_.push_back(TagOf(tag));
    tag_names_.push_back(tag);
    has_clusters |= tags_.back().is_cluster;
  }
  launch_ = {.grid = {1, 1, 1},
             .block = {1, 1, 1},
             .dynamic_shared_bytes = info.dynamic_shared_bytes,
             .num_args = static_cast<int32_t>(sizes_.size()),
             .arg_sizes = sizes_.data(),
             .arg_is_memory = kinds_.data(),
             .size = sizeof(TernLaunch),
             .version = TERN_PLUGIN_API_VERSION,
             .arg_kinds = kinds_.data(),
             .cluster = {1, 1, 1},
             .flags = (has_clusters ? uint32_t{kTernLaunchClusters} : 0) |
                      (maps_.empty() ? 0 : uint32_t{kTernLaunchTensorMaps})};
}

void PackedLaunch::SetMaps() {
  maps_ = std::make_unique<Maps>();
  maps_->values.reserve(plan_.maps_.size());
  maps_->shapes.reserve(plan_.maps_.size());
  for (const LaunchPlan::Map& map : plan_.maps_) {
    TernTensorMap& value = maps_->values.emplace_back(map.value);
    std::memcpy(&value.memory, pointers_[map.arg], sizeof(void*));
    pointers_[plan_.args_.size() + maps_->values.size() - 1] = &value;
    if (!map.first_extent) continue;
    std::vector<uint64_t>& shape = maps_->shapes.emplace_back(map.shape);
    std::memcpy(shape.data(), pointers_[*map.first_extent], plan_.sizes_[*map.first_extent]);
    value.shape = shape.data();
  }
}

void PackedLaunch::SetOther(const LaunchPlan::Arg& arg, const ffi::AnyView& value,
                            const void** pointer) {
  using Form = LaunchPlan::Form;
  auto index = static_cast<size_t>(&arg - plan_.args_.data());
  DataType type = plan_.types_[index];
  uint64_t& slot = slots_[num_slots_++];
  *pointer = &slot;
  if (arg.form == Form::kMemory) {
    if (std::optional<void*> memory = value.TryAs<void*>()) {
      slot = Slot(*memory);
      return;
    }
  } else if (arg.form == Form::kInt) {
    std::optional<int64_t> number = value.TryAs<int64_t>();
    if (number && static_cast<uint64_t>(*number) - arg.least <= arg.range) {
      slot = static_cast<uint64_t>(*number);
      return;
    }
  } else if (arg.form != Form::kNone) {
    if (std::optional<double> number = value.TryAs<double>()) {
      auto narrow = static_cast<float>(*number);
      slot = arg.form == Form::kFloat64   ? Slot(*number)
             : arg.form == Form::kFloat32 ? Slot(narrow)
                                          : Slot(NarrowFloat(type, narrow));
      return;
    }
  }
  Fail("argument " + std::to_string(index), arg.form == Form::kMemory ? "a buffer" : type.str(),
       value);
}

void PackedLaunch::Fail(const std::string& what, const std::string& expected,
                        const ffi::AnyView& value) const {
  throw Error("TypeError", "kernel " + plan_.name_ + ": " + what + ": expected " + expected +
                               ", got " + ffi::Describe(value.raw()));
}

void PackedLaunch::FailDevice(const ffi::AnyView& value) const {
  Fail("device id", "a number of a device", value);
}

void PackedLaunch::FailExtent(const LaunchPlan::Tag& tag, const ffi::AnyView& value) const {
  const std::string& name = plan_.tag_names_[static_cast<size_t>(&tag - plan_.tags_.data())];
  Fail("extent of " + name, "a size of 32 bits", value);
}

void PackedLaunch::FailCount(size_t count) const {
  size_t num_args = plan_.args_.size(), num_tags = plan_.tags_.size();
  TERN_THROW(TypeError) << "kernel " << plan_.name_ << ": expected " << 1 + num_args + num_tags
                        << " values (the device id, " << num_args << " arguments, " << num_tags
                        << " launch extents), got " << count;
  __builtin_unreachable();
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

void PackedLaunch::FailLaunch(const Error& error) const {
  throw Error(error.kind(), "kernel " + plan_.name_ + ": " + Sizes() + ": " + error.message());
}

}  // namespace tern::runtime
