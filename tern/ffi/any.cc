// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/any.h"

namespace tern::ffi {
namespace {

constexpr size_t kMaxSmall = 7;

// A string or bytes too long to stand in the value itself. The cell follows the header; the storage
// comes after it.
template <int32_t kType>
class CharsObj : public Object {
 public:
  explicit CharsObj(std::string_view chars) : chars_(chars) {
    cell_ = {chars_.data(), chars_.size()};
  }
  static int32_t TypeIndex() { return kType; }

 private:
  TernBytesCell cell_;
  std::string chars_;
};

template <class Cell>
const Cell& CellOf(const TernAny& value) {
  return *reinterpret_cast<const Cell*>(value.v_obj + 1);
}

TernAny MakeChars(std::string_view chars, int32_t small_type, int32_t object_type) {
  TernAny any{};
  if (chars.size() <= kMaxSmall) {
    any.type_index = small_type;
    any.small_len = static_cast<uint32_t>(chars.size());
    std::memcpy(any.v_small, chars.data(), chars.size());
  } else {
    any.type_index = object_type;
    any.v_obj = object_type == kTernStr ? NewObject<CharsObj<kTernStr>>(chars)->header()
                                        : NewObject<CharsObj<kTernBytes>>(chars)->header();
  }
  return any;
}

std::optional<std::string> CharsOf(const TernAny& value, int32_t small_type, int32_t object_type) {
  if (value.type_index == small_type)
    return std::string(value.v_small, std::min<size_t>(value.small_len, kMaxSmall));
  if (value.type_index != object_type) return std::nullopt;
  const auto& cell = CellOf<TernBytesCell>(value);
  return std::string(cell.data, cell.size);
}

std::string DescribeTensor(const TernTensorView* view) {
  if (!view) return "null tensor";
  std::ostringstream out;
  out << DataType(view->dtype).str() << " tensor of shape (";
  for (int32_t i = 0; i < view->ndim; ++i) out << (i ? ", " : "") << view->shape[i];
  // As Python writes a tuple of one.
  out << (view->ndim == 1 ? ",) on " : ") on ");
  if (view->device.type == kTernDeviceCpu)
    out << "cpu:" << view->device.id;
  else
    out << "device " << view->device.type << ":" << view->device.id;
  return out.str();
}

std::string Quoted(const std::string& text) {
  constexpr size_t kMaxShown = 40;
  return "\"" + (text.size() <= kMaxShown ? text : text.substr(0, kMaxShown) + "...") + "\"";
}

}  // namespace

std::string Describe(const TernAny& value) {
  std::string type = TypeName(value.type_index);
  switch (value.type_index) {
    case kTernInt:
      return type + " " + std::to_string(value.v_int);
    case kTernBool:
      return type + (value.v_int ? " true" : " false");
    case kTernFloat: {
      std::ostringstream out;
      out << type << " " << value.v_float;
      return out.str();
    }
    case kTernDataType:
      return type + " " + DataType(value.v_dtype).str();
    case kTernTensorView:
      return DescribeTensor(value.v_tensor);
    case kTernTensor:
      return DescribeTensor(&CellOf<TernTensorView>(value));
    case kTernRawStr:
    case kTernSmallStr:
    case kTernStr:
      return type + " " + Quoted(*AnyTraits<std::string>::From(value));
    default:
      return type;
  }
}

Any::Any(const AnyView& view) : AnyView(view) {
  if (value_.type_index >= kTernObjectBegin)
    IncRef(value_.v_obj);
  else if (value_.type_index == kTernRawStr)
    value_ = AnyTraits<std::string>::To(value_.v_str);
}

std::optional<std::string> AnyTraits<std::string>::From(const TernAny& value) {
  if (value.type_index == kTernRawStr) return std::string(value.v_str);
  return CharsOf(value, kTernSmallStr, kTernStr);
}

TernAny AnyTraits<std::string>::To(std::string_view value) {
  return MakeChars(value, kTernSmallStr, kTernStr);
}

std::optional<Bytes> AnyTraits<Bytes>::From(const TernAny& value) {
  std::optional<std::string> chars = CharsOf(value, kTernSmallBytes, kTernBytes);
  return chars ? std::optional<Bytes>(Bytes{*std::move(chars)}) : std::nullopt;
}

TernAny AnyTraits<Bytes>::To(const Bytes& value) {
  return MakeChars(value.data, kTernSmallBytes, kTernBytes);
}

}  // namespace tern::ffi
