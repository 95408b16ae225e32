// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/codegen/disassemble.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "tern/backend/vulkan/common/spirv.h"
#include "tern/ffi/error.h"

namespace tern::backend::vulkan {
namespace {

using spirv::Op;

constexpr size_t kHeaderWords = 5;

using Names = std::map<uint32_t, const char*>;
#define TERN_SPIRV_NAME(name, number) {number, #name},
const Names kCapabilities = {TERN_SPIRV_CAPABILITIES(TERN_SPIRV_NAME)};
const Names kStorageClasses = {TERN_SPIRV_STORAGE_CLASSES(TERN_SPIRV_NAME)};
const Names kDecorations = {TERN_SPIRV_DECORATIONS(TERN_SPIRV_NAME)};
const Names kBuiltIns = {TERN_SPIRV_BUILT_INS(TERN_SPIRV_NAME)};
const Names kExecutionModes = {TERN_SPIRV_EXECUTION_MODES(TERN_SPIRV_NAME)};
const Names kGlsl = {TERN_SPIRV_GLSL(TERN_SPIRV_NAME)};
#undef TERN_SPIRV_NAME
const Names kAddressingModels = {{spirv::kAddressingLogical, "Logical"},
                                 {spirv::kAddressing64, "PhysicalStorageBuffer64"}};
const Names kMemoryModels = {{spirv::kMemoryModelGlsl450, "GLSL450"}};
const Names kExecutionModels = {{spirv::kModelGlCompute, "GLCompute"}};
const Names kFlags = {{0, "None"}};
const Names kMemoryAccess = {{spirv::kAligned, "Aligned"}};

const Names* NamesOf(char letter) {
  switch (letter) {
    case 'A':
      return &kAddressingModels;
    case 'L':
      return &kMemoryModels;
    case 'E':
      return &kExecutionModels;
    case 'C':
      return &kCapabilities;
    case 'S':
      return &kStorageClasses;
    case 'D':
      return &kDecorations;
    case 'M':
      return &kExecutionModes;
    case 'G':
      return &kGlsl;
    case 'V':
      return &kMemoryAccess;
    case 'F':
      return &kFlags;
    default:
      return nullptr;
  }
}

std::string NameOf(const Names& names, uint32_t number) {
  auto it = names.find(number);
  return it == names.end() ? std::to_string(number) : it->second;
}

// The words of an instruction behind its first.
using Operands = std::span<const uint32_t>;

// Reads a text, and leaves what stands behind it.
std::string TakeText(Operands* words) {
  std::string text;
  while (!words->empty()) {
    uint32_t word = words->front();
    *words = words->subspan(1);
    for (int i = 0; i < 4; ++i, word >>= 8) {
      if ((word & 0xff) == 0) return text;
      text += static_cast<char>(word & 0xff);
    }
  }
  return text;
}

class Disassembler {
 public:
  explicit Disassembler(std::string_view bytes) {
    if (bytes.size() % 4 != 0 || bytes.size() < kHeaderWords * 4)
      TERN_THROW(ValueError) << "a SPIR-V module is words of 4 bytes, " << kHeaderWords
                             << " at least; these are " << bytes.size() << " bytes";
    words_.resize(bytes.size() / 4);
    std::memcpy(words_.data(), bytes.data(), bytes.size());
    if (words_[0] != spirv::kMagic)
      TERN_THROW(ValueError) << fmt::format("no SPIR-V module: it begins with {:#x}, not {:#x}",
                                            words_[0], spirv::kMagic);
  }

  std::string Run() {
    ForEach([this](uint32_t op, Operands operands) { Note(op, operands); });
    text_ = fmt::format("; SPIR-V {}.{}, bound {}\n", words_[1] >> 16 & 0xff, words_[1] >> 8 & 0xff,
                        words_[3]);
    ForEach([this](uint32_t op, Operands operands) { text_ += Line(op, operands); });
    return text_;
  }

 private:
  template <class F>
  void ForEach(F&& f) {
    for (size_t at = kHeaderWords; at < words_.size();) {
      size_t size = words_[at] >> 16;
      if (size == 0 || size > words_.size() - at)
        TERN_THROW(ValueError) << "the instruction at word " << at << " has " << size
                               << " words; the module has " << words_.size();
      f(words_[at] & 0xffff, Operands(words_).subspan(at + 1, size - 1));
      at += size;
    }
  }

