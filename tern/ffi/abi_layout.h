// SPDX-License-Identifier: Apache-2.0
//
// Where the members of c_abi.h's structures lie on a machine whose pointers have 4 or 8 bytes; the
// machine may be another one than this.
#ifndef TERN_FFI_ABI_LAYOUT_H_
#define TERN_FFI_ABI_LAYOUT_H_

#include <cstddef>

#include "tern/ffi/c_abi.h"

namespace tern::ffi {

class AbiLayout {
 public:
  explicit constexpr AbiLayout(int64_t pointer_bytes) : pointer_(pointer_bytes) {}

  // Of TernTensorView.
  constexpr int64_t data() const { return 0; }
  constexpr int64_t device() const { return pointer_; }
  constexpr int64_t ndim() const { return device() + 8; }
  constexpr int64_t dtype() const { return ndim() + 4; }
  constexpr int64_t shape() const { return dtype() + 4; }
  constexpr int64_t strides() const { return shape() + pointer_; }
  constexpr int64_t byte_offset() const { return (strides() + pointer_ + 7) / 8 * 8; }

  // Of TernEnv, behind its two numbers.
  constexpr int64_t raise() const { return EnvMember(1); }
  constexpr int64_t call() const { return EnvMember(2); }
  constexpr int64_t alloc_workspace() const { return EnvMember(3); }
  constexpr int64_t free_workspace() const { return EnvMember(4); }
  constexpr int64_t parallel_for() const { return EnvMember(5); }
  constexpr int64_t env_size() const { return EnvMember(6); }

 private:
  constexpr int64_t EnvMember(int64_t index) const { return 8 + index * pointer_; }

  int64_t pointer_;
};

// TernAny and the header of TernObject are the same on all machines.
inline constexpr int64_t kObjectHeaderBytes = 24;

static_assert(AbiLayout(sizeof(void*)).shape() == offsetof(TernTensorView, shape));
static_assert(AbiLayout(sizeof(void*)).dtype() == offsetof(TernTensorView, dtype));
static_assert(AbiLayout(sizeof(void*)).strides() == offsetof(TernTensorView, strides));
static_assert(AbiLayout(sizeof(void*)).byte_offset() == offsetof(TernTensorView, byte_offset));
static_assert(AbiLayout(sizeof(void*)).raise() == offsetof(TernEnv, raise));
static_assert(AbiLayout(sizeof(void*)).parallel_for() == offsetof(TernEnv, parallel_for));
static_assert(AbiLayout(sizeof(void*)).env_size() == sizeof(TernEnv));
static_assert(sizeof(TernObject) == kObjectHeaderBytes);

}  // namespace tern::ffi

#endif  // TERN_FFI_ABI_LAYOUT_H_
