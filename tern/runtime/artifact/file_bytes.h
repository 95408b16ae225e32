// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_ARTIFACT_FILE_BYTES_H_
#define TERN_RUNTIME_ARTIFACT_FILE_BYTES_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace tern::runtime {

// All of these throw with the path and the system's reason.

// More than anybody writes by hand or lists: manifests, programs, traces.
inline constexpr uint64_t kMostTextBytes = uint64_t{256} << 20;

// The bytes of a file. What has no size, or never ends (directories, devices, pipes), is refused,
// and so is a file of more than `most` bytes, before memory is asked for.
std::string ReadFile(const std::string& path, uint64_t most = UINT64_MAX);

// A file beside the final one, under a name that nobody can foresee, which takes the final one's
// place when all of it is there: others see the old file or the new one, and where this fails the
// old one stays. Symbolic links are replaced, not followed. Devices and pipes are written to as
// they are, and so is all below /dev and /proc, where names stand for what is open.
class PendingFile {
 public:
  // `mode` is what the umask takes from.
  explicit PendingFile(std::string path, mode_t mode = 0666);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  void Write(std::string_view bytes);
  void Finish();

 private:
  std::string path_, temporary_;  // the second is "" where the first is written to
  int file_ = -1;
};

// A PendingFile of these bytes.
void WriteFile(const std::string& path, std::string_view bytes, mode_t mode = 0666);

// A file in memory of which only those parts are read that are asked for, each once: what was
// looked at does not change, whatever happens to the file. It takes no more memory than what was
// read takes on the disk: holes cost nothing. Safe from many threads.
class PartlyReadFile {
 public:
  // As ReadFile, it refuses what is no file.
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
  // The bytes themselves, shared by all processes that map them, read only; `offset` is a multiple
  // of a page. They change with the file: who writes files replaces them. Throws where they do not
  // end within the file. What was given in memory is copied.
  std::shared_ptr<const void> Map(uint64_t offset, uint64_t size) const;

 private:
  void Read(uint64_t offset, uint64_t end);

  std::string path_;
  int file_ = -1;
  std::string whole_;  // of what was given
  char* memory_ = nullptr;
  size_t size_ = 0;
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> read_;  // where what was read begins and ends; no two touch
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_ARTIFACT_FILE_BYTES_H_
