// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host/workspace.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "tern/runtime/device.h"
#include "tern/runtime/stream.h"

namespace tern::runtime {
namespace {

constexpr size_t kMinBlockBytes = size_t{64} << 10;
// Between calls. Drivers of devices take long to allocate, and wait for what runs to free.
constexpr size_t kMaxKeptBytes = size_t{256} << 20, kMaxKeptOnDevices = size_t{1} << 31;

struct FreeMemory {
  void operator()(char* memory) const { std::free(memory); }
};

// Blocks of which the last that is in use is filled from its start.
class HostStack {
 public:
  void* Alloc(size_t bytes, size_t alignment) {
    for (; block_ < blocks_.size(); ++block_, used_ = 0)
      if (void* memory = Take(bytes, alignment)) return memory;
    size_t size = std::max(kMinBlockBytes, bytes + alignment);
    auto* memory = static_cast<char*>(std::malloc(size));
    if (!memory) return nullptr;
    blocks_.push_back({std::unique_ptr<char, FreeMemory>(memory), size});
    used_ = 0;
    return Take(bytes, alignment);
  }

  void Free(void* memory) {
    auto* place = static_cast<char*>(memory);
    for (size_t i = std::min(block_ + 1, blocks_.size()); i-- > 0;) {
      const Block& block = blocks_[i];
      if (place < block.memory.get() || place >= block.memory.get() + block.size) continue;
      block_ = i;
      used_ = static_cast<size_t>(place - block.memory.get());
      return;
    }
  }

  size_t block() const { return block_; }
  size_t used() const { return used_; }
  void ReturnTo(size_t block, size_t used) {
    block_ = block;
    used_ = used;
    if (block > 0 || used > 0 || blocks_.empty()) return;
    // Nothing is in use: what took several blocks takes one next time.
    size_t total = 0;
    for (const Block& held : blocks_) total += held.size;
    if (blocks_.size() == 1 && total <= kMaxKeptBytes) return;
    blocks_.clear();
    auto* memory = total <= kMaxKeptBytes ? static_cast<char*>(std::malloc(total)) : nullptr;
    if (memory) blocks_.push_back({std::unique_ptr<char, FreeMemory>(memory), total});
  }

 private:
  struct Block {
    std::unique_ptr<char, FreeMemory> memory;
    size_t size;
  };

  // From the block at hand; null where it has no room.
  void* Take(size_t bytes, size_t alignment) {
    const Block& block = blocks_[block_];
    auto start = reinterpret_cast<uintptr_t>(block.memory.get()) + used_;
    size_t padding = (alignment - start % alignment) % alignment;
    if (padding > block.size - used_ || bytes > block.size - used_ - padding) return nullptr;
    char* memory = block.memory.get() + used_ + padding;
    // What is empty has an address of its own too, so that giving it back gives back nothing else.
    used_ = std::min(used_ + padding + std::max<size_t>(bytes, 1), block.size);
    return memory;
  }

  std::vector<Block> blocks_;
  size_t block_ = 0, used_ = 0;
};

}  // namespace

// Work of one stream is queued in the order of the calls, so a piece that is given back can be used
// again at once.
class DeviceWorkspace {
 public:
  // Whether it gives back what is too much to keep.
  explicit DeviceWorkspace(bool keeps_all) : keeps_all_(keeps_all) {}
  DeviceWorkspace(const DeviceWorkspace&) = delete;
  ~DeviceWorkspace() {
    for (const Piece& piece : pieces_) Release(piece);
  }

  void* Alloc(TernDevice device, size_t bytes, size_t alignment) {
    bytes = std::max<size_t>(bytes, 1);
    void* stream = CurrentStream(device);
    auto best = pieces_.end();
    for (auto it = pieces_.begin() + static_cast<ptrdiff_t>(in_use_); it != pieces_.end(); ++it) {
      bool fits = it->device.type == device.type && it->device.id == device.id &&
                  it->stream == stream && it->alignment >= alignment && it->bytes >= bytes &&
                  it->bytes / 2 <= bytes;
      if (fits && (best == pieces_.end() || it->bytes < best->bytes)) best = it;
    }
    if (best == pieces_.end()) {
      pieces_.reserve(pieces_.size() + 1);
      void* memory = GetDeviceKind(device.type).Alloc(device.id, bytes, alignment);
      pieces_.push_back({device, stream, memory, bytes, alignment});
      best = pieces_.end() - 1;
    }
    std::iter_swap(best, pieces_.begin() + static_cast<ptrdiff_t>(in_use_));
    return pieces_[in_use_++].memory;
  }

