// SPDX-License-Identifier: Apache-2.0
//
// What a SPIR-V module says of itself: enough to bind its arguments and to tell whether a device
// can run it. What its bindings mean is in common/spirv.h.
#ifndef TERN_BACKEND_VULKAN_RUNTIME_SHADER_H_
#define TERN_BACKEND_VULKAN_RUNTIME_SHADER_H_

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tern/backend/vulkan/common/spirv.h"
#include "tern/backend/vulkan/runtime/device.h"

namespace tern::vulkan {

struct Shader {
  // Throws ValueError on bytes that are no SPIR-V module.
  explicit Shader(std::string_view bytes);

  // Throws with what the device lacks.
  void CheckDevice(const Device& device) const;
  // The entry point for a kernel: the one of its name, or the only one.
  const std::string& EntryOf(const std::string& kernel) const;

  std::vector<uint32_t> code;
  std::vector<std::string> entries;
  std::set<uint32_t> bindings;
  std::set<uint32_t> addresses;     // arguments that are passed as such
  std::array<uint32_t, 3> block{};  // threads; 0: the launch says it
  bool has_push_constants = false;
  bool takes_rows = false;    // of blocks
  uint32_t warp_size = 0;     // 0: it does not matter
  uint64_t shared_bytes = 0;  // that the threads of a block share

 private:
  // Sizes of types, for the memory that variables have.
  void ReadType(spirv::Op op, const uint32_t* operands, uint32_t count);
  void Read(uint32_t op, const uint32_t* operands, uint32_t count);

  std::set<uint32_t> capabilities_;
  std::set<std::pair<uint32_t, uint32_t>> float_modes_;  // an execution mode, and bits
  uint32_t warp_size_constant_ = 0;                      // id
  std::map<uint32_t, uint64_t> sizes_;                   // of types in bytes, by id
  std::map<uint32_t, uint32_t> constants_;               // of 32 bits, by id
  std::map<uint32_t, uint32_t> shared_pointers_;         // what they point to, by id
  std::set<uint32_t> pointers_;                          // ids of types of addresses
};

}  // namespace tern::vulkan

#endif  // TERN_BACKEND_VULKAN_RUNTIME_SHADER_H_
