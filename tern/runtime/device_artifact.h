// SPDX-License-Identifier: Apache-2.0
//
// What a device module is made of, and its one serialized form.
#ifndef TERN_RUNTIME_DEVICE_ARTIFACT_H_
#define TERN_RUNTIME_DEVICE_ARTIFACT_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/containers.h"

namespace tern::runtime {

// The tag of a launch that says how many bytes the threads of a block share beside what the kernel
// declares.
inline constexpr const char* kDynamicSharedTag = "shared.dynamic";

// How one kernel is called: first the device id, then the arguments, then one launch extent per
// tag.
struct KernelInfo {
  std::vector<DataType> args;            // handle: a buffer
  std::vector<std::string> launch_tags;  // "blockIdx.x", ..., "shared.dynamic"
  uint64_t static_shared_bytes = 0;
  uint64_t dynamic_shared_bytes = 0;  // that a launch asks for

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

// [fmt][fmap][payload], each a length and bytes. The kind is kept by whoever stores the bytes.
std::string SaveDeviceArtifact(const DeviceArtifact& artifact);
// Every length is checked; throws ValueError on bytes that SaveDeviceArtifact did not make.
DeviceArtifact LoadDeviceArtifact(std::string kind, std::string_view bytes);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_DEVICE_ARTIFACT_H_