  void Free(void* memory) {
    auto end = pieces_.begin() + static_cast<ptrdiff_t>(in_use_);
    auto it = std::find_if(pieces_.begin(), end,
                           [&](const Piece& piece) { return piece.memory == memory; });
    if (it == end) return;
    // Those in use keep their order, which says what call they belong to.
    std::rotate(it, it + 1, end);
    --in_use_;
  }

  size_t in_use() const { return in_use_; }
  void ReturnTo(size_t in_use) {
    in_use_ = std::min(in_use_, in_use);
    if (in_use_ > 0 || keeps_all_) return;
    size_t total = 0;
    for (const Piece& piece : pieces_) total += piece.bytes;
    for (; total > kMaxKeptOnDevices; pieces_.pop_back()) {
      total -= pieces_.back().bytes;
      Release(pieces_.back());
    }
  }

 private:
  struct Piece {
    TernDevice device;
    void* stream;
    void* memory;
    size_t bytes, alignment;
  };

  static void Release(const Piece& piece) {
    try {
      GetDeviceKind(piece.device.type).Free(piece.device.id, piece.memory);
    } catch (const std::exception&) {
      // The device is gone, and its memory with it.
    }
  }

  std::vector<Piece> pieces_;  // those in use first, in the order of their allocation
  size_t in_use_ = 0;
  const bool keeps_all_;
};

struct ThreadWorkspace {
  HostStack host;
  DeviceWorkspace own{/*keeps_all=*/false};
  DeviceWorkspace* device = &own;
};

namespace {

thread_local ThreadWorkspace workspace;
// Of `workspace`, which need not be asked whether it is there.
constinit thread_local ThreadWorkspace* address = nullptr;

ThreadWorkspace& Mine() {
  ThreadWorkspace* mine = address;
  return mine ? *mine : *(address = &workspace);
}

}  // namespace

std::shared_ptr<DeviceWorkspace> MakeDeviceWorkspace() {
  return std::make_shared<DeviceWorkspace>(/*keeps_all=*/true);
}

DeviceWorkspace* UseDeviceWorkspace(DeviceWorkspace* other) {
  DeviceWorkspace* before = std::exchange(Mine().device, other ? other : &Mine().own);
  return before == &Mine().own ? nullptr : before;
}

void* AllocWorkspace(TernDevice device, int64_t bytes, int64_t alignment) noexcept {
  constexpr int64_t kMaxBytes = int64_t{1} << 62;
  if (bytes < 0 || bytes > kMaxBytes || alignment <= 0 || alignment > kMaxBytes ||
      (alignment & (alignment - 1)) != 0)
    return nullptr;
  auto size = static_cast<size_t>(bytes), aligned = static_cast<size_t>(alignment);
  try {
    return device.type == kTernDeviceCpu ? Mine().host.Alloc(size, aligned)
                                         : Mine().device->Alloc(device, size, aligned);
  } catch (const std::exception&) {
    return nullptr;
  }
}

void FreeWorkspace(TernDevice device, void* memory) noexcept {
  if (device.type == kTernDeviceCpu)
    Mine().host.Free(memory);
  else
    Mine().device->Free(memory);
}

WorkspaceFrame::WorkspaceFrame()
    : thread_(&Mine()),
      pieces_(thread_->device),
      block_(thread_->host.block()),
      used_(thread_->host.used()),
      in_use_(pieces_->in_use()) {}

WorkspaceFrame::~WorkspaceFrame() {
  thread_->host.ReturnTo(block_, used_);
  pieces_->ReturnTo(in_use_);
}

}  // namespace tern::runtime
