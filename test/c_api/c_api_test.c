/* SPDX-License-Identifier: Apache-2.0 */
/* c_api_test MODULE NPY MODEL OUTPUTS: the C API from a program in C99. MODULE is a .tern or .so
   file of the runtime's tests, MODEL and OUTPUTS are models of them; NPY is written and removed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tern/runtime/c_api.h"

static int failures = 0;

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      ++failures;                                                                        \
      printf("line %d: %s (last error: %s)\n", __LINE__, #condition, tern_last_error()); \
    }                                                                                    \
  } while (0)
#define CHECK_ERROR(call, text) CHECK((call) == -1 && strcmp(tern_last_error(), text) == 0)

static const TernDevice kHost = {kTernDeviceCpu, 0};
static const TernDType kFloat32 = {kTernTypeFloat, 32, 1};

static TernAny IntValue(int64_t number) {
  TernAny value = {kTernInt, 0, {0}};
  value.v_int = number;
  return value;
}

static int HasChars(const TernAny* value, const char* text) {
  const char* data;
  uint64_t size;
  return tern_chars_get(value, &data, &size) == 0 && size == strlen(text) &&
         memcmp(data, text, size) == 0;
}

static void TestValues(void) {
  const int64_t extents[2] = {4, 5};
  TernAny short_text, long_text, bytes, shape, array, item, text, items[2];
  int64_t size = 0;
  CHECK(tern_string_make("abc", 3, &short_text) == 0 && HasChars(&short_text, "abc"));
  CHECK(tern_string_make("longer than seven", 17, &long_text) == 0);
  CHECK(HasChars(&long_text, "longer than seven"));
  CHECK(tern_bytes_make("x", 1, &bytes) == 0 && HasChars(&bytes, "x"));
  CHECK(tern_shape_make(extents, 2, &shape) == 0 && shape.type_index == kTernShape);
  items[0] = long_text;
  items[1] = IntValue(7);
  CHECK(tern_array_make(items, 2, &array) == 0);
  tern_value_release(&long_text);
  CHECK(long_text.type_index == kTernNone);
  CHECK(tern_array_size(&array, &size) == 0 && size == 2);
  CHECK(tern_array_get(&array, 0, &item) == 0 && HasChars(&item, "longer than seven"));
  CHECK(tern_value_copy(&item, &text) == 0);
  CHECK_ERROR(tern_array_get(&array, 2, &item), "IndexError: there is no item 2 in an array of 2");
  CHECK(strcmp(tern_last_error_kind(), "IndexError") == 0);
  CHECK(strcmp(tern_last_error_message(), "there is no item 2 in an array of 2") == 0);
  CHECK_ERROR(tern_array_size(&items[1], &size), "ValueError: expected Array, got int 7");
  tern_value_release(&array);
  CHECK(HasChars(&text, "longer than seven"));
  tern_value_release(&text);
  CHECK(tern_value_describe(&items[1], &text) == 0 && HasChars(&text, "int 7"));
  tern_value_release(&text);
  tern_value_release(&shape);
}

static int Double(void* handle, const TernAny* args, int32_t num_args, TernAny* result) {
  ++*(int*)handle;
  if (num_args != 1 || args[0].type_index != kTernInt) {
    tern_raise("TypeError", "double takes an int");
    return -1;
  }
  *result = IntValue(2 * args[0].v_int);
  return 0;
}

static void Count(void* handle) { *(int*)handle += 100; }

static void TestFunctions(void) {
  int calls = 0;
  int64_t size = 0;
  TernObject *function, *found;
  TernAny argument = IntValue(21), result, names;
  CHECK(tern_function_make(Double, &calls, Count, &function) == 0);
  CHECK(tern_function_register("test.double", function) == 0);
  CHECK_ERROR(tern_function_register("test.double", function),
              "ValueError: global function test.double is already registered");
  CHECK_ERROR(tern_function_find("test.duble", &found),
              "KeyError: no global function is named test.duble (did you mean test.double?)");
  CHECK(tern_function_find("test.double", &found) == 0);
  CHECK(tern_function_call(found, &argument, 1, &result) == 0 && result.v_int == 42);
  CHECK_ERROR(tern_function_call(found, NULL, 0, NULL), "TypeError: double takes an int");
  CHECK(tern_function_names(&names) == 0 && tern_array_size(&names, &size) == 0 && size > 0);
  tern_value_release(&names);
  CHECK(calls == 2);
  CHECK(tern_function_remove("test.double") == 0);
  CHECK_ERROR(tern_function_remove("test.double"),
              "KeyError: no global function is named test.double");
  tern_object_retain(found);
  tern_object_release(found);
  tern_object_release(found);
  CHECK(calls == 2);
  tern_object_release(function);
  CHECK(calls == 102);
}

typedef struct Foreign {
  float data[6];
  int64_t shape[2];
  int deleted;
  TernManagedTensorVersioned managed;
} Foreign;

static void Delete(TernManagedTensorVersioned* self) { ++((Foreign*)self->manager)->deleted; }

static void TestTensors(const char* file) {
  const int64_t shape[2] = {2, 3}, negative = -1;
  Foreign foreign = {{0, 1, 2, 3, 4, 5}, {2, 3}, 0, {0}};
  TernObject *tensor, *copy, *again;
  TernTensorView* view;
  TernManagedTensor* managed;
  TernManagedTensorVersioned* versioned;
  CHECK(tern_tensor_make(shape, 2, kFloat32, kHost, &tensor) == 0);
  CHECK(tern_tensor_get_view(tensor, &view) == 0 && view->shape[1] == 3 && view->strides[0] == 3);
  ((float*)view->data)[5] = 2.5f;
  CHECK(tern_tensor_copy(tensor, kHost, &copy) == 0);
  CHECK(tern_tensor_write_npy(file, copy) == 0 && tern_tensor_read_npy(file, &again) == 0);
  remove(file);
  CHECK(tern_tensor_get_view(again, &view) == 0 && ((float*)view->data)[5] == 2.5f);
  CHECK_ERROR(tern_tensor_make(&negative, 1, kFloat32, kHost, &again),
              "ValueError: shape (-1) has a negative extent");
  CHECK(tern_tensor_to_dlpack(copy, &managed) == 0);
  CHECK(tern_tensor_to_dlpack_versioned(copy, &versioned) == 0 && versioned->major == 1);
  tern_object_release(copy);
  CHECK(((float*)managed->tensor.data)[5] == 2.5f);
  versioned->deleter(versioned);
  CHECK(tern_tensor_from_dlpack(managed, &copy) == 0);
  tern_object_release(copy);
  tern_object_release(again);
  tern_object_release(tensor);

  foreign.managed.major = 1;
  foreign.managed.manager = &foreign;
  foreign.managed.deleter = Delete;
  foreign.managed.tensor.data = foreign.data;
  foreign.managed.tensor.device = kHost;
  foreign.managed.tensor.dtype = kFloat32;
  foreign.managed.tensor.ndim = 2;
  foreign.managed.tensor.shape = foreign.shape;
  CHECK(tern_tensor_from_dlpack_versioned(&foreign.managed, &tensor) == 0);
  CHECK(tern_tensor_get_view(tensor, &view) == 0 && view->data == foreign.data);
  tern_object_release(tensor);
  CHECK(foreign.deleted == 1);
  foreign.managed.major = 9;
  CHECK(tern_tensor_from_dlpack_versioned(&foreign.managed, &tensor) == -1 && foreign.deleted == 1);
  CHECK_ERROR(tern_tensor_get_view(NULL, &view),
              "ValueError: tern_tensor_get_view: expected Tensor, got NULL");
}

static void TestDevices(void) {
  int32_t count = 0;
  TernDevice device;
  uint64_t free_bytes = 0, total_bytes = 0;
  void *memory, *stream, *before = &count, *start, *stop;
  double seconds = -1;
  char bytes[4] = {0};
  CHECK(tern_device_count("cpu", &count) == 0 && count == 1);
  CHECK(tern_device_find("cpu", 0, &device) == 0 && device.type == kTernDeviceCpu);
  CHECK_ERROR(tern_device_find("cpu", 3, &device),
              "ValueError: there is no device cpu:3; there are 1");
  CHECK(tern_device_memory(kHost, &free_bytes, &total_bytes) == 0 && free_bytes <= total_bytes);
  CHECK(tern_stream_make(kHost, &stream) == 0);
  CHECK(tern_stream_use(kHost, stream, &before) == 0 && before == NULL);
  CHECK(tern_event_make(kHost, &start) == 0 && tern_event_make(kHost, &stop) == 0);
  CHECK(tern_event_record(kHost, start) == 0);
  CHECK(tern_device_alloc(kHost, 4, 64, &memory) == 0);
  CHECK(tern_device_copy(memory, kHost, "abc", kHost, 4) == 0);
  CHECK(tern_device_copy(bytes, kHost, memory, kHost, 4) == 0 && strcmp(bytes, "abc") == 0);
  CHECK(tern_device_synchronize(kHost) == 0 && tern_device_free(kHost, memory) == 0);
  CHECK(tern_event_record(kHost, stop) == 0 && tern_event_hold(kHost, stop) == 0);
  CHECK(tern_event_synchronize(kHost, stop) == 0);
  CHECK(tern_event_elapsed(kHost, start, stop, &seconds) == 0 && seconds >= 0);
  CHECK(tern_event_free(kHost, start) == 0 && tern_event_free(kHost, stop) == 0);
  CHECK(tern_stream_use(kHost, before, NULL) == 0 && tern_stream_free(kHost, stream) == 0);
}

/* The host does what it is given at once; test_plugins has a device with graphs. */
static void TestGraphs(void) {
  TernCapture* capture = NULL;
  TernGraph* graph = NULL;
  void* stream;
  CHECK(tern_stream_make(kHost, &stream) == 0);
  CHECK_ERROR(tern_capture_begin(kHost, stream, &capture),
              "RuntimeError: graphs are not supported by the cpu runtime: what a stream is given "
              "cannot be recorded");
  CHECK_ERROR(tern_capture_end(capture, &graph),
              "ValueError: tern_capture_end: the capture is NULL");
  CHECK_ERROR(tern_graph_update(graph, capture),
              "ValueError: tern_graph_update: the graph or the capture is NULL");
  CHECK_ERROR(tern_graph_launch(graph), "ValueError: tern_graph_launch: the graph is NULL");
  CHECK(tern_graph_free(graph) == 0 && tern_stream_free(kHost, stream) == 0);
}

