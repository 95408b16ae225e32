// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/common/nvrtc.h"

#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "tern/backend/cuda/common/nvrtc_abi.h"
#include "tern/backend/cuda/common/vendor_library.h"
#include "tern/ffi/error.h"

namespace tern::backend::cuda {
namespace {

constexpr const char* kLibraries[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                      "libnvrtc.so"};

constexpr const char* kOptions[] = {"--fmad=false", "--std=c++17", "-default-device"};

nvrtc::Functions Open() {
  VendorLibrary library("NVRTC", "which compiles CUDA C++", kLibraries);
  nvrtc::Functions functions;
  using namespace nvrtc;
#define TERN_NVRTC_FIND(name, symbol, ...) \
  functions.name = library.Find<Result (*)(__VA_ARGS__)>(symbol);
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

int MajorVersion(int* minor) {
  int major = 0;
  Check(Nvrtc().Version(&major, minor), "nvrtcVersion");
  return major;
}

// A program of NVRTC, compiled.
class Compiled {
 public:
  Compiled(const std::string& source, const std::string& arch) : functions_(Nvrtc()) {
    Check(functions_.CreateProgram(&program_, source.c_str(), "tern.cu", 0, nullptr, nullptr),
          "nvrtcCreateProgram");
    std::string option = "--gpu-architecture=" + arch;
    std::vector<const char*> options = {option.c_str()};
    options.insert(options.end(), std::begin(kOptions), std::end(kOptions));
    int count = static_cast<int>(options.size());
    if (functions_.CompileProgram(program_, count, options.data()) == 0) return;
    std::string log;
    try {
      log = Text(functions_.GetProgramLogSize, functions_.GetProgramLog);
    } catch (...) {
      functions_.DestroyProgram(&program_);
      throw;
    }
    functions_.DestroyProgram(&program_);
    TERN_THROW(RuntimeError) << "NVRTC does not compile the program for " << arch << ":\n"
                             << log.c_str();
  }
  ~Compiled() { functions_.DestroyProgram(&program_); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  std::string Code() const { return Text(functions_.GetCodeSize, functions_.GetCode); }
  // Without the zero at its end.
  std::string Ptx() const {
    std::string text = Text(functions_.GetPtxSize, functions_.GetPtx);
    text.resize(std::strlen(text.c_str()));
    return text;
  }

 private:
  std::string Text(nvrtc::Result (*size_of)(nvrtc::Program, size_t*),
                   nvrtc::Result (*get)(nvrtc::Program, char*)) const {
    size_t size = 0;
    Check(size_of(program_, &size), "asking for the size of a result");
    std::string text(size, '\0');
    Check(get(program_, text.data()), "asking for a result");
    return text;
  }

  const nvrtc::Functions& functions_;
  nvrtc::Program program_ = nullptr;
};

}  // namespace

std::string CompileSource(const std::string& source, const std::string& architecture,
                          NvrtcOutput output) {
  if (output == NvrtcOutput::kCubin) return Compiled(source, architecture).Code();
  std::string virtual_arch = "compute_" + architecture.substr(architecture.find('_') + 1);
  return Compiled(source, virtual_arch).Ptx();
}

std::string NvrtcDescription() {
  int minor = 0, major = MajorVersion(&minor);
  std::string text = "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
  for (const char* option : kOptions) text += std::string(" ") + option;
  return text;
}

bool NvrtcHasSpecificArchitectures() {
  int minor = 0;
  return MajorVersion(&minor) >= 12;
}

}  // namespace tern::backend::cuda
