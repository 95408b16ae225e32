// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/function_kind.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <shared_mutex>

#include "tern/tir/analysis/verify.h"
#include "tern/tir/extern_kernel.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

FunctionKind PrimFuncKind() {
  FunctionKind kind;
  kind.type_index = PrimFuncNode::TypeIndex();
  kind.description = "a function";
  kind.keyword = "func";
  kind.print = [](const ir::BaseFunc& f) { return Print(AsPrimFunc(f)); };
  kind.verify = [](const ir::BaseFunc& f, const ir::IRModule& module,
                   ir::Diagnostics* diagnostics) {
    VerifyFunction(AsPrimFunc(f), module, diagnostics);
  };
  kind.equal = [](const ir::BaseFunc& a, const ir::BaseFunc& b) {
    return StructuralEqual(AsPrimFunc(a), AsPrimFunc(b));
  };
  kind.hash = [](const ir::BaseFunc& f) { return StructuralHash(AsPrimFunc(f)); };
  return kind;
}

FunctionKind ExternKernelKind() {
  FunctionKind kind;
  kind.type_index = ExternKernelNode::TypeIndex();
  kind.description = "a kernel";
  kind.keyword = "kernel";
  kind.print = [](const ir::BaseFunc& f) { return Print(*AsExternKernel(f)); };
  kind.verify = [](const ir::BaseFunc& f, const ir::IRModule& module,
                   ir::Diagnostics* diagnostics) {
    VerifyFunction(AsExternKernel(f)->Signature(), module, diagnostics);
  };
  kind.equal = [](const ir::BaseFunc& a, const ir::BaseFunc& b) {
    return StructuralEqual(*AsExternKernel(a), *AsExternKernel(b));
  };
  kind.hash = [](const ir::BaseFunc& f) { return StructuralHash(AsExternKernel(f)->Signature()); };
  return kind;
}

// Entries are never removed, and stay where they are.
struct Table {
  std::shared_mutex mutex;
  std::list<FunctionKind> kinds{PrimFuncKind(), ExternKernelKind()};
};
Table& GetTable() {
  static Table* table = new Table;
  return *table;
}

template <class F>
const FunctionKind* Find(const F& is_wanted) {
  Table& table = GetTable();
  std::shared_lock lock(table.mutex);
  auto it = std::find_if(table.kinds.begin(), table.kinds.end(), is_wanted);
  return it == table.kinds.end() ? nullptr : &*it;
}

}  // namespace

void RegisterFunctionKind(FunctionKind kind) {
  bool is_new = !Find([&](const FunctionKind& known) {
    return known.type_index == kind.type_index || known.keyword == kind.keyword;
  });
  TERN_ICHECK(is_new) << "functions written as " << kind.keyword << " are registered twice";
  Table& table = GetTable();
  std::unique_lock lock(table.mutex);
  table.kinds.push_back(std::move(kind));
}

const FunctionKind& FunctionKindOf(const ir::BaseFunc& function) {
  const FunctionKind* kind =
      Find([&](const FunctionKind& known) { return known.type_index == function->type_index(); });
  TERN_ICHECK(kind) << "the class of " << function->name
                    << " is not registered: " << ffi::TypeName(function->type_index());
  return *kind;
}

const FunctionKind* FindFunctionKind(std::string_view keyword) {
  return Find([&](const FunctionKind& known) { return known.keyword == keyword && known.parse; });
}

bool StructuralEqual(const ir::IRModule& a, const ir::IRModule& b) {
  auto equal_functions = [](const auto& x, const auto& y) {
    return x.second->type_index() == y.second->type_index() &&
           FunctionKindOf(x.second).equal(x.second, y.second);
  };
  auto equal_constants = [](const auto& x, const auto& y) {
    return ir::StructuralEqual(x.second, y.second);
  };
  return std::equal(a->functions.begin(), a->functions.end(), b->functions.begin(),
                    b->functions.end(), equal_functions) &&
         std::equal(a->constants.begin(), a->constants.end(), b->constants.begin(),
                    b->constants.end(), equal_constants);
}

uint64_t StructuralHash(const ir::IRModule& module) {
  uint64_t hash = module->functions.size();
  auto mix = [&](uint64_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29); };
  for (const auto& [name, function] : module->functions)
    mix(FunctionKindOf(function).hash(function));
  for (const auto& [name, constant] : module->constants) {
    for (char c : name) mix(static_cast<unsigned char>(c));
    mix(static_cast<uint64_t>(constant->num_bytes()));
  }
  return hash;
}

}  // namespace tern::tir
