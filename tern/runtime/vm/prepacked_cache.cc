// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/prepacked_cache.h"

#include "tern/runtime/artifact/file_bytes.h"

namespace tern::runtime::vm {
namespace {

template <class Body>
void RemovingIfAltered(const ProgramCache& cache, const std::string& key, Body&& body) {
  try {
    body();
  } catch (const Error&) {
    cache.RemoveFile(key);
    throw;
  }
}

}  // namespace

std::optional<PrepackedCache> PrepackedCache::Of(const Artifact& artifact) {
  std::optional<ProgramCache> cache = ProgramCache::FromEnvironment();
  if (!cache) return std::nullopt;
  return PrepackedCache(*cache, ProgramCache::KeyOf("prepacked", {{"model", artifact.Identity()}}));
}

// The file is an artifact of weights alone.
std::shared_ptr<MappedWeights> PrepackedCache::Find() const {
  std::string path = cache_.FindFile(key_);
  if (path.empty()) return nullptr;
  try {
    Artifact artifact = Artifact::Open(path);
    return artifact.weights() ? artifact.MapWeights(VerifyWeightsByEnvironment()) : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

std::shared_ptr<MappedWeights> PrepackedCache::Store(const std::vector<Weight>& made) const {
  WeightsWriter writer(made);
  uint64_t bytes = writer.table().data_bytes;
  if (bytes < kLeastBytes) return nullptr;
  ContainerWriter container;
  container.Add("meta", WriteMeta({}));
  container.Add(kWeightsSection, EncodeWeights(writer.table()));
  std::string base = container.Finish();
  base.resize(WeightsStart(base.size()));
  cache_.StoreFile(key_, base.size() + bytes, [&](PendingFile* file) {
    file->Write(base);
    writer.WriteData([&](std::string_view part) { file->Write(part); });
  });
  return Find();
}

void PrepackedCache::Check(const MappedWeights* found) const {
  RemovingIfAltered(cache_, key_, [&] { found->Check(); });
}
void PrepackedCache::CheckAll(MappedWeights* found) const {
  RemovingIfAltered(cache_, key_, [&] { found->CheckAll(); });
}

}  // namespace tern::runtime::vm
