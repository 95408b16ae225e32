// SPDX-License-Identifier: Apache-2.0
//
// Host code as C source, and the target kind that makes it.
#ifndef TERN_BACKEND_CPU_CODEGEN_C_MODULE_H_
#define TERN_BACKEND_CPU_CODEGEN_C_MODULE_H_

#include <string>
#include <vector>

#include "tern/codegen/linkable_module.h"

namespace tern::backend::cpu {

// Linkable through a C compiler, and not runnable as it is.
class CSourceModule : public codegen::LinkableModule {
 public:
  // `compiler` as CCompiler takes it; it is not looked for before something has to be linked.
  CSourceModule(std::string source, std::vector<std::string> function_names, std::string compiler)
      : source_(std::move(source)),
        function_names_(std::move(function_names)),
        compiler_(std::move(compiler)) {}

  std::string kind() const override { return "c"; }
  uint32_t properties() const override { return kLinkable; }
  ffi::Function GetFunction(std::string_view name) override;
  std::vector<std::string> FunctionNames() const override { return function_names_; }
  std::string InspectSource(std::string_view format) const override;
  std::vector<std::string> SourceFormats() const override { return {"c"}; }

  std::string triple() const override;
  std::string LinkSharedObject(std::string_view section) const override;

 private:
  std::string source_;
  std::vector<std::string> function_names_;
  std::string compiler_;
};

// Makes the target kind `c` and `target.build.c` known.
void RegisterC();

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_C_MODULE_H_
