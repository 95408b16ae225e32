// SPDX-License-Identifier: Apache-2.0
//
// The 16-byte tagged value. AnyView borrows, Any owns; both convert from and to C++ types through
// AnyTraits<T>.
#ifndef TERN_FFI_ANY_H_
#define TERN_FFI_ANY_H_

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "tern/ffi/dtype.h"
#include "tern/ffi/error.h"
#include "tern/ffi/object.h"

namespace tern::ffi {

// How T stands in a value:
//   static std::string Name();                        for messages
//   static std::optional<T> From(const TernAny&);     nullopt: another type
//   static TernAny To(T);                             owned
template <class T, class = void>
struct AnyTraits;

// "int 5", "float32 tensor of shape (2, 3) on cpu:0", "none", ...: what a message says it got. This
// layer knows no device but the host: others are "device TYPE:ID".
std::string Describe(const TernAny& value);

// A borrowed value.
class AnyView {
 public:
  AnyView() = default;
  explicit AnyView(const TernAny& value) : value_(value) {}

  const TernAny& raw() const { return value_; }
  int32_t type_index() const { return value_.type_index; }
  bool is_none() const { return value_.type_index == kTernNone; }

  // The value as a T, if it is one (with the coercions bool -> int, int -> float, int -> bool).
  template <class T>
  std::optional<T> TryAs() const {
    return AnyTraits<T>::From(value_);
  }
  template <class T>
  T As() const {
    std::optional<T> result = TryAs<T>();
    if (!result)
      TERN_THROW(TypeError) << "expected " << AnyTraits<T>::Name() << ", got " << Describe(value_);
    return *std::move(result);
  }

 protected:
  TernAny value_{};
};

// An owned value.
class Any : public AnyView {
 public:
  Any() = default;
  Any(const Any& other) : Any(static_cast<const AnyView&>(other)) {}
  Any(Any&& other) noexcept { std::swap(value_, other.value_); }
  // Owns what the view borrows: objects are counted, raw strings are copied.
  explicit Any(const AnyView& view);
  // There is no AnyTraits<Any>::To: this never stands in for the copy and move constructors.
  template <class T, class = decltype(AnyTraits<std::decay_t<T>>::To(std::declval<T>()))>
  Any(T&& value) {  // NOLINT(bugprone-forwarding-reference-overload)
    value_ = AnyTraits<std::decay_t<T>>::To(std::forward<T>(value));
  }
  ~Any() {
    if (value_.type_index >= kTernObjectBegin) DecRef(value_.v_obj);
  }
  Any& operator=(Any other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  // Takes over a value that the caller owns.
  static Any Adopt(const TernAny& value) {
    Any any;
    any.value_ = value;
    return any;
  }
  // Gives the value up to the caller.
  TernAny Release() { return std::exchange(value_, TernAny{}); }
};

template <class T>
struct AnyTraits<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static std::string Name() { return "int"; }
  static std::optional<T> From(const TernAny& value) {
    if (value.type_index != kTernInt && value.type_index != kTernBool) return std::nullopt;
    T narrowed = static_cast<T>(value.v_int);
    if (static_cast<int64_t>(narrowed) != value.v_int) return std::nullopt;
    return narrowed;
  }
  static TernAny To(T value) { return {kTernInt, 0, {.v_int = static_cast<int64_t>(value)}}; }
};

template <>
struct AnyTraits<bool> {
  static std::string Name() { return "bool"; }
  static std::optional<bool> From(const TernAny& value) {
    if (value.type_index != kTernInt && value.type_index != kTernBool) return std::nullopt;
    return value.v_int != 0;
  }
  static TernAny To(bool value) { return {kTernBool, 0, {.v_int = value}}; }
};

template <class T>
struct AnyTraits<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static std::string Name() { return "float"; }
  static std::optional<T> From(const TernAny& value) {
    if (value.type_index == kTernFloat) return static_cast<T>(value.v_float);
    if (value.type_index == kTernInt || value.type_index == kTernBool)
      return static_cast<T>(value.v_int);
    return std::nullopt;
  }
  static TernAny To(T value) { return {kTernFloat, 0, {.v_float = static_cast<double>(value)}}; }
};

template <>
struct AnyTraits<void*> {
  static std::string Name() { return "pointer"; }
  static std::optional<void*> From(const TernAny& value) {
    if (value.type_index == kTernNone) return nullptr;
    if (value.type_index != kTernOpaquePtr) return std::nullopt;
    return value.v_ptr;
  }
  static TernAny To(void* value) { return {kTernOpaquePtr, 0, {.v_ptr = value}}; }
};

template <>
struct AnyTraits<DataType> {
  static std::string Name() { return "data type"; }
  static std::optional<DataType> From(const TernAny& value) {
    if (value.type_index != kTernDataType) return std::nullopt;
    return DataType(value.v_dtype);
  }
  static TernAny To(DataType value) {
    TernAny any{kTernDataType, 0, {}};
    any.v_dtype = value.raw();
    return any;
  }
};

template <>
struct AnyTraits<TernDevice> {
  static std::string Name() { return "device"; }
  static std::optional<TernDevice> From(const TernAny& value) {
    if (value.type_index != kTernDevice) return std::nullopt;
    return value.v_device;
  }
  static TernAny To(TernDevice value) {
    TernAny any{kTernDevice, 0, {}};
    any.v_device = value;
    return any;
  }
};

// Objects, by reference. A null reference is none.
template <class T>
struct AnyTraits<Ref<T>, std::enable_if_t<std::is_base_of_v<Object, T>>> {
  using BorrowedObject = T;  // an argument need not be counted: the caller holds it
  static std::string Name() { return TypeName(T::TypeIndex()); }
  static std::optional<Ref<T>> From(const TernAny& value) {
    if (value.type_index != T::TypeIndex()) return std::nullopt;
    return Ref<T>(static_cast<T*>(Object::FromHeader(value.v_obj)));
  }
  static TernAny To(Ref<T> value) {
    if (!value) return {};
    Object* object = const_cast<std::remove_const_t<T>*>(value.Release());
    return {object->type_index(), 0, {.v_obj = object->header()}};
  }
};

// Strings stand as std::string; short ones are stored in the value itself.
template <>
struct AnyTraits<std::string> {
  static std::string Name() { return "string"; }
  static std::optional<std::string> From(const TernAny& value);
  static TernAny To(std::string_view value);
};
template <>
struct AnyTraits<std::string_view> : AnyTraits<std::string> {};
template <>
struct AnyTraits<const char*> : AnyTraits<std::string> {};

// A string of arbitrary bytes.
struct Bytes {
  std::string data;
};
template <>
struct AnyTraits<Bytes> {
  static std::string Name() { return "bytes"; }
  static std::optional<Bytes> From(const TernAny& value);
  static TernAny To(const Bytes& value);
};

}  // namespace tern::ffi

#endif  // TERN_FFI_ANY_H_
