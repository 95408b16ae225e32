// SPDX-License-Identifier: Apache-2.0
// call_from_c FILE DEVICE: adds two vectors by the function `add` of a compiled file, through the C
// API alone.
#include <stdio.h>
#include <string.h>

#include "tern/runtime/c_api.h"

#define N 5

static int Fail(const char* what) {
  printf("%s: %s\n", what, tern_last_error());
  return 1;
}

static TernAny TensorArg(TernTensorView* view, void* data, int64_t* shape, TernDevice device) {
  TernAny arg;
  memset(view, 0, sizeof(*view));
  memset(&arg, 0, sizeof(arg));
  view->data = data;
  view->device = device;
  view->ndim = 1;
  view->dtype.code = kTernTypeFloat;
  view->dtype.bits = 32;
  view->dtype.lanes = 1;
  view->shape = shape;
  arg.type_index = kTernTensorView;
  arg.v_tensor = view;
  return arg;
}

int main(int argc, char** argv) {
  const TernDevice host = {kTernDeviceCpu, 0};
  float values[3][N] = {{1, 2, 3, 4, 5}, {10, 20, 30, 40, 50}, {0}};
  int64_t shape = N, shorter = N - 1;
  TernModule* module = NULL;
  TernObject* add = NULL;
  TernDevice device;
  TernTensorView views[3];
  TernAny args[3], result;
  void* memory[3];
  int i;
  if (argc != 3) return 2;
  printf("version %s\n", tern_version());
  if (tern_module_load("nowhere.so", &module) == -1) printf("refused: %s\n", tern_last_error());
  if (tern_device_find("nosuch", 0, &device) == -1) printf("no device: %s\n", tern_last_error());
  if (tern_module_load(argv[1], &module) != 0) return Fail("load");
  if (tern_module_get_function(module, "sub", &add) == -1)
    printf("no function: %s\n", tern_last_error());
  if (tern_module_get_function(module, "add", &add) != 0) return Fail("get_function");
  tern_module_free(module);  // the function keeps what it needs
  if (tern_device_find(argv[2], 0, &device) != 0) return Fail("device_find");
  for (i = 0; i < 3; ++i) {
    if (tern_device_alloc(device, sizeof(values[i]), 64, &memory[i]) != 0) return Fail("alloc");
    if (tern_device_copy(memory[i], device, values[i], host, sizeof(values[i])) != 0)
      return Fail("copy");
    args[i] = TensorArg(&views[i], memory[i], &shape, device);
  }
  if (tern_function_call(add, args, 3, &result) != 0) return Fail("call");
  printf("result of type %d\n", (int)result.type_index);
  if (tern_device_synchronize(device) != 0) return Fail("synchronize");
  if (tern_device_copy(values[2], host, memory[2], device, sizeof(values[2])) != 0)
    return Fail("copy");
  printf("sum:");
  for (i = 0; i < N; ++i) printf(" %g", values[2][i]);
  views[1].shape = &shorter;
  if (tern_function_call(add, args, 3, NULL) == -1)
    printf("\nwrong shape: %s\n", tern_last_error());
  for (i = 0; i < 3; ++i)
    if (tern_device_free(device, memory[i]) != 0) return Fail("free");
  tern_object_release(add);
  return 0;
}
