// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/load_linkable.h"

#include "tern/codegen/linkable_module.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/host/host_module.h"

namespace tern::codegen {

ffi::Module LoadLinkable(const ffi::Module& module) {
  if (module->properties() & ffi::ModuleObj::kRunnable) return module;
  auto* linkable = dynamic_cast<const LinkableModule*>(module.get());
  TERN_CHECK(linkable) << "a module of kind " << module->kind() << " can be neither run nor linked";
  if (linkable->triple() != runtime::HostTriple())
    TERN_THROW(RuntimeError) << "compiled for " << linkable->triple() << "; this machine is "
                             << runtime::HostTriple();
  ffi::Module loaded =
      runtime::OpenLibraryFromMemory(linkable->LinkSharedObject(""), module->FunctionNames());
  for (const ffi::Module& import : module->imports()) loaded->Import(import);
  return loaded;
}

}  // namespace tern::codegen
