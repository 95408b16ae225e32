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

namespace tern::backend::vulkan {

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
  uint64_t push_constant_bytes = 0;
  bool takes_rows = false;    // of blocks
  uint32_t warp_size = 0;     // 0: it does not matter
  uint64_t shared_bytes = 0;  // that the threads of a block share
  // Iterations of all loops of an invocation, where there are many; and the id of the constant that
  // has it count them (common/spirv.h). 0: none.
  uint32_t loop_steps = 0, loop_limit_id = 0;

 private:
  void ReadSpecConstant(uint32_t spec_id, uint32_t value);
  // Sizes of types, for the memory that variables have.
  void ReadType(spirv::Op op, const uint32_t* operands, uint32_t count);
  void Read(uint32_t op, const uint32_t* operands, uint32_t count);

  std::set<uint32_t> capabilities_;
  std::set<std::pair<uint32_t, uint32_t>> float_modes_;        // an execution mode, and bits
  std::map<uint32_t, uint32_t> spec_ids_;                      // of constants, by id
  std::map<uint32_t, uint64_t> sizes_;                         // of types in bytes, by id
  std::map<uint32_t, uint32_t> constants_;                     // of 32 bits, by id
  std::map<uint32_t, uint32_t> pointees_;                      // what pointers point to, by id
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> offsets_;  // of members, by id and number
  std::set<uint32_t> pointers_;                                // ids of types of addresses
};

}  // namespace tern::backend::vulkan

#endif  // TERN_BACKEND_VULKAN_RUNTIME_SHADER_H_
