// SPDX-License-Identifier: Apache-2.0
//
// Dense tensors on any device, in the ABI's layout.
#ifndef TERN_RUNTIME_TENSOR_H_
#define TERN_RUNTIME_TENSOR_H_

#include <string>
#include <vector>

#include "tern/ffi/any.h"

namespace tern::runtime {

// Where the elements of a tensor lie, counted in elements.
struct TensorLayout {
  std::vector<int64_t> strides;  // not negative, one per axis; empty: compact, row major
  int64_t offset = 0;            // of the first element, from the start of the memory
};

class TensorObj : public ffi::Object {
 public:
  // Uninitialised. Throws on a negative extent or a size that overflows.
  TensorObj(std::vector<int64_t> shape, DataType dtype, TernDevice device,
            const TensorLayout& layout);
  ~TensorObj();
  TensorObj(const TensorObj&) = delete;
  static int32_t TypeIndex() { return kTernTensor; }

  const TernTensorView& view() const { return view_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  DataType dtype() const { return DataType(view_.dtype); }
  TernDevice device() const { return view_.device; }
  void* data() const { return view_.data; }  // of the memory: see layout()
  int64_t num_elements() const;
  uint64_t num_bytes() const;      // of the elements
  uint64_t storage_bytes() const;  // of the memory, with what lies before and between them
  TensorLayout layout() const;
  bool is_compact() const { return storage_bytes() == num_bytes() && is_row_major_; }
  // The place of an element in the memory, by its number in row-major order.
  int64_t PlaceOf(int64_t element) const;

 private:
  // Takes the strides and counts the memory. Throws where it overflows.
  void SetLayout(const TensorLayout& layout, DataType dtype);

  TernTensorView view_{};  // right behind the header
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
  // A copy on `device` with the same layout, finished when this returns.
  Tensor CopyTo(TernDevice device) const;
  template <class T>
  T* as() const {
    return static_cast<T*>(get()->data());
  }
};

// Element `i`, in row-major order, of a host tensor as a double, and back (rounded and wrapped to
// the dtype). int64 beyond 2^53 loses bits.
double GetElement(const Tensor& tensor, int64_t i);
void SetElement(const Tensor& tensor, int64_t i, double value);
// Between host tensors of one shape and type, whatever their layouts.
void CopyElements(const Tensor& from, const Tensor& to);

}  // namespace tern::runtime

namespace tern::ffi {
template <>
struct AnyTraits<runtime::Tensor> : AnyTraits<Ref<runtime::TensorObj>> {
  static std::optional<runtime::Tensor> From(const TernAny& value) {
    auto ref = AnyTraits<Ref<runtime::TensorObj>>::From(value);
    return ref ? std::optional<runtime::Tensor>(*ref) : std::nullopt;
  }
};
}  // namespace tern::ffi

#endif  // TERN_RUNTIME_TENSOR_H_
