// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/function.h"

#include "tern/ffi/json.h"
#include "tern/ir/structural.h"
#include "tern/target/target.h"
#include "tern/tir/extern_kernel.h"
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

PrimFunc AsPrimFunc(const ir::BaseFunc& function) {
  TERN_ICHECK(function->type_index() == PrimFuncNode::TypeIndex())
      << function->name << " is not a PrimFunc";
  return PrimFunc(ffi::Ref<const PrimFuncNode>(static_cast<const PrimFuncNode*>(function.get())));
}

ir::IRModule MapFunctions(const ir::IRModule& module,
                          const std::function<PrimFunc(const PrimFunc&)>& f) {
  std::vector<ir::BaseFunc> functions;
  for (const auto& [name, function] : module->functions) {
    if (AsExternKernel(function))
      functions.push_back(function);
    else
      functions.push_back(WithContext("in function " + name,
                                      [&] { return ir::BaseFunc(f(AsPrimFunc(function))); }));
  }
  return ir::IRModule::Make(functions);
}

namespace {

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
    for (size_t i = 0; i < a->params.size(); ++i)
      if (!Define(a->params[i].var, b->params[i].var) ||
          !Define(a->params[i].buffer, b->params[i].buffer))
        return false;
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
    auto text = [](const ffi::Any& value) {
      auto target = value.TryAs<target::Target>();
      return target ? (*target)->str() : ffi::WriteJson(value);
    };
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [&](const auto& x, const auto& y) {
             return x.first == y.first && text(x.second) == text(y.second);
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
  bool Field(const BlockIter& a, const BlockIter& b) {
    return a.kind == b.kind && Equal(a.extent, b.extent) && Equal(a.binding, b.binding) &&
           Define(a.var, b.var);
  }
  bool Field(const BufferRegion& a, const BufferRegion& b) {
    return EqualField(a.buffer, b.buffer) && Field(a.ranges, b.ranges);
  }
  bool Field(const Range& a, const Range& b) {
    return Equal(a.min, b.min) && Equal(a.extent, b.extent);
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

}  // namespace

bool StructuralEqual(const PrimFunc& a, const PrimFunc& b) { return Comparer().Equal(a, b); }

bool StructuralEqual(const ir::IRModule& a, const ir::IRModule& b) {
  if (a->functions.size() != b->functions.size()) return false;
  auto equal = [](const ir::BaseFunc& x, const ir::BaseFunc& y) {
    const ExternKernelNode *p = AsExternKernel(x), *q = AsExternKernel(y);
    if (p || q) return p && q && StructuralEqual(*p, *q);
    return StructuralEqual(AsPrimFunc(x), AsPrimFunc(y));
  };
  return std::equal(a->functions.begin(), a->functions.end(), b->functions.begin(),
                    [&](const auto& x, const auto& y) { return equal(x.second, y.second); });
}

}  // namespace tern::tir
