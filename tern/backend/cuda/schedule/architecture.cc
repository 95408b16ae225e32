// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/schedule/architecture.h"

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
  const std::map<std::string, int> shared_memory = {
      {"sm_70", 98304},   {"sm_75", 65536},    {"sm_80", 166912},
      {"sm_86", 101376},  {"sm_87", 166912},   {"sm_89", 101376},
      {"sm_90a", 232448}, {"sm_100a", 232448}, {"sm_120a", 101376}};
  std::map<std::string, std::string> tags;
  for (const auto& [chip, arch] : chips)
    tags[std::string("nvidia/") + chip] =
        std::string("cuda -arch=") + arch +
        " -max_shared_memory=" + std::to_string(shared_memory.at(arch));
  return tags;
}

}  // namespace tern::backend::cuda