static void TestModuleInMemory(const char* path, int64_t num_functions) {
  static char bytes[1 << 20];
  FILE* file = fopen(path, "rb");
  uint64_t bytes_read = fread(bytes, 1, sizeof bytes, file);
  TernModule* module = NULL;
  TernAny names;
  int64_t size = 0;
  fclose(file);
  CHECK(tern_module_load_bytes(bytes, bytes_read, "m", &module) == 0);
  CHECK(tern_module_function_names(module, &names) == 0);
  CHECK(tern_array_size(&names, &size) == 0 && size == num_functions);
  tern_value_release(&names);
  tern_module_free(module);
  CHECK_ERROR(tern_module_load_bytes("junk", 4, "m", &module),
              "ValueError: m: not a Tern artifact: neither a container (.tern) nor a shared object "
              "(.so)");
}

/* Whether the text of an owned value has a part; the value is released. */
static int HasText(TernAny* value, const char* part) {
  const char* data;
  uint64_t size;
  char text[8192];
  if (tern_chars_get(value, &data, &size) != 0 || size >= sizeof(text)) return 0;
  memcpy(text, data, size);
  text[size] = 0;
  tern_value_release(value);
  return strstr(text, part) != NULL;
}

static void TestDescriptions(const char* file, const char* model_file) {
  TernAny json = {0, 0, {0}};
  TernModule* module = NULL;
  TernModel* model = NULL;
  TernSession* session = NULL;
  TernDevice device = {0, 0};
  const char* symbols[] = {"n", "m"};
  const int64_t numbers[] = {7, 3};
  int64_t extent = 0;
  CHECK(tern_file_describe(file, &json) == 0 && HasText(&json, "\"functions\":["));
  CHECK(tern_file_describe(model_file, &json) == 0 && HasText(&json, "\"inputs\":["));
  CHECK(tern_file_describe("nowhere.so", &json) == -1);
  CHECK(tern_module_load(file, &module) == 0);
  CHECK(tern_module_describe(module, &json) == 0 && HasText(&json, "\"params\":["));
  tern_module_free(module);
  CHECK(tern_extent_evaluate("(n + 1) // 2 * m", symbols, numbers, 2, &extent) == 0);
  CHECK(extent == 12);
  CHECK_ERROR(tern_extent_evaluate("k", symbols, numbers, 2, &extent),
              "ValueError: extent \"k\": k has no value");
  CHECK(tern_model_load(model_file, &model) == 0);
  CHECK(tern_model_device(model, &device) == 0 && device.type == kTernDeviceCpu);
  CHECK(tern_device_name(device, &json) == 0 && HasText(&json, "cpu:0"));
  CHECK(tern_session_create(model, &session) == 0);
  CHECK(tern_session_set_profile(session, 1) == 0);
  CHECK(tern_session_get_profile(session, &json) == 0 && HasText(&json, "[]"));
  CHECK(tern_session_set_profile(session, 0) == 0);
  tern_session_free(session);
  tern_model_free(model);
}

