// SPDX-License-Identifier: Apache-2.0
//
// The files of a text in the text form: reading them, and where the files lie that a text names.
#ifndef TERN_TIR_SOURCE_FILES_H_
#define TERN_TIR_SOURCE_FILES_H_

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tern/ir/mapped_file.h"
#include "tern/ir/span.h"

namespace tern::tir {

// The bytes of a regular file. Throws where there is none, or it is larger than any text.
std::string ReadRegularFile(const std::filesystem::path& path);

class SourceFiles {
 public:
  // A source that is a file: those that it names are found from its folder.
  void AddFile(const ffi::Ref<const ir::Source>& source, const std::filesystem::path& path) {
    directories_[source.get()] = path.parent_path();
  }
  // Nothing where the source is no file, and may name none.
  std::optional<std::filesystem::path> DirectoryOf(const ir::Span& span) const;
  // A file of elements in the folder, or below it. Each is mapped once.
  std::shared_ptr<const ir::MappedFile> Map(const std::filesystem::path& directory,
                                            const std::string& file);

 private:
  std::map<const ir::Source*, std::filesystem::path> directories_;
  std::map<std::filesystem::path, std::shared_ptr<const ir::MappedFile>> mapped_;
};

}  // namespace tern::tir

#endif  // TERN_TIR_SOURCE_FILES_H_
