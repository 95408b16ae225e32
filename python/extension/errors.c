// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "python/extension/extension.h"

PyObject* RaiseLast(const ModuleState* state) {
  const char* kind = tern_last_error_kind();
  const char* text = tern_last_error();
  // "ValueError: ...": the class says the kind.
  size_t length = strlen(kind);
  if (length > 0 && strncmp(text, kind, length) == 0 && strncmp(text + length, ": ", 2) == 0)
    text += length + 2;
  // What a foreign file or name says may be no UTF-8.
  PyObject* message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
  if (!message) return NULL;
  PyObject* type = NULL;
  if (state->error_types) type = PyDict_GetItemString(state->error_types, kind);
  if (!type) type = state->default_error;
  if (!type) type = PyExc_RuntimeError;
  PyErr_SetObject(type, message);
  Py_DECREF(message);
  return NULL;
}

void RaiseAsOwn(const ModuleState* state) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const char* kind = type == PyExc_TypeError     ? "TypeError"
                     : type == PyExc_ValueError  ? "ValueError"
                     : type == PyExc_BufferError ? "ValueError"
                                                 : NULL;
  PyObject* own =
      kind && state->error_types ? PyDict_GetItemString(state->error_types, kind) : NULL;
  PyObject* text = own && value ? PyObject_Str(value) : NULL;
  if (!text) {
    PyErr_Restore(type, value, trace);
    return;
  }
  PyErr_SetObject(own, text);
  Py_DECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

PyObject* TakeText(TernAny* value) {
  const char* data = "";
  uint64_t size = 0;
  tern_chars_get(value, &data, &size);
  PyObject* text = PyUnicode_DecodeUTF8(data, (Py_ssize_t)size, "backslashreplace");
  tern_value_release(value);
  return text;
}
