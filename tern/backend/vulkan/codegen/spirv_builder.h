// SPDX-License-Identifier: Apache-2.0
//
// Makes a SPIR-V module with one function. Types and constants are there once; capabilities and
// extensions are those that were asked for.
#ifndef TERN_BACKEND_VULKAN_CODEGEN_SPIRV_BUILDER_H_
#define TERN_BACKEND_VULKAN_CODEGEN_SPIRV_BUILDER_H_

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tern/backend/vulkan/common/spirv.h"

namespace tern::backend::vulkan {

using Id = uint32_t;  // of a value, type, variable or block; 0: none

class SpirvBuilder {
 public:
  using Words = std::vector<uint32_t>;

  Id NewId() { return next_id_++; }

  // ---- What the module needs ----

  // With the capabilities that it implies, and its extension where version 1.3 has it not.
  void Require(spirv::Capability capability);
  // LocalSize and what becomes of floats.
  void AddExecutionMode(spirv::ExecutionMode mode, const Words& numbers);

  // ---- Types and constants, each once ----

  Id Void() { return Unique(spirv::Op::kTypeVoid, {}); }
  Id Bool() { return Unique(spirv::Op::kTypeBool, {}); }
  // Integers have no sign: instructions have.
  Id Int(int bits);
  Id Float(int bits);
  // Whether a float of that many bits was asked for.
  bool HasFloat(int bits) const;
  Id Vector(Id element, uint32_t lanes);
  Id Array(Id element, uint32_t size);
  Id Pointer(spirv::StorageClass storage, Id pointee);
  // Storage buffers that are declared from here on are written for others to read.
  void MakeBuffersCoherent() { has_coherent_buffers_ = true; }
  // { element[] }, a storage buffer.
  // What is read alone has a type of its own: drivers take what a type says for all variables of
  // it.
  Id BufferBlock(Id element, uint32_t element_bytes, bool read_only = false);
  // { members }, at these offsets; not shared with others.
  Id Block(const Words& members, const Words& offsets);
  Id Constant(int bits, uint64_t value);
  Id ConstantBool(bool value);
  // Of the bits of a float.
  Id ConstantFloat(int bits, uint64_t value);
  // A number of 32 bits that is given when a pipeline is made of the module.
  Id SpecConstant(uint32_t spec_id, uint32_t value);
  Id SpecConstantComposite(Id type, const Words& parts);

  // ---- Variables and names ----

  // Outside of the function.
  Id Variable(spirv::StorageClass storage, Id type);
  // uint3, or a uint, that the machine gives.
  Id InputVariable(spirv::BuiltIn built_in, Id type);
  // In the function, wherever it is asked for.
  Id LocalVariable(Id type);
  void Name(Id id, const std::string& name);
  void Decorate(Id id, spirv::Decoration decoration, const Words& numbers = {});

  // ---- Code, in the block begun last ----

  void BeginBlock(Id label);
  // The block that instructions go into now.
  Id block() const { return block_; }
  // In braces, operands are evaluated in order: the same module on every machine.
  struct Instruction {
    spirv::Op op;
    Id type;
    Words operands;
  };
  // The result.
  Id Emit(const Instruction& instruction);
  void EmitVoid(spirv::Op op, const Words& operands);
  Id EmitGlsl(spirv::Glsl instruction, Id type, const Words& operands);

  // The words of the module, whose one entry point has that name.
  Words Finish(const std::string& entry);

 private:
  static void Append(Words* section, spirv::Op op, const Words& operands);
  static void AppendText(Words* words, const std::string& text);
  // The declaration that has the result first, or behind its type.
  Id Unique(spirv::Op op, const Words& operands, Id type = 0);

  Id next_id_ = 1;
  std::set<uint32_t> capabilities_;
  std::set<std::string> extensions_;
  Id glsl_ = 0;
  bool has_coherent_buffers_ = false;
  std::map<Words, Id> unique_;
  std::map<std::pair<Id, bool>, Id> buffer_blocks_;  // by element, and whether it is read alone
  Words interface_;
  std::vector<Words> modes_;
  Words names_, decorations_, globals_, locals_, code_;
  Id block_ = 0, first_block_ = 0;
};

}  // namespace tern::backend::vulkan

#endif  // TERN_BACKEND_VULKAN_CODEGEN_SPIRV_BUILDER_H_
