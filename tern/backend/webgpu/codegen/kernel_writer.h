// SPDX-License-Identifier: Apache-2.0
//
// From a kernel in lowered TIR (docs/lowered_tir.md) to a shader in WGSL (docs/webgpu.md).
//
// As values, integers of up to 32 bits are i32 and u32 (what is narrower is kept extended by its
// sign, or by zeros), those of 64 bits are vec2<u32>, and floats are f32.
#ifndef TERN_BACKEND_WEBGPU_CODEGEN_KERNEL_WRITER_H_
#define TERN_BACKEND_WEBGPU_CODEGEN_KERNEL_WRITER_H_

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tern/backend/webgpu/codegen/helpers.h"
#include "tern/codegen/name_table.h"
#include "tern/codegen/usage.h"
#include "tern/runtime/kernel/device_artifact.h"
#include "tern/target/target.h"
#include "tern/tir/atomics.h"
#include "tern/tir/function.h"

namespace tern::backend::webgpu {

// Of a grid and of a block, by their numbers.
inline constexpr const char* kAxes = "xyz";

class KernelWriter {
 public:
  KernelWriter(const tir::PrimFunc& function, const target::Target& target);

  // The shader, whose entry point is `main`. Throws where the kernel needs what the target does not
  // have.
  std::string Write();
  // Of the kernel that was written.
  const runtime::KernelInfo& info() const { return info_; }

 private:
  // An expression of WGSL.
  struct Value {
    std::string text;
    bool is_primary = true;   // needs no parentheses as an operand
    bool is_literal = false;  // the language computes it when it compiles
    bool is_sum = false;      // of floats
    bool is_scaled = false;   // a product or quotient of a float and a literal
  };

  enum class Space { kStorage, kWorkgroup, kFunction };
  // Memory is an array of units. A unit is an element, where all accesses are of one type that the
  // language has in memory; else a word, of which elements are parts, or which are parts of
  // elements.
  struct Memory {
    std::string name;
    Space space = Space::kFunction;
    DataType unit;
    bool is_atomic = false;  // threads write parts of one word, or update words
  };

  // ---- The function ----

  void FindThreads();
  void DeclareParams();
  void DeclareTensor(const tir::Param& param, uint32_t binding);
  void DeclareScalars(uint32_t binding);
  void NoteFeature(const char* feature);
  std::string Preamble() const;
  [[noreturn]] void Refuse(const std::string& why) const;

  // ---- Statements ----

  void Emit(const tir::Stmt& stmt);
  void EmitNode(const tir::BufferStoreNode* node);
  void EmitNode(const tir::LetStmtNode* node);
  void EmitNode(const tir::AllocateNode* node);
  void EmitNode(const tir::DeclBufferNode* node);
  void EmitNode(const tir::ForNode* node);
  void EmitNode(const tir::WhileNode* node);
  void EmitNode(const tir::IfThenElseNode* node);
  void EmitNode(const tir::SeqNode* node);
  void EmitNode(const tir::AssertNode* node);
  void EmitNode(const tir::EvaluateNode* node);
  void EmitNode(const tir::BlockNode* node);
  void EmitThreadLoop(const tir::ForNode* node);
  // The loop over blocks, where its blocks may lie in rows.
  bool LiesInRows(const tir::ForNode* node) const;
  void EmitBarrier(const ir::CallNode* node);
  // In kernel_writer_atomics.cc.
  void EmitAtomic(const ir::CallNode* call);
  Value Combined(tir::AtomicKind kind, DataType dtype, const Value& a, const Value& b);
  // One line at the current depth.
  void Line(const std::string& text);
  // What `body` writes, in a scope of its own.
  template <class Body>
  void Indented(Body&& body) {
    codegen::NameTable::Scope scope(names_);
    ++depth_;
    body();
    --depth_;
  }
  template <class Body>
  void Braced(const std::string& head, Body&& body) {
    Line(head + " {");
    Indented(body);
    Line("}");
  }
  // Defines the variable, as a constant of the shader where it is read at all.
  void Bind(const ir::Var& var, const Value& value);
  std::string DefineVar(const ir::Var& var);

  // ---- Uniform control flow, which barriers ask for ----

  bool HasBarrier(const tir::Stmt& stmt) const;
  // Whether the language's analysis sees that all threads of a block have the same value.
  bool IsUniform(const ir::Expr& expr) const;
  // The first thread's value, for all of them.
  Value MakeUniform(const Value& value, DataType dtype);

  // ---- Memory (kernel_writer_memory.cc) ----

  // Which unit serves all accesses to this address.
  DataType UnitOf(const ir::VarNode* address) const;
  bool NeedsAtomics(const ir::VarNode* address, DataType unit, Space space) const;
  std::string UnitType(const Memory& memory);
  const Memory& MemoryOf(const ir::Buffer& buffer) const;
  // An index of elements; u32 where they are not units.
  std::string Index(const Memory& memory, const ir::Expr& index, DataType dtype);
  // A unit, as the value that it is; a word where units are that.
  Value LoadUnit(const Memory& memory, const std::string& index);
  void StoreUnit(const Memory& memory, const std::string& index, const std::string& value);
  // A part of a word.
  Value LoadPart(const Memory& memory, const std::string& index, DataType dtype);
  void StorePart(const Memory& memory, const std::string& index, int bits, const Value& value);
  Value Load(const Memory& memory, const std::string& index, DataType dtype);
  void Store(const Memory& memory, const std::string& index, DataType dtype, const Value& value);

