// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/metal/test/objects.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tern/ffi/environment.h"
#include "tern/runtime/test_standin/thread_state.h"

namespace tern::backend::metal::standin {
namespace {

using Pools = std::vector<std::vector<Object*>>;
Pools& MyPools() { return tern::standin::ThreadState<Pools>(); }

__attribute__((constructor)) void RegisterClasses() {
  Runtime& runtime = Runtime::Get();
  RegisterFoundation(runtime);
  RegisterDevice(runtime);
  RegisterCommands(runtime);
}

__attribute__((destructor)) void ReportAtExit() {
  std::string leaks = Runtime::Get().Leaks();
  if (leaks.empty()) return;
  std::fprintf(stderr, "stand-in metal: at the end there are still\n%s", leaks.c_str());
  if (!environment::Flag("TERN_STANDIN_STRICT", false)) return;
  std::fflush(nullptr);
  _exit(97);
}

}  // namespace

void Misuse(const std::string& what) {
  std::fprintf(stderr, "stand-in metal: %s\n", what.c_str());
  std::fflush(nullptr);
  std::abort();
}

Object::Object(Class* isa) : isa(isa) { Runtime::Get().Note(this); }

Runtime& Runtime::Get() {
  static auto* runtime = new Runtime;
  return *runtime;
}

Class* Runtime::FindClass(const std::string& name) const {
  auto it = classes_.find(name);
  return it == classes_.end() ? nullptr : it->second;
}

const char* Runtime::Intern(const std::string& selector) {
  return selectors_.insert(selector).first->c_str();
}

Method Runtime::Find(Object* object, const char* selector) {
  std::string name;
  for (const std::string& known : selectors_)
    if (known.c_str() == selector) name = known;
  if (name.empty()) Misuse("a message has no selector of sel_registerName");
  if (!object) Misuse("message " + name + " to nil");
  if (!IsObject(object)) Misuse("message " + name + " to what is no object");
  if (object->is_dead)
    Misuse("message " + name + " to a " + object->isa->name + " that was released");
  for (const Class* place : {object->isa, FindClass("NSObject")})
    if (auto it = place->methods.find(name); it != place->methods.end()) return it->second;
  Misuse("a " + object->isa->name + " does not understand " + name);
}

Class* Runtime::GetClass(const std::string& name) {
  Class*& found = classes_[name];
  if (!found) found = new Class(name, new Class(name + " class", nullptr));
  return found;
}

void Runtime::Retain(Object* object) { ++object->count; }

void Runtime::Release(Object* object) {
  if (--object->count > 0) return;
  object->is_dead = true;
  object->Dealloc();
}

Object* Runtime::Autorelease(Object* object) {
  if (MyPools().empty())
    Misuse("a " + object->isa->name + " is autoreleased, and there is no pool");
  MyPools().back().push_back(object);
  return object;
}

std::string Runtime::Leaks() const {
  std::map<std::string, int> counts;
  for (const Object* object : objects_)
    if (!object->is_dead && object->CanLeak()) ++counts[object->isa->name];
  std::string lines;
  for (const auto& [name, count] : counts)
    lines += "  " + std::to_string(count) + " " + name + "\n";
  return lines;
}

int Runtime::CountLive(const std::string& name) const {
  int count = 0;
  for (const Object* object : objects_)
    count += object->isa && !object->is_dead && object->isa->name == name;
  return count;
}

}  // namespace tern::backend::metal::standin

using namespace tern::backend::metal::standin;

TERN_STANDIN_API Object* objc_getClass(const char* name) {
  TERN_METHOD;
  return Runtime::Get().FindClass(name);
}

TERN_STANDIN_API const char* sel_registerName(const char* name) {
  TERN_METHOD;
  return Runtime::Get().Intern(name);
}

TERN_STANDIN_API void* objc_autoreleasePoolPush() {
  MyPools().emplace_back();
  return reinterpret_cast<void*>(MyPools().size());  // NOLINT: a number for the caller to give back
}

TERN_STANDIN_API void objc_autoreleasePoolPop(void* pool) {
  TERN_METHOD;
  if (MyPools().empty() || reinterpret_cast<size_t>(pool) != MyPools().size())
    Misuse("a pool is popped that is not the innermost");
  for (Object* object : MyPools().back()) Runtime::Get().Release(object);
  MyPools().pop_back();
}

// How many objects of a class there are, for tests.
TERN_STANDIN_API int tern_standin_live(const char* name) {
  TERN_METHOD;
  return Runtime::Get().CountLive(name);
}

extern "C" __attribute__((visibility("hidden"))) Method tern_standin_find(Object* object,
                                                                          const char* selector) {
  TERN_METHOD;
  return Runtime::Get().Find(object, selector);
}

// Finds the method, and goes there with all arguments where they are.
#if defined(__x86_64__)
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend, @function
objc_msgSend:
  push %rbp
  mov %rsp, %rbp
  sub $176, %rsp
  mov %rdi, 0(%rsp)
  mov %rsi, 8(%rsp)
  mov %rdx, 16(%rsp)
  mov %rcx, 24(%rsp)
  mov %r8, 32(%rsp)
  mov %r9, 40(%rsp)
  movups %xmm0, 48(%rsp)
  movups %xmm1, 64(%rsp)
  movups %xmm2, 80(%rsp)
  movups %xmm3, 96(%rsp)
  movups %xmm4, 112(%rsp)
  movups %xmm5, 128(%rsp)
  movups %xmm6, 144(%rsp)
  movups %xmm7, 160(%rsp)
  call tern_standin_find
  mov %rax, %r11
  mov 0(%rsp), %rdi
  mov 8(%rsp), %rsi
  mov 16(%rsp), %rdx
  mov 24(%rsp), %rcx
  mov 32(%rsp), %r8
  mov 40(%rsp), %r9
  movups 48(%rsp), %xmm0
  movups 64(%rsp), %xmm1
  movups 80(%rsp), %xmm2
  movups 96(%rsp), %xmm3
  movups 112(%rsp), %xmm4
  movups 128(%rsp), %xmm5
  movups 144(%rsp), %xmm6
  movups 160(%rsp), %xmm7
  leave
  jmp *%r11
.size objc_msgSend, . - objc_msgSend
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend, %function
objc_msgSend:
  stp x29, x30, [sp, #-224]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  bl tern_standin_find
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp q0, q1, [sp, #96]
  ldp q2, q3, [sp, #128]
  ldp q4, q5, [sp, #160]
  ldp q6, q7, [sp, #192]
  ldp x29, x30, [sp], #224
  br x16
.size objc_msgSend, . - objc_msgSend
)");
#else
#error "objc_msgSend is not written for this machine"
#endif
