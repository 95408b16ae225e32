// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host/cpu_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tern/runtime/artifact/elf_file.h"

namespace tern::runtime {
namespace {

std::string FlagsOfThisMachine() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags") || line.starts_with("Features")) return line + " ";
  return "";
}

TEST(CpuFeatures, AreThoseThatTheSystemTellsOf) {
  std::string flags = FlagsOfThisMachine();
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo has no flags here";
  // Linux's name, and LLVM's.
  std::vector<std::pair<const char*, const char*>> names;
  if (ElfMachineName(HostElfMachine()) == "x86_64")
    names = {{"sse4_1", "sse4.1"},
             {"avx", "avx"},
             {"avx2", "avx2"},
             {"fma", "fma"},
             {"f16c", "f16c"},
             {"bmi1", "bmi"},
             {"avx512f", "avx512f"},
             {"sha_ni", "sha"},
             {"avx512_vnni", "avx512vnni"},
             {"avx512_bf16", "avx512bf16"},
             {"avx_vnni", "avxvnni"},
             {"amx_tile", "amx-tile"},
             {"amx_int8", "amx-int8"},
             {"avx512_fp16", "avx512fp16"},
             {"abm", "lzcnt"}};
  else
    names = {{"asimddp", "dotprod"}, {"sve", "sve"},   {"i8mm", "i8mm"},       {"bf16", "bf16"},
             {"atomics", "lse"},     {"crc32", "crc"}, {"asimdhp", "fullfp16"}};
  for (const auto& [linux_name, name] : names) {
    bool is_there = flags.find(" " + std::string(linux_name) + " ") != std::string::npos;
    EXPECT_EQ(HasCpuFeature(name), is_there) << name;
  }
}

TEST(CpuFeatures, AreKnownByName) {
  EXPECT_FALSE(HasCpuFeature("no-such-feature"));
  EXPECT_FALSE(HasCpuFeature(""));
  auto knows = [](const char* arch, const char* name) {
    std::vector<std::string> names = CpuFeatureNames(arch);
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  EXPECT_TRUE(knows("x86_64", "avx512f"));
  EXPECT_TRUE(knows("aarch64", "dotprod"));
  EXPECT_TRUE(knows("riscv64", "v"));
  EXPECT_FALSE(knows("x86_64", "dotprod"));
  EXPECT_TRUE(CpuFeatureNames("wasm32").empty());
}

}  // namespace
}  // namespace tern::runtime
