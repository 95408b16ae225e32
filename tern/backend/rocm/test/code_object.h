// SPDX-License-Identifier: Apache-2.0
//
// A code object as drivers read it, by LLVM's own libraries.
#ifndef TERN_BACKEND_ROCM_TEST_CODE_OBJECT_H_
#define TERN_BACKEND_ROCM_TEST_CODE_OBJECT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tern::backend::rocm::test {

struct KernelArg {
  uint64_t offset = 0, size = 0;
  std::string kind;           // "global_buffer", "by_value"; "hidden_..." are the driver's
  std::string address_space;  // of a buffer
};

struct KernelMetadata {
  std::vector<KernelArg> args;  // those that a launch gives
  uint64_t kernarg_bytes = 0, group_bytes = 0, private_bytes = 0;
  uint64_t max_threads = 0, wave = 0;
  bool dynamic_stack = false;
};

struct CodeObject {
  std::string architecture;  // "gfx90a"
  int version = 0;           // of the format: 5
  std::map<std::string, KernelMetadata> kernels;
  std::string tir;  // the kernels' text, where it is there
};

// The bytes of the file that starts there; throws where none does.
std::string_view FileAt(const void* start);
// Throws on bytes that are no code object, and where metadata and symbols do not agree.
CodeObject ReadCodeObject(std::string_view bytes);

}  // namespace tern::backend::rocm::test

#endif  // TERN_BACKEND_ROCM_TEST_CODE_OBJECT_H_
