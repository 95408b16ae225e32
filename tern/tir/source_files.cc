// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/source_files.h"

#include <fstream>
#include <sstream>
#include <vector>

#include "tern/ffi/error.h"
#include "tern/ffi/text.h"

namespace tern::tir {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;  // of a text; nobody writes more

// Names in the folder of a file that is not there.
std::string NearFiles(const std::filesystem::path& path) {
  std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    names.push_back(entry.path().filename().string());
  return ffi::DidYouMean(path.filename().string(), names);
}

}  // namespace

std::string ReadRegularFile(const std::filesystem::path& path) {
  // Before it is opened: pipes wait for a writer, and devices may have no end.
  std::error_code failed;
  std::filesystem::file_status status = std::filesystem::status(path, failed);
  TERN_CHECK(status.type() != std::filesystem::file_type::not_found)
      << "cannot read " << path.string() << ": there is no such file" << NearFiles(path);
  TERN_CHECK(!std::filesystem::is_directory(status))
      << "cannot read " << path.string() << ": it is a folder, and a file is expected";
  TERN_CHECK(std::filesystem::is_regular_file(status))
      << "cannot read " << path.string() << ": it is no regular file";
  uint64_t size = std::filesystem::file_size(path, failed);
  TERN_CHECK(size <= kMostBytes) << "cannot read " << path.string() << ": it has " << size
                                 << " bytes, and at most " << kMostBytes << " are expected";
  std::ifstream file(path, std::ios::binary);
  TERN_CHECK(file) << "cannot read " << path.string();
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::filesystem::path> SourceFiles::DirectoryOf(const ir::Span& span) const {
  auto it = directories_.find(span.source.get());
  return it == directories_.end() ? std::nullopt : std::optional(it->second);
}

std::shared_ptr<const ir::MappedFile> SourceFiles::Map(const std::filesystem::path& directory,
                                                       const std::string& file) {
  std::shared_ptr<const ir::MappedFile>& mapped = mapped_[directory / file];
  if (!mapped) mapped = ir::MappedFile::OpenInside(directory.string(), file);
  return mapped;
}

}  // namespace tern::tir