static void TestModules(const char* file) {
  TernModule* module = NULL;
  TernAny names;
  int64_t size = 0;
  TernObject* function;
  CHECK(tern_module_load("nowhere.so", &module) == -1);
  CHECK(strcmp(tern_last_error_kind(), "RuntimeError") == 0);
  if (tern_module_load(file, &module) != 0) {
    CHECK(!"the module is loaded");
    return;
  }
  CHECK(tern_module_function_names(module, &names) == 0);
  CHECK(tern_array_size(&names, &size) == 0 && size > 0);
  tern_value_release(&names);
  CHECK(tern_module_get_function(module, "no_such_function", &function) == -1);
  CHECK(tern_module_load_kernels(module, kHost) == 0);
  tern_module_free(module);
  TestModuleInMemory(file, size);
}

static void TestModels(const char* path) {
  const int64_t four = 4, three = 3;
  TernModel* model;
  TernSession* session;
  TernPort port;
  TernObject *x, *y = NULL, *given, *wrong;
  TernTensorView* view;
  int32_t count = 0, i;
  CHECK(tern_model_load_on(path, 0, &model) == 0);
  CHECK(tern_model_warm(model) == 0 && tern_model_warm(model) == 0);
  CHECK(tern_model_num_inputs(model, &count) == 0 && count == 1);
  CHECK(tern_model_num_outputs(model, &count) == 0 && count == 1);
  CHECK(tern_model_input(model, 0, &port) == 0 && strcmp(port.name, "x") == 0);
  CHECK(port.ndim == 1 && port.shape[0] == -1 && strcmp(port.shape_text[0], "n") == 0);
  CHECK(tern_model_input_has_default(model, 0, &count) == 0 && count == 0);
  CHECK(tern_model_input_has_default(model, 1, &count) == -1);
  CHECK(tern_model_output(model, 0, &port) == 0 && strcmp(port.name, "y") == 0);
  CHECK(port.dtype.code == kTernTypeFloat && port.dtype.bits == 32);
  CHECK_ERROR(tern_model_output(model, 1, &port),
              "IndexError: tern_model_output: there is no 1 among 1");
  CHECK(tern_session_create(model, &session) == 0);
  tern_model_free(model);

  CHECK(tern_tensor_make(&four, 1, kFloat32, kHost, &x) == 0);
  CHECK(tern_tensor_get_view(x, &view) == 0);
  for (i = 0; i < 4; ++i) ((float*)view->data)[i] = 10.0f * (float)i;
  CHECK(tern_session_run(session, &x, 1, &y, 1) == 0);
  CHECK(tern_tensor_get_view(y, &view) == 0 && view->shape[0] == 4);
  for (i = 0; i < 4; ++i) CHECK(((float*)view->data)[i] == 21.0f * (float)i + 1.0f);
  CHECK(tern_tensor_make(&four, 1, kFloat32, kHost, &given) == 0);
  y = (tern_object_release(y), given);
  CHECK(tern_session_run(session, &x, 1, &y, 1) == 0 && y == given);
  CHECK(tern_tensor_get_view(given, &view) == 0 && ((float*)view->data)[3] == 64.0f);
  CHECK_ERROR(tern_session_run(session, &x, 1, NULL, 0),
              "ValueError: tern_session_run: the model has 1 outputs, 0 were given");
  CHECK(tern_tensor_make(&three, 1, kFloat32, kHost, &wrong) == 0);
  CHECK(tern_session_run(session, &wrong, 1, &y, 1) == -1);
  CHECK(strcmp(tern_last_error_message(), "x has 3 elements, and w has 4") == 0);
  tern_object_release(wrong);
  tern_object_release(given);
  tern_object_release(x);
  tern_session_free(session);
  CHECK(tern_model_load("nosuch.so", &model) == -1);
}

