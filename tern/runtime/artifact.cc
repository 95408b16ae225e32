// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact.h"

#include <algorithm>

#include "tern/ffi/text.h"
#include "tern/runtime/device_module.h"
#include "tern/runtime/elf_file.h"
#include "tern/runtime/host_module.h"
#include "tern/runtime/sha256.h"

namespace tern::runtime {
namespace {

constexpr std::string_view kSealMagic = "TERNSEAL";
constexpr size_t kSealHash = 8;  // where the hash stands behind the magic
constexpr size_t kHashSize = 32;
constexpr size_t kSealSize = 64;  // then the container starts, as aligned as the section is
constexpr std::string_view kHostPrefix = "host.";

std::string TripleOf(uint16_t machine) { return ElfMachineName(machine) + "-linux-gnu"; }

// Where the wrapped container lies in a shared object.
ElfSection SealedSection(std::string_view bytes) {
  std::optional<ElfSection> section = FindElfSection(bytes, kContainerSection);
  TERN_CHECK(section) << "not a Tern artifact: a shared object without a section "
                      << kContainerSection;
  TERN_CHECK(section->size >= kSealSize &&
             bytes.substr(section->offset, kSealMagic.size()) == kSealMagic)
      << "not a Tern artifact: its section " << kContainerSection << " has no seal";
  return *section;
}

std::string SealOf(std::string_view bytes, const ElfSection& section) {
  size_t at = section.offset + kSealHash;
  return Sha256({bytes.substr(0, at), std::string(kHashSize, '\0'), bytes.substr(at + kHashSize)});
}

// Of a shared object, all of which is read: its seal covers every byte.
std::string_view FindSealedContainer(std::string_view bytes) {
  ElfSection section = SealedSection(bytes);
  std::string_view stored = bytes.substr(section.offset + kSealHash, kHashSize);
  TERN_CHECK(stored.find_first_not_of('\0') != std::string_view::npos)
      << "the file was never sealed";
  TERN_CHECK(SealOf(bytes, section) == stored)
      << "the file was altered or truncated: its hash is not the one it was sealed with";
  return bytes.substr(section.offset + kSealSize, section.size - kSealSize);
}

ContainerReader FindContainer(PartlyReadFile* file) {
  std::string_view bytes = file->bytes();
  file->Need(0, std::min<size_t>(bytes.size(), kContainerMagic.size()));
  if (IsElf(bytes)) {
    file->Need(0, bytes.size());
    return ContainerReader(FindSealedContainer(bytes));
  }
  TERN_CHECK(bytes.starts_with(kContainerMagic))
      << "not a Tern artifact: neither a container (.tern) nor a shared object (.so)";
  return ContainerReader(bytes,
                         [file](uint64_t offset, uint64_t size) { file->Need(offset, size); });
}

std::vector<std::string> FunctionNames(const ArtifactMeta& meta) {
  std::vector<std::string> names;
  for (const FunctionInfo& function : meta.functions) names.push_back(function.name);
  return names;
}

// Puts the path in front of what `body` throws.
template <class Body>
auto NamingPath(const std::string& path, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(error.kind(), path + ": " + error.message());
  }
}

}  // namespace

Artifact::Artifact(std::string path, std::shared_ptr<PartlyReadFile> file)
    : path_(std::move(path)),
      file_(std::move(file)),
      container_(FindContainer(file_.get())),
      is_shared_object_(IsElf(file_->bytes())),
      meta_(ReadMeta(container_.Get("meta"))) {}

Artifact Artifact::Open(const std::string& path) {
  auto file = std::make_shared<PartlyReadFile>(path);
  return NamingPath(path, [&] { return Artifact(path, std::move(file)); });
}

Artifact Artifact::FromBytes(std::string bytes, const std::string& name) {
  auto file = std::make_shared<PartlyReadFile>(name, std::move(bytes));
  return NamingPath(name, [&] { return Artifact(name, std::move(file)); });
}

std::vector<std::string> Artifact::hosts() const {
  if (is_shared_object_) return {TripleOf(ElfMachine(file_->bytes()))};
  std::vector<std::string> hosts;
  for (const ContainerReader::Section& section : container_.sections())
    if (section.name.starts_with(kHostPrefix))
      hosts.push_back(section.name.substr(kHostPrefix.size()));
  return hosts;
}

std::vector<ffi::Module> Artifact::LoadImports() const {
  return NamingPath(path_, [&] {
    std::vector<ffi::Module> modules;
    for (size_t i = 0; i < meta_.imports.size(); ++i)
      modules.push_back(
          LoadDeviceModule(meta_.imports[i].kind, container_.Get("module." + std::to_string(i))));
    for (size_t i = 0; i < modules.size(); ++i)
      for (int below : meta_.imports[i].imports)
        modules[i]->Import(modules[static_cast<size_t>(below)]);
    return modules;
  });
}

ffi::Module Artifact::Load() const {
  std::string triple = HostTriple();
  std::vector<std::string> there = hosts();
  if (is_shared_object_ && there.front() != triple)
    TERN_THROW(RuntimeError) << path_ << " was compiled for " << there.front()
                             << "; this machine is " << triple;
  if (meta_.abi_version > TERN_ENV_VERSION)
    TERN_THROW(RuntimeError) << path_ << " needs version " << meta_.abi_version
                             << " of the ABI; this runtime has version " << TERN_ENV_VERSION;
  std::string section = std::string(kHostPrefix) + triple;
  if (!is_shared_object_ && !container_.Has(section))
    TERN_THROW(RuntimeError) << path_ << " has no host code for this machine, " << triple
                             << "; it has " << (there.empty() ? "none" : ffi::Join(there));
  std::vector<ffi::Module> imports = LoadImports();
  return NamingPath(path_, [&] {
    // The bytes that were verified are the ones that are mapped: the file may change under us. A
    // debugger finds them as /proc/PID/fd/N.
    std::string_view code = is_shared_object_ ? file_->bytes() : container_.Get(section);
    ffi::Module module = OpenLibraryFromMemory(code, FunctionNames(meta_));
    for (int index : meta_.root_imports) module->Import(imports[static_cast<size_t>(index)]);
    return module;
  });
}

ffi::Module LoadModule(const std::string& path) { return Artifact::Open(path).Load(); }
ffi::Module LoadModuleFromBytes(std::string bytes, const std::string& name) {
  return Artifact::FromBytes(std::move(bytes), name).Load();
}

std::string WrapForSharedObject(std::string_view container) {
  std::string wrapped(kSealMagic);
  wrapped.resize(kSealSize);
  return wrapped.append(container);
}

void SealSharedObject(std::string* bytes) {
  ElfSection section = SealedSection(*bytes);
  bytes->replace(section.offset + kSealHash, kHashSize, SealOf(*bytes, section));
}

std::string HostTriple() { return TripleOf(HostElfMachine()); }

}  // namespace tern::runtime
