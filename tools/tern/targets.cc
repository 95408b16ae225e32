// SPDX-License-Identifier: Apache-2.0
//
// tern targets: what can be compiled for, and what can run here.
#include <cstdio>

#include "tern/codegen/plugin.h"
#include "tern/detect_target.h"
#include "tern/runtime/device.h"
#include "tern/runtime/plugin/plugin.h"
#include "tern/target/target.h"
#include "tools/tern/commands.h"

namespace tern::tools {
namespace {

std::string AttrText(const std::string& name, const target::AttrSpec& spec) {
  std::string text = "-" + name;
  if (!spec.default_value.is_none()) {
    auto string = spec.default_value.TryAs<std::string>();
    text += "=" + (string ? *string : std::to_string(spec.default_value.As<int64_t>()));
  }
  return text + "  " + spec.help;
}

void PrintDetected(const std::string& device) {
  try {
    std::printf("    detected   %s  %s\n", device.c_str(), DetectTarget(device)->str().c_str());
  } catch (const Error& error) {
    std::printf("    detected   %s  error: %s\n", device.c_str(), error.message().c_str());
  }
}

void PrintDevices(const std::string& kind_name) {
  const runtime::DeviceKind* kind = runtime::FindDeviceKind(kind_name);
  if (!kind) {
    std::printf("    runtime    absent: %s\n", runtime::WhyPluginAbsent(kind_name).c_str());
    return;
  }
  std::printf("    runtime    loaded\n");
  try {
    int32_t count = kind->Count();
    if (count == 0) std::printf("    devices    none\n");
    for (int32_t id = 0; id < count; ++id) {
      ffi::Map properties = kind->Describe(id);
      const ffi::Any* name = properties->Find("name");
      std::string device = kind_name + ":" + std::to_string(id);
      std::printf("    device     %s  %s\n", device.c_str(),
                  name ? name->As<std::string>().c_str() : "");
      PrintDetected(device);
    }
  } catch (const Error& error) {
    std::printf("    devices    error: %s\n", error.what());
  }
}

void PrintKind(const target::TargetKind& kind) {
  std::printf("%s  %s\n", kind.name.c_str(), kind.description.c_str());
  std::printf("    role       %s\n", kind.role == target::Role::kHost ? "host" : "device");
  std::printf("    codegen    %s\n",
              kind.unavailable.empty() ? "yes" : ("no: " + kind.unavailable).c_str());
  if (kind.role == target::Role::kDevice) PrintDevices(kind.device);
  if (kind.name == target::Target::DefaultHost()->kind->name) PrintDetected(kind.device + ":0");
  for (const auto& [name, spec] : kind.attrs)
    std::printf("    attribute  %s\n", AttrText(name, spec).c_str());
  for (const target::KnownGap& gap : kind.known_gaps)
    std::printf("    gap        %s  %s\n", gap.cases.c_str(), gap.reason.c_str());
  for (const auto& [tag, text] : kind.tags)
    std::printf("    tag        %s  =  %s\n", tag.c_str(), text.c_str());
}

}  // namespace

void Targets() {
  runtime::LoadAllPlugins();
  codegen::LoadAllCodegens();
  std::printf("default host: %s\n", target::Target::DefaultHost()->str().c_str());
  for (const target::TargetKind* kind : target::TargetKinds()) {
    std::printf("\n");
    PrintKind(*kind);
  }
}

}  // namespace tern::tools
