// SPDX-License-Identifier: Apache-2.0
//
// The compiler, which is a library of its own: it is opened when it is needed first, and may not be
// there at all.
#include <dlfcn.h>

#include "python/extension/extension.h"

// open_compiler(path)
static PyObject* OpenCompiler(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  const char* path;
  if (!PyArg_ParseTuple(args, "s:open_compiler", &path)) return NULL;
  const char* why = NULL;
  void* found = NULL;
  Py_BEGIN_ALLOW_THREADS void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library) found = dlsym(library, "tern_compiler_api");
  if (!found) why = dlerror();
  Py_END_ALLOW_THREADS if (!found) {
    PyErr_Format(PyExc_OSError, "the compiler cannot be opened: %s", why ? why : path);
    return NULL;
  }
  const TernCompilerApi* (*get)(void);
  *(void**)&get = found;
  const TernCompilerApi* api = get();
  if (api->size < sizeof(TernCompilerApi)) {
    PyErr_Format(PyExc_OSError, "%s is older than this package", path);
    return NULL;
  }
  state->compiler = api;
  Py_RETURN_NONE;
}

static const TernCompilerApi* Compiler(const ModuleState* state) {
  if (!state->compiler) PyErr_SetString(PyExc_RuntimeError, "the compiler is not open");
  return state->compiler;
}

static PyObject* Source(ModuleState* state, int failed, TernSource* source) {
  return failed ? RaiseLast(state) : WrapHandle(state, kHandleSource, source);
}

static PyObject* ReadSource(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  const char *path, *options;
  const TernCompilerApi* compiler = Compiler(state);
  if (!compiler || !PyArg_ParseTuple(args, "ss:read_source", &path, &options)) return NULL;
  TernSource* source = NULL;
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = compiler->source_read(path, options, &source);
  Py_END_ALLOW_THREADS return Source(state, failed, source);
}

static PyObject* ParseSource(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  const char *text, *name;
  Py_ssize_t size;
  const TernCompilerApi* compiler = Compiler(state);
  if (!compiler || !PyArg_ParseTuple(args, "s#s:parse_source", &text, &size, &name)) return NULL;
  TernSource* source = NULL;
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = compiler->source_parse(text, (uint64_t)size, name, &source);
  Py_END_ALLOW_THREADS return Source(state, failed, source);
}

static PyObject* ParseOnnx(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  Py_buffer bytes;
  const char *name, *options;
  const TernCompilerApi* compiler = Compiler(state);
  if (!compiler || !PyArg_ParseTuple(args, "y*ss:parse_onnx", &bytes, &name, &options)) return NULL;
  TernSource* source = NULL;
  int failed;
  Py_BEGIN_ALLOW_THREADS failed =
      compiler->source_parse_onnx(bytes.buf, (uint64_t)bytes.len, name, options, &source);
  Py_END_ALLOW_THREADS PyBuffer_Release(&bytes);
  return Source(state, failed, source);
}

static PyObject* IsModel(PyObject* module, PyObject* handle) {
  ModuleState* state = StateOf(module);
  const TernCompilerApi* compiler = Compiler(state);
  TernSource* source = compiler ? HandlePointer(state, handle, kHandleSource) : NULL;
  int32_t is_model = 0;
  if (!source) return NULL;
  if (compiler->source_is_model(source, &is_model) < 0) return RaiseLast(state);
  return PyBool_FromLong(is_model);
}

// print_source(source, passes or None)
static PyObject* PrintSource(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  const TernCompilerApi* compiler = Compiler(state);
  PyObject* handle;
  const char* passes;
  if (!compiler || !PyArg_ParseTuple(args, "Oz:print_source", &handle, &passes)) return NULL;
  TernSource* source = HandlePointer(state, handle, kHandleSource);
  if (!source) return NULL;
  TernAny text = {0};
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = compiler->source_print(source, passes, &text);
  Py_END_ALLOW_THREADS return failed ? RaiseLast(state) : TakeText(&text);
}

static PyObject* Compile(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  const TernCompilerApi* compiler = Compiler(state);
  PyObject* handle;
  const char* options;
  if (!compiler || !PyArg_ParseTuple(args, "Os:compile", &handle, &options)) return NULL;
  TernSource* source = HandlePointer(state, handle, kHandleSource);
  if (!source) return NULL;
  TernExecutable* executable = NULL;
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = compiler->compile(source, options, &executable);
  Py_END_ALLOW_THREADS return failed ? RaiseLast(state)
                                     : WrapHandle(state, kHandleExecutable, executable);
}

