// SPDX-License-Identifier: Apache-2.0
//
// Dense tensors on any device, in the ABI's layout.
#ifndef TERN_RUNTIME_TENSOR_H_
#define TERN_RUNTIME_TENSOR_H_

#include <string>
#include <vector>

#include "tern/ffi/any.h"

namespace tern::runtime {

class TensorObj : public ffi::Object {
 public:
  // Compact and uninitialised. Throws on a negative extent or a size that overflows.
  TensorObj(std::vector<int64_t> shape, DataType dtype, TernDevice device);
  ~TensorObj();
  TensorObj(const TensorObj&) = delete;
  static int32_t TypeIndex() { return kTernTensor; }

  const TernTensorView& view() const { return view_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  DataType dtype() const { return DataType(view_.dtype); }
  TernDevice device() const { return view_.device; }
  void* data() const { return view_.data; }
  int64_t num_elements() const;
  uint64_t num_bytes() const;

 private:
  TernTensorView view_{};  // right behind the header
  std::vector<int64_t> shape_, strides_;
};

class Tensor : public ffi::Ref<TensorObj> {
 public:
  Tensor() = default;
  Tensor(ffi::Ref<TensorObj> ref) : Ref(std::move(ref)) {}

  static Tensor Empty(std::vector<int64_t> shape, DataType dtype,
                      TernDevice device = {kTernDeviceCpu, 0});
  // A copy on `device`, finished when this returns.
  Tensor CopyTo(TernDevice device) const;
  template <class T>
  T* as() const {
    return static_cast<T*>(get()->data());
  }
};

// Element `i` of a host tensor as a double, and back (rounded and wrapped to the dtype). int64
// beyond 2^53 loses bits.
double GetElement(const Tensor& tensor, int64_t i);
void SetElement(const Tensor& tensor, int64_t i, double value);

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
