// SPDX-License-Identifier: Apache-2.0
//
// Names that a shader cannot declare, by WGSL's specification, and names of the language that a
// declaration would hide.
#ifndef TERN_BACKEND_WEBGPU_CODEGEN_RESERVED_WORDS_H_
#define TERN_BACKEND_WEBGPU_CODEGEN_RESERVED_WORDS_H_

namespace tern::backend::webgpu {

// Keywords, and words that are kept for them.
inline constexpr const char* kReservedWords =
    "alias break case const const_assert continue continuing default diagnostic discard else "
    "enable "
    "false fn for if let loop override requires return struct switch true var while "
    "NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await "
    "become "
    "cast catch class co_await co_return co_yield coherent column_major common compile "
    "compile_fragment concept const_cast consteval constexpr constinit crate debugger decltype "
    "delete "
    "demote demote_to_helper do dynamic_cast enum explicit export extends extern external "
    "fallthrough "
    "filter final finally friend from fxgroup get goto groupshared highp impl implements import "
    "inline "
    "instanceof interface layout lowp macro macro_rules match mediump meta mod module move mut "
    "mutable "
    "namespace new nil noexcept noinline nointerpolation non_coherent noncoherent noperspective "
    "null "
    "nullptr of operator package packoffset partition pass patch pixelfragment precise precision "
    "premerge priv protected pub public readonly ref regardless register reinterpret_cast require "
    "resource restrict self set shared sizeof smooth snorm static static_assert static_cast std "
    "subroutine super target template this thread_local throw trait try type typedef typeid "
    "typename "
    "typeof union unless unorm unsafe unsized use using varying virtual volatile wgsl where with "
    "writeonly yield";

// What shaders of Tern use by name, and the entry point.
inline constexpr const char* kPredeclared =
    "main bool i32 u32 f32 f16 vec2 vec3 vec4 array atomic ptr function private workgroup storage "
    "uniform read write read_write abs all any atomicAdd atomicAnd "
    "atomicCompareExchangeWeak atomicExchange atomicLoad atomicMax atomicMin atomicOr atomicStore "
    "atomicXor bitcast "
    "ceil "
    "countLeadingZeros countOneBits extractBits floor insertBits max min round select sqrt "
    "storageBarrier trunc workgroupBarrier workgroupUniformLoad";

}  // namespace tern::backend::webgpu

#endif  // TERN_BACKEND_WEBGPU_CODEGEN_RESERVED_WORDS_H_
