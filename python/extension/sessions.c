// SPDX-License-Identifier: Apache-2.0
//
// Files, models and sessions.
#include <string.h>

#include "python/extension/extension.h"

static PyObject* LoadModule(PyObject* module, PyObject* args) {
  const char* path;
  if (!PyArg_ParseTuple(args, "s:load_module", &path)) return NULL;
  TernModule* loaded = NULL;
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = tern_module_load(path, &loaded);
  Py_END_ALLOW_THREADS ModuleState* state = StateOf(module);
  return failed ? RaiseLast(state) : WrapHandle(state, kHandleModule, loaded);
}

static PyObject* DescribeModule(PyObject* module, PyObject* handle) {
  ModuleState* state = StateOf(module);
  TernModule* loaded = HandlePointer(state, handle, kHandleModule);
  if (!loaded) return NULL;
  TernAny json = {0};
  return tern_module_describe(loaded, &json) < 0 ? RaiseLast(state) : TakeText(&json);
}

static PyObject* DescribeFile(PyObject* module, PyObject* args) {
  const char* path;
  if (!PyArg_ParseTuple(args, "s:describe_file", &path)) return NULL;
  TernAny json = {0};
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = tern_file_describe(path, &json);
  Py_END_ALLOW_THREADS return failed ? RaiseLast(StateOf(module)) : TakeText(&json);
}

// evaluate_extent(text, {symbol: value})
static PyObject* EvaluateExtent(PyObject* module, PyObject* args) {
  enum { kMostSymbols = 64 };
  const char* text;
  PyObject* values;
  if (!PyArg_ParseTuple(args, "sO!:evaluate_extent", &text, &PyDict_Type, &values)) return NULL;
  const char* symbols[kMostSymbols];
  int64_t numbers[kMostSymbols];
  int32_t count = 0;
  Py_ssize_t place = 0;
  PyObject *key, *value;
  while (count < kMostSymbols && PyDict_Next(values, &place, &key, &value)) {
    symbols[count] = PyUnicode_AsUTF8AndSize(key, NULL);
    numbers[count] = PyLong_AsLongLong(value);
    if (PyErr_Occurred()) return NULL;
    ++count;
  }
  int64_t extent = 0;
  if (tern_extent_evaluate(text, symbols, numbers, count, &extent) < 0)
    return RaiseLast(StateOf(module));
  return PyLong_FromLongLong(extent);
}

static PyObject* LoadModel(PyObject* module, PyObject* args) {
  const char* path;
  if (!PyArg_ParseTuple(args, "s:load_model", &path)) return NULL;
  TernModel* model = NULL;
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = tern_model_load(path, &model);
  Py_END_ALLOW_THREADS ModuleState* state = StateOf(module);
  return failed ? RaiseLast(state) : WrapHandle(state, kHandleModel, model);
}

// (name, dtype, (extent as text, ...), has a default)
static PyObject* DescribePort(const TernPort* port, int32_t has_default) {
  PyObject* shape = PyTuple_New(port->ndim);
  for (int32_t i = 0; shape && i < port->ndim; ++i) {
    PyObject* extent = PyUnicode_FromString(port->shape_text[i]);
    if (!extent || PyTuple_SetItem(shape, i, extent) < 0) Py_CLEAR(shape);
  }
  return shape ? Py_BuildValue("(ssNO)", port->name, DTypeName(port->dtype), shape,
                               has_default ? Py_True : Py_False)
               : NULL;
}

static int AddPorts(TernModel* model, bool is_input, PyObject* list) {
  int32_t count = 0;
  if ((is_input ? tern_model_num_inputs : tern_model_num_outputs)(model, &count) < 0) return -1;
  for (int32_t i = 0; i < count; ++i) {
    TernPort port;
    int32_t has_default = 0;
    if ((is_input ? tern_model_input : tern_model_output)(model, i, &port) < 0) return -1;
    if (is_input && tern_model_input_has_default(model, i, &has_default) < 0) return -1;
    PyObject* entry = DescribePort(&port, has_default);
    int failed = entry ? PyList_Append(list, entry) : -1;
    Py_XDECREF(entry);
    if (failed) return -1;
  }
  return 0;
}

