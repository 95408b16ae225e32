// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/file_bytes.h"

#include <sys/stat.h>

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

}  // namespace tern::runtime
