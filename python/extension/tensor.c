// SPDX-License-Identifier: Apache-2.0
//
// tern.Tensor: memory on a device that Tern made, or that another library lent.
#include <stdio.h>
#include <string.h>

#include "python/extension/extension.h"

static ModuleState* StateOfSelf(PyObject* self) { return PyType_GetModuleState(Py_TYPE(self)); }

PyObject* WrapTensor(const ModuleState* state, TernObject* object) {
  PyTensor* self = PyObject_New(PyTensor, state->tensor_type);
  if (!self) {
    tern_object_release(object);
    return NULL;
  }
  self->object = object;
  if (tern_tensor_get_view(object, &self->view) == 0) return (PyObject*)self;
  Py_DECREF(self);
  return RaiseLast(state);
}

PyObject* TakeValue(const ModuleState* state, TernAny* value) {
  PyObject* result = NULL;
  switch (value->type_index) {
    case kTernNone:
      Py_RETURN_NONE;
    case kTernInt:
      return PyLong_FromLongLong(value->v_int);
    case kTernBool:
      return PyBool_FromLong(value->v_int != 0);
    case kTernFloat:
      return PyFloat_FromDouble(value->v_float);
    case kTernSmallStr:
    case kTernStr:
      return TakeText(value);
    case kTernTensor:
      return WrapTensor(state, value->v_obj);
    default: {
      TernAny text = {0};
      if (tern_value_describe(value, &text) == 0) result = TakeText(&text);
      if (result) PyErr_Format(PyExc_TypeError, "a function gave %U, which Python has not", result);
      Py_XDECREF(result);
      tern_value_release(value);
      return NULL;
    }
  }
}

static void Dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  tern_object_release(((PyTensor*)self)->object);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject* TupleOf(const int64_t* numbers, int32_t count) {
  PyObject* tuple = PyTuple_New(count);
  for (int32_t i = 0; tuple && i < count; ++i) {
    PyObject* number = PyLong_FromLongLong(numbers[i]);
    if (!number || PyTuple_SetItem(tuple, i, number) < 0) Py_CLEAR(tuple);
  }
  return tuple;
}

static PyObject* GetShape(PyObject* self, void* unused) {
  (void)unused;
  const TernTensorView* view = ((PyTensor*)self)->view;
  return TupleOf(view->shape, view->ndim);
}

static void CompactStrides(const TernTensorView* view, int64_t* strides) {
  int64_t stride = 1;
  for (int32_t i = view->ndim - 1; i >= 0; --i) {
    strides[i] = view->strides ? view->strides[i] : stride;
    stride *= view->shape[i];
  }
}

static int64_t CountOf(const TernTensorView* view) {
  int64_t count = 1;
  for (int32_t i = 0; i < view->ndim; ++i) count *= view->shape[i];
  return count;
}

static PyObject* GetStrides(PyObject* self, void* unused) {
  (void)unused;
  const TernTensorView* view = ((PyTensor*)self)->view;
  if (view->strides) return TupleOf(view->strides, view->ndim);
  int64_t* strides = PyMem_Malloc(sizeof(int64_t) * (size_t)(view->ndim + 1));
  if (!strides) return PyErr_NoMemory();
  CompactStrides(view, strides);
  PyObject* tuple = TupleOf(strides, view->ndim);
  PyMem_Free(strides);
  return tuple;
}

static PyObject* GetDType(PyObject* self, void* unused) {
  (void)unused;
  return PyUnicode_FromString(DTypeName(((PyTensor*)self)->view->dtype));
}

static PyObject* GetNDim(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromLong(((PyTensor*)self)->view->ndim);
}

static PyObject* GetSize(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromLongLong(CountOf(((PyTensor*)self)->view));
}

static PyObject* GetBytes(PyObject* self, void* unused) {
  (void)unused;
  const TernTensorView* view = ((PyTensor*)self)->view;
  return PyLong_FromLongLong((CountOf(view) * view->dtype.bits + 7) / 8);
}

// "cpu:0"
static PyObject* GetDevice(PyObject* self, void* unused) {
  (void)unused;
  TernAny name = {0};
  if (tern_device_name(((PyTensor*)self)->view->device, &name) < 0)
    return RaiseLast(StateOfSelf(self));
  return TakeText(&name);
}

