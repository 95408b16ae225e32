// SPDX-License-Identifier: Apache-2.0
//
// Barrier objects in shared memory, and the copies that complete on them. A copy is done as late as
// it can be: when no thread can go on without it. Until then its target is no number, and an error
// to touch.
#include <cstring>

#include "tern/runtime/test_standin/runner.h"

namespace tern::standin {

BarrierObject& Runner::Object(unsigned address) {
  SharedPointer(address, 8);
  auto it = objects_.find(address);
  if (it == objects_.end())
    Fail(Fault::kWrong, "mbarrier at byte " + std::to_string(address) + " was not initialized");
  return it->second;
}

void Runner::ObjectInit(unsigned address, unsigned count) {
  SharedPointer(address, 8);
  if (address % 8 || count == 0) Fail(Fault::kWrong, "mbarrier.init: a wrong address or count");
  objects_[address] = {count, count, 0, 0};
}

void Runner::ObjectArrive(unsigned address, size_t bytes) {
  BarrierObject& object = Object(address);
  if (object.missing == 0)
    Fail(Fault::kWrong, "mbarrier.arrive: more arrivals than the phase of the barrier takes");
  object.bytes += static_cast<int64_t>(bytes);
  --object.missing;
  FinishPhase(address);
}

// Wakes those that wait for the phase which ends now.
void Runner::FinishPhase(unsigned address) {
  BarrierObject& object = objects_.at(address);
  if (object.missing > 0 || object.bytes != 0) return;
  ++object.phase;
  object.missing = object.count;
  for (unsigned i = 0; i < num_threads_; ++i) {
    Thread& waiting = threads_[i];
    if (waiting.state != Thread::kAtObject || waiting.object != address) continue;
    waiting.state = Thread::kReady;
    ready_.push_back(i);
  }
}

void Runner::ObjectWait(unsigned address, unsigned parity) {
  const BarrierObject& object = Object(address);
  if (object.phase % 2 != parity) return;  // that phase has ended
  thread().object = address;
  thread().parity = parity;
  Block(Thread::kAtObject);
}

void Runner::BulkCopy(unsigned target, const void* given, const int* at, int axes,
                      unsigned barrier) {
  PendingBox copy;
  std::memcpy(&copy.map, given, sizeof copy.map);
  const TensorMap& map = copy.map;
  if (map.magic != TensorMap::kMagic) Fail(Fault::kWrong, "cp.async.bulk.tensor: no tensor map");
  if (map.axes != axes)
    Fail(Fault::kWrong, "cp.async.bulk.tensor: the map is of another number of axes");
  size_t alignment = map.swizzle ? size_t{map.swizzle} * 8 : 128;
  if (target % alignment)
    Fail(Fault::kMisaligned,
         "cp.async.bulk.tensor: the target is no multiple of " + std::to_string(alignment));
  Object(barrier);
  copy.target = target;
  copy.barrier = barrier;
  std::copy_n(at, axes, copy.at);
  void* place = SharedPointer(target, map.box_bytes());
  CheckBoxes(target, map.box_bytes());
  std::memset(place, 0xff, map.box_bytes());
  boxes_.push_back(copy);
}

void Runner::CheckBoxes(unsigned address, size_t bytes) {
  for (const PendingBox& box : boxes_)
    if (address < box.target + box.map.box_bytes() && box.target < address + bytes)
      Fail(Fault::kWrong, "race: touches byte " + std::to_string(address) +
                              " of shared memory, which a copy that is under way writes");
}

// The oldest copy that is under way; whether there is one.
bool Runner::FinishCopy() {
  if (boxes_.empty()) return false;
  PendingBox box = boxes_.front();
  boxes_.pop_front();
  const TensorMap& map = box.map;
  uint64_t elements = map.box_bytes() / map.element_bytes;
  for (uint64_t i = 0; i < elements; ++i) {
    uint64_t rest = i, offset = 0;
    bool is_inside = true;
    for (int d = 0; d < map.axes; ++d) {
      int64_t place = box.at[d] + static_cast<int64_t>(rest % map.box[d]);
      rest /= map.box[d];
      is_inside &= place >= 0 && static_cast<uint64_t>(place) < map.shape[d];
      offset += static_cast<uint64_t>(place) * (d == 0 ? map.element_bytes : map.strides[d - 1]);
    }
    unsigned to = box.target + static_cast<unsigned>(i) * map.element_bytes;
    if (map.swizzle == 128) to ^= (to >> 7 & 7) << 4;
    void* target = SharedPointer(to, map.element_bytes);
    std::memset(target, 0, map.element_bytes);
    if (!is_inside) continue;
    std::string why = grid_->check_global(map.memory + offset, map.element_bytes);
    if (!why.empty()) {
      error_ = {Fault::kAddress, "cp.async.bulk.tensor reads " + std::to_string(map.element_bytes) +
                                     " bytes " + why};
      return true;
    }
    std::memcpy(target, map.memory + offset, map.element_bytes);
  }
  objects_.at(box.barrier).bytes -= static_cast<int64_t>(map.box_bytes());
  FinishPhase(box.barrier);
  return true;
}

std::string Runner::WhyObjectWaits(unsigned number) const {
  const Thread& waiting = threads_[number];
  const BarrierObject& object = objects_.at(waiting.object);
  return Place(number) + " waits for the mbarrier at byte " + std::to_string(waiting.object) +
         ", phase " + std::to_string(object.phase) + ": " + std::to_string(object.missing) +
         " of " + std::to_string(object.count) + " arrivals are missing, and " +
         std::to_string(object.bytes) + " bytes";
}

}  // namespace tern::standin
