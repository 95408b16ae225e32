// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_CODEGEN_LLVM_LOWER_TILE_CASTS_H_
#define TERN_CODEGEN_LLVM_LOWER_TILE_CASTS_H_

namespace llvm {
class Module;
}

namespace tern::codegen {

// Removes all casts between vectors and tiles of AMX. TIR has tiles as vectors of 1,024 bytes, so
// that every use is between two casts; here tiles become values of their own, through loops too,
// and what really is a vector goes through memory. LLVM has a pass for that, which appends to a
// list while it walks it: with more than a few casts it reads freed memory, and crashes now and
// then. It finds nothing to do after this.
void LowerTileCasts(llvm::Module* module);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_LOWER_TILE_CASTS_H_
