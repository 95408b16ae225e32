// SPDX-License-Identifier: Apache-2.0
//
// Errors, values and functions; modules and files are in c_api_module.cc, tensors and devices in
// c_api_device.cc.
#include "tern/runtime/c_api.h"

#include <memory>

#include "tern/ffi/containers.h"
#include "tern/ffi/registry.h"
#include "tern/ffi/text.h"
#include "tern/runtime/c_api/c_api_error.h"

namespace tern::runtime {
namespace {

using ffi::Any;
using ffi::AnyView;

struct LastError {
  std::string kind, message, text;
};
thread_local LastError last_error;

// A foreign array may be of another allocator, but its cell is the same.
const TernArrayCell& ArrayOf(const TernAny* value) {
  TERN_CHECK(value->type_index == kTernArray) << "expected Array, got " << ffi::Describe(*value);
  return *reinterpret_cast<const TernArrayCell*>(value->v_obj + 1);
}

void GetChars(const TernAny& value, const char** data, uint64_t* size) {
  switch (value.type_index) {
    case kTernSmallStr:
    case kTernSmallBytes:
      *data = value.v_small;
      *size = value.small_len;
      return;
    case kTernRawStr:
      *data = value.v_str;
      *size = std::char_traits<char>::length(value.v_str);
      return;
    case kTernStr:
    case kTernBytes: {
      const auto& cell = *reinterpret_cast<const TernBytesCell*>(value.v_obj + 1);
      *data = cell.data;
      *size = cell.size;
      return;
    }
    default:
      TERN_THROW(TypeError) << "expected string or bytes, got " << ffi::Describe(value);
  }
}

ffi::Function ForeignFunction(TernSafeCall call, void* handle, void (*release)(void*)) {
  TERN_CHECK(call) << "tern_function_make: the function is NULL";
  std::shared_ptr<void> owned(handle, [release](void* held) {
    if (release) release(held);
  });
  return ffi::Function::FromPacked([call, owned](ffi::Args args) {
    TernAny result{};
    ffi::CheckCall(call(owned.get(), reinterpret_cast<const TernAny*>(args.data()),
                        static_cast<int32_t>(args.size()), &result));
    return Any::Adopt(result);
  });
}

}  // namespace

int KeepLastError() noexcept {
  try {
    Error error = ffi::TakeRaised();
    last_error = {error.kind(), error.message(), error.kind() + ": " + error.what()};
  } catch (...) {
    last_error = {};  // no memory for the message
  }
  return -1;
}

}  // namespace tern::runtime

using tern::ffi::Any;
using tern::ffi::AnyView;
using tern::runtime::Give;
using tern::runtime::Try;

int32_t tern_c_api_version() { return TERN_C_API_VERSION; }

const char* tern_version() { return TERN_VERSION; }

const char* tern_last_error() { return tern::runtime::last_error.text.c_str(); }

const char* tern_last_error_kind() { return tern::runtime::last_error.kind.c_str(); }

const char* tern_last_error_message() { return tern::runtime::last_error.message.c_str(); }

void tern_raise(const char* kind, const char* message) {
  tern::ffi::Guard([&] { throw tern::Error(kind, message); });
}

int tern_string_make(const char* data, uint64_t size, TernAny* value) {
  return Try([&] { *value = Any(std::string_view(data, size)).Release(); });
}

int tern_bytes_make(const char* data, uint64_t size, TernAny* value) {
  return Try([&] { *value = Any(tern::ffi::Bytes{std::string(data, size)}).Release(); });
}

int tern_chars_get(const TernAny* value, const char** data, uint64_t* size) {
  return Try([&] { tern::runtime::GetChars(*value, data, size); });
}

int tern_shape_make(const int64_t* extents, uint64_t count, TernAny* value) {
  return Try([&] {
    TERN_CHECK(extents || count == 0) << "tern_shape_make: extents is NULL, and count " << count;
    *value = Any(tern::ffi::MakeShape(std::vector<int64_t>(extents, extents + count))).Release();
  });
}

int tern_array_make(const TernAny* items, int64_t count, TernAny* value) {
  return Try([&] {
    TERN_CHECK(count >= 0) << "tern_array_make: an array cannot have " << count << " items";
    std::vector<Any> owned;
    for (int64_t i = 0; i < count; ++i) owned.emplace_back(AnyView(items[i]));
    *value = Any(tern::ffi::MakeArray(std::move(owned))).Release();
  });
}

int tern_array_get(const TernAny* array, int64_t index, TernAny* item) {
  return Try([&] {
    const TernArrayCell& cell = tern::runtime::ArrayOf(array);
    if (index < 0 || index >= cell.size)
      TERN_THROW(IndexError) << "there is no item " << index << " in an array of " << cell.size;
    *item = cell.data[index];
  });
}

int tern_array_size(const TernAny* array, int64_t* size) {
  return Try([&] { *size = tern::runtime::ArrayOf(array).size; });
}

int tern_value_describe(const TernAny* value, TernAny* text) {
  return Try([&] { *text = Any(tern::ffi::Describe(*value)).Release(); });
}

int tern_value_copy(const TernAny* value, TernAny* copy) {
  return Try([&] { *copy = Any(AnyView(*value)).Release(); });
}

void tern_value_release(TernAny* value) { Any::Adopt(std::exchange(*value, TernAny{})); }

void tern_object_retain(TernObject* object) {
  if (object) tern::ffi::IncRef(object);
}

void tern_object_release(TernObject* object) {
  if (object) tern::ffi::DecRef(object);
}

int tern_function_call(TernObject* function, const TernAny* args, int32_t num_args,
                       TernAny* result) {
  return Try([&] {
    TERN_CHECK(function && function->type_index == kTernFunction)
        << "tern_function_call: the object is no function";
    auto* callee = static_cast<tern::ffi::FunctionObj*>(tern::ffi::Object::FromHeader(function));
    TernAny value{};
    tern::ffi::CheckCall(callee->safe_call()(function, args, num_args, &value));
    Any owned = Any::Adopt(value);
    if (result) *result = owned.Release();
  });
}

int tern_function_make(TernSafeCall call, void* handle, void (*release)(void*),
                       TernObject** function) {
  return Try([&] { *function = Give(tern::runtime::ForeignFunction(call, handle, release)); });
}

int tern_function_register(const char* name, TernObject* function) {
  return Try([&] {
    tern::ffi::RegisterGlobal(
        name, tern::runtime::ObjectOf<tern::ffi::FunctionObj>(function, "tern_function_register"));
  });
}

int tern_function_find(const char* name, TernObject** function) {
  return Try([&] { *function = Give(tern::ffi::GetGlobal(name)); });
}

int tern_function_remove(const char* name) {
  return Try([&] {
    if (!tern::ffi::RemoveGlobal(name))
      TERN_THROW(KeyError) << "no global function is named " << name;
  });
}

int tern_function_names(TernAny* names) {
  return Try([&] {
    std::vector<std::string> all = tern::ffi::GlobalNames();
    *names = Any(tern::ffi::MakeArray({all.begin(), all.end()})).Release();
  });
}