static TernObject* MakeVector(int64_t count, float value) {
  TernObject* tensor = NULL;
  TernTensorView* view;
  int64_t i;
  CHECK(tern_tensor_make(&count, 1, kFloat32, kHost, &tensor) == 0);
  CHECK(tern_tensor_get_view(tensor, &view) == 0);
  for (i = 0; i < count; ++i) ((float*)view->data)[i] = value;
  return tensor;
}

static float First(TernObject* tensor) {
  TernTensorView* view;
  CHECK(tern_tensor_get_view(tensor, &view) == 0);
  return ((float*)view->data)[0];
}

/* A thread pool of one thread: the tasks one after the other. */
static int RunTasks(void* context, void (*task)(void* data), void* data, int32_t count) {
  ++*(int*)context;
  while (count-- > 0) task(data);
  return 0;
}
static int RefuseTasks(void* context, void (*task)(void* data), void* data, int32_t count) {
  (void)context, (void)task, (void)data, (void)count;
  return 7;
}

static void TestSessionOptions(const char* path) {
  const int32_t first = 0, far = 100000;
  int loops = 0;
  TernThreadPool pool = {4, NULL, RunTasks};
  TernSessionOptions options = {0};
  TernModel* model;
  TernSession* session;
  TernObject *x = MakeVector(64, 2.0f), *outputs[2] = {NULL, NULL};
  CHECK(tern_model_load(path, &model) == 0);
  CHECK(tern_session_create_with(model, &options, &session) == -1);
  CHECK(strncmp(tern_last_error_message(), "TernSessionOptions: size is 0", 29) == 0);
  options.size = sizeof options;
  options.denormals = 3;
  CHECK_ERROR(tern_session_create_with(model, &options, &session),
              "ValueError: TernSessionOptions: denormals is 3, expected 0, 1 or 2");
  options.denormals = kTernDenormalsKeep;
  options.num_threads = 2;
  CHECK(tern_session_create_with(model, &options, &session) == 0);
  CHECK(tern_session_run(session, &x, 1, outputs, 2) == 0 && First(outputs[1]) == 6.0f);
  tern_object_release(outputs[0]);
  tern_object_release(outputs[1]);
  tern_session_free(session);
  options.num_cpus = 1;
  options.cpus = &far;
  CHECK(tern_session_create_with(model, &options, &session) == -1);
  CHECK(strncmp(tern_last_error_message(), "there is no CPU 100000", 22) == 0);
  options.cpus = &first;
  options.thread_pool = &pool;
  CHECK_ERROR(
      tern_session_create_with(model, &options, &session),
      "ValueError: a session with a thread pool of the caller has no num_threads and no cpus");
  options.num_threads = options.num_cpus = 0;
  pool.context = &loops;
  CHECK(tern_session_create_with(model, &options, &session) == 0);
  outputs[0] = outputs[1] = NULL;
  CHECK(tern_session_run(session, &x, 1, outputs, 2) == 0 && First(outputs[1]) == 6.0f);
  CHECK(loops == 2);
  tern_object_release(outputs[0]);
  tern_object_release(outputs[1]);
  tern_session_free(session);
  pool.run = RefuseTasks;
  outputs[0] = outputs[1] = NULL;
  CHECK(tern_session_create_with(model, &options, &session) == 0);
  CHECK(tern_session_run(session, &x, 1, outputs, 2) == -1 && !outputs[0]);
  CHECK(strcmp(tern_last_error_message(), "the thread pool of the caller failed with code 7") == 0);
  tern_session_free(session);
  pool.num_threads = 0;
  CHECK_ERROR(tern_session_create_with(model, &options, &session),
              "ValueError: a thread pool of 0 threads; expected 1 to 1024");
  tern_object_release(x);
  tern_model_free(model);
}

