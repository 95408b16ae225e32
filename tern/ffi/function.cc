// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/function.h"

namespace tern::ffi {
namespace {

thread_local std::optional<Error> raised_error;

class PackedFunctionObj : public FunctionObj {
 public:
  explicit PackedFunctionObj(PackedFn body) : FunctionObj(&Call), body_(std::move(body)) {}

 private:
  static int Call(void* handle, const TernAny* args, int32_t num_args, TernAny* result) {
    return Guard([&] {
      auto* self =
          static_cast<PackedFunctionObj*>(Object::FromHeader(static_cast<TernObject*>(handle)));
      // AnyView is a TernAny with methods.
      static_assert(sizeof(AnyView) == sizeof(TernAny) && std::is_standard_layout_v<AnyView>);
      *result =
          self->body_(Args(reinterpret_cast<const AnyView*>(args), static_cast<size_t>(num_args)))
              .Release();
    });
  }

  PackedFn body_;
};

}  // namespace

void SetRaised(const Error& error) { raised_error = error; }

Error TakeRaised() {
  if (!raised_error)
    return Error("InternalError",
                 "bug in Tern or a plugin: a call failed without saying why; please report it");
  Error error = *std::move(raised_error);
  raised_error.reset();
  return error;
}

Function Function::FromPacked(PackedFn body) {
  return Function(Make<PackedFunctionObj>(std::move(body)));
}

}  // namespace tern::ffi