// (inputs, outputs, device type, device id)
static PyObject* DescribeModel(PyObject* module, PyObject* handle) {
  ModuleState* state = StateOf(module);
  TernModel* model = HandlePointer(state, handle, kHandleModel);
  if (!model) return NULL;
  PyObject* inputs = PyList_New(0);
  PyObject* outputs = PyList_New(0);
  TernDevice device;
  if (inputs && outputs && AddPorts(model, true, inputs) == 0 &&
      AddPorts(model, false, outputs) == 0 && tern_model_device(model, &device) == 0)
    return Py_BuildValue("(NNii)", inputs, outputs, device.type, device.id);
  Py_XDECREF(inputs);
  Py_XDECREF(outputs);
  return PyErr_Occurred() ? NULL : RaiseLast(state);
}

// specializations(model, waits): JSON
static PyObject* Specializations(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  PyObject* handle;
  int waits;
  if (!PyArg_ParseTuple(args, "Op:specializations", &handle, &waits)) return NULL;
  TernModel* model = HandlePointer(state, handle, kHandleModel);
  if (!model) return NULL;
  TernAny text = {0};
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = tern_model_specializations(model, waits, &text);
  Py_END_ALLOW_THREADS return failed ? RaiseLast(state) : TakeText(&text);
}

// make_session(model, num_threads, cpus, denormals, in_place)
static PyObject* MakeSession(PyObject* module, PyObject* args) {
  enum { kMostCpus = 1024 };
  ModuleState* state = StateOf(module);
  PyObject *handle, *cpus;
  TernSessionOptions options = {0};
  options.size = sizeof(options);
  int in_place;
  if (!PyArg_ParseTuple(args, "OiO!ip:make_session", &handle, &options.num_threads, &PyTuple_Type,
                        &cpus, &options.denormals, &in_place))
    return NULL;
  options.in_place = in_place;
  TernModel* model = HandlePointer(state, handle, kHandleModel);
  if (!model) return NULL;
  int32_t numbers[kMostCpus];
  Py_ssize_t count = PyTuple_Size(cpus);
  if (count > kMostCpus) count = kMostCpus;
  for (Py_ssize_t i = 0; i < count; ++i) {
    numbers[i] = (int32_t)PyLong_AsLong(PyTuple_GetItem(cpus, i));
    if (PyErr_Occurred()) return NULL;
  }
  options.num_cpus = (int32_t)count;
  options.cpus = numbers;
  TernSession* session = NULL;
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = tern_session_create_with(model, &options, &session);
  Py_END_ALLOW_THREADS return failed ? RaiseLast(state)
                                     : WrapHandle(state, kHandleSession, session);
}

// Of a sequence; None is NULL.
static int Tensors(ModuleState* state, PyObject* items, TernObject** tensors) {
  Py_ssize_t count = PyTuple_Size(items);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GetItem(items, i);
    if (item == Py_None) continue;
    tensors[i] = TensorFromArray(state, item);
    if (!tensors[i]) return -1;
  }
  return 0;
}

static void ReleaseAll(TernObject** tensors, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) tern_object_release(tensors[i]);
  PyMem_Free(tensors);
}

// run_session(session, inputs, outputs): two tuples; gives a tuple of tensors.
static PyObject* RunSession(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  PyObject *handle, *inputs, *outputs;
  if (!PyArg_ParseTuple(args, "OO!O!:run_session", &handle, &PyTuple_Type, &inputs, &PyTuple_Type,
                        &outputs))
    return NULL;
  TernSession* session = HandlePointer(state, handle, kHandleSession);
  if (!session) return NULL;
  Py_ssize_t num_inputs = PyTuple_Size(inputs), num_outputs = PyTuple_Size(outputs);
  TernObject** given = PyMem_Calloc((size_t)num_inputs + 1, sizeof(TernObject*));
  TernObject** made = PyMem_Calloc((size_t)num_outputs + 1, sizeof(TernObject*));
  PyObject* result = NULL;
  if (!given || !made) {
    PyErr_NoMemory();
    goto done;
  }
  if (Tensors(state, inputs, given) < 0 || Tensors(state, outputs, made) < 0) {
    RaiseAsOwn(state);
    goto done;
  }
  int failed;
  Py_BEGIN_ALLOW_THREADS failed =
      tern_session_run(session, given, (int32_t)num_inputs, made, (int32_t)num_outputs);
  Py_END_ALLOW_THREADS if (failed) {
    RaiseLast(state);
    goto done;
  }
  result = PyTuple_New(num_outputs);
  for (Py_ssize_t i = 0; result && i < num_outputs; ++i) {
    PyObject* value;
    PyObject* given_output = PyTuple_GetItem(outputs, i);
    if (given_output != Py_None || !made[i]) {
      value = Py_NewRef(given_output);
    } else {
      value = WrapTensor(state, made[i]);
      made[i] = NULL;
    }
    if (!value || PyTuple_SetItem(result, i, value) < 0) Py_CLEAR(result);
  }
done:
  if (given) ReleaseAll(given, num_inputs);
  if (made) ReleaseAll(made, num_outputs);
  return result;
}

