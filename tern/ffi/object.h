// SPDX-License-Identifier: Apache-2.0
//
// Intrusive reference-counted objects in the layout of c_abi.h.
#ifndef TERN_FFI_OBJECT_H_
#define TERN_FFI_OBJECT_H_

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "tern/ffi/c_abi.h"

namespace tern::ffi {

inline constexpr uint64_t kStrongOne = 1;
inline constexpr uint64_t kWeakOne = uint64_t{1} << 32;

inline void IncRef(TernObject* object) {
  std::atomic_ref(object->count).fetch_add(kStrongOne, std::memory_order_relaxed);
}

// The last to leave sees what the others did before they left: it reads the count once more, to
// acquire it. (The thread sanitizer does not understand fences.)
inline void DecRef(TernObject* object) {
  std::atomic_ref count(object->count);
  uint64_t old = count.fetch_sub(kStrongOne, std::memory_order_release);
  if (old == (kStrongOne | kWeakOne)) {
    count.load(std::memory_order_acquire);
    if (object->deleter) object->deleter(object, kTernDestroy | kTernFree);
  } else if ((old & 0xffffffffu) == 1) {
    count.load(std::memory_order_acquire);
    if (object->deleter) object->deleter(object, kTernDestroy);
    if (count.fetch_sub(kWeakOne, std::memory_order_acq_rel) == kWeakOne && object->deleter)
      object->deleter(object, kTernFree);
  }
}

// The base of every object. It has no virtual function, so that the header stands at offset 0; a
// derived class that never leaves C++ may have some. A derived class says its type with `static
// int32_t TypeIndex()`.
class Object {
 public:
  Object() = default;
  Object(const Object&) : Object() {}  // a copy is a new object with counts of its own
  Object& operator=(const Object&) { return *this; }

  static int32_t TypeIndex() { return kTernObjectBegin; }
  int32_t type_index() const { return header_.type_index; }
  bool unique() const {
    return (std::atomic_ref(header_.count).load(std::memory_order_acquire) & 0xffffffffu) == 1;
  }
  TernObject* header() const { return &header_; }
  static Object* FromHeader(TernObject* header) { return reinterpret_cast<Object*>(header); }

 private:
  template <class T, class... Args>
  friend T* NewObject(Args&&... args);
  mutable TernObject header_{};
};
static_assert(sizeof(Object) == sizeof(TernObject));

// The process-wide index of a type that is private to Tern, by its key ("ir.IRModule"); the same
// key gives the same index.
int32_t DynamicTypeIndex(const char* key);
// The key of a type index, static or dynamic: "int", "Tensor", "ir.IRModule".
std::string TypeName(int32_t type_index);

// Destroys an object whose last reference is gone. Where it is a member of one that is being
// destroyed, it waits for its turn: a chain of any length needs the stack of one object. A class
// asks for it by a static member kFormsChains.
void DestroyInTurn(TernObject* object, void (*destroy)(TernObject* object, int flags));

// Allocates a T with one strong reference and the 16 zero bytes before it that the ABI asks for.
template <class T, class... Args>
T* NewObject(Args&&... args) {
  constexpr size_t kPrefix = 16;
  static_assert(alignof(T) <= kPrefix);
  void* memory =
      std::aligned_alloc(kPrefix, (kPrefix + sizeof(T) + kPrefix - 1) / kPrefix * kPrefix);
  if (!memory) throw std::bad_alloc();
  std::memset(memory, 0, kPrefix);
  T* object;
  try {
    object = new (static_cast<char*>(memory) + kPrefix) T(std::forward<Args>(args)...);
  } catch (...) {
    std::free(memory);
    throw;
  }
  TernObject* header = static_cast<Object*>(object)->header();
  header->count = kStrongOne | kWeakOne;
  header->type_index = T::TypeIndex();
  header->deleter = [](void* self, int flags) {
    auto destroy = [](TernObject* header, int flags) {
      T* object = static_cast<T*>(Object::FromHeader(header));
      if (flags & kTernDestroy) object->~T();
      if (flags & kTernFree) std::free(reinterpret_cast<char*>(object) - kPrefix);
    };
    auto* header = static_cast<TernObject*>(self);
    if constexpr (requires { T::kFormsChains; })
      if (flags == (kTernDestroy | kTernFree)) return DestroyInTurn(header, destroy);
    destroy(header, flags);
  };
  return object;
}

// An owning pointer to an object; null when default constructed.
template <class T>
class Ref {
 public:
  using element_type = T;

  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  Ref(const Ref<U>& other) : Ref(other.get()) {}
  explicit Ref(T* object) : object_(object) {
    if (object_) IncRef(object_->header());
  }
  ~Ref() {
    if (object_) DecRef(object_->header());
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  // Takes over a reference that the caller owns.
  static Ref Adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  // Gives the reference up to the caller.
  T* Release() { return std::exchange(object_, nullptr); }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // Identity, not structure.
  bool same(const Ref& other) const { return object_ == other.object_; }

 private:
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> Make(Args&&... args) {
  return Ref<T>::Adopt(NewObject<T>(std::forward<Args>(args)...));
}

}  // namespace tern::ffi

#endif  // TERN_FFI_OBJECT_H_
