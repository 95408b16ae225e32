// SPDX-License-Identifier: Apache-2.0
//
// Memory of KernelWriter: elements out of units.
#include <fmt/format.h>

#include <algorithm>

#include "tern/backend/webgpu/codegen/kernel_writer.h"

namespace tern::backend::webgpu {

namespace {

constexpr int kWordBits = 32;

// The unit of elements of one type.
DataType UnitFor(DataType dtype) {
  if (dtype.is_float() || dtype == DataType::Int(32)) return dtype;
  if (dtype.bits() == 64) return DataType::UInt(64);
  return DataType::UInt(kWordBits);
}

}  // namespace

DataType KernelWriter::UnitOf(const ir::VarNode* address) const {
  const std::vector<DataType>& types = accesses_.at(address);
  DataType unit = UnitFor(types[0]);
  bool is_same = std::all_of(types.begin(), types.end(),
                             [&](DataType dtype) { return UnitFor(dtype) == unit; });
  return is_same ? unit : DataType::UInt(kWordBits);
}

// Of memory that threads share, where a store changes a part of a word.
bool KernelWriter::NeedsAtomics(const ir::VarNode* address, DataType unit, Space space) const {
  auto stores = stores_.find(address);
  if (space == Space::kFunction || stores == stores_.end()) return false;
  return std::any_of(stores->second.begin(), stores->second.end(),
                     [&](DataType dtype) { return dtype.bits() < unit.bits(); });
}

std::string KernelWriter::UnitType(const Memory& memory) {
  if (memory.unit == DataType::Float(16)) {
    NoteFeature("shader-f16");
    return "f16";
  }
  return ValueType(memory.unit);
}

const KernelWriter::Memory& KernelWriter::MemoryOf(const ir::Buffer& buffer) const {
  auto it = memory_.find(buffer->data.node());
  TERN_ICHECK(it != memory_.end()) << "the memory of " << buffer->name << " is not known";
  return it->second;
}

// No storage buffer has more elements than 32 bits can count.
std::string KernelWriter::Index(const ir::Expr& index) {
  return (index.dtype().bits() == 64 ? LowWord(index) : Emit(index)).text;
}

KernelWriter::Value KernelWriter::LoadUnit(const Memory& memory, const std::string& index) {
  std::string place = fmt::format("{}[{}]", memory.name, index);
  return {memory.is_atomic ? fmt::format("atomicLoad(&{})", place) : place};
}

void KernelWriter::StoreUnit(const Memory& memory, const std::string& index,
                             const std::string& value) {
  std::string place = fmt::format("{}[{}]", memory.name, index);
  Line(memory.is_atomic ? fmt::format("atomicStore(&{}, {});", place, value)
                        : fmt::format("{} = {};", place, value));
}

// Where the parts of an element stand: the index is computed once, as u32.
static std::string Word(const std::string& index, int bits) {
  return fmt::format("{} / {}u", index, kWordBits / bits);
}
static std::string ShiftOf(const std::string& index, int bits) {
  return fmt::format("({} % {}u) * {}u", index, kWordBits / bits, bits);
}

KernelWriter::Value KernelWriter::LoadBits(const Memory& memory, const std::string& index,
                                           int bits) {
  if (bits == kWordBits) return LoadUnit(memory, index);
  std::string at = Name({fmt::format("u32({})", index)}, "at");
  if (bits == 64)
    return {fmt::format("vec2<u32>({}, {})", LoadUnit(memory, at + " * 2u").text,
                        LoadUnit(memory, at + " * 2u + 1u").text)};
  return {fmt::format("extractBits({}, {}, {}u)", LoadUnit(memory, Word(at, bits)).text,
                      ShiftOf(at, bits), bits)};
}

void KernelWriter::StoreBits(const Memory& memory, const std::string& index, int bits,
                             const Value& value) {
  if (bits == kWordBits) return StoreUnit(memory, index, value.text);
  if (bits < kWordBits) return StorePart(memory, index, bits, value);
  std::string at = Name({fmt::format("u32({})", index)}, "at"), wide = Name(value, "value");
  StoreUnit(memory, at + " * 2u", wide + ".x");
  StoreUnit(memory, at + " * 2u + 1u", wide + ".y");
}

// Other threads may write the other parts of the word at the same time.
void KernelWriter::StorePart(const Memory& memory, const std::string& index, int bits,
                             const Value& value) {
  std::string at = Name({fmt::format("u32({})", index)}, "at");
  std::string word = Word(at, bits), shift = Name({ShiftOf(at, bits)}, "shift");
  if (!memory.is_atomic)
    return StoreUnit(memory, word,
                     fmt::format("insertBits({}, {}, {}, {}u)", LoadUnit(memory, word).text,
                                 value.text, shift, bits));
  uint32_t ones = (uint32_t{1} << bits) - 1;
  Line(fmt::format("atomicAnd(&{}[{}], ~({}u << {}));", memory.name, word, ones, shift));
  Line(fmt::format("atomicOr(&{}[{}], ({} & {}u) << {});", memory.name, word, Operand(value), ones,
                   shift));
}

KernelWriter::Value KernelWriter::Load(const Memory& memory, const std::string& index,
                                       DataType dtype) {
  TERN_ICHECK(dtype.is_scalar()) << "a load of " << dtype.str() << " was not lowered to scalars";
  if (memory.unit == DataType::Float(16))
    return {fmt::format("f32({})", LoadUnit(memory, index).text)};
  if (UnitFor(dtype) == memory.unit && dtype.bits() == memory.unit.bits())
    return LoadUnit(memory, index);
  return FromBits(LoadBits(memory, index, dtype.bits()), dtype);
}

void KernelWriter::Store(const Memory& memory, const std::string& index, DataType dtype,
                         const Value& value) {
  TERN_ICHECK(dtype.is_scalar()) << "a store of " << dtype.str() << " was not lowered to scalars";
  if (memory.unit == DataType::Float(16))
    return StoreUnit(memory, index, fmt::format("f16({})", value.text));
  if (UnitFor(dtype) == memory.unit && dtype.bits() == memory.unit.bits())
    return StoreUnit(memory, index, value.text);
  StoreBits(memory, index, dtype.bits(), ToBits(value, dtype));
}

}  // namespace tern::backend::webgpu
