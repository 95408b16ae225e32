// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/schedule/architecture.h"

#include <utility>

namespace tern::backend::rocm {

std::vector<std::string> Architectures() {
  return {"gfx906",  "gfx908",  "gfx90a",  "gfx942",  "gfx1030",
          "gfx1100", "gfx1101", "gfx1102", "gfx1200", "gfx1201"};
}

int64_t WaveSize(const std::string& architecture) {
  // "gfx" and the generation, then two digits.
  bool is_gfx9 = architecture.size() == std::string("gfx906").size();
  return is_gfx9 ? 64 : 32;
}

MatrixCores MatrixCoresOf(const std::string& architecture) {
  if (WaveSize(architecture) == 64)
    return architecture == "gfx906" ? MatrixCores::kNone : MatrixCores::kMfma;
  return architecture == "gfx1030" ? MatrixCores::kNone : MatrixCores::kWmma;
}

std::map<std::string, std::string> Tags() {
  const std::pair<const char*, const char*> chips[] = {
      {"mi50", "gfx906"},         {"mi60", "gfx906"},        {"mi100", "gfx908"},
      {"mi210", "gfx90a"},        {"mi250", "gfx90a"},       {"mi300a", "gfx942"},
      {"mi300x", "gfx942"},       {"rx-6800-xt", "gfx1030"}, {"rx-6900-xt", "gfx1030"},
      {"rx-7900-xtx", "gfx1100"}, {"rx-7800-xt", "gfx1101"}, {"rx-7600", "gfx1102"},
      {"rx-9060-xt", "gfx1200"},  {"rx-9070-xt", "gfx1201"},
  };
  std::map<std::string, std::string> tags;
  for (const auto& [chip, arch] : chips)
    tags[std::string("amd/") + chip] = std::string("rocm -arch=") + arch;
  return tags;
}

}  // namespace tern::backend::rocm
