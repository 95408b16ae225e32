// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/undefined_symbols.h"

#include <elf.h>

#include <cstring>
#include <set>

#include "tern/ffi/error.h"
#include "tern/ffi/text.h"
#include "tern/ir/diagnostic.h"
#include "tern/runtime/artifact/elf_file.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::codegen {
namespace {

bool IsPromised(std::string_view symbol) {
  static const std::set<std::string, std::less<>> kPromised = {"dlopen", "dlsym", "memcpy",
                                                               "memmove", "memset"};
  return kPromised.contains(symbol);
}

class ExternCallFinder : public tir::StmtVisitor {
 public:
  ExternCallFinder(std::string function, std::vector<ExternCall>* calls)
      : function_(std::move(function)), calls_(*calls) {}

 private:
  using StmtVisitor::VisitNode;
  void VisitNode(const ir::CallNode* node) override {
    if (node->name == tir::intrinsic::kCallExtern)
      calls_.push_back({node->args[0].As<ir::StringImmNode>()->value, function_, node->span});
    VisitChildren(node);
  }

  std::string function_;
  std::vector<ExternCall>& calls_;
};

}  // namespace

std::vector<ExternCall> FindExternCalls(const ir::IRModule& module) {
  std::vector<ExternCall> calls;
  for (const auto& [name, base] : module->functions)
    if (tir::PrimFunc function = tir::IfPrimFunc(base))
      ExternCallFinder(name, &calls).Visit(function->body);
  return calls;
}

void CheckExternCalls(const std::vector<ExternCall>& calls) {
  for (const ExternCall& call : calls)
    if (!IsPromised(call.symbol))
      TERN_THROW(RuntimeError) << ir::At(call.span) << call.function << " calls the C function "
                               << call.symbol
                               << ", which code that the runtime loads cannot have; it may call "
                                  "memcpy, memmove, memset, dlopen and dlsym. Make an object (.o) "
                                  "and link it with what defines the function";
}

std::vector<std::string> UndefinedSymbols(std::string_view shared_object) {
  auto symbols = runtime::FindElfSection(shared_object, ".dynsym");
  auto strings = runtime::FindElfSection(shared_object, ".dynstr");
  std::vector<std::string> names;
  if (!symbols || !strings) return names;
  std::string_view text = shared_object.substr(strings->offset, strings->size);
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, shared_object.data() + symbols->offset + at, sizeof(symbol));
    if (symbol.st_shndx != SHN_UNDEF || symbol.st_name == 0 || symbol.st_name >= text.size())
      continue;
    std::string_view name = text.substr(symbol.st_name);
    names.emplace_back(name.substr(0, name.find('\0')));
  }
  return names;
}

void CheckUndefinedSymbols(std::string_view shared_object) {
  std::vector<std::string> offenders;
  for (const std::string& name : UndefinedSymbols(shared_object))
    if (!IsPromised(name)) offenders.push_back(name);
  if (!offenders.empty())
    TERN_THROW(RuntimeError) << "host code needs symbols that the runtime does not promise: "
                             << ffi::Join(offenders)
                             << "; it may only use memcpy, memmove, memset, dlopen and dlsym";
}

}  // namespace tern::codegen
