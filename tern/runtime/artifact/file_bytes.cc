// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <random>

#include "tern/ffi/error.h"

namespace tern::runtime {
namespace {

[[noreturn]] void Fail(const std::string& path, const char* what, const std::string& why) {
  throw Error("RuntimeError", path + ": cannot be " + what + ": " + why);
}
[[noreturn]] void Fail(const std::string& path, const char* what, int code) {
  Fail(path, what, std::strerror(code));
}

const char* TypeName(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// A descriptor that is closed with this object.
class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  int get() const { return file_; }
  int Release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

// Sets `size`. Does not wait for a pipe to be written to.
int OpenFile(const std::string& path, uint64_t* size) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) Fail(path, "opened", errno);
  struct stat info;
  if (fstat(file.get(), &info) != 0) Fail(path, "read", errno);
  if (!S_ISREG(info.st_mode))
    Fail(path, "read", std::string("it is ") + TypeName(info.st_mode) + ", and a file is expected");
  *size = static_cast<uint64_t>(info.st_size);
  return file.Release();
}

// Returns 0 at the end of the file only.
size_t ReadAt(int file, const std::string& path, char* to, uint64_t size, uint64_t offset) {
  while (true) {
    ssize_t got = pread(file, to, size, static_cast<off_t>(offset));
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) Fail(path, "read", errno);
  }
}

// Whether a name stands for what it leads to, which cannot be replaced.
bool IsWrittenInPlace(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return false;
  if (!S_ISREG(info.st_mode)) return true;
  std::error_code failed;
  std::string folder = std::filesystem::absolute(path, failed).lexically_normal().parent_path();
  return (folder + "/").starts_with("/dev/") || (folder + "/").starts_with("/proc/");
}

std::string RandomName() {
  std::random_device random;
  char text[32];
  std::snprintf(text, sizeof text, ".tern-%08x%08x.tmp", random(), random());
  return text;
}

}  // namespace

std::string ReadFile(const std::string& path, uint64_t most) {
  uint64_t size = 0;
  Descriptor file(OpenFile(path, &size));
  if (size > most)
    Fail(path, "read",
         "it has " + std::to_string(size) + " bytes, and at most " + std::to_string(most) +
             " are expected");
  std::string bytes;
  try {
    bytes.reserve(size);
    char buffer[1 << 16];
    while (size_t got = ReadAt(file.get(), path, buffer, sizeof buffer, bytes.size()))
      bytes.append(buffer, got);
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {  // std::bad_alloc, std::length_error
    Fail(path, "read", "there is no memory for its " + std::to_string(size) + " bytes");
  }
  return bytes;
}

PendingFile::PendingFile(std::string path, mode_t mode) : path_(std::move(path)) {
  constexpr int kFlags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
  if (IsWrittenInPlace(path_)) {
    file_ = open(path_.c_str(), kFlags);
    if (file_ < 0) Fail(path_, "written", errno);
    return;
  }
  size_t slash = path_.rfind('/');
  std::string folder = slash == std::string::npos ? "" : path_.substr(0, slash + 1);
  do {
    temporary_ = folder + RandomName();
    file_ = open(temporary_.c_str(), kFlags | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ < 0) Fail(path_, "written", errno);
}

PendingFile::~PendingFile() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void PendingFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail(path_, "written", errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void PendingFile::Finish() {
  if (close(std::exchange(file_, -1)) != 0) Fail(path_, "written", errno);
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) Fail(path_, "written", errno);
  temporary_.clear();
}

void WriteFile(const std::string& path, std::string_view bytes, mode_t mode) {
  PendingFile file(path, mode);
  file.Write(bytes);
  file.Finish();
}

PartlyReadFile::PartlyReadFile(const std::string& path) : path_(path) {
  uint64_t size = 0;
  Descriptor file(OpenFile(path, &size));
  if (size == 0) return;
  // Costs nothing before it is written to.
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    Fail(path, "read", "there is no memory for its " + std::to_string(size) + " bytes");
  size_ = size;
  file_ = file.Release();
  memory_ = static_cast<char*>(memory);
}

PartlyReadFile::PartlyReadFile(std::string path, std::string bytes)
    : path_(std::move(path)),
      whole_(std::move(bytes)),
      memory_(whole_.data()),
      size_(whole_.size()) {}

PartlyReadFile::~PartlyReadFile() {
  if (file_ < 0) return;
  munmap(memory_, size_);
  close(file_);
}

void PartlyReadFile::Need(uint64_t offset, uint64_t size) {
  if (file_ < 0 || size == 0) return;
  TERN_ICHECK(offset <= size_ && size <= size_ - offset) << path_;
  // Small parts that lie near each other are read at once.
  constexpr uint64_t kBlock = 4096;
  uint64_t begin = offset / kBlock * kBlock, last = (offset + size - 1) / kBlock;
  uint64_t end = std::min(last * kBlock + kBlock, uint64_t{size_});
  std::lock_guard lock(mutex_);
  // The parts that touch this one, which become one with it.
  auto first = read_.upper_bound(begin);
  if (first != read_.begin() && std::prev(first)->second >= begin) --first;
  auto next = first;
  uint64_t at = begin;
  for (; next != read_.end() && next->first <= end; ++next) {
    if (at < next->first) Read(at, next->first);
    begin = std::min(begin, next->first);
    at = std::max(at, next->second);
  }
  if (at < end) Read(at, end);
  read_.erase(first, next);
  read_[begin] = std::max(at, end);
}

std::shared_ptr<const void> PartlyReadFile::Map(uint64_t offset, uint64_t size) const {
  // The size of now: what lies behind the end must not be touched.
  struct stat info;
  uint64_t whole = size_;
  if (file_ >= 0 && fstat(file_, &info) == 0) whole = static_cast<uint64_t>(info.st_size);
  if (offset > whole || size > whole - offset)
    Fail(path_, "mapped",
         "it is truncated: " + std::to_string(size) + " bytes at offset " + std::to_string(offset) +
             " are expected, and it has " + std::to_string(whole));
  if (file_ < 0 || size == 0) {
    std::shared_ptr<void> copy(std::aligned_alloc(64, (size / 64 + 1) * 64), std::free);
    if (!copy) throw std::bad_alloc();
    std::memcpy(copy.get(), memory_ + offset, size);
    return copy;
  }
  void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file_, static_cast<off_t>(offset));
  if (memory == MAP_FAILED) Fail(path_, "mapped", errno);
  return {memory, [size](const void* held) { munmap(const_cast<void*>(held), size); }};
}

void PartlyReadFile::Read(uint64_t offset, uint64_t end) {
  while (offset < end) {
    // Holes read as zero, which the memory is: to write zeros would take memory. Where the file
    // system knows no holes, all is data.
    off_t data = lseek(file_, static_cast<off_t>(offset), SEEK_DATA), hole = -1;
    if (data < 0 && errno == ENXIO) return;
    if (data >= 0) hole = lseek(file_, data, SEEK_HOLE);
    if (data > 0) offset = std::max(offset, static_cast<uint64_t>(data));
    uint64_t stop = hole < 0 ? end : std::min(end, static_cast<uint64_t>(hole));
    while (offset < stop) {
      size_t got = ReadAt(file_, path_, memory_ + offset, stop - offset, offset);
      if (got == 0) return;  // cut short meanwhile: the hashes tell
      offset += got;
    }
  }
}

}  // namespace tern::runtime
