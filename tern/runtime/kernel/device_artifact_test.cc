// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/kernel/device_artifact.h"

#include <gtest/gtest.h>

#include <functional>

#include "tern/ffi/json.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/test_data/test_artifact.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

KernelMap Parse(const char* json) {
  return KernelMapFromValue(ffi::ParseJson(json).As<ffi::Map>());
}

TEST(DeviceArtifact, RoundTrips) {
  DeviceArtifact artifact = ToyArtifact();
  artifact.source["ll"] = "not saved";
  std::string bytes = SaveDeviceArtifact(artifact);
  DeviceArtifact again = LoadDeviceArtifact("toy", bytes);
  EXPECT_EQ(again.kind, "toy");
  EXPECT_EQ(again.fmt, artifact.fmt);
  EXPECT_EQ(again.fmap, artifact.fmap);
  EXPECT_EQ(again.payload, artifact.payload);
  EXPECT_TRUE(again.source.empty());
  EXPECT_EQ(SaveDeviceArtifact(again), bytes);
}

TEST(DeviceArtifact, RoundTripsOneBlobPerKernel) {
  DeviceArtifact artifact = ToyArtifact();
  artifact.payload = {{"a", std::string("\0\1", 2)}, {"b", ""}};
  EXPECT_EQ(LoadDeviceArtifact("toy", SaveDeviceArtifact(artifact)).payload, artifact.payload);
}

TEST(DeviceArtifact, GoldenBytes) {
  DeviceArtifact artifact{.kind = "k", .fmt = "f"};
  artifact.fmap["m"] = {{DataType::Handle()}, {"blockIdx.x"}, 4};
  artifact.payload[""] = "P";
  using namespace std::string_literals;
  EXPECT_EQ(SaveDeviceArtifact(artifact),
            "\x01\0\0\0\0\0\0\0"s
            "f"
            "\x4e\0\0\0\0\0\0\0"s
            R"({"m":{"args":["handle"],"launch_tags":["blockIdx.x"],"static_shared_bytes":4}})"
            "\x19\0\0\0\0\0\0\0"s
            "\x01\0\0\0\0\0\0\0"s
            "\0\0\0\0\0\0\0\0"s
            "\x01\0\0\0\0\0\0\0"s
            "P");
}

TEST(DeviceArtifact, EveryTruncationIsAnError) {
  std::string bytes = SaveDeviceArtifact(ToyArtifact());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(LoadDeviceArtifact("toy", std::string_view(bytes).substr(0, size)), Error) << size;
  EXPECT_THROW(LoadDeviceArtifact("toy", bytes + "x"), Error);
}

TEST(DeviceArtifact, ChangedBytesAreReadAsWhatTheySayOrRefused) {
  std::string bytes = SaveDeviceArtifact(ToyArtifact());
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int value : {0, 1, int{'"'}, int{'9'}, 0x7f, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      try {
        EXPECT_EQ(SaveDeviceArtifact(LoadDeviceArtifact("toy", changed)), changed);
      } catch (const Error&) {
      }
    }
}

