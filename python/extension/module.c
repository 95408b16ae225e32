// SPDX-License-Identifier: Apache-2.0
//
// The module itself, tensors' making, and devices.
#include "python/extension/extension.h"

static PyObject* Version(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  return PyUnicode_FromString(tern_version());
}

// set_errors({kind: class}, default)
static PyObject* SetErrors(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  PyObject *types, *otherwise;
  if (!PyArg_ParseTuple(args, "O!O:set_errors", &PyDict_Type, &types, &otherwise)) return NULL;
  Py_CLEAR(state->error_types);
  Py_CLEAR(state->default_error);
  state->error_types = Py_NewRef(types);
  state->default_error = Py_NewRef(otherwise);
  Py_RETURN_NONE;
}

// empty(shape, dtype, kind, id)
static PyObject* Empty(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  PyObject* shape;
  const char *name, *kind;
  int id;
  if (!PyArg_ParseTuple(args, "O!ssi:empty", &PyTuple_Type, &shape, &name, &kind, &id)) return NULL;
  int64_t extents[kMostAxes];
  Py_ssize_t ndim = PyTuple_Size(shape);
  if (ndim > kMostAxes) {
    PyErr_Format(PyExc_ValueError, "a tensor has at most %d axes, not %zd", kMostAxes, ndim);
    return NULL;
  }
  for (Py_ssize_t i = 0; i < ndim; ++i) {
    extents[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    if (PyErr_Occurred()) return NULL;
  }
  TernDType dtype;
  TernDevice device;
  TernObject* tensor = NULL;
  if (DTypeFrom(name, &dtype) < 0) {
    RaiseAsOwn(state);
    return NULL;
  }
  if (tern_device_find(kind, id, &device) < 0 ||
      tern_tensor_make(extents, (int32_t)ndim, dtype, device, &tensor) < 0)
    return RaiseLast(state);
  return WrapTensor(state, tensor);
}

static PyObject* FromArray(PyObject* module, PyObject* object) {
  ModuleState* state = StateOf(module);
  TernObject* tensor = TensorFromArray(state, object);
  if (tensor) return WrapTensor(state, tensor);
  RaiseAsOwn(state);
  return NULL;
}

static PyObject* DeviceCount(PyObject* module, PyObject* args) {
  const char* kind;
  int32_t count = 0;
  if (!PyArg_ParseTuple(args, "s:device_count", &kind)) return NULL;
  if (tern_device_count(kind, &count) < 0) return RaiseLast(StateOf(module));
  return PyLong_FromLong(count);
}

static PyObject* Synchronize(PyObject* module, PyObject* args) {
  const char* kind;
  int id = 0, failed;
  TernDevice device;
  if (!PyArg_ParseTuple(args, "s|i:synchronize", &kind, &id)) return NULL;
  Py_BEGIN_ALLOW_THREADS failed = tern_device_find(kind, id, &device);
  if (!failed) failed = tern_device_synchronize(device);
  Py_END_ALLOW_THREADS if (failed) return RaiseLast(StateOf(module));
  Py_RETURN_NONE;
}

// use_stream(kind, id, stream): gives the one before.
static PyObject* UseStream(PyObject* module, PyObject* args) {
  const char* kind;
  int id;
  PyObject* number;
  TernDevice device;
  void* before = NULL;
  if (!PyArg_ParseTuple(args, "siO:use_stream", &kind, &id, &number)) return NULL;
  void* stream = PyLong_AsVoidPtr(number);
  if (!stream && PyErr_Occurred()) return NULL;
  if (tern_device_find(kind, id, &device) < 0 || tern_stream_use(device, stream, &before) < 0)
    return RaiseLast(StateOf(module));
  return PyLong_FromVoidPtr(before);
}

static PyMethodDef kMethods[] = {
    {"version", Version, METH_NOARGS, NULL},
    {"set_errors", SetErrors, METH_VARARGS, NULL},
    {"empty", Empty, METH_VARARGS, NULL},
    {"from_array", FromArray, METH_O, NULL},
    {"device_count", DeviceCount, METH_VARARGS, NULL},
    {"synchronize", Synchronize, METH_VARARGS, NULL},
    {"use_stream", UseStream, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject* AddType(PyObject* module, PyType_Spec* spec, const char* name) {
  PyObject* type = PyType_FromModuleAndSpec(module, spec, NULL);
  if (type && PyModule_AddObjectRef(module, name, type) < 0) Py_CLEAR(type);
  return (PyTypeObject*)type;
}

static int Execute(PyObject* module) {
  ModuleState* state = StateOf(module);
  if (tern_c_api_version() < TERN_C_API_VERSION) {
    PyErr_Format(PyExc_ImportError,
                 "libtern_runtime.so is of C API version %d; this package needs %d",
                 tern_c_api_version(), TERN_C_API_VERSION);
    return -1;
  }
  state->name_exchange = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  state->name_dlpack = PyUnicode_InternFromString("__dlpack__");
  state->name_dlpack_device = PyUnicode_InternFromString("__dlpack_device__");
  state->name_max_version = PyUnicode_InternFromString("max_version");
  state->name_stream = PyUnicode_InternFromString("stream");
  state->max_version = Py_BuildValue("(ii)", TERN_DLPACK_MAJOR, TERN_DLPACK_MINOR);
  state->tensor_type = AddType(module, &kTensorSpec, "Tensor");
  state->function_type = AddType(module, &kFunctionSpec, "Function");
  state->handle_type = AddType(module, &kHandleSpec, "Handle");
  return PyErr_Occurred() || PyModule_AddFunctions(module, kSessionMethods) < 0 ||
                 PyModule_AddFunctions(module, kCompilerMethods) < 0
             ? -1
             : 0;
}

static int Traverse(PyObject* module, visitproc visit, void* arg) {
  ModuleState* state = StateOf(module);
  Py_VISIT(state->tensor_type);
  Py_VISIT(state->function_type);
  Py_VISIT(state->handle_type);
  Py_VISIT(state->error_types);
  Py_VISIT(state->default_error);
  Py_VISIT(state->to_numpy);
  return 0;
}

static int Clear(PyObject* module) {
  ModuleState* state = StateOf(module);
  Py_CLEAR(state->tensor_type);
  Py_CLEAR(state->function_type);
  Py_CLEAR(state->handle_type);
  Py_CLEAR(state->error_types);
  Py_CLEAR(state->default_error);
  Py_CLEAR(state->to_numpy);
  Py_CLEAR(state->name_exchange);
  Py_CLEAR(state->name_dlpack);
  Py_CLEAR(state->name_dlpack_device);
  Py_CLEAR(state->name_max_version);
  Py_CLEAR(state->name_stream);
  Py_CLEAR(state->max_version);
  return 0;
}

static void FreeModule(void* module) { Clear(module); }

static PyModuleDef_Slot kSlots[] = {
    {Py_mod_exec, Execute},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tern._tern",
    .m_doc = "The C API of Tern; the package tern is what people use.",
    .m_size = sizeof(ModuleState),
    .m_methods = kMethods,
    .m_slots = kSlots,
    .m_traverse = Traverse,
    .m_clear = Clear,
    .m_free = FreeModule,
};

ModuleState* StateOf(PyObject* module) { return PyModule_GetState(module); }

PyMODINIT_FUNC PyInit__tern(void) { return PyModuleDef_Init(&kModule); }
