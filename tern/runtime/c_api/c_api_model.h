// SPDX-License-Identifier: Apache-2.0
//
// What the models and sessions of c_api.h are made of.
#ifndef TERN_RUNTIME_C_API_C_API_MODEL_H_
#define TERN_RUNTIME_C_API_C_API_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "tern/runtime/c_api.h"
#include "tern/runtime/vm/model.h"
#include "tern/runtime/vm/specializer.h"

namespace tern::runtime {

// A port as C sees it.
struct PortText {
  std::vector<int64_t> shape;
  std::vector<std::string> texts;
  std::vector<const char*> pointers;
};

}  // namespace tern::runtime

struct TernModel {
  explicit TernModel(std::shared_ptr<const tern::runtime::vm::Model> loaded,
                     std::shared_ptr<tern::runtime::vm::Specializer> specializer = {});
  std::shared_ptr<const tern::runtime::vm::Model> model;
  std::shared_ptr<tern::runtime::vm::Specializer> specializer;  // of all sessions, or null
  std::vector<tern::runtime::PortText> inputs, outputs;
};

namespace tern::runtime {

// For the compiler's C API: a model that was not loaded from a file.
TernModel* WrapModel(std::shared_ptr<const vm::Model> model,
                     std::shared_ptr<vm::Specializer> specializer = {});

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_C_API_C_API_MODEL_H_
