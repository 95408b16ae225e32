// SPDX-License-Identifier: Apache-2.0
//
// The compiler for C99 and every language that can call C: beside tern/runtime/c_api.h, whose rules
// hold here too. These functions are in libtern_compiler.so; what they make is used with those of
// the runtime.
//
// `options` are a JSON object, or NULL; what is left out has its default. A field that is not known
// is an error.
#ifndef TERN_C_API_COMPILE_H_
#define TERN_C_API_COMPILE_H_

#include "tern/runtime/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

// What can be compiled: kernels, or a model. It does not change.
typedef struct TernSource TernSource;

// Reads a .tir or .onnx file. Options, of a model alone:
//   input_shapes  object: input -> array of extents; -1 leaves one as it is
//   dims          object: name of a dimension -> extent
//   freeze        bool: inputs that have initializers are constants
int tern_source_read(const char* path, const char* options, TernSource** source);
// The text of a .tir file; messages call it `name`.
int tern_source_parse(const char* text, uint64_t size, const char* name, TernSource** source);
// The bytes of an .onnx file, which are copied. Options as above. External data are an error.
int tern_source_parse_onnx(const char* data, uint64_t size, const char* name, const char* options,
                           TernSource** source);
// What was made of it stays usable. NULL is ignored.
void tern_source_free(TernSource* source);
int tern_source_is_model(TernSource* source, int32_t* is_model);
// As text that tern_source_parse reads. `passes` is a list with commas, or NULL: those run before.
// "apply_schedules" shows kernels as they are scheduled.
int tern_source_print(TernSource* source, const char* passes, TernAny* text);

// What came of a source: host code with its device modules, and of a model the program and weights.
typedef struct TernExecutable TernExecutable;

// Options:
//   targets            array of targets; empty: the default host. Several are hosts
//   hosts              array of host targets for a device target, or further hosts
//   bounds_checks      bool: accesses out of bounds are errors
//   default_schedules  bool (true): functions without a schedule get one by rules
//   fuse, strict_math  bool (true, false), of a model
//   precision          string, of a model: "fp16", "bf16", "mixed" or "tf32" (docs/onnx.md)
//   executor           string, of a model: "vm" (default), or "aot": a host function, for browsers
//                      (docs/aot.md); it is saved as a .tern file, and not run here
//   offload            array of strings, of a model: libraries that compute what they take: "blas"
//   prepack            bool (true): weights of a model are prepacked now
//   specialize         string, of a model with dynamic extents, in this process: "lazy" compiles
//                      shapes that come again in another thread, "eager" each before its first
//                      run; "off" (default). At most 8 shapes (docs/vm.md)
int tern_compile(TernSource* source, const char* options, TernExecutable** executable);
// What was made of it stays usable. NULL is ignored.
void tern_executable_free(TernExecutable* executable);
// The format is that of the ending: .so, .tern; of kernels .o, .a, .c, .tar too. Options:
//   keep_source  bool: readable forms are stored too
int tern_executable_save(TernExecutable* executable, const char* path, const char* options);
// In this process: of kernels, of a model. Where there are several hosts, the first.
int tern_executable_module(TernExecutable* executable, TernModule** module);
int tern_executable_model(TernExecutable* executable, TernModel** model);
// A readable form of the code, of the root and what it imports, by the name that its module has for
// it: "ll", "asm", "c", ... "": the first that there is.
int tern_executable_source(TernExecutable* executable, const char* format, TernAny* text);

// What becomes of it on a target, before code is generated: kernels, rules, schedules, memory.
// Options as of tern_compile, and:
//   format  "text" or, of a model, "html"
//   kernel  of a model: one kernel alone
int tern_explain(TernSource* source, const char* name, const char* options, TernAny* text);

// What can be compiled for and what can run here, as JSON: `default_host`, and `kinds` with `name`,
// `description`, `role`, `unavailable`, `device`, `tags` and, of those whose plugin is here,
// `devices`.
int tern_targets(TernAny* json);

// Loads libtern_codegen_<name>.so, a library of code generators or operators, from where plugins
// are searched.
int tern_codegen_load(const char* name);

// All of the above, for who opens the library and not links it: the symbol tern_compiler_api gives
// it. Grows at the end.
typedef struct TernCompilerApi {
  uint64_t size;
  int (*source_read)(const char*, const char*, TernSource**);
  int (*source_parse)(const char*, uint64_t, const char*, TernSource**);
  int (*source_parse_onnx)(const char*, uint64_t, const char*, const char*, TernSource**);
  void (*source_free)(TernSource*);
  int (*source_is_model)(TernSource*, int32_t*);
  int (*source_print)(TernSource*, const char*, TernAny*);
  int (*compile)(TernSource*, const char*, TernExecutable**);
  void (*executable_free)(TernExecutable*);
  int (*executable_save)(TernExecutable*, const char*, const char*);
  int (*executable_module)(TernExecutable*, TernModule**);
  int (*executable_model)(TernExecutable*, TernModel**);
  int (*executable_source)(TernExecutable*, const char*, TernAny*);
  int (*explain)(TernSource*, const char*, const char*, TernAny*);
  int (*targets)(TernAny*);
  int (*codegen_load)(const char*);
} TernCompilerApi;
const TernCompilerApi* tern_compiler_api(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TERN_C_API_COMPILE_H_
