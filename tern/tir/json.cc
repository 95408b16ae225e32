// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/json.h"

#include <cmath>
#include <concepts>
#include <unordered_map>

#include "tern/ffi/json.h"
#include "tern/ir/deep_stack.h"
#include "tern/tir/attributes.h"
#include "tern/tir/function_kind.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class Writer {
 public:
  std::string Module(const ir::IRModule& module) {
    Open('{');
    Key("constants");
    Open('[');
    for (const auto& [name, constant] : module->constants) {
      Item();
      Open('{');
      Member("name", constant->name);
      Member("dtype", constant->dtype);
      Member("shape", constant->shape);
      Close('}');
    }
    Close(']');
    Key("functions");
    Open('[');
    for (const auto& [name, function] : module->functions) {
      Item();
      if (PrimFunc prim = IfPrimFunc(function))
        ir::OnDeepStack([&] { Function(prim); });
      else
        OtherFunction(function);
    }
    Close(']');
    Close('}');
    return text_ + "\n";
  }

 private:
  void Function(const PrimFunc& function) {
    numbers_.clear();
    Open('{');
    Member("kind", "PrimFunc");
    Member("name", function->name);
    Member("attrs", function->attrs);
    Key("params");
    Open('[');
    for (const Param& param : function->params) {
      Item();
      param.is_tensor() ? Value(param.buffer) : Value(param.var);
    }
    Close(']');
    Member("body", function->body);
    Close('}');
  }
  // Kernels of other languages, graphs of operators: their text form.
  void OtherFunction(const ir::BaseFunc& function) {
    const FunctionKind& kind = FunctionKindOf(function);
    Open('{');
    Member("kind", kind.keyword);
    Member("name", function->name);
    Member("text", kind.print(function));
    Close('}');
  }

  // ---- Values of fields

  void Value(const Stmt& stmt) {
    if (!stmt) return Null();
    DispatchStmt(stmt.get(), [&](auto* node) {
      Open('{');
      Member("kind", StmtKindName(node->kind));
      Fields(*node);
      Place(node->span);
      Close('}');
    });
  }
  void Value(const Expr& expr) {
    if (!expr) return Null();
    ir::DispatchExpr(expr.get(), [&](auto* node) {
      Open('{');
      Member("kind", ExprKindName(node->kind));
      Member("dtype", node->dtype);
      if constexpr (std::is_same_v<std::decay_t<decltype(*node)>, VarNode>) {
        Member("name", node->name);
        Member("id", Number(node));
      }
      Fields(*node);
      Close('}');
    });
  }
  void Value(const Var& var) { Value(static_cast<const Expr&>(var)); }
  // Where it comes into scope.
  void Value(const BufferDef& buffer) {
    if (!buffer) return Null();
    Open('{');
    Member("kind", "Buffer");
    Member("name", buffer->name);
    Member("id", Number(buffer.get()));
    Member("dtype", buffer->dtype);
    Member("shape", buffer->shape);
    Member("strides", buffer->strides);
    Member("offset", buffer->offset);
    Member("alignment", buffer->alignment);
    Member("scope", ir::StorageScopeName(buffer->scope));
    Member("data", buffer->data);
    Close('}');
  }
  // A use of it.
  void Value(const Buffer& buffer) {
    Open('{');
    Member("name", buffer->name);
    Member("id", Number(buffer.get()));
    Close('}');
  }
  template <ir::HasFields T>
  void Value(const T& value) {
    Open('{');
    Fields(value);
    Close('}');
  }
  template <class T>
  void Value(const std::vector<T>& items) {
    Open('[');
    for (const T& item : items) {
      Item();
      Value(item);
    }
    Close(']');
  }
  void Value(const ir::Attrs& attrs) {
    Open('{');
    for (const auto& [key, value] : attrs) {
      Key(key);
      text_ += ffi::WriteJson(PlainAttr(value));
    }
    Close('}');
  }
  void Value(ForKind kind) { Value(ForKindName(kind)); }
  void Value(IterKind kind) { Value(IterKindName(kind)); }
  void Value(DataType dtype) { Value(dtype.str()); }
  void Value(const std::string& text) { text_ += ffi::WriteJson(ffi::Any(text)); }
  void Value(const char* text) { Value(std::string(text)); }
  void Value(double value) {
    // JSON has no infinity and no NaN.
    text_ +=
        std::isfinite(value) ? ffi::WriteJson(ffi::Any(value)) : '"' + std::to_string(value) + '"';
  }
  template <std::integral T>
  void Value(T value) {
    text_ += std::to_string(value);
  }
  void Null() { text_ += "null"; }

  template <class T>
  void Fields(const T& value) {
    ir::ForEachField(value, [&](std::string_view name, const auto& field) { Member(name, field); });
  }
  void Place(const Span& span) {
    if (span) Member("at", span.str());
  }

  // Variables and buffers are told apart by a number, in the order in which they are met.
  int64_t Number(const void* object) {
    return numbers_.emplace(object, static_cast<int64_t>(numbers_.size())).first->second;
  }

  // ---- Punctuation

  void Open(char bracket) {
    text_ += bracket;
    first_ = true;
  }
  void Close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  void Item() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  void Key(std::string_view key) {
    Item();
    Value(std::string(key));
    text_ += ':';
  }
  template <class T>
  void Member(std::string_view key, const T& value) {
    Key(key);
    Value(value);
  }

  std::string text_;
  bool first_ = true;
  std::unordered_map<const void*, int64_t> numbers_;
};

}  // namespace

std::string ModuleToJson(const ir::IRModule& module) { return Writer().Module(module); }

}  // namespace tern::tir
