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
  if (updated_.contains(address)) return DataType::UInt(kWordBits);
  bool is_same = std::all_of(types.begin(), types.end(),
                             [&](DataType dtype) { return UnitFor(dtype) == unit; });
  return is_same ? unit : DataType::UInt(kWordBits);
}

// Of memory that threads share, where a store changes a part of a word, or atomic operations do.
bool KernelWriter::NeedsAtomics(const ir::VarNode* address, DataType unit, Space space) const {
  auto stores = stores_.find(address);
  if (space != Space::kFunction && updated_.contains(address)) return true;
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

static bool IsUnit(DataType dtype, DataType unit) {
  return UnitFor(dtype) == unit && dtype.bits() == unit.bits();
}

// No storage buffer has more elements than 32 bits can count.
std::string KernelWriter::Index(const Memory& memory, const ir::Expr& index, DataType dtype) {
  bool is_wide = index.dtype().bits() == 64;
  Value value = is_wide ? LowWord(index) : Emit(index);
  if (IsUnit(dtype, memory.unit) || dtype.bits() == kWordBits) return value.text;
  return Name(is_wide ? value : Convert(value, index.dtype(), DataType::UInt(32)), "at");
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

static std::string Word(const std::string& index, int bits) {
  return fmt::format("{} / {}u", index, kWordBits / bits);
}
static std::string ShiftOf(const std::string& index, int bits) {
  return fmt::format("({} % {}u) * {}u", index, kWordBits / bits, bits);
}

KernelWriter::Value KernelWriter::LoadPart(const Memory& memory, const std::string& index,
                                           DataType dtype) {
  int bits = dtype.bits();
  std::string word = LoadUnit(memory, Word(index, bits)).text, shift = ShiftOf(index, bits);
  if (dtype.is_int()) word = fmt::format("bitcast<i32>({})", word);
  Value value{fmt::format("extractBits({}, {}, {}u)", word, shift, bits)};
  return dtype.is_bool() ? Value{value.text + " != 0u", false} : value;
}

// Other threads may write the other parts of the word at the same time.
void KernelWriter::StorePart(const Memory& memory, const std::string& index, int bits,
                             const Value& value) {
  std::string word = Word(index, bits), shift = Name({ShiftOf(index, bits)}, "shift");
  if (!memory.is_atomic)
    return StoreUnit(memory, word,
                     fmt::format("insertBits({}, {}, {}, {}u)", LoadUnit(memory, word).text,
                                 value.text, shift, bits));
  uint32_t ones = (uint32_t{1} << bits) - 1;
  // Before a bit of it is cleared: it may have been read from there.
  std::string part = Name({fmt::format("{} & {}u", Operand(value), ones)}, "part");
  Line(fmt::format("atomicAnd(&{}[{}], ~({}u << {}));", memory.name, word, ones, shift));
  Line(fmt::format("atomicOr(&{}[{}], {} << {});", memory.name, word, part, shift));
}

KernelWriter::Value KernelWriter::Load(const Memory& memory, const std::string& index,
                                       DataType dtype) {
  TERN_ICHECK(dtype.is_scalar()) << "a load of " << dtype.str() << " was not lowered to scalars";
  if (memory.unit == DataType::Float(16))
    return {fmt::format("f32({})", LoadUnit(memory, index).text)};
  if (IsUnit(dtype, memory.unit)) return LoadUnit(memory, index);
  if (dtype.bits() < kWordBits) return LoadPart(memory, index, dtype);
  if (dtype.bits() == kWordBits) return FromBits(LoadUnit(memory, index), dtype);
  return {fmt::format("vec2<u32>({}, {})", LoadUnit(memory, index + " * 2u").text,
                      LoadUnit(memory, index + " * 2u + 1u").text)};
}

void KernelWriter::Store(const Memory& memory, const std::string& index, DataType dtype,
                         const Value& value) {
  TERN_ICHECK(dtype.is_scalar()) << "a store of " << dtype.str() << " was not lowered to scalars";
  if (memory.unit == DataType::Float(16))
    return StoreUnit(memory, index, fmt::format("f16({})", value.text));
  if (IsUnit(dtype, memory.unit)) return StoreUnit(memory, index, value.text);
  Value bits = ToBits(value, dtype);
  if (dtype.bits() < kWordBits) return StorePart(memory, index, dtype.bits(), bits);
  if (dtype.bits() == kWordBits) return StoreUnit(memory, index, bits.text);
  std::string wide = Name(bits, "value");
  StoreUnit(memory, index + " * 2u", wide + ".x");
  StoreUnit(memory, index + " * 2u + 1u", wide + ".y");
}

}  // namespace tern::backend::webgpu
