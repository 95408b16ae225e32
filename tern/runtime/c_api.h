// SPDX-License-Identifier: Apache-2.0
//
// The runtime for C99 and every language that can call C. Values, tensors and devices are those of
// tern/ffi/c_abi.h.
//
// A function that returns int returns 0, or -1 where it failed; tern_last_error says why. All are
// safe from many threads. What is made belongs to the caller: values are given back by
// tern_value_release, objects by tern_object_release.
#ifndef TERN_RUNTIME_C_API_H_
#define TERN_RUNTIME_C_API_H_

#include "tern/ffi/c_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

// Functions are added and never change; the version counts the additions.
#define TERN_C_API_VERSION 8
// Of the library: a program needs one that is not below the version it was compiled with.
int32_t tern_c_api_version(void);
// "0.1.0"
const char* tern_version(void);

// ---- Errors

// "ValueError: ...": why the last call of this thread that returned -1 did so, with the context in
// which it happened. Valid until the next call of a function of this header by this thread.
const char* tern_last_error(void);
// The parts of it: "ValueError", and the message without context.
const char* tern_last_error_kind(void);
const char* tern_last_error_message(void);
// For functions that are called through tern_function_make: says why they are about to return -1.
void tern_raise(const char* kind, const char* message);

// ---- Values

int tern_string_make(const char* data, uint64_t size, TernAny* value);
int tern_bytes_make(const char* data, uint64_t size, TernAny* value);
// The characters of a string or bytes, which live as long as the value stays where it is.
int tern_chars_get(const TernAny* value, const char** data, uint64_t* size);
int tern_shape_make(const int64_t* extents, uint64_t count, TernAny* value);
// The items are copied.
int tern_array_make(const TernAny* items, int64_t count, TernAny* value);
// Borrowed from the array.
int tern_array_get(const TernAny* array, int64_t index, TernAny* item);
int tern_array_size(const TernAny* array, int64_t* size);
// As messages describe it: "float32 tensor of shape (2, 3) on cpu:0".
int tern_value_describe(const TernAny* value, TernAny* text);
// Makes an owned value of a borrowed one.
int tern_value_copy(const TernAny* value, TernAny* copy);
// Sets it to none.
void tern_value_release(TernAny* value);

// NULL is ignored.
void tern_object_retain(TernObject* object);
void tern_object_release(TernObject* object);

// ---- Functions

// Calls a function object. Arguments are borrowed; tensors are passed as views (kTernTensorView) or
// objects. `result` may be NULL; else it is set.
int tern_function_call(TernObject* function, const TernAny* args, int32_t num_args,
                       TernAny* result);
// A function object of a C function, which is called with `handle`. `release` (or NULL) is called
// with it when the object is gone.
int tern_function_make(TernSafeCall call, void* handle, void (*release)(void* handle),
                       TernObject** function);
// The global registry. A name is given once; a miss names what is near.
int tern_function_register(const char* name, TernObject* function);
int tern_function_find(const char* name, TernObject** function);
int tern_function_remove(const char* name);
// An array of strings, in order.
int tern_function_names(TernAny* names);

// ---- Modules

// The host code of a file with all that it imports.
typedef struct TernModule TernModule;

// Loads x.so or x.tern; the file is verified before anything of it is mapped.
int tern_module_load(const char* path, TernModule** module);
// The same of the bytes of such a file, which are copied; messages call them `name`.
int tern_module_load_bytes(const char* data, uint64_t size, const char* name, TernModule** module);
// Its functions stay usable. NULL is ignored.
void tern_module_free(TernModule* module);
int tern_module_get_function(TernModule* module, const char* name, TernObject** function);
// An array of strings.
int tern_module_function_names(TernModule* module, TernAny* names);
// Since version 6. Makes the module's kernels for that device now, not at their first launch, which
// cannot be recorded otherwise.
int tern_module_load_kernels(TernModule* module, TernDevice device);
// Since version 7. How its functions are called, as JSON: the section `meta` of a file
// (docs/artifact_format.md).
int tern_module_describe(TernModule* module, TernAny* json);

// Since version 7. What is in a file, as JSON: `path`, `format` ("so" or "tern"), `meta`, `hosts`,
// `sections` and, of a model, `model` with `dims`, `inputs` and `outputs`. All of it is verified,
// and nothing of it is executed.
int tern_file_describe(const char* path, TernAny* json);
// Since version 7. The value of an extent as descriptions have it ("(n + 1) // 2"), given those of
// its symbols.
int tern_extent_evaluate(const char* text, const char* const* symbols, const int64_t* values,
                         int32_t count, int64_t* extent);

// ---- Tensors

// Uninitialised, compact, row major.
int tern_tensor_make(const int64_t* shape, int32_t ndim, TernDType dtype, TernDevice device,
                     TernObject** tensor);
