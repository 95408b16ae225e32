// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/function.h"

#include "tern/ffi/json.h"
#include "tern/ir/deep_stack.h"
#include "tern/ir/structural.h"
#include "tern/tir/attributes.h"
#include "tern/tir/visitor.h"

namespace tern::tir {

PrimFunc PrimFunc::Make(std::string name, std::vector<Param> params, Stmt body, ir::Attrs attrs,
                        Span span) {
  auto node = ffi::Make<PrimFuncNode>();
  node->name = std::move(name);
  node->params = std::move(params);
  node->body = std::move(body);
  node->attrs = std::move(attrs);
  node->span = std::move(span);
  return PrimFunc(node);
}

PrimFunc PrimFunc::WithBody(Stmt body) const {
  if (body.same(get()->body)) return *this;
  auto copy = ffi::Make<PrimFuncNode>(*get());
  copy->body = std::move(body);
  return PrimFunc(copy);
}

PrimFunc PrimFunc::WithAttr(const std::string& key, ffi::Any value) const {
  auto copy = ffi::Make<PrimFuncNode>(*get());
  copy->attrs[key] = std::move(value);
  return PrimFunc(copy);
}

bool HasFlag(const PrimFunc& function, const char* attribute) {
  auto it = function->attrs.find(attribute);
  return it != function->attrs.end() && it->second.As<bool>();
}

const char* CallingConventionName(CallingConvention convention) {
  switch (convention) {
    case CallingConvention::kAsWritten:
      break;
    case CallingConvention::kPacked:
      return "packed";
    case CallingConvention::kPlain:
      return "plain";
    case CallingConvention::kKernel:
      return "kernel";
    case CallingConvention::kParallel:
      return "parallel";
  }
  return "";
}

std::optional<CallingConvention> FindCallingConvention(std::string_view name) {
  using enum CallingConvention;
  for (CallingConvention convention : {kPacked, kPlain, kKernel, kParallel})
    if (name == CallingConventionName(convention)) return convention;
  return {};
}

CallingConvention CallingConventionOf(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kCallingConvention);
  if (it == function->attrs.end()) return CallingConvention::kAsWritten;
  auto name = it->second.As<std::string>();
  std::optional<CallingConvention> convention = FindCallingConvention(name);
  TERN_ICHECK(convention) << function->name << " has the calling convention " << name;
  return *convention;
}

PrimFunc AsPrimFunc(const ir::BaseFunc& function) {
  PrimFunc found = IfPrimFunc(function);
  TERN_ICHECK(found) << function->name << " is not a PrimFunc";
  return found;
}

PrimFunc IfPrimFunc(const ir::BaseFunc& function) {
  if (function->type_index() != PrimFuncNode::TypeIndex()) return {};
  return PrimFunc(ffi::Ref<const PrimFuncNode>(static_cast<const PrimFuncNode*>(function.get())));
}

ir::IRModule MapFunctions(const ir::IRModule& module,
                          const std::function<PrimFunc(const PrimFunc&)>& f) {
  std::vector<ir::BaseFunc> functions;
  for (const auto& [name, base] : module->functions) {
    PrimFunc function = IfPrimFunc(base);
    functions.push_back(
        function ? WithContext("in function " + name, [&] { return ir::BaseFunc(f(function)); })
                 : base);
  }
  return module.WithFunctions(functions);
}

namespace {

std::string AttrText(const ffi::Any& value) { return ffi::WriteJson(PlainAttr(value)); }

class Comparer : public ir::StructuralComparer {
 public:
  using StructuralComparer::Equal;

  bool Equal(const Stmt& a, const Stmt& b) {
    if (!a || !b) return !a && !b;
    if (a->kind != b->kind) return false;
    return DispatchStmt(
        a.get(), [&](auto* node) { return Fields(node, static_cast<decltype(node)>(b.get())); });
  }

  bool Equal(const PrimFunc& a, const PrimFunc& b) {
    if (a->name != b->name || a->params.size() != b->params.size() ||
        !EqualAttrs(a->attrs, b->attrs))
      return false;
    DefineExtents(a, b);
    // Extents may have scalars in them that come later.
    for (size_t i = 0; i < a->params.size(); ++i)
      if (!Define(a->params[i].var, b->params[i].var)) return false;
    for (size_t i = 0; i < a->params.size(); ++i)
      if (!Define(a->params[i].buffer, b->params[i].buffer)) return false;
    return Equal(a->body, b->body);
  }

