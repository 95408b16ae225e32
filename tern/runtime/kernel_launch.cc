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

[[noreturn]] void Fail(const std::string& kernel, const std::string& what, const char* expected,
                       const ffi::AnyView& value) {
  throw Error("TypeError", "kernel " + kernel + ": " + what + ": expected " + expected + ", got " +
                               ffi::Describe(value.raw()));
}

template <class T>
uint64_t Slot(T value) {
  uint64_t slot = 0;
  std::memcpy(&slot, &value, sizeof value);
  return slot;
}

// Whether an integer of that type can have the value. 64 bits hold every bit pattern: a uint64
// comes as an int64.
bool Fits(DataType type, int64_t value) {
  if (type.is_bool()) return value == 0 || value == 1;
  if (type.bits() == 64) return true;
  int64_t range = int64_t{1} << (type.is_uint() ? type.bits() : type.bits() - 1);
  return value < range && value >= (type.is_uint() ? 0 : -range);
}

std::optional<uint64_t> Convert(DataType type, const ffi::AnyView& value) {
  if (!type.is_scalar()) return std::nullopt;
  if (type.is_handle()) {
    std::optional<void*> pointer = value.TryAs<void*>();
    return pointer ? std::optional(Slot(*pointer)) : std::nullopt;
  }
  if (type.is_float()) {
    std::optional<double> number = value.TryAs<double>();
    if (!number) return std::nullopt;
    auto narrow = static_cast<float>(*number);
    if (type.is_narrow_float()) return Slot(NarrowFloat(type, narrow));
    return type.bits() == 32 ? Slot(narrow) : Slot(*number);
  }
  std::optional<int64_t> number = value.TryAs<int64_t>();
  if (!number || !Fits(type, *number)) return std::nullopt;
  // Little endian: the low bytes come first.
  return static_cast<uint64_t>(*number);
}

}  // namespace

PackedLaunch::PackedLaunch(const std::string& name, const KernelInfo& info, ffi::Args args)
    : name_(name),
      launch_{.grid = {1, 1, 1}, .block = {1, 1, 1}},
      slots_(info.args.size()),
      pointers_(info.args.size()),
      sizes_(info.args.size()),
      is_memory_(info.args.size()) {
  size_t num_args = info.args.size(), num_tags = info.launch_tags.size();
  if (args.size() != 1 + num_args + num_tags)
    TERN_THROW(TypeError) << "kernel " << name << ": expected " << 1 + num_args + num_tags
                          << " values (the device id, " << num_args << " arguments, " << num_tags
                          << " launch extents), got " << args.size();
  std::optional<int32_t> device_id = args[0].TryAs<int32_t>();
  if (!device_id || *device_id < 0) Fail(name, "device id", "a number of a device", args[0]);
  device_id_ = *device_id;

  for (size_t i = 0; i < num_args; ++i) {
    const ffi::AnyView& value = args[1 + i];
    std::optional<uint64_t> slot = Convert(info.args[i], value);
    if (!slot)
      Fail(name, "argument " + std::to_string(i),
           info.args[i].is_handle() ? "a buffer" : info.args[i].str().c_str(), value);
    slots_[i] = *slot;
    pointers_[i] = &slots_[i];
    sizes_[i] = static_cast<uint64_t>(info.args[i].bytes());
    is_memory_[i] = info.args[i].is_handle();
  }
  launch_.dynamic_shared_bytes = info.dynamic_shared_bytes;
  for (size_t i = 0; i < num_tags; ++i) SetExtent(info.launch_tags[i], args[1 + num_args + i]);
  launch_.num_args = static_cast<int32_t>(num_args);
  launch_.args = pointers_.data();
  launch_.arg_sizes = sizes_.data();
  launch_.arg_is_memory = is_memory_.data();
}

void PackedLaunch::SetExtent(const std::string& tag, const ffi::AnyView& value) {
  std::optional<int64_t> extent = value.TryAs<int64_t>();
  if (!extent || *extent < 0 || *extent > std::numeric_limits<uint32_t>::max())
    Fail(name_, "extent of " + tag, "a size of 32 bits", value);
  if (tag == kDynamicSharedTag) {
    // A kernel that takes such memory gets some: plugins tell by that whether it does.
    launch_.dynamic_shared_bytes += std::max<uint64_t>(static_cast<uint64_t>(*extent), 1);
    return;
  }
  auto& extents = tag.starts_with("blockIdx") ? launch_.grid : launch_.block;
  extents[tag.back() - 'x'] = static_cast<uint32_t>(*extent);
}

bool PackedLaunch::is_empty() const {
  for (int i = 0; i < 3; ++i)
    if (launch_.grid[i] == 0 || launch_.block[i] == 0) return true;
  return false;
}

std::string PackedLaunch::Sizes() const {
  std::ostringstream out;
  const auto& [gx, gy, gz] = launch_.grid;
  const auto& [bx, by, bz] = launch_.block;
  out << "grid (" << gx << ", " << gy << ", " << gz << "), block (" << bx << ", " << by << ", "
      << bz << ")";
  if (launch_.dynamic_shared_bytes > 0)
    out << ", " << launch_.dynamic_shared_bytes << " bytes of dynamic shared memory";
  return out.str();
}

void PackedLaunch::Run(const KernelLoader& loader, void* kernel, void* stream) {
  launch_.stream = stream;
  try {
    loader.Launch(kernel, launch_);
  } catch (const Error& error) {
    throw Error(error.kind(), "kernel " + name_ + ": " + Sizes() + ": " + error.message());
  }
}

}  // namespace tern::runtime
