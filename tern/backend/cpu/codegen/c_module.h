// SPDX-License-Identifier: Apache-2.0
//
// Host code as C source, and the target kind that makes it.
#ifndef TERN_BACKEND_CPU_CODEGEN_C_MODULE_H_
#define TERN_BACKEND_CPU_CODEGEN_C_MODULE_H_

#include <string>
#include <vector>

#include "tern/backend/cpu/codegen/c_host.h"
#include "tern/codegen/linkable_module.h"
#include "tern/codegen/undefined_symbols.h"

namespace tern::backend::cpu {

// Linkable through a C compiler, and not runnable as it is.
class CSourceModule : public codegen::LinkableModule {
 public:
  // `compiler` as CCompiler takes it; it is not looked for before something has to be linked.
  CSourceModule(CSource source, std::string compiler, bool is_packed = true,
                std::vector<codegen::ExternCall> extern_calls = {})
      : source_(std::move(source)),
        compiler_(std::move(compiler)),
        is_packed_(is_packed),
        extern_calls_(std::move(extern_calls)) {}

  std::string kind() const override { return "c"; }
  uint32_t properties() const override { return kLinkable; }
  ffi::Function GetFunction(std::string_view name) override;
  std::vector<std::string> FunctionNames() const override;
  std::string InspectSource(std::string_view format) const override;
  std::vector<std::string> SourceFormats() const override { return {"c"}; }

  std::string triple() const override;
  std::string LinkSharedObject(std::string_view section) const override;
  std::vector<codegen::FileFormat> FileFormats() const override;
  std::string MakeFile(std::string_view ending) const override;
  bool is_packed() const override { return is_packed_; }
  std::string SymbolOf(const std::string& function) const override;
  std::string DeclarationOf(const std::string& function) const override;
  std::string HeaderStart() const override;
  int64_t static_bytes() const override { return source_.static_bytes; }

 private:
  // The source, with its data.
  std::string Text() const;

  CSource source_;
  std::string compiler_;
  bool is_packed_;
  std::vector<codegen::ExternCall> extern_calls_;
};

// Makes the target kind `c` and `target.build.c` known.
void RegisterC();

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_C_MODULE_H_
