// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are a file, a container, an ELF file, a saved device module and a description of
// functions, or an error.
#include <algorithm>
#include <cstdint>

#include "tern/ffi/error.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/artifact/elf_file.h"
#include "tern/runtime/artifact/sha256.h"
#include "tern/runtime/kernel/device_artifact.h"

namespace {

template <class F>
void Try(F&& read) {
  try {
    read();
  } catch (const tern::Error&) {
  }
}

// The bytes with the right hash of the table, where one can stand: what is behind it is to be
// reached, and nobody guesses a hash.
std::string Sealed(std::string_view bytes) {
  constexpr size_t kTableSize = 16, kHash = 32, kHeader = 64;
  std::string sealed(bytes);
  if (bytes.size() < kHeader) return sealed;
  auto table_size = static_cast<unsigned char>(bytes[kTableSize]) +
                    256u * static_cast<unsigned char>(bytes[kTableSize + 1]);
  if (table_size > bytes.size() - kHeader) return sealed;
  return sealed.replace(
      kHash, kHeader - kHash,
      tern::runtime::Sha256({bytes.substr(0, kHash), bytes.substr(kHeader, table_size)}));
}

void ReadContainer(std::string_view bytes) {
  tern::runtime::ContainerReader reader(bytes);
  for (const auto& section : reader.sections()) Try([&] { reader.Get(section.name); });
}

// A file whose hashes are right, of a description and of modules as the bytes say, up to a line
// with "--" each.
std::string WithSections(std::string_view bytes) {
  constexpr std::string_view kEnd = "\n--\n";
  tern::runtime::ContainerWriter writer;
  for (int i = -1; i < 3; ++i) {
    size_t size = std::min(bytes.find(kEnd), bytes.size());
    writer.Add(i < 0 ? "meta" : "module." + std::to_string(i), std::string(bytes.substr(0, size)));
    bytes.remove_prefix(std::min(size + kEnd.size(), bytes.size()));
  }
  return writer.Finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace tern::runtime;
  Try([&] { ReadContainer(bytes); });
  Try([&] { ReadContainer(Sealed(bytes)); });
  Try([&] { FindElfSection(bytes, kContainerSection); });
  Try([&] { LoadDeviceArtifact("any", bytes); });
  Try([&] { ReadMeta(bytes); });
  Try([&] { Artifact::FromBytes(std::string(bytes), "x"); });
  Try([&] { Artifact::FromBytes(WithSections(bytes), "x").LoadImports(); });
  return 0;
}
