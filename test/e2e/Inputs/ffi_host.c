/* SPDX-License-Identifier: Apache-2.0 */
/* A host of the TVM-FFI ABI: loads the library whose path is given and calls it as such hosts do,
   with a null handle and an empty result. The host's own library is loaded for itself alone. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  int32_t type_index;
  uint32_t zero;
  union {
    int64_t i;
    double f;
    void* p;
  } v;
} Any;
typedef struct {
  void* data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} Tensor;
typedef struct {
  uint64_t count;
  int32_t type_index;
  uint32_t zero;
  void* deleter;
  Tensor tensor;
} TensorObject;

enum { kRows = 37, kColumns = 64 };

int main(int argc, char** argv) {
  static float a[1 + kRows * kColumns], b[kRows * kColumns];
  int64_t shape[] = {kRows, kColumns};
  Tensor view = {a, 1, 0, 2, 2, 32, 1, shape, NULL, sizeof(float)};
  TensorObject object = {1, 70, 0, NULL, {b, 1, 0, 2, 2, 32, 1, shape, NULL, 0}};
  Any args[3] = {{7, 0, {0}}, {70, 0, {0}}, {1, 0, {2}}}, result = {0, 0, {0}};
  void* host = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
  const char* (*error)(void) = host ? (const char* (*)(void))dlsym(host, "fake_error") : NULL;
  void* library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
  int (*f)(void*, const Any*, int32_t, Any*);
  if (!library) return printf("%s\n", dlerror()), 1;
  *(void**)&f = dlsym(library, "__tvm_ffi_scale");
  if (!f) return printf("no entry\n"), 1;

  for (int i = 0; i < kRows * kColumns; ++i) a[1 + i] = (float)i / 8;
  args[0].v.p = &view;
  args[1].v.p = &object;
  printf("returned %d\n", f(NULL, args, 3, &result));
  for (int i = 0; i < kRows * kColumns; ++i)
    if (b[i] != (float)i / 4) return printf("b[%d] is %g\n", i, b[i]), 1;
  printf("right\n");

  a[1 + 20 * kColumns] = 5000;
  printf("returned %d\n", f(NULL, args, 3, &result));
  if (error) printf("%s\n", error());
  printf("returned %d\n", f(NULL, args, 2, &result));
  if (error) printf("%s\n", error());
  shape[1] = 63;
  printf("returned %d\n", f(NULL, args, 3, &result));
  if (error) printf("%s\n", error());
  args[1] = args[2];
  f(NULL, args, 3, &result);
  if (error) printf("%s\n", error());
  return 0;
}