TEST(DeviceArtifact, MapErrorsNameThePath) {
  EXPECT_EQ(ErrorOf([] {
              Parse(R"({"m":{"args":["float"],"launch_tags":[],"static_shared_bytes":0}})");
            }),
            "fmap.m.args[0]: \"float\" is not a data type");
  EXPECT_EQ(
      ErrorOf([] {
        Parse(
            R"({"m":{"args":[],"launch_tags":[],"static_shared_bytes":0,"dynamic_shared_bytes":0}})");
      }),
      "fmap.m.dynamic_shared_bytes: expected 1 to 9223372036854775807, got 0");
  EXPECT_EQ(ErrorOf([] { Parse(R"({"m":{"launch_tags":[],"static_shared_bytes":0}})"); }),
            "fmap.m: field \"args\" is missing");
  EXPECT_EQ(
      ErrorOf([] { Parse(R"({"m":{"args":[],"launch_tags":["x"],"static_shared_bytes":0}})"); }),
      "fmap.m.launch_tags[0]: expected one of blockIdx.x to blockIdx.z, threadIdx.x to "
      "threadIdx.z, clusterIdx.x to clusterIdx.z and shared.dynamic, got x");
  EXPECT_EQ(
      ErrorOf([] {
        Parse(
            R"({"m":{"args":[],"launch_tags":["blockIdx.x","blockIdx.x"],"static_shared_bytes":0}})");
      }),
      "fmap.m.launch_tags[1]: blockIdx.x stands twice");
  EXPECT_EQ(
      ErrorOf([] { Parse(R"({"m":{"args":[],"launch_tags":[],"static_shared_bytes":-1}})"); }),
      "fmap.m.static_shared_bytes: expected 0 to 9223372036854775807, got -1");
  EXPECT_EQ(
      ErrorOf([] { Parse(R"({"m":{"args":[],"launch_tags":[],"static_shared_bytes":0,"z":1}})"); }),
      "fmap.m: field \"z\" is not known");
  EXPECT_EQ(ErrorOf([] { Parse(R"({"m":[]})"); }), "fmap.m: expected Map, got Array");
}

TEST(DeviceArtifact, TensorMapsRoundTrip) {
  KernelInfo info{{DataType::Handle(), DataType::Int(64)}, {"blockIdx.x"}, 0};
  info.tensor_maps = {{0, DataType::Float(16), {40, 64}, {128, 2}, {8, 64}, 128}};
  KernelMap kernels = {{"k", info}};
  EXPECT_EQ(KernelMapFromValue(KernelMapToValue(kernels)), kernels);
  kernels["k"].tensor_maps[0].arg = 1;
  EXPECT_EQ(ErrorOf([&] { KernelMapFromValue(KernelMapToValue(kernels)); }),
            "fmap.k.tensor_maps[0]: arg is no buffer");
  TensorMapInfo& map = kernels["k"].tensor_maps[0];
  map.arg = 0;
  map.first_extent = 1;
  EXPECT_EQ(ErrorOf([&] { KernelMapFromValue(KernelMapToValue(kernels)); }),
            "fmap.k.tensor_maps[0]: first_extent is an argument, and the shape says another");
  map.shape[0] = 1;
  EXPECT_EQ(KernelMapFromValue(KernelMapToValue(kernels)), kernels);
  map.first_extent = 0;
  EXPECT_EQ(ErrorOf([&] { KernelMapFromValue(KernelMapToValue(kernels)); }),
            "fmap.k.tensor_maps[0]: first_extent is no integer");
  map.first_extent.reset();
  kernels["k"].tensor_maps[0].box.pop_back();
  EXPECT_EQ(ErrorOf([&] { KernelMapFromValue(KernelMapToValue(kernels)); }),
            "fmap.k.tensor_maps[0]: expected as many extents, strides and sizes of a box, of 1 to "
            "5 axes");
}

// A kernel of two tensors and a number.
KernelInfo BoundKernel() {
  KernelInfo info{{DataType::Handle(), DataType::Int(64), DataType::Handle()}, {"blockIdx.x"}, 0};
  info.bindings = KernelBindings{.block = {64, 1, 0},
                                 .features = {"f"},
                                 .rows = true,
                                 .scalars = {2, 16, {8}},
                                 .tensors = {{false, 0, "f32"}, {true, 1, "u32"}}};
  return info;
}

TEST(DeviceArtifact, BindingsArePartOfTheMap) {
  KernelMap map{{"m", BoundKernel()}};
  EXPECT_EQ(
      ffi::WriteJson(ffi::Any(KernelMapToValue(map))),
      R"({"m":{"args":["handle","int64","handle"],"bindings":{"block":[64,1,0],"features":["f"],"rows":true,)"
      R"("scalars":{"binding":2,"bytes":16,"offsets":[8]},"tensors":[{"access":"read","binding":0,"type":"f32"},)"
      R"({"access":"read_write","binding":1,"type":"u32"}]},"launch_tags":["blockIdx.x"],"static_shared_bytes":0}})");
  EXPECT_EQ(KernelMapFromValue(KernelMapToValue(map)), map);
  map["m"].args.erase(map["m"].args.begin() + 1);
  map["m"].bindings->scalars = {};
  EXPECT_EQ(KernelMapFromValue(KernelMapToValue(map)), map);
}