// The view lives as long as the tensor.
int tern_tensor_get_view(TernObject* tensor, TernTensorView** view);
// On another device, or the same one; done when it returns.
int tern_tensor_copy(TernObject* tensor, TernDevice device, TernObject** copy);
// Without a copy. A tensor that is taken over belongs to the object, which calls its deleter; where
// -1 is returned it was not taken. Who gets one of `to` calls its deleter.
int tern_tensor_from_dlpack(TernManagedTensor* managed, TernObject** tensor);
int tern_tensor_from_dlpack_versioned(TernManagedTensorVersioned* managed, TernObject** tensor);
int tern_tensor_to_dlpack(TernObject* tensor, TernManagedTensor** managed);
int tern_tensor_to_dlpack_versioned(TernObject* tensor, TernManagedTensorVersioned** managed);
// NumPy's files; of host tensors.
int tern_tensor_read_npy(const char* path, TernObject** tensor);
int tern_tensor_write_npy(const char* path, TernObject* tensor);

// ---- Models

// A model of a file: program, host code, weights. It does not change: any number of sessions, on
// any threads, share one.
typedef struct TernModel TernModel;
// Runs of a model, one at a time: a second one at the same time is an error.
typedef struct TernSession TernSession;

int tern_model_load(const char* path, TernModel** model);
// Its sessions stay usable. NULL is ignored.
void tern_model_free(TernModel* model);
// Since version 7. The same on the device of that number; tern_model_load takes 0.
int tern_model_load_on(const char* path, int32_t device_id, TernModel** model);
// Since version 7. Loads all code of the model now, which the first runs do otherwise.
int tern_model_warm(TernModel* model);

// An input or output of a model. What it points to lives as long as the model.
typedef struct TernPort {
  const char* name;
  TernDType dtype;
  int32_t ndim;
  const int64_t* shape;           // -1: not the same for every run
  const char* const* shape_text;  // each extent as text: "224", "n", "n * 2"
} TernPort;
int tern_model_num_inputs(TernModel* model, int32_t* count);
int tern_model_num_outputs(TernModel* model, int32_t* count);
int tern_model_input(TernModel* model, int32_t index, TernPort* port);
int tern_model_output(TernModel* model, int32_t index, TernPort* port);
// 1 where the input need not be given: NULL stands for its default then.
int tern_model_input_has_default(TernModel* model, int32_t index, int32_t* has_default);
// Since version 7. Where it runs: inputs elsewhere are copied, and outputs are made there.
int tern_model_device(TernModel* model, TernDevice* device);
// Since version 8. The shapes that the model was compiled for since it runs, as JSON: an array with
// `dims` (an object), `state` ("waiting", "ready" or "failed"), `seconds` and `error`. Where
// `waits`, none is waiting. Empty where the model is not specialized (tern/c_api_compile.h).
int tern_model_specializations(TernModel* model, int32_t waits, TernAny* json);

// A thread pool of the caller, for the parallel loops of a session.
typedef struct TernThreadPool {
  int32_t num_threads;  // that a loop may use, the caller's included; 1 to 1024
  void* context;
  // Calls task(data) up to `count` times, on several threads at once, the calling one or others.
  // One call does all the work that is left. Returns when all calls have returned: 0, or a code
  // where it failed.
  int (*run)(void* context, void (*task)(void* data), void* data, int32_t count);
} TernThreadPool;

enum {
  kTernDenormalsAsCaller = 0,  // as the thread has it that calls tern_session_run
  kTernDenormalsKeep = 1,
  kTernDenormalsFlush = 2,  // operands and results that are denormal are zero
};

typedef struct TernSessionOptions {
  uint64_t size;  // sizeof(TernSessionOptions); the rest is 0 where it is not set
  // Threads of parallel loops, the caller's included, and the CPUs that they run on; the caller's
  // thread is bound to these during a run. With either the session has threads of its own; with
  // neither it uses those of the process: as many as TERN_NUM_THREADS says, or as affinity and
  // container let run at once.
  int32_t num_threads;
  int32_t num_cpus;
  const int32_t* cpus;
  // Or NULL: instead of these. Copied; what it points to lives as long as the session.
  const TernThreadPool* thread_pool;
  int32_t denormals;  // in kernels, on all threads
  int32_t in_place;   // 1: inputs and outputs that would have to be copied are errors
} TernSessionOptions;

int tern_session_create(TernModel* model, TernSession** session);
// `options` may be NULL.
int tern_session_create_with(TernModel* model, const TernSessionOptions* options,
                             TernSession** session);
// NULL is ignored.
void tern_session_free(TernSession* session);
// Tensors in the order of the model's inputs and outputs, all of them. An output that is not NULL
// is written to; the others are made, and belong to the caller. Those that are not selected stay as
// they are.
int tern_session_run(TernSession* session, TernObject* const* inputs, int32_t num_inputs,
                     TernObject** outputs, int32_t num_outputs);
