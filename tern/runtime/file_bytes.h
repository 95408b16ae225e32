// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_FILE_BYTES_H_
#define TERN_RUNTIME_FILE_BYTES_H_

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace tern::runtime {

// Both throw with the path and the system's reason.
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, std::string_view bytes);

// A file in memory of which only those parts are read that are asked for, each once: what was
// looked at does not change, whatever happens to the file. Safe from many threads.
class PartlyReadFile {
 public:
  explicit PartlyReadFile(const std::string& path);
  // What was read already.
  PartlyReadFile(std::string path, std::string bytes);
  ~PartlyReadFile();
  PartlyReadFile(const PartlyReadFile&) = delete;
  PartlyReadFile& operator=(const PartlyReadFile&) = delete;

  // As large as the file; what was not asked for is zero.
  std::string_view bytes() const { return {memory_, size_}; }
  // Reads what of these bytes has not been read. They end within the file.
  void Need(uint64_t offset, uint64_t size);

 private:
  void Read(uint64_t offset, uint64_t size);

  std::string path_;
  int file_ = -1;
  std::string whole_;  // of what was given, or has no size, like a pipe
  char* memory_ = nullptr;
  size_t size_ = 0;
  std::mutex mutex_;
  std::set<uint64_t> pages_;  // that were read, by number
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_FILE_BYTES_H_
