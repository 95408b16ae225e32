// SPDX-License-Identifier: Apache-2.0
//
// Code of host functions that is on disk already (tern/runtime/kernel/program_cache.h), kept under
// the text of the function as it was written: finding it takes neither scheduling nor lowering.
//
// A target kind whose code generator keeps code registers `target.cache_key.<kind>`(Target) -> str:
// all that code depends on beside the function, or "" where nothing is kept. It stores the code of
// a packed function under the attribute kCacheKey, and takes CompiledFunctions in place of
// PrimFuncs.
#ifndef TERN_CODEGEN_COMPILED_FUNCTION_H_
#define TERN_CODEGEN_COMPILED_FUNCTION_H_

#include <functional>
#include <string>
#include <vector>

#include "tern/target/target.h"
#include "tern/tir/function.h"

namespace tern::codegen {

namespace attr {
// String, of a PrimFunc: the key of its code in the cache. Added by Compile.
inline constexpr const char* kCacheKey = "tern.cache_key";
}  // namespace attr

// All that the code of a function for the target depends on beside the function; "" where nothing
// is kept.
std::string CacheKeyOf(const target::Target& target);

// A packed function whose code was found.
struct CompiledFunctionNode : ir::BaseFuncNode {
  std::string code;  // as the code generator stored it; empty where nobody needed it yet
  std::function<tir::PrimFunc()> written;  // before it is lowered
  // The PrimFuncs that it is made of, for who wants the code in another form.
  std::function<std::vector<tir::PrimFunc>()> lower;

  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("codegen.CompiledFunction");
    return index;
  }
};

// Null where it is a function of another kind.
const CompiledFunctionNode* AsCompiledFunction(const ir::BaseFunc& function);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_COMPILED_FUNCTION_H_
