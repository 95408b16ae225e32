// SPDX-License-Identifier: Apache-2.0
//
// The family of code generators that write source of a C-like language from lowered TIR
// (docs/lowered_tir.md).
//
// What all such languages share is here: statements, operators, names, and the exact meaning of
// TIR's arithmetic. A language derives from CodeGenC and says how it spells types, memory, thread
// indices, vectors, calls and functions.
//
// Values and memory: a bool is a byte in memory. Where TIR wraps (integers narrower than C's int),
// the text converts back. Floats of 8 and 16 bits are those that the language stores itself
// (legalize_storage), and `float` as values.
#ifndef TERN_CODEGEN_C_CODEGEN_C_H_
#define TERN_CODEGEN_C_CODEGEN_C_H_

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tern/codegen/name_table.h"
#include "tern/codegen/usage.h"
#include "tern/tir/atomics.h"
#include "tern/tir/function.h"

namespace tern::codegen {

// How tightly the outermost operator of an expression binds, loosest first. Parentheses are written
// only where an operand binds less tightly than its place asks for. Comparisons make one level and
// never nest bare, which C allows but compilers warn of.
enum class Precedence {
  kConditional,
  kOr,
  kAnd,
  kComparison,
  kAdditive,
  kMultiplicative,
  kUnary,
  kPrimary,
};

struct Code {
  std::string text;
  Precedence precedence = Precedence::kPrimary;
};

class CodeGenC {
 public:
  virtual ~CodeGenC() = default;

  void AddFunction(const tir::PrimFunc& function);
  // The whole source: what the language needs first, the helpers in use, the functions in the order
  // they were added.
  std::string Finish() const;

 protected:
  // ---- What a language says.

  // Of a variable or an expression; of an element in memory. They differ for bool, and for the
  // floats narrower than float32 that the language stores.
  virtual std::string ValueType(DataType dtype) = 0;
  virtual std::string StorageType(DataType dtype) = 0;
  // A pointer to elements in memory of that scope, "__global const float*".
  virtual std::string PointerType(const std::string& storage, ir::StorageScope scope,
                                  bool is_const);
  // What makes a decimal literal a 64-bit one.
  virtual std::string LongSuffix() const { return "LL"; }
  virtual std::string FloatLiteral(DataType dtype, double value);
  // An infinity or a NaN.
  virtual std::string NonFiniteLiteral(DataType dtype, double value) = 0;
  // What stands before the helpers; asked for last, when all that is used is known.
  virtual std::string Preamble() const = 0;
  // The head of the definition, up to the brace. Defines the parameters' names.
  virtual std::string FunctionHead(const tir::PrimFunc& function) = 0;
  virtual void EmitFunctionStart(const tir::PrimFunc&) {}
  virtual void EmitFunctionEnd(const tir::PrimFunc&) {}

  // Each of these refuses unless a language overrides it.
  virtual std::string ThreadIndex(const std::string& axis);
  // What asks the compiler behind to unroll the loop that comes next.
  virtual std::string UnrollHint() { return "#pragma unroll"; }
  virtual void EmitAssert(const tir::AssertNode* node);
  // By default bit operations are operators, and the rest is FunctionName's.
  virtual Code PrintCall(const ir::CallNode* node);
  // The language's function for a lane-wise intrinsic, or "".
  virtual std::string FunctionName(const ir::CallNode*) { return ""; }
  // The same bits as another type.
  virtual Code PrintReinterpret(const ir::CallNode* node);
  virtual void EmitCall(const ir::CallNode* node);  // made for its effect
  // A call of printf that writes the line of a `print`, with the length modifier and the type of 64
  // bits.
  void EmitPrintf(const ir::CallNode* node, const char* modifier, const char* type);
  // A helper that does an atomic operation on an element, given its address and the operands, and
  // returns the old value: its name. By default there is none.
  virtual std::string UseAtomic(const tir::Atomic& atomic);
  virtual Code PrintRamp(const ir::RampNode* node);
  virtual Code PrintBroadcast(const ir::BroadcastNode* node);
  virtual Code PrintShuffle(const ir::ShuffleNode* node);