  // ---- Expressions (kernel_writer_expr.cc) ----

  Value Emit(const ir::Expr& expr);
  // The same as an operand.
  std::string Operand(const ir::Expr& expr);
  static std::string Operand(const Value& value);
  // A name for it, so that it can be used often.
  std::string Name(const Value& value, const char* wanted);
  Value EmitNode(const ir::IntImmNode* node);
  Value EmitNode(const ir::FloatImmNode* node);
  Value EmitNode(const ir::StringImmNode* node);
  Value EmitNode(const ir::VarNode* node);
  Value EmitNode(const ir::AndNode* node);
  Value EmitNode(const ir::OrNode* node);
  Value EmitNode(const ir::NotNode* node);
  Value EmitNode(const ir::SelectNode* node);
  Value EmitNode(const ir::CastNode* node);
  Value EmitNode(const ir::RampNode* node);
  Value EmitNode(const ir::BroadcastNode* node);
  Value EmitNode(const ir::ShuffleNode* node);
  Value EmitNode(const ir::LetNode* node);
  Value EmitNode(const ir::CallNode* node);
  Value EmitNode(const ir::BufferLoadNode* node);
  template <ir::ExprKind K>
  Value EmitNode(const ir::BinaryNode<K>* node) {
    return EmitBinary(K, node->a, node->b);
  }
  Value EmitBinary(ir::ExprKind kind, const ir::Expr& a, const ir::Expr& b);
  Value Compare(ir::ExprKind kind, DataType dtype, const Value& a, const Value& b);
  Value MinMax(ir::ExprKind kind, DataType dtype, const Value& a, const Value& b);
  Value IntBinary(ir::ExprKind kind, DataType dtype, const Value& a, const Value& b);
  Value WideBinary(ir::ExprKind kind, DataType dtype, const Value& a, const Value& b);
  // A quotient or remainder of 64 bits by 2^power.
  Value ByPowerOfTwo(ir::ExprKind kind, DataType dtype, const Value& a, int power);
  Value ShortCircuit(const ir::Expr& a, const ir::Expr& b, bool is_and);
  Value EmitIfThenElse(const ir::CallNode* node);
  // `var = value;`, in a scope of its own.
  void AssignIn(const std::string& head, const std::string& variable, const ir::Expr& value);
  // Calls a helper.
  Value Call(const std::string& helper, const std::vector<Value>& args);
  Value FloatBinary(ir::ExprKind kind, const Value& a, const Value& b);
  // The same value where the language does not compute it when it compiles, and refuse it if the
  // result is no number.
  Value AtRunTime(const Value& value, DataType dtype);
  // The same float, of which compilers know nothing: what it is a sum of is not regrouped.
  Value Opaque(const Value& value);

  // ---- Integers of 64 bits by their low words (kernel_writer_low.cc) ----

  // The low 32 bits of an integer of 64, as u32.
  Value LowWord(const ir::Expr& expr);

  // ---- Calls (kernel_writer_call.cc) ----

  bool EmitBitOperator(const ir::CallNode* node, Value* result);
  bool EmitMath(const ir::CallNode* node, Value* result);
  Value Shift(const ir::CallNode* node);

  // ---- Types and conversions (kernel_writer_convert.cc) ----

  // The type of a value. Throws where the language has none.
  std::string ValueType(DataType dtype) const;
  Value Literal(DataType dtype, int64_t value) const;
  // What 8 or 16 bits keep of an i32 or u32.
  static Value Wrap(const Value& value, DataType dtype);
  Value Convert(const Value& value, DataType from, DataType to);
  Value ConvertWide(const Value& value, DataType from, DataType to);
  Value Reinterpret(const Value& value, DataType from, DataType to);
  // The bits of a value that is no float of 16 bits, as u32 or vec2<u32>, and back.
  static Value ToBits(const Value& value, DataType dtype);
  Value FromBits(const Value& bits, DataType dtype);

  tir::PrimFunc function_;
  target::Target target_;
  runtime::KernelInfo info_;
  runtime::KernelBindings bindings_;
  codegen::Usage usage_;
  codegen::NameTable names_;
  Helpers helpers_;
  std::unordered_map<const ir::VarNode*, std::string> values_;
  std::unordered_map<const ir::VarNode*, Memory> memory_;  // by address
  // Types by which the memory at an address is accessed, and is stored to.
  std::unordered_map<const ir::VarNode*, std::vector<DataType>> accesses_, stores_;
  std::unordered_set<const ir::VarNode*> updated_;  // addresses of elements of atomic operations
  std::unordered_set<const ir::VarNode*> uniform_;  // variables
  std::unordered_set<const ir::VarNode*>
      float_operands_;                                    // variables that sums and products are of
  std::unordered_set<const tir::StmtNode*> has_barrier_;  // statements that contain one
  std::set<std::string> uniform_words_;                   // types that were made uniform
  bool has_run_time_zero_ = false;
  int64_t local_bytes_ = 0;
  // Text: of the module, of the start of the function, and of the rest of it.
  std::string declarations_, hoisted_, body_;
  int depth_ = 1;
};

}  // namespace tern::backend::webgpu

#endif  // TERN_BACKEND_WEBGPU_CODEGEN_KERNEL_WRITER_H_
