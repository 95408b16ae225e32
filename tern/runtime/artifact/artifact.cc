// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/artifact.h"

#include <algorithm>
#include <new>

#include "tern/ffi/escape_text.h"
#include "tern/ffi/text.h"
#include "tern/runtime/artifact/elf_file.h"
#include "tern/runtime/artifact/sha256.h"
#include "tern/runtime/host/cpu_features.h"
#include "tern/runtime/host/host_module.h"
#include "tern/runtime/kernel/device_module.h"

namespace tern::runtime {
namespace {

constexpr std::string_view kSealMagic = "TERNSEAL";
constexpr size_t kSealHash = 8;  // where the hash stands behind the magic
constexpr size_t kHashSize = 32;
constexpr size_t kSealedSize = kSealHash + kHashSize;  // where it says how many bytes are sealed
constexpr size_t kSealSize = 64;  // then the container starts, as aligned as the section is
constexpr std::string_view kHostPrefix = "host.";
constexpr const char* kMetaSection = "meta";

std::string TripleOf(uint16_t machine) { return ElfMachineName(machine) + "-linux-gnu"; }

// Where the wrapped container lies in a shared object.
ElfSection SealedSection(std::string_view bytes, const NeedBytes& need = nullptr) {
  std::optional<ElfSection> section = FindElfSection(bytes, kContainerSection, need);
  TERN_CHECK(section) << "not a Tern artifact: a shared object without a section "
                      << kContainerSection;
  if (need) need(section->offset, std::min<uint64_t>(section->size, kSealSize));
  TERN_CHECK(section->size >= kSealSize &&
             bytes.substr(section->offset, kSealMagic.size()) == kSealMagic)
      << "not a Tern artifact: its section " << kContainerSection << " has no seal";
  return *section;
}

std::string SealOf(std::string_view bytes, const ElfSection& section) {
  size_t at = section.offset + kSealHash;
  return Sha256({bytes.substr(0, at), std::string(kHashSize, '\0'), bytes.substr(at + kHashSize)});
}

// Which part of a shared object with another seal is to blame, as far as its container tells.
std::string AlteredPart(std::string_view container) {
  try {
    std::vector<std::string> sections = ContainerReader(container).AlteredSections();
    if (sections.empty()) return "what lies around its container";
    return (sections.size() == 1 ? "section " : "sections ") + ffi::Join(sections) +
           " of its container";
  } catch (const Error& error) {
    return "its container (" + error.message() + ")";
  }
}

// Of a shared object, all of which is read: its seal covers every byte. Before that the headers
// are looked at, and must account for what there is.
std::string_view FindSealedContainer(std::string_view bytes, const NeedBytes& need,
                                     uint64_t* base_size, std::string* hash) {
  // Some linkers fill the last page.
  constexpr uint64_t kMostPadding = 1 << 16;
  ElfSection section = SealedSection(bytes, need);
  // 0: the whole file.
  if (auto sealed = LoadLe<uint64_t>(bytes.substr(section.offset + kSealedSize)); sealed != 0) {
    TERN_CHECK(sealed <= bytes.size())
        << "the file is truncated, or was stripped, which takes its weights away: it was sealed "
        << "with " << sealed << " bytes, and has " << bytes.size();
    bytes = bytes.substr(0, sealed);
  }
  *base_size = bytes.size();
  uint64_t extent = ElfExtent(bytes, need);
  TERN_CHECK(bytes.size() - extent <= kMostPadding)
      << "the file was altered: it has " << bytes.size() << " bytes, and its ELF headers tell of "
      << extent;
  std::string_view stored = bytes.substr(section.offset + kSealHash, kHashSize);
  TERN_CHECK(stored.find_first_not_of('\0') != std::string_view::npos)
      << "the file was never sealed";
  need(0, bytes.size());
  std::string_view container = bytes.substr(section.offset + kSealSize, section.size - kSealSize);
  TERN_CHECK(SealOf(bytes, section) == stored) << "the file was altered or truncated: its hash is "
                                                  "not the one it was sealed with; altered is "
                                               << AlteredPart(container);
  *hash = stored;
  return container;
}

// Sets where it ends, for weights may follow, and the hash of all up to there.
ContainerReader FindContainer(PartlyReadFile* file, uint64_t* base_size, std::string* hash) {
  std::string_view bytes = file->bytes();
  auto need = [file](uint64_t offset, uint64_t size) { file->Need(offset, size); };
  need(0, std::min<size_t>(bytes.size(), kContainerMagic.size()));
  if (IsElf(bytes)) return ContainerReader(FindSealedContainer(bytes, need, base_size, hash));
  TERN_CHECK(bytes.starts_with(kContainerMagic))
      << "not a Tern artifact: neither a container (.tern) nor a shared object (.so)";
  *base_size = bytes.size();
  if (bytes.size() >= kContainerSizeOffset + sizeof(uint64_t)) {
    need(kContainerSizeOffset, sizeof(uint64_t));
    *base_size = std::min(*base_size, LoadLe<uint64_t>(bytes.substr(kContainerSizeOffset)));
  }
  ContainerReader container(bytes.substr(0, *base_size), need);
  *hash = container.table_hash();
  return container;
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> FunctionNames(const ArtifactMeta& meta) {
  std::vector<std::string> names;
  for (const FunctionInfo& function : meta.functions) names.push_back(function.name);
  return names;
}

// Puts the path in front of what `body` throws, and makes one line of it: messages have texts of
// the file in them.
template <class Body>
auto NamingPath(const std::string& path, const PartlyReadFile& file, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(error.kind(), path + ": " + ffi::Escaped(error.message()));
  } catch (const std::bad_alloc&) {
    throw Error("RuntimeError", path + ": there is no memory for what it holds; the file has " +
                                    std::to_string(file.bytes().size()) + " bytes");
  }
}

}  // namespace

Artifact::Artifact(std::string path, std::shared_ptr<PartlyReadFile> file)
    : path_(std::move(path)),
      file_(std::move(file)),
      container_(FindContainer(file_.get(), &base_size_, &hash_)),
      is_shared_object_(IsElf(file_->bytes())) {
  FindHostCodes();
  const HostCode* best = BestHostCode(host_codes_, HostTriple(), HasCpuFeature);
  if (best) suffix_ = best->suffix;
  meta_ = best ? MetaOf(*best) : ReadMeta(container_.Get(kMetaSection));
  FindWeights();
}

void Artifact::FindHostCodes() {
  if (is_shared_object_) host_codes_.push_back({TripleOf(ElfMachine(file_->bytes()))});
  for (const ContainerReader::Section& section : container_.sections()) {
    if (!section.name.starts_with(kHostPrefix) || is_shared_object_) continue;
    std::string triple = section.name.substr(kHostPrefix.size());
    size_t dot = std::min(triple.find('.'), triple.size());
    host_codes_.push_back({triple.substr(0, dot), triple.substr(dot)});
  }
  for (HostCode& code : host_codes_)
    if (std::string cpu = kCpuSection + code.suffix; container_.Has(cpu))
      code.features = LinesOf(container_.Get(cpu));
  std::stable_sort(host_codes_.begin(), host_codes_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.suffix.size(), a.suffix) < std::pair(b.suffix.size(), b.suffix);
  });
}

