// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/kernel/device_artifact.h"

#include <algorithm>
#include <limits>

#include "tern/ffi/json.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/artifact/byte_stream.h"
#include "tern/runtime/artifact/value_reader.h"

namespace tern::runtime {
namespace {

constexpr const char* kLaunchTags[] = {
    "blockIdx.x",  "blockIdx.y",   "blockIdx.z",   "threadIdx.x",  "threadIdx.y",
    "threadIdx.z", "clusterIdx.x", "clusterIdx.y", "clusterIdx.z", kDynamicSharedTag};

constexpr size_t kMostAxes = 5;  // of a tensor map

ffi::Any Numbers(const std::vector<int64_t>& values) {
  return ffi::MakeArray(std::vector<ffi::Any>(values.begin(), values.end()));
}

ffi::Map TensorMapToValue(const TensorMapInfo& map) {
  ffi::Map value = ffi::MakeMap({{"arg", map.arg},
                                 {"dtype", map.dtype.str()},
                                 {"shape", Numbers(map.shape)},
                                 {"strides", Numbers(map.strides)},
                                 {"box", Numbers(map.box)},
                                 {"swizzle", map.swizzle}});
  if (map.first_extent) value->items["first_extent"] = *map.first_extent;
  return value;
}

TensorMapInfo TensorMapFromValue(const ValueReader& value, const std::vector<DataType>& args) {
  auto numbers = [&](const char* key, int64_t most) {
    std::vector<int64_t> result;
    for (const ValueReader& item : value.Field(key).Items()) result.push_back(item.Int(1, most));
    return result;
  };
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  TensorMapInfo map;
  auto arg = [&](const char* key) {
    return value.Field(key).Int(0, static_cast<int64_t>(args.size()) - 1);
  };
  map.arg = arg("arg");
  if (!args[static_cast<size_t>(map.arg)].is_handle()) value.Fail("arg is no buffer");
  map.dtype = value.Field("dtype").Type();
  map.shape = numbers("shape", kAny);
  map.strides = numbers("strides", kAny);
  map.box = numbers("box", std::numeric_limits<int32_t>::max());
  map.swizzle = value.Field("swizzle").Int(0, 128);
  if (map.shape.empty() || map.shape.size() > kMostAxes || map.strides.size() != map.shape.size() ||
      map.box.size() != map.shape.size())
    value.Fail("expected as many extents, strides and sizes of a box, of 1 to 5 axes");
  if (value.Has("first_extent")) {
    map.first_extent = arg("first_extent");
    if (!args[static_cast<size_t>(*map.first_extent)].is_integer())
      value.Fail("first_extent is no integer");
    if (map.shape[0] != 1) value.Fail("first_extent is an argument, and the shape says another");
  }
  value.ExpectOnly({"arg", "dtype", "shape", "strides", "box", "swizzle", "first_extent"});
  return map;
}

KernelInfo KernelFromValue(const ValueReader& value) {
  KernelInfo info;
  for (const ValueReader& arg : value.Field("args").Items()) info.args.push_back(arg.Type());
  for (const ValueReader& tag : value.Field("launch_tags").Items()) {
    std::string text = tag.Text();
    if (std::find(std::begin(kLaunchTags), std::end(kLaunchTags), text) == std::end(kLaunchTags))
      tag.Fail(
          "expected one of blockIdx.x to blockIdx.z, threadIdx.x to threadIdx.z, clusterIdx.x to "
          "clusterIdx.z and " +
          std::string(kDynamicSharedTag) + ", got " + text);
    if (std::find(info.launch_tags.begin(), info.launch_tags.end(), text) != info.launch_tags.end())
      tag.Fail(text + " stands twice");
    info.launch_tags.push_back(text);
  }
  auto bytes = [&](const char* key, int64_t least) {
    return static_cast<uint64_t>(value.Field(key).Int(least, std::numeric_limits<int64_t>::max()));
  };
  info.static_shared_bytes = bytes("static_shared_bytes", 0);
  if (value.Has("dynamic_shared_bytes"))
    info.dynamic_shared_bytes = bytes("dynamic_shared_bytes", 1);
  if (value.Has("bindings")) {
    auto tensors = static_cast<size_t>(std::count_if(info.args.begin(), info.args.end(),
                                                     [](DataType arg) { return arg.is_handle(); }));
    info.bindings =
        KernelBindingsFromValue(value.Field("bindings"), tensors, info.args.size() - tensors);
  }
  if (value.Has("tensor_maps"))
    for (const ValueReader& map : value.Field("tensor_maps").Items())
      info.tensor_maps.push_back(TensorMapFromValue(map, info.args));
  value.ExpectOnly({"args", "bindings", "launch_tags", "static_shared_bytes",
                    "dynamic_shared_bytes", "tensor_maps"});
  return info;
}

// Of a kind that has one only; "" where it is not known.
std::string ImplicitFormat(const std::string& kind) {
  ffi::Function format = ffi::FindGlobal(kModuleFormatPrefix + kind);
  return format ? format().As<std::string>() : "";
}

// Whether a saved module starts with its fmap, which no format looks like.
bool HasImplicitFormat(std::string_view first) { return first.starts_with('{'); }

}  // namespace

ffi::Map KernelMapToValue(const KernelMap& kernels) {
  ffi::Map map = ffi::MakeMap();
  for (const auto& [name, info] : kernels) {
    std::vector<ffi::Any> args, tags;
    for (DataType type : info.args) args.emplace_back(type.str());
    for (const std::string& tag : info.launch_tags) tags.emplace_back(tag);
    ffi::Map kernel =
        ffi::MakeMap({{"args", ffi::MakeArray(std::move(args))},
                      {"launch_tags", ffi::MakeArray(std::move(tags))},
                      {"static_shared_bytes", static_cast<int64_t>(info.static_shared_bytes)}});
    if (info.dynamic_shared_bytes > 0)
      kernel->items["dynamic_shared_bytes"] = static_cast<int64_t>(info.dynamic_shared_bytes);
    std::vector<ffi::Any> maps;
    for (const TensorMapInfo& tensor : info.tensor_maps)
      maps.emplace_back(TensorMapToValue(tensor));
    if (!maps.empty()) kernel->items["tensor_maps"] = ffi::MakeArray(std::move(maps));
    if (info.bindings) kernel->items["bindings"] = KernelBindingsToValue(*info.bindings);
    map->items[name] = kernel;
  }
  return map;
}

KernelMap KernelMapFromValue(const ffi::Map& value) {
  KernelMap kernels;
  ValueReader reader("fmap", ffi::Any(value));
  for (const auto& [name, kernel] : value->items)
    kernels[name] = KernelFromValue(reader.Field(name));
  return kernels;
}

std::string SaveDeviceArtifact(const DeviceArtifact& artifact) {
  std::string payload;
  AppendLe<uint64_t>(artifact.payload.size(), &payload);
  for (const auto& [name, blob] : artifact.payload) {
    AppendSized(name, &payload);
    AppendSized(blob, &payload);
  }
  std::string out;
  if (artifact.fmt != ImplicitFormat(artifact.kind)) AppendSized(artifact.fmt, &out);
  AppendSized(ffi::WriteJson(ffi::Any(KernelMapToValue(artifact.fmap))), &out);
  AppendSized(payload, &out);
  return out;
}

DeviceArtifact LoadDeviceArtifact(std::string kind, std::string_view bytes) {
  DeviceArtifact artifact;
  std::string what = "the saved " + kind + " module";
  artifact.kind = std::move(kind);
  ByteReader reader(bytes, what);
  std::string_view fmap = reader.Sized();
  if (HasImplicitFormat(fmap)) {
    artifact.fmt = ImplicitFormat(artifact.kind);
  } else {
    artifact.fmt = fmap;
    TERN_CHECK(artifact.fmt != ImplicitFormat(artifact.kind))
        << what << ": its format is said, \"" << artifact.fmt << "\", where it goes without saying";
    fmap = reader.Sized();
  }
  ByteReader payload(reader.Sized(), what + "'s payload");
  reader.ExpectEnd();

  ffi::Any value = ffi::ParseJson(fmap);
  TERN_CHECK(value.type_index() == kTernMap)
      << what << ": fmap: expected Map, got " << ffi::Describe(value.raw());
  artifact.fmap = KernelMapFromValue(value.As<ffi::Map>());
  // One artifact, one sequence of bytes: a second spelling of the same map would be a second file
  // with the same meaning.
  TERN_CHECK(ffi::WriteJson(ffi::Any(KernelMapToValue(artifact.fmap))) == fmap)
      << what << ": fmap is not written as Tern writes it";

  uint64_t count = payload.Int<uint64_t>();
  for (uint64_t i = 0; i < count; ++i) {
    std::string name(payload.Sized());
    TERN_CHECK(artifact.payload.empty() || artifact.payload.rbegin()->first < name)
        << what << ": the payloads are out of order at " << name;
    artifact.payload.emplace(std::move(name), payload.Sized());
  }
  payload.ExpectEnd();
  return artifact;
}

}  // namespace tern::runtime
