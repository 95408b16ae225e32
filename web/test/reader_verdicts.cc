// SPDX-License-Identifier: Apache-2.0
//
// reader_verdicts FILE...: prints good, damaged and forged files, and those that are given, with
// what the C++ reader says of each, for the JavaScript reader to be compared with
// (reader_test.mjs). Lines are "container HEX HEX" or "artifact HEX HEX": what to read the bytes
// as, the bytes, the message, which is empty for good ones.
#include <cstdio>
#include <functional>
#include <random>

#include "tern/ffi/json.h"
#include "tern/runtime/artifact/byte_stream.h"
#include "tern/runtime/artifact/elf_file.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/artifact/sha256.h"
#include "tern/runtime/test_data/test_artifact.h"

namespace tern::runtime {
namespace {

void Print(const char* what, const std::string& bytes, const std::function<void()>& read) {
  std::string verdict;
  try {
    read();
  } catch (const Error& error) {
    verdict = error.kind() + ": " + error.message();
  }
  std::printf("%s %s %s\n", what, ToHex(bytes).c_str(), ToHex(verdict).c_str());
}

void AsContainer(const std::string& bytes) {
  Print("container", bytes, [&] {
    ContainerReader reader(bytes);
    for (const auto& section : reader.sections()) reader.Get(section.name);
  });
}

void AsArtifact(const std::string& bytes) {
  Print("artifact", bytes, [&] { Artifact::FromBytes(bytes, "m").LoadImports(); });
}

// A file made to harm has a right hash over wrong numbers.
std::string Resealed(std::string bytes) {
  auto table_size =
      std::min<uint64_t>(LoadLe<uint64_t>(std::string_view(bytes).substr(16)), bytes.size() - 64);
  std::string_view view = bytes;
  return bytes.replace(32, 32, Sha256({view.substr(0, 32), view.substr(64, table_size)}));
}

void Damage(const std::string& bytes, const std::function<void(const std::string&)>& print) {
  print(bytes);
  print(bytes + '\0');
  for (size_t size = 0; size < bytes.size(); ++size) print(bytes.substr(0, size));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= static_cast<char>(1 << i % 8);
    print(changed);
    if (changed.size() >= 64) print(Resealed(changed));
  }
}

void ForgeNumbers(const std::string& bytes) {
  // The number of sections, the table size, the total size, and the first section's name length,
  // offset and size.
  for (size_t at : {size_t{12}, size_t{16}, size_t{24}, size_t{64}, size_t{73}, size_t{81}})
    for (uint64_t value : {uint64_t{0}, uint64_t{2}, uint64_t{255}, uint64_t{1} << 53,
                           uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{63}}) {
      std::string number;
      AppendLe<uint64_t>(value, &number);
      AsContainer(Resealed(std::string(bytes).replace(at, 8, number)));
    }
}

std::string File(const std::string& meta, const std::string& module) {
  ContainerWriter writer;
  writer.Add("meta", meta);
  writer.Add("module.0", module);
  return writer.Finish();
}

// With pieces put in, left out and written twice. Pieces are those that JSON is made of.
std::string Mutated(const std::string& text, std::mt19937* random) {
  static const char* const kPieces[] = {
      "\"",      "{",       "}",       "[",     "]",           ",",
      ":",       "0",       "1",       "-",     ".5",          "e9",
      "e999",    " ",       "\\",      "\\n",   "\\u0041",     "\\ud83d",
      "true",    "null",    "\n",      "\"a\"", "\"a\":1,",    "99999999999999999999",
      "float33", "\\u001b", "\\u202e", "\xff",  "\xe2\x80\xae"};
  auto below = [&](size_t n) { return static_cast<size_t>((*random)() % n); };
  size_t at = below(text.size() + 1), size = std::min(below(12), text.size() - at);
  std::string piece = kPieces[below(std::size(kPieces))];
  switch (below(4)) {
    case 0:
      return std::string(text).insert(at, piece);
    case 1:
      return std::string(text).replace(at, 1 + size / 4, piece);
    case 2:
      return std::string(text).erase(at, size);
    default:
      return std::string(text).insert(at, text.substr(at, size));
  }
}

// Lengths that fit: what is inside them is reached.
std::string WithMap(std::string_view map, std::string_view fmt = "toy") {
  std::string module;
  if (!fmt.empty()) AppendSized(fmt, &module);
  AppendSized(map, &module);
  AppendSized(std::string(8, '\0'), &module);
  return module;
}

// Of one whose kernels say how they are bound.
std::string BoundMap() {
  DeviceArtifact artifact = ToyArtifact();
  KernelBindings& bindings = artifact.fmap["fill"].bindings.emplace();
  bindings.block = {64, 1, 0};
  bindings.features = {"shader-f16"};
  bindings.scalars = {1, 16, {0, 4}};
  bindings.tensors = {{true, 0, "f32"}};
  return ffi::WriteJson(ffi::Any(KernelMapToValue(artifact.fmap)));
}

// Of a function in two parts.
std::string PreparedMeta() {
  ArtifactMeta meta = TestMeta();
  meta.functions.push_back({"a", {}});
  meta.functions[0].prepare = "call";
  meta.functions[0].prepared = "a";
  return WriteMeta(meta);
}

// Modules one below the other.
std::string DeepMeta(int depth) {
  ArtifactMeta meta = TestMeta();
  meta.imports.assign(static_cast<size_t>(depth), {"toy", {}});
  for (int i = 0; i + 1 < depth; ++i) meta.imports[static_cast<size_t>(i)].imports = {i + 1};
  return WriteMeta(meta);
}

// So many of everything that comparing each with all others shows, and more modules than a function
// takes arguments.
std::string LongMeta() {
  constexpr int kFunctions = 8192, kModules = 1 << 17;
  ArtifactMeta meta = TestMeta();
  for (int i = 0; i < kFunctions; ++i) {
    meta.functions[1].params.push_back({"p" + std::to_string(i), DataType::Int(32)});
    meta.functions.push_back({"f" + std::to_string(i), {}});
    meta.functions.push_back({"w" + std::to_string(i), {}});
    meta.functions.back().prepare = meta.functions.back().prepared = "f" + std::to_string(i);
  }
  for (int i = 1; i <= kModules; ++i) {
    meta.imports.push_back({"toy", {}});
    meta.imports[0].imports.push_back(i);
  }
  return WriteMeta(meta);
}

// What the fuzzers of the C++ readers start from.
void AsAnything(const std::string& bytes) {
  AsContainer(bytes);
  if (!IsElf(bytes)) AsArtifact(bytes);
  AsArtifact(File(bytes, SaveDeviceArtifact(ToyArtifact())));
  AsArtifact(File(WriteMeta(TestMeta()), bytes));
  AsArtifact(File(WriteMeta(TestMeta()), WithMap(bytes)));
}

void Main(uint32_t seed) {
  ContainerWriter writer;
  writer.Add("b", "second");
  writer.Add("a", "first");
  Damage(writer.Finish(), AsContainer);
  ForgeNumbers(writer.Finish());

  std::string meta = WriteMeta(TestMeta()), module = SaveDeviceArtifact(ToyArtifact());
  AsArtifact(TestContainer().Finish());
  for (size_t size = 0; size < meta.size(); ++size) AsArtifact(File(meta.substr(0, size), module));
  for (size_t size = 0; size < module.size(); ++size)
    AsArtifact(File(meta, module.substr(0, size)));
  std::mt19937 random(seed);
  ByteReader reader(module, "module");
  reader.Sized();
  std::string map(reader.Sized()), bound = BoundMap(), prepared = PreparedMeta();
  AsArtifact(File(prepared, module));
  for (int depth : {100, 101}) AsArtifact(File(DeepMeta(depth), module));
  AsArtifact(File(LongMeta(), module));
  std::string number = "\"dynamic_shared_bytes\":24", flag = "\"dynamic_shared_bytes\":true";
  AsArtifact(File(meta, WithMap(std::string(map).replace(map.find(number), number.size(), flag))));
  for (int i = 0; i < 1200; ++i) {
    AsArtifact(File(Mutated(meta, &random), module));
    AsArtifact(File(meta, Mutated(module, &random)));
    AsArtifact(File(meta, WithMap(Mutated(map, &random))));
    AsArtifact(File(meta, WithMap(Mutated(bound, &random), /*fmt=*/{})));
  }
  for (int i = 0; i < 1200; ++i) AsArtifact(File(Mutated(prepared, &random), module));
}

}  // namespace
}  // namespace tern::runtime

int main(int argc, char** argv) {
  tern::runtime::Main(/*seed=*/1);
  for (int i = 1; i < argc; ++i) tern::runtime::AsAnything(tern::runtime::ReadFile(argv[i]));
  return 0;
}
