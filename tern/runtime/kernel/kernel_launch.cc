// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/kernel/kernel_launch.h"

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

LaunchPlan::LaunchPlan(std::string name, const KernelInfo& info) : name_(std::move(name)) {
  for (DataType type : info.args) {
    args_.push_back(ArgOf(type));
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
    has_clusters |= tags_.back().place >= 6;
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
    std::memcpy(&value.memory, &slots_[map.arg], sizeof(void*));
    pointers_[plan_.args_.size() + maps_->values.size() - 1] = &value;
    if (!map.first_extent) continue;
    std::vector<uint64_t>& shape = maps_->shapes.emplace_back(map.shape);
    shape[0] = slots_[*map.first_extent];
    value.shape = shape.data();
  }
}

void PackedLaunch::SetOther(size_t i, const ffi::AnyView& value) {
  using Form = LaunchPlan::Form;
  const LaunchPlan::Arg& arg = plan_.args_[i];
  if (arg.form == Form::kMemory) {
    if (std::optional<void*> pointer = value.TryAs<void*>()) {
      slots_[i] = Slot(*pointer);
      return;
    }
  } else if (arg.form != Form::kInt && arg.form != Form::kNone) {
    if (std::optional<double> number = value.TryAs<double>()) {
      auto narrow = static_cast<float>(*number);
      slots_[i] = arg.form == Form::kFloat64   ? Slot(*number)
                  : arg.form == Form::kFloat32 ? Slot(narrow)
                                               : Slot(NarrowFloat(arg.type, narrow));
      return;
    }
  }
  Fail("argument " + std::to_string(i), arg.form == Form::kMemory ? "a buffer" : arg.type.str(),
       value);
}

void PackedLaunch::Fail(const std::string& what, const std::string& expected,
                        const ffi::AnyView& value) const {
  throw Error("TypeError", "kernel " + plan_.name_ + ": " + what + ": expected " + expected +
                               ", got " + ffi::Describe(value.raw()));
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
