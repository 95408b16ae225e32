// SPDX-License-Identifier: Apache-2.0
//
// Compiled kernels in memory.
#ifndef TERN_RUNTIME_TEST_STANDIN_IMAGE_H_
#define TERN_RUNTIME_TEST_STANDIN_IMAGE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tern/runtime/test_standin/device_abi.h"

namespace tern::standin {

class Image {
 public:
  // Of the bytes of a shared object; null with the reason where it cannot be loaded, or is not one
  // of a stand-in's.
  static std::unique_ptr<Image> Open(const std::string& bytes, std::string* why);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  const tern_standin::Module* info() const { return info_; }
  bool Contains(const void* address) const { return address >= begin_ && address < end_; }
  // What of it kernels may read.
  const std::vector<std::pair<const char*, const char*>>& constants() const { return constants_; }
  // Where it lies.
  const char* begin() const { return begin_; }

 private:
  Image(void* library, int file, const tern_standin::Module* info);

  void* library_;
  int file_;  // stays open as long as the library: its number is the library's name
  const tern_standin::Module* info_;
  const char *begin_ = nullptr, *end_ = nullptr;
  std::vector<std::pair<const char*, const char*>> constants_;
};

}  // namespace tern::standin

#endif  // TERN_RUNTIME_TEST_STANDIN_IMAGE_H_
