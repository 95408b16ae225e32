// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/kernel/kernel_bindings.h"

#include <limits>

namespace tern::runtime {
namespace {

constexpr const char *kRead = "read", *kReadWrite = "read_write";
constexpr int64_t kMost32 = std::numeric_limits<uint32_t>::max();

template <class T>
ffi::Array ArrayOf(const std::vector<T>& values) {
  std::vector<ffi::Any> items;
  for (const T& value : values) items.emplace_back(value);
  return ffi::MakeArray(std::move(items));
}

uint32_t Number(const ValueReader& value) { return static_cast<uint32_t>(value.Int(0, kMost32)); }

KernelBindings::Tensor TensorFromValue(const ValueReader& value) {
  std::string access = value.Field("access").Text();
  if (access != kRead && access != kReadWrite)
    value.Field("access").Fail("expected read or read_write, got " + access);
  KernelBindings::Tensor tensor{access == kReadWrite, Number(value.Field("binding")),
                                value.Field("type").Text()};
  value.ExpectOnly({"access", "binding", "type"});
  return tensor;
}

KernelBindings::Scalars ScalarsFromValue(const ValueReader& value) {
  KernelBindings::Scalars scalars;
  scalars.binding = Number(value.Field("binding"));
  scalars.bytes = static_cast<uint64_t>(value.Field("bytes").Int(4, kMost32));
  for (const ValueReader& offset : value.Field("offsets").Items())
    scalars.offsets.push_back(
        static_cast<uint64_t>(offset.Int(0, static_cast<int64_t>(scalars.bytes) - 4)));
  value.ExpectOnly({"binding", "bytes", "offsets"});
  return scalars;
}

void ExpectCount(const ValueReader& value, size_t actual, size_t expected) {
  if (actual != expected)
    value.Fail("expected one for each of " + std::to_string(expected) + " arguments, got " +
               std::to_string(actual));
}

}  // namespace

ffi::Map KernelBindingsToValue(const KernelBindings& bindings) {
  std::vector<ffi::Any> block, tensors;
  for (uint32_t extent : bindings.block) block.emplace_back(int64_t{extent});
  for (const KernelBindings::Tensor& tensor : bindings.tensors)
    tensors.emplace_back(ffi::MakeMap({{"access", tensor.is_written ? kReadWrite : kRead},
                                       {"binding", int64_t{tensor.binding}},
                                       {"type", tensor.type}}));
  ffi::Map map = ffi::MakeMap({{"block", ffi::MakeArray(std::move(block))},
                               {"features", ArrayOf(bindings.features)},
                               {"rows", bindings.rows},
                               {"tensors", ffi::MakeArray(std::move(tensors))}});
  const KernelBindings::Scalars& scalars = bindings.scalars;
  if (scalars.bytes == 0) return map;
  std::vector<int64_t> offsets(scalars.offsets.begin(), scalars.offsets.end());
  map->items["scalars"] = ffi::MakeMap({{"binding", int64_t{scalars.binding}},
                                        {"bytes", static_cast<int64_t>(scalars.bytes)},
                                        {"offsets", ArrayOf(offsets)}});
  return map;
}

KernelBindings KernelBindingsFromValue(const ValueReader& value, size_t num_tensors,
                                       size_t num_scalars) {
  KernelBindings bindings;
  std::vector<ValueReader> block = value.Field("block").Items();
  if (block.size() != bindings.block.size()) value.Field("block").Fail("expected three extents");
  for (size_t i = 0; i < block.size(); ++i) bindings.block[i] = Number(block[i]);
  for (const ValueReader& feature : value.Field("features").Items())
    bindings.features.push_back(feature.Text());
  bindings.rows = value.Field("rows").Flag();
  for (const ValueReader& tensor : value.Field("tensors").Items())
    bindings.tensors.push_back(TensorFromValue(tensor));
  ExpectCount(value.Field("tensors"), bindings.tensors.size(), num_tensors);
  if (value.Has("scalars") || num_scalars > 0) {
    bindings.scalars = ScalarsFromValue(value.Field("scalars"));
    ExpectCount(value.Field("scalars").Field("offsets"), bindings.scalars.offsets.size(),
                num_scalars);
  }
  value.ExpectOnly({"block", "features", "rows", "scalars", "tensors"});
  return bindings;
}

}  // namespace tern::runtime
