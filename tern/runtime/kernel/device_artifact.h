// SPDX-License-Identifier: Apache-2.0
//
// What a device module is made of, and its one serialized form.
#ifndef TERN_RUNTIME_KERNEL_DEVICE_ARTIFACT_H_
#define TERN_RUNTIME_KERNEL_DEVICE_ARTIFACT_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/containers.h"
#include "tern/runtime/kernel/kernel_bindings.h"

namespace tern::runtime {

// The tag of a launch that says how many bytes the threads of a block share beside what the kernel
// declares.
inline constexpr const char* kDynamicSharedTag = "shared.dynamic";

// A tensor of which a kernel copies boxes: the kernel gets what the device makes of the description
// (TernTensorMap), behind its other arguments. Axes are listed from the outermost to the innermost.
struct TensorMapInfo {
  int64_t arg = 0;  // that is the tensor's memory
  DataType dtype;
  std::vector<int64_t> shape, strides, box;  // elements, bytes, elements
  int64_t swizzle = 0;                       // bytes
  // The argument that is the first extent of the shape, which then says 1.
  std::optional<int64_t> first_extent;

  friend bool operator==(const TensorMapInfo&, const TensorMapInfo&) = default;
};

// How one kernel is called: first the device id, then the arguments, then one launch extent per
// tag.
struct KernelInfo {
  std::vector<DataType> args;  // handle: a buffer
  // "blockIdx.x", "threadIdx.x", ..., "clusterIdx.x" (the blocks of a cluster), "shared.dynamic"
  std::vector<std::string> launch_tags;
  uint64_t static_shared_bytes = 0;
  uint64_t dynamic_shared_bytes = 0;  // that a launch asks for
  std::vector<TensorMapInfo> tensor_maps;
  // How arguments are bound, where a runtime has to be told.
  std::optional<KernelBindings> bindings;

  friend bool operator==(const KernelInfo&, const KernelInfo&) = default;
};
using KernelMap = std::map<std::string, KernelInfo, std::less<>>;

ffi::Map KernelMapToValue(const KernelMap& kernels);
// Checks every field; throws with the path of the mistake.
KernelMap KernelMapFromValue(const ffi::Map& value);

struct DeviceArtifact {
  std::string kind;
  std::string fmt;
  KernelMap fmap;
  // One blob named "" (the program), or one per kernel.
  std::map<std::string, std::string, std::less<>> payload;
  // Readable forms by format; in memory only.
  std::map<std::string, std::string, std::less<>> source;
};

// A kind with one format only need not save its name: a code generator registers it as
// module_format.<kind>, a function that returns it.
inline constexpr const char* kModuleFormatPrefix = "module_format.";

// [fmt][fmap][payload], each a length and bytes; of such a kind [fmap][payload]. The kind is kept
// by whoever stores the bytes.
std::string SaveDeviceArtifact(const DeviceArtifact& artifact);
// The format that was not saved is "" where nobody registered it. Every length is checked; throws
// ValueError on bytes that SaveDeviceArtifact did not make.
DeviceArtifact LoadDeviceArtifact(std::string kind, std::string_view bytes);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_KERNEL_DEVICE_ARTIFACT_H_
