// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/load_model.h"

#include "tern/ffi/escape_text.h"

namespace tern::runtime::vm {

bool HasModel(const Artifact& artifact) { return artifact.container().Has(kModelSection); }

Program ReadProgram(const Artifact& artifact) {
  TERN_CHECK(HasModel(artifact)) << artifact.path()
                                 << " is no model: it has functions, and no program";
  return DecodeProgram(artifact.Section(kModelSection));
}

std::shared_ptr<const Model> LoadModel(const Artifact& artifact, int32_t device_id) {
  try {
    ModelParts parts;
    parts.program = ReadProgram(artifact);
    parts.functions = artifact.meta().functions;
    parts.device = artifact.meta().device;
    parts.device_id = device_id;
    if (artifact.weights()) {
      parts.weights = artifact.MapWeights(VerifyWeightsByEnvironment());
      parts.weight = [weights = parts.weights](const Constant& constant) {
        return weights->Get(constant.name);
      };
    }
    parts.module = artifact.Load();
    parts.cache = PrepackedCache::Of(artifact);
    return std::make_shared<const Model>(std::move(parts));
  } catch (const Error& error) {
    // Messages have texts of the file in them.
    std::string message = ffi::Escaped(error.message());
    bool is_named = message.starts_with(artifact.path());
    throw Error(error.kind(), is_named ? message : artifact.path() + ": " + message);
  }
}

std::shared_ptr<const Model> LoadModel(const std::string& path, int32_t device_id) {
  return LoadModel(Artifact::Open(path), device_id);
}

}  // namespace tern::runtime::vm
