// SPDX-License-Identifier: Apache-2.0
//
// Hooks in a shared library, in C: what others do with the code of a device before it is stored. A
// library for `tern compile --postproc` exports `tern_postproc`, which gives other code of the same
// form; one for `--compile-hook` exports `tern_compile`, which gives what another compiler makes of
// it. One library may have both. It links against nothing of Tern. docs/hooks.md says what form the
// code of each target has.
#ifndef TERN_CODEGEN_HOOK_API_H_
#define TERN_CODEGEN_HOOK_API_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TERN_HOOK_API_VERSION 1

// One question. It only ever grows at the end, so an older library runs in a newer compiler. All of
// it is borrowed for the call.
typedef struct TernHookCall {
  uint32_t size;
  uint32_t version;
  const char* kind;    // of the target, by name
  const char* target;  // with its attributes, as `tern compile -t` takes it
  const char* code;    // of one kernel or several; a zero follows it
  uint64_t code_size;
  // The answer; both copy what they are given.
  void (*set_code)(const struct TernHookCall* call, const char* code, uint64_t size);
  void (*set_error)(const struct TernHookCall* call, const char* message);
  void* self;  // the compiler's
} TernHookCall;

// Returns 0 after set_code, or -1 after set_error. No two calls at a time.
typedef int (*TernHook)(const TernHookCall* call);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TERN_CODEGEN_HOOK_API_H_
