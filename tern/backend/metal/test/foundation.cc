// SPDX-License-Identifier: Apache-2.0
//
// What Metal needs of other libraries: objects, strings, lists, errors, data.
#include <cstring>
#include <vector>

#include "tern/backend/metal/test/objects.h"

namespace tern::backend::metal::standin {
namespace {

struct Array : Object {
  explicit Array(const std::vector<Object*>& objects)
      : Object(Runtime::Get().GetClass("NSArray")), objects(objects) {
    for (Object* object : objects) Runtime::Get().Retain(object);
  }
  void Dealloc() override {
    for (Object* object : objects) Runtime::Get().Release(object);
  }
  std::vector<Object*> objects;
};

struct Error : Object {
  explicit Error(std::string text)
      : Object(Runtime::Get().GetClass("NSError")), text(std::move(text)) {}
  std::string text;
};

struct Data : Object {
  explicit Data(std::string bytes)
      : Object(Runtime::Get().GetClass("OS_dispatch_data")), bytes(std::move(bytes)) {}
  std::string bytes;
};

Object* Retain(Object* self, const char*) {
  TERN_METHOD;
  Runtime::Get().Retain(self);
  return self;
}

void Release(Object* self, const char*) {
  TERN_METHOD;
  Runtime::Get().Release(self);
}

Object* Autorelease(Object* self, const char*) {
  TERN_METHOD;
  return Runtime::Get().Autorelease(self);
}

Object* StringOf(Object*, const char*, const char* text) {
  TERN_METHOD;
  if (!text) Misuse("stringWithUTF8String: nil is no text");
  return Runtime::Get().Autorelease(new String(text));
}

const char* TextOfString(Object* self, const char*) {
  return static_cast<String*>(self)->text.c_str();
}

unsigned long Count(Object* self, const char*) { return static_cast<Array*>(self)->objects.size(); }

Object* At(Object* self, const char*, unsigned long index) {
  auto& objects = static_cast<Array*>(self)->objects;
  if (index >= objects.size()) Misuse("objectAtIndex: beyond the end");
  return objects[index];
}

Object* Description(Object* self, const char*) {
  TERN_METHOD;
  return Runtime::Get().Autorelease(new String(static_cast<Error*>(self)->text));
}

}  // namespace

String::String(std::string text)
    : Object(Runtime::Get().GetClass("NSString")), text(std::move(text)) {}

Object* MakeError(const std::string& text) { return Runtime::Get().Autorelease(new Error(text)); }
Object* MakeArray(const std::vector<Object*>& objects) { return new Array(objects); }

const std::string& DataOf(Object* data, const char* method) {
  return Argument<Data>(data, method, "dispatch_data")->bytes;
}

void RegisterFoundation(Runtime& runtime) {
  Class* object = runtime.GetClass("NSObject");
  object->Add("retain", Retain);
  object->Add("release", Release);
  object->Add("autorelease", Autorelease);
  Class* string = runtime.GetClass("NSString");
  string->AddToClass("stringWithUTF8String:", StringOf);
  string->Add("UTF8String", TextOfString);
  Class* array = runtime.GetClass("NSArray");
  array->Add("count", Count);
  array->Add("objectAtIndex:", At);
  runtime.GetClass("NSError")->Add("localizedDescription", Description);
}

}  // namespace tern::backend::metal::standin

using namespace tern::backend::metal::standin;

TERN_STANDIN_API Object* dispatch_data_create(const void* bytes, size_t size, void* queue,
                                              void* destructor) {
  TERN_METHOD;
  if (queue || destructor)
    Misuse("dispatch_data_create: only the default destructor is known here");
  return new Data(std::string(static_cast<const char*>(bytes), size));
}
