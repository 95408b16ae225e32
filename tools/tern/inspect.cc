// SPDX-License-Identifier: Apache-2.0
//
// tern inspect: what is in a compiled file. Nothing of it is executed.
#include <algorithm>
#include <cstdio>

#include "tern/ffi/text.h"
#include "tern/runtime/artifact.h"
#include "tern/runtime/sha256.h"
#include "tools/tern/commands.h"

namespace tern::tools {
namespace {

// A readable form of some code: "host x86_64-linux-gnu", "ll".
struct Source {
  std::string whose, format, text;
};

// What was kept first, then what the device code itself is.
std::vector<Source> SourcesOf(const runtime::Artifact& artifact,
                              const std::vector<ffi::Module>& modules) {
  std::vector<Source> sources;
  constexpr std::string_view kPrefix = "source.", kHost = "host.";
  for (const runtime::ContainerReader::Section& section : artifact.container().sections()) {
    if (!section.name.starts_with(kPrefix)) continue;
    std::string name = section.name.substr(kPrefix.size());
    size_t dot = name.rfind('.');
    std::string whose = name.substr(0, dot);
    whose = whose.starts_with(kHost) ? "host " + whose.substr(kHost.size()) : "module " + whose;
    sources.push_back(
        {whose, name.substr(dot + 1), std::string(artifact.container().Get(section.name))});
  }
  for (size_t i = 0; i < modules.size(); ++i)
    for (const std::string& format : modules[i]->SourceFormats()) {
      std::string whose = "module " + std::to_string(i);
      bool kept = false;
      for (const Source& source : sources)
        kept = kept || (source.whose == whose && source.format == format);
      if (!kept) sources.push_back({whose, format, modules[i]->InspectSource(format)});
    }
  return sources;
}

// Those of one format, each below its name where there are several.
void PrintSources(const std::string& path, const std::vector<Source>& sources,
                  const std::string& format) {
  std::vector<const Source*> wanted;
  std::vector<std::string> known;
  for (const Source& source : sources) {
    known.push_back(source.format);
    if (source.format == format) wanted.push_back(&source);
  }
  if (wanted.empty())
    TERN_THROW(ValueError) << path << " has no source of format '" << format << "'; it has "
                           << (known.empty() ? "none" : ffi::Join(known));
  for (const Source* source : wanted) {
    if (wanted.size() > 1) std::printf("== %s\n", source->whose.c_str());
    std::fwrite(source->text.data(), 1, source->text.size(), stdout);
  }
}

void PrintHead(const runtime::Artifact& artifact) {
  const runtime::ArtifactMeta& meta = artifact.meta();
  std::printf("%s: %s of format %u, made by Tern %s\n", artifact.path().c_str(),
              artifact.is_shared_object() ? "shared library" : "container",
              runtime::kContainerVersion, meta.tern_version.c_str());
  std::printf("abi        %lld\n", static_cast<long long>(meta.abi_version));
  std::printf("target     %s\n", meta.target.c_str());
  std::printf("device     %s\n", meta.device.c_str());
  for (const std::string& host : meta.hosts) std::printf("host       %s\n", host.c_str());
  std::printf("host code  %s\n", ffi::Join(artifact.hosts()).c_str());
  for (const runtime::FunctionInfo& function : meta.functions)
    std::printf("function   %s\n", runtime::SignatureText(function).c_str());
}

void PrintSections(const runtime::Artifact& artifact) {
  size_t width = 0;
  for (const runtime::ContainerReader::Section& section : artifact.container().sections())
    width = std::max(width, section.name.size());
  for (const runtime::ContainerReader::Section& section : artifact.container().sections())
    std::printf("section    %-*s %9zu bytes  sha256 %s\n", static_cast<int>(width),
                section.name.c_str(), section.bytes.size(), runtime::ToHex(section.sha256).c_str());
}

// Of code that is not text, and came without a source: nothing.
std::string ReadableForm(const ffi::Module& module) {
  if (module->SourceFormats().empty()) return "";
  try {
    return module->InspectSource("");
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

void Inspect(const InspectOptions& options) {
  runtime::Artifact artifact = runtime::Artifact::Open(options.input);
  std::vector<ffi::Module> modules = artifact.LoadImports();
  std::vector<Source> sources = SourcesOf(artifact, modules);
  if (!options.format.empty()) return PrintSources(options.input, sources, options.format);
  PrintHead(artifact);
  PrintSections(artifact);
  for (const Source& source : sources)
    std::printf("source     %s, %s: %zu bytes\n", source.whose.c_str(), source.format.c_str(),
                source.text.size());
  for (const ffi::Module& module : modules) {
    std::printf("\nmodule     %s, kernels: %s\n", module->kind().c_str(),
                ffi::Join(module->FunctionNames()).c_str());
    if (std::string text = ReadableForm(module); !text.empty()) std::printf("\n%s", text.c_str());
  }
}

}  // namespace tern::tools
