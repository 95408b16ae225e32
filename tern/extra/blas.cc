// SPDX-License-Identifier: Apache-2.0
#include "tern/extra/blas.h"

#include <dlfcn.h>

#include <limits>

#include "tern/runtime/plugin_sdk.h"

namespace tern::extra {
namespace {

using plugin::Guard;

// CBLAS's codes.
constexpr int kRowMajor = 101, kNoTranspose = 111;

template <class T>
using Gemm = void (*)(int order, int transpose_a, int transpose_b, int n, int m, int k, T alpha,
                      const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);

// In the order of preference. Never closed.
constexpr const char* kLibraries[] = {"libopenblas.so.0", "libblis.so.4", "libcblas.so.3",
                                      "libblas.so.3"};

void* FindFunction(const char* name) {
  std::string tried;
  for (const char* library : kLibraries) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle)
      if (void* function = dlsym(handle, name)) return function;
    tried += (tried.empty() ? "" : ", ") + std::string(library);
  }
  TERN_THROW(RuntimeError) << "no BLAS with " << name << " was found: tried " << tried;
}

int Extent(const char* function, const TernAny& value) {
  if (value.type_index != kTernInt || value.v_int < 0 ||
      value.v_int > std::numeric_limits<int>::max())
    TERN_THROW(ValueError) << function << ": an extent is not an integer of 0 to "
                           << std::numeric_limits<int>::max();
  return static_cast<int>(value.v_int);
}

template <class T>
T* Address(const char* function, const TernAny& value) {
  if (value.type_index != kTernOpaquePtr)
    TERN_THROW(TypeError) << function << ": a matrix is not an address";
  return static_cast<T*>(value.v_ptr);
}

template <class T>
void Multiply(const char* function, Gemm<T> gemm, const TernAny* args, T beta = 0) {
  const T *a = Address<T>(function, args[0]), *b = Address<T>(function, args[1]);
  T* c = Address<T>(function, args[2]);
  int n = Extent(function, args[3]), m = Extent(function, args[4]), k = Extent(function, args[5]);
  if (n == 0 || m == 0) return;
  // BLAS wants strides of 1 at least.
  gemm(kRowMajor, kNoTranspose, kNoTranspose, n, m, k, T{1}, a, k > 0 ? k : 1, b, m, beta, c, m);
}

void CheckCount(const char* function, int32_t num_args) {
  if (num_args != 6)
    TERN_THROW(TypeError) << function << ": expected 6 arguments (A, B, C, n, m, k), got "
                          << num_args;
}

}  // namespace

int GemmFloat32(void*, const TernAny* args, int32_t num_args, TernAny*) {
  return Guard([&] {
    CheckCount("extra.gemm_float32", num_args);
    static const auto gemm = reinterpret_cast<Gemm<float>>(FindFunction("cblas_sgemm"));
    Multiply("extra.gemm_float32", gemm, args);
  });
}

int GemmAddFloat32(void*, const TernAny* args, int32_t num_args, TernAny*) {
  return Guard([&] {
    CheckCount("extra.gemm_add_float32", num_args);
    static const auto gemm = reinterpret_cast<Gemm<float>>(FindFunction("cblas_sgemm"));
    Multiply("extra.gemm_add_float32", gemm, args, 1.0f);
  });
}

int GemmFloat64(void*, const TernAny* args, int32_t num_args, TernAny*) {
  return Guard([&] {
    CheckCount("extra.gemm_float64", num_args);
    static const auto gemm = reinterpret_cast<Gemm<double>>(FindFunction("cblas_dgemm"));
    Multiply("extra.gemm_float64", gemm, args);
  });
}

}  // namespace tern::extra
