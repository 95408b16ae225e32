// SPDX-License-Identifier: Apache-2.0
//
// Host code as the code generators make it: it can become a shared object.
#ifndef TERN_CODEGEN_LINKABLE_MODULE_H_
#define TERN_CODEGEN_LINKABLE_MODULE_H_

#include <string>
#include <string_view>

#include "tern/ffi/module.h"

namespace tern::codegen {

class LinkableModule : public ffi::ModuleObj {
 public:
  // The machine the code is for, as the runtime names it: "x86_64-linux-gnu".
  virtual std::string triple() const = 0;

  // How the names of libraries for that machine end: what LinkSharedObject makes.
  virtual std::string library_ending() const { return ".so"; }

  // The bytes of a shared object that exports the functions as TERN_SYMBOL_PREFIX symbols.
  // `section` becomes its section runtime::kContainerSection, 64-byte aligned and not loaded
  // otherwise than as read-only data; none where it is empty. The result has no undefined symbol
  // beyond memcpy, memmove, memset, dlopen and dlsym; an offender is an error by name. The same
  // module and section give the same bytes.
  virtual std::string LinkSharedObject(std::string_view section) const = 0;
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LINKABLE_MODULE_H_
