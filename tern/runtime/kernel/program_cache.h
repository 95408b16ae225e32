// SPDX-License-Identifier: Apache-2.0
//
// What drivers made of programs, on disk, for all processes of a user. A value that is not there,
// cannot be read or is damaged is made anew; nothing about the cache is an error.
#ifndef TERN_RUNTIME_KERNEL_PROGRAM_CACHE_H_
#define TERN_RUNTIME_KERNEL_PROGRAM_CACHE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::runtime {

class PendingFile;

class ProgramCache {
 public:
  // All that a value depends on, as {"source", "..."} and {"compiler", "its name and version"}.
  using Parts = std::vector<std::pair<std::string_view, std::string_view>>;

  ProgramCache(std::string directory, uint64_t max_bytes)
      : directory_(std::move(directory)), max_bytes_(max_bytes) {}

  // By the environment: TERN_CACHE=0 turns it off, TERN_CACHE_DIR or XDG_CACHE_HOME/tern or
  // HOME/.cache/tern is its place, TERN_CACHE_MB its size (1024).
  static std::optional<ProgramCache> FromEnvironment();
  // A name for the value of a kind of device with these parts: a hash of them, in order.
  static std::string KeyOf(std::string_view kind, const Parts& parts);

  std::optional<std::string> Find(const std::string& key) const;
  // Readers see all of it or nothing. Now and then, what was not used for longest is removed until
  // three quarters of the cache's size are left; it may be exceeded a little until then.
  void Store(const std::string& key, std::string_view value) const;

  // The same of files that are mapped, and that say themselves whether they are whole. "" where
  // there is none, or another user could have written it.
  std::string FindFile(const std::string& key) const;
  // One of so many bytes, which `write` writes. Nothing happens where there is no room for it.
  void StoreFile(const std::string& key, uint64_t bytes,
                 const std::function<void(PendingFile*)>& write) const;
  void RemoveFile(const std::string& key) const;

 private:
  std::string PathOf(const std::string& key) const;
  void Trim() const;

  std::string directory_;
  uint64_t max_bytes_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_KERNEL_PROGRAM_CACHE_H_