ArtifactMeta Artifact::MetaOf(const HostCode& code) const {
  ArtifactMeta meta = ReadMeta(container_.Get(std::string(kMetaSection) + code.suffix));
  if (code.suffix.empty()) return meta;
  ArtifactMeta first = ReadMeta(container_.Get(kMetaSection));
  TERN_CHECK(meta.imports == first.imports && meta.root_imports == first.root_imports)
      << "sections " << kMetaSection << " and " << kMetaSection << code.suffix
      << " differ in their imports";
  return meta;
}

void Artifact::FindWeights() {
  uint64_t size = file_->bytes().size(), expected = base_size_;
  if (container_.Has(kWeightsSection)) {
    weights_ = DecodeWeights(container_.Get(kWeightsSection));
    TERN_CHECK(!__builtin_add_overflow(WeightsStart(base_size_), weights_->data_bytes, &expected))
        << "the weights have too many bytes: " << weights_->data_bytes;
    uint64_t gap = WeightsStart(base_size_) - base_size_;
    file_->Need(base_size_, std::min(gap, size - base_size_));
    TERN_CHECK(file_->bytes().substr(base_size_, gap).find_first_not_of('\0') ==
               std::string_view::npos)
        << "the bytes before the weights are not zero";
  }
  TERN_CHECK(size == expected) << "the " << (is_shared_object_ ? "shared object" : "container")
                               << (size < expected ? " is truncated"
                                                   : " is followed by other bytes")
                               << ": " << expected << " bytes expected, " << size << " found";
}

