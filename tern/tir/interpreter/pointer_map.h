// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_INTERPRETER_POINTER_MAP_H_
#define TERN_TIR_INTERPRETER_POINTER_MAP_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tern::tir {

// From nodes to values. The interpreter looks variables up several times for each element:
// std::unordered_map divides by a prime each time, which took nearly half of all. What an insertion
// or Erase leaves of pointers to values is not known.
template <class K, class V>
class PointerMap {
 public:
  // Null where there is none.
  V* Find(const K* key) {
    if (slots_.empty()) return nullptr;
    Slot& slot = slots_[PlaceOf(key)];
    return slot.key ? &slot.value : nullptr;
  }
  const V* Find(const K* key) const { return const_cast<PointerMap*>(this)->Find(key); }

  V& operator[](const K* key) {
    if (V* found = Find(key)) return *found;
    if (2 * (size_ + 1) > slots_.size()) Grow();
    ++size_;
    Slot& slot = slots_[PlaceOf(key)];
    slot.key = key;
    return slot.value;
  }

  void Erase(const K* key) {
    if (!Find(key)) return;
    --size_;
    size_t hole = PlaceOf(key), last = slots_.size() - 1;
    // What comes behind moves up, unless it is between its own place and the hole.
    for (size_t at = (hole + 1) & last; slots_[at].key; at = (at + 1) & last) {
      if (((at - Start(slots_[at].key)) & last) < ((at - hole) & last)) continue;
      slots_[hole] = std::move(slots_[at]);
      hole = at;
    }
    slots_[hole] = Slot();
  }

  template <class F>
  void ForEachKey(F&& visit) const {
    for (const Slot& slot : slots_)
      if (slot.key) visit(slot.key);
  }

 private:
  struct Slot {
    const K* key = nullptr;
    V value{};
  };

  size_t Start(const K* key) const {
    return static_cast<size_t>((reinterpret_cast<uintptr_t>(key) * 0x9e3779b97f4a7c15u) >> shift_);
  }
  // Where the key is, or would be.
  size_t PlaceOf(const K* key) const {
    size_t at = Start(key);
    while (slots_[at].key && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void Grow() {
    std::vector<Slot> old(slots_.empty() ? kLeast : 2 * slots_.size());
    old.swap(slots_);
    shift_ = old.empty() ? 64 - kLeastBits : shift_ - 1;
    for (Slot& slot : old)
      if (slot.key) slots_[PlaceOf(slot.key)] = std::move(slot);
  }

  static constexpr int kLeastBits = 4;
  static constexpr size_t kLeast = size_t{1} << kLeastBits;

  std::vector<Slot> slots_;  // a power of two; at most half of them are in use
  size_t size_ = 0;
  int shift_ = 0;  // of a hash, to a slot
};

}  // namespace tern::tir

#endif  // TERN_TIR_INTERPRETER_POINTER_MAP_H_
