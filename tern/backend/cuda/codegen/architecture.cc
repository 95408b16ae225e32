// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/codegen/architecture.h"

#include <utility>

namespace tern::backend::cuda {

std::vector<std::string> Architectures() {
  return {"sm_70",   "sm_72",  "sm_75",   "sm_80",  "sm_86",   "sm_87",
          "sm_89",   "sm_90",  "sm_90a",  "sm_100", "sm_100a", "sm_103",
          "sm_103a", "sm_120", "sm_120a", "sm_121", "sm_121a"};
}

int ArchitectureNumber(const target::Target& target) {
  return std::stoi(target->GetString("arch").substr(3));
}

std::map<std::string, std::string> Tags() {
  const std::pair<const char*, const char*> chips[] = {
      {"v100", "sm_70"},       {"t4", "sm_75"},          {"a100", "sm_80"},  {"a10", "sm_86"},
      {"rtx-3090", "sm_86"},   {"jetson-orin", "sm_87"}, {"l4", "sm_89"},    {"l40s", "sm_89"},
      {"rtx-4090", "sm_89"},   {"h100", "sm_90a"},       {"h200", "sm_90a"}, {"b200", "sm_100a"},
      {"rtx-5090", "sm_120a"},
  };
  std::map<std::string, std::string> tags;
  for (const auto& [chip, arch] : chips)
    tags[std::string("nvidia/") + chip] = std::string("cuda -arch=") + arch;
  return tags;
}

}  // namespace tern::backend::cuda
