// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/tensor.h"

#include <limits>

#include "tern/ffi/text.h"
#include "tern/runtime/device.h"
#include "tern/runtime/stream.h"

namespace tern::runtime {
namespace {

// What vector loads and device copies like best.
constexpr uint64_t kAlignment = 64;

// A device that fails to take memory back has been lost, or is that of a parent process; whoever
// uses it next is told.
template <class F>
void Quietly(F&& give_back) {
  try {
    give_back();
  } catch (const Error&) {
  }
}

// Gives memory back to its device.
struct DeviceFree {
  TernDevice device;
  void operator()(void* memory) const {
    Quietly([&] { GetDeviceKind(device.type).Free(device.id, memory); });
  }
};

struct HostFree {
  const DeviceKind& kind;
  int32_t id;
  void operator()(void* memory) const {
    Quietly([&] { kind.FreeHost(id, memory); });
  }
};

}  // namespace

TensorObj::TensorObj(std::vector<int64_t> shape, DataType dtype, TernDevice device,
                     const TensorLayout& layout)
    : shape_(std::move(shape)) {
  Describe(dtype, device, layout);
  void* memory = GetDeviceKind(device.type).Alloc(device.id, storage_bytes(), kAlignment);
  memory_ = {std::shared_ptr<void>(memory, DeviceFree{device}), storage_bytes()};
  view_.data = memory;
}

TensorObj::TensorObj(std::vector<int64_t> shape, DataType dtype, TernDevice device,
                     const TensorLayout& layout, TensorMemory memory)
    : memory_(std::move(memory)), shape_(std::move(shape)) {
  Describe(dtype, device, layout);
  if (memory_.bytes == TensorMemory::kAsNeeded) memory_.bytes = storage_bytes();
  TERN_CHECK(storage_bytes() <= memory_.bytes)
      << "a tensor of " << dtype.str() << " with shape " << ffi::ShapeText(shape_) << ", strides "
      << ffi::ShapeText(strides_) << " and offset " << layout.offset << " needs " << storage_bytes()
      << " bytes of memory; there are " << memory_.bytes;
  view_.data = memory_.data.get();
}

void TensorObj::Describe(DataType dtype, TernDevice device, const TensorLayout& layout) {
  TERN_CHECK((dtype.lanes() > 0 && dtype.bytes() > 0 && !dtype.is_handle()) || dtype.is_packed())
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
  TERN_CHECK(stride <= std::numeric_limits<int64_t>::max() / std::max(dtype.bytes(), 1))
      << "a " << dtype.str() << " tensor of shape " << ffi::ShapeText(shape_)
      << " has more bytes than 64 bits can count";
  SetLayout(layout, dtype);
  view_.device = device;
  view_.ndim = static_cast<int32_t>(shape_.size());
  view_.dtype = dtype.raw();
  view_.shape = shape_.data();
  view_.strides = strides_.data();
}

void TensorObj::SetLayout(const TensorLayout& layout, DataType dtype) {
  TERN_CHECK(layout.offset >= 0) << "a tensor cannot have the offset " << layout.offset;
  if (!layout.strides.empty()) {
    TERN_CHECK(layout.strides.size() == shape_.size())
        << "a tensor of shape " << ffi::ShapeText(shape_) << " cannot have strides "
        << ffi::ShapeText(layout.strides);
    // Nobody steps along an axis of one element: other software gives it any stride.
    for (size_t axis = 0; axis < shape_.size(); ++axis)
      is_row_major_ =
          is_row_major_ && (shape_[axis] == 1 || layout.strides[axis] == strides_[axis]);
    if (!is_row_major_) strides_ = layout.strides;
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
         !__builtin_mul_overflow(elements, int64_t{std::max(dtype.bytes(), 1)}, &bytes);
  TERN_CHECK(fits) << "a tensor of " << dtype.str() << " with shape " << ffi::ShapeText(shape_)
                   << ", strides " << ffi::ShapeText(strides_) << " and offset " << layout.offset
                   << " has more bytes than 64 bits can count";
  TERN_CHECK(!dtype.is_packed() || layout.offset % 2 == 0)
      << "a tensor of " << dtype.str() << " cannot start in the middle of a byte, at element "
      << layout.offset;
  view_.byte_offset = static_cast<uint64_t>(dtype.BytesOf(layout.offset));
}

int64_t TensorObj::num_elements() const {
  int64_t count = 1;
  for (int64_t extent : shape_) count *= extent;
  return count;
}

uint64_t TensorObj::num_bytes() const {
  return static_cast<uint64_t>(dtype().BytesOf(num_elements()));
}

uint64_t TensorObj::storage_bytes() const {
  return view_.byte_offset + static_cast<uint64_t>(dtype().BytesOf(span_));
}

int64_t TensorObj::first_element() const {
  auto offset = static_cast<int64_t>(view_.byte_offset);
  return dtype().is_packed() ? offset * 2 : offset / dtype().bytes();
}

TensorLayout TensorObj::layout() const {
  return {is_row_major_ ? std::vector<int64_t>() : strides_, first_element()};
}

int64_t TensorObj::PlaceOf(int64_t element) const {
  int64_t place = first_element();
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

Tensor Tensor::EmptyPageLocked(std::vector<int64_t> shape, DataType dtype, TernDevice device) {
  int64_t bytes = dtype.bytes();
  for (int64_t extent : shape)
    TERN_CHECK(extent >= 0 && !__builtin_mul_overflow(bytes, extent, &bytes))
        << "a tensor of shape " << ffi::ShapeText(shape) << " has no size";
  const DeviceKind& kind = GetDeviceKind(device.type);
  std::shared_ptr<void> data(kind.AllocHost(device.id, static_cast<uint64_t>(bytes)),
                             HostFree{kind, device.id});
  return Tensor(ffi::Make<TensorObj>(std::move(shape), dtype, TernDevice{kTernDeviceCpu, 0},
                                     TensorLayout{},
                                     TensorMemory{std::move(data), static_cast<uint64_t>(bytes)}));
}

Tensor Tensor::View(std::vector<int64_t> shape, const TensorLayout& layout) const {
  const TensorObj& self = *get();
  return Tensor(
      ffi::Make<TensorObj>(std::move(shape), self.dtype(), self.device(), layout, self.memory()));
}

Tensor Tensor::Reshape(std::vector<int64_t> shape) const {
  const TensorObj& self = *get();
  TERN_CHECK(self.is_row_major()) << "a tensor with strides "
                                  << ffi::ShapeText(self.layout().strides)
                                  << " cannot be given another shape without a copy";
  Tensor view = View(std::move(shape), self.layout());
  TERN_CHECK(view->num_elements() == self.num_elements())
      << "shape " << ffi::ShapeText(view->shape()) << " has not as many elements as "
      << ffi::ShapeText(self.shape());
  return view;
}

Tensor Tensor::Slice(size_t axis, int64_t begin, int64_t end) const {
  const TensorObj& self = *get();
  std::vector<int64_t> shape = self.shape();
  TERN_CHECK(axis < shape.size() && begin >= 0 && begin <= end && end <= shape[axis])
      << "a tensor of shape " << ffi::ShapeText(shape) << " has no slice " << begin << ".." << end
      << " of axis " << axis;
  shape[axis] = end - begin;
  std::vector<int64_t> strides(self.view().strides, self.view().strides + self.view().ndim);
  int64_t first = self.num_elements() == 0 ? 0 : begin * strides[axis];
  return View(std::move(shape), {strides, self.layout().offset + first});
}

// All of the memory, on the current stream of the device that copies, which is returned.
static TernDevice GiveCopy(const TensorObj& from, const TensorObj& to) {
  TernDevice copier = from.device().type == kTernDeviceCpu ? to.device() : from.device();
  GetDeviceKind(copier.type)
      .Copy({.src = from.data(),
             .src_device = from.device(),
             .dst = to.data(),
             .dst_device = to.device(),
             .bytes = from.storage_bytes(),
             .stream = CurrentStream(copier)});
  return copier;
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
  TernDevice copier = GiveCopy(source, *target.get());
  GetDeviceKind(copier.type).Synchronize(copier.id, CurrentStream(copier));
  return target;
}

void CopyAsync(const Tensor& from, const Tensor& to) {
  TERN_CHECK(from->shape() == to->shape() && from->dtype() == to->dtype())
      << "a " << from->dtype().str() << " tensor of shape " << ffi::ShapeText(from->shape())
      << " cannot be copied to a " << to->dtype().str() << " tensor of shape "
      << ffi::ShapeText(to->shape());
  TERN_CHECK(from->is_compact() && to->is_compact())
      << "only compact tensors can be copied while the host goes on";
  TernDevice a = from->device(), b = to->device();
  TERN_CHECK(a.type == kTernDeviceCpu || b.type == kTernDeviceCpu ||
             (a.type == b.type && a.id == b.id))
      << "a copy from " << DeviceName(a) << " to " << DeviceName(b)
      << " goes through the host; copy there first";
  if (from->storage_bytes() > 0) GiveCopy(*from.get(), *to.get());
}

}  // namespace tern::runtime
