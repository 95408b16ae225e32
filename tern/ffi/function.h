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
#include <vector>

#include "tern/ffi/any.h"

namespace tern::ffi {

using Args = std::span<const AnyView>;

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

// A function whose code is a C++ callable of type Any(Args).
template <class F>
class CallableObj : public FunctionObj {
 public:
  explicit CallableObj(F body) : FunctionObj(&Call), body_(std::move(body)) {}

 private:
  static int Call(void* handle, const TernAny* args, int32_t num_args, TernAny* result) {
    // AnyView is a TernAny with methods.
    static_assert(sizeof(AnyView) == sizeof(TernAny) && std::is_standard_layout_v<AnyView>);
    return Guard([&] {
      auto* self = static_cast<CallableObj*>(Object::FromHeader(static_cast<TernObject*>(handle)));
      Args views(reinterpret_cast<const AnyView*>(args), static_cast<size_t>(num_args));
      *result = self->body_(views).Release();
    });
  }

  F body_;
};

// An argument of a call: objects and values are borrowed from the caller, others are made.
class CallArgument {
 public:
  template <class T>
    requires(!std::is_same_v<std::decay_t<T>, CallArgument>)
  explicit CallArgument(T&& value) {
    using Value = std::decay_t<T>;
    if constexpr (std::is_base_of_v<AnyView, Value>) {
      view_ = value;
    } else if constexpr (requires { typename AnyTraits<Value>::BorrowedObject; }) {
      if (value) view_ = AnyView({value->type_index(), 0, {.v_obj = value->header()}});
    } else {
      owned_ = Any(std::forward<T>(value));
      view_ = owned_;
    }
  }
  const AnyView& view() const { return view_; }

 private:
  Any owned_;
  AnyView view_;
};

class Function : public Ref<FunctionObj> {
 public:
  Function() = default;
  Function(Ref<FunctionObj> ref) : Ref(std::move(ref)) {}

  template <class F>
  static Function FromPacked(F body) {
    return Function(Make<CallableObj<F>>(std::move(body)));
  }

  // Wraps a typed callable; arguments are converted with checks. `name`, and those of the
  // parameters where they are given, stand in the messages.
  template <class F>
  static Function FromTyped(std::string name, F body, std::vector<std::string> params = {}) {
    using Signature = decltype(std::function(std::declval<F>()));
    return FromTypedImpl(std::move(name), std::move(params), std::move(body),
                         static_cast<Signature*>(nullptr));
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
    return CallWith(CallArgument(std::forward<T>(args))...);
  }

 private:
  template <class... A>
  Any CallWith(const A&... args) const {
    std::array<AnyView, sizeof...(A)> views{args.view()...};
    return CallPacked(views);
  }

  template <class F, class R, class... T>
  static Function FromTypedImpl(std::string name, std::vector<std::string> params, F body,
                                std::function<R(T...)>*) {
    TERN_ICHECK(params.empty() || params.size() == sizeof...(T)) << name;
    return FromPacked([name = std::move(name), params = std::move(params),
                       body = std::move(body)](Args args) mutable -> Any {
      if (args.size() != sizeof...(T))
        TERN_THROW(TypeError) << name << ": expected " << sizeof...(T) << " arguments, got "
                              << args.size();
      return Invoke<R, T...>(body, args, {name, params}, std::index_sequence_for<T...>{});
    });
  }

  // For messages.
  struct Names {
    const std::string& function;
    const std::vector<std::string>& params;
  };

  template <class R, class... T, class F, size_t... I>
  static Any Invoke(F& body, [[maybe_unused]] Args args, [[maybe_unused]] Names names,
                    std::index_sequence<I...>) {
    std::tuple<std::decay_t<T>...> values{Argument<std::decay_t<T>>(names, args, I)...};
    if constexpr (std::is_void_v<R>) {
      std::apply(body, std::move(values));
      return {};
    } else {
      return Any(std::apply(body, std::move(values)));
    }
  }

  template <class T>
  static T Argument(Names names, Args args, size_t i) {
    std::optional<T> value = args[i].TryAs<T>();
    if (!value) [[unlikely]]
      WrongArgument(names, i, AnyTraits<T>::Name(), args[i]);
    return *std::move(value);
  }
  [[noreturn]] static void WrongArgument(Names names, size_t i, const std::string& expected,
                                         const AnyView& got);
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
    return ref ? std::optional<Function>(*std::move(ref)) : std::nullopt;
  }
};

}  // namespace tern::ffi

#endif  // TERN_FFI_FUNCTION_H_