static PyObject* CancelSession(PyObject* module, PyObject* handle) {
  ModuleState* state = StateOf(module);
  TernSession* session = HandlePointer(state, handle, kHandleSession);
  int32_t was_running = 0;
  if (!session) return NULL;
  if (tern_session_cancel(session, &was_running) < 0) return RaiseLast(state);
  return PyBool_FromLong(was_running);
}

static PyObject* SetTimeout(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  PyObject* handle;
  double seconds;
  if (!PyArg_ParseTuple(args, "Od:set_timeout", &handle, &seconds)) return NULL;
  TernSession* session = HandlePointer(state, handle, kHandleSession);
  if (!session) return NULL;
  if (tern_session_set_timeout(session, seconds) < 0) return RaiseLast(state);
  Py_RETURN_NONE;
}

static PyObject* SelectOutputs(PyObject* module, PyObject* args) {
  enum { kMostNames = 256 };
  ModuleState* state = StateOf(module);
  PyObject *handle, *names;
  if (!PyArg_ParseTuple(args, "OO!:select_outputs", &handle, &PyTuple_Type, &names)) return NULL;
  TernSession* session = HandlePointer(state, handle, kHandleSession);
  if (!session) return NULL;
  const char* texts[kMostNames];
  Py_ssize_t count = PyTuple_Size(names);
  if (count > kMostNames) count = kMostNames;
  for (Py_ssize_t i = 0; i < count; ++i) {
    texts[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL);
    if (!texts[i]) return NULL;
  }
  if (tern_session_select_outputs(session, texts, (int32_t)count) < 0) return RaiseLast(state);
  Py_RETURN_NONE;
}

static PyObject* SetProfile(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  PyObject* handle;
  int is_on;
  if (!PyArg_ParseTuple(args, "Op:set_profile", &handle, &is_on)) return NULL;
  TernSession* session = HandlePointer(state, handle, kHandleSession);
  if (!session) return NULL;
  if (tern_session_set_profile(session, is_on) < 0) return RaiseLast(state);
  Py_RETURN_NONE;
}

static PyObject* GetProfile(PyObject* module, PyObject* handle) {
  ModuleState* state = StateOf(module);
  TernSession* session = HandlePointer(state, handle, kHandleSession);
  if (!session) return NULL;
  TernAny json = {0};
  return tern_session_get_profile(session, &json) < 0 ? RaiseLast(state) : TakeText(&json);
}

PyMethodDef kSessionMethods[] = {
    {"load_module", LoadModule, METH_VARARGS, NULL},
    {"describe_module", DescribeModule, METH_O, NULL},
    {"describe_file", DescribeFile, METH_VARARGS, NULL},
    {"evaluate_extent", EvaluateExtent, METH_VARARGS, NULL},
    {"make_function", MakeFunction, METH_VARARGS, NULL},
    {"load_model", LoadModel, METH_VARARGS, NULL},
    {"describe_model", DescribeModel, METH_O, NULL},
    {"specializations", Specializations, METH_VARARGS, NULL},
    {"make_session", MakeSession, METH_VARARGS, NULL},
    {"run_session", RunSession, METH_VARARGS, NULL},
    {"cancel_session", CancelSession, METH_O, NULL},
    {"set_timeout", SetTimeout, METH_VARARGS, NULL},
    {"select_outputs", SelectOutputs, METH_VARARGS, NULL},
    {"set_profile", SetProfile, METH_VARARGS, NULL},
    {"get_profile", GetProfile, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
