// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_BACKEND_CUDA_COMMON_VENDOR_LIBRARY_H_
#define TERN_BACKEND_CUDA_COMMON_VENDOR_LIBRARY_H_

#include <dlfcn.h>

#include <span>
#include <string>

#include "tern/ffi/error.h"

namespace tern::backend::cuda {

// A library of NVIDIA's beside the driver, opened where it is first needed and never closed.
class VendorLibrary {
 public:
  // The first of `files` that can be opened. Throws where none can be, with what the library is
  // for: "NVRTC, which compiles CUDA C++, is not there".
  VendorLibrary(const char* name, const char* purpose, std::span<const char* const> files)
      : name_(name) {
    std::string tried;
    for (const char* file : files) {
      handle_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
      if (handle_) return;
      tried += (tried.empty() ? "" : ", ") + std::string(file);
    }
    TERN_THROW(RuntimeError) << name << ", " << purpose << ", is not there: none of " << tried
                             << " can be opened";
  }

  template <class Function>
  Function Find(const char* symbol) const {
    auto function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    if (!function) TERN_THROW(RuntimeError) << name_ << " has no function " << symbol;
    return function;
  }

 private:
  const char* name_;
  void* handle_ = nullptr;
};

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_COMMON_VENDOR_LIBRARY_H_
