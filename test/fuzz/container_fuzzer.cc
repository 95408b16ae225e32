// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are a container, a saved device module and a description of functions, or an error.
#include <cstdint>

#include "tern/ffi/error.h"
#include "tern/runtime/artifact.h"
#include "tern/runtime/device_artifact.h"

namespace {

template <class F>
void Try(F&& read) {
  try {
    read();
  } catch (const tern::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace tern::runtime;
  Try([&] {
    ContainerReader reader(bytes);
    for (const ContainerReader::Section& section : reader.sections()) reader.Get(section.name);
  });
  Try([&] { LoadDeviceArtifact("any", bytes); });
  Try([&] { ReadMeta(bytes); });
  return 0;
}
