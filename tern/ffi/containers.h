// SPDX-License-Identifier: Apache-2.0
//
// Arrays and maps of values.
#ifndef TERN_FFI_CONTAINERS_H_
#define TERN_FFI_CONTAINERS_H_

#include <map>
#include <string>
#include <vector>

#include "tern/ffi/any.h"

namespace tern::ffi {

// An immutable list of extents, in the ABI's layout.
class ShapeObj : public Object {
 public:
  explicit ShapeObj(std::vector<int64_t> extents) : extents_(std::move(extents)) {
    cell_ = {extents_.data(), extents_.size()};
  }
  ShapeObj(const ShapeObj&) = delete;
  static int32_t TypeIndex() { return kTernShape; }

  const int64_t* begin() const { return cell_.data; }
  const int64_t* end() const { return cell_.data + cell_.size; }
  size_t size() const { return cell_.size; }

 private:
  TernShapeCell cell_;
  std::vector<int64_t> extents_;
};
using Shape = Ref<ShapeObj>;

inline Shape MakeShape(std::vector<int64_t> extents) { return Make<ShapeObj>(std::move(extents)); }

// An error as a value, in the ABI's layout. The context that callers added is the backtrace.
class ErrorObj : public Object {
 public:
  explicit ErrorObj(const Error& error);
  ErrorObj(const ErrorObj&) = delete;
  static int32_t TypeIndex() { return kTernError; }

  const std::string& kind() const { return kind_; }
  const std::string& message() const { return message_; }

 private:
  TernErrorCell cell_{};
  std::string kind_, message_, context_;
};

inline Ref<ErrorObj> MakeErrorValue(const Error& error) { return Make<ErrorObj>(error); }
// What a value of type Error says, whoever made it.
Error ErrorFromValue(const AnyView& value);

// An immutable array, in the ABI's layout.
class ArrayObj : public Object {
 public:
  explicit ArrayObj(std::vector<Any> items);
  ~ArrayObj();
  static int32_t TypeIndex() { return kTernArray; }

  size_t size() const { return static_cast<size_t>(cell_.size); }
  // Any and TernAny share their layout.
  const Any* begin() const { return reinterpret_cast<const Any*>(cell_.data); }
  const Any* end() const { return begin() + cell_.size; }
  const Any& operator[](size_t i) const { return begin()[i]; }

 private:
  TernArrayCell cell_{};
};
using Array = Ref<ArrayObj>;

inline Array MakeArray(std::vector<Any> items) { return Make<ArrayObj>(std::move(items)); }

// A map from string to value, in key order. It never crosses the boundary, so its layout is C++'s.
class MapObj : public Object {
 public:
  MapObj() = default;
  explicit MapObj(std::map<std::string, Any, std::less<>> items) : items(std::move(items)) {}
  static int32_t TypeIndex() { return kTernMap; }

  // The value of `key`, or null.
  const Any* Find(std::string_view key) const {
    auto it = items.find(key);
    return it == items.end() ? nullptr : &it->second;
  }

  std::map<std::string, Any, std::less<>> items;
};
using Map = Ref<MapObj>;

inline Map MakeMap(std::map<std::string, Any, std::less<>> items = {}) {
  return Make<MapObj>(std::move(items));
}

}  // namespace tern::ffi

#endif  // TERN_FFI_CONTAINERS_H_
