// SPDX-License-Identifier: Apache-2.0
//
// What the C-like languages of kernels share.
#ifndef TERN_CODEGEN_C_KERNEL_CODEGEN_H_
#define TERN_CODEGEN_C_KERNEL_CODEGEN_H_

#include <string>
#include <vector>

#include "tern/codegen/c/codegen_c.h"
#include "tern/runtime/kernel/device_artifact.h"

namespace tern::codegen {

// Takes functions of calling convention "kernel", and notes what launching them takes.
class KernelCodeGen : public CodeGenC {
 public:
  // Of the kernels added so far.
  const runtime::KernelMap& kernels() const { return kernels_; }

 protected:
  // Begins a kernel, and returns its parameters with commas between. Throws where the language
  // has another meaning for its name.
  std::string BeginKernel(const tir::PrimFunc& function, const char* language);
  // Declares a parameter, and defines its name; "" where it is declared elsewhere.
  virtual std::string PrintParam(const tir::Param& param) = 0;
  // Static memory that the threads of a block share.
  void NoteShared(const ir::Buffer& buffer, int64_t elements) {
    kernel_->static_shared_bytes += static_cast<uint64_t>(elements) * buffer->dtype.bytes();
  }
  // Of the kernel being written; its launches ask for dynamic memory.
  runtime::KernelInfo& kernel() { return *kernel_; }

 private:
  runtime::KernelMap kernels_;
  runtime::KernelInfo* kernel_ = nullptr;  // of the function being written
};

// The function of C's mathematics, for float64, that an intrinsic on floats is; "" for none. All
// languages of kernels have them, some with suffixes for other types.
std::string MathFunction(const std::string& intrinsic);
// The intrinsics that have one.
std::vector<std::string> MathIntrinsics();

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_C_KERNEL_CODEGEN_H_