TEST(DeviceArtifact, WrongBindingsNameThePath) {
  auto failure = [](const std::function<void(KernelInfo*)>& change) {
    KernelMap map{{"m", BoundKernel()}};
    change(&map["m"]);
    return ErrorOf([&] { KernelMapFromValue(KernelMapToValue(map)); });
  };
  EXPECT_EQ(failure([](KernelInfo* info) { info->bindings->tensors.pop_back(); }),
            "fmap.m.bindings.tensors: expected one for each of 2 arguments, got 1");
  EXPECT_EQ(failure([](KernelInfo* info) { info->bindings->scalars.offsets.clear(); }),
            "fmap.m.bindings.scalars.offsets: expected one for each of 1 arguments, got 0");
  EXPECT_EQ(failure([](KernelInfo* info) { info->bindings->scalars = {}; }),
            "fmap.m.bindings: field \"scalars\" is missing");
  EXPECT_EQ(failure([](KernelInfo* info) { info->bindings->scalars.offsets = {16}; }),
            "fmap.m.bindings.scalars.offsets[0]: expected 0 to 12, got 16");
  ffi::Map value = KernelMapToValue({{"m", BoundKernel()}});
  auto bindings = value->items.at("m").As<ffi::Map>()->items.at("bindings").As<ffi::Map>();
  bindings->items["more"] = 1;
  EXPECT_EQ(ErrorOf([&] { KernelMapFromValue(value); }),
            "fmap.m.bindings: field \"more\" is not known");
  bindings->items.erase("more");
  bindings->items["block"] = ffi::MakeArray({ffi::Any(int64_t{1})});
  EXPECT_EQ(ErrorOf([&] { KernelMapFromValue(value); }),
            "fmap.m.bindings.block: expected three extents");
}

// A format that its kind alone says is not saved; who does not know it still keeps the bytes.
TEST(DeviceArtifact, TheOnlyFormatOfAKindIsNotSaved) {
  std::string key = std::string(kModuleFormatPrefix) + "plain";
  ffi::RegisterGlobal(key, ffi::Function::FromTyped(key, [] { return std::string("text"); }));
  DeviceArtifact artifact{.kind = "plain", .fmt = "text"};
  artifact.fmap["m"] = BoundKernel();
  artifact.payload["m"] = "P";
  std::string bytes = SaveDeviceArtifact(artifact);
  EXPECT_EQ(bytes.substr(8, 5), R"({"m":)");
  EXPECT_EQ(LoadDeviceArtifact("plain", bytes).fmt, "text");
  DeviceArtifact unknown = LoadDeviceArtifact("other", bytes);
  EXPECT_EQ(unknown.fmt, "");
  EXPECT_EQ(unknown.fmap, artifact.fmap);
  EXPECT_EQ(unknown.payload, artifact.payload);
  EXPECT_EQ(SaveDeviceArtifact(unknown), bytes);
  artifact.kind = "other";
  std::string said = SaveDeviceArtifact(artifact);
  EXPECT_EQ(ErrorOf([&] { LoadDeviceArtifact("plain", said); }),
            "the saved plain module: its format is said, \"text\", where it goes without saying");
  ffi::RemoveGlobal(key);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(LoadDeviceArtifact("plain", std::string_view(bytes).substr(0, size)), Error);
}

TEST(DeviceArtifact, MapIsReadThroughTheRegistry) {
  std::string json = ffi::WriteJson(ffi::Any(KernelMapToValue(ToyArtifact().fmap)));
  ffi::Any map = ffi::GetGlobal("runtime.LoadMetaDataFromJSON")(json);
  EXPECT_EQ(KernelMapFromValue(map.As<ffi::Map>()), ToyArtifact().fmap);
}

}  // namespace
}  // namespace tern::runtime
