// SPDX-License-Identifier: Apache-2.0
//
// Reading values that came from a file: every access checks, and every error says where in the
// document it is.
#ifndef TERN_RUNTIME_ARTIFACT_VALUE_READER_H_
#define TERN_RUNTIME_ARTIFACT_VALUE_READER_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/containers.h"

namespace tern::runtime {

// A value and the path that led to it ("meta.functions[0].name").
class ValueReader {
 public:
  ValueReader(std::string path, ffi::Any value)
      : path_(std::move(path)), value_(std::move(value)) {}

  [[noreturn]] void Fail(const std::string& what) const {
    throw Error("ValueError", path_ + ": " + what);
  }

  bool Has(std::string_view key) const { return As<ffi::Map>()->Find(key) != nullptr; }
  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : As<ffi::Map>()->items) keys.push_back(key);
    return keys;
  }
  ValueReader Field(std::string_view key) const {
    const ffi::Any* value = As<ffi::Map>()->Find(key);
    if (!value) Fail("field \"" + std::string(key) + "\" is missing");
    return ValueReader(path_ + "." + std::string(key), *value);
  }
  // Refuses fields that nobody reads: they are mistakes, or of a later version.
  void ExpectOnly(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : As<ffi::Map>()->items) {
      bool known = false;
      for (std::string_view legal : keys) known = known || legal == key;
      if (!known) Fail("field \"" + key + "\" is not known");
    }
  }
  std::vector<ValueReader> Items() const {
    std::vector<ValueReader> items;
    for (const ffi::Any& item : *As<ffi::Array>())
      items.emplace_back(path_ + "[" + std::to_string(items.size()) + "]", item);
    return items;
  }
  std::string Text() const { return As<std::string>(); }
  bool Flag() const {
    if (value_.type_index() != kTernBool) Fail("expected bool, got " + ffi::Describe(value_.raw()));
    return As<bool>();
  }
  int64_t Int(int64_t least, int64_t most) const {
    int64_t value = As<int64_t>();
    if (value < least || value > most)
      Fail("expected " + std::to_string(least) + " to " + std::to_string(most) + ", got " +
           std::to_string(value));
    return value;
  }
  DataType Type() const {
    std::string name = Text();
    std::optional<DataType> type = DataType::Parse(name);
    if (!type) Fail("\"" + name + "\" is not a data type");
    return *type;
  }

 private:
  template <class T>
  T As() const {
    std::optional<T> result = value_.TryAs<T>();
    if (!result)
      Fail("expected " + ffi::AnyTraits<T>::Name() + ", got " + ffi::Describe(value_.raw()));
    return *std::move(result);
  }

  std::string path_;
  ffi::Any value_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_ARTIFACT_VALUE_READER_H_
