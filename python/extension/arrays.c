// SPDX-License-Identifier: Apache-2.0
//
// Arrays of other libraries: the buffer protocol, DLPack's exchange API (a table of C functions
// that a type has), and __dlpack__, in this order of speed.
#include <stdlib.h>
#include <string.h>

#include "python/extension/extension.h"

// ---- DLPack's exchange API, of version 1.2 and later

typedef struct ExchangeApi {
  uint32_t major, minor;
  struct ExchangeApi* previous;
} ExchangeHead;

typedef struct {
  ExchangeHead head;
  int (*allocate)(TernTensorView*, TernManagedTensorVersioned**, void*,
                  void (*)(void*, const char*, const char*));
  int (*from_object)(void* object, TernManagedTensorVersioned** managed);
  int (*to_object)(TernManagedTensorVersioned* managed, void** object);
  int (*view_of_object)(void* object, TernTensorView* view);  // or NULL
  int (*current_stream)(int32_t device_type, int32_t device_id, void** stream);
} ExchangeTable;

// NULL, without an error, where the type has none.
static const ExchangeTable* ExchangeOf(ModuleState* state, PyObject* object) {
  PyObject* found = PyObject_GetAttr((PyObject*)Py_TYPE(object), state->name_exchange);
  if (!found) {
    PyErr_Clear();
    return NULL;
  }
  const ExchangeHead* api = NULL;
  if (PyCapsule_CheckExact(found)) api = PyCapsule_GetPointer(found, "dlpack_exchange_api");
  Py_DECREF(found);
  if (!api) PyErr_Clear();
  while (api && api->major != TERN_DLPACK_MAJOR) api = api->previous;
  return (const ExchangeTable*)api;
}

static int HasArray(ModuleState* state, PyObject* object) {
  return PyObject_HasAttr(object, state->name_dlpack);
}

// ---- __dlpack__

// The stream of this thread, for the library that the array is of to synchronize with. DLPack
// calls the default one 1.
static PyObject* CurrentStreamNumber(TernDevice device) {
  void* stream = NULL;
  if (tern_stream_use(device, NULL, &stream) == 0) tern_stream_use(device, stream, NULL);
  return PyLong_FromVoidPtr(stream ? stream : (void*)1);
}

static PyObject* AskForCapsule(ModuleState* state, PyObject* object) {
  int32_t type = kTernDeviceCpu, id = 0;
  PyObject* device = PyObject_CallMethodObjArgs(object, state->name_dlpack_device, NULL);
  if (!device) return NULL;
  bool is_pair = PyArg_ParseTuple(device, "ii;__dlpack_device__ gave no pair", &type, &id);
  Py_DECREF(device);
  if (!is_pair) return NULL;
  PyObject* method = PyObject_GetAttr(object, state->name_dlpack);
  PyObject* names = PyDict_New();
  PyObject* none = PyTuple_New(0);
  PyObject* capsule = NULL;
  if (!method || !names || !none) goto done;
  if (type != kTernDeviceCpu) {
    PyObject* stream = CurrentStreamNumber((TernDevice){type, id});
    if (!stream || PyDict_SetItem(names, state->name_stream, stream) < 0) {
      Py_XDECREF(stream);
      goto done;
    }
    Py_DECREF(stream);
  }
  if (PyDict_SetItem(names, state->name_max_version, state->max_version) < 0) goto done;
  capsule = PyObject_Call(method, none, names);
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {  // older than DLPack 1.0
    PyErr_Clear();
    if (PyDict_DelItem(names, state->name_max_version) == 0)
      capsule = PyObject_Call(method, none, names);
  }
done:
  Py_XDECREF(method);
  Py_XDECREF(names);
  Py_XDECREF(none);
  return capsule;
}

