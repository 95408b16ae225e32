// SPDX-License-Identifier: Apache-2.0
//
// Compares our declarations with the vendor's header.
#include "tern/backend/opencl/runtime/opencl_abi.h"

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <type_traits>

namespace tern::backend::opencl::cl {
namespace {

static_assert(kSuccess == CL_SUCCESS && kDeviceNotFound == CL_DEVICE_NOT_FOUND);
static_assert(kDeviceTypeCpu == CL_DEVICE_TYPE_CPU && kDeviceTypeGpu == CL_DEVICE_TYPE_GPU &&
              kDeviceTypeAll == CL_DEVICE_TYPE_ALL);
static_assert(kMemReadWrite == CL_MEM_READ_WRITE && kFalse == CL_FALSE && kTrue == CL_TRUE);
static_assert(kDeviceType == CL_DEVICE_TYPE &&
              kDeviceMaxComputeUnits == CL_DEVICE_MAX_COMPUTE_UNITS);
static_assert(kDeviceMaxWorkItemSizes == CL_DEVICE_MAX_WORK_ITEM_SIZES);
static_assert(kDeviceMaxWorkGroupSize == CL_DEVICE_MAX_WORK_GROUP_SIZE);
static_assert(kDeviceMaxMemAllocSize == CL_DEVICE_MAX_MEM_ALLOC_SIZE);
static_assert(kDeviceGlobalMemSize == CL_DEVICE_GLOBAL_MEM_SIZE &&
              kDeviceLocalMemSize == CL_DEVICE_LOCAL_MEM_SIZE);
static_assert(kDeviceName == CL_DEVICE_NAME && kDeviceVendor == CL_DEVICE_VENDOR);
static_assert(kDriverVersion == CL_DRIVER_VERSION && kDeviceVersion == CL_DEVICE_VERSION);
static_assert(kDeviceExtensions == CL_DEVICE_EXTENSIONS &&
              kProgramBuildLog == CL_PROGRAM_BUILD_LOG);
static_assert(kProgramBinarySizes == CL_PROGRAM_BINARY_SIZES &&
              kProgramBinaries == CL_PROGRAM_BINARIES);
static_assert(kQueueProfiling == CL_QUEUE_PROFILING_ENABLE &&
              kProfilingCommandEnd == CL_PROFILING_COMMAND_END);
static_assert(kKernelNumArgs == CL_KERNEL_NUM_ARGS &&
              kKernelWorkGroupSize == CL_KERNEL_WORK_GROUP_SIZE);

// Two types that cross in the same way: the same, or both pointers to data, or both pointers to
// functions, or integers of one size and sign.
template <class A, class B>
constexpr bool Alike() {
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>)
    return std::is_function_v<std::remove_pointer_t<A>> ==
               std::is_function_v<std::remove_pointer_t<B>> &&
           std::is_const_v<std::remove_pointer_t<A>> == std::is_const_v<std::remove_pointer_t<B>>;
  else
    return std::is_same_v<A, B> ||
           (std::is_integral_v<A> && std::is_integral_v<B> && sizeof(A) == sizeof(B) &&
            std::is_signed_v<A> == std::is_signed_v<B>);
}

template <class A, class B>
struct SamePrototype : std::false_type {};
template <class R, class... P, class S, class... Q>
struct SamePrototype<R(P...), S(Q...)> {
  static constexpr bool Compare() {
    if constexpr (sizeof...(P) == sizeof...(Q))
      return Alike<R, S>() && (Alike<P, Q>() && ...);
    else
      return false;
  }
  static constexpr bool value = Compare();
};

#define TERN_OPENCL_COMPARE(name, result, ...) \
  static_assert(SamePrototype<result(__VA_ARGS__), decltype(::cl##name)>::value, "cl" #name);
TERN_OPENCL_FUNCTIONS(TERN_OPENCL_COMPARE)
static_assert(!SamePrototype<Int(UInt), decltype(::clGetPlatformIDs)>::value,
              "the comparison must tell them apart");

}  // namespace
}  // namespace tern::backend::opencl::cl
