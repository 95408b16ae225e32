// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/shadow_memory.h"

#include <algorithm>
#include <numeric>

namespace tern::tir {

ShadowMemory::ShadowMemory(size_t size, Contents contents) : size_(size) {
  if (contents == Contents::kUninitialised) MarkUninitialised();
}

bool ShadowMemory::IsInitialised(size_t offset, size_t bytes) const {
  if (initialised_.empty()) return true;
  auto first = initialised_.begin() + offset;
  return std::all_of(first, first + bytes, [](bool written) { return written; });
}

void ShadowMemory::MarkInitialised(size_t offset, size_t bytes) {
  if (initialised_.empty()) return;
  std::fill_n(initialised_.begin() + offset, bytes, true);
}

void ShadowMemory::MarkUninitialised() { initialised_.assign(size_, false); }

// Memory can be seen as elements of different sizes; a cell is no larger than the smallest and
// never lies across the border of two.
void ShadowMemory::RefineCells(size_t bytes) {
  size_t refined = std::gcd(cell_bytes_, bytes);
  std::vector<Cell> cells((size_ + refined - 1) / refined);
  if (!cells_.empty())
    for (size_t i = 0; i < cells.size(); ++i) cells[i] = cells_[i * refined / cell_bytes_];
  cells_ = std::move(cells);
  cell_bytes_ = refined;
}

const MemoryAccess* ShadowMemory::Record(const TaskTree& tasks, size_t offset, size_t bytes,
                                         const MemoryAccess& access) {
  size_t step = std::gcd(offset, bytes);
  if (cells_.empty() || step % cell_bytes_ != 0) RefineCells(step);
  for (size_t i = offset / cell_bytes_; i * cell_bytes_ < offset + bytes; ++i)
    if (const MemoryAccess* earlier = Record(tasks, cells_[i], access)) return earlier;
  return nullptr;
}

const MemoryAccess* ShadowMemory::Record(const TaskTree& tasks, Cell& cell,
                                         const MemoryAccess& access) {
  auto races = [&](const MemoryAccess& earlier) {
    return earlier.place && tasks.Concurrent(earlier.moment, access.moment);
  };
  if (races(cell.write)) return &cell.write;
  if (access.is_atomic) {
    if (races(cell.read)) return &cell.read;
    if (races(cell.other_read)) return &cell.other_read;
    if (races(cell.atomic) && !races(cell.other_atomic)) cell.other_atomic = cell.atomic;
    cell.atomic = access;
    return nullptr;
  }
  if (races(cell.atomic)) return &cell.atomic;
  if (races(cell.other_atomic)) return &cell.other_atomic;
  if (access.is_write) {
    if (races(cell.read)) return &cell.read;
    if (races(cell.other_read)) return &cell.other_read;
    cell.write = access;
    return nullptr;
  }
  if (races(cell.read) && !races(cell.other_read)) cell.other_read = cell.read;
  cell.read = access;
  return nullptr;
}

}  // namespace tern::tir
