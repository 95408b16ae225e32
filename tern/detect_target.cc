// SPDX-License-Identifier: Apache-2.0
#include "tern/detect_target.h"

#include <charconv>

#include "tern/compile.h"
#include "tern/ffi/json.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/device.h"

namespace tern {
namespace {

int32_t DeviceNumber(std::string_view device, std::string_view text) {
  int32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  TERN_CHECK(error == std::errc() && end == text.data() + text.size() && number >= 0)
      << "device \"" << device << "\": expected KIND or KIND:NUMBER";
  return number;
}

// The kind of the device's own name, if it is one of several. The host's is the default one.
const target::TargetKind& KindFor(const std::string& device) {
  const target::TargetKind& host = *target::Target::DefaultHost()->kind;
  if (host.device == device) return host;
  if (target::HasTargetKindOrTag(device)) return target::GetTargetKind(device);
  for (const target::TargetKind* kind : target::TargetKinds())
    if (kind->role == target::Role::kDevice && kind->device == device) return *kind;
  return target::GetTargetKind(device);
}

// A code generator that knows its machine by itself says so; otherwise the plugin does.
ffi::Map Attributes(const std::string& device, int32_t number) {
  const runtime::DeviceKind& kind = runtime::GetDeviceKind(device);
  if (ffi::Function detect = ffi::FindGlobal("target.detect." + KindFor(device).name)) {
    kind.Describe(number);  // throws unless there is that device
    return detect(number).As<ffi::Map>();
  }
  return kind.Detect(number);
}

}  // namespace

target::Target DetectTarget(std::string_view device) {
  Initialize();
  size_t colon = device.find(':');
  std::string name(device.substr(0, colon));
  int32_t number =
      colon == std::string_view::npos ? 0 : DeviceNumber(device, device.substr(colon + 1));
  ffi::Map attributes = Attributes(name, number);
  attributes->items["kind"] = KindFor(name).name;
  return WithContext("making the target of " + std::string(device),
                     [&] { return target::Target::Parse(ffi::WriteJson(ffi::Any(attributes))); });
}

}  // namespace tern
