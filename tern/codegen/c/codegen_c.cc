// SPDX-License-Identifier: Apache-2.0
//
// Functions and statements; expressions are in codegen_c_expr.cc.
#include "tern/codegen/c/codegen_c.h"

#include <fmt/format.h>

#include <algorithm>

#include "tern/ir/diagnostic.h"
#include "tern/ir/structural.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::codegen {

using tir::ForKind;

void CodeGenC::AddFunction(const tir::PrimFunc& function) {
  NameTable::Scope scope(names_);
  usage_ = FindUsage(function);
  var_names_.clear();
  buffer_names_.clear();
  allocated_as_.clear();
  hoisted_.clear();
  body_.clear();

  std::string head = FunctionHead(function);
  {
    Indent indent(*this);
    EmitFunctionStart(function);
    Emit(function->body);
    EmitFunctionEnd(function);
  }
  functions_ += fmt::format("\n// {}\n{} {{\n{}{}}}\n", function->name, head, hoisted_, body_);
}

std::string CodeGenC::Finish() const {
  std::string source = Preamble();
  for (const std::string& helper : helpers_) source += "\n" + helper;
  return source + functions_;
}

std::string CodeGenC::UseHelper(const std::string& name, const std::string& definition) {
  if (helper_names_.insert(name).second) helpers_.push_back(definition);
  return name;
}

std::string CodeGenC::PointerType(const std::string& storage, ir::StorageScope, bool is_const) {
  return (is_const ? "const " : "") + storage + "*";
}

// C lets an array be accessed as its own type and as bytes; other types must say that they do.
std::string CodeGenC::ViewType(const ir::Buffer& buffer) {
  std::string storage = StorageType(buffer->dtype);
  auto array = allocated_as_.find(buffer->data.node());
  if (array == allocated_as_.end() || array->second == storage) return storage;
  std::string name = "tern_view_" + storage;
  std::replace(name.begin(), name.end(), ' ', '_');  // unsigned char, long long
  return UseHelper(name, fmt::format("typedef {} __attribute__((may_alias)) {};\n", storage, name));
}

// An address inside of an array is one of the array.
void CodeGenC::NoteAddress(const ir::Var& var, const ir::Expr& value) {
  const auto* call = value.As<ir::CallNode>();
  if (!call || call->name != tir::intrinsic::kPtrAdd) return;
  const auto* base = call->args[0].As<ir::VarNode>();
  if (auto array = allocated_as_.find(base); base && array != allocated_as_.end())
    allocated_as_[var.node()] = std::string(array->second);
}

// ---- Names.

std::string CodeGenC::DefineVar(const ir::Var& var, const std::string& suffix) {
  return var_names_[var.node()] = names_.Define(var.name() + suffix);
}

std::string CodeGenC::DefineBuffer(const ir::Buffer& buffer) {
  return buffer_names_[buffer.get()] = names_.Define(buffer->name);
}

std::string CodeGenC::DefineHoistedBuffer(const ir::Buffer& buffer) {
  return buffer_names_[buffer.get()] = names_.DefineOutermost(buffer->name);
}

const std::string& CodeGenC::NameOf(const ir::VarNode* var) const {
  auto it = var_names_.find(var);
  TERN_ICHECK(it != var_names_.end()) << "variable " << var->name << " is used but not defined";
  return it->second;
}

const std::string& CodeGenC::NameOf(const ir::Buffer& buffer) const {
  auto it = buffer_names_.find(buffer.get());
  TERN_ICHECK(it != buffer_names_.end())
      << "buffer " << buffer->name << " is used but not declared";
  return it->second;
}

int64_t CodeGenC::ConstantSize(const ir::Buffer& buffer) const {
  int64_t size = 1;
  for (const ir::Expr& extent : buffer->shape) {
    std::optional<int64_t> value = ir::AsConstInt(extent);
    TERN_ICHECK(value) << "buffer " << buffer->name << " of scope " << buffer->scope
                       << " has no constant size";
    size *= *value;
  }
  return size;
}

// ---- Statements.

void CodeGenC::Emit(const tir::Stmt& stmt) {
  tir::DispatchStmt(stmt.get(), [this](auto* node) { EmitNode(node); });
}

void CodeGenC::Line(const std::string& text) {
  body_.append(2 * depth_, ' ').append(text).push_back('\n');
}

void CodeGenC::HoistLine(const std::string& text) { hoisted_ += "  " + text + "\n"; }

void CodeGenC::EmitBraced(const std::string& head, const tir::Stmt& body) {
  Line(head + " {");
  {
    Indent indent(*this);
    Emit(body);
  }
  Line("}");
}

void CodeGenC::EmitDeclaration(const ir::Var& var, const ir::Expr& value,
                               const std::string& suffix) {
  if (!IsRead(var)) {
    if (HasEffect(value)) Line(PrintConverted(value) + ";");
    return;
  }
  std::string text = PrintConverted(value);
  Line(fmt::format("{} {} = {};", ValueType(var.dtype()), DefineVar(var, suffix), text));
}

