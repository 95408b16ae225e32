// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <unordered_map>

#include "tern/ffi/json.h"
#include "tern/ffi/text.h"
#include "tern/ir/deep_stack.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/lexer.h"
#include "tern/ir/structural.h"
#include "tern/target/target.h"
#include "tern/tir/atomics.h"
#include "tern/tir/default_arguments.h"
#include "tern/tir/extern_kernel.h"
#include "tern/tir/function_kind.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/literals.h"
#include "tern/tir/reserved_words.h"
#include "tern/tir/schedule_steps.h"
#include "tern/tir/text.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

using namespace tern::ir;  // the node classes, all of which the printer handles

// How tightly an operator binds; an operand that binds less tightly needs parentheses.
enum Precedence { kOrPrec, kAndPrec, kComparePrec, kAddPrec, kMulPrec, kUnaryPrec, kPrimaryPrec };

struct OperatorText {
  const char* text;  // null: written as a call
  Precedence precedence;
};
OperatorText GetOperator(ExprKind kind) {
  switch (kind) {
    case ExprKind::kOr:
      return {"||", kOrPrec};
    case ExprKind::kAnd:
      return {"&&", kAndPrec};
    case ExprKind::kEQ:
      return {"==", kComparePrec};
    case ExprKind::kNE:
      return {"!=", kComparePrec};
    case ExprKind::kLT:
      return {"<", kComparePrec};
    case ExprKind::kLE:
      return {"<=", kComparePrec};
    case ExprKind::kGT:
      return {">", kComparePrec};
    case ExprKind::kGE:
      return {">=", kComparePrec};
    case ExprKind::kAdd:
      return {"+", kAddPrec};
    case ExprKind::kSub:
      return {"-", kAddPrec};
    case ExprKind::kMul:
      return {"*", kMulPrec};
    case ExprKind::kDiv:
      return {"/", kMulPrec};
    case ExprKind::kFloorDiv:
      return {"//", kMulPrec};
    case ExprKind::kFloorMod:
      return {"%", kMulPrec};
    default:
      return {nullptr, kPrimaryPrec};
  }
}

