// SPDX-License-Identifier: Apache-2.0
//
// Archives, written so that the same files give the same bytes: no times, owners or modes of this
// machine.
#ifndef TERN_CODEGEN_ARCHIVE_WRITER_H_
#define TERN_CODEGEN_ARCHIVE_WRITER_H_

#include <string>
#include <vector>

namespace tern::codegen {

struct ArchiveMember {
  std::string name;  // at most 15 characters in a static library, 100 in a tar file
  std::string bytes;
};

// A static library in the format of System V and GNU: `symbols` are those that `object` defines.
std::string WriteStaticLibrary(const ArchiveMember& object,
                               const std::vector<std::string>& symbols);

// A tar file in the ustar format.
std::string WriteTar(const std::vector<ArchiveMember>& files);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_ARCHIVE_WRITER_H_
