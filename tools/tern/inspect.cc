// SPDX-License-Identifier: Apache-2.0
//
// tern inspect: what is in a compiled file, or in an ONNX model. Nothing of it is executed, all of
// it is verified, and what it says of itself stays on its line.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

#include "tern/ffi/escape_text.h"
#include "tern/ffi/text.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/artifact/sha256.h"
#include "tern/runtime/host/cpu_features.h"
#include "tern/runtime/vm/load_model.h"
#include "tern/runtime/vm/text.h"
#include "tern/runtime/vm/verify.h"
#include "tools/tern/inspect.h"

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
  std::set<std::pair<std::string, std::string>> kept;
  constexpr std::string_view kPrefix = "source.", kHost = "host.";
  for (const runtime::ContainerReader::Section& section : artifact.container().sections()) {
    if (!section.name.starts_with(kPrefix)) continue;
    std::string name = section.name.substr(kPrefix.size());
    size_t dot = name.rfind('.');
    std::string whose = name.substr(0, dot);
    whose = whose.starts_with(kHost) ? "host " + whose.substr(kHost.size()) : "module " + whose;
    sources.push_back(
        {whose, name.substr(dot + 1), std::string(artifact.container().Get(section.name))});
    kept.emplace(whose, sources.back().format);
  }
  for (size_t i = 0; i < modules.size(); ++i)
    for (const std::string& format : modules[i]->SourceFormats()) {
      std::string whose = "module " + std::to_string(i);
      if (!kept.contains({whose, format}))
        sources.push_back({whose, format, modules[i]->InspectSource(format)});
    }
  return sources;
}

// Those of one format, each below its name where there are several: as they are, for other
// programs, but to a terminal.
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
                           << ffi::Escaped(ffi::Join(known));
  for (const Source* source : wanted) {
    if (wanted.size() > 1) std::printf("== %s\n", source->whose.c_str());
    std::string text = isatty(STDOUT_FILENO) ? ffi::Escaped(source->text, true) : source->text;
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
}

void PrintHead(const runtime::Artifact& artifact) {
  const runtime::ArtifactMeta& meta = artifact.meta();
  std::printf("%s: %s of format %u, made by Tern %s\n", artifact.path().c_str(),
              artifact.is_shared_object() ? "shared library" : "container",
              runtime::kContainerVersion, ffi::Escaped(meta.tern_version).c_str());
  PrintLine("abi", std::to_string(meta.abi_version));
  PrintLine("target", meta.target);
  PrintLine("device", meta.device);
  for (const std::string& host : meta.hosts) PrintLine("host", host);
  PrintLine("host code", ffi::Join(artifact.hosts()));
  for (const runtime::FunctionInfo& function : meta.functions)
    PrintLine("function", runtime::SignatureText(function));
}

// Of a model, which has its own program for each host: what it was compiled for, what it needs of
// the CPU, and which one is described above.
void PrintHosts(const runtime::Artifact& artifact) {
  for (const runtime::HostCode& code : artifact.host_codes()) {
    bool is_best =
        &code == BestHostCode(artifact.host_codes(), runtime::HostTriple(), runtime::HasCpuFeature);
    PrintLine("for",
              ffi::Join(artifact.MetaOf(code).hosts) + (is_best ? ", which is run here" : ""));
    if (!code.features.empty()) PrintLine("cpu", ffi::Join(code.features));
  }
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

// Set off from the lines that say what was found.
void PrintIndented(std::string_view text) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    std::printf(line.empty() ? "\n" : "  %s\n", line.c_str());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

runtime::vm::Program VerifiedProgram(const runtime::Artifact& artifact) {
  runtime::vm::Program program = runtime::vm::ReadProgram(artifact);
  VerifyProgram(program, &artifact.meta().functions);
  return program;
}

// What a model takes and gives, and what it is made of.
void PrintModel(const runtime::Artifact& artifact) {
  using namespace runtime::vm;
  Program program = VerifiedProgram(artifact);
  for (const std::string& dim : program.dims) PrintLine("dim", dim);
  for (const Port& port : program.inputs)
    PrintLine("input", port.name + ": " + PrintPortType(program, port));
  for (const Port& port : program.outputs)
    PrintLine("output", port.name + ": " + PrintPortType(program, port));
  size_t calls = 0, instructions = 0;
  for (const Function& function : program.functions) {
    instructions += function.code.size();
    for (const Instruction& instruction : function.code)
      calls += instruction.op == Opcode::kCall || instruction.op == Opcode::kCallPacked;
  }
  PrintLine("program", std::to_string(instructions) + " instructions, " + std::to_string(calls) +
                           " calls of " + std::to_string(program.kernels.size()) + " kernels, " +
                           std::to_string(program.prepack.size()) + " to prepack weights");
  if (const runtime::WeightsTable* weights = artifact.weights())
    PrintLine("weights", std::to_string(weights->entries.size()) + ", " +
                             std::to_string(weights->data_bytes) + " bytes");
  const Function& main = program.functions[0];
  if (program.dims.empty())
    PrintLine(
        "arena",
        std::to_string(PlanFunction(main, PlannedTensors(main, true), nullptr).bytes) + " bytes");
  else
    PrintLine("arena", "by the dims");
}

void Show(const runtime::Artifact& artifact, const std::vector<ffi::Module>& modules,
          const std::vector<Source>& sources) {
  PrintHead(artifact);
  if (runtime::vm::HasModel(artifact)) {
    PrintHosts(artifact);
    PrintModel(artifact);
  }
  PrintSections(artifact);
  for (const Source& source : sources)
    PrintLine("source", source.whose + ", " + source.format + ": " +
                            std::to_string(source.text.size()) + " bytes");
  for (const ffi::Module& module : modules) {
    std::printf("\n");
    PrintLine("module", module->kind() + ", kernels: " + ffi::Join(module->FunctionNames()));
    if (std::string text = ReadableForm(module); !text.empty()) {
      std::printf("\n");
      PrintIndented(ffi::Escaped(text, /*keep_lines=*/true));
    }
  }
}

}  // namespace

void PrintLine(const char* what, const std::string& text) {
  std::printf("%-10s %s\n", what, ffi::Escaped(text).c_str());
}

int Inspect(const InspectOptions& options) {
  if (options.input.ends_with(".onnx")) {
    InspectOnnx(options);
    return 0;
  }
  std::optional<runtime::Artifact> artifact;
  std::vector<ffi::Module> modules;
  try {
    artifact = runtime::Artifact::Open(options.input);
    artifact->Verify();
    modules = artifact->LoadImports();
  } catch (const Error& error) {
    std::fprintf(stderr, "tern: error: %s\n", error.what());
    return 1;
  }
  std::vector<Source> sources = SourcesOf(*artifact, modules);
  if (runtime::vm::HasModel(*artifact))
    sources.push_back({"program", "vm", PrintProgram(VerifiedProgram(*artifact))});
  if (options.format.empty())
    Show(*artifact, modules, sources);
  else
    PrintSources(options.input, sources, options.format);
  return 0;
}

}  // namespace tern::tools
