// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/c_plain.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tern/backend/cpu/codegen/c_compiler.h"
#include "tern/codegen/linkable_module.h"
#include "tern/codegen/temporary_directory.h"
#include "tern/compile.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/tir/text.h"

namespace tern::backend::cpu {
namespace {

ffi::Module CompilePlain(const std::string& text) {
  Initialize();
  return Compile(tir::ParseModule("test.tir", text), target::Target::Parse("c -api=plain"));
}

// The function of a module, compiled without a warning, with `flags`.
class LoadedFunction {
 public:
  LoadedFunction(const ffi::Module& module, const std::string& name, const std::string& flags) {
    CCompiler compiler("cc -pedantic -Wall -Wextra -Werror " + flags);
    runtime::WriteFile(directory_.File("m.so"),
                       compiler.MakeSharedObject({module->InspectSource("c")}, ""));
    library_ = dlopen(directory_.File("m.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    TERN_CHECK(library_) << dlerror();
    entry_ = dlsym(library_, name.c_str());
    TERN_CHECK(entry_) << name;
  }
  ~LoadedFunction() { dlclose(library_); }
  LoadedFunction(const LoadedFunction&) = delete;

  template <class... Args>
  int32_t operator()(Args... args) const {
    return reinterpret_cast<int32_t (*)(Args...)>(entry_)(args...);
  }

 private:
  codegen::TemporaryDirectory directory_;
  void *library_, *entry_;
};

// Numbers of every exponent, with mantissas all over, and what is special.
template <class T, class Bits>
std::vector<T> SampleNumbers(int mantissa_bits) {
  std::vector<T> samples = {0,
                            -T(0),
                            1,
                            2,
                            4,
                            T(0.25),
                            -1,
                            std::numeric_limits<T>::infinity(),
                            -std::numeric_limits<T>::infinity(),
                            std::numeric_limits<T>::max(),
                            std::numeric_limits<T>::denorm_min(),
                            std::numeric_limits<T>::quiet_NaN()};
  uint64_t state = 1;
  for (Bits exponent = 0; exponent < (sizeof(T) == 4 ? 255u : 2047u); ++exponent)
    for (int i = 0; i < 40; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      Bits mantissa = static_cast<Bits>(state >> (64 - mantissa_bits));
      samples.push_back(std::bit_cast<T>(static_cast<Bits>(exponent << mantissa_bits | mantissa)));
    }
  return samples;
}

template <class T, class Bits>
void CheckSquareRoot(const std::string& dtype, int mantissa_bits, const std::string& flags) {
  ffi::Module module = CompilePlain("func roots(A: " + dtype + "[n], B: " + dtype +
                                    "[n]) {\n  for i in 0..n {\n    B[i] = sqrt(A[i])\n  }\n}\n");
  LoadedFunction roots(module, "roots", flags);
  std::vector<T> in = SampleNumbers<T, Bits>(mantissa_bits), out(in.size());
  ASSERT_EQ(roots(in.data(), out.data(), static_cast<int64_t>(in.size())), 0);
  for (size_t i = 0; i < in.size(); ++i) {
    T expected = std::sqrt(in[i]);
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(out[i])) << in[i];
    else
      ASSERT_EQ(std::bit_cast<Bits>(out[i]), std::bit_cast<Bits>(expected)) << in[i];
  }
}

TEST(CPlain, SquareRootsAreRoundedRightWithAndWithoutAnInstruction) {
  for (const char* flags : {"", "-U__SSE2__ -U__aarch64__ -U__ARM_FP"}) {
    CheckSquareRoot<float, uint32_t>("float32", 23, flags);
    CheckSquareRoot<double, uint64_t>("float64", 52, flags);
  }
}

// The memory is used as one type, then as another.
TEST(CPlain, FunctionsShareTheirTemporaryMemory) {
  ffi::Module module = CompilePlain(R"(
func first(A: float32[2000], B: float32[2000]) {
  alloc t: float32[2000]
  for i in 0..2000 {
    t[i] = A[i] * 2.0
  }
  for i in 0..2000 {
    B[i] = t[1999 - i]
  }
}

func second(A: int64[3000], B: int64[3000]) {
  alloc t: int64[3000]
  for i in 0..3000 {
    t[i] = A[i] + 1
  }
  for i in 0..3000 {
    B[i] = t[2999 - i]
  }
}
)");
  std::string source = module->InspectSource("c");
  EXPECT_NE(source.find("static uint8_t tern_workspace[24000] "), std::string::npos) << source;
  EXPECT_EQ(source.find("malloc"), std::string::npos);
  std::vector<float> a(2000, 3), b(2000);
  std::vector<int64_t> c(3000, 4), d(3000);
  EXPECT_EQ(LoadedFunction(module, "first", "")(a.data(), b.data()), 0);
  EXPECT_EQ(b, std::vector<float>(2000, 6));
  EXPECT_EQ(LoadedFunction(module, "second", "")(c.data(), d.data()), 0);
  EXPECT_EQ(d, std::vector<int64_t>(3000, 5));
}

TEST(CPlain, ModulesAreNoLibrariesOfTheRuntime) {
  ffi::Module module = CompilePlain("func f(A: float32[n]) {\n  A[0] = 1.0\n}\n");
  const auto& linkable = dynamic_cast<const codegen::LinkableModule&>(*module);
  EXPECT_FALSE(linkable.is_packed());
  EXPECT_EQ(linkable.SymbolOf("f"), "f");
  EXPECT_EQ(linkable.DeclarationOf("f"), "int32_t f(float* A, int64_t n);");
  EXPECT_THROW(linkable.LinkSharedObject(""), Error);
}

}  // namespace
}  // namespace tern::backend::cpu
