// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/runtime/module_reader.h"

#include <set>

#include "tern/runtime/plugin_sdk.h"

namespace tern::backend::vulkan {
namespace {

using spirv::Op;
using Words = std::span<const uint32_t>;

constexpr size_t kHeaderWords = 5;
constexpr uint32_t kMaxBound = 0x3fffff;  // that every consumer of SPIR-V takes
constexpr uint32_t kOurGenerator = 0;

size_t TextWords(const Instruction& it, Words rest) {
  for (size_t i = 0; i < rest.size(); ++i)
    for (int byte = 0; byte < 4; ++byte)
      if ((rest[i] >> byte * 8 & 0xff) == 0) return i + 1;
  Fail(it, "its text does not end");
}

}  // namespace

bool IsKnown(char letter, uint32_t number) {
#define TERN_SPIRV_NUMBER(name, number) number,
  static const std::map<char, std::set<uint32_t>> kNumbers = {
      {'A', {spirv::kAddressingLogical, spirv::kAddressing64}},
      {'L', {spirv::kMemoryModelGlsl450}},
      {'E', {spirv::kModelGlCompute}},
      {'C', {TERN_SPIRV_CAPABILITIES(TERN_SPIRV_NUMBER)}},
      {'S', {TERN_SPIRV_STORAGE_CLASSES(TERN_SPIRV_NUMBER)}},
      {'D', {TERN_SPIRV_DECORATIONS(TERN_SPIRV_NUMBER)}},
      {'M', {TERN_SPIRV_EXECUTION_MODES(TERN_SPIRV_NUMBER)}},
      {'G', {TERN_SPIRV_GLSL(TERN_SPIRV_NUMBER)}},
      {'F', {0}},
      {'V', {spirv::kAligned}},
      {'B', {TERN_SPIRV_BUILT_INS(TERN_SPIRV_NUMBER)}},
  };
#undef TERN_SPIRV_NUMBER
  auto it = kNumbers.find(letter);
  return it == kNumbers.end() || it->second.contains(number);
}

void Fail(const std::string& what) { TERN_THROW(ValueError) << "no SPIR-V module: " << what; }
void Fail(const Instruction& it, const std::string& what) {
  Fail((it.info ? it.info->name : "the instruction") + (" at word " + std::to_string(it.at)) +
       ": " + what);
}

bool IsFloatArithmetic(Op op) {
  return op == Op::kFNegate || op == Op::kFAdd || op == Op::kFSub || op == Op::kFMul ||
         op == Op::kFDiv;
}

Module::Module(Words words) : words_(words) {
  ReadHeader();
  for (size_t at = kHeaderWords; at < words_.size();) at += Read(at);
  if (code_.empty() || code_.back().op != Op::kFunctionEnd)
    Fail("it does not end with the end of a function");
}

bool Module::is_ours() const { return words_[2] == kOurGenerator; }

void Module::ReadHeader() {
  if (words_.size() < kHeaderWords) Fail(std::to_string(words_.size()) + " words");
  if (words_[0] != spirv::kMagic) Fail("it begins with another number");
  uint32_t major = words_[1] >> 16, minor = words_[1] >> 8 & 0xff;
  if (major != 1 || minor > 6 || (words_[1] & 0xff) != 0)
    Fail("version " + std::to_string(words_[1]) + " is none of 1.0 to 1.6");
  bound_ = words_[3];
  if (bound_ == 0 || bound_ > kMaxBound)
    Fail("a bound of " + std::to_string(bound_) + " for ids; up to " + std::to_string(kMaxBound) +
         " is legal");
  if (words_[4] != 0) Fail("the word behind the bound is not 0");
}

size_t Module::Read(size_t at) {
  uint32_t count = words_[at] >> 16, number = words_[at] & 0xffff;
  Instruction it;
  it.at = at;
  it.op = static_cast<Op>(number);
  it.info = spirv::FindOp(number);
  if (count == 0 || count > words_.size() - at) Fail(it, "it is longer than the module");
  it.words = words_.subspan(at + 1, count - 1);
  if (it.info)
    ReadOperands(&it);
  else if (is_ours())
    Fail(it, "Tern makes none with the number " + std::to_string(number));
  if (it.info && it.result && !by_id_.emplace(it.result, code_.size()).second)
    Fail(it, "id " + std::to_string(it.result) + " is defined twice");
  code_.push_back(std::move(it));
  return count;
}

uint32_t Module::CheckId(const Instruction& it, uint32_t id) const {
  if (id == 0 || id >= bound_)
    Fail(it, "id " + std::to_string(id) + " is not below the bound, " + std::to_string(bound_));
  return id;
}

void Module::ReadOperands(Instruction* it) const {
  std::string_view pattern = it->info->operands;
  Words rest = it->words;
  for (size_t i = 0; i < pattern.size(); ++i) {
    bool repeats = i + 1 < pattern.size() && pattern[i + 1] == '*';
    char letter = pattern[i];
    if (letter == 's') {
      rest = rest.subspan(TextWords(*it, rest));
      continue;
    }
    // What memory accesses say may be left out; so may a repeated operand.
    bool may_end = repeats || letter == 'V';
    size_t most = repeats || letter == 'v' || letter == 'D' || letter == 'V' ? rest.size() : 1;
    if (rest.empty() && !may_end) Fail(*it, "an operand is missing");
    for (size_t n = 0; n < most && !rest.empty(); ++n) {
      Take(it, n == 0 || repeats ? letter : 'n', rest[0]);
      rest = rest.subspan(1);
    }
    i += repeats;
  }
  if (!rest.empty() && is_ours()) Fail(*it, "it has more operands than it takes");
}

void Module::Take(Instruction* it, char letter, uint32_t word) const {
  switch (letter) {
    case 't':
      it->type = CheckId(*it, word);
      break;
    case 'r':
      it->result = CheckId(*it, word);
      break;
    case 'i':
      it->ids.push_back(CheckId(*it, word));
      break;
    default:
      if (is_ours() && !IsKnown(letter, word))
        Fail(*it, std::to_string(word) + " is none of the numbers that Tern uses there");
      it->numbers.push_back(word);
  }
}

const Instruction& Module::Get(const Instruction& user, uint32_t id) const {
  auto it = by_id_.find(id);
  if (it == by_id_.end()) Fail(user, "id " + std::to_string(id) + " is not defined");
  return code_[it->second];
}

const Instruction& Module::Defined(const Instruction& user, uint32_t id) const {
  const Instruction& definition = Get(user, id);
  if (definition.at >= user.at) Fail(user, "id " + std::to_string(id) + " is defined behind it");
  return definition;
}

const Instruction& Module::TypeNamed(const Instruction& user, uint32_t id) const {
  const Instruction& type = Defined(user, id);
  Require(type.op >= Op::kTypeVoid && type.op <= Op::kTypeFunction, user,
          "an operand should be a type");
  return type;
}

std::optional<uint32_t> Module::Constant(const Instruction& user, uint32_t id) const {
  const Instruction& it = Defined(user, id);
  if (it.op != Op::kConstant || !IsInt(TypeNamed(user, it.type)) || it.numbers.size() != 1)
    return std::nullopt;
  return it.numbers[0];
}

}  // namespace tern::backend::vulkan
