// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/device_artifact.h"

#include <gtest/gtest.h>

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
      "threadIdx.z and shared.dynamic, got x");
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

TEST(DeviceArtifact, MapIsReadThroughTheRegistry) {
  std::string json = ffi::WriteJson(ffi::Any(KernelMapToValue(ToyArtifact().fmap)));
  ffi::Any map = ffi::GetGlobal("runtime.LoadMetaDataFromJSON")(json);
  EXPECT_EQ(KernelMapFromValue(map.As<ffi::Map>()), ToyArtifact().fmap);
}

}  // namespace
}  // namespace tern::runtime
