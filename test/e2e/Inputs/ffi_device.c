/* SPDX-License-Identifier: Apache-2.0 */
/* A host of the TVM-FFI ABI whose tensors are on a device: host LIBRARY LIBTVM_FFI DEVICE_TYPE
   [RUNTIME]. The device's memory is had through Tern's runtime; without it, any address is an
   argument. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "tern/runtime/c_api.h"

enum { kCount = 33 };

static const char* (*last_error)(void);

static void* find(void* library, const char* name) {
  void* symbol = library ? dlsym(library, name) : NULL;
  if (symbol) return symbol;
  printf("no %s\n", name);
  exit(1);
}

static int call(void* library, const char* name, TernTensorView* a, TernTensorView* b) {
  TernAny args[2] = {{7, 0, {0}}, {7, 0, {0}}}, result = {0, 0, {0}};
  TernSafeCall f;
  int code;
  *(void**)&f = find(library, name);
  args[0].v_tensor = a;
  args[1].v_tensor = b;
  code = f(NULL, args, b ? 2 : 1, &result);
  if (code) printf("%s\n", last_error());
  return code;
}

int main(int argc, char** argv) {
  void* host = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  void* runtime = argc > 4 ? dlopen(argv[4], RTLD_NOW | RTLD_LOCAL) : NULL;
  void* library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
  static float numbers[kCount];
  int64_t shape[] = {kCount};
  TernDevice device = {atoi(argv[3]), 0}, cpu = {kTernDeviceCpu, 0};
  TernTensorView a = {numbers, device, 1, {kTernTypeFloat, 32, 1}, shape, NULL, 0};
  TernTensorView b = a;
  int (*alloc)(TernDevice, uint64_t, uint64_t, void**);
  int (*copy)(void*, TernDevice, const void*, TernDevice, uint64_t);
  int (*free_memory)(TernDevice, void*);
  *(void**)&last_error = find(host, "fake_error");
  b.data = numbers + 1;
  if (!runtime) {
    call(library, "__tvm_ffi_twice", &a, &b);
    call(library, "__tvm_ffi_missing", &a, NULL);
    return 0;
  }

  *(void**)&alloc = find(runtime, "tern_device_alloc");
  *(void**)&copy = find(runtime, "tern_device_copy");
  *(void**)&free_memory = find(runtime, "tern_device_free");
  if (alloc(device, sizeof numbers, 64, &a.data) || alloc(device, sizeof numbers, 64, &b.data))
    return printf("no memory\n"), 1;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kCount; ++i) numbers[i] = (float)(i + round);
    copy(a.data, device, numbers, cpu, sizeof numbers);
    if (call(library, "__tvm_ffi_twice", &a, &b)) return 1;
    copy(numbers, cpu, b.data, device, sizeof numbers);
    for (int i = 0; i < kCount; ++i)
      if (numbers[i] != 2 * (float)(kCount - i + round))
        return printf("B[%d] is %g\n", i, numbers[i]), 1;
  }
  printf("right\n");
  call(library, "__tvm_ffi_missing", &a, NULL);
  free_memory(device, a.data);
  free_memory(device, b.data);
  return 0;
}
