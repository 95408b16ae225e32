// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/device_hooks.h"

#include <mutex>

#include "tern/codegen/hook_api.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/plugin/plugin_loader.h"
#include "tern/target/target.h"

namespace tern::codegen {
namespace {

constexpr const char* kPostproc = "postproc";
constexpr const char* kCompile = "compile";

// A text or bytes; null where it is neither.
std::optional<std::string> CodeOf(const ffi::AnyView& value) {
  if (auto text = value.TryAs<std::string>()) return text;
  if (auto bytes = value.TryAs<ffi::Bytes>()) return bytes->data;
  return std::nullopt;
}

std::optional<std::string> Call(const std::string& kind, const char* hook, const std::string& code,
                                CodeForm form) {
  std::string name = "tern.callback." + kind + "." + hook;
  ffi::Function function = ffi::FindGlobal(name);
  if (!function) function = ffi::FindGlobal(name = std::string("tern.callback.") + hook);
  if (!function) return std::nullopt;
  ffi::Any result = form == CodeForm::kText ? function(code) : function(ffi::Bytes{code});
  if (std::optional<std::string> made = CodeOf(result)) return made;
  TERN_THROW(TypeError) << name << ": expected a text or bytes, got "
                        << ffi::Describe(result.raw());
}

// What a library answers.
struct Answer {
  std::optional<std::string> code, error;
};
// No exception may cross the library: what cannot be stored is missing afterwards.
void Set(std::optional<std::string>* text, const char* data, uint64_t size) noexcept {
  try {
    text->emplace(data, size);
  } catch (...) {
    text->reset();
  }
}
void SetCode(const TernHookCall* call, const char* code, uint64_t size) {
  Set(&static_cast<Answer*>(call->self)->code, code, size);
}
void SetError(const TernHookCall* call, const char* message) {
  Set(&static_cast<Answer*>(call->self)->error, message, std::char_traits<char>::length(message));
}

std::string Ask(TernHook hook, const std::string& code) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  target::Target target = target::CurrentTarget();
  std::string kind = target.get() ? target->kind->name : "",
              text = target.get() ? target->str() : "";
  Answer answer;
  TernHookCall call{sizeof(TernHookCall),
                    TERN_HOOK_API_VERSION,
                    kind.c_str(),
                    text.c_str(),
                    code.data(),
                    code.size(),
                    &SetCode,
                    &SetError,
                    &answer};
  int status = 0;
  try {
    status = hook(&call);
  } catch (const std::exception& error) {
    throw Error("RuntimeError", error.what());
  } catch (...) {
    throw Error("RuntimeError", "it threw what is no std::exception");
  }
  if (status != 0)
    throw Error("RuntimeError", answer.error.value_or("it failed, and did not say why"));
  if (!answer.code) throw Error("RuntimeError", "it made no code");
  return *std::move(answer.code);
}

}  // namespace

std::string PostProcess(const std::string& kind, const std::string& code, CodeForm form) {
  return Call(kind, kPostproc, code, form).value_or(code);
}

std::optional<std::string> CompileByHook(const std::string& kind, const std::string& code,
                                         CodeForm form) {
  return Call(kind, kCompile, code, form);
}

HookLibrary::HookLibrary(Part part, const std::string& path)
    : calls_(std::make_shared<std::atomic<int>>(0)) {
  std::string hook_name = part == Part::kPostproc ? kPostproc : kCompile;
  std::string symbol = "tern_" + hook_name;
  TernHook hook = nullptr;
  try {
    // A name without a slash would be searched for on the library path.
    runtime::PluginLibrary library(path.find('/') == std::string::npos ? "./" + path : path);
    hook = reinterpret_cast<TernHook>(library.Find(symbol.c_str()));
    TERN_CHECK(hook) << "not a library with this hook: it has no function " << symbol;
    library.Keep();
  } catch (const Error& error) {
    throw Error("RuntimeError", path + ": " + error.message());
  }
  std::string name = "tern.callback." + hook_name;
  ffi::RegisterGlobal(name, ffi::Function::FromPacked([=, calls = calls_](ffi::Args args) {
                        std::optional<std::string> code;
                        if (args.size() == 1) code = CodeOf(args[0]);
                        TERN_CHECK(code) << name << " takes a text or bytes";
                        ++*calls;
                        try {
                          // Bytes, as it may be no text.
                          return ffi::Any(ffi::Bytes{Ask(hook, *code)});
                        } catch (const Error& error) {
                          throw Error(error.kind(), path + ": " + symbol + ": " + error.message());
                        }
                      }));
  name_ = name;
}

HookLibrary::~HookLibrary() { ffi::RemoveGlobal(name_); }

void RegisterTargetCurrent() {
  ffi::RegisterGlobal("target.Current", ffi::Function::FromPacked([](ffi::Args args) {
                        TERN_CHECK(args.empty()) << "target.Current takes no arguments";
                        target::Target current = target::CurrentTarget();
                        return current.get() ? ffi::Any(current) : ffi::Any();
                      }));
}

}  // namespace tern::codegen
