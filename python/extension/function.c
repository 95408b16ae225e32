// SPDX-License-Identifier: Apache-2.0
//
// A compiled function. A call with all parameters in their order goes straight to it; any other
// (names, results left out) goes through `bind`, a function in Python.
#include <string.h>

#include "python/extension/extension.h"

typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
  TernObject* function;
  PyObject* name;
  PyObject* params;  // tuple of names
  PyObject* bind;
  int32_t num_params;
  char kinds[];  // of each: t(ensor), w(ritten tensor), i(nteger), f(loat), b(ool)
} PyFunction;

enum { kFewParams = 8, kMostParams = 1024 };

static ModuleState* StateOfSelf(PyFunction* self) {
  return PyType_GetModuleState(Py_TYPE((PyObject*)self));
}

// Says which parameter it is, as compiled code does.
static int FailAt(PyFunction* self, Py_ssize_t index) {
  RaiseAsOwn(StateOfSelf(self));
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* name = PyTuple_GetItem(self->params, index);
  PyObject* text = value ? PyObject_Str(value) : NULL;
  if (name && text)
    PyErr_Format(type, "%U: argument %zd (%U): %U", self->name, index, name, text);
  else
    PyErr_Restore(Py_XNewRef(type), Py_XNewRef(value), Py_XNewRef(trace));
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return -1;
}

static int ExpectedArray(PyObject* object) {
  PyObject* name = PyType_GetQualName(Py_TYPE(object));
  PyErr_Format(PyExc_TypeError,
               "expected an array (tern.Tensor, numpy, or any with __dlpack__), got %V", name,
               "an object");
  Py_XDECREF(name);
  return -1;
}

static int Convert(ModuleState* state, char kind, PyObject* object, BorrowedArray* array,
                   TernAny* value) {
  value->small_len = 0;
  switch (kind) {
    case 't':
    case 'w': {
      int found = BorrowArray(state, object, kind == 'w', array);
      if (found <= 0) return found < 0 ? -1 : ExpectedArray(object);
      value->type_index = kTernTensorView;
      value->v_tensor = &array->view;
      return 0;
    }
    case 'f':
      value->type_index = kTernFloat;
      value->v_float = PyFloat_AsDouble(object);
      return value->v_float == -1 && PyErr_Occurred() ? -1 : 0;
    case 'b':
      value->type_index = kTernBool;
      value->v_int = PyObject_IsTrue(object);
      return value->v_int < 0 ? -1 : 0;
    default: {
      PyObject* number = PyNumber_Index(object);
      if (!number) return -1;
      value->type_index = kTernInt;
      value->v_int = PyLong_AsLongLong(number);
      Py_DECREF(number);
      return value->v_int == -1 && PyErr_Occurred() ? -1 : 0;
    }
  }
}

// The stream of the first array that has one.
static const BorrowedArray* StreamOf(const PyFunction* self, const BorrowedArray* arrays) {
  for (int32_t i = 0; i < self->num_params; ++i)
    if ((self->kinds[i] == 't' || self->kinds[i] == 'w') && arrays[i].has_stream) return &arrays[i];
  return NULL;
}

static PyObject* CallWith(PyFunction* self, ModuleState* state, const BorrowedArray* arrays,
                          const TernAny* values) {
  const BorrowedArray* streamed = StreamOf(self, arrays);
  TernAny result = {0};
  void* before = NULL;
  int failed = 0;
  Py_BEGIN_ALLOW_THREADS if (streamed) failed =
      tern_stream_use(streamed->view.device, streamed->stream, &before);
  if (!failed) {
    failed = tern_function_call(self->function, values, self->num_params, &result);
    if (streamed) tern_stream_use(streamed->view.device, before, NULL);
  }
  Py_END_ALLOW_THREADS return failed ? RaiseLast(state) : TakeValue(state, &result);
}

static PyObject* CallPlain(PyFunction* self, PyObject* const* args, BorrowedArray* arrays,
                           TernAny* values) {
  ModuleState* state = StateOfSelf(self);
  PyObject* result = NULL;
  int32_t done = 0;
  for (; done < self->num_params; ++done) {
    arrays[done].owner = kOwnerNone;
    arrays[done].has_stream = false;
    if (Convert(state, self->kinds[done], args[done], &arrays[done], &values[done]) < 0) {
      FailAt(self, done);
      break;
    }
  }
  if (done == self->num_params) result = CallWith(self, state, arrays, values);
  for (int32_t i = 0; i < done; ++i)
    if (arrays[i].owner != kOwnerNone) ReturnArray(&arrays[i]);
  return result;
}