  // By default an array on the stack, for scope local and a constant size; the rest is refused.
  virtual void EmitAllocate(const tir::AllocateNode* node);
  // Where an element is in its buffer, whose index is given.
  virtual std::string PlaceOf(const ir::Buffer&, const std::string& index) { return index; }
  virtual Code PrintChoice(const ir::Expr& condition, const ir::Expr& yes, const ir::Expr& no);
  virtual Code PrintLoad(const ir::BufferLoadNode* node);
  virtual void EmitStore(const tir::BufferStoreNode* node);
  // Whether a serial loop is written in a way of its own.
  virtual bool EmitLoop(const tir::ForNode*) { return false; }
  virtual Code PrintConversion(const ir::CastNode* node);
  virtual Code PrintMinMax(ir::ExprKind kind, const ir::Expr& a, const ir::Expr& b);
  virtual Code PrintArithmetic(const char* token, Precedence level, const ir::Expr& a,
                               const ir::Expr& b);

  // ---- What a language builds with.

  // The value, of exactly the expression's type.
  Code Print(const ir::Expr& expr);
  // The same, in parentheses if it binds less tightly than `least`.
  std::string Print(const ir::Expr& expr, Precedence least);
  // The value where C itself converts it to the expression's type (an initializer, an argument, an
  // index, a store): literals need no suffix and narrow integers no cast.
  std::string PrintConverted(const ir::Expr& expr, Precedence least = Precedence::kConditional);
  // As C computes it, maybe in a wider type than the expression's.
  Code PrintWide(const ir::Expr& expr);
  // The negation of a bool.
  Code PrintNot(const ir::Expr& expr);

  // What an element of memory is as a value, and what is stored for a value.
  Code FromMemory(DataType dtype, Code element);
  std::string ToMemory(const ir::Expr& value);

  // Makes a function known, once, above all others; `definition` is written where the name is new.
  // Returns the name.
  std::string UseHelper(const std::string& name, const std::string& definition);
  // tern_atomic_add_f32
  static std::string AtomicHelperName(const tir::Atomic& atomic);
  // What an element becomes: `old + x`. Not of those on bits.
  static std::string AtomicUpdate(tir::AtomicKind kind, const std::string& old,
                                  const std::string& x);
  void EmitAtomic(const tir::Atomic& atomic);
  // "i32", "f16": a type in the name of a helper.
  static std::string TypeSuffix(DataType dtype);

  void Emit(const tir::Stmt& stmt);
  // One line at the current indentation.
  void Line(const std::string& text);
  // `head {`, the statement in a scope of its own, `}`.
  void EmitBraced(const std::string& head, const tir::Stmt& body);
  // Declares a variable where it is used at all, its name extended by `suffix`.
  void EmitDeclaration(const ir::Var& var, const ir::Expr& value, const std::string& suffix = "");
  // A line for the start of the function, whatever is being written now.
  void HoistLine(const std::string& text);

  std::string DefineVar(const ir::Var& var, const std::string& suffix = "");
  std::string DefineBuffer(const ir::Buffer& buffer);
  // For a buffer that is declared by HoistLine.
  std::string DefineHoistedBuffer(const ir::Buffer& buffer);
  // From here on `name` is also the buffer's address, as a variable.
  void DefineAddress(const ir::Buffer& buffer, const std::string& name) {
    var_names_[buffer->data.node()] = name;
  }
  const std::string& NameOf(const ir::VarNode* var) const;
  const std::string& NameOf(const ir::Buffer& buffer) const;
  // The type through which a declared buffer accesses its memory.
  std::string ViewType(const ir::Buffer& buffer);
  // What stands behind the declarator of an array that asks for an alignment.
  static std::string AlignmentAttribute(const ir::Buffer& buffer);
  // From here on the memory at the buffer's address is an array of that type.
  void DefineArray(const ir::Buffer& buffer, const std::string& name, std::string type) {
    DefineAddress(buffer, name);
    allocated_as_[buffer->data.node()] = std::move(type);
  }
  // The number of elements, which must be constant.
  int64_t ConstantSize(const ir::Buffer& buffer) const;
  const Usage& usage() const { return usage_; }
  bool IsRead(const ir::Var& var) const { return usage_.vars.contains(var.node()); }

