// SPDX-License-Identifier: Apache-2.0
//
// Straight pieces of a program, which a device with graphs records and does again.
#ifndef TERN_RUNTIME_VM_SEGMENTS_H_
#define TERN_RUNTIME_VM_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "tern/runtime/vm/program.h"

namespace tern::runtime::vm {

// Instructions from `begin` to before `end`.
struct Segment {
  uint32_t begin = 0, end = 0;
  uint32_t launches = 0;  // calls and copies in it
};
// Fewer are launched one by one.
inline constexpr uint32_t kFewestLaunches = 2;

// The longest pieces that nothing jumps into, that read no element and call nothing but kernels,
// whose memory is planned or the model's outputs', and that do the same when they are run again: no
// register is written that was read or written in the piece before. In the order of the code;
// without those of few launches. `is_planned` is by tensor register, `on_host` by kernel: those are
// in none.
std::vector<Segment> FindSegments(const Function& function, const std::vector<bool>& is_planned,
                                  const std::vector<bool>& on_host);

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_SEGMENTS_H_
