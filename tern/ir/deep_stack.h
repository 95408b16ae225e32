// SPDX-License-Identifier: Apache-2.0
//
// Stack for recursion over programs.
//
// A sequence of lets, allocations and buffers is a chain of statements, each the body of the one
// before, and passes walk it by recursion. Whoever starts such a walk runs it on a deep stack: the
// stack of a thread holds some thousand statements of a chain, a deep one millions.
#ifndef TERN_IR_DEEP_STACK_H_
#define TERN_IR_DEEP_STACK_H_

#include <optional>
#include <type_traits>

namespace tern::ir {

// Calls f(data) on a deep stack, in this thread. On one already, or where the system gives none, it
// is a plain call. What `f` throws is thrown here.
void CallOnDeepStack(void (*f)(void* data), void* data);

template <class F>
auto OnDeepStack(F&& f) {
  using Result = std::invoke_result_t<F&>;
  if constexpr (std::is_void_v<Result>) {
    CallOnDeepStack([](void* data) { (*static_cast<std::remove_reference_t<F>*>(data))(); }, &f);
  } else {
    struct Call {
      std::remove_reference_t<F>& f;
      std::optional<Result> result;
    } call{f, {}};
    CallOnDeepStack(
        [](void* data) {
          Call& to_make = *static_cast<Call*>(data);
          to_make.result.emplace(to_make.f());
        },
        &call);
    return std::move(*call.result);
  }
}

}  // namespace tern::ir

#endif  // TERN_IR_DEEP_STACK_H_
