// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/codegen/spirv_builder.h"

#include <cstring>

#include "tern/ffi/error.h"

namespace tern::backend::vulkan {

using spirv::Capability;
using spirv::Decoration;
using spirv::Op;

namespace {

constexpr size_t kMaxInstructionWords = 0xffff;
constexpr uint32_t kNoFlags = 0;

template <class E>
uint32_t Number(E value) {
  return static_cast<uint32_t>(value);
}

}  // namespace

// ---- Words ----

void SpirvBuilder::Append(Words* section, Op op, const Words& operands) {
  TERN_ICHECK(operands.size() < kMaxInstructionWords) << "an instruction of " << operands.size();
  section->push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | Number(op));
  section->insert(section->end(), operands.begin(), operands.end());
}

void SpirvBuilder::AppendText(Words* words, const std::string& text) {
  size_t first = words->size();
  words->resize(first + text.size() / 4 + 1);  // a zero at least behind it
  // The first character is in the low bits of a word, whatever machine this is.
  for (size_t i = 0; i < text.size(); ++i)
    (*words)[first + i / 4] |= static_cast<uint32_t>(static_cast<uint8_t>(text[i])) << i % 4 * 8;
}

// ---- What the module needs ----

void SpirvBuilder::Require(Capability capability) {
  capabilities_.insert(Number(capability));
  switch (capability) {
    case Capability::kStorageBuffer8BitAccess:
      extensions_.insert("SPV_KHR_8bit_storage");
      break;
    case Capability::kPhysicalStorageBufferAddresses:
      extensions_.insert("SPV_KHR_physical_storage_buffer");
      break;
    case Capability::kDenormPreserve:
    case Capability::kSignedZeroInfNanPreserve:
    case Capability::kRoundingModeRTE:
      extensions_.insert("SPV_KHR_float_controls");
      break;
    case Capability::kGroupNonUniformVote:
    case Capability::kGroupNonUniformBallot:
    case Capability::kGroupNonUniformShuffle:
      Require(Capability::kGroupNonUniform);
      break;
    default:
      break;
  }
}

void SpirvBuilder::AddExecutionMode(spirv::ExecutionMode mode, const Words& numbers) {
  Words words{Number(mode)};
  words.insert(words.end(), numbers.begin(), numbers.end());
  modes_.push_back(std::move(words));
}

// ---- Types and constants ----

Id SpirvBuilder::Unique(Op op, const Words& operands, Id type) {
  Words key{Number(op), type};
  key.insert(key.end(), operands.begin(), operands.end());
  auto [it, is_new] = unique_.try_emplace(std::move(key));
  if (!is_new) return it->second;
  Id id = it->second = NewId();
  Words words;
  if (type) words.push_back(type);
  words.push_back(id);
  words.insert(words.end(), operands.begin(), operands.end());
  Append(&globals_, op, words);
  return id;
}

Id SpirvBuilder::Int(int bits) {
  if (bits == 64) Require(Capability::kInt64);
  return Unique(Op::kTypeInt, {static_cast<uint32_t>(bits), 0});
}

Id SpirvBuilder::Float(int bits) {
  if (bits == 64) Require(Capability::kFloat64);
  if (bits == 16) Require(Capability::kFloat16);
  return Unique(Op::kTypeFloat, {static_cast<uint32_t>(bits)});
}

bool SpirvBuilder::HasFloat(int bits) const {
  return unique_.contains({Number(Op::kTypeFloat), 0, static_cast<uint32_t>(bits)});
}

Id SpirvBuilder::Vector(Id element, uint32_t lanes) {
  return Unique(Op::kTypeVector, {element, lanes});
}

Id SpirvBuilder::Array(Id element, uint32_t size) {
  Id extent = Constant(32, size);
  return Unique(Op::kTypeArray, {element, extent});
}

Id SpirvBuilder::Pointer(spirv::StorageClass storage, Id pointee) {
  return Unique(Op::kTypePointer, {Number(storage), pointee});
}

Id SpirvBuilder::BufferBlock(Id element, uint32_t element_bytes, bool read_only) {
  auto [it, is_new] = buffer_blocks_.try_emplace({element, read_only});
  if (!is_new) return it->second;
  bool has_array = buffer_blocks_.contains({element, !read_only});
  Id array = Unique(Op::kTypeRuntimeArray, {element});
  if (!has_array) Decorate(array, Decoration::kArrayStride, {element_bytes});
  it->second = Block({array}, {0});
  if (read_only)
    Append(&decorations_, Op::kMemberDecorate, {it->second, 0, Number(Decoration::kNonWritable)});
  if (has_coherent_buffers_)
    Append(&decorations_, Op::kMemberDecorate, {it->second, 0, Number(Decoration::kCoherent)});
  return it->second;
}

Id SpirvBuilder::Block(const Words& members, const Words& offsets) {
  Id id = NewId();
  Words words{id};
  words.insert(words.end(), members.begin(), members.end());
  Append(&globals_, Op::kTypeStruct, words);
  Decorate(id, Decoration::kBlock);
  for (uint32_t i = 0; i < offsets.size(); ++i)
    Append(&decorations_, Op::kMemberDecorate, {id, i, Number(Decoration::kOffset), offsets[i]});
  return id;
}