// What is in the capsule is the caller's from then on.
static void* TakeManaged(ModuleState* state, PyObject* object, bool* is_versioned) {
  PyObject* capsule = AskForCapsule(state, object);
  if (!capsule) return NULL;
  void* managed = NULL;
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    *is_versioned = true;
    PyCapsule_SetName(capsule, "used_dltensor_versioned");
  } else if (PyCapsule_IsValid(capsule, "dltensor")) {
    managed = PyCapsule_GetPointer(capsule, "dltensor");
    *is_versioned = false;
    PyCapsule_SetName(capsule, "used_dltensor");
  } else {
    PyErr_SetString(PyExc_TypeError, "__dlpack__ gave no DLPack capsule");
  }
  Py_DECREF(capsule);
  return managed;
}

static void DeleteManaged(void* managed, bool is_versioned) {
  if (is_versioned) {
    TernManagedTensorVersioned* tensor = managed;
    if (tensor->deleter) tensor->deleter(tensor);
  } else {
    TernManagedTensor* tensor = managed;
    if (tensor->deleter) tensor->deleter(tensor);
  }
}

// ---- The buffer protocol

// Returns 1; 0 where it is no buffer of numbers; -1 with an error.
static int GetBuffer(PyObject* object, bool is_written, Py_buffer* buffer, TernDType* dtype) {
  if (PyObject_GetBuffer(object, buffer, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
    PyErr_Clear();
    return 0;
  }
  if (!DTypeFromFormat(buffer->format, buffer->itemsize, dtype)) {
    PyBuffer_Release(buffer);
    return 0;
  }
  const char* wrong = NULL;
  if (buffer->ndim > kMostAxes) wrong = "an array has more than 16 axes";
  if (is_written && buffer->readonly)
    wrong = "the function writes to this array, and it is read-only";
  for (int i = 0; i < buffer->ndim && !wrong; ++i)
    if (buffer->strides[i] < 0)
      wrong = "an array has a stride below 0; it needs a copy first (numpy.ascontiguousarray)";
    else if (buffer->strides[i] % buffer->itemsize != 0)
      wrong = "the strides of an array are no multiples of its elements; it needs a copy first";
  if (!wrong) return 1;
  PyErr_SetString(PyExc_ValueError, wrong);
  PyBuffer_Release(buffer);
  return -1;
}

static void FillView(const Py_buffer* buffer, TernDType dtype, int64_t* strides,
                     TernTensorView* view) {
  for (int i = 0; i < buffer->ndim; ++i) strides[i] = buffer->strides[i] / buffer->itemsize;
  // Extents are 64 bits wide on all machines that Tern runs on.
  *view = (TernTensorView){
      buffer->buf, {kTernDeviceCpu, 0}, buffer->ndim, dtype, (int64_t*)buffer->shape, strides, 0};
}

// What the runtime holds of a buffer.
typedef struct {
  TernManagedTensorVersioned managed;
  Py_buffer buffer;
  int64_t strides[kMostAxes];
} HeldBuffer;

// From any thread.
static void ReleaseHeldBuffer(TernManagedTensorVersioned* managed) {
  HeldBuffer* held = managed->manager;
  if (Py_IsInitialized()) {
    PyGILState_STATE gil = PyGILState_Ensure();
    PyBuffer_Release(&held->buffer);
    PyGILState_Release(gil);
  }
  free(held);
}

// ---- Of all libraries

int BorrowArray(ModuleState* state, PyObject* object, bool is_written, BorrowedArray* array) {
  array->owner = kOwnerNone;
  array->has_stream = false;
  if (Py_TYPE(object) == state->tensor_type) {
    array->view = *((PyTensor*)object)->view;
    return 1;
  }
  if (PyObject_CheckBuffer(object)) {
    TernDType dtype;
    int found = GetBuffer(object, is_written, &array->buffer, &dtype);
    if (found < 0) return -1;
    if (found) {
      FillView(&array->buffer, dtype, array->strides, &array->view);
      array->owner = kOwnerBuffer;
      return 1;
    }
  }
  const ExchangeTable* exchange = ExchangeOf(state, object);
  if (exchange && exchange->view_of_object) {
    if (exchange->view_of_object(object, &array->view) != 0) return -1;
    if (array->view.device.type != kTernDeviceCpu) {
      array->has_stream = true;
      if (exchange->current_stream(array->view.device.type, array->view.device.id,
                                   &array->stream) != 0)
        return -1;
    }
    return 1;
  }
  if (!HasArray(state, object)) return 0;
  bool is_versioned = false;
  array->managed = TakeManaged(state, object, &is_versioned);
  if (!array->managed) return -1;
  array->owner = is_versioned ? kOwnerVersioned : kOwnerManaged;
  array->view = is_versioned ? ((TernManagedTensorVersioned*)array->managed)->tensor
                             : ((TernManagedTensor*)array->managed)->tensor;
  if (is_written && is_versioned &&
      (((TernManagedTensorVersioned*)array->managed)->flags & kTernReadOnly)) {
    ReturnArray(array);
    PyErr_SetString(PyExc_ValueError, "the function writes to this array, and it is read-only");
    return -1;
  }
  return 1;
}

void ReturnArray(BorrowedArray* array) {
  if (array->owner == kOwnerBuffer)
    PyBuffer_Release(&array->buffer);
  else if (array->owner != kOwnerNone)
    DeleteManaged(array->managed, array->owner == kOwnerVersioned);
  array->owner = kOwnerNone;
}

static TernObject* TensorFromBuffer(ModuleState* state, const Py_buffer* buffer, TernDType dtype) {
  HeldBuffer* held = calloc(1, sizeof(HeldBuffer));
  if (!held) return (TernObject*)PyErr_NoMemory();
  held->buffer = *buffer;
  held->managed.major = TERN_DLPACK_MAJOR;
  held->managed.minor = TERN_DLPACK_MINOR;
  held->managed.manager = held;
  held->managed.deleter = ReleaseHeldBuffer;
  held->managed.flags = buffer->readonly ? kTernReadOnly : 0;
  FillView(&held->buffer, dtype, held->strides, &held->managed.tensor);
  // An exporter may point into its own view.
  if (held->buffer.shape == &buffer->len) held->managed.tensor.shape = (int64_t*)&held->buffer.len;
  TernObject* tensor = NULL;
  if (tern_tensor_from_dlpack_versioned(&held->managed, &tensor) == 0) return tensor;
  PyBuffer_Release(&held->buffer);
  free(held);
  return (TernObject*)RaiseLast(state);
}

TernObject* TensorFromArray(ModuleState* state, PyObject* object) {
  TernObject* tensor = NULL;
  if (PyObject_TypeCheck(object, state->tensor_type)) {
    tensor = ((PyTensor*)object)->object;
    tern_object_retain(tensor);
    return tensor;
  }
  if (PyObject_CheckBuffer(object)) {
    Py_buffer buffer;
    TernDType dtype;
    int found = GetBuffer(object, false, &buffer, &dtype);
    if (found) return found < 0 ? NULL : TensorFromBuffer(state, &buffer, dtype);
  }
  void* managed = NULL;
  bool is_versioned = true;
  const ExchangeTable* exchange = ExchangeOf(state, object);
  if (exchange) {
    TernManagedTensorVersioned* made = NULL;
    if (exchange->from_object(object, &made) != 0) return NULL;
    managed = made;
  } else if (HasArray(state, object)) {
    managed = TakeManaged(state, object, &is_versioned);
    if (!managed) return NULL;
  } else {
    PyObject* name = PyType_GetQualName(Py_TYPE(object));
    PyErr_Format(PyExc_TypeError,
                 "expected an array (tern.Tensor, numpy, or any with __dlpack__), got %U",
                 name ? name : state->name_dlpack);
    Py_XDECREF(name);
    return NULL;
  }
  int failed = is_versioned ? tern_tensor_from_dlpack_versioned(managed, &tensor)
                            : tern_tensor_from_dlpack(managed, &tensor);
  if (!failed) return tensor;
  RaiseLast(state);
  DeleteManaged(managed, is_versioned);
  return NULL;
}
