// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tern/ffi/error.h"

namespace tern::runtime {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

[[noreturn]] void Fail(const std::string& path, const char* what, int code) {
  throw Error("RuntimeError", path + ": cannot be " + what + ": " + std::strerror(code));
}

}  // namespace

std::string ReadFile(const std::string& path) {
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) Fail(path, "opened", errno);
  struct stat info;
  if (fstat(fileno(file.get()), &info) != 0) Fail(path, "read", errno);
  if (S_ISDIR(info.st_mode)) Fail(path, "read", EISDIR);
  std::string bytes;
  // Pipes have no size; they are read until they end, as files are.
  bytes.reserve(info.st_size > 0 ? static_cast<size_t>(info.st_size) : 0);
  char buffer[1 << 16];
  while (size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) bytes.append(buffer, got);
  if (std::ferror(file.get())) Fail(path, "read", errno);
  return bytes;
}

void WriteFile(const std::string& path, std::string_view bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) Fail(path, "written", errno);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() ||
      std::fclose(file.release()) != 0)
    Fail(path, "written", errno);
}

PartlyReadFile::PartlyReadFile(const std::string& path) : path_(path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) Fail(path, "opened", errno);
  struct stat info;
  bool is_regular = fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
  if (!is_regular) {
    close(file);
    whole_ = ReadFile(path);
    memory_ = whole_.data();
    size_ = whole_.size();
    return;
  }
  size_ = static_cast<size_t>(info.st_size);
  // Costs nothing before it is written to.
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    int code = errno;
    close(file);
    Fail(path, "read", code);
  }
  file_ = file;
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
  constexpr uint64_t kPage = 4096;
  std::lock_guard lock(mutex_);
  uint64_t last = (offset + size - 1) / kPage;
  for (uint64_t page = offset / kPage; page <= last;) {
    uint64_t end = page;
    while (end <= last && pages_.insert(end).second) ++end;
    if (end > page) Read(page * kPage, std::min(end * kPage, uint64_t{size_}) - page * kPage);
    page = end + 1;  // the one at `end` had been read, or lies behind
  }
}

void PartlyReadFile::Read(uint64_t offset, uint64_t size) {
  while (size > 0) {
    ssize_t got = pread(file_, memory_ + offset, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) Fail(path_, "read", errno);
    if (got == 0) return;  // cut short meanwhile: the hashes tell
    offset += static_cast<uint64_t>(got);
    size -= static_cast<uint64_t>(got);
  }
}

}  // namespace tern::runtime
