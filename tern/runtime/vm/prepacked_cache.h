// SPDX-License-Identifier: Apache-2.0
//
// What prepacking made of the weights of a model, on disk: made once on a machine, and mapped by
// all processes that load the model. In the place and with the limits of ProgramCache; nothing
// about it is an error but contents that were altered.
#ifndef TERN_RUNTIME_VM_PREPACKED_CACHE_H_
#define TERN_RUNTIME_VM_PREPACKED_CACHE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/artifact/weights.h"
#include "tern/runtime/kernel/program_cache.h"

namespace tern::runtime::vm {

class PrepackedCache {
 public:
  // Less than this is made sooner than found.
  static constexpr uint64_t kLeastBytes = 64 << 10;

  // For the host code of `artifact` that is best here. None where the environment wants none.
  static std::optional<PrepackedCache> Of(const Artifact& artifact);
  PrepackedCache(ProgramCache cache, std::string key)
      : cache_(std::move(cache)), key_(std::move(key)) {}

  // Null where it is not there, or is damaged. Its hashes are checked as those of weights are.
  std::shared_ptr<MappedWeights> Find() const;
  // Writes it and finds it; null where it is too small or cannot be written.
  std::shared_ptr<MappedWeights> Store(const std::vector<Weight>& made) const;

  // As those of MappedWeights; what was altered is removed, so that it is made again.
  void Check(const MappedWeights* found) const;
  void CheckAll(MappedWeights* found) const;

 private:
  ProgramCache cache_;
  std::string key_;
};

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_PREPACKED_CACHE_H_
