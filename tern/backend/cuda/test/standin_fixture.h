// SPDX-License-Identifier: Apache-2.0
//
// The stand-in's functions for tests, as a plugin would find them.
#ifndef TERN_BACKEND_CUDA_TEST_STANDIN_FIXTURE_H_
#define TERN_BACKEND_CUDA_TEST_STANDIN_FIXTURE_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tern/backend/cuda/common/nvrtc_abi.h"
#include "tern/backend/cuda/runtime/cuda_abi.h"

namespace tern::backend::cuda {

// Loaded by path: whoever asks for libcuda.so.1 by name afterwards gets this one.
inline void* OpenStandin(const char* name) {
  setenv("TERN_STANDIN_DEVICES", "2", 0);
  void* library = dlopen((std::string(TERN_STANDIN_DIRECTORY "/") + name).c_str(), RTLD_NOW);
  if (!library) ADD_FAILURE() << dlerror();
  return library;
}

template <class Function>
Function FindIn(const char* library, const char* symbol) {
  auto function = reinterpret_cast<Function>(dlsym(OpenStandin(library), symbol));
  EXPECT_NE(function, nullptr) << symbol;
  return function;
}

inline const cu::Functions& StandinDriver() {
  using namespace cu;
  static const cu::Functions functions = [] {
    cu::Functions found;
#define TERN_CUDA_FIND(name, symbol, ...) \
  found.name = FindIn<Result (*)(__VA_ARGS__)>("libcuda.so.1", symbol);
    TERN_CUDA_FUNCTIONS(TERN_CUDA_FIND)
    TERN_CUDA_OPTIONAL_FUNCTIONS(TERN_CUDA_FIND)
#undef TERN_CUDA_FIND
    return found;
  }();
  return functions;
}

inline const nvrtc::Functions& StandinNvrtc() {
  using namespace nvrtc;
  static const nvrtc::Functions functions = [] {
    nvrtc::Functions found;
#define TERN_NVRTC_FIND(name, symbol, ...) \
  found.name = FindIn<Result (*)(__VA_ARGS__)>("libnvrtc.so.13", symbol);
    TERN_NVRTC_FUNCTIONS(TERN_NVRTC_FIND)
#undef TERN_NVRTC_FIND
    return found;
  }();
  return functions;
}

// What the driver says of a result.
inline std::string TextOf(cu::Result result) {
  const char *name = nullptr, *text = nullptr;
  StandinDriver().GetErrorName(result, &name);
  StandinDriver().GetErrorString(result, &text);
  return result == 0 ? "" : std::string(name) + ": " + text;
}

struct Compiled {
  std::string code, log;
};

inline Compiled CompileCuda(const std::string& source,
                            std::vector<const char*> options = {"--gpu-architecture=sm_90",
                                                                "--fmad=false"}) {
  const nvrtc::Functions& rtc = StandinNvrtc();
  nvrtc::Program program = nullptr;
  EXPECT_EQ(rtc.CreateProgram(&program, source.c_str(), "test.cu", 0, nullptr, nullptr), 0);
  int result = rtc.CompileProgram(program, static_cast<int>(options.size()), options.data());
  Compiled compiled;
  size_t size = 0;
  rtc.GetProgramLogSize(program, &size);
  compiled.log.resize(size);
  rtc.GetProgramLog(program, compiled.log.data());
  if (result == 0) {
    rtc.GetCodeSize(program, &size);
    compiled.code.resize(size);
    rtc.GetCode(program, compiled.code.data());
  }
  rtc.DestroyProgram(&program);
  return compiled;
}

// Makes a map of memory.
using MapMaker = cu::Result (*)(cu::DevicePointer memory, cu::TensorMap* map);

// Runs kernel k(float* a) of one thread block, `a` of 256 bytes; with a map of it, k(a, map). The
// first number that it writes; what the driver says goes to `error`.
inline float RunKernel(const std::string& source, const char* arch, unsigned threads,
                       std::string* error, MapMaker make_map = nullptr) {
  const cu::Functions& driver = StandinDriver();
  cu::Context context = nullptr;
  cu::Module module = nullptr;
  cu::Function function = nullptr;
  cu::DevicePointer memory = 0;
  driver.Init(0);
  driver.PrimaryContextRetain(&context, 0);
  driver.ContextPush(context);
  Compiled compiled = CompileCuda(source, {arch, "--fmad=false"});
  if (compiled.code.empty()) std::fputs(compiled.log.c_str(), stderr);
  driver.ModuleLoadData(&module, compiled.code.data());
  driver.ModuleGetFunction(&function, module, "k");
  driver.MemAlloc(&memory, 256);
  cu::TensorMap map;
  if (make_map) make_map(memory, &map);
  void* args[] = {&memory, &map};
  cu::Result result =
      driver.LaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, nullptr, args, nullptr);
  if (result == 0) result = driver.StreamSynchronize(nullptr);
  *error = TextOf(result);
  float first = 0;
  if (result == 0) driver.MemcpyDtoH(&first, memory, sizeof first, nullptr);
  driver.StreamSynchronize(nullptr);
  driver.MemFree(memory);
  driver.ModuleUnload(module);
  driver.ContextPop(&context);
  return first;
}

// For a death test, as a kernel that fails ends its context: prints what the driver says.
[[noreturn]] inline void RunKernelAlone(const std::string& source, const char* arch,
                                        unsigned threads, MapMaker make_map = nullptr) {
  std::string error;
  RunKernel(source, arch, threads, &error, make_map);
  std::fputs(error.c_str(), stderr);
  std::_Exit(error.empty() ? 0 : 1);
}

// A context is current on device 0.
class StandinTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(driver().Init(0), 0);
    ASSERT_EQ(driver().PrimaryContextRetain(&context_, 0), 0);
    ASSERT_EQ(driver().ContextPush(context_), 0);
  }
  void TearDown() override {
    cu::Context popped = nullptr;
    EXPECT_EQ(driver().ContextPop(&popped), 0);
  }
  static const cu::Functions& driver() { return StandinDriver(); }

  static cu::Function Load(const std::string& source, const char* kernel, cu::Module* module) {
    Compiled compiled = CompileCuda(source);
    EXPECT_FALSE(compiled.code.empty()) << compiled.log;
    cu::Function function = nullptr;
    if (compiled.code.empty()) return function;
    EXPECT_EQ(TextOf(driver().ModuleLoadData(module, compiled.code.data())), "");
    EXPECT_EQ(TextOf(driver().ModuleGetFunction(&function, *module, kernel)), "");
    return function;
  }

  cu::Context context_ = nullptr;
};

// A line of a kernel that is left out, or what stands in its place, and what the stand-in says
// then.
struct Change {
  const char* name;
  const char* line;
  const char* instead;
  const char* message;
};

inline void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }
inline std::string NameOf(const testing::TestParamInfo<Change>& info) { return info.param.name; }

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_TEST_STANDIN_FIXTURE_H_
