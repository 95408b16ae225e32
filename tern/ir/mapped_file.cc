// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tern/ffi/error.h"
#include "tern/ffi/escape_text.h"

namespace tern::ir {
namespace {

namespace fs = std::filesystem;

bool IsInside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // Not blocking: a pipe would wait for a writer.
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  TERN_CHECK(file >= 0) << "cannot read " << path << ": " << std::strerror(errno);
  struct stat info{};
  bool is_file = fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  void* memory = nullptr;
  size_t size = is_file ? static_cast<size_t>(info.st_size) : 0;
  if (size > 0) memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  int error = errno;
  close(file);
  TERN_CHECK(is_file) << "cannot read " << path << ": it is no regular file";
  TERN_CHECK(memory != MAP_FAILED) << "cannot map " << path << ": " << std::strerror(error);
  bytes_ = {static_cast<const char*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

std::shared_ptr<const MappedFile> MappedFile::OpenInside(const std::string& folder,
                                                         const std::string& name,
                                                         const std::string& also) {
  fs::path relative(name);
  bool leaves = relative.is_absolute() || name.find('\0') != std::string::npos ||
                std::find(relative.begin(), relative.end(), "..") != relative.end();
  std::string shown = "\"" + ffi::Escaped(name) + "\"";
  TERN_CHECK(!name.empty() && !leaves)
      << "the file " << shown << ": expected a name in the folder of the file that names it, "
      << "without ..";
  std::error_code failed;
  fs::path inside = fs::canonical(folder.empty() ? "." : folder, failed);
  fs::path path = failed ? fs::path() : fs::canonical(inside / relative, failed);
  TERN_CHECK(!failed) << "cannot read " << shown << " in folder " << (folder.empty() ? "." : folder)
                      << ": " << failed.message();
  bool is_inside = IsInside(path, inside);
  if (!is_inside && !also.empty()) {
    fs::path other = fs::canonical(also, failed);
    is_inside = !failed && IsInside(path, other);
  }
  TERN_CHECK(is_inside) << "the file " << shown << " is a link that leads out of folder "
                        << (folder.empty() ? "." : folder);
  return std::make_shared<const MappedFile>(path.string());
}

}  // namespace tern::ir
