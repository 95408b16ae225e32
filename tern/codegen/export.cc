// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/export.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "tern/codegen/archive_writer.h"
#include "tern/codegen/c_header.h"
#include "tern/codegen/linkable_module.h"
#include "tern/ffi/text.h"
#include "tern/runtime/artifact/container.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/vm/verify.h"

namespace tern::codegen {
namespace {

constexpr const char* kSharedObject = ".so";
constexpr const char* kContainer = ".tern";
constexpr const char* kStaticLibrary = ".a";
constexpr const char* kTar = ".tar";
constexpr const char* kObject = ".o";
constexpr const char* kC = ".c";

std::vector<FileFormat> LegalFormats(const LinkableModule& host) {
  std::vector<FileFormat> formats = host.FileFormats();
  formats.push_back({kStaticLibrary, "a static library"});
  formats.push_back({kTar, "an archive for other build systems"});
  if (host.is_packed() && !host.library_ending().empty()) {
    formats.push_back({host.library_ending(), "a shared library"});
    formats.push_back({kContainer, "a container"});
  }
  std::sort(formats.begin(), formats.end(),
            [](const FileFormat& a, const FileFormat& b) { return a.ending < b.ending; });
  return formats;
}

std::string FormatOf(const std::string& path, const LinkableModule& host) {
  std::string ending = std::filesystem::path(path).extension();
  std::vector<std::string> legal;
  for (const FileFormat& format : LegalFormats(host)) {
    if (format.ending == ending) return ending;
    legal.push_back(format.ending + " (" + format.description + ")");
  }
  TERN_THROW(ValueError) << path << ": a module of kind " << host.kind()
                         << (host.is_packed() ? "" : " with plain functions")
                         << " does not become a file "
                         << (ending.empty() ? "without ending" : "that ends in " + ending)
                         << "; the endings are " << ffi::Join(legal);
  __builtin_unreachable();
}

void AddSources(const ffi::Module& module, const std::string& whose,
                runtime::ContainerWriter* container) {
  for (const std::string& format : module->SourceFormats())
    container->Add("source." + whose + "." + format, module->InspectSource(format));
}

// Stores a module below the root and all below it, parents first; gives its index.
int AddImport(const ffi::Module& module, const ExportOptions& options, runtime::ArtifactMeta* meta,
              runtime::ContainerWriter* container) {
  TERN_CHECK(module->properties() & ffi::ModuleObj::kSerializable)
      << "the imported module of kind " << module->kind() << " cannot be saved";
  size_t index = meta->imports.size();
  meta->imports.push_back({module->kind(), {}});
  std::string number = std::to_string(index);
  container->Add("module." + number, module->SaveToBytes());
  if (options.keep_source) AddSources(module, number, container);
  for (const ffi::Module& below : module->imports()) {
    int child = AddImport(below, options, meta, container);
    meta->imports[index].imports.push_back(child);
  }
  return static_cast<int>(index);
}

// The saved bytes of what a module imports, and of what that imports.
std::string SavedImports(const ffi::Module& module) {
  std::string all;
  for (const ffi::Module& below : module->imports())
    all += below->kind() + "(" + below->SaveToBytes() + SavedImports(below) + ")";
  return all;
}

void CheckHosts(const std::vector<ffi::Module>& hosts, const std::string& path,
                const std::string& format) {
  TERN_CHECK(hosts.size() == 1 || format == kContainer)
      << path << ": a " << format << " file has code for one host, not for " << hosts.size()
      << "; a .tern file can have several";
  for (const ffi::Module& module : hosts)
    TERN_ICHECK(hosts.size() == 1 || SavedImports(module) == SavedImports(hosts[0]))
        << "the code for the device depends on the host";
}

// A file of functions has one code for each architecture.
void CheckTriples(const std::vector<ffi::Module>& hosts, const std::string& path) {
  std::set<std::string> triples;
  for (size_t i = 0; hosts.size() > 1 && i < hosts.size(); ++i) {
    std::string triple = HostCode(hosts[i]).triple();
    TERN_CHECK(triples.insert(triple).second)
        << path << ": two hosts are " << triple << "; a file has one for each machine";
  }
}

void CheckFormat(const std::string& path, const std::string& format) {
  TERN_CHECK(format == kSharedObject || format == kContainer)
      << path << ": a model does not become a " << format << " file; the endings are "
      << kSharedObject << " and " << kContainer;
}

void CheckProgram(const HostModel& host, const std::vector<runtime::Weight>& given,
                  const std::string& path) {
  runtime::vm::VerifyProgram(host.program, &host.meta.functions);
  std::map<std::string, const runtime::Weight*> weights;
  for (const runtime::Weight& weight : given) weights[weight.name] = &weight;
  for (const runtime::vm::Constant& constant : host.program.constants) {
    if (constant.source != runtime::vm::ConstantSource::kWeights) continue;
    auto found = weights.find(constant.name);
    TERN_CHECK(found != weights.end()) << path << ": there is no weight " << constant.name;
    const runtime::Weight& weight = *found->second;
    TERN_CHECK(weight.dtype == constant.dtype && weight.shape == constant.shape)
        << path << ": weight " << weight.name << " is " << weight.dtype.str() << " of shape "
        << ffi::ShapeText(weight.shape) << ", and the program wants " << constant.dtype.str()
        << " of shape " << ffi::ShapeText(constant.shape);
  }
}

// A runtime tells machines apart by their architecture and the features of their CPU.
void CheckMachines(const std::vector<HostModel>& hosts, const std::string& path) {
  std::map<std::pair<std::string, std::vector<std::string>>, const HostModel*> machines;
  for (const HostModel& host : hosts) {
    const LinkableModule& code = HostCode(host.module);
    auto [known, is_new] = machines.try_emplace({code.triple(), code.cpu_features()}, &host);
    TERN_CHECK(is_new) << path << ": " << ffi::Join(known->second->meta.hosts) << " and "
                       << ffi::Join(host.meta.hosts)
                       << " run on the same machines; a file has one code for each";
  }
}

void AddImports(const ffi::Module& host, const ExportOptions& options, runtime::ArtifactMeta* meta,
                runtime::ContainerWriter* container) {
  meta->tern_version = TERN_VERSION;
  meta->imports.clear();
  meta->root_imports.clear();
  for (const ffi::Module& below : host->imports())
    meta->root_imports.push_back(AddImport(below, options, meta, container));
}

// The container without host code.
runtime::ContainerWriter MakeContainer(const std::vector<ffi::Module>& hosts,
                                       runtime::ArtifactMeta* meta, const ExportOptions& options) {
  runtime::ContainerWriter container;
  AddImports(hosts[0], options, meta, &container);
  container.Add("meta", runtime::WriteMeta(*meta));
  if (options.keep_source)
    for (const ffi::Module& host : hosts)
      AddSources(host, "host." + HostCode(host).triple(), &container);
  return container;
}

// The same of a model: the sections of the second machine on have a number.
runtime::ContainerWriter MakeContainer(std::vector<HostModel>* hosts, const ExportOptions& options,
                                       const runtime::WeightsTable& weights) {
  runtime::ContainerWriter container;
  runtime::ArtifactMeta& first = hosts->front().meta;
  AddImports(hosts->front().module, options, &first, &container);
  for (size_t i = 0; i < hosts->size(); ++i) {
    HostModel& host = (*hosts)[i];
    const LinkableModule& code = HostCode(host.module);
    std::string suffix = i == 0 ? "" : "." + std::to_string(i);
    host.meta.tern_version = first.tern_version;
    host.meta.imports = first.imports;
    host.meta.root_imports = first.root_imports;
    container.Add("meta" + suffix, runtime::WriteMeta(host.meta));
    container.Add(runtime::vm::kModelSection + suffix, runtime::vm::EncodeProgram(host.program));
    std::string features;
    for (const std::string& feature : code.cpu_features()) features += feature + "\n";
    if (!features.empty()) container.Add(runtime::kCpuSection + suffix, features);
    if (options.keep_source) AddSources(host.module, "host." + code.triple() + suffix, &container);
  }
  container.Add(runtime::kWeightsSection, EncodeWeights(weights));
  return container;
}

std::string MakeStaticLibrary(const LinkableModule& host) {
  std::vector<std::string> symbols;
  for (const std::string& function : host.FunctionNames())
    symbols.push_back(host.SymbolOf(function));
  return WriteStaticLibrary({"module.o", host.MakeFile(kObject)}, symbols);
}

// Source where there is some, since it fits every machine.
std::string MakeTar(const LinkableModule& host, const runtime::ArtifactMeta& meta,
                    const runtime::ContainerWriter& container) {
  std::vector<FileFormat> formats = host.FileFormats();
  bool is_source = std::any_of(formats.begin(), formats.end(),
                               [](const FileFormat& format) { return format.ending == kC; });
  const char* code = is_source ? kC : kObject;
  std::vector<ArchiveMember> files = {{"meta.json", runtime::WriteMeta(meta) + "\n"},
                                      {std::string("module") + code, host.MakeFile(code)},
                                      {"module.h", WriteHeader(host, meta, "module")}};
  if (host.is_packed()) files.push_back({"module.tern", container.Finish()});
  return WriteTar(files);
}

// Open to whom the umask allows, executable as libraries are.
constexpr mode_t kMode = 0777;

void WriteFiles(const std::vector<std::pair<std::string, std::string>>& files) {
  std::vector<std::unique_ptr<runtime::PendingFile>> pending;
  for (const auto& [path, bytes] : files) {
    pending.push_back(std::make_unique<runtime::PendingFile>(path, kMode));
    pending.back()->Write(bytes);
  }
  for (const auto& file : pending) file->Finish();
}

// `base` is a whole file; the weights follow.
void WriteWithWeights(const std::string& path, std::string base,
                      const runtime::WeightsWriter& weights) {
  base.resize(runtime::WeightsStart(base.size()));
  runtime::PendingFile file(path, kMode);
  file.Write(base);
  weights.WriteData([&](std::string_view part) { file.Write(part); });
  file.Finish();
}

}  // namespace

void Export(const ffi::Module& module, runtime::ArtifactMeta meta, const std::string& path,
            const ExportOptions& options) {
  Export(std::vector<ffi::Module>{module}, std::move(meta), path, options);
}

void Export(const std::vector<ffi::Module>& hosts, runtime::ArtifactMeta meta,
            const std::string& path, const ExportOptions& options) {
  const LinkableModule& host = HostCode(hosts.at(0));
  std::string format = FormatOf(path, host);
  CheckHosts(hosts, path, format);
  CheckTriples(hosts, path);
  if (format == host.library_ending() && format != kSharedObject) {
    runtime::ContainerWriter container = MakeContainer(hosts, &meta, options);
    return WriteFiles({{path, host.LinkSharedObject(container.Finish())}});
  }
  if (format == kSharedObject) {
    runtime::ContainerWriter container = MakeContainer(hosts, &meta, options);
    std::string bytes = host.LinkSharedObject(runtime::WrapForSharedObject(container.Finish()));
    runtime::SealSharedObject(&bytes);
    return WriteFiles({{path, bytes}});
  }
  if (format == kContainer) {
    runtime::ContainerWriter container = MakeContainer(hosts, &meta, options);
    for (const ffi::Module& module : hosts)
      container.Add("host." + HostCode(module).triple(), HostCode(module).LinkSharedObject(""));
    return WriteFiles({{path, container.Finish()}});
  }
  if (format == kTar) {
    runtime::ContainerWriter container = MakeContainer(hosts, &meta, options);
    return WriteFiles({{path, MakeTar(host, meta, container)}});
  }
  TERN_CHECK(host.imports().empty())
      << path << ": a " << format << " file holds host code alone, and this module has code for "
      << host.imports()[0]->kind() << " too; .so, .tern and .tar files have room for it";
  if (format == kStaticLibrary) return WriteFiles({{path, MakeStaticLibrary(host)}});
  std::vector<std::pair<std::string, std::string>> files = {{path, host.MakeFile(format)}};
  std::filesystem::path header = path;
  if (format == kC)
    files.emplace_back(header.replace_extension(".h"), WriteHeader(host, meta, header.stem()));
  WriteFiles(files);
}

uint64_t ExportModel(std::vector<HostModel> hosts, const std::vector<runtime::Weight>& weights,
                     const std::string& path, const ExportOptions& options) {
  const LinkableModule& host = HostCode(hosts.at(0).module);
  std::string format = FormatOf(path, host);
  CheckFormat(path, format);
  std::vector<ffi::Module> modules;
  for (const HostModel& one : hosts) modules.push_back(one.module);
  CheckHosts(modules, path, format);
  CheckMachines(hosts, path);
  for (const HostModel& one : hosts) CheckProgram(one, weights, path);
  runtime::WeightsWriter writer(weights);
  runtime::ContainerWriter container = MakeContainer(&hosts, options, writer.table());
  if (format == kSharedObject) {
    std::string bytes = host.LinkSharedObject(runtime::WrapForSharedObject(container.Finish()));
    runtime::SealSharedObject(&bytes, /*weights_follow=*/true);
    WriteWithWeights(path, std::move(bytes), writer);
    return writer.table().data_bytes;
  }
  for (size_t i = 0; i < modules.size(); ++i) {
    const LinkableModule& code = HostCode(modules[i]);
    container.Add("host." + code.triple() + (i == 0 ? "" : "." + std::to_string(i)),
                  code.LinkSharedObject(""));
  }
  WriteWithWeights(path, container.Finish(), writer);
  return writer.table().data_bytes;
}

}  // namespace tern::codegen