 private:
  // Extents and strides that are plain variables are defined by their tensor.
  void DefineExtents(const PrimFunc& a, const PrimFunc& b) {
    auto define = [&](const std::vector<Expr>& xs, const std::vector<Expr>& ys) {
      for (size_t i = 0; i < xs.size() && i < ys.size(); ++i) {
        const auto *x = xs[i].As<VarNode>(), *y = ys[i].As<VarNode>();
        if (x && y) Define(Var(x), Var(y));
      }
    };
    for (size_t i = 0; i < a->params.size(); ++i) {
      const BufferDef &x = a->params[i].buffer, &y = b->params[i].buffer;
      if (!x || !y) continue;
      define(x->shape, y->shape);
      define(x->strides, y->strides);
    }
  }

  static bool EqualAttrs(const ir::Attrs& a, const ir::Attrs& b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [&](const auto& x, const auto& y) {
             return x.first == y.first && AttrText(x.second) == AttrText(y.second);
           });
  }

  template <class T>
  bool Fields(const T* a, const T* b) {
    return std::apply(
        [&](const auto&... fa) {
          return std::apply([&](const auto&... fb) { return (Field(fa, fb) && ... && true); },
                            b->fields());
        },
        a->fields());
  }
  bool Field(const Stmt& a, const Stmt& b) { return Equal(a, b); }
  // An axis of a block, a region, a range.
  template <ir::HasFields T>
  bool Field(const T& a, const T& b) {
    return Fields(&a, &b);
  }
  bool Field(const ir::Attrs& a, const ir::Attrs& b) { return EqualAttrs(a, b); }
  template <class T>
  bool Field(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!Field(a[i], b[i])) return false;
    return true;
  }
  template <class T>
  bool Field(const T& a, const T& b) {
    return EqualField(a, b);
  }
};

class Hasher : public ir::StructuralHasher {
 public:
  using StructuralHasher::Add;

  void Add(const Stmt& stmt) {
    if (!stmt) return AddNumber(0);
    AddNumber(1 + static_cast<uint64_t>(stmt->kind));
    DispatchStmt(stmt.get(), [this](auto* node) {
      std::apply([&](const auto&... field) { (Field(field), ...); }, node->fields());
    });
  }

  void Add(const PrimFunc& function) {
    AddField(function->name);
    Field(function->attrs);
    // Extents and strides that are plain variables are defined by their tensor.
    for (const Param& param : function->params)
      if (param.is_tensor())
        for (const auto* exprs : {&param.buffer->shape, &param.buffer->strides})
          for (const Expr& expr : *exprs)
            if (const auto* var = expr.As<VarNode>()) Define(Var(var));
    // They may have scalars in them that come later.
    for (const Param& param : function->params) Define(param.var);
    for (const Param& param : function->params) Define(param.buffer);
    Add(function->body);
  }

 private:
  void Field(const Stmt& stmt) { Add(stmt); }
  template <ir::HasFields T>
  void Field(const T& value) {
    std::apply([&](const auto&... field) { (Field(field), ...); }, value.fields());
  }
  void Field(const ir::Attrs& attrs) {
    AddNumber(attrs.size());
    for (const auto& [key, value] : attrs) {
      AddField(key);
      AddField(AttrText(value));
    }
  }
  template <class T>
  void Field(const std::vector<T>& items) {
    AddNumber(items.size());
    for (const T& item : items) Field(item);
  }
  template <class T>
  void Field(const T& field) {
    AddField(field);
  }
};

}  // namespace

bool StructuralEqual(const PrimFunc& a, const PrimFunc& b) {
  return ir::OnDeepStack([&] { return Comparer().Equal(a, b); });
}

uint64_t StructuralHash(const PrimFunc& function) {
  Hasher hasher;
  ir::OnDeepStack([&] { hasher.Add(function); });
  return hasher.hash();
}

}  // namespace tern::tir
