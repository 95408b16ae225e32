// SPDX-License-Identifier: Apache-2.0
//
// tern._tern: the C API of the runtime and of the compiler as Python sees it. The package's modules
// in Python are what people use; here is what has to be fast, or has to be C.
//
// Written to the limited API of Python 3.12, so that one file serves all later versions; Python
// 3.11, and builds without the GIL, compile it to the full one.
#ifndef PYTHON_EXTENSION_EXTENSION_H_
#define PYTHON_EXTENSION_EXTENSION_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include "tern/c_api_compile.h"
#include "tern/runtime/c_api.h"

#if PY_VERSION_HEX < 0x030c0000
#include <structmember.h>
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_READONLY READONLY
#endif

typedef struct {
  PyTypeObject* tensor_type;
  PyTypeObject* function_type;
  PyTypeObject* handle_type;
  PyObject* error_types;  // kind -> class; what is not there is default_error
  PyObject* default_error;
  PyObject* to_numpy;  // of tern._arrays, or NULL until it is needed
  PyObject *name_exchange, *name_dlpack, *name_dlpack_device, *name_max_version, *name_stream;
  PyObject* max_version;  // (1, 1)
  const TernCompilerApi* compiler;
} ModuleState;

ModuleState* StateOf(PyObject* module);

// ---- errors.c

// Raises what tern_last_error says. Returns NULL.
PyObject* RaiseLast(const ModuleState* state);
// Makes a TypeError or ValueError that was raised here one of Tern's.
void RaiseAsOwn(const ModuleState* state);
// The text of an owned value, which is released.
PyObject* TakeText(TernAny* value);

// ---- dtypes.c

// "float32"; "" where there is no such type in Python.
const char* DTypeName(TernDType dtype);
// Returns -1 with a TypeError that lists the legal names.
int DTypeFrom(const char* name, TernDType* dtype);
// The format of the buffer protocol, or NULL.
const char* FormatOf(TernDType dtype);
// Returns 0 where no type has the format.
int DTypeFromFormat(const char* format, Py_ssize_t item_bytes, TernDType* dtype);

// ---- arrays.c

enum { kMostAxes = 16 };

// An array of any library as a view, for the time of a call.
typedef struct {
  TernTensorView view;
  enum { kOwnerNone, kOwnerBuffer, kOwnerManaged, kOwnerVersioned } owner;
  Py_buffer buffer;
  void* managed;
  int64_t strides[kMostAxes];
  bool has_stream;  // of the library that the array is of
  void* stream;
} BorrowedArray;

// Returns 1; 0 where the object is no array; -1 with an error. `is_written`: a read-only array is
// an error.
int BorrowArray(ModuleState* state, PyObject* object, bool is_written, BorrowedArray* array);
void ReturnArray(BorrowedArray* array);
// A tensor of the runtime that has the array's memory, and keeps the array. Returns NULL with an
// error; a TypeError where the object is no array.
TernObject* TensorFromArray(ModuleState* state, PyObject* object);

// ---- tensor.c

typedef struct {
  PyObject_HEAD TernObject* object;
  TernTensorView* view;
} PyTensor;

extern PyType_Spec kTensorSpec;
// Takes the object over, also where it fails.
PyObject* WrapTensor(const ModuleState* state, TernObject* object);
// A value to Python; it is released.
PyObject* TakeValue(const ModuleState* state, TernAny* value);

// ---- function.c

extern PyType_Spec kFunctionSpec;
PyObject* MakeFunction(PyObject* module, PyObject* args);

// ---- handles.c

// A pointer of the C API that Python owns.
typedef enum {
  kHandleModule,
  kHandleModel,
  kHandleSession,
  kHandleSource,
  kHandleExecutable
} HandleKind;

extern PyType_Spec kHandleSpec;
PyObject* WrapHandle(const ModuleState* state, HandleKind kind, void* pointer);
// NULL with a TypeError where it is none of that kind.
void* HandlePointer(const ModuleState* state, PyObject* object, HandleKind kind);

// ---- sessions.c, compiler.c

extern PyMethodDef kSessionMethods[];
extern PyMethodDef kCompilerMethods[];

#endif  // PYTHON_EXTENSION_EXTENSION_H_
