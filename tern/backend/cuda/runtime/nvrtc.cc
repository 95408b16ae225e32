// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/runtime/nvrtc.h"

#include <dlfcn.h>

#include <iterator>
#include <memory>

#include "tern/backend/cuda/runtime/cuda_abi.h"
#include "tern/runtime/plugin_sdk.h"

namespace tern::cuda {
namespace {

constexpr const char* kLibraries[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                      "libnvrtc.so"};

nvrtc::Functions Open() {
  void* library = nullptr;
  std::string tried;
  for (const char* name : kLibraries) {
    tried += std::string(tried.empty() ? "" : ", ") + name;
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library) break;
  }
  if (!library)
    TERN_THROW(RuntimeError)
        << "CUDA C++ is compiled where it runs, and NVRTC is not there: none of " << tried
        << " can be opened";
  nvrtc::Functions functions;
#define TERN_NVRTC_FIND(name, symbol, ...)                                                   \
  functions.name = reinterpret_cast<nvrtc::Result (*)(__VA_ARGS__)>(dlsym(library, symbol)); \
  if (!functions.name) TERN_THROW(RuntimeError) << "NVRTC has no function " << symbol;
  using namespace nvrtc;
  TERN_NVRTC_FUNCTIONS(TERN_NVRTC_FIND)
#undef TERN_NVRTC_FIND
  return functions;
}

const nvrtc::Functions& Nvrtc() {
  // If it throws, the next use tries again.
  static const nvrtc::Functions functions = Open();
  return functions;
}

void Check(nvrtc::Result result, const char* call) {
  if (result != 0) TERN_THROW(RuntimeError) << call << " failed: error " << result << " of NVRTC";
}

}  // namespace

std::string CompileSource(const std::string& source, const std::string& architecture) {
  const nvrtc::Functions& functions = Nvrtc();
  nvrtc::Program program = nullptr;
  Check(functions.CreateProgram(&program, source.c_str(), "tern.cu", 0, nullptr, nullptr),
        "nvrtcCreateProgram");
  auto destroy = [&](nvrtc::Program* held) { functions.DestroyProgram(held); };
  std::unique_ptr<nvrtc::Program, decltype(destroy)> guard(&program, destroy);
  std::string arch = "--gpu-architecture=" + architecture;
  const char* options[] = {arch.c_str(), "--fmad=false", "--std=c++17", "-default-device"};
  if (functions.CompileProgram(program, std::size(options), options) != 0) {
    size_t size = 0;
    Check(functions.GetProgramLogSize(program, &size), "nvrtcGetProgramLogSize");
    std::string log(size, '\0');
    Check(functions.GetProgramLog(program, log.data()), "nvrtcGetProgramLog");
    TERN_THROW(RuntimeError) << "NVRTC does not compile the program for " << architecture << ":\n"
                             << log.c_str();
  }
  size_t size = 0;
  Check(functions.GetCodeSize(program, &size), "nvrtcGetCUBINSize");
  std::string code(size, '\0');
  Check(functions.GetCode(program, code.data()), "nvrtcGetCUBIN");
  return code;
}

}  // namespace tern::cuda