// The same with tensors that were bound to names before. A session keeps them until others are
// bound; NULL: none.
int tern_session_bind_input(TernSession* session, const char* name, TernObject* tensor);
int tern_session_bind_output(TernSession* session, const char* name, TernObject* tensor);
int tern_session_run_bound(TernSession* session);
// The output of a run is the input of the next one, where that is NULL or nothing is bound to it:
// caches of keys and values, states of recurrent networks. The session owns their memory and copies
// nothing; the output of a run is written again by the second one after it. The first run reads
// `initial`; NULL: zeros, in which an extent that no other input tells is 0.
int tern_session_bind_state(TernSession* session, const char* input, const char* output,
                            TernObject* initial);
// The next run is the first one again.
int tern_session_reset_states(TernSession* session);
// An output of the last tern_session_run_bound, whether it was bound or made.
int tern_session_get_output(TernSession* session, const char* name, TernObject** tensor);
// The outputs of the runs to come. What only others need is not computed. 0 names: all.
int tern_session_select_outputs(TernSession* session, const char* const* names, int32_t count);
// For each of the runs to come: one that takes longer fails with a TimeoutError. 0: no limit.
int tern_session_set_timeout(TernSession* session, double seconds);
// From any thread: the run in progress fails with a CancelledError, and the session can run again.
// `was_running` may be NULL; else it is set to 1 where there is one.
int tern_session_cancel(TernSession* session, int32_t* was_running);
// Since version 7. 1: the calls of the runs to come are recorded. 0: no more; what was recorded is
// gone. Not during a run.
int tern_session_set_profile(TernSession* session, int32_t is_on);
// Since version 7. The calls that were recorded, as JSON: an array of objects with `kernel`,
// `start` and `seconds`, in seconds since their run began. Not during a run.
int tern_session_get_profile(TernSession* session, TernAny* json);

// ---- Devices

// "cpu", or the name of a plugin, which is loaded.
int tern_device_find(const char* kind, int32_t id, TernDevice* device);
// Since version 7. "cpu:0", or the name that the plugin has.
int tern_device_name(TernDevice device, TernAny* name);
// 0 where the driver is absent.
int tern_device_count(const char* kind, int32_t* count);
int tern_device_memory(TernDevice device, uint64_t* free_bytes, uint64_t* total_bytes);
int tern_device_alloc(TernDevice device, uint64_t bytes, uint64_t alignment, void** memory);
int tern_device_free(TernDevice device, void* memory);
// Between the host and a device, or within one of them; done when it returns.
int tern_device_copy(void* to, TernDevice to_device, const void* from, TernDevice from_device,
                     uint64_t bytes);
// Waits for what functions have started there, on the current stream of this thread.
int tern_device_synchronize(TernDevice device);

// A device works on a stream in order. NULL is its default one.
int tern_stream_make(TernDevice device, void** stream);
int tern_stream_free(TernDevice device, void* stream);
// What this thread starts on the device from now on is done on the stream. `before` may be NULL.
int tern_stream_use(TernDevice device, void* stream, void** before);

// An event marks a place in the current stream of this thread.
int tern_event_make(TernDevice device, void** event);
int tern_event_free(TernDevice device, void* event);
int tern_event_record(TernDevice device, void* event);
// What this thread's current stream does from now on waits for the event; the caller does not.
int tern_event_hold(TernDevice device, void* event);
int tern_event_synchronize(TernDevice device, void* event);
// Waits for both.
int tern_event_elapsed(TernDevice device, void* start, void* stop, double* seconds);

// Since version 6. A graph is what a thread gave to a stream while it was recorded: kernels and
// copies, which are done again by one call to the driver. Memory and modules that were in use then
// live as long as the graph may be launched.
typedef struct TernCapture TernCapture;
typedef struct TernGraph TernGraph;
// From now on what this thread starts on the device is recorded, and not done; the stream is its
// current one. Not for the default stream. An error where the device has no graphs.
int tern_capture_begin(TernDevice device, void* stream, TernCapture** capture);
// By the same thread. Frees the capture in any case; `graph` may be NULL: nothing becomes of it.
int tern_capture_end(TernCapture* capture, TernGraph** graph);
// The same, and from now on `graph` does what was recorded: the same kernels and copies in the same
// order, with other arguments. A ValueError where it has others; the graph is as before then.
int tern_graph_update(TernGraph* graph, TernCapture* capture);
// On the current stream of this thread.
int tern_graph_launch(TernGraph* graph);
// NULL is ignored. The graph is gone in any case.
int tern_graph_free(TernGraph* graph);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TERN_RUNTIME_C_API_H_