static PyObject* Save(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  const TernCompilerApi* compiler = Compiler(state);
  PyObject* handle;
  const char *path, *options;
  if (!compiler || !PyArg_ParseTuple(args, "Oss:save", &handle, &path, &options)) return NULL;
  TernExecutable* executable = HandlePointer(state, handle, kHandleExecutable);
  if (!executable) return NULL;
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = compiler->executable_save(executable, path, options);
  Py_END_ALLOW_THREADS if (failed) return RaiseLast(state);
  Py_RETURN_NONE;
}

static PyObject* ModuleHere(PyObject* module, PyObject* handle) {
  ModuleState* state = StateOf(module);
  const TernCompilerApi* compiler = Compiler(state);
  TernExecutable* executable = compiler ? HandlePointer(state, handle, kHandleExecutable) : NULL;
  if (!executable) return NULL;
  TernModule* loaded = NULL;
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = compiler->executable_module(executable, &loaded);
  Py_END_ALLOW_THREADS return failed ? RaiseLast(state) : WrapHandle(state, kHandleModule, loaded);
}

static PyObject* ModelHere(PyObject* module, PyObject* handle) {
  ModuleState* state = StateOf(module);
  const TernCompilerApi* compiler = Compiler(state);
  TernExecutable* executable = compiler ? HandlePointer(state, handle, kHandleExecutable) : NULL;
  if (!executable) return NULL;
  TernModel* model = NULL;
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = compiler->executable_model(executable, &model);
  Py_END_ALLOW_THREADS return failed ? RaiseLast(state) : WrapHandle(state, kHandleModel, model);
}

static PyObject* SourceText(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  const TernCompilerApi* compiler = Compiler(state);
  PyObject* handle;
  const char* format;
  if (!compiler || !PyArg_ParseTuple(args, "Os:source_text", &handle, &format)) return NULL;
  TernExecutable* executable = HandlePointer(state, handle, kHandleExecutable);
  if (!executable) return NULL;
  TernAny text = {0};
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = compiler->executable_source(executable, format, &text);
  Py_END_ALLOW_THREADS return failed ? RaiseLast(state) : TakeText(&text);
}

static PyObject* Explain(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  const TernCompilerApi* compiler = Compiler(state);
  PyObject* handle;
  const char *name, *options;
  if (!compiler || !PyArg_ParseTuple(args, "Oss:explain", &handle, &name, &options)) return NULL;
  TernSource* source = HandlePointer(state, handle, kHandleSource);
  if (!source) return NULL;
  TernAny text = {0};
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = compiler->explain(source, name, options, &text);
  Py_END_ALLOW_THREADS return failed ? RaiseLast(state) : TakeText(&text);
}

static PyObject* Targets(PyObject* module, PyObject* unused) {
  (void)unused;
  ModuleState* state = StateOf(module);
  const TernCompilerApi* compiler = Compiler(state);
  if (!compiler) return NULL;
  TernAny json = {0};
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = compiler->targets(&json);
  Py_END_ALLOW_THREADS return failed ? RaiseLast(state) : TakeText(&json);
}

static PyObject* LoadCodegen(PyObject* module, PyObject* args) {
  ModuleState* state = StateOf(module);
  const TernCompilerApi* compiler = Compiler(state);
  const char* name;
  if (!compiler || !PyArg_ParseTuple(args, "s:load_codegen", &name)) return NULL;
  if (compiler->codegen_load(name) < 0) return RaiseLast(state);
  Py_RETURN_NONE;
}

PyMethodDef kCompilerMethods[] = {
    {"open_compiler", OpenCompiler, METH_VARARGS, NULL},
    {"read_source", ReadSource, METH_VARARGS, NULL},
    {"parse_source", ParseSource, METH_VARARGS, NULL},
    {"parse_onnx", ParseOnnx, METH_VARARGS, NULL},
    {"is_model", IsModel, METH_O, NULL},
    {"print_source", PrintSource, METH_VARARGS, NULL},
    {"compile", Compile, METH_VARARGS, NULL},
    {"save", Save, METH_VARARGS, NULL},
    {"module_here", ModuleHere, METH_O, NULL},
    {"model_here", ModelHere, METH_O, NULL},
    {"source_text", SourceText, METH_VARARGS, NULL},
    {"explain", Explain, METH_VARARGS, NULL},
    {"targets", Targets, METH_NOARGS, NULL},
    {"load_codegen", LoadCodegen, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
