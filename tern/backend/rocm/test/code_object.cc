// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/test/code_object.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/Object/ELFObjectFile.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "tern/backend/rocm/codegen/rocm_kind.h"
#include "tern/ffi/error.h"

namespace tern::backend::rocm::test {
namespace {

using File = llvm::object::ELF64LEFile;
using llvm::msgpack::MapDocNode;

template <class T>
T Take(llvm::Expected<T> value) {
  TERN_CHECK(value) << "not a code object: " << llvm::toString(value.takeError());
  return std::move(*value);
}

uint64_t Number(MapDocNode& map, const char* key) {
  auto it = map.find(key);
  TERN_CHECK(it != map.end()) << "the metadata has no " << key;
  return it->second.getKind() == llvm::msgpack::Type::UInt
             ? it->second.getUInt()
             : static_cast<uint64_t>(it->second.getInt());
}

std::string Text(MapDocNode& map, const char* key) {
  auto it = map.find(key);
  return it == map.end() ? "" : it->second.getString().str();
}

KernelMetadata ReadKernel(MapDocNode& map) {
  KernelMetadata kernel;
  kernel.kernarg_bytes = Number(map, ".kernarg_segment_size");
  kernel.group_bytes = Number(map, ".group_segment_fixed_size");
  kernel.private_bytes = Number(map, ".private_segment_fixed_size");
  kernel.max_threads = Number(map, ".max_flat_workgroup_size");
  kernel.wave = Number(map, ".wavefront_size");
  if (auto it = map.find(".uses_dynamic_stack"); it != map.end())
    kernel.dynamic_stack = it->second.getBool();
  if (auto it = map.find(".args"); it != map.end())
    for (auto& node : it->second.getArray()) {
      MapDocNode& arg = node.getMap();
      std::string kind = Text(arg, ".value_kind");
      if (!kind.starts_with("hidden_"))
        kernel.args.push_back(
            {Number(arg, ".offset"), Number(arg, ".size"), kind, Text(arg, ".address_space")});
    }
  return kernel;
}

void ReadMetadata(llvm::StringRef blob, CodeObject* object) {
  llvm::msgpack::Document document;
  TERN_CHECK(document.readFromBlob(blob, /*Multi=*/false)) << "the metadata cannot be read";
  for (auto& node : document.getRoot().getMap()["amdhsa.kernels"].getArray()) {
    MapDocNode& map = node.getMap();
    object->kernels[Text(map, ".name")] = ReadKernel(map);
  }
}

std::string ArchitectureOf(uint32_t flags) {
  using namespace llvm::ELF;
  static const std::map<uint32_t, const char*> kNames = {
      {EF_AMDGPU_MACH_AMDGCN_GFX906, "gfx906"},   {EF_AMDGPU_MACH_AMDGCN_GFX908, "gfx908"},
      {EF_AMDGPU_MACH_AMDGCN_GFX90A, "gfx90a"},   {EF_AMDGPU_MACH_AMDGCN_GFX942, "gfx942"},
      {EF_AMDGPU_MACH_AMDGCN_GFX1030, "gfx1030"}, {EF_AMDGPU_MACH_AMDGCN_GFX1100, "gfx1100"},
      {EF_AMDGPU_MACH_AMDGCN_GFX1101, "gfx1101"}, {EF_AMDGPU_MACH_AMDGCN_GFX1102, "gfx1102"},
      {EF_AMDGPU_MACH_AMDGCN_GFX1200, "gfx1200"}, {EF_AMDGPU_MACH_AMDGCN_GFX1201, "gfx1201"}};
  auto it = kNames.find(flags & EF_AMDGPU_MACH);
  TERN_CHECK(it != kNames.end()) << "code for an unknown architecture";
  return it->second;
}

// A driver finds a kernel by the symbol of its descriptor.
void CheckSymbols(const File& file, const CodeObject& object) {
  std::set<std::string> defined;
  for (const auto& section : Take(file.sections())) {
    if (section.sh_type != llvm::ELF::SHT_DYNSYM) continue;
    llvm::StringRef names = Take(file.getStringTableForSymtab(section));
    for (const auto& symbol : Take(file.symbols(&section)))
      if (symbol.isDefined()) defined.insert(Take(symbol.getName(names)).str());
  }
  for (const auto& [name, kernel] : object.kernels)
    TERN_CHECK(defined.contains(name) && defined.contains(name + ".kd"))
        << "kernel " << name << " has no symbol";
}

}  // namespace

std::string_view FileAt(const void* start) {
  llvm::ELF::Elf64_Ehdr header;
  std::memcpy(&header, start, sizeof header);
  TERN_CHECK(header.checkMagic() && header.getFileClass() == llvm::ELF::ELFCLASS64)
      << "not a code object";
  const char* bytes = static_cast<const char*>(start);
  uint64_t size = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
  for (int i = 0; i < header.e_shnum; ++i) {
    llvm::ELF::Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != llvm::ELF::SHT_NOBITS)
      size = std::max<uint64_t>(size, section.sh_offset + section.sh_size);
  }
  return {bytes, size};
}

CodeObject ReadCodeObject(std::string_view bytes) {
  const File file = Take(File::create({bytes.data(), bytes.size()}));
  const auto& header = file.getHeader();
  TERN_CHECK(header.e_machine == llvm::ELF::EM_AMDGPU && header.e_type == llvm::ELF::ET_DYN &&
             header.e_ident[llvm::ELF::EI_OSABI] == llvm::ELF::ELFOSABI_AMDGPU_HSA)
      << "not a code object";
  CodeObject object;
  object.architecture = ArchitectureOf(header.e_flags);
  // The second version has the number 0.
  object.version = header.e_ident[llvm::ELF::EI_ABIVERSION] + 2;
  bool has_metadata = false;
  for (const auto& section : Take(file.sections())) {
    llvm::StringRef name = Take(file.getSectionName(section));
    if (name == backend::rocm::kTirSection) {
      auto contents = Take(file.getSectionContents(section));
      object.tir.assign(contents.begin(), contents.end());
    }
    if (section.sh_type != llvm::ELF::SHT_NOTE) continue;
    llvm::Error error = llvm::Error::success();
    for (const auto& note : file.notes(section, error))
      if (note.getName() == "AMDGPU" && note.getType() == llvm::ELF::NT_AMDGPU_METADATA) {
        ReadMetadata(note.getDescAsStringRef(section.sh_addralign), &object);
        has_metadata = true;
      }
    TERN_CHECK(!error) << llvm::toString(std::move(error));
  }
  TERN_CHECK(has_metadata) << "a code object without metadata";
  CheckSymbols(file, object);
  return object;
}

}  // namespace tern::backend::rocm::test
