// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/function.h"

namespace tern::ffi {
namespace {

thread_local std::optional<Error> raised_error;

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

void Function::WrongArgument(Names names, size_t i, const std::string& expected,
                             const AnyView& got) {
  std::string param = names.params.empty() ? "" : " (" + names.params[i] + ")";
  throw Error("TypeError", names.function + ": argument " + std::to_string(i) + param +
                               ": expected " + expected + ", got " + Describe(got.raw()));
}

}  // namespace tern::ffi
