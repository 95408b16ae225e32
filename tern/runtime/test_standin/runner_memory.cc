// SPDX-License-Identifier: Apache-2.0
//
// What threads do to memory.
#include <cstring>

#include "tern/runtime/test_standin/runner.h"

namespace tern::standin {

constexpr unsigned kSharedWindow = 1024;  // the first address of shared memory, as a number

std::optional<size_t> Runner::SharedOffset(const void* address, size_t bytes) const {
  const auto* place = static_cast<const char*>(address);
  const tern_standin::Kernel& kernel = *grid_->kernel;
  if (place >= kernel.shared_begin && place + bytes <= kernel.shared_end)
    return static_cast<size_t>(place - kernel.shared_begin);
  if (place >= dynamic_ && place + bytes <= dynamic_ + grid_->dynamic_shared_bytes)
    return static_bytes() + static_cast<size_t>(place - dynamic_);
  return std::nullopt;
}

void Runner::CheckShared(size_t offset, size_t bytes, AccessKind kind) {
  if (!boxes_.empty()) CheckBoxes(kSharedWindow + static_cast<unsigned>(offset), bytes);
  if (kind == tern_standin::kAtomic) return;
  thread().is_unfenced |= kind == tern_standin::kWrite;
  SharedShadow::Who who{current_, block_phase_, thread().warp_phase};
  auto race = shadow_.Access(offset, bytes, who, kind == tern_standin::kWrite);
  if (race)
    Fail(Fault::kWrong,
         std::string("race: ") + (kind == tern_standin::kWrite ? "writes" : "reads") + " byte " +
             std::to_string(offset) + " of shared memory, which " + Place(race->other) +
             (race->other_wrote ? " wrote" : " read") + ", with no barrier between");
}

bool Runner::IsConstant(const void* address, size_t bytes) const {
  const auto* place = static_cast<const char*>(address);
  for (const auto& [begin, end] : grid_->image->constants())
    if (place >= begin && place + bytes <= end) return true;
  return false;
}

void Runner::Misaligned(const void* address, size_t alignment) {
  Fail(Fault::kMisaligned, "an access at address " +
                               std::to_string(reinterpret_cast<uintptr_t>(address)) +
                               ", which is no multiple of " + std::to_string(alignment));
}

void Runner::Access(const void* address, size_t bytes, AccessKind kind) {
  if (fiber_->Contains(address)) return;
  bool is_vector = bytes <= 16 && (bytes & (bytes - 1)) == 0;
  if (is_vector && reinterpret_cast<uintptr_t>(address) % bytes) Misaligned(address, bytes);
  if (auto offset = SharedOffset(address, bytes)) return CheckShared(*offset, bytes, kind);
  if (kind == tern_standin::kRead && IsConstant(address, bytes)) return;
  std::string why = grid_->check_global(address, bytes);
  if (!why.empty() && grid_->image->Contains(address)) why = "behind the block's shared memory";
  if (!why.empty())
    Fail(Fault::kAddress, std::string(kind == tern_standin::kRead ? "reads " : "writes ") +
                              std::to_string(bytes) + " bytes " + why);
}

unsigned Runner::SharedAddress(const void* pointer) {
  auto offset = SharedOffset(pointer, 0);
  if (!offset) Fail(Fault::kAddress, "__cvta_generic_to_shared: not of shared memory");
  return kSharedWindow + static_cast<unsigned>(*offset);
}

void* Runner::SharedPointer(unsigned address, size_t bytes) {
  size_t offset = size_t{address} - kSharedWindow, fixed = static_bytes();
  if (address < kSharedWindow || offset + bytes > fixed + grid_->dynamic_shared_bytes)
    Fail(Fault::kAddress, "an address of shared memory beyond the block's " +
                              std::to_string(fixed + grid_->dynamic_shared_bytes) + " bytes");
  return offset < fixed ? grid_->kernel->shared_begin + offset : dynamic_ + (offset - fixed);
}

void* Runner::ThreadMemory(size_t bytes) {
  if (thread().memory.size() < bytes) thread().memory.resize(bytes);
  return thread().memory.data();
}

void Runner::AsyncRead(unsigned address, size_t bytes) {
  if (unfenced_)
    Fail(Fault::kWrong, "an asynchronous read of shared memory, and " + Place(*unfenced_) +
                            " wrote to it with no fence between that and the last barrier");
  Access(SharedPointer(address, bytes), bytes, tern_standin::kRead);
}

// The target is no number until the copy was waited for.
void Runner::Copy(unsigned target, const void* source, size_t size, size_t bytes) {
  if (bytes > size) Fail(Fault::kWrong, "cp.async reads more than it writes");
  void* place = SharedPointer(target, size);
  if (target % size || reinterpret_cast<uintptr_t>(source) % size)
    Fail(Fault::kMisaligned, "cp.async: an address is no multiple of " + std::to_string(size));
  if (bytes > 0)
    if (std::string why = grid_->check_global(source, bytes); !why.empty())
      Fail(Fault::kAddress, "cp.async reads " + std::to_string(bytes) + " bytes " + why);
  Access(place, size, tern_standin::kWrite);
  std::memset(place, 0xff, size);
  thread().open.push_back({place, source, size, bytes});
}

void Runner::Commit() {
  thread().groups.push_back(std::move(thread().open));
  thread().open.clear();
}

void Runner::Wait(unsigned groups) {
  auto& pending = thread().groups;
  for (; pending.size() > groups; pending.pop_front())
    for (const PendingCopy& copy : pending.front()) {
      Access(copy.target, copy.size, tern_standin::kWrite);
      std::memset(copy.target, 0, copy.size);
      std::memcpy(copy.target, copy.source, copy.bytes);
    }
}

}  // namespace tern::standin
