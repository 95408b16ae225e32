// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/constant.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tern::ir {

std::string ConstantNode::TypeText() const {
  std::string extents;
  for (int64_t extent : shape) extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  return dtype.str() + "[" + extents + "]";
}

int64_t ConstantNode::num_elements() const {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

std::string_view ConstantNode::data() const {
  if (!file) return bytes;
  return file->bytes().substr(offset, static_cast<size_t>(num_bytes()));
}

void ConstantNode::CopyTo(void* out) const {
  auto size = static_cast<size_t>(num_bytes());
  std::string_view from = data();
  if (size == 0) return;
  if (!is_splat) {
    std::memcpy(out, from.data(), size);
    return;
  }
  // What is filled already, doubled.
  auto* to = static_cast<char*>(out);
  size_t done = std::min(size, from.size());
  std::memcpy(to, from.data(), done);
  for (; done < size; done += std::min(done, size - done))
    std::memcpy(to + done, to, std::min(done, size - done));
}

namespace {

ffi::Ref<ConstantNode> MakeNode(std::string name, DataType dtype, std::vector<int64_t> shape,
                                Span span) {
  auto node = ffi::Make<ConstantNode>();
  node->name = std::move(name);
  node->dtype = dtype;
  node->shape = std::move(shape);
  node->span = std::move(span);
  bool is_number = dtype.is_scalar() && (dtype.is_integer() || dtype.is_float() || dtype.is_bool());
  TERN_CHECK(is_number) << "constant " << node->name << " is of type " << dtype.str()
                        << "; expected numbers or bools";
  int64_t bits = dtype.bits();
  for (int64_t extent : node->shape) {
    TERN_CHECK(extent >= 0) << "constant " << node->name << " has the extent " << extent;
    // An extent of 0 hides none of the others: tensors of such shapes are refused too.
    TERN_CHECK(!__builtin_mul_overflow(bits, std::max<int64_t>(extent, 1), &bits))
        << "constant " << node->name << " is too large: " << node->TypeText();
  }
  return node;
}

}  // namespace

Constant Constant::Splat(std::string name, DataType dtype, std::vector<int64_t> shape,
                         const Expr& value, Span span) {
  auto node = MakeNode(std::move(name), dtype, std::move(shape), std::move(span));
  node->is_splat = true;
  node->bytes.resize(std::max(dtype.bytes(), 1));
  StoreElement(dtype, value, node->bytes.data(), 0);
  if (dtype.is_packed()) StoreElement(dtype, value, node->bytes.data(), 1);
  return Constant(node);
}

Constant Constant::Owned(std::string name, DataType dtype, std::vector<int64_t> shape,
                         std::string bytes, Span span) {
  auto node = MakeNode(std::move(name), dtype, std::move(shape), std::move(span));
  TERN_CHECK(static_cast<uint64_t>(node->num_bytes()) == bytes.size())
      << "constant " << node->name << ": " << node->TypeText() << " takes " << node->num_bytes()
      << " bytes, but " << bytes.size() << " are given";
  node->bytes = std::move(bytes);
  return Constant(node);
}

Constant Constant::InFile(std::string name, DataType dtype, std::vector<int64_t> shape,
                          std::shared_ptr<const MappedFile> file, std::string file_name,
                          uint64_t offset, Span span) {
  auto node = MakeNode(std::move(name), dtype, std::move(shape), std::move(span));
  uint64_t size = file->bytes().size();
  TERN_CHECK(offset <= size && static_cast<uint64_t>(node->num_bytes()) <= size - offset)
      << "constant " << node->name << ": " << node->TypeText() << " takes " << node->num_bytes()
      << " bytes from byte " << offset << " on, but " << file_name << " has " << size;
  node->file = std::move(file);
  node->file_name = std::move(file_name);
  node->offset = offset;
  return Constant(node);
}

bool StructuralEqual(const Constant& a, const Constant& b) {
  if (a.same(b)) return true;
  return a->name == b->name && a->dtype == b->dtype && a->shape == b->shape &&
         a->is_splat == b->is_splat && a->data() == b->data();
}

Expr LoadElement(DataType dtype, std::string_view bytes, int64_t i) {
  uint64_t bits = 0;
  if (dtype.is_packed()) {
    bits = static_cast<uint8_t>(bytes[i / 2]) >> (i % 2 * 4) & 15u;
  } else {
    std::memcpy(&bits, bytes.data() + i * dtype.bytes(), dtype.bytes());
  }
  if (dtype.is_bool()) return IntImmNode::Make(dtype, bits != 0);
  if (!dtype.is_float()) {
    auto value = static_cast<int64_t>(bits);
    int unused = 64 - dtype.bits();
    if (dtype.is_int()) value = static_cast<int64_t>(bits << unused) >> unused;
    return IntImmNode::Make(dtype, value);
  }
  if (dtype.bits() <= 16)
    return FloatImmNode::Make(dtype, WidenFloat(dtype, static_cast<uint16_t>(bits)));
  if (dtype.bits() == 64) return FloatImmNode::Make(dtype, std::bit_cast<double>(bits));
  return FloatImmNode::Make(dtype, std::bit_cast<float>(static_cast<uint32_t>(bits)));
}

void StoreElement(DataType dtype, const Expr& number, char* bytes, int64_t i) {
  TERN_CHECK(number.dtype() == dtype && (number.As<IntImmNode>() || number.As<FloatImmNode>()))
      << "expected a number of type " << dtype.str() << ", got one of type "
      << number.dtype().str();
  uint64_t bits = 0;
  if (const auto* integer = number.As<IntImmNode>()) {
    bits = static_cast<uint64_t>(integer->value);
  } else {
    double value = number.As<FloatImmNode>()->value;
    if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();  // of one form
    bits = dtype.bits() <= 16   ? NarrowFloat(dtype, static_cast<float>(value))
           : dtype.bits() == 64 ? std::bit_cast<uint64_t>(value)
                                : std::bit_cast<uint32_t>(static_cast<float>(value));
  }
  if (!dtype.is_packed()) {
    std::memcpy(bytes + i * dtype.bytes(), &bits, dtype.bytes());
    return;
  }
  int shift = static_cast<int>(i % 2 * 4);
  auto old = static_cast<uint8_t>(bytes[i / 2]);
  bytes[i / 2] = static_cast<char>((old & ~(15u << shift)) | (bits & 15u) << shift);
}

}  // namespace tern::ir
