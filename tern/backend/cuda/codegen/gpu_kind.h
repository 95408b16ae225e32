// SPDX-License-Identifier: Apache-2.0
//
// What NVIDIA's GPUs are to the target kinds, whatever makes the code.
#ifndef TERN_BACKEND_CUDA_CODEGEN_GPU_KIND_H_
#define TERN_BACKEND_CUDA_CODEGEN_GPU_KIND_H_

#include "tern/target/target.h"

namespace tern::backend::cuda {

// Arrays of shared memory have this limit, in bytes; what is given at the launch may be more.
inline constexpr int64_t kMostStaticShared = 48 << 10;

// The floats of 16 bits that there are conversions for; the others are lowered to integers.
bool StoresFloat(DataType dtype);
// Whether it is two integers of 16 bits, which are computed with in one register.
bool IsPacked(DataType dtype);
// Whether a vector is made of such, by operations that there are for both halves at once.
bool TakesPacked(const ir::Expr& vector);
// A kind of code for these machines: what they are like, whatever makes the code.
target::TargetKind GpuKind(const char* name);
// What a compiler other than ours made: "cubin", or "ptx" where it is a text.
std::string CompiledFormat(const std::string& code);
// Whether there are matrices of both types, from shared memory, and copies to it.
bool HasTensorCores(const target::Target& target);
// The kind's code generator takes operations on matrices and asynchronous copies where the machine
// has them.
void KeepTensorCores(const char* kind);

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_CODEGEN_GPU_KIND_H_
