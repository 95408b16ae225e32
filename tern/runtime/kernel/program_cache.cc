// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/kernel/program_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tern/ffi/environment.h"
#include "tern/ffi/log.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/artifact/sha256.h"

namespace tern::runtime {
namespace {

namespace fs = std::filesystem;

// A file: this, the hash of the key and the value, the value.
constexpr std::string_view kMagic = "tern program 1\n";
constexpr size_t kHashBytes = 32;
constexpr const char* kEnding = ".bin";
// Files that nobody finished are removed with the others.
constexpr const char* kTemporary = ".tmp";
constexpr int64_t kDefaultMegabytes = 1024, kMaxMegabytes = int64_t{1} << 40;

// What lies there is run.
std::string Variable(const char* name) { return environment::TrustedText(name).value_or(""); }

std::string Directory() {
  if (std::string given = Variable("TERN_CACHE_DIR"); !given.empty()) return given;
  if (std::string base = Variable("XDG_CACHE_HOME"); base.starts_with('/')) return base + "/tern";
  if (std::string home = Variable("HOME"); home.starts_with('/')) return home + "/.cache/tern";
  return "";
}

// What another user could have written is not run.
bool IsOwn(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  bool is_own = info.st_uid == geteuid() || info.st_uid == 0;
  return is_own && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// "" where it cannot be read.
std::string ReadOwn(const std::string& path) {
  if (!IsOwn(path)) return "";
  try {
    return ReadFile(path);
  } catch (const Error&) {
    return "";
  }
}

// Trimming looks at every file, and many processes store little each: so it is drawn from the key,
// for one store in 256 and for larger values more often, such that between two of them a 64th of
// the cache's size is stored on average.
bool IsTurnToTrim(const std::string& key, uint64_t bytes, uint64_t max_bytes) {
  constexpr uint64_t kDraws = 65536, kAtLeast = kDraws / 256;
  uint64_t chances = bytes > max_bytes / 64 ? kDraws : bytes * 64 / (max_bytes / kDraws + 1);
  std::string hash = Sha256(key);
  uint64_t drawn = static_cast<uint8_t>(hash[0]) * 256U + static_cast<uint8_t>(hash[1]);
  return drawn < std::max(chances, kAtLeast);
}

}  // namespace

std::optional<ProgramCache> ProgramCache::FromEnvironment() {
  bool is_on = environment::Flag("TERN_CACHE", true);
  int64_t megabytes = environment::Number("TERN_CACHE_MB", 0, kMaxMegabytes, kDefaultMegabytes);
  std::string directory = Directory();
  if (!is_on || directory.empty()) return std::nullopt;
  return ProgramCache(std::move(directory), static_cast<uint64_t>(megabytes) << 20);
}

std::string ProgramCache::KeyOf(std::string_view kind, const Parts& parts) {
  // Lengths stand before texts, so that no two lists are one text.
  std::string text(kMagic);
  auto add = [&](std::string_view part) {
    text += std::to_string(part.size()) + ":" + std::string(part);
  };
  add(kind);
  for (const auto& [name, value] : parts) {
    add(name);
    add(value);
  }
  return ToHex(Sha256(text));
}

std::string ProgramCache::PathOf(const std::string& key) const {
  return directory_ + "/" + key + kEnding;
}

std::optional<std::string> ProgramCache::Find(const std::string& key) const {
  std::string path = PathOf(key), file = ReadOwn(path);
  if (file.size() < kMagic.size() + kHashBytes || !file.starts_with(kMagic)) return std::nullopt;
  std::string hash = file.substr(kMagic.size(), kHashBytes);
  file.erase(0, kMagic.size() + kHashBytes);
  if (Sha256({key, file}) != hash) return std::nullopt;
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now
  Log("cache", "found " + path);
  return file;
}

void ProgramCache::Store(const std::string& key, std::string_view value) const {
  StoreFile(key, value.size(), [&](PendingFile* file) {
    file->Write(kMagic);
    file->Write(Sha256({key, value}));
    file->Write(value);
  });
}

std::string ProgramCache::FindFile(const std::string& key) const {
  std::string path = PathOf(key);
  if (!IsOwn(path)) return "";
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now
  Log("cache", "found " + path);
  return path;
}

void ProgramCache::StoreFile(const std::string& key, uint64_t bytes,
                             const std::function<void(PendingFile*)>& write) const {
  std::error_code ignored;
  if (bytes > max_bytes_) return;
  bool is_new = fs::create_directories(directory_, ignored);
  if (is_new) chmod(directory_.c_str(), S_IRWXU);
  try {
    PendingFile file(PathOf(key), S_IRUSR | S_IWUSR);
    write(&file);
    file.Finish();
    Log("cache", "stored " + PathOf(key) + ", " + std::to_string(bytes) + " bytes");
  } catch (const Error&) {
    return;  // there is no room for it: it will be made again
  }
  if (IsTurnToTrim(key, bytes, max_bytes_)) Trim();
}

void ProgramCache::RemoveFile(const std::string& key) const { unlink(PathOf(key).c_str()); }

void ProgramCache::Trim() const {
  struct Entry {
    fs::file_time_type used;
    fs::path path;
    uint64_t bytes;
  };
  std::vector<Entry> entries;
  std::error_code error;
  uint64_t total = 0;
  for (fs::directory_iterator it(directory_, error), end; !error && it != end;
       it.increment(error)) {
    std::string ending = it->path().extension().string();
    if (ending != kEnding && ending != kTemporary) continue;
    std::error_code gone;
    Entry entry{it->last_write_time(gone), it->path(), it->file_size(gone)};
    if (gone) continue;
    total += entry.bytes;
    entries.push_back(std::move(entry));
  }
  if (total <= max_bytes_) return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  // Some more than is needed, so that not every store comes here.
  for (const Entry& entry : entries) {
    if (total <= max_bytes_ / 4 * 3) break;
    if (fs::remove(entry.path, error)) total -= entry.bytes;
  }
}

}  // namespace tern::runtime
