// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host/cpu_features.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

namespace tern::runtime {
namespace {

// The state that the system must save: bits of XCR0.
constexpr uint32_t kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;

enum Register { kEax, kEbx, kEcx, kEdx };
struct X86Feature {
  const char* name;
  uint32_t leaf, subleaf;
  Register result;
  int bit;
  uint32_t state = 0;
};
constexpr uint32_t kExtended = 0x80000001;
constexpr X86Feature kX86Features[] = {
    {"sse3", 1, 0, kEcx, 0},
    {"pclmul", 1, 0, kEcx, 1},
    {"ssse3", 1, 0, kEcx, 9},
    {"fma", 1, 0, kEcx, 12, kYmm},
    {"cx16", 1, 0, kEcx, 13},
    {"sse4.1", 1, 0, kEcx, 19},
    {"sse4.2", 1, 0, kEcx, 20},
    {"movbe", 1, 0, kEcx, 22},
    {"popcnt", 1, 0, kEcx, 23},
    {"aes", 1, 0, kEcx, 25},
    {"xsave", 1, 0, kEcx, 26},
    {"avx", 1, 0, kEcx, 28, kYmm},
    {"f16c", 1, 0, kEcx, 29, kYmm},
    {"rdrnd", 1, 0, kEcx, 30},
    {"bmi", 7, 0, kEbx, 3},
    {"avx2", 7, 0, kEbx, 5, kYmm},
    {"bmi2", 7, 0, kEbx, 8},
    {"avx512f", 7, 0, kEbx, 16, kZmm},
    {"avx512dq", 7, 0, kEbx, 17, kZmm},
    {"adx", 7, 0, kEbx, 19},
    {"avx512ifma", 7, 0, kEbx, 21, kZmm},
    {"avx512cd", 7, 0, kEbx, 28, kZmm},
    {"sha", 7, 0, kEbx, 29},
    {"avx512bw", 7, 0, kEbx, 30, kZmm},
    {"avx512vl", 7, 0, kEbx, 31, kZmm},
    {"avx512vbmi", 7, 0, kEcx, 1, kZmm},
    {"avx512vbmi2", 7, 0, kEcx, 6, kZmm},
    {"gfni", 7, 0, kEcx, 8},
    {"vaes", 7, 0, kEcx, 9, kYmm},
    {"vpclmulqdq", 7, 0, kEcx, 10, kYmm},
    {"avx512vnni", 7, 0, kEcx, 11, kZmm},
    {"avx512bitalg", 7, 0, kEcx, 12, kZmm},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kZmm},
    {"amx-bf16", 7, 0, kEdx, 22, kTiles},
    {"avx512fp16", 7, 0, kEdx, 23, kZmm},
    {"amx-tile", 7, 0, kEdx, 24, kTiles},
    {"amx-int8", 7, 0, kEdx, 25, kTiles},
    {"avxvnni", 7, 1, kEax, 4, kYmm},
    {"avx512bf16", 7, 1, kEax, 5, kZmm},
    {"amx-fp16", 7, 1, kEax, 21, kTiles},
    {"avxifma", 7, 1, kEax, 23, kYmm},
    {"avxvnniint8", 7, 1, kEdx, 4, kYmm},
    {"avxneconvert", 7, 1, kEdx, 5, kYmm},
    {"avxvnniint16", 7, 1, kEdx, 10, kYmm},
    {"sahf", kExtended, 0, kEcx, 0},
    {"lzcnt", kExtended, 0, kEcx, 5},
    {"sse4a", kExtended, 0, kEcx, 6},
    {"xop", kExtended, 0, kEcx, 11, kYmm},
    {"fma4", kExtended, 0, kEcx, 16, kYmm},
};

// Bits of what Linux tells programs (AT_HWCAP, AT_HWCAP2), all of which must be set.
struct HwcapFeature {
  const char* name;
  uint64_t first, second;
};
constexpr uint64_t Bit(int n) { return uint64_t{1} << n; }
constexpr HwcapFeature kArmFeatures[] = {
    {"aes", Bit(3) | Bit(4), 0},
    {"sha2", Bit(5) | Bit(6), 0},
    {"crc", Bit(7), 0},
    {"lse", Bit(8), 0},
    {"fullfp16", Bit(9) | Bit(10), 0},
    {"rdm", Bit(12), 0},
    {"jsconv", Bit(13), 0},
    {"complxnum", Bit(14), 0},
    {"rcpc", Bit(15), 0},
    {"sha3", Bit(17) | Bit(21), 0},
    {"sm4", Bit(18) | Bit(19), 0},
    {"dotprod", Bit(20), 0},
    {"sve", Bit(22), 0},
    {"fp16fml", Bit(23), 0},
    {"rcpc-immo", Bit(26), 0},
    {"sve2", 0, Bit(1)},
    {"f32mm", 0, Bit(10)},
    {"f64mm", 0, Bit(11)},
    {"i8mm", 0, Bit(13)},
    {"bf16", 0, Bit(14)},
    {"sme", 0, Bit(23)},
};
// The letters of the extensions.
constexpr HwcapFeature kRiscvFeatures[] = {
    {"m", Bit('m' - 'a'), 0}, {"a", Bit('a' - 'a'), 0}, {"f", Bit('f' - 'a'), 0},
    {"d", Bit('d' - 'a'), 0}, {"c", Bit('c' - 'a'), 0}, {"v", Bit('v' - 'a'), 0},
};

template <class Table>
std::vector<std::string> NamesOf(const Table& table) {
  std::vector<std::string> names;
  for (const auto& feature : table) names.emplace_back(feature.name);
  return names;
}

template <class Table>
auto FindFeature(const Table& table, std::string_view name) {
  auto found = std::find_if(std::begin(table), std::end(table),
                            [&](const auto& feature) { return feature.name == name; });
  return found == std::end(table) ? nullptr : &*found;
}

#if defined(__x86_64__)
uint32_t SavedState() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t kSystemSaves = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kSystemSaves) == 0) return 0;
  __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return a;
}

bool Has(const X86Feature& feature) {
  uint32_t results[4] = {};
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &results[kEax], &results[kEbx],
                         &results[kEcx], &results[kEdx]))
    return false;
  bool is_there = (results[feature.result] >> feature.bit & 1) != 0;
  return is_there && (feature.state == 0 || (SavedState() & feature.state) == feature.state);
}
const X86Feature* Find(std::string_view name) { return FindFeature(kX86Features, name); }
#else
[[maybe_unused]] bool Has(const HwcapFeature& feature) {
  return (getauxval(AT_HWCAP) & feature.first) == feature.first &&
         (getauxval(AT_HWCAP2) & feature.second) == feature.second;
}
[[maybe_unused]] const HwcapFeature* Find(std::string_view name) {
#if defined(__aarch64__)
  return FindFeature(kArmFeatures, name);
#elif defined(__riscv)
  return FindFeature(kRiscvFeatures, name);
#else
  return nullptr;
#endif
}
#endif

}  // namespace

std::vector<std::string> CpuFeatureNames(std::string_view arch) {
  if (arch == "x86_64") return NamesOf(kX86Features);
  if (arch == "aarch64") return NamesOf(kArmFeatures);
  if (arch == "riscv64") return NamesOf(kRiscvFeatures);
  return {};
}

bool HasCpuFeature(std::string_view name) {
  const auto* feature = Find(name);
  return feature && Has(*feature);
}

}  // namespace tern::runtime
