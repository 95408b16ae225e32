// SPDX-License-Identifier: Apache-2.0
//
// A SPIR-V module as instructions whose operands are told apart, and what is known of its ids.
#ifndef TERN_BACKEND_VULKAN_RUNTIME_MODULE_READER_H_
#define TERN_BACKEND_VULKAN_RUNTIME_MODULE_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tern/backend/vulkan/common/spirv.h"

namespace tern::backend::vulkan {

// Whether a number is one of an enumeration that this letter of TERN_SPIRV_OPS stands for.
bool IsKnown(char letter, uint32_t number);

struct Instruction {
  size_t at = 0;  // in words
  spirv::Op op = spirv::Op::kFunctionEnd;
  const spirv::OpInfo* info = nullptr;  // null: not one of ours
  std::span<const uint32_t> words;      // all operands
  uint32_t type = 0, result = 0;
  std::vector<uint32_t> ids;      // other operands that are ids, in order
  std::vector<uint32_t> numbers;  // those that are not
};

// Throw ValueError, with the instruction that is wrong.
[[noreturn]] void Fail(const std::string& what);
[[noreturn]] void Fail(const Instruction& it, const std::string& what);
inline void Require(bool holds, const Instruction& it, const char* what) {
  if (!holds) Fail(it, what);
}

// Of types.
inline bool IsInt(const Instruction& type) { return type.op == spirv::Op::kTypeInt; }
inline bool IsFloat(const Instruction& type) { return type.op == spirv::Op::kTypeFloat; }
inline bool IsBool(const Instruction& type) { return type.op == spirv::Op::kTypeBool; }
inline bool IsScalar(const Instruction& type) {
  return IsInt(type) || IsFloat(type) || IsBool(type);
}
inline uint32_t Bits(const Instruction& type) { return IsBool(type) ? 1 : type.numbers[0]; }
inline uint32_t Pointee(const Instruction& type) {
  return type.op == spirv::Op::kTypePointer ? type.ids[0] : 0;
}

// Whether all operands and the result are floats of one type.
bool IsFloatArithmetic(spirv::Op op);

inline uint32_t Number(spirv::StorageClass storage) { return static_cast<uint32_t>(storage); }

class Module {
 public:
  // Throws ValueError where the header, the length of an instruction or an id is wrong, where an id
  // is defined twice, and, if Tern made the module, where an instruction or a number is none that
  // it uses.
  explicit Module(std::span<const uint32_t> words);

  const std::vector<Instruction>& code() const { return code_; }
  bool is_ours() const;  // made by Tern

  // The instruction that defines an id, anywhere; before the one that uses it; as a type.
  const Instruction& Get(const Instruction& user, uint32_t id) const;
  const Instruction& Defined(const Instruction& user, uint32_t id) const;
  const Instruction& TypeNamed(const Instruction& user, uint32_t id) const;
  // Of an integer constant of 32 bits.
  std::optional<uint32_t> Constant(const Instruction& user, uint32_t id) const;

 private:
  void ReadHeader();
  size_t Read(size_t at);  // how many words it has
  void ReadOperands(Instruction* it) const;
  void Take(Instruction* it, char letter, uint32_t word) const;
  uint32_t CheckId(const Instruction& it, uint32_t id) const;

  std::span<const uint32_t> words_;
  uint32_t bound_ = 0;  // of ids
  std::vector<Instruction> code_;
  std::map<uint32_t, size_t> by_id_;  // which instruction defines an id
};

}  // namespace tern::backend::vulkan

#endif  // TERN_BACKEND_VULKAN_RUNTIME_MODULE_READER_H_