void CodeGenC::EmitNode(const tir::LetStmtNode* node) {
  // The address of a buffer leaves the buffer's name to the buffer.
  auto* decl = node->body.As<tir::DeclBufferNode>();
  bool is_address =
      decl && decl->buffer->data.same(node->var) && decl->buffer->name == node->var.name();
  EmitDeclaration(node->var, node->value, is_address ? "_data" : "");
  NoteAddress(node->var, node->value);
  Emit(node->body);
}

void CodeGenC::EmitNode(const tir::AllocateNode* node) {
  if (usage_.buffers.contains(node->buffer.get()) || IsRead(node->buffer->data)) EmitAllocate(node);
  Emit(node->body);
}

std::string CodeGenC::AlignmentAttribute(const ir::Buffer& buffer) {
  return buffer->alignment ? fmt::format(" __attribute__((aligned({})))", buffer->alignment) : "";
}

void CodeGenC::EmitAllocate(const tir::AllocateNode* node) {
  const ir::Buffer& buffer = node->buffer;
  TERN_ICHECK(buffer->scope == ir::StorageScope::kLocal)
      << "buffer " << buffer->name << " has scope " << buffer->scope
      << ", which this language cannot allocate";
  std::string name = DefineBuffer(buffer);
  DefineArray(buffer, name, StorageType(buffer->dtype));
  Line(fmt::format("{} {}[{}]{};", StorageType(buffer->dtype), name, ConstantSize(buffer),
                   AlignmentAttribute(buffer)));
}

void CodeGenC::EmitNode(const tir::DeclBufferNode* node) {
  const ir::Buffer& buffer = node->buffer;
  if (usage_.buffers.contains(buffer.get())) {
    bool is_const = !usage_.written.contains(buffer->data.node());
    std::string type = PointerType(ViewType(buffer), buffer->scope, is_const);
    const std::string& address = NameOf(buffer->data.node());
    Line(fmt::format("{0} {1} = ({0}){2};", type, DefineBuffer(buffer), address));
  }
  Emit(node->body);
}

namespace {

ir::Expr LoopEnd(const tir::ForNode* node) {
  if (ir::IsConst(node->min, 0)) return node->extent;
  std::optional<int64_t> min = ir::AsConstInt(node->min);
  std::optional<int64_t> extent = ir::AsConstInt(node->extent);
  if (min && extent) return ir::IntImmNode::Make(node->var.dtype(), *min + *extent);
  const auto* difference = node->extent.As<ir::SubNode>();
  if (difference && ir::StructuralEqual(difference->b, node->min)) return difference->a;
  return node->min + node->extent;
}

}  // namespace

void CodeGenC::EmitNode(const tir::ForNode* node) {
  std::string type = ValueType(node->var.dtype());
  if (node->for_kind == ForKind::kThread) {
    // The loop's iterations are the hardware's threads; each has its own value of the variable.
    if (IsRead(node->var)) {
      TERN_ICHECK(ir::IsConst(node->min, 0))
          << "thread loop " << node->var.name() << " does not start at 0";
      std::string index = ThreadIndex(node->thread);
      Line(fmt::format("{0} {1} = ({0}){2};", type, DefineVar(node->var), index));
    }
    return Emit(node->body);
  }
  if (EmitLoop(node)) return;
  ir::Expr end = LoopEnd(node);
  std::string first = PrintConverted(node->min);
  std::string last = PrintOperand(end, node->var, Precedence::kAdditive);
  NameTable::Scope scope(names_);
  std::string name = DefineVar(node->var);
  if (ReadsMemory(end)) {
    std::string once = names_.Define(name + "_end");
    Line(fmt::format("{} {} = {};", type, once, last));
    last = once;
  }
  if (node->for_kind == ForKind::kUnrolled) Line(UnrollHint());
  EmitBraced(fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1})", type, name, first, last),
             node->body);
}

void CodeGenC::EmitNode(const tir::WhileNode* node) {
  if (!HasLet(node->condition)) {
    return EmitBraced(fmt::format("while ({})", Print(node->condition).text), node->body);
  }
  // The bindings inside the condition are made anew every time.
  Line("for (;;) {");
  {
    Indent indent(*this);
    Line(fmt::format("if ({}) break;", PrintNot(node->condition).text));
    Emit(node->body);
  }
  Line("}");
}

void CodeGenC::EmitNode(const tir::IfThenElseNode* node) {
  std::string head = fmt::format("if ({})", Print(node->condition).text);
  for (;;) {
    Line(head + " {");
    {
      Indent indent(*this);
      Emit(node->then_case);
    }
    if (!node->else_case) break;
    auto* chained = node->else_case.As<tir::IfThenElseNode>();
    if (!chained || HasLet(chained->condition)) {
      EmitBraced("} else", node->else_case);
      return;
    }
    head = fmt::format("}} else if ({})", Print(chained->condition).text);
    node = chained;
  }
  Line("}");
}

