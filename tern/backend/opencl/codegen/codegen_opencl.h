// SPDX-License-Identifier: Apache-2.0
//
// Kernels as OpenCL C 1.2.
#ifndef TERN_BACKEND_OPENCL_CODEGEN_CODEGEN_OPENCL_H_
#define TERN_BACKEND_OPENCL_CODEGEN_CODEGEN_OPENCL_H_

#include <string>
#include <vector>

#include "tern/codegen/c/kernel_codegen.h"

namespace tern::backend::opencl {

// Takes functions of calling convention "kernel". float16 is read and written with vload_half and
// vstore_half, which need no extension; float64 needs cl_khr_fp64, asked for where it is used.
class CodeGenOpenCL : public codegen::KernelCodeGen {
 public:
  // With the extension cl_khr_fp16, float16 is a type of values too.
  explicit CodeGenOpenCL(bool has_fp16 = false);

 protected:
  std::string ValueType(DataType dtype) override;
  std::string StorageType(DataType dtype) override;
  std::string PointerType(const std::string& storage, ir::StorageScope scope,
                          bool is_const) override;
  std::string LongSuffix() const override { return "L"; }
  std::string FloatLiteral(DataType dtype, double value) override;
  std::string NonFiniteLiteral(DataType dtype, double value) override;
  std::string Preamble() const override;
  std::string FunctionHead(const tir::PrimFunc& function) override;
  std::string PrintParam(const tir::Param& param) override;
  std::string ThreadIndex(const std::string& axis) override;
  std::string UnrollHint() override;
  void EmitAllocate(const tir::AllocateNode* node) override;
  codegen::Code PrintLoad(const ir::BufferLoadNode* node) override;
  void EmitStore(const tir::BufferStoreNode* node) override;
  void EmitCall(const ir::CallNode* node) override;
  std::string UseAtomic(const tir::Atomic& atomic) override;
  std::string FunctionName(const ir::CallNode* node) override;
  codegen::Code PrintReinterpret(const ir::CallNode* node) override;
  codegen::Code PrintConversion(const ir::CastNode* node) override;
  codegen::Code PrintRamp(const ir::RampNode* node) override;
  codegen::Code PrintBroadcast(const ir::BroadcastNode* node) override;
  codegen::Code PrintShuffle(const ir::ShuffleNode* node) override;

 private:
  // "0, A + i" for vectors, "i, A" for one element: the last arguments of the vload and vstore
  // functions.
  std::string PrintPlace(const ir::Buffer& buffer, const ir::Expr& index);

  // Whether it is a half in memory and a float as a value.
  bool IsBoxedHalf(DataType dtype) const {
    return dtype.element() == DataType::Float(16) && !has_fp16_;
  }

  bool has_fp16_;
  bool uses_fp16_ = false, uses_fp64_ = false;
};

// Whether the language has this vector expression: vectors of 2, 3, 4, 8 and 16 numbers, of
// elements that are next to each other.
bool TakesVector(const ir::Expr& expr);

}  // namespace tern::backend::opencl

#endif  // TERN_BACKEND_OPENCL_CODEGEN_CODEGEN_OPENCL_H_