static PyObject* Repr(PyObject* self) {
  PyObject* shape = GetShape(self, NULL);
  PyObject* device = GetDevice(self, NULL);
  PyObject* text = NULL;
  if (shape && device)
    text = PyUnicode_FromFormat("<tern.Tensor: %s tensor of shape %R on %U>",
                                DTypeName(((PyTensor*)self)->view->dtype), shape, device);
  Py_XDECREF(shape);
  Py_XDECREF(device);
  return text;
}

static Py_ssize_t Length(PyObject* self) {
  const TernTensorView* view = ((PyTensor*)self)->view;
  if (view->ndim > 0) return (Py_ssize_t)view->shape[0];
  PyErr_SetString(PyExc_TypeError, "a tensor without axes has no len()");
  return -1;
}

// ---- DLPack

static void DeleteCapsule(PyObject* capsule) {
  TernManagedTensor* managed =
      PyCapsule_IsValid(capsule, "dltensor") ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;
  if (managed) managed->deleter(managed);
}

static void DeleteVersionedCapsule(PyObject* capsule) {
  TernManagedTensorVersioned* managed = PyCapsule_IsValid(capsule, "dltensor_versioned")
                                            ? PyCapsule_GetPointer(capsule, "dltensor_versioned")
                                            : NULL;
  if (managed) managed->deleter(managed);
}

// What the stream of the caller does from now on waits for what this thread has started.
static int HoldStream(ModuleState* state, TernDevice device, void* stream) {
  void* event = NULL;
  void* before = NULL;
  int failed = 0;
  Py_BEGIN_ALLOW_THREADS if (tern_event_make(device, &event) == 0) {
    failed = tern_event_record(device, event);
    if (!failed) failed = tern_stream_use(device, stream, &before);
    if (!failed) {
      failed = tern_event_hold(device, event);
      tern_stream_use(device, before, NULL);
    }
    tern_event_free(device, event);
  }
  else {
    failed = tern_device_synchronize(device);
  }
  Py_END_ALLOW_THREADS if (failed) RaiseLast(state);
  return failed;
}

static int SynchronizeWith(ModuleState* state, TernDevice device, PyObject* stream) {
  if (device.type == kTernDeviceCpu) return 0;
  if (stream == Py_None) return HoldStream(state, device, NULL);
  long long number = PyLong_AsLongLong(stream);
  if (number == -1) return PyErr_Occurred() ? -1 : 0;  // -1: the caller does it
  // DLPack calls the default stream 1.
  return HoldStream(state, device, number == 1 ? NULL : (void*)(intptr_t)number);
}

