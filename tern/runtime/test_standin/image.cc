// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/test_standin/image.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tern::standin {
namespace {

struct Search {
  ElfW(Addr) inside;
  ElfW(Addr) base = 0;
  std::vector<ElfW(Phdr)> headers;
};

// The segments of the library that holds the address.
int Look(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & header = info->dlpi_phdr[i];
    ElfW(Addr) begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || search->inside < begin ||
        search->inside >= begin + header.p_memsz)
      continue;
    search->base = info->dlpi_addr;
    search->headers.assign(info->dlpi_phdr, info->dlpi_phdr + info->dlpi_phnum);
    return 1;
  }
  return 0;
}

}  // namespace

std::unique_ptr<Image> Image::Open(const std::string& bytes, std::string* why) {
  int file = memfd_create("stand-in-module", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  bool is_written = write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  std::string path = "/proc/self/fd/" + std::to_string(file);
  void* library = is_written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  const auto* info =
      library ? static_cast<const tern_standin::Module*>(dlsym(library, "tern_standin_module"))
              : nullptr;
  if (info && info->version == tern_standin::kVersion)
    return std::unique_ptr<Image>(new Image(library, file, info));
  const char* error = library ? nullptr : dlerror();
  *why = error ? error : "not made by the stand-in";
  if (library) dlclose(library);
  close(file);
  return nullptr;
}

Image::Image(void* library, int file, const tern_standin::Module* info)
    : library_(library), file_(file), info_(info) {
  Search search{reinterpret_cast<ElfW(Addr)>(info)};
  dl_iterate_phdr(Look, &search);
  auto place = [&](ElfW(Addr) offset) {
    return reinterpret_cast<const char*>(search.base + offset);  // NOLINT: the loader's number
  };
  begin_ = place(0);
  for (const ElfW(Phdr) & header : search.headers) {
    const char *begin = place(header.p_vaddr), *end = begin + header.p_memsz;
    if (header.p_type == PT_LOAD) end_ = end;
    bool is_constant = header.p_type == PT_LOAD && !(header.p_flags & PF_W);
    if (is_constant || header.p_type == PT_GNU_RELRO) constants_.emplace_back(begin, end);
  }
  const auto* state = reinterpret_cast<const char*>(info->state);
  const auto* host = reinterpret_cast<const char*>(info->host);
  constants_.emplace_back(state, state + sizeof *info->state);
  constants_.emplace_back(host, host + sizeof *info->host);
}

Image::~Image() {
  dlclose(library_);
  close(file_);
}

}  // namespace tern::standin
