// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/tensor.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tern/ffi/float16.h"
#include "tern/ffi/text.h"
#include "tern/runtime/device.h"

namespace tern::runtime {
namespace {

// What vector loads and device copies like best.
constexpr uint64_t kAlignment = 64;

// Two's complement: what remains of an integer in `bits` bits.
int64_t ToWrappedInt(double value) {
  if (!std::isfinite(value)) return 0;
  double rounded = std::nearbyint(value);
  if (std::abs(rounded) < 0x1p63) return static_cast<int64_t>(rounded);
  double wrapped = std::fmod(rounded, 0x1p64);
  if (wrapped < 0) wrapped += 0x1p64;
  return static_cast<int64_t>(wrapped >= 0x1p63 ? wrapped - 0x1p64 : wrapped);
}

template <class T>
double LoadAs(const void* data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + i * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return static_cast<double>(value);
}

template <class T>
void StoreAs(void* data, int64_t i, T value) {
  std::memcpy(static_cast<char*>(data) + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

[[noreturn]] void FailOnType(DataType dtype) {
  throw Error("TypeError", "elements of type " + dtype.str() + " cannot be read as numbers");
}

}  // namespace

TensorObj::TensorObj(std::vector<int64_t> shape, DataType dtype, TernDevice device,
                     const TensorLayout& layout)
    : shape_(std::move(shape)) {
  TERN_CHECK(dtype.bytes() > 0 && !dtype.is_handle())
      << "a tensor cannot have elements of type " << dtype.str();
  strides_.resize(shape_.size());
  // Strides of empty tensors do not matter, but the product of their other extents must not
  // overflow either.
  int64_t stride = 1;
  for (size_t axis = shape_.size(); axis-- > 0;) {
    TERN_CHECK(shape_[axis] >= 0) << "shape " << ffi::ShapeText(shape_) << " has a negative extent";
    strides_[axis] = stride;
    TERN_CHECK(!__builtin_mul_overflow(stride, std::max<int64_t>(shape_[axis], 1), &stride))
        << "shape " << ffi::ShapeText(shape_) << " has more elements than 64 bits can count";
  }
  TERN_CHECK(stride <= std::numeric_limits<int64_t>::max() / dtype.bytes())
      << "a " << dtype.str() << " tensor of shape " << ffi::ShapeText(shape_)
      << " has more bytes than 64 bits can count";
  SetLayout(layout, dtype);
  view_.device = device;
  view_.ndim = static_cast<int32_t>(shape_.size());
  view_.dtype = dtype.raw();
  view_.shape = shape_.data();
  view_.strides = strides_.data();
  view_.data = GetDeviceKind(device.type).Alloc(device.id, storage_bytes(), kAlignment);
}

void TensorObj::SetLayout(const TensorLayout& layout, DataType dtype) {
  TERN_CHECK(layout.offset >= 0) << "a tensor cannot have the offset " << layout.offset;
  if (!layout.strides.empty()) {
    TERN_CHECK(layout.strides.size() == shape_.size())
        << "a tensor of shape " << ffi::ShapeText(shape_) << " cannot have strides "
        << ffi::ShapeText(layout.strides);
    is_row_major_ = layout.strides == strides_;
    strides_ = layout.strides;
  }
  span_ = num_elements() == 0 ? 0 : 1;
  bool fits = true;
  for (size_t axis = 0; axis < shape_.size(); ++axis) {
    TERN_CHECK(strides_[axis] >= 0)
        << "strides " << ffi::ShapeText(strides_) << ": a tensor made here has none below 0";
    int64_t steps = 0;
    if (span_ > 0)
      fits = fits && !__builtin_mul_overflow(shape_[axis] - 1, strides_[axis], &steps) &&
             !__builtin_add_overflow(span_, steps, &span_);
  }
  int64_t elements = 0, bytes = 0;
  fits = fits && !__builtin_add_overflow(span_, layout.offset, &elements) &&
         !__builtin_mul_overflow(elements, static_cast<int64_t>(dtype.bytes()), &bytes);
  TERN_CHECK(fits) << "a tensor of " << dtype.str() << " with shape " << ffi::ShapeText(shape_)
                   << ", strides " << ffi::ShapeText(strides_) << " and offset " << layout.offset
                   << " has more bytes than 64 bits can count";
  view_.byte_offset = static_cast<uint64_t>(layout.offset * dtype.bytes());
}

TensorObj::~TensorObj() {
  try {
    GetDeviceKind(view_.device.type).Free(view_.device.id, view_.data);
  } catch (const Error&) {
    // A device that fails to take memory back has been lost; whoever uses it next is told.
  }
}

int64_t TensorObj::num_elements() const {
  int64_t count = 1;
  for (int64_t extent : shape_) count *= extent;
  return count;
}

uint64_t TensorObj::num_bytes() const {
  return static_cast<uint64_t>(num_elements()) * static_cast<uint64_t>(dtype().bytes());
}

uint64_t TensorObj::storage_bytes() const {
  return view_.byte_offset + static_cast<uint64_t>(span_) * static_cast<uint64_t>(dtype().bytes());
}

TensorLayout TensorObj::layout() const {
  return {is_row_major_ ? std::vector<int64_t>() : strides_,
          static_cast<int64_t>(view_.byte_offset) / dtype().bytes()};
}

int64_t TensorObj::PlaceOf(int64_t element) const {
  int64_t place = static_cast<int64_t>(view_.byte_offset) / dtype().bytes();
  if (is_row_major_) return place + element;
  for (size_t axis = shape_.size(); axis-- > 0;) {
    place += element % shape_[axis] * strides_[axis];
    element /= shape_[axis];
  }
  return place;
}

Tensor Tensor::Empty(std::vector<int64_t> shape, DataType dtype, TernDevice device,
                     const TensorLayout& layout) {
  return Tensor(ffi::Make<TensorObj>(std::move(shape), dtype, device, layout));
}

Tensor Tensor::CopyTo(TernDevice device) const {
  const TensorObj& source = *get();
  bool source_on_host = source.device().type == kTernDeviceCpu;
  bool target_on_host = device.type == kTernDeviceCpu;
  bool same = source.device().type == device.type && source.device().id == device.id;
  // A device copies inside itself and to and from the host; between two, the host stands in the
  // middle.
  if (!source_on_host && !target_on_host && !same)
    return CopyTo({kTernDeviceCpu, 0}).CopyTo(device);

  Tensor target = Empty(source.shape(), source.dtype(), device, source.layout());
  if (source.storage_bytes() == 0) return target;
  TernDevice copier = source_on_host ? device : source.device();
  const DeviceKind& kind = GetDeviceKind(copier.type);
  kind.Copy({.src = source.data(),
             .src_device = source.device(),
             .dst = target->data(),
             .dst_device = device,
             .bytes = source.storage_bytes()});
  kind.Synchronize(copier.id);
  return target;
}

double GetElement(const Tensor& tensor, int64_t element) {
  const void* data = tensor->data();
  int64_t i = tensor->PlaceOf(element);
  DataType dtype = tensor->dtype();
  if (dtype.is_bool()) return LoadAs<uint8_t>(data, i) != 0;
  if (dtype.is_narrow_float() && dtype.is_scalar())
    return WidenFloat(dtype, static_cast<uint16_t>(dtype.bits() == 8 ? LoadAs<uint8_t>(data, i)
                                                                     : LoadAs<uint16_t>(data, i)));
  switch (dtype.lanes() == 1 ? dtype.code() * 100 + dtype.bits() : -1) {
    case kTernTypeInt * 100 + 8:
      return LoadAs<int8_t>(data, i);
    case kTernTypeInt * 100 + 16:
      return LoadAs<int16_t>(data, i);
    case kTernTypeInt * 100 + 32:
      return LoadAs<int32_t>(data, i);
    case kTernTypeInt * 100 + 64:
      return LoadAs<int64_t>(data, i);
    case kTernTypeUInt * 100 + 8:
      return LoadAs<uint8_t>(data, i);
    case kTernTypeUInt * 100 + 16:
      return LoadAs<uint16_t>(data, i);
    case kTernTypeUInt * 100 + 32:
      return LoadAs<uint32_t>(data, i);
    case kTernTypeUInt * 100 + 64:
      return LoadAs<uint64_t>(data, i);
    case kTernTypeFloat * 100 + 32:
      return LoadAs<float>(data, i);
    case kTernTypeFloat * 100 + 64:
      return LoadAs<double>(data, i);
    default:
      FailOnType(dtype);
  }
}

void SetElement(const Tensor& tensor, int64_t element, double value) {
  void* data = tensor->data();
  int64_t i = tensor->PlaceOf(element);
  DataType dtype = tensor->dtype();
  if (dtype.lanes() != 1) FailOnType(dtype);
  if (dtype.is_bool()) return StoreAs<uint8_t>(data, i, value != 0);
  if (dtype.is_narrow_float()) {
    uint16_t bits = NarrowFloat(dtype, static_cast<float>(value));
    return dtype.bits() == 8 ? StoreAs(data, i, static_cast<uint8_t>(bits))
                             : StoreAs(data, i, bits);
  }
  if (dtype.is_float()) {
    if (dtype.bits() == 32) return StoreAs(data, i, static_cast<float>(value));
    return StoreAs(data, i, value);
  }
  if (!dtype.is_integer()) FailOnType(dtype);
  int64_t wrapped = ToWrappedInt(value);
  if (dtype.bits() == 8) return StoreAs(data, i, static_cast<int8_t>(wrapped));
  if (dtype.bits() == 16) return StoreAs(data, i, static_cast<int16_t>(wrapped));
  if (dtype.bits() == 32) return StoreAs(data, i, static_cast<int32_t>(wrapped));
  return StoreAs(data, i, wrapped);
}

void CopyElements(const Tensor& from, const Tensor& to) {
  TERN_ICHECK(from->shape() == to->shape() && from->dtype() == to->dtype());
  auto bytes = static_cast<int64_t>(from->dtype().bytes());
  for (int64_t i = 0; i < from->num_elements(); ++i)
    std::memcpy(to.as<char>() + to->PlaceOf(i) * bytes, from.as<char>() + from->PlaceOf(i) * bytes,
                static_cast<size_t>(bytes));
}

}  // namespace tern::runtime
