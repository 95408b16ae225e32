// SPDX-License-Identifier: Apache-2.0
//
// tern inspect: what is in a compiled file. Nothing of it is executed.
#include <cstdio>

#include "tern/ffi/text.h"
#include "tern/runtime/artifact.h"
#include "tern/runtime/sha256.h"
#include "tools/tern/commands.h"

namespace tern::tools {
namespace {

void PrintSource(const runtime::Artifact& artifact, const std::string& format) {
  std::vector<ffi::Module> modules = artifact.LoadImports();
  std::vector<std::string> known;
  for (const ffi::Module& module : modules) {
    for (const std::string& have : module->SourceFormats()) {
      known.push_back(have);
      if (have != format) continue;
      std::fputs(module->InspectSource(format).c_str(), stdout);
      return;
    }
  }
  TERN_THROW(ValueError) << artifact.path() << " has no source of format '" << format
                         << "'; it has " << (known.empty() ? "none" : ffi::Join(known));
}

}  // namespace

void Inspect(const InspectOptions& options) {
  runtime::Artifact artifact = runtime::Artifact::Open(options.input);
  if (!options.format.empty()) return PrintSource(artifact, options.format);
  const runtime::ArtifactMeta& meta = artifact.meta();
  std::printf("%s: %s, made by Tern %s\n", options.input.c_str(),
              artifact.is_shared_object() ? "shared library" : "container",
              meta.tern_version.c_str());
  std::printf("target     %s\n", meta.target.c_str());
  std::printf("device     %s\n", meta.device.c_str());
  std::printf("host code  %s\n", ffi::Join(artifact.hosts()).c_str());
  for (const runtime::FunctionInfo& function : meta.functions)
    std::printf("function   %s\n", runtime::SignatureText(function).c_str());
  for (const runtime::ContainerReader::Section& section : artifact.container().sections())
    std::printf("section    %-12s %8zu bytes  sha256 %s\n", section.name.c_str(),
                section.bytes.size(), runtime::ToHex(section.sha256).substr(0, 16).c_str());
  for (const ffi::Module& module : artifact.LoadImports()) {
    std::printf("\nmodule     %s, kernels: %s, sources: %s\n", module->kind().c_str(),
                ffi::Join(module->FunctionNames()).c_str(),
                ffi::Join(module->SourceFormats()).c_str());
    if (!module->SourceFormats().empty()) std::printf("\n%s", module->InspectSource("").c_str());
  }
}

}  // namespace tern::tools
