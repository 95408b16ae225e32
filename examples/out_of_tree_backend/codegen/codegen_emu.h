// SPDX-License-Identifier: Apache-2.0
//
// Kernels of lowered TIR (docs/lowered_tir.md) as code of the device.
#ifndef EXAMPLES_OUT_OF_TREE_BACKEND_CODEGEN_CODEGEN_EMU_H_
#define EXAMPLES_OUT_OF_TREE_BACKEND_CODEGEN_CODEGEN_EMU_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode.h"
#include "tern/runtime/kernel/device_artifact.h"
#include "tern/tir/function.h"

namespace emu {

class KernelWriter {
 public:
  explicit KernelWriter(const tern::tir::PrimFunc& kernel);

  const tern::runtime::KernelInfo& info() const { return info_; }
  std::string Blob() const;
  // For people.
  std::string Text() const;

 private:
  using Expr = tern::ir::Expr;
  using Register = uint32_t;

  // Gives back the registers of values that are no longer needed.
  class Scope {
   public:
    explicit Scope(KernelWriter& writer) : writer_(writer), next_(writer.next_) {}
    ~Scope() { writer_.next_ = next_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    KernelWriter& writer_;
    Register next_;
  };

  Register NewRegister();
  size_t Emit(Instruction instruction);
  Register EmitConst(uint64_t bits);
  // The jump at `place` goes to what comes next.
  void Land(size_t place) { code_[place].d = static_cast<uint32_t>(code_.size()); }

  void Write(const tern::tir::Stmt& stmt);
  void WriteNode(const tern::tir::BufferStoreNode* node);
  void WriteNode(const tern::tir::LetStmtNode* node);
  void WriteNode(const tern::tir::AllocateNode* node);
  void WriteNode(const tern::tir::DeclBufferNode* node) { Write(node->body); }
  void WriteNode(const tern::tir::ForNode* node);
  void WriteNode(const tern::tir::WhileNode* node);
  void WriteNode(const tern::tir::IfThenElseNode* node);
  void WriteNode(const tern::tir::SeqNode* node);
  void WriteNode(const tern::tir::EvaluateNode* node);
  template <class T>
  void WriteNode(const T* node);

  // The register that holds the value.
  Register Value(const Expr& expr);
  Register ValueOf(const tern::ir::IntImmNode* node);
  Register ValueOf(const tern::ir::FloatImmNode* node);
  Register ValueOf(const tern::ir::VarNode* node);
  template <tern::ir::ExprKind K>
  Register ValueOf(const tern::ir::BinaryNode<K>* node);
  Register ValueOf(const tern::ir::NotNode* node);
  Register ValueOf(const tern::ir::SelectNode* node);
  Register ValueOf(const tern::ir::CastNode* node);
  Register ValueOf(const tern::ir::LetNode* node);
  Register ValueOf(const tern::ir::CallNode* node);
  Register ValueOf(const tern::ir::BufferLoadNode* node);
  template <class T>
  Register ValueOf(const T* node);
  // Of `if_then_else`, `&&` and `||`: evaluates one of the two alone.
  Register Choice(const Expr& condition, const Expr& yes, const Expr& no);
  void MoveTo(Register target, const Expr& value);

  tern::runtime::KernelInfo info_;
  std::string name_;
  std::vector<Type> params_;
  std::vector<Instruction> code_;
  std::unordered_map<const tern::ir::VarNode*, Register> registers_;
  Register next_ = 0, num_registers_ = 0;
  uint32_t local_bytes_ = 0, shared_bytes_ = 0;
};

// The type of a value or an element; throws where the device has none.
Type TypeOf(tern::DataType dtype);
// One line per instruction.
std::string Disassemble(const std::vector<Instruction>& code);
// What models can be offloaded to.
void RegisterMatrixUnit();

}  // namespace emu

#endif  // EXAMPLES_OUT_OF_TREE_BACKEND_CODEGEN_CODEGEN_EMU_H_
