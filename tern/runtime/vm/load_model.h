// SPDX-License-Identifier: Apache-2.0
//
// Models from files.
#ifndef TERN_RUNTIME_VM_LOAD_MODEL_H_
#define TERN_RUNTIME_VM_LOAD_MODEL_H_

#include "tern/runtime/vm/model.h"

namespace tern::runtime::vm {

// Whether the file has a program; others have functions alone.
bool HasModel(const Artifact& artifact);
// Not verified: that is done when it is loaded. Throws where the file has none.
Program ReadProgram(const Artifact& artifact);

// Maps the host code and the weights; TERN_VERIFY says when the weights are checked. Weights go to
// the device here, once for all sessions.
std::shared_ptr<const Model> LoadModel(const Artifact& artifact, int32_t device_id = 0);
std::shared_ptr<const Model> LoadModel(const std::string& path, int32_t device_id = 0);

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_LOAD_MODEL_H_