static void TestBoundTensors(const char* path) {
  const char* names[1] = {"z"};
  TernModel* model;
  TernSession* session;
  TernSessionOptions options = {0};
  TernObject *x = MakeVector(4, 2.0f), *y = MakeVector(4, 0.0f), *z = NULL,
             *outputs[2] = {NULL, NULL};
  TernManagedTensor* managed;
  TernTensorView* view;
  options.size = sizeof options;
  options.in_place = 1;
  CHECK(tern_model_load(path, &model) == 0);
  CHECK(tern_session_create_with(model, &options, &session) == 0);
  tern_model_free(model);
  /* The caller's memory, by DLPack. */
  CHECK(tern_tensor_to_dlpack(x, &managed) == 0);
  tern_object_release(x);
  CHECK(tern_tensor_from_dlpack(managed, &x) == 0);
  CHECK(tern_session_run_bound(session) == -1);
  CHECK(strcmp(tern_last_error_message(), "input x is not given") == 0);
  CHECK(tern_session_bind_input(session, "x", x) == 0);
  CHECK(tern_session_bind_output(session, "y", y) == 0);
  CHECK(tern_session_run_bound(session) == 0 && First(y) == 4.0f);
  CHECK(tern_session_get_output(session, "z", &z) == 0 && First(z) == 6.0f);
  tern_object_release(z);
  CHECK(tern_tensor_get_view(x, &view) == 0);
  ((float*)view->data)[0] = 10.0f;
  CHECK(tern_session_run_bound(session) == 0 && First(y) == 20.0f);
  CHECK_ERROR(tern_session_bind_input(session, "a", x),
              "ValueError: the model has no input a; its inputs are: x");
  CHECK_ERROR(
      tern_session_get_output(session, "a", &z),
      "ValueError: tern_session_get_output: the last run of what is bound gave no output a");
  CHECK(tern_session_select_outputs(session, names, 1) == 0);
  CHECK(tern_session_bind_output(session, "y", NULL) == 0);
  CHECK(tern_session_run_bound(session) == 0);
  CHECK(tern_session_get_output(session, "y", &z) == -1);
  CHECK(tern_session_run(session, &x, 1, outputs, 2) == 0);
  CHECK(outputs[0] == NULL && First(outputs[1]) == 30.0f);
  tern_object_release(outputs[1]);
  CHECK(tern_session_select_outputs(session, NULL, 0) == 0);
  /* What a run gives is what the next one reads. */
  CHECK(tern_session_bind_input(session, "x", NULL) == 0);
  CHECK(tern_session_bind_state(session, "x", "y", x) == 0);
  for (int run = 0; run < 4; ++run) {
    CHECK(tern_session_run_bound(session) == 0);
    CHECK(tern_session_get_output(session, "y", &z) == 0);
    CHECK(First(z) == (run == 0 || run == 3 ? 20.0f : 20.0f * (float)(1 << run)));
    tern_object_release(z);
    if (run == 2) CHECK(tern_session_reset_states(session) == 0);
  }
  CHECK_ERROR(tern_session_bind_state(session, "x", "a", NULL),
              "ValueError: the model has no output a; its outputs are: y, z");
  tern_object_release(y);
  tern_object_release(x);
  tern_session_free(session);
}