  class Indent {
   public:
    explicit Indent(CodeGenC& gen) : gen_(gen), scope_(gen.names_) { ++gen_.depth_; }
    ~Indent() { --gen_.depth_; }
    Indent(const Indent&) = delete;
    Indent& operator=(const Indent&) = delete;

   private:
    CodeGenC& gen_;
    NameTable::Scope scope_;
  };

  NameTable names_;

 private:
  // One per kind of node; Print and Emit choose.
  Code PrintNode(const ir::IntImmNode* node);
  Code PrintNode(const ir::FloatImmNode* node);
  Code PrintNode(const ir::StringImmNode* node);
  Code PrintNode(const ir::VarNode* node);
  template <ir::ExprKind K>
  Code PrintNode(const ir::BinaryNode<K>* node);
  Code PrintNode(const ir::NotNode* node) { return PrintNot(node->a); }
  Code PrintNode(const ir::SelectNode* node);
  Code PrintNode(const ir::CastNode* node) { return PrintConversion(node); }
  Code PrintNode(const ir::RampNode* node) { return PrintRamp(node); }
  Code PrintNode(const ir::BroadcastNode* node) { return PrintBroadcast(node); }
  Code PrintNode(const ir::ShuffleNode* node) { return PrintShuffle(node); }
  Code PrintNode(const ir::LetNode* node);
  Code PrintNode(const ir::CallNode* node);
  Code PrintNode(const ir::BufferLoadNode* node) { return PrintLoad(node); }

  Code PrintBitOperator(const char* token, const ir::CallNode* node);
  Code PrintComparison(const char* token, const ir::Expr& a, const ir::Expr& b);
  Code PrintLogic(ir::ExprKind kind, const ir::Expr& a, const ir::Expr& b);
  Code PrintFloorDivision(ir::ExprKind kind, const ir::Expr& a, const ir::Expr& b);
  void NoteAddress(const ir::Var& var, const ir::Expr& value);
  // `target = value;` inside of braces, which hold what the value binds too.
  void EmitAssignment(const std::string& target, const ir::Expr& value);
  // An operand beside `sibling`, whose type C converts a literal to.
  std::string PrintOperand(const ir::Expr& expr, const ir::Expr& sibling, Precedence least);

  void EmitNode(const tir::BufferStoreNode* node) { EmitStore(node); }
  void EmitNode(const tir::LetStmtNode* node);
  void EmitNode(const tir::AllocateNode* node);
  void EmitNode(const tir::DeclBufferNode* node);
  void EmitNode(const tir::ForNode* node);
  void EmitNode(const tir::WhileNode* node);
  void EmitNode(const tir::IfThenElseNode* node);
  void EmitNode(const tir::SeqNode* node);
  void EmitNode(const tir::AssertNode* node) { EmitAssert(node); }
  void EmitNode(const tir::EvaluateNode* node);
  void EmitNode(const tir::BlockNode* node);

  std::vector<std::string> helpers_;  // definitions, in order of first use
  std::set<std::string> helper_names_;
  std::string functions_;

  // Of the function being written.
  Usage usage_;
  std::unordered_map<const ir::VarNode*, std::string> var_names_;
  std::unordered_map<const ir::BufferNode*, std::string> buffer_names_;
  std::unordered_map<const ir::VarNode*, std::string> allocated_as_;  // by address of an array
  std::string hoisted_, body_;
  int depth_ = 0;
};

// A C string literal, in quotes.
std::string QuoteC(std::string_view text);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_C_CODEGEN_C_H_
