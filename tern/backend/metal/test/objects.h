// SPDX-License-Identifier: Apache-2.0
//
// A small Objective-C runtime for the stand-in: classes with methods, references that are counted,
// pools. Objects stay where they are when they are released, so that later messages to them are
// noticed. What no program may do ends the process, with a line that says what it was.
#ifndef TERN_BACKEND_METAL_TEST_OBJECTS_H_
#define TERN_BACKEND_METAL_TEST_OBJECTS_H_

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tern/runtime/test_standin/lock.h"

namespace tern::backend::metal::standin {

struct Class;

struct Object {
  explicit Object(Class* isa);
  virtual ~Object() = default;
  // When the last reference is gone: gives back what it holds.
  virtual void Dealloc() {}
  // Whether it is worth a word when it is still there at the end.
  virtual bool CanLeak() const { return true; }

  Class* isa;
  long count = 1;
  bool is_dead = false;
};

using Method = void (*)();

struct Class : Object {
  Class(std::string name, Class* meta) : Object(meta), name(std::move(name)) {}
  bool CanLeak() const override { return false; }

  // Of its objects; a class is an object of its own class of classes.
  template <class Function>
  void Add(const char* selector, Function* function) {
    methods[selector] = reinterpret_cast<Method>(function);
  }
  template <class Function>
  void AddToClass(const char* selector, Function* function) {
    isa->Add(selector, function);
  }

  std::string name;
  std::map<std::string, Method> methods;
};

class Runtime {
 public:
  static Runtime& Get();

  // Makes it where it is not there yet.
  Class* GetClass(const std::string& name);
  Class* FindClass(const std::string& name) const;
  const char* Intern(const std::string& selector);
  Method Find(Object* object, const char* selector);

  void Retain(Object* object);
  void Release(Object* object);
  Object* Autorelease(Object* object);
  std::string Leaks() const;
  int CountLive(const std::string& name) const;

  tern::standin::Lock& lock() { return lock_; }
  void Note(Object* object) { objects_.insert(object); }
  bool IsObject(const Object* object) const {
    return objects_.contains(const_cast<Object*>(object));
  }

 private:
  tern::standin::Lock lock_;
  std::set<Object*> objects_;  // the released ones too
  std::map<std::string, Class*> classes_;
  std::set<std::string> selectors_;
};

using Guard = std::lock_guard<tern::standin::Lock>;
#define TERN_METHOD Guard guard(Runtime::Get().lock())

// What no program may do.
[[noreturn]] void Misuse(const std::string& what);

// The argument, which must be a live object of that class.
template <class T>
T* Argument(Object* object, const char* method, const char* expected) {
  if (!object) Misuse(std::string(method) + ": nil is no " + expected);
  if (!Runtime::Get().IsObject(object))
    Misuse(std::string(method) + ": what is given is no object; expected a " + expected);
  if (object->is_dead) Misuse(std::string(method) + ": the " + object->isa->name + " was released");
  T* result = dynamic_cast<T*>(object);
  if (!result)
    Misuse(std::string(method) + ": expected a " + expected + ", got a " + object->isa->name);
  return result;
}

struct String : Object {
  explicit String(std::string text);
  std::string text;
};
Object* MakeError(const std::string& text);  // autoreleased
Object* MakeArray(const std::vector<Object*>& objects);
// The bytes of what dispatch_data_create made.
const std::string& DataOf(Object* data, const char* method);

// Each adds its classes.
void RegisterFoundation(Runtime& runtime);
void RegisterDevice(Runtime& runtime);
void RegisterCommands(Runtime& runtime);

}  // namespace tern::backend::metal::standin

#define TERN_STANDIN_API extern "C" __attribute__((visibility("default")))

#endif  // TERN_BACKEND_METAL_TEST_OBJECTS_H_
