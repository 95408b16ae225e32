// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/undefined_symbols.h"

#include <elf.h>

#include <cstring>
#include <set>

#include "tern/ffi/error.h"
#include "tern/ffi/text.h"
#include "tern/runtime/elf_file.h"

namespace tern::codegen {

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
  static const std::set<std::string, std::less<>> kAllowed = {"dlopen", "dlsym", "memcpy",
                                                              "memmove", "memset"};
  std::vector<std::string> offenders;
  for (const std::string& name : UndefinedSymbols(shared_object))
    if (!kAllowed.contains(name)) offenders.push_back(name);
  if (!offenders.empty())
    TERN_THROW(RuntimeError) << "host code needs symbols that the runtime does not promise: "
                             << ffi::Join(offenders)
                             << "; it may only use memcpy, memmove, memset, dlopen and dlsym";
}

}  // namespace tern::codegen
