// SPDX-License-Identifier: Apache-2.0
#include "tools/tern/cts/batch.h"

#include "tern/codegen/export.h"
#include "tern/codegen/linkable_module.h"

namespace tern::tools {

std::string WriteProgram(const ffi::Module& compiled, const runtime::ArtifactMeta& meta,
                         const std::string& stem) {
  const auto* module = dynamic_cast<const codegen::LinkableModule*>(compiled.get());
  TERN_CHECK(module) << "a module of kind " << compiled->kind() << " cannot be linked";
  // Where a library is no file that has a runtime's part in it, what is for a device is a
  // container.
  bool is_alone = module->library_ending() == ".so" || meta.device == "cpu";
  std::string file = stem + (is_alone ? module->library_ending() : ".tern");
  codegen::Export(compiled, meta, file);
  return file;
}

std::string CallLine(const std::string& file, const runtime::FunctionInfo& function,
                     const runtime::RunOptions& options) {
  std::string line = file + "\t--entry\t" + function.name;
  for (const auto& [name, value] : options.dims)
    line += "\t--dim\t" + name + "=" + std::to_string(value);
  for (const auto& [name, value] : options.inputs) line += "\t--input\t" + name + "=" + value;
  line += "\t--offset\t" + std::to_string(options.offset);
  return line + "\t--seed\t" + std::to_string(options.seed);
}

}  // namespace tern::tools
