// SPDX-License-Identifier: Apache-2.0
#include "python/extension/extension.h"

typedef struct {
  PyObject_HEAD void* pointer;
  HandleKind kind;
  const TernCompilerApi* compiler;
} PyHandle;

static const char* const kNames[] = {"module", "model", "session", "source", "executable"};

PyObject* WrapHandle(const ModuleState* state, HandleKind kind, void* pointer) {
  PyHandle* self = PyObject_New(PyHandle, state->handle_type);
  if (!self) return NULL;
  self->pointer = pointer;
  self->kind = kind;
  self->compiler = state->compiler;
  return (PyObject*)self;
}

void* HandlePointer(const ModuleState* state, PyObject* object, HandleKind kind) {
  if (Py_TYPE(object) == state->handle_type && ((PyHandle*)object)->kind == kind)
    return ((PyHandle*)object)->pointer;
  PyErr_Format(PyExc_TypeError, "expected a handle of a %s", kNames[kind]);
  return NULL;
}

static void Free(PyHandle* self) {
  switch (self->kind) {
    case kHandleModule:
      tern_module_free(self->pointer);
      break;
    case kHandleModel:
      tern_model_free(self->pointer);
      break;
    case kHandleSession:
      tern_session_free(self->pointer);
      break;
    case kHandleSource:
      self->compiler->source_free(self->pointer);
      break;
    case kHandleExecutable:
      self->compiler->executable_free(self->pointer);
      break;
  }
}

static void Dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Free((PyHandle*)self);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject* Repr(PyObject* self) {
  return PyUnicode_FromFormat("<tern handle of a %s>", kNames[((PyHandle*)self)->kind]);
}

static PyType_Slot kSlots[] = {
    {Py_tp_dealloc, Dealloc},
    {Py_tp_repr, Repr},
    {0, NULL},
};

PyType_Spec kHandleSpec = {"tern._tern.Handle", sizeof(PyHandle), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kSlots};
