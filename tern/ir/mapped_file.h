// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_IR_MAPPED_FILE_H_
#define TERN_IR_MAPPED_FILE_H_

#include <memory>
#include <string>
#include <string_view>

namespace tern::ir {

// A file mapped into memory, read only. Its pages are read when they are touched; the file must
// not be truncated meanwhile.
class MappedFile {
 public:
  // A regular file; throws otherwise.
  explicit MappedFile(const std::string& path);
  // `name`, relative, of a file in `folder` or below; throws where it leads out of it, by "..", as
  // an absolute path or by symbolic links. Links may lead to `also` and below too, where given.
  static std::shared_ptr<const MappedFile> OpenInside(const std::string& folder,
                                                      const std::string& name,
                                                      const std::string& also = "");
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace tern::ir

#endif  // TERN_IR_MAPPED_FILE_H_
