// SPDX-License-Identifier: Apache-2.0
//
// Objective-C from C++: messages are calls of objc_msgSend, cast to the method's own type. No
// compiler for Objective-C is needed, and nothing is linked.
#ifndef TERN_BACKEND_METAL_RUNTIME_OBJC_H_
#define TERN_BACKEND_METAL_RUNTIME_OBJC_H_

#include <string>
#include <utility>

namespace tern::backend::metal {

using Id = struct ObjcObject*;
using Selector = struct ObjcSelector*;
using UInt = unsigned long;  // NSUInteger
using Int = long;            // NSInteger

struct Size {  // MTLSize
  UInt width, height, depth;
};

// Of libobjc.
struct ObjcFunctions {
  Id (*get_class)(const char* name) = nullptr;
  Selector (*register_name)(const char* name) = nullptr;
  void (*send)() = nullptr;
  void* (*pool_push)() = nullptr;
  void (*pool_pop)(void* pool) = nullptr;
};
// Set when the driver was opened.
inline ObjcFunctions objc;

// The arguments must have the very types of the method. No method used here returns a structure,
// which takes another function on some machines.
template <class Result, class... Args>
Result Send(Id object, const char* selector, Args... args) {
  auto send = reinterpret_cast<Result (*)(Id, Selector, Args...)>(objc.send);
  return send(object, objc.register_name(selector), args...);
}

// Where methods leave what they return without giving it away.
class Pool {
 public:
  Pool() : pool_(objc.pool_push()) {}
  ~Pool() { objc.pool_pop(pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

 private:
  void* pool_;
};

// One reference to an object, which may be null.
class Ref {
 public:
  Ref() = default;
  // What a method "new..." or "copy..." gave away.
  static Ref Take(Id object) { return Ref(object); }
  // What somebody else owns.
  static Ref Retain(Id object) { return Ref(object ? Send<Id>(object, "retain") : nullptr); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) Send<void>(object_, "release");
  }

  Id get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // The reference is the caller's.
  Id Give() { return std::exchange(object_, nullptr); }

 private:
  explicit Ref(Id object) : object_(object) {}
  Id object_ = nullptr;
};

// A string for a method; the pool owns it.
inline Id Text(const std::string& text) {
  return Send<Id>(objc.get_class("NSString"), "stringWithUTF8String:", text.c_str());
}
inline std::string TextOf(Id string) {
  const char* text = string ? Send<const char*>(string, "UTF8String") : nullptr;
  return text ? text : "";
}
// What an NSError says.
inline std::string MessageOf(Id error) {
  return error ? TextOf(Send<Id>(error, "localizedDescription")) : "no reason was given";
}

}  // namespace tern::backend::metal

#endif  // TERN_BACKEND_METAL_RUNTIME_OBJC_H_