static PyObject* ToDLPack(PyObject* self, PyObject* args, PyObject* names) {
  static char* keys[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  ModuleState* state = StateOfSelf(self);
  if (!PyArg_ParseTupleAndKeywords(args, names, "|$OOOO:__dlpack__", keys, &stream, &version,
                                   &device, &copy))
    return NULL;
  PyTensor* tensor = (PyTensor*)self;
  int32_t type = tensor->view->device.type, id = tensor->view->device.id;
  if (device != Py_None && !PyArg_ParseTuple(device, "ii;dl_device is no pair", &type, &id))
    return NULL;
  if (type != tensor->view->device.type || id != tensor->view->device.id) {
    PyErr_SetString(PyExc_BufferError, "the tensor is on another device; Tensor.to copies it");
    return NULL;
  }
  if (copy == Py_True) {
    PyErr_SetString(PyExc_BufferError, "a tensor is given without a copy; Tensor.copy makes one");
    return NULL;
  }
  if (SynchronizeWith(state, tensor->view->device, stream) < 0) return NULL;
  int major = 0, minor = 0;
  if (version != Py_None && !PyArg_ParseTuple(version, "ii;max_version is no pair", &major, &minor))
    return NULL;
  if (major >= 1) {
    TernManagedTensorVersioned* managed = NULL;
    if (tern_tensor_to_dlpack_versioned(tensor->object, &managed) < 0) return RaiseLast(state);
    PyObject* capsule = PyCapsule_New(managed, "dltensor_versioned", DeleteVersionedCapsule);
    if (!capsule) managed->deleter(managed);
    return capsule;
  }
  TernManagedTensor* managed = NULL;
  if (tern_tensor_to_dlpack(tensor->object, &managed) < 0) return RaiseLast(state);
  PyObject* capsule = PyCapsule_New(managed, "dltensor", DeleteCapsule);
  if (!capsule) managed->deleter(managed);
  return capsule;
}

static PyObject* DLPackDevice(PyObject* self, PyObject* unused) {
  (void)unused;
  const TernTensorView* view = ((PyTensor*)self)->view;
  return Py_BuildValue("ii", view->device.type, view->device.id);
}

// ---- The buffer protocol: numpy.asarray, memoryview

static bool IsReadOnly(PyTensor* self) {
  TernManagedTensorVersioned* managed = NULL;
  if (tern_tensor_to_dlpack_versioned(self->object, &managed) < 0) return true;
  bool is_read_only = (managed->flags & kTernReadOnly) != 0;
  managed->deleter(managed);
  return is_read_only;
}

static int GetBuffer(PyObject* object, Py_buffer* buffer, int flags) {
  PyTensor* self = (PyTensor*)object;
  const TernTensorView* view = self->view;
  buffer->obj = NULL;
  const char* format = FormatOf(view->dtype);
  if (view->device.type != kTernDeviceCpu || !format) {
    PyErr_SetString(PyExc_BufferError, view->device.type != kTernDeviceCpu
                                           ? "the tensor is on a device; Tensor.cpu copies it"
                                           : "the buffer protocol has no such type");
    return -1;
  }
  bool is_read_only = IsReadOnly(self);
  if (is_read_only && (flags & PyBUF_WRITABLE)) {
    PyErr_SetString(PyExc_BufferError, "the tensor is read-only");
    return -1;
  }
  int64_t* numbers = PyMem_Malloc(sizeof(int64_t) * (size_t)(2 * view->ndim + 1));
  if (!numbers) {
    PyErr_NoMemory();
    return -1;
  }
  Py_ssize_t item = view->dtype.bits / 8;
  int64_t* strides = numbers + view->ndim;
  CompactStrides(view, strides);
  bool is_compact = true;
  int64_t expected = 1;
  for (int32_t i = view->ndim - 1; i >= 0; --i) {
    is_compact = is_compact && (view->shape[i] == 1 || strides[i] == expected);
    expected *= view->shape[i];
    numbers[i] = view->shape[i];
    strides[i] *= item;
  }
  if (!is_compact && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
    PyMem_Free(numbers);
    PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous");
    return -1;
  }
  buffer->buf = (char*)view->data + view->byte_offset;
  Py_INCREF(object);
  buffer->obj = object;
  buffer->len = (Py_ssize_t)CountOf(view) * item;
  buffer->itemsize = item;
  buffer->readonly = is_read_only;
  buffer->ndim = view->ndim;
  buffer->format = (flags & PyBUF_FORMAT) ? (char*)format : NULL;
  buffer->shape = (flags & PyBUF_ND) ? (Py_ssize_t*)numbers : NULL;
  buffer->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? (Py_ssize_t*)strides : NULL;
  buffer->suboffsets = NULL;
  buffer->internal = numbers;
  return 0;
}

static void ReleaseBuffer(PyObject* self, Py_buffer* buffer) {
  (void)self;
  PyMem_Free(buffer->internal);
}

// ---- Methods

static PyObject* CopyTo(PyObject* self, TernDevice device) {
  TernObject* copy = NULL;
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = tern_tensor_copy(((PyTensor*)self)->object, device, &copy);
  Py_END_ALLOW_THREADS ModuleState* state = StateOfSelf(self);
  return failed ? RaiseLast(state) : WrapTensor(state, copy);
}

// The tensor with elements of another type of the same size, and its memory.
static PyObject* Reinterpret(PyObject* self, PyObject* name) {
  ModuleState* state = StateOfSelf(self);
  const char* text = PyUnicode_AsUTF8AndSize(name, NULL);
  TernDType dtype;
  TernManagedTensorVersioned* managed = NULL;
  if (!text || DTypeFrom(text, &dtype) < 0) return NULL;
  if (dtype.bits != ((PyTensor*)self)->view->dtype.bits) {
    PyErr_SetString(PyExc_TypeError, "the types differ in size");
    return NULL;
  }
  if (tern_tensor_to_dlpack_versioned(((PyTensor*)self)->object, &managed) < 0)
    return RaiseLast(state);
  managed->tensor.dtype = dtype;
  TernObject* result = NULL;
  if (tern_tensor_from_dlpack_versioned(managed, &result) == 0) return WrapTensor(state, result);
  managed->deleter(managed);
  return RaiseLast(state);
}

static PyObject* ToHost(PyObject* self, PyObject* unused) {
  (void)unused;
  if (((PyTensor*)self)->view->device.type == kTernDeviceCpu) return Py_NewRef(self);
  return CopyTo(self, (TernDevice){kTernDeviceCpu, 0});
}

static PyObject* Copy(PyObject* self, PyObject* unused) {
  (void)unused;
  return CopyTo(self, ((PyTensor*)self)->view->device);
}

static PyObject* To(PyObject* self, PyObject* args) {
  const char* kind = NULL;
  int id = 0;
  TernDevice device;
  if (!PyArg_ParseTuple(args, "s|i:_copy_to", &kind, &id)) return NULL;
  if (tern_device_find(kind, id, &device) < 0) return RaiseLast(StateOfSelf(self));
  return CopyTo(self, device);
}

// "opencl:0"
static PyObject* ToDevice(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text) return NULL;
  char kind[64] = "";
  int id = 0, end = 0;
  if (sscanf(text, "%63[^:]%n:%d%n", kind, &end, &id, &end) < 1 || text[end] != 0 || id < 0) {
    PyErr_Format(PyExc_ValueError, "'%s' is no device; expected one as 'cpu' or 'opencl:0'", text);
    return NULL;
  }
  TernDevice device;
  if (tern_device_find(kind, id, &device) < 0) return RaiseLast(StateOfSelf(self));
  return CopyTo(self, device);
}

