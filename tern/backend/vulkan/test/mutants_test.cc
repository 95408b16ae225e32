// SPDX-License-Identifier: Apache-2.0
//
// Modules with words that somebody changed: whatever they are, they are refused or they run, and
// neither the check nor the driver ends the process.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tern/backend/vulkan/runtime/check_module.h"
#include "tern/backend/vulkan/runtime/spirv_tools.h"
#include "tern/compile.h"
#include "tern/runtime/test_data/device_plugin_test.h"
#include "tern/tir/text.h"

namespace tern::runtime {
namespace {

using Words = std::vector<uint32_t>;

// Shared and local memory, barriers, bytes, branches, and loops of every kind.
constexpr const char* kProgram = R"(
func mutant(A: float32[64], B: int8[64], I: int32[64], C: float32[64], n: int32, s: float32) {
  for b in 0..2 bind(blockIdx.x) {
    alloc tile: float32[32] in shared
    for t in 0..32 bind(threadIdx.x) {
      alloc sums: float32[4] in local
      tile[t] = sqrt(A[b * 32 + t]) * s
      for k in 0..4 {
        sums[k] = tile[(t + k) % 32] + float32(B[b * 32 + t])
      }
      for k in 0..n {
        sums[1] = sums[1] + A[b]
      }
      if I[t] > 0 && t < 20 {
        C[b * 32 + t] = sums[0]
      } else {
        C[b * 32 + t] = sums[1] + select(t < 5, 1.0, 2.0)
      }
      while sums[3] > 1.0 {
        sums[3] = sums[3] * 0.5
      }
      I[b * 32 + t] = int32(sums[3])
    }
  }
}
)";

DeviceArtifact MakeArtifact() {
  Initialize();
  ffi::Module host =
      Compile(tir::ParseModule("mutant.tir", kProgram), target::Target::Parse("vulkan"));
  return LoadDeviceArtifact("vulkan", host->imports()[0]->SaveToBytes());
}

Words WordsOf(const std::string& bytes) {
  Words words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

// The same ones on every machine.
class Mutations {
 public:
  explicit Mutations(Words words) : words_(std::move(words)) {}

  Words Next() {
    Words words = words_;
    for (size_t changes = 1 + Below(3); changes > 0; --changes) Change(&words);
    return words;
  }

 private:
  size_t Below(size_t end) { return engine_() % end; }

  void Change(Words* words) {
    size_t at = Below(words->size());
    uint32_t& word = (*words)[at];
    switch (Below(6)) {
      case 0:
        word ^= uint32_t{1} << Below(32);
        break;
      case 1:
        word ^= 1 + static_cast<uint32_t>(Below(15));
        break;
      case 2:
        word = words_[Below(words_.size())];
        break;
      case 3:
        word = static_cast<uint32_t>(Below(words_[3]));  // an id
        break;
      case 4:
        word = static_cast<uint32_t>(engine_());
        break;
      default:
        words->erase(words->begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  Words words_;
  std::mt19937 engine_{18};
};

std::string WhyRefused(const Words& words) {
  try {
    backend::vulkan::CheckModule(words);
  } catch (const Error& error) {
    return error.kind() + ": " + error.message();
  }
  return "";
}

// Launches the one kernel, and says on stderr why that was refused.
void Launch(const DeviceArtifact& artifact) {
  const auto& [name, info] = *artifact.fmap.begin();
  const DeviceKind& kind = GetDeviceKind("vulkan");
  Tensor memory = Tensor::Empty({4096}, DataType::Float(32), {kind.device_type(), 0});
  std::vector<ffi::Any> args{0};
  for (DataType type : info.args)
    args.push_back(type.is_handle()  ? ffi::Any(memory->data())
                   : type.is_float() ? ffi::Any(1.0)
                                     : ffi::Any(3));
  for (const std::string& tag : info.launch_tags)
    args.push_back(ffi::Any(tag.starts_with("block") ? 2 : 32));
  try {
    ffi::Function kernel = CreateDeviceModule(artifact)->GetFunction(name);
    kernel.CallPacked(std::vector<ffi::AnyView>(args.begin(), args.end()));
    kind.Synchronize(0);
  } catch (const Error& error) {
    std::fprintf(stderr, "  %s\n", error.what());
  }
}

TEST(VulkanMutants, AreCheckedWithoutADriver) {
  DeviceArtifact artifact = MakeArtifact();
  Words words = WordsOf(artifact.payload.begin()->second);
  EXPECT_EQ(WhyRefused(words), "");
  Mutations mutations(words);
  int refused = 0;
  constexpr int kMutants = 2000;
  for (int i = 0; i < kMutants; ++i) {
    Words mutant = mutations.Next();
    std::string why = WhyRefused(mutant);
    refused += !why.empty();
    EXPECT_TRUE(why.empty() || why.starts_with("ValueError: no SPIR-V module: ")) << why;
    mutant[2] = 8;  // another generator's
    WhyRefused(mutant);
  }
  // Most numbers and names can be others; what they are used for cannot.
  EXPECT_GT(refused, kMutants / 2);
}

TEST(VulkanMutants, WhatIsWrongIsNamed) {
  Words words = WordsOf(MakeArtifact().payload.begin()->second);
  auto with = [&](size_t at, uint32_t word) {
    Words other = words;
    other[at] = word;
    return WhyRefused(other);
  };
  EXPECT_EQ(with(0, 7), "ValueError: no SPIR-V module: it begins with another number");
  EXPECT_EQ(with(1, 0x20000), "ValueError: no SPIR-V module: version 131072 is none of 1.0 to 1.6");
  EXPECT_EQ(with(3, 0xffffffff),
            "ValueError: no SPIR-V module: a bound of 4294967295 for ids; up to 4194303 is legal");
  EXPECT_NE(with(3, 5).find(" is not below the bound, 5"), std::string::npos);
  EXPECT_EQ(with(5, 2 << 16 | 1000),
            "ValueError: no SPIR-V module: the instruction at word 5: Tern makes none with the "
            "number 1000");
  EXPECT_EQ(with(6, 77),
            "ValueError: no SPIR-V module: OpCapability at word 5: 77 is none of the numbers that "
            "Tern uses there");
}

#ifdef TERN_TEST_SPIRV_TOOLS
// A type that there is none of, in a module by another compiler: CheckModule leaves it to
// SPIRV-Tools.
TEST(VulkanMutantsDeathTest, SpirvToolsAreAskedWherePresent) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  LoadPlugin("vulkan");
  if (GetDeviceKind("vulkan").Count() == 0) GTEST_SKIP() << "SKIPPED: no Vulkan device";
  Words words = WordsOf(MakeArtifact().payload.begin()->second);
  words[2] = 8 << 16;
  Words wrong = words;
  constexpr uint32_t kTypeFloat = 3 << 16 | 22;
  auto type = std::find(wrong.begin() + 5, wrong.end(), kTypeFloat);
  ASSERT_NE(type, wrong.end());
  type[2] = 24;
  EXPECT_EQ(WhyRefused(wrong), "");
  EXPECT_EXIT(
      {
        // Whoever asks for the name gets the one that is loaded already.
        if (!dlopen(TERN_TEST_SPIRV_TOOLS, RTLD_NOW)) std::fprintf(stderr, "%s\n", dlerror());
        if (!backend::vulkan::ValidateWithSpirvTools(words)) std::exit(1);
        DeviceArtifact artifact = MakeArtifact();
        artifact.payload.begin()->second.assign(reinterpret_cast<const char*>(wrong.data()),
                                                wrong.size() * 4);
        Launch(artifact);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "no SPIR-V module: SPIRV-Tools refuse it at word .*24");
}
#endif

// One process for all; what it was at is the last thing that it says.
TEST(VulkanMutantsDeathTest, DoNotEndTheDriver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
  LoadPlugin("vulkan");
  if (GetDeviceKind("vulkan").Count() == 0) GTEST_SKIP() << "SKIPPED: no Vulkan device";
  EXPECT_EXIT(
      {
        DeviceArtifact artifact = MakeArtifact();
        std::string& payload = artifact.payload.begin()->second;
        Mutations mutations(WordsOf(payload));
        for (int i = 0; i < 200; ++i) {
          Words mutant = mutations.Next();
          payload.assign(reinterpret_cast<const char*>(mutant.data()), mutant.size() * 4);
          std::fprintf(stderr, "mutant %d\n", i);
          Launch(artifact);
        }
        std::exit(0);
      },
      testing::ExitedWithCode(0), "mutant 199");
}

}  // namespace
}  // namespace tern::runtime
