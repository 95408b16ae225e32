// SPDX-License-Identifier: Apache-2.0
//
// What becomes of denormal floats on a thread: computed as they are, or flushed to zero, which many
// CPUs do much faster.
#ifndef TERN_RUNTIME_HOST_DENORMALS_H_
#define TERN_RUNTIME_HOST_DENORMALS_H_

#include <cstdint>

namespace tern::runtime {

enum class Denormals : uint8_t {
  kAsCaller,  // as the thread that calls has it
  kKeep,
  kFlush,  // operands and results
};

// The bits of the control register that say so; 0 on machines that cannot flush.
#if defined(__SSE__)
inline constexpr uint64_t kFlushBits = 0x8040;  // of MXCSR: flush to zero, denormals are zero
inline uint64_t FloatControl() { return __builtin_ia32_stmxcsr(); }
inline void SetFloatControl(uint64_t bits) { __builtin_ia32_ldmxcsr(static_cast<unsigned>(bits)); }
#elif defined(__aarch64__)
inline constexpr uint64_t kFlushBits = (1u << 24) | (1u << 19);  // of FPCR: FZ and FZ16
inline uint64_t FloatControl() {
  uint64_t bits = 0;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}
inline void SetFloatControl(uint64_t bits) { asm volatile("msr fpcr, %0" : : "r"(bits)); }
#else
inline constexpr uint64_t kFlushBits = 0;
inline uint64_t FloatControl() { return 0; }
inline void SetFloatControl(uint64_t) {}
#endif

inline uint64_t DenormalBits() { return FloatControl() & kFlushBits; }

// Of the calling thread, while this lives; then as before.
class ScopedDenormals {
 public:
  // As DenormalBits gave them, on any thread.
  explicit ScopedDenormals(uint64_t bits) : before_(DenormalBits()) { Set(bits); }
  explicit ScopedDenormals(Denormals wanted)
      : ScopedDenormals(wanted == Denormals::kAsCaller ? DenormalBits()
                        : wanted == Denormals::kFlush  ? kFlushBits
                                                       : 0) {}
  ~ScopedDenormals() { Set(before_); }
  ScopedDenormals(const ScopedDenormals&) = delete;

 private:
  // Writing the register is slow, reading it is not.
  static void Set(uint64_t bits) {
    uint64_t control = FloatControl();
    if ((control & kFlushBits) != bits) SetFloatControl((control & ~kFlushBits) | bits);
  }

  uint64_t before_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_HOST_DENORMALS_H_