void CodeGenC::EmitNode(const tir::SeqNode* node) {
  // A member that declares something keeps it to itself, so that its names are free again behind
  // it.
  for (const tir::Stmt& stmt : node->stmts) {
    bool declares = stmt.As<tir::LetStmtNode>() || stmt.As<tir::AllocateNode>() ||
                    stmt.As<tir::DeclBufferNode>();
    if (!declares || stmt.same(node->stmts.back())) {
      Emit(stmt);
      continue;
    }
    Line("{");
    {
      Indent indent(*this);
      Emit(stmt);
    }
    Line("}");
  }
}

void CodeGenC::EmitNode(const tir::EvaluateNode* node) {
  // Only a call can have an effect.
  if (!HasEffect(node->value)) return;
  auto* call = node->value.As<ir::CallNode>();
  TERN_ICHECK(call) << "a call made for its effect stands inside another expression";
  EmitCall(call);
}

void CodeGenC::EmitNode(const tir::BlockNode* node) {
  TERN_ICHECK(false) << "block " << node->name << " was not lowered";
}

// ---- What a language may not have.

std::string CodeGenC::ThreadIndex(const std::string& axis) {
  TERN_ICHECK(false) << "this language has no threads, but a loop runs on " << axis;
  return {};
}

void CodeGenC::EmitAssert(const tir::AssertNode* node) {
  TERN_ICHECK(false) << "this language cannot raise a " << node->error_kind;
}

void CodeGenC::EmitPrintf(const ir::CallNode* node, const char* modifier, const char* type) {
  std::string format, args;
  for (const ir::Expr& arg : node->args) {
    if (const auto* text = arg.As<ir::StringImmNode>()) {
      for (char c : text->value) format += c == '%' ? "%%" : std::string(1, c);
      continue;
    }
    bool is_signed = !arg.dtype().is_uint();
    std::string as;
    if (arg.dtype().is_float()) {
      format += "%g";
    } else if (arg.dtype().bits() > 32) {
      format += fmt::format("%{}{}", modifier, is_signed ? "d" : "u");
      as = fmt::format("({}{})", is_signed ? "" : "unsigned ", type);
    } else {
      format += is_signed ? "%d" : "%u";
      as = is_signed ? "(int)" : "(unsigned)";
    }
    args += fmt::format(", {}({})", as, Print(arg).text);
  }
  Line(fmt::format("printf({}{});", QuoteC(format + "\n"), args));
}

void CodeGenC::EmitCall(const ir::CallNode* node) {
  if (tir::IsAtomic(node->name)) return EmitAtomic(tir::AtomicOf(node));
  TERN_ICHECK(false) << "intrinsic " << node->name << " was not lowered for this language";
}

void CodeGenC::EmitAtomic(const tir::Atomic& atomic) {
  auto element = [&](const ir::BufferLoadNode* load) {
    return NameOf(load->buffer) + "[" + PrintConverted(load->indices[0]) + "]";
  };
  std::string call = UseAtomic(atomic) + "(&" + element(atomic.element);
  for (const ir::Expr& operand : atomic.operands) call += ", " + PrintConverted(operand);
  Line((atomic.old ? element(atomic.old) + " = " : "") + call + ");");
}

std::string CodeGenC::UseAtomic(const tir::Atomic& atomic) {
  TERN_THROW(ValueError) << ir::At(atomic.element->span) << "this target has no " << atomic.name()
                         << " of " << atomic.dtype().str();
}

std::string CodeGenC::AtomicHelperName(const tir::Atomic& atomic) {
  return std::string("tern_") + atomic.name() + "_" + TypeSuffix(atomic.dtype()) +
         (atomic.seq_cst ? "_seq_cst" : "");
}

std::string CodeGenC::AtomicUpdate(tir::AtomicKind kind, const std::string& old,
                                   const std::string& x) {
  switch (kind) {
    case tir::AtomicKind::kAdd:
      return old + " + " + x;
    case tir::AtomicKind::kMin:
      return x + " < " + old + " ? " + x + " : " + old;
    case tir::AtomicKind::kMax:
      return x + " > " + old + " ? " + x + " : " + old;
    default:
      return x;
  }
}

Code CodeGenC::PrintRamp(const ir::RampNode* node) {
  TERN_ICHECK(false) << "this language has no vectors, but there is a ramp of " << node->lanes
                     << " lanes";
  return {};
}

Code CodeGenC::PrintBroadcast(const ir::BroadcastNode* node) {
  TERN_ICHECK(false) << "this language has no vectors, but there is a broadcast to " << node->lanes
                     << " lanes";
  return {};
}

Code CodeGenC::PrintShuffle(const ir::ShuffleNode* node) {
  TERN_ICHECK(false) << "this language has no vectors, but there is a shuffle of "
                     << node->vectors.size();
  return {};
}

}  // namespace tern::codegen
