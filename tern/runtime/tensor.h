// SPDX-License-Identifier: Apache-2.0
//
// Dense tensors on any device, in the ABI's layout.
#ifndef TERN_RUNTIME_TENSOR_H_
#define TERN_RUNTIME_TENSOR_H_

#include <memory>
#include <string>
#include <vector>

#include "tern/ffi/any.h"

namespace tern::runtime {

// Where the elements of a tensor lie, counted in elements.
struct TensorLayout {
  std::vector<int64_t> strides;  // not negative, one per axis; empty: compact, row major
  int64_t offset = 0;            // of the first element, from the start of the memory
};

// Memory that tensors share: the last one gives it back.
struct TensorMemory {
  std::shared_ptr<void> data;
  static constexpr uint64_t kAsNeeded = ~uint64_t{0};  // nobody knows: no more than is used
  uint64_t bytes = 0;
  bool is_read_only = false;  // its owner asks that nobody writes to it
};

class TensorObj : public ffi::Object {
 public:
  // In new memory, uninitialised. Throws on a negative extent or a size that overflows.
  TensorObj(std::vector<int64_t> shape, DataType dtype, TernDevice device,
            const TensorLayout& layout);
  // In memory that is there. Throws also where it has too few bytes.
  TensorObj(std::vector<int64_t> shape, DataType dtype, TernDevice device,
            const TensorLayout& layout, TensorMemory memory);
  TensorObj(const TensorObj&) = delete;
  static int32_t TypeIndex() { return kTernTensor; }

  const TernTensorView& view() const { return view_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  DataType dtype() const { return DataType(view_.dtype); }
  TernDevice device() const { return view_.device; }
  void* data() const { return view_.data; }  // of the memory: see layout()
  const TensorMemory& memory() const { return memory_; }
  int64_t num_elements() const;
  uint64_t num_bytes() const;      // of the elements
  uint64_t storage_bytes() const;  // of the memory, with what lies before and between them
  TensorLayout layout() const;
  bool is_row_major() const { return is_row_major_; }
  bool is_compact() const { return storage_bytes() == num_bytes() && is_row_major_; }
  // The place of an element in the memory, by its number in row-major order.
  int64_t PlaceOf(int64_t element) const;

 private:
  // All but the memory.
  void Describe(DataType dtype, TernDevice device, const TensorLayout& layout);
  int64_t first_element() const;
  // Takes the strides and counts the memory. Throws where it overflows.
  void SetLayout(const TensorLayout& layout, DataType dtype);

  TernTensorView view_{};  // right behind the header
  TensorMemory memory_;
  std::vector<int64_t> shape_, strides_;
  int64_t span_ = 0;  // elements of memory from the first one to behind the last
  bool is_row_major_ = true;
};

class Tensor : public ffi::Ref<TensorObj> {
 public:
  Tensor() = default;
  Tensor(ffi::Ref<TensorObj> ref) : Ref(std::move(ref)) {}

  static Tensor Empty(std::vector<int64_t> shape, DataType dtype,
                      TernDevice device = {kTernDeviceCpu, 0}, const TensorLayout& layout = {});
  // On the host, in memory from and to which a device copies while the host goes on (CopyAsync).
  static Tensor EmptyPageLocked(std::vector<int64_t> shape, DataType dtype, TernDevice device);
  // Other looks at the same memory, without a copy. `View` throws where it would reach beyond it;
  // its offset, like that of every layout, counts from the start of the memory.
  Tensor View(std::vector<int64_t> shape, const TensorLayout& layout) const;
  // The same elements in row-major order; of a compact tensor.
  Tensor Reshape(std::vector<int64_t> shape) const;
  // begin..end of one axis.
  Tensor Slice(size_t axis, int64_t begin, int64_t end) const;
  // A copy on `device` with the same layout, finished when this returns.
  Tensor CopyTo(TernDevice device) const;
  template <class T>
  T* as() const {
    return static_cast<T*>(get()->data());
  }
};

// Between a device and the host, or on one device, of compact tensors of one shape and type: given
// to the device's current stream. Where the host's side is EmptyPageLocked, this returns before it
// is done: neither may be freed or written before the stream is synchronized.
void CopyAsync(const Tensor& from, const Tensor& to);

// Element `i`, in row-major order, of a host tensor as a double, and back (rounded and wrapped to
// the dtype). int64 beyond 2^53 loses bits.
double GetElement(const Tensor& tensor, int64_t i);
void SetElement(const Tensor& tensor, int64_t i, double value);
// Between host tensors of one shape and type, whatever their layouts.
void CopyElements(const Tensor& from, const Tensor& to);
// Between host tensors of one shape and any types: values are rounded once (to nearest even), from
// float to integer truncated, and wrapped where they do not fit; NaN becomes 0.
void ConvertElements(const Tensor& from, const Tensor& to);

// A parameter of a typed function that takes tensors of one type and rank alone, as in
// TensorOf<float, 2>.
template <class T, int kRank>
class TensorOf : public Tensor {
 public:
  explicit TensorOf(Tensor tensor) : Tensor(std::move(tensor)) {}
  static constexpr DataType ElementType() {
    if constexpr (std::is_same_v<T, bool>) return DataType::Bool();
    if constexpr (std::is_floating_point_v<T>) return DataType::Float(8 * sizeof(T));
    return std::is_signed_v<T> ? DataType::Int(8 * sizeof(T)) : DataType::UInt(8 * sizeof(T));
  }
};

}  // namespace tern::runtime

namespace tern::ffi {
template <>
struct AnyTraits<runtime::Tensor> : AnyTraits<Ref<runtime::TensorObj>> {
  static std::optional<runtime::Tensor> From(const TernAny& value) {
    auto ref = AnyTraits<Ref<runtime::TensorObj>>::From(value);
    return ref ? std::optional<runtime::Tensor>(*std::move(ref)) : std::nullopt;
  }
};

template <class T, int kRank>
struct AnyTraits<runtime::TensorOf<T, kRank>> : AnyTraits<runtime::Tensor> {
  using Typed = runtime::TensorOf<T, kRank>;
  static std::string Name() {
    return Typed::ElementType().str() + " tensor of rank " + std::to_string(kRank);
  }
  static std::optional<Typed> From(const TernAny& value) {
    auto tensor = AnyTraits<runtime::Tensor>::From(value);
    if (!tensor || (*tensor)->dtype() != Typed::ElementType() || (*tensor)->shape().size() != kRank)
      return std::nullopt;
    return Typed(*std::move(tensor));
  }
};
}  // namespace tern::ffi

#endif  // TERN_RUNTIME_TENSOR_H_