  // Names, and the types that constants are shown by.
  void Note(uint32_t op, Operands operands) {
    if (op == static_cast<uint32_t>(Op::kName) && !operands.empty()) {
      uint32_t id = operands[0];
      operands = operands.subspan(1);
      std::string name = TakeText(&operands);
      names_[id] = taken_.insert(name).second ? name : fmt::format("{}_{}", name, id);
    }
    if (op == static_cast<uint32_t>(Op::kTypeFloat) && operands.size() == 2)
      floats_[operands[0]] = operands[1];
  }

  std::string IdText(uint32_t id) const {
    auto it = names_.find(id);
    return "%" + (it == names_.end() ? std::to_string(id) : it->second);
  }

  std::string Line(uint32_t op, Operands operands) const {
    const spirv::OpInfo* info = spirv::FindOp(op);
    std::string text, result;
    if (!info) {
      text = fmt::format("; instruction {}", op);
      for (uint32_t word : operands) text += fmt::format(" {}", word);
      return text + "\n";
    }
    uint32_t type = 0;
    text = info->name;
    for (const char* kind = info->operands; *kind && !operands.empty();) {
      if (*kind == 't') type = operands[0];
      if (*kind == 'r') {
        result = IdText(operands[0]) + " = ";
        operands = operands.subspan(1);
      } else {
        text += " " + Take(*kind, type, &operands);
      }
      if (kind[1] != '*')
        ++kind;
      else if (operands.empty())
        break;
    }
    return fmt::format("{:>20}{}\n", result, text);
  }

  // One operand.
  std::string Take(char kind, uint32_t type, Operands* operands) const {
    if (kind == 's') return "\"" + TakeText(operands) + "\"";
    if (kind == 'v') return TakeConstant(type, operands);
    uint32_t word = operands->front();
    *operands = operands->subspan(1);
    if (kind == 't' || kind == 'i') return IdText(word);
    const Names* names = NamesOf(kind);
    std::string text = names ? NameOf(*names, word) : std::to_string(word);
    if (kind == 'V' && !operands->empty()) {
      text += " " + std::to_string(operands->front());
      *operands = operands->subspan(1);
    }
    if (kind != 'D') return text;
    bool is_built_in = word == static_cast<uint32_t>(spirv::Decoration::kBuiltIn);
    for (; !operands->empty(); *operands = operands->subspan(1))
      text += " " + (is_built_in ? NameOf(kBuiltIns, operands->front())
                                 : std::to_string(operands->front()));
    return text;
  }

  // Floats in hexadecimal, which says them exactly.
  std::string TakeConstant(uint32_t type, Operands* operands) const {
    uint64_t bits = operands->front();
    if (operands->size() > 1) bits |= uint64_t{(*operands)[1]} << 32;
    bool is_wide = operands->size() > 1;
    *operands = {};
    if (!floats_.contains(type)) return std::to_string(bits);
    double value;
    if (is_wide) {
      std::memcpy(&value, &bits, sizeof value);
    } else {
      float narrow;
      auto low = static_cast<uint32_t>(bits);
      std::memcpy(&narrow, &low, sizeof narrow);
      value = narrow;
    }
    if (std::isfinite(value)) return fmt::format("{:a}", value);
    // As if the exponent went on.
    uint64_t fraction = is_wide ? bits & 0xfffffffffffff : (bits & 0x7fffff) << 1;
    return fmt::format("{}0x1.{:0{}x}p+{}", std::signbit(value) ? "-" : "", fraction,
                       is_wide ? 13 : 6, is_wide ? 1024 : 128);
  }

  std::vector<uint32_t> words_;
  std::map<uint32_t, std::string> names_;
  std::set<std::string> taken_;
  std::map<uint32_t, uint32_t> floats_;  // bits, by type
  std::string text_;
};

}  // namespace

std::string Disassemble(std::string_view bytes) { return Disassembler(bytes).Run(); }

}  // namespace tern::backend::vulkan
