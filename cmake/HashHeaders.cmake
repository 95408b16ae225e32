# SPDX-License-Identifier: Apache-2.0
#
# cmake -DROOT=... -DHEADERS="a.h b.h" -DOUTPUT=... -P HashHeaders.cmake: writes a header that defines TERN_HEADER_HASH, a hash of
# what the headers say. A code generator from outside is refused unless it was built with the same.
separate_arguments(HEADERS)
list(SORT HEADERS)
set(all "")
foreach(header IN LISTS HEADERS)
  file(SHA256 ${ROOT}/${header} hash)
  string(APPEND all "${header} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
// SPDX-License-Identifier: Apache-2.0
// Generated: a hash of the compiler's headers.
#ifndef TERN_CODEGEN_HEADER_HASH_H_
#define TERN_CODEGEN_HEADER_HASH_H_
#define TERN_HEADER_HASH "@hash@"
#endif  // TERN_CODEGEN_HEADER_HASH_H_
]])