std::shared_ptr<MappedWeights> Artifact::MapWeights(VerifyWeights verify) const {
  TERN_CHECK(weights_) << path_ << ": the file has no weights";
  return std::make_shared<MappedWeights>(path_, *file_, WeightsStart(base_size_), *weights_,
                                         verify);
}

Artifact Artifact::Open(const std::string& path) {
  auto file = std::make_shared<PartlyReadFile>(path);
  return NamingPath(path, *file, [&] { return Artifact(path, file); });
}

Artifact Artifact::FromBytes(std::string bytes, const std::string& name) {
  auto file = std::make_shared<PartlyReadFile>(name, std::move(bytes));
  return NamingPath(name, *file, [&] { return Artifact(name, file); });
}

std::vector<std::string> Artifact::hosts() const {
  std::vector<std::string> triples;
  for (const HostCode& code : host_codes_) triples.push_back(code.triple);
  return triples;
}

const HostCode* BestHostCode(const std::vector<HostCode>& codes, std::string_view triple,
                             const std::function<bool(std::string_view)>& has_feature) {
  const HostCode* best = nullptr;
  for (const HostCode& code : codes) {
    if (code.triple != triple ||
        !std::all_of(code.features.begin(), code.features.end(), has_feature))
      continue;
    if (!best || code.features.size() > best->features.size()) best = &code;
  }
  return best;
}

const HostCode& Artifact::BestHere() const {
  std::string triple = HostTriple();
  if (const HostCode* best = BestHostCode(host_codes_, triple, HasCpuFeature)) return *best;
  std::vector<std::string> missing;  // of the code that lacks least
  for (const HostCode& code : host_codes_) {
    if (code.triple != triple) continue;
    std::vector<std::string> of_one;
    std::copy_if(code.features.begin(), code.features.end(), std::back_inserter(of_one),
                 [](const std::string& feature) { return !HasCpuFeature(feature); });
    if (missing.empty() || of_one.size() < missing.size()) missing = std::move(of_one);
  }
  if (!missing.empty())
    TERN_THROW(RuntimeError) << path_ << " was compiled for another CPU: this machine's lacks "
                             << ffi::Join(missing);
  if (is_shared_object_)
    TERN_THROW(RuntimeError) << path_ << " was compiled for " << hosts().front()
                             << "; this machine is " << triple;
  TERN_THROW(RuntimeError) << path_ << " has no host code for this machine, " << triple
                           << "; it has " << (host_codes_.empty() ? "none" : ffi::Join(hosts()));
  __builtin_unreachable();
}

void Artifact::Verify() const {
  std::vector<std::string> altered =
      NamingPath(path_, *file_, [&] { return container_.AlteredSections(); });
  bool one = altered.size() == 1;
  TERN_CHECK(altered.empty()) << path_ << ": " << (one ? "section " : "sections ")
                              << ffi::Join(altered) << " of the container "
                              << (one ? "was altered: its hash is"
                                      : "were altered: their hashes are")
                              << " wrong";
  if (weights_) MapWeights(VerifyWeights::kEager);
}

std::vector<ffi::Module> Artifact::LoadImports() const {
  return NamingPath(path_, *file_, [&] {
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
  if (meta_.abi_version > TERN_ENV_VERSION)
    TERN_THROW(RuntimeError) << path_ << " needs version " << meta_.abi_version
                             << " of the ABI; this runtime has version " << TERN_ENV_VERSION;
  const HostCode& host = BestHere();
  std::vector<ffi::Module> imports = LoadImports();
  return NamingPath(path_, *file_, [&] {
    // The bytes that were verified are the ones that are mapped: the file may change under us. A
    // debugger finds them as /proc/PID/fd/N.
    std::string_view code =
        is_shared_object_ ? file_->bytes().substr(0, base_size_)
                          : container_.Get(std::string(kHostPrefix) + host.triple + host.suffix);
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

void SealSharedObject(std::string* bytes, bool weights_follow) {
  ElfSection section = SealedSection(*bytes);
  if (weights_follow) {
    bytes->resize(WeightsStart(bytes->size()));
    std::string size;
    AppendLe<uint64_t>(bytes->size(), &size);
    bytes->replace(section.offset + kSealedSize, size.size(), size);
  }
  bytes->replace(section.offset + kSealHash, kHashSize, SealOf(*bytes, section));
}

std::string HostTriple() { return TripleOf(HostElfMachine()); }

}  // namespace tern::runtime