Id SpirvBuilder::Constant(int bits, uint64_t value) {
  Words words{static_cast<uint32_t>(value)};
  if (bits == 64) words.push_back(static_cast<uint32_t>(value >> 32));
  Id type = Int(bits);
  return Unique(Op::kConstant, words, type);
}

Id SpirvBuilder::ConstantFloat(int bits, uint64_t value) {
  Words words{static_cast<uint32_t>(value)};
  if (bits == 64) words.push_back(static_cast<uint32_t>(value >> 32));
  Id type = Float(bits);
  return Unique(Op::kConstant, words, type);
}

Id SpirvBuilder::ConstantBool(bool value) {
  Id type = Bool();
  return Unique(value ? Op::kConstantTrue : Op::kConstantFalse, {}, type);
}

Id SpirvBuilder::SpecConstant(uint32_t spec_id, uint32_t value) {
  Id type = Int(32), id = NewId();
  Append(&globals_, Op::kSpecConstant, {type, id, value});
  Decorate(id, Decoration::kSpecId, {spec_id});
  return id;
}

Id SpirvBuilder::SpecConstantComposite(Id type, const Words& parts) {
  Id id = NewId();
  Words words{type, id};
  words.insert(words.end(), parts.begin(), parts.end());
  Append(&globals_, Op::kSpecConstantComposite, words);
  return id;
}

// ---- Variables and names ----

Id SpirvBuilder::Variable(spirv::StorageClass storage, Id type) {
  Id pointer = Pointer(storage, type), id = NewId();
  Append(&globals_, Op::kVariable, {pointer, id, Number(storage)});
  return id;
}

Id SpirvBuilder::InputVariable(spirv::BuiltIn built_in, Id type) {
  Id id = Variable(spirv::StorageClass::kInput, type);
  Decorate(id, Decoration::kBuiltIn, {Number(built_in)});
  interface_.push_back(id);
  return id;
}

Id SpirvBuilder::LocalVariable(Id type) {
  constexpr auto kStorage = spirv::StorageClass::kFunction;
  Id pointer = Pointer(kStorage, type), id = NewId();
  Append(&locals_, Op::kVariable, {pointer, id, Number(kStorage)});
  return id;
}

void SpirvBuilder::Name(Id id, const std::string& name) {
  Words words{id};
  AppendText(&words, name);
  Append(&names_, Op::kName, words);
}

void SpirvBuilder::Decorate(Id id, Decoration decoration, const Words& numbers) {
  Words words{id, Number(decoration)};
  words.insert(words.end(), numbers.begin(), numbers.end());
  Append(&decorations_, Op::kDecorate, words);
}

// ---- Code ----

void SpirvBuilder::BeginBlock(Id label) {
  // The first one's label is written with the function, before its variables.
  if (first_block_)
    Append(&code_, Op::kLabel, {label});
  else
    first_block_ = label;
  block_ = label;
}

Id SpirvBuilder::Emit(const Instruction& instruction) {
  Id id = NewId();
  Words words{instruction.type, id};
  words.insert(words.end(), instruction.operands.begin(), instruction.operands.end());
  Append(&code_, instruction.op, words);
  return id;
}

void SpirvBuilder::EmitVoid(Op op, const Words& operands) { Append(&code_, op, operands); }

Id SpirvBuilder::EmitGlsl(spirv::Glsl instruction, Id type, const Words& operands) {
  if (!glsl_) glsl_ = NewId();
  Words words{glsl_, Number(instruction)};
  words.insert(words.end(), operands.begin(), operands.end());
  return Emit({Op::kExtInst, type, words});
}

SpirvBuilder::Words SpirvBuilder::Finish(const std::string& entry) {
  Require(Capability::kShader);
  Id none = Void(), signature = Unique(Op::kTypeFunction, {none}), function = NewId();

  Words module{spirv::kMagic, spirv::kVersion, /*generator=*/0, /*bound=*/0, /*schema=*/0};
  for (uint32_t capability : capabilities_) Append(&module, Op::kCapability, {capability});
  for (const std::string& extension : extensions_) {
    Words text;
    AppendText(&text, extension);
    Append(&module, Op::kExtension, text);
  }
  if (glsl_) {
    Words words{glsl_};
    AppendText(&words, "GLSL.std.450");
    Append(&module, Op::kExtInstImport, words);
  }
  bool has_addresses = capabilities_.contains(Number(Capability::kPhysicalStorageBufferAddresses));
  Append(&module, Op::kMemoryModel,
         {has_addresses ? spirv::kAddressing64 : spirv::kAddressingLogical,
          spirv::kMemoryModelGlsl450});
  Words point{spirv::kModelGlCompute, function};
  AppendText(&point, entry);
  point.insert(point.end(), interface_.begin(), interface_.end());
  Append(&module, Op::kEntryPoint, point);
  for (Words mode : modes_) {
    mode.insert(mode.begin(), function);
    Append(&module, Op::kExecutionMode, mode);
  }
  for (const Words* section : {&names_, &decorations_, &globals_})
    module.insert(module.end(), section->begin(), section->end());
  Append(&module, Op::kFunction, {none, function, kNoFlags, signature});
  Append(&module, Op::kLabel, {first_block_});
  for (const Words* section : {&locals_, &code_})
    module.insert(module.end(), section->begin(), section->end());
  Append(&module, Op::kFunctionEnd, {});
  module[3] = next_id_;
  return module;
}

}  // namespace tern::backend::vulkan
