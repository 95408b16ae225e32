// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/c_host.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "tern/backend/cpu/codegen/host_abi.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/argument_table.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/module_calls.h"

namespace tern::backend::cpu {

using codegen::Code;
using codegen::Precedence;
namespace intrinsic = tir::intrinsic;

// How a C value becomes a TernAny.
struct AnyMaker {
  const char* name;
  int type_index;
  const char* param;
  const char* member;
};

namespace {

constexpr AnyMaker kFromInt = {"tern_int", kTernInt, "int64_t", "i"};
constexpr AnyMaker kFromBool = {"tern_bool", kTernBool, "bool", "i"};
constexpr AnyMaker kFromFloat = {"tern_float", kTernFloat, "double", "f"};
constexpr AnyMaker kFromPointer = {"tern_pointer", kTernOpaquePtr, "const void*", "p"};
constexpr AnyMaker kFromView = {"tern_view", kTernTensorView, "const void*", "p"};
constexpr AnyMaker kFromString = {"tern_str", kTernRawStr, "const char*", "s"};

const AnyMaker& MakerOf(DataType dtype) {
  return dtype.is_handle()  ? kFromPointer
         : dtype.is_float() ? kFromFloat
         : dtype.is_bool()  ? kFromBool
                            : kFromInt;
}

// The member of a tern_slot.
std::string SlotMember(DataType dtype) {
  if (dtype.is_handle()) return "pointer";
  if (dtype.is_bool()) return "bool_";
  return fmt::format("{}{}", dtype.is_float() ? "f" : dtype.is_uint() ? "u" : "i", dtype.bits());
}

// The letters of a symbol that C can spell.
bool IsSymbol(std::string_view name) {
  for (char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  return !name.empty();
}

}  // namespace

CodeGenCHost::CodeGenCHost() {
  names_.Reserve(
      "auto break case char const continue default do double else enum extern float for goto if "
      "inline int long register "
      "restrict return short signed sizeof static struct switch typedef union unsigned void "
      "volatile while "
      "bool true false NULL INFINITY NAN "
      "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t");
  // Keywords and macros of the dialects that compilers default to.
  names_.Reserve("asm typeof linux unix");
}

std::string CodeGenCHost::ValueType(DataType dtype) {
  TERN_ICHECK(dtype.is_scalar()) << dtype.str() << " was not lowered: C has no vectors";
  if (dtype.is_handle()) return "void*";
  if (dtype.is_bool()) return "bool";
  TERN_ICHECK(!dtype.is_narrow_float()) << dtype.str() << " was not lowered: C has no such type";
  if (dtype.is_float()) return dtype.bits() == 64 ? "double" : "float";
  return fmt::format("{}int{}_t", dtype.is_uint() ? "u" : "", dtype.bits());
}

std::string CodeGenCHost::StorageType(DataType dtype) {
  // Of packed elements, the bytes.
  if (dtype.is_bool() || dtype.is_packed()) return "uint8_t";
  return ValueType(dtype);
}

std::string CodeGenCHost::NonFiniteLiteral(DataType, double value) {
  uses_math_ = true;  // both are of type float, which converts exactly
  return std::isnan(value) ? "NAN" : value < 0 ? "-INFINITY" : "INFINITY";
}

// A product and a sum are two operations, each rounded (docs/numerics.md); the standard's dialect
// of gcc does that without being told.
std::string CodeGenCHost::Includes() const {
  return fmt::format(
      "// Written by Tern.\n{}#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
      "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#endif\n",
      uses_math_ ? "#include <math.h>\n" : "");
}

std::string CodeGenCHost::PrototypeLines() const {
  std::string text = "\n";
  for (const auto& [function, prototype] : prototypes_) text += prototype + "\n";
  return text;
}

std::string CodeGenCHost::Preamble() const {
  return fmt::format("{}\n{}{}", Includes(), kHostAbi, PrototypeLines());
}

void CodeGenCHost::CheckSymbol(const std::string& function) {
  TERN_CHECK(IsSymbol(function))
      << "function " << function
      << " cannot be written in C: its name may have letters, digits and '_' alone";
}

std::string CodeGenCHost::AddPrototype(const std::string& function, const std::string& declarator) {
  std::string head = "int32_t " + declarator;
  prototypes_[function] = head + ";";
  return head;
}

std::string CodeGenCHost::MakeInternal(const std::string& function) {
  std::string& prototype = prototypes_.at(function);
  prototype = "static " + prototype;
  return prototype.substr(0, prototype.size() - 1);
}

std::string CodeGenCHost::FunctionHead(const tir::PrimFunc& function) {
  TERN_ICHECK(function->params.size() == 4)
      << function->name << " does not have the four parameters of a packed call";
  CheckSymbol(function->name);
  std::string names[4];
  for (int i = 0; i < 4; ++i) names[i] = DefineVar(function->params[i].var);
  env_ = names[0];
  slots_ = nullptr;
  if (tir::CallingConventionOf(function) == tir::CallingConvention::kParallel)
    return ParallelHead(function->name, names);
  return AddPrototype(
      function->name,
      fmt::format("{}{}(const struct TernEnv* {}, const struct TernAny* {}, int32_t {}, "
                  "struct TernAny* {})",
                  TERN_SYMBOL_PREFIX, function->name, names[0], names[1], names[2], names[3]));
}

std::string CodeGenCHost::ParallelHead(const std::string& name,
                                       const std::string (&params)[4]) const {
  return fmt::format("static int {}(const TernEnv* {}, int64_t {}, int64_t {}, const void* {})",
                     name, params[0], params[1], params[2], params[3]);
}

void CodeGenCHost::EmitFunctionStart(const tir::PrimFunc& function) {
  for (const tir::Param& param : function->params) {
    bool is_env = NameOf(param.var.node()) == env_;
    if (!IsRead(param.var) && !(is_env && usage().asserts))
      Line(fmt::format("(void){};", NameOf(param.var.node())));
  }
}

void CodeGenCHost::EmitFunctionEnd(const tir::PrimFunc&) { Line("return 0;"); }

void CodeGenCHost::EmitAssert(const tir::AssertNode* node) {
  Line(fmt::format("if ({}) {{", PrintNot(node->condition).text));
  {
    Indent indent(*this);
    std::string parts =
        EmitAnyArray("parts", node->message.data(), node->message.data() + node->message.size());
    Line(fmt::format("{0}->raise({0}, {1}, {2}, {3});", env_, codegen::QuoteC(node->error_kind),
                     parts, node->message.size()));
    Line("return -1;");
  }
  Line("}");
}

Code CodeGenCHost::PrintCall(const ir::CallNode* node) {
  if (node->name == intrinsic::kPtrLoad)
    return FromMemory(node->dtype,
                      {PrintAt(StorageType(node->dtype), node->args[0], node->args[1])});
  if (node->name == intrinsic::kPtrAdd) {
    std::string address = Print(node->args[0], Precedence::kUnary);
    return {fmt::format("(char*){} + {}", address,
                        PrintConverted(node->args[1], Precedence::kMultiplicative)),
            Precedence::kAdditive};
  }
  if (node->name == intrinsic::kIsNull)
    return {Print(node->args[0], Precedence::kAdditive) + " == NULL", Precedence::kComparison};
  if (node->name == intrinsic::kPtrLessEqual)
    return {
        fmt::format("(uintptr_t){} <= (uintptr_t){}", Print(node->args[0], Precedence::kPrimary),
                    Print(node->args[1], Precedence::kPrimary)),
        Precedence::kComparison};
  if (node->name == intrinsic::kIsAligned)
    return {fmt::format("(uintptr_t){} % {} == 0", Print(node->args[0], Precedence::kPrimary),
                        *ir::AsConstInt(node->args[1])),
            Precedence::kComparison};
  if (node->name == intrinsic::kAddressOf) {
    const auto* element = node->args[0].As<ir::BufferLoadNode>();
    return {fmt::format("(void*)({} + {})", NameOf(element->buffer),
                        PrintConverted(element->indices[0], Precedence::kMultiplicative)),
            Precedence::kUnary};
  }
  if (node->name == intrinsic::kSymbolAddress) {
    const std::string& symbol = node->args[0].As<ir::StringImmNode>()->value;
    UseHelper("data " + symbol, fmt::format("static const uint8_t {}[{}];\n", symbol,
                                            *ir::AsConstInt(node->args[1])));
    return {"(void*)" + symbol, Precedence::kUnary};
  }
  if (node->name == intrinsic::kCallExtern) return PrintExternCall(node);
  if (node->name == intrinsic::kAllocWorkspace)
    return {PrintWorkspaceCall(node), Precedence::kPrimary};
  return CodeGenC::PrintCall(node);
}

std::string CodeGenCHost::PrintWorkspaceCall(const ir::CallNode* node) {
  std::string args = env_;
  for (size_t i = 1; i < node->args.size(); ++i) args += ", " + PrintConverted(node->args[i]);
  return fmt::format("{}->{}({})", env_, node->name, args);
}

// Compilers have instructions for these.
std::string CodeGenCHost::FunctionName(const ir::CallNode* node) {
  const char* name = node->name == "sqrt"       ? "sqrt"
                     : node->name == "copysign" ? "copysign"
                     : node->name == "abs"      ? "fabs"
                                                : "";
  if (!*name || !tir::IsWideFloat(node->dtype)) return "";
  uses_math_ = true;
  return node->dtype.bits() == 32 ? std::string(name) + "f" : name;
}

Code CodeGenCHost::PrintExternCall(const ir::CallNode* node) {
  const std::string& symbol = node->args[0].As<ir::StringImmNode>()->value;
  TERN_CHECK(IsSymbol(symbol)) << ir::At(node->span) << "'" << symbol
                               << "' is no name of a C function";
  std::string types, args;
  for (size_t i = 1; i < node->args.size(); ++i) {
    types += (i == 1 ? "" : ", ") + ValueType(node->args[i].dtype());
    args += (i == 1 ? "" : ", ") + PrintConverted(node->args[i]);
  }
  std::string result = node->dtype.is_void() ? "void" : ValueType(node->dtype);
  std::string declaration =
      fmt::format("extern {} {}({});\n", result, symbol, types.empty() ? "void" : types);
  std::string& known = externs_[symbol];
  TERN_CHECK(known.empty() || known == declaration)
      << ir::At(node->span) << symbol << " is called with arguments of other types elsewhere";
  known = declaration;
  UseHelper("extern " + symbol, declaration);
  return {symbol + "(" + args + ")"};
}

// By the builtins of GCC and Clang; what they have no function for is a loop of compare-exchange.
std::string CodeGenCHost::UseAtomic(const tir::Atomic& atomic) {
  using enum tir::AtomicKind;
  static const std::map<tir::AtomicKind, const char*> kBuiltins = {
      {kAdd, "add"}, {kAnd, "and"}, {kOr, "or"}, {kXor, "xor"}};
  std::string name = AtomicHelperName(atomic), type = ValueType(atomic.dtype());
  const char* order = atomic.seq_cst ? "__ATOMIC_SEQ_CST" : "__ATOMIC_RELAXED";
  auto builtin = kBuiltins.find(atomic.kind);
  std::string head = fmt::format("static {0} {1}({0}* p, {0} x{2}) {{\n", type, name,
                                 atomic.operands.size() > 1 ? ", " + type + " y" : "");
  std::string body;
  if (builtin != kBuiltins.end() && atomic.dtype().is_integer())
    body = fmt::format("  return __atomic_fetch_{}(p, x, {});\n", builtin->second, order);
  else if (atomic.kind == kCompareExchange)
    body =
        fmt::format("  __atomic_compare_exchange(p, &x, &y, 0, {0}, {0});\n  return x;\n", order);
  else if (atomic.kind == kExchange)
    body = fmt::format("  {0} old;\n  __atomic_exchange(p, &x, &old, {1});\n  return old;\n", type,
                       order);
  else
    body = fmt::format(
        "  {0} old, now;\n"
        "  __atomic_load(p, &old, __ATOMIC_RELAXED);\n"
        "  do now = {1};\n"
        "  while (!__atomic_compare_exchange(p, &old, &now, 1, {2}, {2}));\n"
        "  return old;\n",
        type, AtomicUpdate(atomic.kind, "old", "x"), order);
  return UseHelper(name, head + body + "}\n");
}

void CodeGenCHost::EmitCall(const ir::CallNode* node) {
  if (node->name == intrinsic::kCallExtern) return Line(PrintExternCall(node).text + ";");
  if (node->name == intrinsic::kFreeWorkspace) return Line(PrintWorkspaceCall(node) + ";");
  if (node->name == intrinsic::kParallelFor) return EmitParallelFor(node);
  if (node->name == intrinsic::kCheckArguments) return EmitCheckArguments(node);
  if (node->name == intrinsic::kCallImport || node->name == intrinsic::kCallEntry)
    return EmitPackedCall(node);
  CodeGenC::EmitCall(node);
}

void CodeGenCHost::EmitPackedCall(const ir::CallNode* node) {
  auto* name = node->args[1].As<ir::StringImmNode>();
  TERN_ICHECK(name) << node->name << " of a function without a constant name";
  const ir::Expr *begin = node->args.data() + 2, *end = node->args.data() + node->args.size();
  Line("{");
  {
    Indent indent(*this);
    std::string args = EmitAnyArray("call_args", begin, end);
    std::string result = names_.Define("call_result");
    Line(fmt::format("TernAny {} = {{0, 0, {{0}}}};", result));
    std::string call =
        node->name == intrinsic::kCallEntry
            ? fmt::format("{}{}({}, ", TERN_SYMBOL_PREFIX, name->value, env_)
            : fmt::format("{0}->call({0}, {1}, ", env_, codegen::QuoteC(name->value));
    Line(fmt::format("if ({}{}, {}, &{}) != 0) return -1;", call, args, end - begin, result));
  }
  Line("}");
}

void CodeGenCHost::EmitParallelFor(const ir::CallNode* node) {
  const std::string& body = node->args[1].As<ir::StringImmNode>()->value;
  UseHelper(body, ParallelHead(body, {"env", "begin", "end", "captures"}) + ";\n");
  UseHelper("tern_slot",
            "typedef union tern_slot {\n  uint8_t bool_;\n  int8_t i8;\n  int16_t i16;\n  "
            "int32_t i32;\n  int64_t i64;\n  uint8_t u8;\n  uint16_t u16;\n  uint32_t u32;\n  "
            "uint64_t u64;\n  float f32;\n  double f64;\n  void* pointer;\n} tern_slot;\n");
  Line("{");
  {
    Indent indent(*this);
    std::string slots = "NULL";
    if (node->args.size() > 3) {
      slots = names_.Define("captures");
      std::vector<std::string> items;
      for (size_t i = 3; i < node->args.size(); ++i) {
        DataType dtype = node->args[i].dtype();
        std::string value = PrintConverted(node->args[i], Precedence::kUnary);
        if (dtype.is_handle()) value = "(void*)" + value;
        items.push_back(fmt::format("  {{.{} = {}}},", SlotMember(dtype), value));
      }
      Line(fmt::format("const tern_slot {}[] = {{", slots));
      for (const std::string& item : items) Line(item);
      Line("};");
    }
    Line(fmt::format("if ({0}->parallel_for({0}, {1}, {2}, {3}) != 0) return -1;", env_, body,
                     PrintConverted(node->args[2]), slots));
  }
  Line("}");
}

void CodeGenCHost::EmitCheckArguments(const ir::CallNode* node) {
  UseHelper(tir::kCheckArgumentsSymbol,
            "#define TERN_CHECK_ARGUMENTS_LINKAGE static\n" + std::string(tir::kCheckArgumentsC));
  slots_ = node->args[3].As<ir::VarNode>();
  tir::TableData table = tir::ReadTable(node);
  std::string words, texts;
  for (int64_t word : table.words) words += (words.empty() ? "" : ", ") + std::to_string(word);
  for (size_t at = 0; at < table.texts.size();) {
    std::string text = table.texts.c_str() + at;
    texts += codegen::QuoteC(text) + " \"\\0\" ";
    at += text.size() + 1;
  }
  std::string name =
      "tern_table_" + node->args[tir::kArgumentTableWords].As<ir::StringImmNode>()->value;
  UseHelper(name, fmt::format("static const struct {{\n  int64_t words[{}];\n  char texts[{}];\n}} "
                              "{} = {{{{{}}},\n  {}}};\n",
                              table.words.size(), table.texts.size() + 1, name, words, texts));
  Line(fmt::format("if ({}({}, {}, {}, {}, &{}, {}) != 0) return -1;", tir::kCheckArgumentsSymbol,
                   env_, PrintConverted(node->args[1]), PrintConverted(node->args[2]),
                   PrintConverted(node->args[3]), name, *ir::AsConstInt(node->args[4])));
}

std::string CodeGenCHost::EmitAnyArray(const char* wanted, const ir::Expr* begin,
                                       const ir::Expr* end) {
  if (begin == end) return "NULL";
  std::vector<std::string> items;
  for (const ir::Expr* expr = begin; expr != end; ++expr) {
    const auto* call = expr->As<ir::CallNode>();
    bool is_view = call && call->name == intrinsic::kTensorView;
    items.push_back(is_view ? PrintMade(kFromView, "&" + EmitTensorView(call)) : PrintAny(*expr));
  }
  std::string name = names_.Define(wanted);
  Line(fmt::format("const TernAny {}[] = {{", name));
  for (const std::string& item : items) Line("  " + item + ",");
  Line("};");
  return name;
}

std::string CodeGenCHost::PrintAny(const ir::Expr& expr) {
  return PrintMade(expr.As<ir::StringImmNode>() ? kFromString : MakerOf(expr.dtype()),
                   PrintConverted(expr));
}

std::string CodeGenCHost::PrintMade(const AnyMaker& maker, const std::string& value) {
  UseHelper(maker.name,
            fmt::format("static TernAny {}({} x) {{ return (TernAny){{{}, 0, {{.{} = x}}}}; }}\n",
                        maker.name, maker.param, maker.type_index, maker.member));
  return fmt::format("{}({})", maker.name, value);
}

std::string CodeGenCHost::EmitTensorView(const ir::CallNode* node) {
  TernDType dtype = DataType::Parse(node->args[0].As<ir::StringImmNode>()->value)->raw();
  std::string shape = "NULL", extents;
  size_t rank = node->args.size() - tir::kTensorViewExtents;
  for (size_t i = 0; i < rank; ++i)
    extents += (i ? ", " : "") + PrintConverted(node->args[tir::kTensorViewExtents + i]);
  if (rank > 0) {
    shape = names_.Define("shape");
    Line(fmt::format("const int64_t {}[] = {{{}}};", shape, extents));
  }
  std::string name = names_.Define("view");
  Line(fmt::format("const TernTensorView {} = {{{}, {}, {}, {}, {}, {}, {}, {}, NULL, {}}};", name,
                   PrintConverted(node->args[1]), PrintConverted(node->args[3]),
                   PrintConverted(node->args[4]), rank, dtype.code, dtype.bits, dtype.lanes, shape,
                   PrintConverted(node->args[2])));
  return name;
}

std::string CodeGenCHost::PrintAt(const std::string& type, ir::Expr address, ir::Expr offset) {
  UseHelper("TERN_AT",
            "#define TERN_AT(type, p, offset) (*(type const*)((const char*)(p) + (offset)))\n");
  auto* moved = address.As<ir::CallNode>();
  if (moved && moved->name == intrinsic::kPtrAdd && ir::IsConst(offset, 0))
    return PrintAt(type, moved->args[0], moved->args[1]);
  if (slots_ && address.get() == slots_ && type != "int64_t") return PrintSlot(type, offset);
  std::string pointer = Print(address).text;
  return fmt::format("TERN_AT({}, {}, {})", type, pointer, PrintConverted(offset));
}

// To C, slots are an array of int64_t: another type must say that it may be there.
std::string CodeGenCHost::PrintSlot(const std::string& type, const ir::Expr& offset) {
  std::string name = "tern_slot_" + (type == "void*" ? "pointer" : type);
  UseHelper(name, fmt::format("typedef {} __attribute__((may_alias)) {};\n", type, name));
  return fmt::format("TERN_AT({}, {}, {})", name, NameOf(slots_), PrintConverted(offset));
}

CSource WriteC(const ir::IRModule& module) {
  CodeGenCHost gen;
  for (const auto& [name, function] : module->functions) gen.AddFunction(tir::AsPrimFunc(function));
  return {gen.Finish(), gen.prototypes(), 0};
}

}  // namespace tern::backend::cpu