static PyObject* CallBound(PyFunction* self, PyObject* const* args, Py_ssize_t count,
                           PyObject* names) {
  PyObject* positional = PyTuple_New(count);
  PyObject* named = PyDict_New();
  PyObject* result = NULL;
  if (!positional || !named) goto done;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyTuple_SetItem(positional, i, Py_NewRef(args[i])) < 0) goto done;
  for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); ++i)
    if (PyDict_SetItem(named, PyTuple_GetItem(names, i), args[count + i]) < 0) goto done;
  result = PyObject_CallFunctionObjArgs(self->bind, (PyObject*)self, positional, named, NULL);
done:
  Py_XDECREF(positional);
  Py_XDECREF(named);
  return result;
}

static PyObject* Call(PyObject* object, PyObject* const* args, size_t flags, PyObject* names) {
  PyFunction* self = (PyFunction*)object;
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (count != self->num_params || (names && PyTuple_Size(names) > 0))
    return CallBound(self, args, count, names);
  if (count <= kFewParams) {
    BorrowedArray arrays[kFewParams];
    TernAny values[kFewParams];
    return CallPlain(self, args, arrays, values);
  }
  BorrowedArray* arrays = PyMem_Malloc(sizeof(BorrowedArray) * (size_t)count);
  TernAny* values = PyMem_Malloc(sizeof(TernAny) * (size_t)count);
  PyObject* result = arrays && values ? CallPlain(self, args, arrays, values) : PyErr_NoMemory();
  PyMem_Free(arrays);
  PyMem_Free(values);
  return result;
}

// make_function(module, name, entry, kinds, params, bind): `entry` of a loaded module.
PyObject* MakeFunction(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  PyObject *handle, *name, *params, *bind;
  const char *entry, *kinds;
  Py_ssize_t num_params;
  if (!PyArg_ParseTuple(args, "OUss#O!O:make_function", &handle, &name, &entry, &kinds, &num_params,
                        &PyTuple_Type, &params, &bind))
    return NULL;
  TernModule* loaded = HandlePointer(state, handle, kHandleModule);
  if (!loaded) return NULL;
  if (num_params > kMostParams || PyTuple_Size(params) != num_params) {
    PyErr_SetString(PyExc_ValueError, "make_function: kinds and params do not agree");
    return NULL;
  }
  TernObject* function = NULL;
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = tern_module_get_function(loaded, entry, &function);
  Py_END_ALLOW_THREADS if (failed) return RaiseLast(state);
  PyFunction* self = PyObject_GC_NewVar(PyFunction, state->function_type, num_params);
  if (!self) {
    tern_object_release(function);
    return NULL;
  }
  self->vectorcall = Call;
  self->function = function;
  self->name = Py_NewRef(name);
  self->params = Py_NewRef(params);
  self->bind = Py_NewRef(bind);
  self->num_params = (int32_t)num_params;
  memcpy(self->kinds, kinds, (size_t)num_params);
  PyObject_GC_Track(self);
  return (PyObject*)self;
}

static int Traverse(PyObject* object, visitproc visit, void* arg) {
  PyFunction* self = (PyFunction*)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->params);
  Py_VISIT(self->bind);
  return 0;
}

static int Clear(PyObject* object) {
  PyFunction* self = (PyFunction*)object;
  Py_CLEAR(self->bind);
  return 0;
}

static void Dealloc(PyObject* object) {
  PyFunction* self = (PyFunction*)object;
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  tern_object_release(self->function);
  Py_XDECREF(self->name);
  Py_XDECREF(self->params);
  Py_XDECREF(self->bind);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

static PyObject* Repr(PyObject* object) {
  PyFunction* self = (PyFunction*)object;
  PyObject* comma = PyUnicode_FromString(", ");
  PyObject* params = comma ? PyUnicode_Join(comma, self->params) : NULL;
  PyObject* text =
      params ? PyUnicode_FromFormat("<tern.Function %U(%U)>", self->name, params) : NULL;
  Py_XDECREF(comma);
  Py_XDECREF(params);
  return text;
}

static PyObject* GetName(PyObject* self, void* unused) {
  (void)unused;
  return Py_NewRef(((PyFunction*)self)->name);
}

static PyObject* GetParams(PyObject* self, void* unused) {
  (void)unused;
  return Py_NewRef(((PyFunction*)self)->params);
}

static PyGetSetDef kGetters[] = {
    {"name", GetName, NULL, "Its name in the module.", NULL},
    {"params", GetParams, NULL, "The names of its parameters.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef kMembers[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(PyFunction, vectorcall), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot kSlots[] = {
    {Py_tp_dealloc, Dealloc},
    {Py_tp_traverse, Traverse},
    {Py_tp_clear, Clear},
    {Py_tp_repr, Repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getset, kGetters},
    {Py_tp_members, kMembers},
    {Py_tp_doc, "A compiled function. Results that are left out are made and returned."},
    {0, NULL},
};

PyType_Spec kFunctionSpec = {"tern.Function", offsetof(PyFunction, kinds), 1,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             kSlots};
