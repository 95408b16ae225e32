// SPDX-License-Identifier: Apache-2.0
//
// Kernels as CUDA C++, for NVRTC: without any header.
#ifndef TERN_BACKEND_CUDA_CODEGEN_CODEGEN_CUDA_H_
#define TERN_BACKEND_CUDA_CODEGEN_CODEGEN_CUDA_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tern/backend/cuda/codegen/tensor_core_code.h"
#include "tern/codegen/c/kernel_codegen.h"
#include "tern/codegen/matrix_operands.h"

namespace tern::backend::cuda {

// Takes functions of calling convention "kernel". float16 and bfloat16 are 16 bits in memory,
// converted by instructions; as values they are floats. Vectors of two integers of 16 bits are one
// unsigned int.
class CodeGenCuda : public codegen::KernelCodeGen {
 public:
  CodeGenCuda();

 protected:
  std::string ValueType(DataType dtype) override;
  std::string StorageType(DataType dtype) override;
  std::string NonFiniteLiteral(DataType dtype, double value) override;
  std::string Preamble() const override;
  std::string FunctionHead(const tir::PrimFunc& function) override;
  std::string PrintParam(const tir::Param& param) override;
  std::string ThreadIndex(const std::string& axis) override;
  void EmitFunctionStart(const tir::PrimFunc& function) override;
  void EmitAllocate(const tir::AllocateNode* node) override;
  codegen::Code PrintLoad(const ir::BufferLoadNode* node) override;
  codegen::Code PrintChoice(const ir::Expr& condition, const ir::Expr& yes,
                            const ir::Expr& no) override;
  void EmitStore(const tir::BufferStoreNode* node) override;
  bool EmitLoop(const tir::ForNode* node) override;  // unpacked_pairs.cc
  codegen::Code PrintCall(const ir::CallNode* node) override;
  void EmitCall(const ir::CallNode* node) override;
  std::string UseAtomic(const tir::Atomic& atomic) override;
  std::string FunctionName(const ir::CallNode* node) override;
  codegen::Code PrintReinterpret(const ir::CallNode* node) override;
  codegen::Code PrintConversion(const ir::CastNode* node) override;
  codegen::Code PrintMinMax(ir::ExprKind kind, const ir::Expr& a, const ir::Expr& b) override;
  codegen::Code PrintArithmetic(const char* token, codegen::Precedence level, const ir::Expr& a,
                                const ir::Expr& b) override;
  codegen::Code PrintBroadcast(const ir::BroadcastNode* node) override;
  codegen::Code PrintShuffle(const ir::ShuffleNode* node) override;

 private:
  // A float32 that is rounded to 16 bits at once.
  std::string PrintToRound(const ir::Expr& value);
  // 1 + erf(x), in either order, of which few digits are enough.
  std::string PrintOnePlusErf(const ir::Expr& a, const ir::Expr& b);
  // "tern_from_f16": bits to float, and the other way; defined where they are used.
  std::string FromBits(DataType dtype);
  std::string ToBits(DataType dtype);

  // An argument of a warp operation: a condition may be a number that is not 0.
  std::string PrintVoted(const ir::Expr& arg);

  // Where an element is, or a vector of up to 16 bytes: operands of groups of warps are swizzled.
  std::string PlaceOf(const ir::Buffer& buffer, const std::string& index) override;
  // A call of a helper.
  void EmitHelper(const Helper& helper, const std::string& args = "");

  // ---- Loads under a condition (chosen_loads.cc)

  // The address of an element that is not written, or of zero, or of one of two such; "" for none.
  std::string ChosenAddress(const ir::Expr& value);
  // As it is in memory, of an element that is copied; "" where it is computed.
  std::string ElementBits(const ir::Expr& value);
  // An asynchronous copy of one element; whether it is one.
  bool EmitElementCopy(const tir::BufferStoreNode* node);

  // ---- Two integers of 16 bits in a register (packed_vectors.cc)

  // The function for "add", "min", "max" or "max_relu" (the greater one, at least 0) of such types.
  std::string PackedFunction(const std::string& operation, DataType dtype);
  codegen::Code PrintPackedMinMax(ir::ExprKind kind, const ir::Expr& a, const ir::Expr& b);

  // ---- Other vectors (vectors.cc)

  // Copies, and operations on matrices: vectors are nothing else.
  void EmitVectorStore(const tir::BufferStoreNode* node);
  // From one memory to another, at once.
  void EmitMove(const tir::BufferStoreNode* node, const ir::BufferLoadNode* load);
  // The address of the first of elements in a row; of an operand of an operation on matrices, which
  // must be surely aligned.
  std::string AddressOf(const ir::Buffer& buffer, const ir::Expr& index);
  std::string MatrixAddress(const ir::Expr& operand);
  // A multiplication of a group of warps. What is done at once is waited for.
  void EmitGroupMultiply(const tir::BufferStoreNode* node, const ir::CallNode* call);

  // ---- Copies of boxes, and barriers that they complete on (bulk_copies.cc)

  runtime::TensorMapInfo MapOf(const ir::CallNode* node) const;
  std::string TensorMapParams(const tir::PrimFunc& function);
  std::string BarrierAddress(const ir::Expr& address);
  void EmitBulkCopy(const tir::BufferStoreNode* node, const ir::CallNode* call);
  bool EmitBarrierCall(const ir::CallNode* node);  // whether it is one

  std::vector<runtime::TensorMapInfo> tensor_maps_;    // of the kernel being written
  std::map<const ir::VarNode*, int64_t> kernel_args_;  // the number of each argument
  int64_t threads_ = 0;                                // of its blocks
  bool sets_registers_ = false;                        // whether its warps trade registers

  std::set<std::string> read_only_;  // tensors that no thread writes

  codegen::MatrixOperands operands_;
  std::set<const ir::BufferNode*> group_operands_;         // of multiplications of groups of warps
  std::map<const ir::CallNode*, ir::Expr> coarse_powers_;  // for which few digits are enough
  std::set<const ir::CallNode*> coarse_errors_;            // the same of 1 + erf(x)
  // Such multiplications with another one right behind, which is waited for.
  std::set<const ir::CallNode*> followed_;
  bool dynamic_shared_ = false;  // whether shared memory is given at the launch
  bool reassociates_ = false;    // whether the function being written says so
  bool distinct_ = false;        // whether tensors of the function being written are
};

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_CODEGEN_CODEGEN_CUDA_H_