/* What c_test.probe does: stops the run that it is called by. */
static int Cancel(void* handle, const TernAny* args, int32_t num_args, TernAny* result) {
  int32_t was_running = 0;
  (void)args, (void)num_args, (void)result;
  CHECK(tern_session_cancel(*(TernSession**)handle, &was_running) == 0 && was_running == 1);
  return 0;
}

static void TestLimits(const char* path) {
  int32_t was_running = 1;
  TernModel* model;
  TernSession* session = NULL;
  TernObject *probe, *four = MakeVector(4, 1.0f), *five = MakeVector(5, 1.0f), *outputs[2];
  CHECK(tern_function_make(Cancel, &session, NULL, &probe) == 0);
  CHECK(tern_function_register("c_test.probe", probe) == 0);
  CHECK(tern_model_load(path, &model) == 0 && tern_session_create(model, &session) == 0);
  tern_model_free(model);
  CHECK(tern_session_cancel(session, &was_running) == 0 && was_running == 0);
  outputs[0] = outputs[1] = NULL;
  CHECK(tern_session_run(session, &five, 1, outputs, 2) == -1);
  CHECK(strcmp(tern_last_error_kind(), "CancelledError") == 0 && !outputs[0] && !outputs[1]);
  CHECK(tern_session_set_timeout(session, 1e-9) == 0);
  CHECK(tern_session_run(session, &four, 1, outputs, 2) == -1);
  CHECK(strcmp(tern_last_error_kind(), "TimeoutError") == 0);
  CHECK(tern_session_set_timeout(session, -1) == -1);
  CHECK(tern_session_set_timeout(session, 1e300) == 0);
  CHECK(tern_session_run(session, &four, 1, outputs, 2) == 0 && First(outputs[1]) == 3.0f);
  tern_object_release(outputs[0]);
  tern_object_release(outputs[1]);
  tern_object_release(four);
  tern_object_release(five);
  tern_session_free(session);
  CHECK(tern_function_remove("c_test.probe") == 0);
  tern_object_release(probe);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  CHECK(tern_c_api_version() >= TERN_C_API_VERSION);
  TestValues();
  TestFunctions();
  TestTensors(argv[2]);
  TestDevices();
  TestGraphs();
  TestModules(argv[1]);
  TestDescriptions(argv[1], argv[3]);
  TestModels(argv[3]);
  TestSessionOptions(argv[4]);
  TestBoundTensors(argv[4]);
  TestLimits(argv[4]);
  printf("%d failures\n", failures);
  return failures != 0;
}
