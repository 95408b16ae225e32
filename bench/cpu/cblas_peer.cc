// SPDX-License-Identifier: Apache-2.0
//
// tern_bench_cpu_cblas LIBRARY...: a library with the C interface of BLAS, the first that can be
// loaded; with MKL's functions for packed matrices where it has them.
#include <dlfcn.h>

#include <memory>

#include "bench/cpu/worker.h"

namespace tern::bench {
namespace {

constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112, kPacked = 151, kMatrixB = 162;

class Library {
 public:
  explicit Library(const std::vector<std::string>& paths) {
    std::string reasons;
    for (const std::string& path : paths) {
      handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_) return;
      reasons += std::string(reasons.empty() ? "" : "; ") + dlerror();
    }
    throw Unsupported(reasons.empty() ? "no library is named" : reasons);
  }
  // Null where there is no such function. OpenBLAS from PyPI has names of its own.
  template <class F>
  F* Find(const std::string& name) const {
    void* symbol = dlsym(handle_, name.c_str());
    if (!symbol) symbol = dlsym(handle_, ("scipy_" + name).c_str());
    return reinterpret_cast<F*>(symbol);
  }
  std::string Version() const {
    if (auto* config = Find<char*()>("openblas_get_config")) return config();
    if (auto* version = Find<const char*()>("bli_info_get_version_str")) return version();
    if (auto* version = Find<void(char*, int)>("MKL_Get_Version_String")) {
      char text[200] = {};
      version(text, sizeof(text) - 1);
      return text;
    }
    return "of unknown version";
  }

 private:
  void* handle_ = nullptr;
};

struct Sizes {
  explicit Sizes(const Case& the_case)
      : m(static_cast<int>(the_case.tensor("A").shape[0])),
        n(static_cast<int>(the_case.tensor("B").shape[1])),
        k(static_cast<int>(the_case.tensor("A").shape[1])) {}
  int m, n, k;
};

using Gemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                  float*, int);
using Gemv = void(int, int, int, int, float, const float*, int, const float*, int, float, float*,
                  int);
using PackSize = size_t(int, int, int, int);
using Pack = void(int, int, int, int, int, int, float, const float*, int, float*);
using Compute = void(int, int, int, int, int, int, const float*, int, const float*, int, float,
                     float*, int);

Variant Packed(const Library& library, const Sizes& s, const float* a, const float* b, float* c) {
  auto* pack = library.Find<Pack>("cblas_sgemm_pack");
  auto* compute = library.Find<Compute>("cblas_sgemm_compute");
  size_t bytes = library.Find<PackSize>("cblas_sgemm_pack_get_size")(kMatrixB, s.m, s.n, s.k);
  std::shared_ptr<float> packed(static_cast<float*>(Allocate(bytes)), std::free);
  pack(kRowMajor, kMatrixB, kNoTrans, s.m, s.n, s.k, 1, b, s.n, packed.get());
  return {"packed", [=] {
            compute(kRowMajor, kNoTrans, kPacked, s.m, s.n, s.k, a, s.k, packed.get(), s.n, 0, c,
                    s.n);
          }};
}

std::vector<Variant> Float32(const Library& library, const Case& the_case, const Buffers& buffers) {
  Sizes s(the_case);
  auto* a = buffers.Get<const float>("A");
  auto* b = buffers.Get<const float>("B");
  auto* c = buffers.Get<float>("C");
  auto* gemm = library.Find<Gemm>("cblas_sgemm");
  if (!gemm) throw Unsupported("no cblas_sgemm");
  std::vector<Variant> variants = {
      {"sgemm",
       [=] { gemm(kRowMajor, kNoTrans, kNoTrans, s.m, s.n, s.k, 1, a, s.k, b, s.n, 0, c, s.n); }}};
  auto* gemv = library.Find<Gemv>("cblas_sgemv");
  if (s.m == 1 && gemv)
    variants.push_back(
        {"sgemv", [=] { gemv(kRowMajor, kTrans, s.k, s.n, 1, b, s.n, a, 1, 0, c, 1); }});
  if (library.Find<Pack>("cblas_sgemm_pack")) variants.push_back(Packed(library, s, a, b, c));
  return variants;
}

using GemmU8S8 = void(int, int, int, int, int, int, int, float, const void*, int, int8_t,
                      const void*, int, int8_t, float, int32_t*, int, const int32_t*);

// MKL's: of a row-major product the unsigned operand is the first.
std::vector<Variant> Integers(const Library& library, const Case& the_case,
                              const Buffers& buffers) {
  constexpr int kFixOffset = 173;
  auto* gemm = library.Find<GemmU8S8>("cblas_gemm_s8u8s32");
  if (!gemm) throw Unsupported("no product of integers");
  Sizes s(the_case);
  auto* a = buffers.Get("A");
  auto* b = buffers.Get("B");
  auto* c = buffers.Get<int32_t>("C");
  static const int32_t kNothing = 0;
  return {{"gemm_s8u8s32", [=] {
             gemm(kRowMajor, kNoTrans, kNoTrans, kFixOffset, s.m, s.n, s.k, 1, a, s.k, 0, b, s.n, 0,
                  0, c, s.n, &kNothing);
           }}};
}

using GemmBf16 = void(int, int, int, int, int, int, float, const void*, int, const void*, int,
                      float, float*, int);

std::vector<Variant> Bfloat16(const Library& library, const Case& the_case,
                              const Buffers& buffers) {
  Sizes s(the_case);
  auto* a = buffers.Get("A");
  auto* b = buffers.Get("B");
  auto* c = buffers.Get<float>("C");
  std::vector<Variant> variants;
  for (const char* name : {"cblas_sbgemm", "cblas_gemm_bf16bf16f32"}) {
    if (auto* gemm = library.Find<GemmBf16>(name))
      variants.push_back({name, [=] {
                            gemm(kRowMajor, kNoTrans, kNoTrans, s.m, s.n, s.k, 1, a, s.k, b, s.n, 0,
                                 c, s.n);
                          }});
  }
  if (variants.empty()) throw Unsupported("no product of bfloat16");
  return variants;
}

std::vector<Variant> PrepareBlas(const Library& library, const Case& the_case,
                                 const Buffers& buffers) {
  if (the_case.kind() != "matmul") throw Unsupported("a BLAS has no " + the_case.kind());
  const std::string& dtype = the_case.tensor("A").dtype;
  if (dtype == "float32") return Float32(library, the_case, buffers);
  if (dtype == "uint8") return Integers(library, the_case, buffers);
  return Bfloat16(library, the_case, buffers);
}

}  // namespace
}  // namespace tern::bench

int main(int argc, char** argv) {
  using namespace tern::bench;
  std::unique_ptr<Library> library;
  return WorkerMain(
      [&] {
        library = std::make_unique<Library>(std::vector<std::string>(argv + 1, argv + argc));
        return library->Version();
      },
      [&](const Case& the_case, const Buffers& buffers) {
        return PrepareBlas(*library, the_case, buffers);
      });
}
