// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/codegen/bulk_copy_code.h"

#include <fmt/format.h>

namespace tern::backend::cuda {
namespace {

constexpr const char* kBarrier = "(unsigned int)__cvta_generic_to_shared(barrier)";

Helper Define(const std::string& name, const std::string& params, const std::string& body) {
  return {name, fmt::format("static __device__ __forceinline__ void {}({}) {{\n{}}}\n", name,
                            params, body)};
}

}  // namespace

Helper TensorMapHelper() {
  return {kTensorMapType,
          fmt::format("struct __align__(64) {} {{\n  unsigned long long words[16];\n}};\n",
                      kTensorMapType)};
}

Helper BulkCopyHelper(size_t axes) {
  std::string params = fmt::format("void* to, const {}* map", kTensorMapType), places, operands;
  for (size_t i = 0; i < axes; ++i) {
    params += fmt::format(", int c{}", i);
    places += fmt::format("{}%{}", i ? ", " : "", i + 2);
    operands += fmt::format(", \"r\"(c{})", i);
  }
  return Define(
      fmt::format("tern_bulk_copy_{}d", axes), params + ", unsigned long long* barrier",
      fmt::format("  asm volatile(\"cp.async.bulk.tensor.{}d.shared::cluster.global.mbarrier::"
                  "complete_tx::bytes [%0], [%1, {{{}}}], [%{}];\" : : "
                  "\"r\"((unsigned int)__cvta_generic_to_shared(to)), "
                  "\"l\"((unsigned long long)map){}, \"r\"({}) : \"memory\");\n",
                  axes, places, axes + 2, operands, kBarrier));
}

Helper BarrierInitHelper() {
  return Define("tern_barrier_init", "unsigned long long* barrier, int count",
                fmt::format("  asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" : : "
                            "\"r\"({}), \"r\"(count) : \"memory\");\n"
                            "  asm volatile(\"fence.mbarrier_init.release.cluster;\" : : : "
                            "\"memory\");\n",
                            kBarrier));
}

Helper BarrierExpectHelper() {
  return Define("tern_barrier_expect", "unsigned long long* barrier, int bytes",
                fmt::format("  asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], "
                            "%1;\" : : \"r\"({}), \"r\"(bytes) : \"memory\");\n",
                            kBarrier));
}

Helper BarrierArriveHelper() {
  return Define("tern_barrier_arrive", "unsigned long long* barrier",
                fmt::format("  asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];\" : : "
                            "\"r\"({}) : \"memory\");\n",
                            kBarrier));
}

Helper BarrierWaitHelper() {
  return Define(
      "tern_barrier_wait", "unsigned long long* barrier, int parity",
      fmt::format("  unsigned int done;\n"
                  "  do {{\n"
                  "    asm volatile(\"{{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, "
                  "[%1], %2; selp.u32 %0, 1, 0, p; }}\" : \"=r\"(done) : \"r\"({}), "
                  "\"r\"(parity) : \"memory\");\n"
                  "  }} while (!done);\n",
                  kBarrier));
}

Helper RegistersHelper(int64_t registers, bool is_more) {
  return Define(
      fmt::format("tern_registers_{}", registers), "",
      fmt::format("  asm volatile(\"setmaxnreg.{}.sync.aligned.u32 {};\" : : : \"memory\");\n",
                  is_more ? "inc" : "dec", registers));
}

}  // namespace tern::backend::cuda
