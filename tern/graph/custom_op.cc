// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/custom_op.h"

#include <cctype>

#include "tern/codegen/plugin.h"

namespace tern::graph {

const Op* FindCustomOp(std::string_view domain, std::string_view name) {
  if (domain.empty()) return nullptr;
  std::string library(domain);
  for (char& c : library)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  std::string full = library + "_" + std::string(name);
  if (const Op* op = FindOp(full)) return op;
  return codegen::TryLoadCodegen(library) ? FindOp(full) : nullptr;
}

}  // namespace tern::graph
