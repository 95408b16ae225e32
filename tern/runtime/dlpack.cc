// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/dlpack.h"

#include <limits>

#include "tern/ffi/text.h"
#include "tern/runtime/device.h"

namespace tern::runtime {
namespace {

std::vector<int64_t> Numbers(const int64_t* numbers, int32_t count) {
  return numbers ? std::vector<int64_t>(numbers, numbers + count) : std::vector<int64_t>();
}

// Calls the owner's deleter. It takes effect once the tensor is complete.
template <class Managed>
struct Owner {
  std::shared_ptr<bool> is_taken;
  Managed* managed;
  void operator()(void*) const {
    if (*is_taken && managed->deleter) managed->deleter(managed);
  }
};

template <class Managed>
Tensor Take(Managed* managed, bool is_read_only) {
  const TernTensorView& view = managed->tensor;
  DataType dtype(view.dtype);
  GetDeviceKind(view.device.type);  // throws where it is not known
  TERN_CHECK(view.ndim >= 0 && (view.ndim == 0 || view.shape))
      << "a DLPack tensor has " << view.ndim << " axes without a shape";
  TensorLayout layout{Numbers(view.strides, view.ndim), 0};
  std::vector<int64_t> shape = Numbers(view.shape, view.ndim);
  for (int64_t stride : layout.strides)
    TERN_CHECK(stride >= 0) << "a DLPack tensor has the strides " << ffi::ShapeText(layout.strides)
                            << "; those below 0 need a copy first";
  auto* data = static_cast<char*>(view.data);
  if (view.device.type == kTernDeviceCpu) {
    if (data) data += view.byte_offset;
  } else {
    auto bytes = static_cast<uint64_t>(std::max(dtype.bytes(), 1));
    TERN_CHECK(view.byte_offset % bytes == 0 &&
               view.byte_offset <= std::numeric_limits<int64_t>::max() / 2)
        << "a DLPack tensor of " << dtype.str() << " starts at byte " << view.byte_offset
        << " of its memory, which is no multiple of its elements";
    layout.offset = static_cast<int64_t>(view.byte_offset / bytes) * (dtype.is_packed() ? 2 : 1);
  }
  auto is_taken = std::make_shared<bool>(false);
  std::shared_ptr<void> memory(data, Owner<Managed>{is_taken, managed});
  Tensor tensor(
      ffi::Make<TensorObj>(std::move(shape), dtype, view.device, layout,
                           TensorMemory{std::move(memory), TensorMemory::kAsNeeded, is_read_only}));
  TERN_CHECK(data || tensor->num_elements() == 0) << "a DLPack tensor has no memory";
  *is_taken = true;
  return tensor;
}

// What a framework holds: the struct, and the tensor that it keeps alive.
template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
};

template <class Managed>
Managed* Give(const Tensor& tensor) {
  auto* exported = new Exported<Managed>{{}, tensor};
  exported->managed.tensor = tensor->view();
  exported->managed.manager = exported;
  exported->managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->manager);
  };
  return &exported->managed;
}

}  // namespace

Tensor FromDLPack(TernManagedTensor* managed) { return Take(managed, false); }

Tensor FromDLPack(TernManagedTensorVersioned* managed) {
  TERN_CHECK(managed->major == TERN_DLPACK_MAJOR)
      << "the tensor is of version " << managed->major << "." << managed->minor
      << " of DLPack; expected version " << TERN_DLPACK_MAJOR;
  TERN_CHECK(!(managed->flags & kTernSubBytePadded))
      << "a DLPack tensor of " << DataType(managed->tensor.dtype).str()
      << " has a byte for each element; expected elements side by side";
  return Take(managed, managed->flags & kTernReadOnly);
}

TernManagedTensor* ToDLPack(const Tensor& tensor) {
  TERN_CHECK(!tensor->memory().is_read_only)
      << "the tensor is read-only, which unversioned DLPack cannot say";
  return Give<TernManagedTensor>(tensor);
}

TernManagedTensorVersioned* ToDLPackVersioned(const Tensor& tensor) {
  auto* managed = Give<TernManagedTensorVersioned>(tensor);
  managed->major = TERN_DLPACK_MAJOR;
  managed->minor = TERN_DLPACK_MINOR;
  if (tensor->memory().is_read_only) managed->flags |= kTernReadOnly;
  return managed;
}

}  // namespace tern::runtime