std::string FloatText(DataType dtype, double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  // The shortest text that reads back to the same value of the type.
  auto end = dtype.bits() == 64
                 ? std::to_chars(buffer, buffer + sizeof buffer, value).ptr
                 : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class Printer {
 public:
  std::string Function(const PrimFunc& function) {
    PrintHead("func", function);
    out_ += " ";
    Body(function->body);
    out_ += "\n";
    for (const ScheduleStepsNode::Other& section : SchedulesOf(function))
      PrintSchedule(function->name, section);
    return out_;
  }

  void PrintSchedule(const std::string& name, const ScheduleStepsNode::Other& section) {
    const std::string& targets = section.targets;
    bool is_kind = !targets.empty() && targets != "host" && targets != "device";
    out_ += "\nschedule " + name + (targets.empty() ? "" : " for ") +
            (is_kind ? QuoteString(targets) : targets) + " {\n";
    for (const ScheduleStep& step : section.schedule->steps) out_ += "  " + step.text + "\n";
    out_ += "}\n";
  }

  std::string Kernel(const ExternKernelNode& kernel) {
    PrintHead("kernel", kernel.Signature());
    std::vector<std::string> written;
    for (size_t i = 0; i < kernel.params.size(); ++i)
      if (kernel.writes[i]) written.push_back(Name(kernel.params[i].buffer.get()));
    out_ += " launch(" + ffi::Join(kernel.launch_tags) + ") writes(" + ffi::Join(written) +
            ") from " + QuoteString(kernel.kind) + " format " + QuoteString(kernel.format) +
            " {\n  ";
    // Bytes that are no text stay in their file.
    bool in_file = !kernel.file.empty() && !IsText(kernel.code);
    out_ += in_file ? "file " + QuoteString(kernel.file) : QuoteLines(kernel.code);
    return out_ + "\n}\n";
  }

  std::string Statement(const Stmt& stmt) {
    Print(stmt);
    return std::move(out_);
  }

  std::string Expression(const Expr& expr) { return Text(expr, kOrPrec); }

 private:
  static bool IsText(const std::string& code) {
    return std::none_of(code.begin(), code.end(), [](char c) {
      return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' && c != '\r';
    });
  }

  // What stands before the body.
  void PrintHead(const char* word, const PrimFunc& function) {
    out_ = std::string(word) + " " + function->name + "(";
    // Every parameter's name is taken before any shape is printed: shapes may use scalars that come
    // later.
    for (const Param& param : function->params)
      if (!param.is_tensor()) Name(param.var.node());
    auto defaults = DefaultsInHead(function);
    for (size_t i = 0; i < function->params.size(); ++i) {
      const Param& param = function->params[i];
      if (i) out_ += ", ";
      if (param.is_tensor())
        out_ += DefineBuffer(param.buffer) + ": " + BufferType(param.buffer);
      else
        out_ +=
            Name(param.var.node()) + ": " + param.var.dtype().str() + DefaultText(defaults, param);
    }
    out_ += ")";
    ir::Attrs attrs = function->attrs;
    if (!defaults.empty()) attrs.erase(attr::kDefaults);
    out_ += AttrsText(attrs);
  }

  // Where a pass removed one of the parameters, the defaults stay an attribute.
  static std::map<std::string, std::string> DefaultsInHead(const PrimFunc& function) {
    auto defaults = DefaultsOf(function);
    size_t found = std::count_if(function->params.begin(), function->params.end(),
                                 [&](const Param& p) { return defaults.count(p.name()); });
    return found == defaults.size() ? defaults : std::map<std::string, std::string>();
  }
  // " = 37", or nothing.
  static std::string DefaultText(const std::map<std::string, std::string>& defaults,
                                 const Param& param) {
    auto it = defaults.find(param.name());
    return it == defaults.end() ? "" : " = " + it->second;
  }

  // ---- names

  std::string Unique(const std::string& wanted) {
    std::string base = wanted.empty() ? "v" : wanted, name = base;
    while (!taken_.insert(name).second) name = base + "_" + std::to_string(++numbers_[base]);
    return name;
  }
  const std::string& Name(const VarNode* var) {
    auto [it, added] = vars_.try_emplace(var);
    if (added) it->second = Unique(var->name);
    return it->second;
  }
  const std::string& Name(const BufferNode* buffer) {
    auto [it, added] = buffers_.try_emplace(buffer);
    if (added) it->second = Unique(buffer->name);
    return it->second;
  }
  // A parameter or allocation: one name for the buffer and its address.
  const std::string& DefineBuffer(const Buffer& buffer) {
    const std::string& name = Name(buffer.get());
    vars_.emplace(buffer->data.node(), name);
    return name;
  }

  // ---- types and attributes

  std::string List(const std::vector<Expr>& exprs) {
    std::string text;
    for (const Expr& expr : exprs) text += (text.empty() ? "" : ", ") + Text(expr, kOrPrec);
    return text;
  }

  std::string BufferType(const Buffer& buffer) {
    std::string text = buffer->dtype.str() + "[" + List(buffer->shape) + "]";
    if (!buffer->strides.empty()) text += " strides(" + List(buffer->strides) + ")";
    if (buffer->offset) text += " offset(" + List({buffer->offset}) + ")";
    if (buffer->alignment) text += " align(" + std::to_string(buffer->alignment) + ")";
    if (buffer->scope != StorageScope::kGlobal)
      text += std::string(" in ") + StorageScopeName(buffer->scope);
    return text;
  }

  static std::string AttrsText(const Attrs& attrs) {
    if (attrs.empty()) return "";
    std::string text;
    for (const auto& [key, value] : attrs) {
      if (key == attr::kSchedule || key == attr::kScheduleFor) continue;  // a section of its own
      auto target = value.TryAs<target::Target>();
      text += (text.empty() ? "" : ", ") + key + " = " +
              (target ? QuoteString((*target)->str()) : ffi::WriteJson(value));
    }
    return text.empty() ? "" : " attrs {" + text + "}";
  }

  // ---- expressions

  std::string Text(const Expr& expr, Precedence outer) {
    auto [text, precedence] = DispatchExpr(expr.get(), [this](auto* node) { return Write(node); });
    return precedence < outer ? "(" + text + ")" : text;
  }

  using Written = std::pair<std::string, Precedence>;

  Written Write(const IntImmNode* node) {
    if (node->dtype.is_bool()) return {node->value ? "true" : "false", kPrimaryPrec};
    std::string digits = node->dtype == DataType::UInt(64)
                             ? std::to_string(static_cast<uint64_t>(node->value))
                             : std::to_string(node->value);
    if (node->dtype != DataType::Int(64))
      return {node->dtype.str() + "(" + digits + ")", kPrimaryPrec};
    return {digits, node->value < 0 ? kUnaryPrec : kPrimaryPrec};
  }
  Written Write(const FloatImmNode* node) {
    std::string digits = FloatText(node->dtype, node->value);
    if (node->dtype != DataType::Float(32))
      return {node->dtype.str() + "(" + digits + ")", kPrimaryPrec};
    return {digits, digits[0] == '-' ? kUnaryPrec : kPrimaryPrec};
  }
  Written Write(const StringImmNode* node) { return {QuoteString(node->value), kPrimaryPrec}; }
  Written Write(const VarNode* node) { return {Name(node), kPrimaryPrec}; }

  template <ExprKind K>
  Written Write(const BinaryNode<K>* node) {
    auto [op, precedence] = GetOperator(K);
    if (!op) {
      const char* name = K == ExprKind::kMin        ? "min"
                         : K == ExprKind::kMax      ? "max"
                         : K == ExprKind::kTruncDiv ? "truncdiv"
                                                    : "truncmod";
      return {std::string(name) + "(" + List({node->a, node->b}) + ")", kPrimaryPrec};
    }
    // Operators group to the left; comparisons do not group at all.
    auto tighter = static_cast<Precedence>(precedence + 1);
    std::string left = Text(node->a, precedence == kComparePrec ? tighter : precedence);
    return {left + " " + op + " " + Text(node->b, tighter), precedence};
  }

  Written Write(const NotNode* node) { return {"!" + Text(node->a, kUnaryPrec), kUnaryPrec}; }
  Written Write(const SelectNode* node) {
    return {"select(" + List({node->condition, node->true_value, node->false_value}) + ")",
            kPrimaryPrec};
  }
  Written Write(const CastNode* node) {
    // float32(1) is a constant; a conversion of one is written out.
    bool constant =
        node->value.template As<IntImmNode>() || node->value.template As<FloatImmNode>();
    std::string head =
        constant || IsLiteral(node->value) ? "cast<" + node->dtype.str() + ">" : node->dtype.str();
    return {head + "(" + Text(node->value, kOrPrec) + ")", kPrimaryPrec};
  }
  Written Write(const RampNode* node) {
    return {"ramp(" + List({node->base, node->stride}) + ", " + LanesText(node->lanes) + ")",
            kPrimaryPrec};
  }
  Written Write(const BroadcastNode* node) {
    return {"broadcast(" + List({node->value}) + ", " + LanesText(node->lanes) + ")", kPrimaryPrec};
  }
  static std::string LanesText(int64_t lanes) {
    return lanes < 0 ? std::string(intrinsic::kVscale) + "() * " + std::to_string(-lanes)
                     : std::to_string(lanes);
  }
  Written Write(const ShuffleNode* node) {
    std::string vectors = List(node->vectors), indices;
    for (int64_t index : node->indices)
      indices += (indices.empty() ? "" : ", ") + std::to_string(index);
    return {"shuffle([" + vectors + "], [" + indices + "])", kPrimaryPrec};
  }
  Written Write(const LetNode* node) {
    std::string value = Text(node->value, kOrPrec);
    return {
        "(let " + Name(node->var.node()) + " = " + value + " in " + Text(node->body, kOrPrec) + ")",
        kPrimaryPrec};
  }
  Written Write(const CallNode* node) {
    if (IsAtomic(node->name)) {
      std::vector<Expr> args;
      for (const Expr& arg : node->args) args.push_back(PlainArgument(arg));
      return {node->name + "(" + List(args) + ")", kPrimaryPrec};
    }
    bool typed = FindIntrinsic(node->name)->explicit_dtype && !node->dtype.is_void();
    std::string dtype = typed ? "<" + node->dtype.str() + ">" : "";
    return {node->name + dtype + "(" + List(node->args) + ")", kPrimaryPrec};
  }
  // A[i, j], or A[i, j where predicate]
  template <class T>
  std::string Access(const T* node) {
    std::string indices = List(node->indices);
    if (node->predicate) indices += " where " + Text(node->predicate, kOrPrec);
    return Name(node->buffer.get()) + "[" + indices + "]";
  }
  Written Write(const BufferLoadNode* node) { return {Access(node), kPrimaryPrec}; }

  // ---- statements

  void Line(const std::string& text) { out_ += std::string(indent_, ' ') + text + "\n"; }

  // "{ ... }" without a newline at its end.
  void Body(const Stmt& stmt) {
    out_ += "{\n";
    indent_ += 2;
    Print(stmt);
    indent_ -= 2;
    out_ += std::string(indent_, ' ') + "}";
  }
  void BodyLine(const std::string& head, const Stmt& stmt) {
    out_ += std::string(indent_, ' ') + head + " ";
    Body(stmt);
    out_ += "\n";
  }

  void Print(const Stmt& stmt) {
    DispatchStmt(stmt.get(), [this](auto* node) { Write(node); });
  }

  void Write(const BufferStoreNode* node) {
    Line(Access(node) + " = " + Text(node->value, kOrPrec));
  }
  void Write(const LetStmtNode* node) {
    std::string value = Text(node->value, kOrPrec);
    Line("let " + Name(node->var.node()) + " = " + value);
    Print(node->body);
  }
  void Write(const AllocateNode* node) {
    std::string type = BufferType(node->buffer);
    Line("alloc " + DefineBuffer(node->buffer) + ": " + type);
    Print(node->body);
  }
  void Write(const DeclBufferNode* node) {
    std::string type = BufferType(node->buffer);
    Line("buffer " + Name(node->buffer.get()) + ": " + type + " at " +
         Name(node->buffer->data.node()));
    Print(node->body);
  }
  void Write(const ForNode* node) {
    std::string range = RangeText(node->min, node->extent);
    std::string kind;
    if (node->for_kind == ForKind::kThread)
      kind = " bind(" + node->thread + ")";
    else if (node->for_kind != ForKind::kSerial)
      kind = std::string(" ") + ForKindName(node->for_kind);
    BodyLine("for " + Name(node->var.node()) + " in " + range + kind + AttrsText(node->annotations),
             node->body);
  }
  std::string RangeText(const Expr& min, const Expr& extent) {
    std::string start = Text(min, kAddPrec) + "..";
    if (IsConst(min, 0) && min.dtype() == DataType::Int(64)) return start + Text(extent, kAddPrec);
    if (const auto* sub = extent.As<SubNode>(); sub && StructuralEqual(sub->b, min))
      return start + Text(sub->a, kAddPrec);
    return start + "+" + Text(extent, kUnaryPrec);
  }
  std::string RegionsText(const std::vector<BufferRegion>& regions) {
    std::string text;
    for (const BufferRegion& region : regions) {
      std::string ranges;
      for (const Range& range : region.ranges)
        ranges += (ranges.empty() ? "" : ", ") + (IsConst(range.extent, 1)
                                                      ? Text(range.min, kOrPrec)
                                                      : RangeText(range.min, range.extent));
      text += (text.empty() ? "" : ", ") + Name(region.buffer.get()) + "[" + ranges + "]";
    }
    return text;
  }
  void Write(const WhileNode* node) {
    BodyLine("while " + Text(node->condition, kOrPrec), node->body);
  }
  void Write(const IfThenElseNode* node) {
    out_ += std::string(indent_, ' ') + "if " + Text(node->condition, kOrPrec) + " ";
    Body(node->then_case);
    if (node->else_case) {
      out_ += " else ";
      Body(node->else_case);
    }
    out_ += "\n";
  }
  void Write(const SeqNode* node) {
    for (size_t i = 0; i < node->stmts.size(); ++i) {
      // A definition reaches to the end of its braces: one that other statements follow needs
      // braces of its own.
      const Stmt& stmt = node->stmts[i];
      bool scoped = stmt.As<LetStmtNode>() || stmt.As<AllocateNode>() || stmt.As<DeclBufferNode>();
      if (scoped && i + 1 < node->stmts.size())
        BodyLine("scope", stmt);
      else
        Print(stmt);
    }
  }
  void Write(const AssertNode* node) {
    std::string text = "assert " + Text(node->condition, kOrPrec) + ", " + node->error_kind;
    for (const Expr& part : node->message) text += ", " + Text(part, kOrPrec);
    Line(text);
  }
  void Write(const EvaluateNode* node) { Line(Text(node->value, kOrPrec)); }
  void Write(const BlockNode* node) {
    std::string iters;
    for (const BlockIter& iter : node->iters) {
      std::string domain = Text(iter.extent, kOrPrec), binding = Text(iter.binding, kOrPrec);
      iters += (iters.empty() ? "" : ", ") + Name(iter.var.node()) + ": " +
               IterKindName(iter.kind) + "(" + domain + ") = " + binding;
    }
    std::string where = node->predicate ? " where " + Text(node->predicate, kOrPrec) : "";
    Line("block " + node->name + "(" + iters + ")" + where + AttrsText(node->annotations) + " {");
    indent_ += 2;
    if (!node->reads.empty()) Line("reads " + RegionsText(node->reads));
    if (!node->writes.empty()) Line("writes " + RegionsText(node->writes));
    if (node->init) BodyLine("init", node->init);
    Print(node->body);
    indent_ -= 2;
    Line("}");
  }

  std::string out_;
  int indent_ = 0;
  std::unordered_map<const VarNode*, std::string> vars_;
  std::unordered_map<const BufferNode*, std::string> buffers_;
  std::unordered_map<std::string, int> numbers_;  // the last one of each name
  std::set<std::string, std::less<>> taken_{std::begin(kReservedWords), std::end(kReservedWords)};
};

// An element as a list of them has it: without its type.
std::string ElementText(DataType dtype, std::string_view bytes, int64_t i) {
  Expr element = LoadElement(dtype, bytes, i);
  if (const auto* number = element.As<FloatImmNode>()) return FloatText(dtype, number->value);
  int64_t value = element.As<IntImmNode>()->value;
  if (dtype.is_bool()) return value ? "true" : "false";
  return dtype == DataType::UInt(64) ? std::to_string(static_cast<uint64_t>(value))
                                     : std::to_string(value);
}

// A list where it is short and has no NaNs, which have several forms.
std::string ElementsText(const ConstantNode& constant) {
  constexpr int64_t kMostListed = 64;
  std::vector<std::string> elements;
  if (constant.num_elements() <= kMostListed)
    for (int64_t i = 0; i < constant.num_elements(); ++i)
      elements.push_back(ElementText(constant.dtype, constant.bytes, i));
  bool is_listed = static_cast<int64_t>(elements.size()) == constant.num_elements() &&
                   std::find(elements.begin(), elements.end(), "nan") == elements.end();
  if (is_listed) return elements.empty() ? "[]" : "[" + ffi::Join(elements) + "]";
  std::string digits;
  for (char byte : constant.bytes) {
    digits += "0123456789abcdef"[static_cast<uint8_t>(byte) >> 4];
    digits += "0123456789abcdef"[static_cast<uint8_t>(byte) & 15];
  }
  return "hex(" + QuoteString(digits) + ")";
}

std::string ConstantText(const ConstantNode& constant) {
  std::string content;
  if (constant.file) {
    content =
        "file(" + QuoteString(constant.file_name) + ", " + std::to_string(constant.offset) + ")";
  } else if (constant.is_splat) {
    content = "splat(" + ElementText(constant.dtype, constant.bytes, 0) + ")";
  } else {
    content = ElementsText(constant);
  }
  return "constant " + constant.name + ": " + constant.TypeText() + " = " + content + "\n";
}

}  // namespace

std::string PrintModule(const ir::IRModule& module) {
  std::string text;
  for (const auto& [name, constant] : module->constants) text += ConstantText(*constant);
  for (const auto& [name, function] : module->functions)
    text += (text.empty() ? "" : "\n") + FunctionKindOf(function).print(function);
  return text;
}
std::string Print(const ExternKernelNode& kernel) { return Printer().Kernel(kernel); }
std::string Print(const PrimFunc& function) {
  return OnDeepStack([&] { return Printer().Function(function); });
}
std::string Print(const Stmt& stmt) {
  return OnDeepStack([&] { return Printer().Statement(stmt); });
}
std::string Print(const Expr& expr) { return Printer().Expression(expr); }

}  // namespace tern::tir
