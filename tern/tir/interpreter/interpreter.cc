// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/interpreter.h"

#include "tern/ir/deep_stack.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/interpreter/machine.h"

namespace tern::tir {
namespace {

// A view that a caller lends, as sessions of models do, as a tensor in the same memory.
ffi::Any AsTensor(const ffi::Any& arg) {
  if (arg.raw().type_index != kTernTensorView) return arg;
  const TernTensorView& view = *arg.raw().v_tensor;
  runtime::TensorLayout layout;
  if (view.strides) layout.strides.assign(view.strides, view.strides + view.ndim);
  std::shared_ptr<void> lent(static_cast<char*>(view.data) + view.byte_offset, [](void*) {});
  return ffi::Any(runtime::Tensor(ffi::Make<runtime::TensorObj>(
      std::vector<int64_t>(view.shape, view.shape + view.ndim), DataType(view.dtype), view.device,
      layout, runtime::TensorMemory{std::move(lent), runtime::TensorMemory::kAsNeeded})));
}

}  // namespace

void Interpret(const ir::IRModule& module, const std::string& function,
               const std::vector<ffi::Any>& args) {
  std::vector<ffi::Any> tensors;
  for (const ffi::Any& arg : args) tensors.push_back(AsTensor(arg));
  ir::OnDeepStack([&] { Machine(module).Call(function, tensors); });
}

}  // namespace tern::tir
