// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <string_view>

#include "tern/runtime/artifact/sha256.h"

namespace tern::codegen {
namespace {

struct Search {
  uintptr_t code;
  std::string id;
};

// Who defined the note, with the zero behind it.
constexpr std::string_view kOwner("GNU\0", 4);

constexpr size_t RoundUpToWord(size_t bytes) { return (bytes + 3) / 4 * 4; }

// The id among the notes of a segment, or "".
std::string FindId(std::string_view notes) {
  ElfW(Nhdr) head;
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    size_t name = sizeof head, id = name + RoundUpToWord(head.n_namesz),
           end = id + RoundUpToWord(head.n_descsz);
    if (end > notes.size()) return "";
    if (head.n_type == NT_GNU_BUILD_ID && notes.substr(name, head.n_namesz) == kOwner)
      return runtime::ToHex(notes.substr(id, head.n_descsz));
    notes.remove_prefix(end);
  }
  return "";
}

int Visit(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  auto start = [&](const ElfW(Phdr) & segment) { return info->dlpi_addr + segment.p_vaddr; };
  bool has_code = false;
  std::string id;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD)
      has_code |= search->code - start(segment) < segment.p_memsz;
    else if (segment.p_type == PT_NOTE && id.empty())
      // NOLINTNEXTLINE(performance-no-int-to-ptr): an address, as the dynamic linker has it
      id = FindId({reinterpret_cast<const char*>(start(segment)), segment.p_memsz});
  }
  if (has_code) search->id = std::move(id);
  return has_code ? 1 : 0;
}

}  // namespace

std::string BuildIdOf(const void* code) {
  Search search{reinterpret_cast<uintptr_t>(code), ""};
  dl_iterate_phdr(Visit, &search);
  return search.id;
}

std::string BuildId() { return BuildIdOf(reinterpret_cast<const void*>(&BuildIdOf)); }

}  // namespace tern::codegen
