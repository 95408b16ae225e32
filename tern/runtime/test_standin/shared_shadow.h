// SPDX-License-Identifier: Apache-2.0
//
// Who touched each byte of a block's shared memory last, and whether something lay between.
#ifndef TERN_RUNTIME_TEST_STANDIN_SHARED_SHADOW_H_
#define TERN_RUNTIME_TEST_STANDIN_SHARED_SHADOW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tern::standin {

class SharedShadow {
 public:
  // A thread, and how often its block and its warp have been put in order (by barriers and by
  // __syncwarp).
  struct Who {
    uint32_t thread, block_phase, warp_phase;
  };
  struct Race {
    uint32_t other;  // thread
    bool other_wrote;
  };

  void Resize(size_t bytes) { cells_.resize(bytes); }
  // Nothing is remembered across: phases of a block do not return.
  std::optional<Race> Access(size_t offset, size_t bytes, const Who& who, bool is_write);

 private:
  struct Touch {
    Who who{~0u, 0, 0};
    enum Readers : uint8_t { kOne, kOfWarp, kOfBlock } readers = kOne;
  };
  struct Cell {
    Touch write, read;
  };
  static bool IsUnordered(const Touch& before, const Who& now);
  static void NoteRead(Touch& read, const Who& who);

  std::vector<Cell> cells_;
};

}  // namespace tern::standin

#endif  // TERN_RUNTIME_TEST_STANDIN_SHARED_SHADOW_H_
