// SPDX-License-Identifier: Apache-2.0
//
// The functions that the runtime itself puts into the global registry, once, when the library is
// loaded. (Plugins register through TernRegistrar instead: only for them can it fail.)
#include <cstdio>
#include <cstring>
#include <vector>

#include "tern/ffi/json.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/device.h"
#include "tern/runtime/kernel/device_artifact.h"
#include "tern/runtime/stream.h"

namespace tern::runtime {
namespace {

// Text to fmap, checked.
ffi::Map LoadMetaDataFromJson(const std::string& text) {
  return KernelMapToValue(KernelMapFromValue(ffi::ParseJson(text).As<ffi::Map>()));
}

std::string FloatText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// Texts and values, as one line.
ffi::Any PrintLine(ffi::Args args) {
  std::string line;
  for (const ffi::AnyView& arg : args) {
    if (auto text = arg.TryAs<std::string>())
      line += *text;
    else if (arg.type_index() == kTernFloat)
      line += FloatText(arg.As<double>());
    else
      line += std::to_string(arg.type_index() == kTernBool ? arg.As<bool>() : arg.As<int64_t>());
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  return {};
}

// What a launch left: the words of a tensor, the first of which is 0, or the number of the text
// that says what is wrong; the others are values in it (lower_kernel_asserts.h). Waits for it.
ffi::Any CheckKernel(ffi::Args args) {
  const auto& view = *static_cast<const TernTensorView*>(args[0].raw().v_ptr);
  std::vector<int32_t> words(static_cast<size_t>(view.shape[0]));
  const DeviceKind& kind = GetDeviceKind(view.device.type);
  void* stream = CurrentStream(view.device);
  TernCopy copy{.src = view.data,
                .src_offset = view.byte_offset,
                .src_device = view.device,
                .dst = words.data(),
                .dst_offset = 0,
                .dst_device = {kTernDeviceCpu, 0},
                .bytes = words.size() * sizeof(int32_t),
                .stream = stream};
  kind.Copy(copy);
  kind.Synchronize(view.device.id, stream);
  if (words[0] == 0) return {};
  auto text = args[static_cast<size_t>(words[0])].As<std::string>();
  size_t colon = text.find(": ");
  std::string message;
  size_t at = 1;
  for (size_t i = colon + 2; i < text.size(); ++i) {
    if (text[i] != '\1') {
      message += text[i];
      continue;
    }
    if (text[++i] == 'f') {
      float value;
      std::memcpy(&value, &words[at], sizeof value);
      message += FloatText(value);
    } else {
      int64_t value;
      std::memcpy(&value, &words[at], sizeof value);
      message += std::to_string(value);
    }
    at += 2;
  }
  throw Error(text.substr(0, colon), message);
}

[[maybe_unused]] const bool registered = [] {
  ffi::RegisterGlobal("runtime.print", ffi::Function::FromPacked(PrintLine));
  ffi::RegisterGlobal("runtime.check_kernel", ffi::Function::FromPacked(CheckKernel));
  constexpr const char* kName = "runtime.LoadMetaDataFromJSON";
  ffi::RegisterGlobal(kName, ffi::Function::FromTyped(kName, &LoadMetaDataFromJson));
  return true;
}();

}  // namespace
}  // namespace tern::runtime

// The name by which a program that links the runtime statically asks for this file.
extern "C" {
extern const bool tern_core_functions;
const bool tern_core_functions = true;
}
