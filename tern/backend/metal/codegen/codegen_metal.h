// SPDX-License-Identifier: Apache-2.0
//
// A kernel in the Metal Shading Language.
#ifndef TERN_BACKEND_METAL_CODEGEN_CODEGEN_METAL_H_
#define TERN_BACKEND_METAL_CODEGEN_CODEGEN_METAL_H_

#include <string>

#include "tern/backend/metal/codegen/matrices.h"
#include "tern/codegen/c/kernel_codegen.h"
#include "tern/target/target.h"

namespace tern::backend::metal {

// Takes one function of calling convention "kernel". float16 and bfloat16 are the language's own
// types in memory; as values they are floats.
//
// Tensors are buffers 0, 1, ... in order; the numbers are one structure behind them, each at a
// multiple of its size. Of more tensors than there are places the addresses stand first in that
// structure, which is buffer 0 then (docs/metal.md).
class CodeGenMetal : public codegen::KernelCodeGen {
 public:
  explicit CodeGenMetal(const target::Target& target);

 protected:
  std::string ValueType(DataType dtype) override;
  std::string StorageType(DataType dtype) override;
  std::string PointerType(const std::string& storage, ir::StorageScope scope,
                          bool is_const) override;
  std::string LongSuffix() const override { return "L"; }
  std::string NonFiniteLiteral(DataType dtype, double value) override;
  std::string Preamble() const override;
  std::string FunctionHead(const tir::PrimFunc& function) override;
  std::string PrintParam(const tir::Param& param) override;
  std::string ThreadIndex(const std::string& axis) override;
  void EmitAllocate(const tir::AllocateNode* node) override;
  codegen::Code PrintLoad(const ir::BufferLoadNode* node) override;
  void EmitStore(const tir::BufferStoreNode* node) override;
  codegen::Code PrintCall(const ir::CallNode* node) override;
  void EmitCall(const ir::CallNode* node) override;
  std::string UseAtomic(const tir::Atomic& atomic) override;
  std::string FunctionName(const ir::CallNode* node) override;
  codegen::Code PrintReinterpret(const ir::CallNode* node) override;
  codegen::Code PrintConversion(const ir::CastNode* node) override;
  codegen::Code PrintRamp(const ir::RampNode* node) override;
  codegen::Code PrintBroadcast(const ir::BroadcastNode* node) override;
  codegen::Code PrintShuffle(const ir::ShuffleNode* node) override;

 private:
  std::string PrintTensor(const tir::Param& param);
  std::string PrintNumber(const tir::Param& param);
  // Elements in a row, as the language's packed vector: they need no alignment.
  std::string PackedPlace(const ir::Buffer& buffer, const ir::Expr& index, DataType dtype,
                          bool is_const);
  // The value as the type that memory has.
  std::string Narrowed(DataType dtype, const std::string& value);
  codegen::Code PrintExchange(const ir::CallNode* node, const std::string& function);
  // A store of what an operation on matrices gives.
  void EmitMatrixStore(const tir::BufferStoreNode* node);
  std::string FillMatrix(const std::string& matrix, const ir::Expr& operand);
  std::string MatrixType(DataType dtype);
  std::string MatrixName(const ir::Buffer& buffer, const ir::Expr& index);
  // "address, elements between rows" of a tile in memory.
  std::string TilePlace(const ir::Buffer& buffer, const ir::Expr& index);
  // The parameters and variables by which a thread knows its SIMD-group.
  std::string LaneParams();
  bool has_full_groups() const { return threads_ > 0 && threads_ % 32 == 0; }

  target::Target target_;
  Matrices matrices_;
  std::string name_;  // of the kernel
  bool has_lanes_ = false, by_address_ = false;
  int64_t threads_ = 0;  // of a block; 0: not constant
  int num_buffers_ = 0;
  std::string addresses_, numbers_;  // members of the structure
};

// The language's function for an intrinsic on that type, or "".
std::string FunctionOf(const std::string& intrinsic, DataType dtype);

// Whether the language has this vector expression: vectors of 2, 3 and 4 numbers, of elements that
// are next to each other.
bool TakesVector(const ir::Expr& expr);

// The language's version as one number: 310 for "3.1".
int LanguageVersion(const target::Target& target);

}  // namespace tern::backend::metal

#endif  // TERN_BACKEND_METAL_CODEGEN_CODEGEN_METAL_H_
