// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_TEST_STANDIN_THREAD_STATE_H_
#define TERN_RUNTIME_TEST_STANDIN_THREAD_STATE_H_

#include <pthread.h>

namespace tern::standin {

// What a driver knows of each thread. Like a real driver's, it outlives the thread_local variables
// of its caller, whose destructors may still call: that of the main thread is never destroyed.
// One for each T.
template <class T>
T& ThreadState() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, [](void* state) { delete static_cast<T*>(state); });
    return made;
  }();
  auto* state = static_cast<T*>(pthread_getspecific(key));
  if (!state) pthread_setspecific(key, state = new T);
  return *state;
}

}  // namespace tern::standin

#endif  // TERN_RUNTIME_TEST_STANDIN_THREAD_STATE_H_
