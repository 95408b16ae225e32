// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tern/ffi/registry.h"
#include "tern/runtime/plugin/plugin.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::extra {
namespace {

template <class T>
void MultipliesMatrices(const char* function) {
  runtime::LoadPlugin("extra");
  std::vector<T> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 2, 1, 0, 3}, c(4, T{7});
  auto multiply = [&] {
    ffi::GetGlobal(function)(static_cast<void*>(a.data()), static_cast<void*>(b.data()),
                             static_cast<void*>(c.data()), 2, 2, 3);
  };
  std::string error = runtime::ErrorOf(multiply);
  if (error.starts_with("no BLAS")) GTEST_SKIP() << error;
  EXPECT_EQ(error, "no error");
  EXPECT_EQ(c, (std::vector<T>{5, 11, 14, 23}));
}

TEST(Extra, MultipliesFloat32) { MultipliesMatrices<float>("extra.gemm_float32"); }
TEST(Extra, MultipliesFloat64) { MultipliesMatrices<double>("extra.gemm_float64"); }

TEST(Extra, ArgumentsAreChecked) {
  runtime::LoadPlugin("extra");
  ffi::Function gemm = ffi::GetGlobal("extra.gemm_float32");
  EXPECT_EQ(runtime::ErrorOf([&] { gemm(1, 2); }),
            "extra.gemm_float32: expected 6 arguments (A, B, C, n, m, k), got 2");
}

}  // namespace
}  // namespace tern::extra
