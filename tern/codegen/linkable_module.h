// SPDX-License-Identifier: Apache-2.0
//
// Host code as the code generators make it: it can become a shared object, and other files.
#ifndef TERN_CODEGEN_LINKABLE_MODULE_H_
#define TERN_CODEGEN_LINKABLE_MODULE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tern/ffi/module.h"

namespace tern::codegen {

// A kind of file: the ending of its name, ".o", and what it is.
struct FileFormat {
  std::string ending, description;
};

class LinkableModule : public ffi::ModuleObj {
 public:
  // The machine the code is for, as the runtime names it: "x86_64-linux-gnu".
  virtual std::string triple() const = 0;

  // What the code needs of the CPU, of what runtimes can look for (runtime/cpu_features.h).
  virtual std::vector<std::string> cpu_features() const { return {}; }

  // How the names of libraries for that machine end, which LinkSharedObject makes; "" where the
  // code cannot be linked for it.
  virtual std::string library_ending() const { return ".so"; }

  // The bytes of a shared object that exports the functions as TERN_SYMBOL_PREFIX symbols.
  // `section` becomes its section runtime::kContainerSection, 64-byte aligned and not loaded
  // otherwise than as read-only data; none where it is empty. The result has no undefined symbol
  // beyond memcpy, memmove, memset, dlopen and dlsym; an offender is an error by name. The same
  // module and section give the same bytes. Throws where the functions are not packed.
  virtual std::string LinkSharedObject(std::string_view section) const = 0;

  // The other files that the code can be. ".o", a relocatable object, is always among them.
  virtual std::vector<FileFormat> FileFormats() const = 0;
  // The bytes of one of them.
  virtual std::string MakeFile(std::string_view ending) const = 0;

  // Whether the functions are called by the runtime, through TERN_SYMBOL_PREFIX symbols.
  virtual bool is_packed() const { return true; }
  // The symbol of a function, and its declaration in C.
  virtual std::string SymbolOf(const std::string& function) const;
  virtual std::string DeclarationOf(const std::string& function) const;
  // What stands before the declarations in a header.
  virtual std::string HeaderStart() const;

  // Read-only bytes that the code finds by symbol_address; they are 64-byte aligned, and part of
  // all files made of the module from now on.
  void AddData(std::string symbol, std::string bytes) {
    data_.emplace_back(std::move(symbol), std::move(bytes));
  }
  // Of static memory, beyond such data; 0 where the code has a heap.
  virtual int64_t static_bytes() const { return 0; }

  const std::vector<std::pair<std::string, std::string>>& data() const { return data_; }

 private:
  std::vector<std::pair<std::string, std::string>> data_;
};

// The module as such; throws where it is no host code.
LinkableModule& HostCode(const ffi::Module& module);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LINKABLE_MODULE_H_
