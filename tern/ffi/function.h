// SPDX-License-Identifier: Apache-2.0
//
// Functions: anything that can be called through the one C signature. Typed C++ callables wrap to
// it and back.
#ifndef TERN_FFI_FUNCTION_H_
#define TERN_FFI_FUNCTION_H_

#include <array>
#include <functional>
#include <span>
#include <string>
#include <tuple>

#include "tern/ffi/any.h"

namespace tern::ffi {

using Args = std::span<const AnyView>;
using PackedFn = std::function<Any(Args)>;

// The error slot of this thread: what a safe call that returns -1 has left behind.
void SetRaised(const Error& error);
// Moves the error out; an InternalError if none was raised.
Error TakeRaised();
// Runs `body` and turns what it throws into a raised error. Returns 0 or -1. `noexcept` for the C
// boundary.
template <class Body>
int Guard(Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const Error& error) {
    SetRaised(error);
  } catch (const std::exception& error) {
    SetRaised(Error("RuntimeError", error.what()));
  } catch (...) {
    SetRaised(Error("RuntimeError", "unknown exception"));
  }
  return -1;
}
inline void CheckCall(int code) {
  if (code != 0) throw TakeRaised();
}

class FunctionObj : public Object {
 public:
  explicit FunctionObj(TernSafeCall call) : cell_{call, nullptr} {}
  static int32_t TypeIndex() { return kTernFunction; }
  TernSafeCall safe_call() const { return cell_.safe_call; }

 private:
  TernFunctionCell cell_;
};

class Function : public Ref<FunctionObj> {
 public:
  Function() = default;
  Function(Ref<FunctionObj> ref) : Ref(std::move(ref)) {}

  static Function FromPacked(PackedFn body);

  // Wraps a typed callable; arguments are converted with checks, and `name` stands in the messages.
  template <class F>
  static Function FromTyped(std::string name, F body) {
    return FromTypedImpl(std::move(name), std::function(std::move(body)));
  }

  // Calls with borrowed values; throws what the callee raised.
  Any CallPacked(Args args) const {
    TernAny result{};
    CheckCall(get()->safe_call()(get()->header(), reinterpret_cast<const TernAny*>(args.data()),
                                 static_cast<int32_t>(args.size()), &result));
    return Any::Adopt(result);
  }

  template <class... T>
  Any operator()(T&&... args) const {
    std::array<Any, sizeof...(T)> owned{Any(std::forward<T>(args))...};
    std::array<AnyView, sizeof...(T)> views;
    std::copy(owned.begin(), owned.end(), views.begin());
    return CallPacked(views);
  }

 private:
  template <class R, class... T>
  static Function FromTypedImpl(std::string name, std::function<R(T...)> body) {
    return FromPacked([name = std::move(name), body = std::move(body)](Args args) -> Any {
      if (args.size() != sizeof...(T))
        TERN_THROW(TypeError) << name << ": expected " << sizeof...(T) << " arguments, got "
                              << args.size();
      return Invoke(name, body, args, std::index_sequence_for<T...>{});
    });
  }

  template <class R, class... T, size_t... I>
  static Any Invoke(const std::string& name, const std::function<R(T...)>& body,
                    [[maybe_unused]] Args args, std::index_sequence<I...>) {
    std::tuple<std::decay_t<T>...> values{Argument<std::decay_t<T>>(name, args, I)...};
    if constexpr (std::is_void_v<R>) {
      std::apply(body, std::move(values));
      return {};
    } else {
      return Any(std::apply(body, std::move(values)));
    }
  }

  template <class T>
  static T Argument(const std::string& name, Args args, size_t i) {
    std::optional<T> value = args[i].TryAs<T>();
    if (!value)
      TERN_THROW(TypeError) << name << ": argument " << i << ": expected " << AnyTraits<T>::Name()
                            << ", got " << Describe(args[i].raw());
    return *std::move(value);
  }
};

template <>
struct AnyTraits<Any> {  // a parameter of any type
  static std::string Name() { return "any value"; }
  static std::optional<Any> From(const TernAny& value) { return Any(AnyView(value)); }
};

template <>
struct AnyTraits<Function> : AnyTraits<Ref<FunctionObj>> {
  static std::optional<Function> From(const TernAny& value) {
    auto ref = AnyTraits<Ref<FunctionObj>>::From(value);
    return ref ? std::optional<Function>(*ref) : std::nullopt;
  }
};

}  // namespace tern::ffi

#endif  // TERN_FFI_FUNCTION_H_
