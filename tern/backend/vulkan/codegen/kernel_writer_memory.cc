// SPDX-License-Identifier: Apache-2.0
//
// Memory of KernelWriter: elements out of units.
#include <algorithm>

#include "tern/backend/vulkan/codegen/kernel_writer.h"

namespace tern::backend::vulkan {

using spirv::Capability;
using spirv::Op;
using spirv::StorageClass;

namespace {

bool IsBuffer(StorageClass storage) {
  return storage == StorageClass::kStorageBuffer || storage == StorageClass::kPhysicalStorageBuffer;
}

// How an element stands in memory.
DataType StorageType(DataType dtype) {
  if (dtype.is_float()) return dtype;
  return DataType::UInt(dtype.bits());
}

}  // namespace

DataType KernelWriter::UnitOf(const ir::VarNode* address, StorageClass storage) {
  const std::vector<DataType>& types = accesses_.at(address);
  DataType unit = StorageType(types[0]);
  for (DataType dtype : types) {
    DataType other = StorageType(dtype);
    if (!(other == unit)) unit = DataType::UInt(std::min(other.bits(), unit.bits()));
  }
  if (unit.bits() >= 32) return unit;
  // A pointer to smaller things cannot be an argument.
  if (storage == StorageClass::kPhysicalStorageBuffer) return DataType::UInt(32);
  // Where the target has no such small things in memory, they are parts of words.
  bool is_buffer = storage == StorageClass::kStorageBuffer;
  const char* attribute =
      unit.bits() == 8 ? (is_buffer ? "storage8" : "int8") : (is_buffer ? "storage16" : "int16");
  return Has(attribute) || unit.is_float() ? unit : DataType::UInt(32);
}

Id KernelWriter::UnitType(const Memory& memory) {
  DataType unit = memory.unit;
  bool is_buffer = IsBuffer(memory.storage);
  if (unit.bits() == 8)
    builder_.Require(is_buffer ? Capability::kStorageBuffer8BitAccess : Capability::kInt8);
  if (unit.bits() == 16 && (is_buffer || unit.is_float()))
    builder_.Require(is_buffer ? Capability::kStorageBuffer16BitAccess : Capability::kFloat16);
  else if (unit.bits() == 16)
    builder_.Require(Capability::kInt16);
  if (unit.bits() == 64) RegisterType(unit);  // says so where the target has none
  return unit.is_float() ? builder_.Float(unit.bits()) : builder_.Int(unit.bits());
}

const KernelWriter::Memory& KernelWriter::MemoryOf(const ir::Buffer& buffer) const {
  auto it = memory_.find(buffer->data.node());
  TERN_ICHECK(it != memory_.end()) << "the memory of " << buffer->name << " is not known";
  return it->second;
}

// No storage buffer has more elements than 32 bits can count.
Id KernelWriter::EmitIndex(const ir::Expr& index) {
  return Resize(Emit(index), RegisterBits(index.dtype()), 32, false);
}

Id KernelWriter::UnitPointer(const Memory& memory, Id index) {
  Id type = builder_.Pointer(memory.storage, UnitType(memory));
  Words path{memory.variable};
  if (IsBuffer(memory.storage)) path.push_back(builder_.Constant(32, 0));
  path.push_back(index);
  return builder_.Emit({Op::kAccessChain, type, path});
}

// An access by address says how it is aligned.
void KernelWriter::AppendAlignment(const Memory& memory, Words* operands) {
  if (memory.storage != StorageClass::kPhysicalStorageBuffer) return;
  operands->push_back(spirv::kAligned);
  operands->push_back(static_cast<uint32_t>(memory.unit.bytes()));
}

Id KernelWriter::LoadUnit(const Memory& memory, Id index) {
  Words operands{UnitPointer(memory, index)};
  AppendAlignment(memory, &operands);
  Id value = builder_.Emit({Op::kLoad, UnitType(memory), operands});
  if (memory.unit.is_float() || memory.unit.bits() >= 32) return value;
  return builder_.Emit({Op::kUConvert, builder_.Int(32), {value}});
}

void KernelWriter::StoreUnit(const Memory& memory, Id index, Id value) {
  if (!memory.unit.is_float() && memory.unit.bits() < 32)
    value = builder_.Emit({Op::kUConvert, UnitType(memory), {value}});
  Words operands{UnitPointer(memory, index), value};
  AppendAlignment(memory, &operands);
  builder_.EmitVoid(Op::kStore, operands);
}

Id KernelWriter::LoadBits(const Memory& memory, Id index, int bits) {
  int unit = memory.unit.bits();
  Id word = builder_.Int(32);
  auto number = [&](int value) { return builder_.Constant(32, static_cast<uint64_t>(value)); };
  if (bits == unit) return LoadUnit(memory, index);
  if (bits < unit) {  // a part of a word
    int parts = unit / bits;
    Id place = builder_.Emit({Op::kUDiv, word, {index, number(parts)}});
    Id part = builder_.Emit({Op::kUMod, word, {index, number(parts)}});
    Id shift = builder_.Emit({Op::kIMul, word, {part, number(bits)}});
    return builder_.Emit(
        {Op::kBitFieldUExtract, word, {LoadUnit(memory, place), shift, number(bits)}});
  }
  int units = bits / unit, wide = bits == 64 ? 64 : 32;
  Id type = builder_.Int(wide), first = builder_.Emit({Op::kIMul, word, {index, number(units)}});
  Id value = 0;
  for (int i = 0; i < units; ++i) {
    Id place = builder_.Emit({Op::kIAdd, word, {first, number(i)}});
    Id part = Resize(LoadUnit(memory, place), 32, wide, false);
    if (i > 0) {
      Id shifted = builder_.Emit({Op::kShiftLeftLogical, type, {part, number(i * unit)}});
      part = builder_.Emit({Op::kBitwiseOr, type, {value, shifted}});
    }
    value = part;
  }
  return value;
}

void KernelWriter::StoreBits(const Memory& memory, Id index, int bits, Id value) {
  int unit = memory.unit.bits();
  if (bits == unit) return StoreUnit(memory, index, value);
  if (bits < unit) return StorePart(memory, index, bits, value);
  auto number = [&](int n) { return builder_.Constant(32, static_cast<uint64_t>(n)); };
  int units = bits / unit, wide = bits == 64 ? 64 : 32;
  Id word = builder_.Int(32), first = builder_.Emit({Op::kIMul, word, {index, number(units)}});
  for (int i = 0; i < units; ++i) {
    Id place = builder_.Emit({Op::kIAdd, word, {first, number(i)}});
    Id part = i == 0 ? value
                     : builder_.Emit(
                           {Op::kShiftRightLogical, builder_.Int(wide), {value, number(i * unit)}});
    StoreUnit(memory, place, Resize(part, wide, 32, false));
  }
}

// Other threads may write the other parts of the word at the same time.
void KernelWriter::StorePart(const Memory& memory, Id index, int bits, Id value) {
  auto number = [&](uint64_t n) { return builder_.Constant(32, n); };
  Id word = builder_.Int(32);
  auto parts = static_cast<uint64_t>(32 / bits);
  Id place = builder_.Emit({Op::kUDiv, word, {index, number(parts)}});
  Id part = builder_.Emit({Op::kUMod, word, {index, number(parts)}});
  auto width = static_cast<uint64_t>(bits);
  Id shift = builder_.Emit({Op::kIMul, word, {part, number(width)}});
  if (memory.storage == StorageClass::kFunction) {
    Id all = builder_.Emit(
        {Op::kBitFieldInsert, word, {LoadUnit(memory, place), value, shift, number(width)}});
    return StoreUnit(memory, place, all);
  }
  uint64_t ones = (uint64_t{1} << bits) - 1;
  Id mask = builder_.Emit({Op::kShiftLeftLogical, word, {number(ones), shift}});
  Id keep = builder_.Emit({Op::kNot, word, {mask}});
  Id low = builder_.Emit({Op::kBitwiseAnd, word, {value, number(ones)}});
  Id set = builder_.Emit({Op::kShiftLeftLogical, word, {low, shift}});
  bool is_buffer = IsBuffer(memory.storage);
  auto scope =
      number(static_cast<uint64_t>(is_buffer ? spirv::Scope::kDevice : spirv::Scope::kWorkgroup));
  Id pointer = UnitPointer(memory, place), relaxed = number(0);
  builder_.Emit({Op::kAtomicAnd, word, {pointer, scope, relaxed, keep}});
  builder_.Emit({Op::kAtomicOr, word, {pointer, scope, relaxed, set}});
}

Id KernelWriter::Load(const Memory& memory, Id index, DataType dtype) {
  TERN_ICHECK(dtype.is_scalar()) << "a load of " << dtype.str() << " was not lowered to scalars";
  if (memory.unit == dtype && dtype.is_float()) return LoadUnit(memory, index);
  Id bits = LoadBits(memory, index, dtype.bits());
  if (dtype.is_bool())
    return builder_.Emit({Op::kINotEqual, builder_.Bool(), {bits, builder_.Constant(32, 0)}});
  if (dtype.is_float()) return Reinterpret(bits, DataType::UInt(dtype.bits()), dtype);
  return dtype.is_int() ? Wrap(bits, dtype) : bits;
}

void KernelWriter::Store(const Memory& memory, Id index, DataType dtype, Id value) {
  TERN_ICHECK(dtype.is_scalar()) << "a store of " << dtype.str() << " was not lowered to scalars";
  if (memory.unit == dtype && dtype.is_float()) return StoreUnit(memory, index, value);
  if (dtype.is_bool())
    value = BoolToInt(value, 32);
  else if (dtype.is_float())
    value = Reinterpret(value, dtype, DataType::UInt(dtype.bits()));
  StoreBits(memory, index, dtype.bits(), value);
}

}  // namespace tern::backend::vulkan
