// SPDX-License-Identifier: Apache-2.0
//
// Compares our numbers with those of the header that Khronos publishes.
#include "tern/backend/vulkan/common/spirv.h"

#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.hpp11>

namespace tern::backend::vulkan::spirv {
namespace {

static_assert(kMagic == spv::MagicNumber);
#define TERN_SAME_OP(name, number, operands) static_assert(number == int(spv::Op::Op##name), #name);
TERN_SPIRV_OPS(TERN_SAME_OP)
#define TERN_SAME_CAPABILITY(name, number) static_assert(number == int(spv::Capability::name));
TERN_SPIRV_CAPABILITIES(TERN_SAME_CAPABILITY)
#define TERN_SAME_CLASS(name, number) static_assert(number == int(spv::StorageClass::name));
TERN_SPIRV_STORAGE_CLASSES(TERN_SAME_CLASS)
#define TERN_SAME_DECORATION(name, number) static_assert(number == int(spv::Decoration::name));
TERN_SPIRV_DECORATIONS(TERN_SAME_DECORATION)
#define TERN_SAME_BUILT_IN(name, number) static_assert(number == int(spv::BuiltIn::name));
TERN_SPIRV_BUILT_INS(TERN_SAME_BUILT_IN)
#define TERN_SAME_MODE(name, number) static_assert(number == int(spv::ExecutionMode::name));
TERN_SPIRV_EXECUTION_MODES(TERN_SAME_MODE)
#define TERN_SAME_GLSL(name, number) static_assert(number == GLSLstd450##name);
TERN_SPIRV_GLSL(TERN_SAME_GLSL)

static_assert(int(Scope::kDevice) == int(spv::Scope::Device));
static_assert(int(Scope::kWorkgroup) == int(spv::Scope::Workgroup));
static_assert(int(Scope::kSubgroup) == int(spv::Scope::Subgroup));
static_assert(kAcquireRelease == uint32_t(spv::MemorySemanticsMask::AcquireRelease));
static_assert(kUniformMemory == uint32_t(spv::MemorySemanticsMask::UniformMemory));
static_assert(kWorkgroupMemory == uint32_t(spv::MemorySemanticsMask::WorkgroupMemory));
static_assert(kAligned == uint32_t(spv::MemoryAccessMask::Aligned));
static_assert(kAddressingLogical == uint32_t(spv::AddressingModel::Logical));
static_assert(kAddressing64 == uint32_t(spv::AddressingModel::PhysicalStorageBuffer64));
static_assert(kMemoryModelGlsl450 == uint32_t(spv::MemoryModel::GLSL450));
static_assert(kModelGlCompute == uint32_t(spv::ExecutionModel::GLCompute));

}  // namespace
}  // namespace tern::backend::vulkan::spirv
