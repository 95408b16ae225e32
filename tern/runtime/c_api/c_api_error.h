// SPDX-License-Identifier: Apache-2.0
//
// How the functions of c_api.h fail.
#ifndef TERN_RUNTIME_C_API_C_API_ERROR_H_
#define TERN_RUNTIME_C_API_C_API_ERROR_H_

#include "tern/ffi/function.h"

namespace tern::runtime {

// What was raised below is this thread's last error from now on. Returns -1.
int KeepLastError() noexcept;

// Runs `body`; what it throws, or what was raised below it, is this thread's last error.
template <class Body>
int Try(Body&& body) noexcept {
  return ffi::Guard(body) == 0 ? 0 : KeepLastError();
}

// The object behind a header that a caller gives, where it is a T.
template <class T>
ffi::Ref<T> ObjectOf(TernObject* object, const char* function) {
  TERN_CHECK(object && object->type_index == T::TypeIndex())
      << function << ": expected " << ffi::TypeName(T::TypeIndex()) << ", got "
      << (object ? ffi::TypeName(object->type_index) : "NULL");
  return ffi::Ref<T>(static_cast<T*>(ffi::Object::FromHeader(object)));
}

// Gives a reference to the caller.
template <class T>
TernObject* Give(ffi::Ref<T> ref) {
  return ref.Release()->header();
}

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_C_API_C_API_ERROR_H_
