// SPDX-License-Identifier: Apache-2.0
//
// The stand-in's functions for tests, as a plugin would find them.
#ifndef TERN_BACKEND_METAL_TEST_STANDIN_FIXTURE_H_
#define TERN_BACKEND_METAL_TEST_STANDIN_FIXTURE_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tern/backend/metal/runtime/objc.h"

namespace tern::backend::metal {

template <class Function>
Function FindInStandin(const char* symbol) {
  setenv("TERN_STANDIN_DEVICES", "2", 0);
  static void* library = dlopen(TERN_STANDIN_LIBRARY, RTLD_NOW);
  auto function = library ? reinterpret_cast<Function>(dlsym(library, symbol)) : nullptr;
  if (!function) ADD_FAILURE() << symbol << ": " << dlerror();
  return function;
}

inline void OpenStandin() {
  objc.get_class = FindInStandin<decltype(objc.get_class)>("objc_getClass");
  objc.register_name = FindInStandin<decltype(objc.register_name)>("sel_registerName");
  objc.send = FindInStandin<decltype(objc.send)>("objc_msgSend");
  objc.pool_push = FindInStandin<decltype(objc.pool_push)>("objc_autoreleasePoolPush");
  objc.pool_pop = FindInStandin<decltype(objc.pool_pop)>("objc_autoreleasePoolPop");
}

inline Id DeviceAt(UInt number) {
  static Id devices = FindInStandin<Id (*)()>("MTLCopyAllDevices")();
  return Send<Id>(devices, "objectAtIndex:", number);
}

inline Ref NewBuffer(UInt bytes, UInt device = 0) {
  return Ref::Take(Send<Id>(DeviceAt(device), "newBufferWithLength:options:", bytes, UInt{0}));
}

// A kernel of a source, or null with what the compiler said.
inline Ref NewPipeline(const std::string& source, const char* kernel, std::string* log) {
  Pool pool;
  Ref options = Ref::Take(Send<Id>(objc.get_class("MTLCompileOptions"), "new"));
  Send<void>(options.get(), "setFastMathEnabled:", false);
  Id error = nullptr;
  Ref library = Ref::Take(Send<Id>(DeviceAt(0), "newLibraryWithSource:options:error:", Text(source),
                                   options.get(), &error));
  if (!library) return *log = MessageOf(error), Ref();
  Ref function = Ref::Take(Send<Id>(library.get(), "newFunctionWithName:", Text(kernel)));
  if (!function) return *log = "no such kernel", Ref();
  Ref pipeline = Ref::Take(
      Send<Id>(DeviceAt(0), "newComputePipelineStateWithFunction:error:", function.get(), &error));
  if (!pipeline) *log = MessageOf(error);
  return pipeline;
}

}  // namespace tern::backend::metal

#endif  // TERN_BACKEND_METAL_TEST_STANDIN_FIXTURE_H_