static PyObject* Numpy(PyObject* self, PyObject* unused) {
  (void)unused;
  ModuleState* state = StateOfSelf(self);
  if (!state->to_numpy) {
    PyObject* module = PyImport_ImportModule("tern._arrays");
    if (!module) return NULL;
    state->to_numpy = PyObject_GetAttrString(module, "to_numpy");
    Py_DECREF(module);
    if (!state->to_numpy) return NULL;
  }
  return PyObject_CallFunctionObjArgs(state->to_numpy, self, NULL);
}

static PyGetSetDef kGetters[] = {
    {"shape", GetShape, NULL, "The extents.", NULL},
    {"strides", GetStrides, NULL, "In elements.", NULL},
    {"dtype", GetDType, NULL, "The name of the type of its elements: 'float32'.", NULL},
    {"device", GetDevice, NULL, "Where it lies: 'cpu:0'.", NULL},
    {"ndim", GetNDim, NULL, "The number of axes.", NULL},
    {"size", GetSize, NULL, "The number of elements.", NULL},
    {"nbytes", GetBytes, NULL, "The bytes of its elements.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef kMethods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))ToDLPack, METH_VARARGS | METH_KEYWORDS,
     "The tensor for another library, without a copy."},
    {"__dlpack_device__", DLPackDevice, METH_NOARGS, "The device as DLPack numbers it."},
    {"_copy_to", To, METH_VARARGS, NULL},
    {"_reinterpret", Reinterpret, METH_O, NULL},
    {"cpu", ToHost, METH_NOARGS, "The tensor on the host: itself, or a copy."},
    {"copy", Copy, METH_NOARGS, "A copy on the same device."},
    {"to", ToDevice, METH_O, "A copy on a device: 'cpu', 'opencl:0'."},
    {"numpy", Numpy, METH_NOARGS, "The tensor as a numpy array; without a copy on the host."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot kSlots[] = {
    {Py_tp_dealloc, Dealloc},
    {Py_tp_repr, Repr},
    {Py_tp_getset, kGetters},
    {Py_tp_methods, kMethods},
    {Py_sq_length, Length},
    {Py_mp_length, Length},
    {Py_bf_getbuffer, GetBuffer},
    {Py_bf_releasebuffer, ReleaseBuffer},
    {Py_tp_doc,
     "A tensor on a device. numpy.asarray, numpy.from_dlpack, torch.from_dlpack and "
     "others take it without a copy."},
    {0, NULL},
};

PyType_Spec kTensorSpec = {"tern.Tensor", sizeof(PyTensor), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kSlots};
