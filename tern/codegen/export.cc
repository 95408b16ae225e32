// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/export.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tern/codegen/linkable_module.h"
#include "tern/runtime/container.h"

namespace tern::codegen {
namespace {

enum class Format { kSharedObject, kContainer };

Format FormatOf(const std::string& path) {
  if (path.ends_with(".wasm")) return Format::kSharedObject;
  if (path.ends_with(".so")) return Format::kSharedObject;
  if (path.ends_with(".tern")) return Format::kContainer;
  TERN_THROW(ValueError)
      << path << ": unknown ending; expected .so (a shared library) or .tern (a container)";
  __builtin_unreachable();
}

const LinkableModule& HostCode(const ffi::Module& module) {
  const auto* host = dynamic_cast<const LinkableModule*>(module.get());
  TERN_CHECK(host && (host->properties() & ffi::ModuleObj::kLinkable))
      << "a module of kind " << module->kind()
      << " is no host code, so it cannot be exported by itself";
  return *host;
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
  if (options.keep_source)
    for (const std::string& format : module->SourceFormats())
      container->Add("source." + number + "." + format, module->InspectSource(format));
  for (const ffi::Module& below : module->imports()) {
    int child = AddImport(below, options, meta, container);
    meta->imports[index].imports.push_back(child);
  }
  return static_cast<int>(index);
}

[[noreturn]] void ThrowUnwritable(const std::string& path) {
  TERN_THROW(RuntimeError) << path << ": cannot be written: " << std::strerror(errno);
}

// A file beside the final one, which takes its place when all of it is there.
class PendingFile {
 public:
  explicit PendingFile(std::string path)
      : path_(std::move(path)), name_(path_ + "." + std::to_string(getpid()) + ".tmp") {
    // Open to whom the umask allows, executable as libraries are.
    file_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0777);
    if (file_ < 0) ThrowUnwritable(path_);
  }
  ~PendingFile() {
    if (file_ >= 0) close(file_);
    if (!name_.empty()) unlink(name_.c_str());
  }
  PendingFile(const PendingFile&) = delete;

  void Write(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t written = write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) ThrowUnwritable(path_);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }
  void Finish() {
    int file = std::exchange(file_, -1);
    if (close(file) != 0 || std::rename(name_.c_str(), path_.c_str()) != 0) ThrowUnwritable(path_);
    name_.clear();
  }

 private:
  std::string path_, name_;
  int file_;
};

}  // namespace

void Export(const ffi::Module& module, runtime::ArtifactMeta meta, const std::string& path,
            const ExportOptions& options) {
  Format format = FormatOf(path);
  const LinkableModule& host = HostCode(module);
  runtime::ContainerWriter container;
  meta.tern_version = TERN_VERSION;
  meta.imports.clear();
  meta.root_imports.clear();
  for (const ffi::Module& below : module->imports())
    meta.root_imports.push_back(AddImport(below, options, &meta, &container));
  container.Add("meta", runtime::WriteMeta(meta));

  std::string bytes;
  if (format == Format::kSharedObject) {
    if (host.library_ending() == ".so") {
      bytes = host.LinkSharedObject(runtime::WrapForSharedObject(container.Finish()));
      runtime::SealSharedObject(&bytes);
    } else {
      bytes = host.LinkSharedObject(container.Finish());
    }
  } else {
    container.Add("host." + host.triple(), host.LinkSharedObject(""));
    bytes = container.Finish();
  }
  PendingFile file(path);
  file.Write(bytes);
  file.Finish();
}

}  // namespace tern::codegen
